"""What has come of an attempt that failed."""

from flare.http.client.error import (
    ClientError,
    Phase,
    ProxyRefused,
    SourceFailed,
    StreamReset,
)
from flare.http.client.http2_flight import StreamFate
from flare.http.exchange.retry_rules import AttemptEnd
from flare.http.message.status import Status
from flare.net.error import NameNotFound, NameRefused, Timeout
from flare.tls.error import ClosedEarly


def end_of(
    error: ClientError, *, has_response: Bool, fate: StreamFate
) -> AttemptEnd:
    """Tells what has come of an attempt that failed, for the rules."""
    var phase = error.phase
    if phase == Phase.REQUEST:
        # What cannot be sent is not sent again, whatever the connection does.
        return AttemptEnd.HOPELESS
    if fate == StreamFate.UNTOUCHED:
        return AttemptEnd.UNTOUCHED
    if fate == StreamFate.LEFT_BEHIND:
        return AttemptEnd.LEFT_BEHIND
    if fate == StreamFate.NEEDS_HTTP_1_1:
        return AttemptEnd.NEEDS_HTTP_1_1
    if phase == Phase.QUEUE:
        # What is known of an attempt is of the one before.
        return AttemptEnd.HOPELESS
    if has_response or fate == StreamFate.BEGUN:
        return AttemptEnd.BEGUN
    var is_cut_off = phase == Phase.TLS and (
        not error.tls_kind or error.tls_kind.value() == ClosedEarly
    )
    if error.kind == SourceFailed or not (is_cut_off or is_transient(error)):
        return AttemptEnd.HOPELESS
    if phase != Phase.WRITE and phase != Phase.READ_HEAD:
        return AttemptEnd.NO_CONNECTION
    if error.kind == Timeout:
        return AttemptEnd.SILENT
    if error.kind == StreamReset:
        return AttemptEnd.SPOILED
    return AttemptEnd.LOST


def is_transient(error: ClientError) -> Bool:
    """Tells whether a failure may be gone on the next attempt. A name that does
    not exist is none, and what a proxy does not allow it does not allow then."""
    if error.detail == NameNotFound or error.detail == NameRefused:
        return False
    if error.kind == ProxyRefused and not _may_pass(error.status):
        return False
    var phase = error.phase
    return (
        phase == Phase.RESOLVE
        or phase == Phase.CONNECT
        or phase == Phase.PROXY
        or phase == Phase.WRITE
        or phase == Phase.READ_HEAD
    )


def _may_pass(status: Status) -> Bool:
    """Tells whether a refusal may be about the moment: one of the class that
    blames the client is not, but for 408, 425 and 429 (RFC 9110 section 15.5)."""
    return (
        status < 400
        or status >= 500
        or status == 408
        or status == 425
        or status == 429
    )
