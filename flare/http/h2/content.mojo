"""DATA frames on their way in, told of piece by piece (RFC 9113 section 6.1)."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.h2.connection_state import (
    ConnectionState,
    EventKind,
    Http2Event,
)
from flare.http.h2.error import Http2Error, Http2Rule
from flare.http.h2.frame import FRAME_HEADER_LEN, Flags, FrameHeader
from flare.http.h2.stream import StreamContent, StreamEvent, StreamState
from std.sys.intrinsics import likely, unlikely

comptime _TINY_LEN = 4
# DATA of no more octets cost a token unless they end a stream: what travels in
# HTTP/2 has frames of its own, and those are longer. What the other end of a tunnel
# that we have opened says may be as short: a WebSocket's "ok" has 4 octets. And so
# may be what a window has cut off, or what is left of a piece that was cut.


struct ContentReceiver(Movable):
    """The DATA frame that is arriving, if there is one."""

    var told_len: Int
    """How much content stands first in the input, in bytes; drop it before
    anything else is taken."""
    var _stream_id: Int
    var _left: Int
    var _padding_left: Int
    var _ends: Bool

    def __init__(out self):
        self.told_len = 0
        self._stream_id = 0
        self._left = 0
        self._padding_left = 0
        self._ends = False

    @always_inline
    def is_in_frame(self) -> Bool:
        """Tells whether a part of a frame is still to come: True from `begin`
        on, until content and padding have come."""
        return self._left + self._padding_left > 0

    @always_inline
    def begin(
        mut self,
        header: FrameHeader,
        mut input: Buffer,
        mut out: Buffer,
        mut state: ConnectionState,
        now_ms: Int,
    ) raises Http2Error -> Bool:
        """Takes the header of a frame, and counts all of it at once; False if
        the length of the padding is missing. What is no content is given back
        to the peer. Raises if the peer may not send it; after an error of the
        stream, the frame is taken and dropped."""
        if header.stream_id == 0:
            raise Http2Error(Http2Rule.ON_STREAM_0, 0)
        var head_len = FRAME_HEADER_LEN
        var padding_len = 0
        if unlikely(header.has(Flags.PADDED)):
            if header.payload_len == 0:
                raise Http2Error(Http2Rule.PAYLOAD_LEN, 0)
            if len(input) <= FRAME_HEADER_LEN:
                return False
            padding_len = Int(input.span().at(FRAME_HEADER_LEN))
            if padding_len >= header.payload_len:
                raise Http2Error(Http2Rule.PADDING, 0)
            head_len += 1
        input.consume(head_len)
        var length = header.payload_len + FRAME_HEADER_LEN - head_len
        length -= padding_len
        state.receive_window -= header.payload_len
        state.earlier_left -= header.payload_len
        if state.receive_window < 0:
            raise Http2Error(Http2Rule.BEYOND_WINDOW, 0)
        self._ends = header.has(Flags.END_STREAM)
        var index: Int
        try:
            index = _check(state, header, length)
        except error:
            self._drop(header, length, padding_len, out, state)
            raise error^
        if not self._ends and _makes_work(state, index, header, length):
            state.spend(now_ms)
        if index < 0:
            self._drop(header, length, padding_len, out, state)
            return True
        self._stream_id = header.stream_id
        # What is no content goes back at once; a stream that is owed no more
        # than before, and has less left, is told nothing.
        state.owe(header.payload_len - length, out)
        if unlikely(header.payload_len > length):
            state.release(out, self._stream_id, header.payload_len - length)
        self._left = length
        self._padding_left = padding_len
        return True

    @always_inline
    def take_last(
        mut self,
        length: Int,
        id: Int,
        mut input: Buffer,
        mut state: ConnectionState,
    ) -> Bool:
        """Does what `begin` and `take` do, at once, with a frame that is here
        to its end, has so many octets of content and nothing else, and ends its
        stream; DATA is to be told then. False if something about it may be
        wrong, or the peer has to be told something: nothing has happened."""
        var index = state.table.find(id)
        if unlikely(
            index < 0
            or length > state.local.max_frame_size
            # Either it is beyond the window, or the window is to be opened.
            or length + state.owed_len >= state.receive_window
        ):
            return False
        ref stream = state.table.at(index)
        if unlikely(
            stream.state != StreamState.OPEN
            or not stream.has_head
            or stream.expects != StreamContent.ANY
            or length > stream.receive_window
            or (stream.missing_len >= 0 and stream.missing_len != length)
        ):
            return False
        input.consume(FRAME_HEADER_LEN)
        state.receive_window -= length
        state.earlier_left -= length
        stream.receive_window -= length
        stream.earlier_left -= length
        stream.missing_len = min(stream.missing_len, 0)
        stream.move[StreamEvent.END_RECEIVED]()
        self.told_len = length
        return True

    def _drop(
        mut self,
        header: FrameHeader,
        length: Int,
        padding_len: Int,
        mut out: Buffer,
        mut state: ConnectionState,
    ):
        """Lets a frame pass of which nothing is told: its room comes back."""
        state.owe(header.payload_len, out)
        self._stream_id = 0
        self._left = 0
        self._padding_left = length + padding_len

    def take(
        mut self, mut input: Buffer, mut out: Buffer, mut state: ConnectionState
    ) -> Http2Event:
        """Goes on with the frame that was begun. Returns DATA, or NEEDS_OCTETS
        if there is nothing to tell, whose room is given back to the peer."""
        var index = state.table.find(self._stream_id)
        if unlikely(index < 0 and self._stream_id != 0):
            # It was reset here while the frame arrived.
            state.owe(self._left, out)
            self._padding_left += self._left
            self._left = 0
            self._stream_id = 0
        if self._left > 0:
            self.told_len = min(len(input), self._left)
            self._left -= self.told_len
        else:
            var count = min(len(input), self._padding_left)
            input.consume(count)
            self._padding_left -= count
        var id = self._stream_id
        if id == 0:
            return Http2Event(EventKind.NEEDS_OCTETS)
        if self.is_in_frame() or not self._ends:
            if self.told_len == 0:
                return Http2Event(EventKind.NEEDS_OCTETS)
            return Http2Event(EventKind.DATA, id)
        state.end_received(index)
        return Http2Event(EventKind.DATA, id, True)


def _makes_work(
    mut state: ConnectionState, index: Int, header: FrameHeader, length: Int
) -> Bool:
    """Tells whether a frame after which its stream goes on is shorter than its
    sender had to make it; notes whether it was cut. What windows cut is bounded
    by what we let the peer send."""
    if index < 0:
        return length <= _TINY_LEN
    ref stream = state.table.at(index)
    var follows_cut = stream.was_cut
    stream.was_cut = (
        header.payload_len >= state.local.max_frame_size
        or stream.receive_window == 0
        or stream.earlier_left == 0
        or state.receive_window == 0
        or state.earlier_left == 0
    )
    if likely(length > _TINY_LEN):
        return False
    if length == 0:
        return True
    return not (
        stream.expects == StreamContent.TUNNEL or stream.was_cut or follows_cut
    )


def _check(
    mut state: ConnectionState, header: FrameHeader, length: Int
) raises Http2Error -> Int:
    """Counts a frame on its stream; gives its index, or -1 if it is dropped."""
    var id = header.stream_id
    var index = state.find(id)
    if index < 0:
        state.check_closed(id, header.payload_len)
        return -1
    ref stream = state.table.at(index)
    if unlikely(stream.state == StreamState.HALF_CLOSED_REMOTE):
        raise Http2Error(Http2Rule.HALF_CLOSED_STREAM, id)
    if unlikely(not stream.has_head):
        raise Http2Error(Http2Rule.INFORMATIONAL, id)
    stream.receive_window -= header.payload_len
    stream.earlier_left -= header.payload_len
    if stream.receive_window < 0:
        raise Http2Error(Http2Rule.BEYOND_STREAM_WINDOW, id)
    var ends = header.has(Flags.END_STREAM)
    if stream.missing_len >= 0:
        stream.missing_len -= length
        if stream.missing_len < 0 or (ends and stream.missing_len > 0):
            raise Http2Error(Http2Rule.CONTENT_LENGTH, id)
    elif stream.expects == StreamContent.NONE and length > 0:
        raise Http2Error(Http2Rule.CONTENT_LENGTH, id)
    return index
