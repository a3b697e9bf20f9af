"""HTTP/2 (RFC 9113): frames, field compression (RFC 7541), streams and their windows; without I/O and clock."""

from flare.http.h2.connection_state import (
    EventKind,
    Http2Event,
    Http2Limits,
    Http2Role,
)
from flare.http.h2.error import ErrorCode, Http2Error, Http2Rule
from flare.http.h2.field_section import Http2FieldSection, SectionLimits
from flare.http.h2.hpack_decoder import HpackDecoder, HpackField
from flare.http.h2.hpack_encoder import HpackEncoder, Indexing
from flare.http.h2.hpack_table import FieldKind
from flare.http.h2.priority import AbuseLimits, Priority
from flare.http.h2.session import Http2Session
