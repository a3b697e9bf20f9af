"""What a server sends on a WebSocket connection, from any thread."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.http.message.body import StreamWaker
from flare.sys.mutex import Mutex
from flare.ws.core.connection import WsConnection
from flare.ws.core.error import (
    CLOSE_REASON_LEN_MAX,
    CloseCode,
    CloseState,
    WsMisuse,
    WsProtocolError,
    may_send_close_code,
)
from flare.ws.core.frame import FrameHeader, MaskingKey, Opcode, write_frame
from flare.ws.core.receiver import WsProgress
from std.memory import ArcPointer
from std.sys.intrinsics import unlikely

comptime TURN_LEN_MAX = 65_536
"""Output after which no further message is heard before the client was sent
it, in bytes."""

# What the worker took and the client has perhaps not counts as waiting, and the
# worker asks again when it has gone. Less than this is not worth being asked.
comptime _HANDED_LEN_MIN = 4_096

# Of a flood of pings, the last is answered.
comptime _PONGS_LEN_MAX = 16_384

# Frames that are shorter are copied: a pointer to one takes about as much.
comptime _SHARED_LEN_MIN = 512


struct WsOutbox(Movable):
    """A connection's core, reached under a lock (`Mutex[WsOutbox]`).

    Frames are written where they are sent from: into the worker's buffer while
    the worker hears the client, else into a buffer that goes when it is taken.
    So an idle connection has none.

    What waits is counted at every message, wherever it stands:

        sent from anywhere --> output and frames --take--> handed to the worker
                                                            --> taken by the client

    Only the output of the turn that the worker has with the client's messages,
    but for the last one's, does not count: it is about to be sent, and there is
    no more of it than `TURN_LEN_MAX`, or than may wait.
    """

    var core: WsConnection
    """The protocol; its output waits to be taken by the worker."""
    var waker: Optional[StreamWaker]
    var is_closed: Bool
    """True if nothing more can be sent."""
    var is_cut: Bool
    """True if the client is too far behind."""
    var is_awake: Bool
    """True if the worker looks here again without being woken."""
    var id: UInt64
    var subprotocol: String
    """What both speak; empty for none."""
    # Shared frames go after the core's output.
    var _frames: List[ArcPointer[Buffer]]
    var _frames_len: Int
    # What of the output does not count, since it is about to be sent.
    var _passed_len: Int
    # What the worker has taken, and the client perhaps not.
    var _handed_len: Int
    var _waiting_len_max: Int
    var _cuts: Bool

    def __init__(
        out self,
        id: UInt64,
        var core: WsConnection,
        waiting_len_max: Int,
        cuts: Bool,
    ):
        """Makes an empty box, which breaks the connection off if it `cuts` when
        more than `waiting_len_max` waits."""
        self.core = core^
        self.waker = None
        self.is_closed = False
        self.is_cut = False
        self.is_awake = True
        self.id = id
        self.subprotocol = String()
        self._frames = []
        self._frames_len = 0
        self._passed_len = 0
        self._handed_len = 0
        self._waiting_len_max = waiting_len_max
        self._cuts = cuts

    def admit(mut self, count: Int) raises:
        """Sees to it that so many octets, with a header, before they are
        compressed, can be sent, and soon will be. To a client for whom nothing
        waits anything goes, however long. Raises if nothing more can be sent,
        or too much waits already."""
        self._admit_any()
        var waiting_len = (
            len(self.core.output)
            - self._passed_len
            + self._frames_len
            + self._handed_len
        )
        if waiting_len == 0 or waiting_len + count <= self._waiting_len_max:
            return
        if self._cuts:
            self.is_cut = True
            self.is_closed = True
            # A worker that waits for the client to read looks here only now.
            self._wake()
        raise Error(
            Text()
            .add("the WebSocket client is behind: ")
            .add(waiting_len)
            .add(" bytes wait for it; at most ")
            .add(self._waiting_len_max)
            .add(" may (max_queue_size)")
            .end()
        )

    @always_inline
    def _admit_any(mut self) raises:
        """Does the same for what is not bounded; raises if nothing more can be
        sent."""
        if self.is_closed:
            raise Error("the WebSocket connection is closed")
        if not self.is_awake:
            self._wake()

    def _wake(mut self):
        self.is_awake = True
        if self.waker:
            self.waker.held().wake()

    def write(
        mut self, opcode: Opcode, payload: Span[UInt8, _], code: Int
    ) raises:
        """Writes a message, a ping or a close frame, with its code and reason,
        after all that waits. Raises if it cannot be sent, or too much waits
        already."""
        # Whoever is closed is not behind.
        if opcode == Opcode.CLOSE:
            self._admit_any()
        else:
            self.admit(_frame_len(len(payload)))
        self.settle()
        if opcode == Opcode.CLOSE:
            var reason = StringSpan(unsafe_from_utf8=payload)
            if self.core.state == CloseState.OPEN:
                # A ping that came before is owed its answer (RFC 6455 section
                # 5.5.2), which nothing can be after this.
                self.core.answer(MaskingKey.none())
            self.core.send_close(code, reason, MaskingKey.none())
            self.is_closed = True
        elif opcode == Opcode.PING:
            self.core.send_control(opcode, payload, MaskingKey.none())
        else:
            self.core.send_message(opcode, payload, MaskingKey.none())

    def put_frame(mut self, frame: ArcPointer[Buffer]) raises:
        """Adds a shared frame, whole and unmasked, after all that waits.
        Raises if it cannot be sent, or too much waits already."""
        self.admit(len(frame[]))
        self._append_frame(frame)

    def put_frames(mut self, frames: List[ArcPointer[Buffer]]) raises:
        """Adds shared frames after all that waits, however many they are: what
        a client has missed. They count for what follows. Raises if they cannot
        be sent."""
        if len(frames) == 0:
            return
        self._admit_any()
        for index in range(len(frames)):
            self._append_frame(frames.at(index))

    @always_inline
    def _append_frame(mut self, frame: ArcPointer[Buffer]):
        if len(frame[]) < _SHARED_LEN_MIN:
            self.settle()
            self.core.output.append(frame[].span())
            return
        self._frames.append(frame.copy())
        self._frames_len += len(frame[])

    def settle(mut self):
        """Copies shared frames into the output, so that more can follow."""
        if self._frames_len > 0:
            for index in range(len(self._frames)):
                self.core.output.append(self._frames.at(index)[].span())
            self._frames.clear()
            self._frames_len = 0

    def pass_on(mut self):
        """Does not count what waits any more: it is about to be sent."""
        self.settle()
        self._passed_len = len(self.core.output)

    def is_full(self) -> Bool:
        """Tells whether a turn has made enough for now, to be sent before
        another message is heard."""
        return len(self.core.output) >= min(TURN_LEN_MAX, self._waiting_len_max)

    def lend_room(mut self, mut room: Buffer):
        """Begins a turn: frames are written into a buffer of the worker's until
        `take_back`. The client has taken what the worker had before.
        """
        self._handed_len = 0
        self.pass_on()
        room.append(self.core.output.span())
        swap(self.core.output, room)
        self.is_awake = True

    def take_back(mut self, mut room: Buffer, comes_back: Bool):
        """Gives the worker's buffer that `lend_room` left back, with what was
        written. If it `comes_back`, the worker looks here again when the client
        has taken it, without being woken."""
        self.settle()
        swap(self.core.output, room)
        self._rest(len(room), comes_back)

    def take(mut self, mut out: Buffer):
        """Takes all that waits, and gives the memory back that it was in. The
        client has taken what the worker had before."""
        var start = len(out)
        out.append(self.core.output.span())
        for index in range(len(self._frames)):
            out.append(self._frames.at(index)[].span())
        self._frames = []
        self._frames_len = 0
        self._rest(len(out) - start, False)

    def wants_word(self) -> Bool:
        """Tells whether the worker is to look here again when the client has
        taken what was handed over: until then it counts, unless it was too
        little."""
        return self._handed_len > 0

    def _rest(mut self, handed_len: Int, comes_back: Bool):
        if self.core.output.capacity() > 0:
            self.core.output = Buffer()
        self._passed_len = 0
        self._handed_len = 0
        if comes_back or handed_len >= _HANDED_LEN_MIN:
            self._handed_len = handed_len
        self.is_awake = comes_back or self._handed_len > 0

    def close(mut self):
        """Gives memory back; nothing is sent or received any more."""
        self.is_closed = True
        self.waker = None
        self._frames = []
        self._frames_len = 0
        self.core.release()


def send(
    box: Mutex[WsOutbox],
    opcode: Opcode,
    payload: Span[UInt8, _],
    code: Int = 0,
) raises:
    """Sends a frame, or a close frame with its code and reason; the calling
    thread compresses it, if that was agreed on. Raises if it cannot be sent, or
    the client is too far behind."""
    box.lock()[].write(opcode, payload, code)


def check_close(code: Int, reason: StringSpan) raises WsMisuse:
    """Checks that a server may close a connection so, or with
    `CloseCode.NO_STATUS`."""
    if code != CloseCode.NO_STATUS and not may_send_close_code(code):
        raise WsMisuse.CLOSE_CODE
    if reason.byte_length() > CLOSE_REASON_LEN_MAX:
        raise WsMisuse.CLOSE_REASON


def must_pause(box: Mutex[WsOutbox]) -> Bool:
    """Tells whether what was answered is to be sent before another message is
    processed. What waits does not count any more: it is about to be sent."""
    var outbox = box.lock()
    outbox[].pass_on()
    return outbox[].is_full()


@always_inline
def advance(
    box: Mutex[WsOutbox], mut input: Buffer
) raises WsProtocolError -> WsProgress:
    """Goes on with what the client has sent."""
    # SAFETY: only the worker's thread receives, so the receiver needs no lock;
    # it lies in a box of its own.
    ref receiver = box.unsafe_unlocked().core.receiver[]
    try:
        var progress = receiver.advance(input)
        if unlikely(
            progress == WsProgress.PING or progress == WsProgress.CLOSE
        ):
            _take_note(box, progress, input)
        return progress
    except error:
        box.lock()[].core.stop_receiving()
        raise error^


@no_inline
def _take_note(box: Mutex[WsOutbox], progress: WsProgress, input: Buffer):
    """Takes note of a close frame, or of a ping; answers that, unless so many
    were that the last one is enough (RFC 6455 section 5.5.3)."""
    var outbox = box.lock()
    outbox[].core.take_note(progress, input)
    if progress == WsProgress.PING:
        if len(outbox[].core.output) < _PONGS_LEN_MAX:
            outbox[].core.answer(MaskingKey.none())


def _frame_len(payload_len: Int) -> Int:
    """How long a server's frame is (RFC 6455 section 5.2), in bytes."""
    if payload_len < 126:
        return 2 + payload_len
    return (4 if payload_len < 65_536 else 10) + payload_len


