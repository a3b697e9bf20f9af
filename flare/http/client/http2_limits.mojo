"""What a server may do on a connection of HTTP/2."""

from flare.http.client.config import ClientConfig
from flare.http.h2.connection_state import Http2Limits
from flare.http.h2.field_section import SectionLimits
from flare.http.h2.hpack_table import ENTRY_OVERHEAD
from flare.http.h2.priority import AbuseLimits

comptime CONNECTION_WINDOW_LEN = 4 << 20
"""How much content of all responses of a connection together may wait here, in
bytes: one that nobody takes does not stop the others."""

comptime ABUSE_COUNT_MAX = 10_000
"""Frames of no use that a server may send at once. Those of a few octets are no
attack on a client, but what a program behind a server has written so."""

comptime ABUSE_PER_SECOND = 1_000
"""How many more it may send each second."""


def client_limits(config: ClientConfig) -> Http2Limits:
    """Makes the limits of a client's end of a connection; those of a stream's
    window are the caller's."""
    ref head = config.head_limits
    var limits = Http2Limits()
    # As many fields, and as long ones, as over HTTP/1.1.
    limits.section = SectionLimits(
        head.max_header_size + ENTRY_OVERHEAD * head.max_fields,
        head.max_fields,
        head.max_target_size,
    )
    # Nothing is pushed.
    limits.stream_count_max = 0
    limits.abuse = AbuseLimits(ABUSE_COUNT_MAX, ABUSE_PER_SECOND)
    limits.connection_window = CONNECTION_WINDOW_LEN
    return limits
