"""The frames that steer a connection: windows, resets, settings, questions, and
the end (RFC 9113 section 6).
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.h2.connection_state import (
    ConnectionState,
    EventKind,
    Http2Event,
    TINY_LEN,
)
from flare.http.h2.error import ErrorCode, Http2Error, Http2Rule
from flare.http.h2.frame import (
    Flags,
    FrameHeader,
    FrameType,
    PRIORITY_FIELDS_LEN,
    check_dependency,
    read_u31,
    read_u32,
    write_frame_header,
    write_ping,
)
from flare.http.h2.priority import Priority
from flare.http.h2.settings import (
    SETTING_LEN,
    WINDOW_LEN_MAX,
    setting_id,
    setting_value,
)


def take_window_update(
    mut state: ConnectionState,
    header: FrameHeader,
    payload: Span[UInt8, _],
    now_ms: Int,
) raises Http2Error -> Http2Event:
    """Takes WINDOW_UPDATE (RFC 9113 section 6.9)."""
    if len(payload) != 4:
        raise Http2Error(Http2Rule.PAYLOAD_LEN, 0)
    var increment = read_u31(payload, 0)
    var id = header.stream_id
    if increment <= TINY_LEN:
        state.spend_update(now_ms)
    if id == 0:
        if increment == 0:
            raise Http2Error(Http2Rule.WINDOW_ZERO, 0)
        state.send_window += increment
        if state.send_window > WINDOW_LEN_MAX:
            raise Http2Error(Http2Rule.WINDOW_OVERFLOW, 0)
        return Http2Event(EventKind.WINDOW)
    var index = state.find(id)
    if index < 0:
        return Http2Event(EventKind.NEEDS_OCTETS)
    if increment == 0:
        raise Http2Error(Http2Rule.STREAM_WINDOW_ZERO, id)
    ref stream = state.table.at(index)
    stream.send_window += increment
    if stream.send_window > WINDOW_LEN_MAX:
        raise Http2Error(Http2Rule.STREAM_WINDOW_OVERFLOW, id)
    return Http2Event(EventKind.WINDOW, id)


def take_reset(
    mut state: ConnectionState,
    header: FrameHeader,
    payload: Span[UInt8, _],
    now_ms: Int,
) raises Http2Error -> Http2Event:
    """Takes RST_STREAM (RFC 9113 section 6.4)."""
    if len(payload) != 4:
        raise Http2Error(Http2Rule.PAYLOAD_LEN, 0)
    var id = header.stream_id
    if id == 0:
        raise Http2Error(Http2Rule.ON_STREAM_0, 0)
    var index = state.find(id)
    state.spend(now_ms)
    if index < 0:
        return Http2Event(EventKind.NEEDS_OCTETS)
    state.table.drop(index)
    # Frames that it sent before are on their way no more.
    var event = Http2Event(EventKind.RESET, id)
    event.code = ErrorCode(UInt32(read_u32(payload, 0)))
    return event


def take_goaway(
    mut state: ConnectionState,
    header: FrameHeader,
    payload: Span[UInt8, _],
    now_ms: Int,
) raises Http2Error -> Http2Event:
    """Takes GOAWAY (RFC 9113 section 6.8): our streams above the last one that
    counts are over, and may be sent again elsewhere."""
    if header.stream_id != 0:
        raise Http2Error(Http2Rule.NOT_ON_STREAM_0, 0)
    if len(payload) < 8:
        raise Http2Error(Http2Rule.PAYLOAD_LEN, 0)
    state.spend(now_ms)
    var last = read_u31(payload, 0)
    if last > state.peer_goaway_id:
        raise Http2Error(Http2Rule.GOAWAY_GROWS, 0)
    state.has_peer_goaway = True
    state.peer_goaway_id = last
    for index in range(len(state.table) - 1, -1, -1):
        var id = state.table.at(index).id
        if state.is_own(id) and id > last:
            state.table.drop(index)
    var event = Http2Event(EventKind.GOAWAY, last)
    event.code = ErrorCode(UInt32(read_u32(payload, 4)))
    return event


def take_ping(
    mut state: ConnectionState,
    header: FrameHeader,
    payload: Span[UInt8, _],
    mut out: Buffer,
    now_ms: Int,
) raises Http2Error -> Http2Event:
    """Takes PING, and answers it (RFC 9113 section 6.7)."""
    if header.stream_id != 0:
        raise Http2Error(Http2Rule.NOT_ON_STREAM_0, 0)
    if len(payload) != 8:
        raise Http2Error(Http2Rule.PAYLOAD_LEN, 0)
    state.spend(now_ms)
    if header.has(Flags.ACK):
        return Http2Event(EventKind.PONG)
    write_ping(out, Flags.ACK, payload)
    return Http2Event(EventKind.NEEDS_OCTETS)


def take_settings(
    mut state: ConnectionState,
    header: FrameHeader,
    payload: Span[UInt8, _],
    mut out: Buffer,
    now_ms: Int,
) raises Http2Error:
    """Takes SETTINGS, and acknowledges them (RFC 9113 section 6.5)."""
    if header.stream_id != 0:
        raise Http2Error(Http2Rule.NOT_ON_STREAM_0, 0)
    if header.has(Flags.ACK):
        if len(payload) != 0:
            raise Http2Error(Http2Rule.PAYLOAD_LEN, 0)
        if state.owes_settings_ack:
            state.settings_acknowledged()
        else:
            state.spend(now_ms)
        return
    if len(payload) % SETTING_LEN != 0:
        raise Http2Error(Http2Rule.PAYLOAD_LEN, 0)
    if len(payload) // SETTING_LEN > state.limits.setting_count_max:
        raise Http2Error(Http2Rule.CALM, 0)
    if state.has_settings:
        state.spend(now_ms)
    state.has_settings = True
    var window_before = state.remote.initial_window_size
    if not state.role.is_server:
        # A server sends 0 or nothing (section 6.5.2), and 1 holds at first.
        state.remote.enable_push = False
    for offset in range(0, len(payload), SETTING_LEN):
        state.remote.apply(
            setting_id(payload, offset), setting_value(payload, offset)
        )
    if not state.role.is_server and state.remote.enable_push:
        raise Http2Error(Http2Rule.ENABLE_PUSH, 0)
    var more = state.remote.initial_window_size - window_before
    if more != 0:
        for index in range(len(state.table)):
            ref stream = state.table.at(index)
            stream.send_window += more
            if stream.send_window > WINDOW_LEN_MAX:
                raise Http2Error(Http2Rule.WINDOW_OVERFLOW, 0)
    write_frame_header(out, FrameHeader(0, FrameType.SETTINGS, Flags.ACK, 0))


def take_priority_update(
    mut state: ConnectionState, header: FrameHeader, payload: Span[UInt8, _]
) raises Http2Error:
    """Takes PRIORITY_UPDATE (RFC 9218 section 7.1)."""
    if header.stream_id != 0 or not state.role.is_server:
        raise Http2Error(Http2Rule.PRIORITY_UPDATE, 0)
    if len(payload) < 4:
        raise Http2Error(Http2Rule.PAYLOAD_LEN, 0)
    var id = read_u31(payload, 0)
    if id == 0 or id & 1 == 0:
        raise Http2Error(Http2Rule.PRIORITY_UPDATE, 0)
    state.prioritize(id, Priority.parse(payload.after(4)))


def check_priority(
    header: FrameHeader, payload: Span[UInt8, _]
) raises Http2Error:
    """Checks PRIORITY, of which no use is made (RFC 9113 section 5.3.2)."""
    if header.stream_id == 0:
        raise Http2Error(Http2Rule.ON_STREAM_0, 0)
    if len(payload) != PRIORITY_FIELDS_LEN:
        raise Http2Error(Http2Rule.PRIORITY_LEN, header.stream_id)
    check_dependency(payload, 0, header.stream_id)