def shared_frame(opcode: Opcode, payload: Span[UInt8, _]) -> ArcPointer[Buffer]:
    """Writes a frame for any number of clients, unmasked, as servers send it."""
    var frame = Buffer(len(payload) + 16)
    write_frame(frame, FrameHeader(opcode, len(payload)), payload)
    return ArcPointer(frame^)


struct WsSender(Copyable, Movable):
    """Sends to one client; copies send to the same.

    Calls may come from any thread. They return at once: what the client is not
    ready to take waits, up to `WsConfig.max_queue_size`. Each raises `Error` if
    the connection is closed, or the client is too far behind.
    """

    var _box: Mutex[WsOutbox]

    def __init__(out self, box: Mutex[WsOutbox]):
        """Makes a sender.

        Args:
            box: The connection's.
        """
        self._box = box

    def id(self) -> UInt64:
        """Gives a number that no other connection of this process has."""
        return self._box.lock()[].id

    def subprotocol(self) -> String:
        """Tells which of `WsConfig.subprotocols` was agreed on (RFC 6455
        section 4.2.2); empty for none."""
        return self._box.lock()[].subprotocol

    def is_open(self) -> Bool:
        """Tells whether something can still be sent: the connection is not
        closed, from whichever side."""
        return not self._box.lock()[].is_closed

    def send_text(self, text: StringSpan) raises:
        """Sends a text message.

        Args:
            text: The text.
        """
        send(self._box, Opcode.TEXT, text.as_bytes())

    def send_binary(self, octets: Span[UInt8, _]) raises:
        """Sends a binary message.

        Args:
            octets: The octets.
        """
        send(self._box, Opcode.BINARY, octets)

    def send_frame(self, frame: ArcPointer[Buffer]) raises:
        """Sends a frame that is shared with other clients.

        Args:
            frame: From `shared_frame`.
        """
        self._box.lock()[].put_frame(frame)

    def send_frames(self, frames: List[ArcPointer[Buffer]]) raises:
        """Sends what the client has missed, however much it is.

        Args:
            frames: From `shared_frame`.
        """
        self._box.lock()[].put_frames(frames)

    def ping(self, payload: StringSpan = "") raises:
        """Sends a ping.

        Args:
            payload: At most 125 bytes.

        Raises:
            Error: If the payload is too long, or the connection is closed.
        """
        send(self._box, Opcode.PING, payload.as_bytes())

    def close(
        self, code: Int = CloseCode.NORMAL, reason: StringSpan = ""
    ) raises:
        """Closes the connection in good order; nothing can be sent after it.

        Args:
            code: 1000 to 1003, 1007 to 1014, or 3000 to 4999; or
                `CloseCode.NO_STATUS` for none, and no reason.
            reason: At most 123 bytes.

        Raises:
            Error: If code or reason cannot be sent, or it is closed already.
        """
        send(self._box, Opcode.CLOSE, reason.as_bytes(), code)
