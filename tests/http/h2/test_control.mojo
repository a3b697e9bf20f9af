"""Payloads of the frames that steer a connection: every length, right before
memory that must not be read (RFC 9113 section 6, RFC 9218 section 7.1)."""

from flare.bytes.buffer import Buffer
from flare.http.h2.connection_state import (
    ConnectionState,
    Http2Limits,
    Http2Role,
)
from flare.http.h2.control import (
    check_priority,
    take_goaway,
    take_ping,
    take_priority_update,
    take_reset,
    take_settings,
    take_window_update,
)
from flare.http.h2.error import ErrorCode, Http2Error
from flare.http.h2.frame import FrameHeader, FrameType
from flare.http.h2.stream import Http2Stream, StreamEvent
from tests.support.assertions import assert_equal
from tests.support.guard_page import GuardedBytes

comptime _LEN_MAX = 30


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var type: UInt8
    var stream_id: Int
    var lengths: List[Int]
    """Those that are allowed."""


def _take(
    mut state: ConnectionState, header: FrameHeader, payload: Span[UInt8, _]
) raises Http2Error:
    var out = Buffer()
    if header.type == FrameType.WINDOW_UPDATE:
        _ = take_window_update(state, header, payload, 0)
    elif header.type == FrameType.RST_STREAM:
        _ = take_reset(state, header, payload, 0)
    elif header.type == FrameType.GOAWAY:
        _ = take_goaway(state, header, payload, 0)
    elif header.type == FrameType.PING:
        _ = take_ping(state, header, payload, out, 0)
    elif header.type == FrameType.SETTINGS:
        take_settings(state, header, payload, out, 0)
    elif header.type == FrameType.PRIORITY_UPDATE:
        take_priority_update(state, header, payload)
    else:
        check_priority(header, payload)


def _code(row: _Row, length: Int) raises -> Int:
    """Gives the error code for a payload of that length; 0 if it is taken."""
    var state = ConnectionState(Http2Role.SERVER, Http2Limits(), 0)
    var stream = Http2Stream(3, 10, 10)
    stream.move[StreamEvent.HEADERS_RECEIVED]()
    _ = state.table.add(stream)
    state.begin_peer_stream(3)
    # Each is a setting that nobody knows, stream 1, and an increment.
    var octets = List[UInt8]()
    for index in range(length):
        var is_id = row.type == FrameType.SETTINGS and index % 6 < 2
        octets.append(UInt8(255) if is_id else UInt8(index % 4 // 3))
    var memory = GuardedBytes(octets)
    try:
        _take(
            state,
            FrameHeader(length, row.type, 0, row.stream_id),
            memory.span(),
        )
    except error:
        return Int(error.rule.code.number)
    return 0


def test_every_length() raises:
    var from_8 = List[Int]()
    var from_4 = List[Int]()
    for length in range(4, _LEN_MAX):
        from_4.append(length)
        if length >= 8:
            from_8.append(length)
    var rows: List[_Row] = [
        _Row("9113-6.9 WINDOW_UPDATE", FrameType.WINDOW_UPDATE, 3, [4]),
        _Row("9113-6.9 of all streams", FrameType.WINDOW_UPDATE, 0, [4]),
        _Row("9113-6.4 RST_STREAM", FrameType.RST_STREAM, 3, [4]),
        _Row("9113-6.8 GOAWAY", FrameType.GOAWAY, 0, from_8^),
        _Row("9113-6.7 PING", FrameType.PING, 0, [8]),
        _Row("9113-6.5 SETTINGS", FrameType.SETTINGS, 0, [0, 6, 12, 18, 24]),
        _Row(
            "9218-7.1 PRIORITY_UPDATE",
            FrameType.PRIORITY_UPDATE,
            0,
            from_4^,
        ),
        _Row("9113-6.3 PRIORITY", FrameType.PRIORITY, 3, [5]),
    ]
    for row in rows:
        for length in range(_LEN_MAX):
            var wanted = 0
            if length not in row.lengths:
                wanted = Int(ErrorCode.FRAME_SIZE_ERROR.number)
            assert_equal(
                _code(row, length), wanted, String(row.rule, " of ", length)
            )
