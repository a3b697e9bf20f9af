"""SETTINGS: what an endpoint can take (RFC 9113 section 6.5)."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.h2.error import Http2Error, Http2Rule
from flare.http.h2.frame import (
    FrameHeader,
    FrameType,
    append_u32,
    read_u32,
    write_frame_header,
)

comptime DEFAULT_WINDOW_LEN = 65_535
"""A window before SETTINGS or WINDOW_UPDATE change it, in bytes (RFC 9113
section 6.9.2)."""

comptime WINDOW_LEN_MAX = 0x7FFF_FFFF
"""The largest window in bytes (RFC 9113 section 6.9.1)."""

comptime FRAME_LEN_MIN = 16_384
"""What every endpoint takes in a frame, in bytes (RFC 9113 section 4.2)."""

comptime FRAME_LEN_MAX = (1 << 24) - 1
"""The longest payload that there may be, in bytes (RFC 9113 section 4.2)."""

comptime UNLIMITED = 0xFFFF_FFFF
"""The value of a setting that bounds nothing."""

comptime SETTING_LEN = 6
"""Length of one setting in bytes (RFC 9113 section 6.5.1)."""


struct SettingId:
    """Identifiers of settings (RFC 9113 section 6.5.2, RFC 8441, RFC 9218)."""

    comptime HEADER_TABLE_SIZE = 1
    """Size of the table that decodes field blocks."""
    comptime ENABLE_PUSH = 2
    comptime MAX_CONCURRENT_STREAMS = 3
    """How many streams the peer may have open."""
    comptime INITIAL_WINDOW_SIZE = 4
    """The window of a new stream."""
    comptime MAX_FRAME_SIZE = 5
    """The longest payload."""
    comptime MAX_HEADER_LIST_SIZE = 6
    """The largest field section; advice."""
    comptime ENABLE_CONNECT_PROTOCOL = 8
    """Whether extended CONNECT is understood."""
    comptime NO_RFC7540_PRIORITIES = 9


struct Settings(TrivialRegisterPassable):
    """The settings of one endpoint, with the values that hold at first."""

    var header_table_size: Int
    """Size of the table that decodes field blocks, in bytes."""
    var enable_push: Bool
    var max_concurrent_streams: Int
    """How many streams the peer may have open."""
    var initial_window_size: Int
    """The window of a new stream, in bytes."""
    var max_frame_size: Int
    """The longest payload in bytes."""
    var max_header_list_size: Int
    """The largest field section in bytes, counted as RFC 7541 does."""
    var enable_connect_protocol: Bool
    """Whether extended CONNECT is understood (RFC 8441)."""
    var no_rfc7540_priorities: Bool
    """Whether priorities of RFC 7540 are not used (RFC 9218)."""

    def __init__(out self):
        """Sets what holds before any SETTINGS."""
        self.header_table_size = 4_096
        self.enable_push = True
        self.max_concurrent_streams = UNLIMITED
        self.initial_window_size = DEFAULT_WINDOW_LEN
        self.max_frame_size = FRAME_LEN_MIN
        self.max_header_list_size = UNLIMITED
        self.enable_connect_protocol = False
        self.no_rfc7540_priorities = False

    def apply(mut self, id: Int, value: Int) raises Http2Error:
        """Takes over a setting of the peer; unknown ones are ignored (section
        6.5.2). Raises if it cannot have that value."""
        if id == SettingId.HEADER_TABLE_SIZE:
            self.header_table_size = value
        elif id == SettingId.ENABLE_PUSH:
            if value > 1:
                raise Http2Error(Http2Rule.ENABLE_PUSH, 0)
            self.enable_push = value == 1
        elif id == SettingId.MAX_CONCURRENT_STREAMS:
            self.max_concurrent_streams = value
        elif id == SettingId.INITIAL_WINDOW_SIZE:
            if value > WINDOW_LEN_MAX:
                raise Http2Error(Http2Rule.INITIAL_WINDOW, 0)
            self.initial_window_size = value
        elif id == SettingId.MAX_FRAME_SIZE:
            if value < FRAME_LEN_MIN or value > FRAME_LEN_MAX:
                raise Http2Error(Http2Rule.MAX_FRAME_SIZE, 0)
            self.max_frame_size = value
        elif id == SettingId.MAX_HEADER_LIST_SIZE:
            self.max_header_list_size = value
        elif id == SettingId.ENABLE_CONNECT_PROTOCOL:
            if value > 1 or (value == 0 and self.enable_connect_protocol):
                raise Http2Error(Http2Rule.ENABLE_CONNECT, 0)
            self.enable_connect_protocol = value == 1
        elif id == SettingId.NO_RFC7540_PRIORITIES:
            if value > 1:
                raise Http2Error(Http2Rule.NO_PRIORITIES, 0)
            self.no_rfc7540_priorities = value == 1

    def write_to(self, mut out: Buffer):
        """Writes SETTINGS with all that differs from what holds at first."""
        var payload = Buffer(0)
        var first = Settings()
        _add(
            payload,
            SettingId.HEADER_TABLE_SIZE,
            self.header_table_size,
            first.header_table_size,
        )
        _add(
            payload,
            SettingId.ENABLE_PUSH,
            Int(self.enable_push),
            Int(first.enable_push),
        )
        _add(
            payload,
            SettingId.MAX_CONCURRENT_STREAMS,
            self.max_concurrent_streams,
            first.max_concurrent_streams,
        )
        _add(
            payload,
            SettingId.INITIAL_WINDOW_SIZE,
            self.initial_window_size,
            first.initial_window_size,
        )
        _add(
            payload,
            SettingId.MAX_FRAME_SIZE,
            self.max_frame_size,
            first.max_frame_size,
        )
        _add(
            payload,
            SettingId.MAX_HEADER_LIST_SIZE,
            self.max_header_list_size,
            first.max_header_list_size,
        )
        _add(
            payload,
            SettingId.ENABLE_CONNECT_PROTOCOL,
            Int(self.enable_connect_protocol),
            Int(first.enable_connect_protocol),
        )
        _add(
            payload,
            SettingId.NO_RFC7540_PRIORITIES,
            Int(self.no_rfc7540_priorities),
            Int(first.no_rfc7540_priorities),
        )
        write_frame_header(
            out, FrameHeader(len(payload), FrameType.SETTINGS, 0, 0)
        )
        out.append(payload.span())


def _add(mut payload: Buffer, id: Int, value: Int, first: Int):
    if value == first:
        return
    payload.append_octet(UInt8(id >> 8))
    payload.append_octet(UInt8(id & 0xFF))
    append_u32(payload, value)


def setting_id(payload: Span[UInt8, _], offset: Int) -> Int:
    return (Int(payload.at(offset)) << 8) | Int(payload.at(offset + 1))


def setting_value(payload: Span[UInt8, _], offset: Int) -> Int:
    return read_u32(payload, offset + 2)
