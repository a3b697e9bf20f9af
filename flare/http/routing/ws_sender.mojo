"""Sending to a WebSocket client, from any thread."""

from flare.bytes.buffer import Buffer
from flare.http.message.stream_waker import StreamWaker
from flare.sys.errno import OsError
from flare.sys.monitor import Monitor
from flare.ws.core.close_code import CloseCode, may_send_close_code
from flare.ws.core.frame_header import FrameHeader
from flare.ws.core.frame_writer import write_frame
from flare.ws.core.opcode import Opcode
from std.memory import ArcPointer

comptime _CLOSE_REASON_LEN_MAX = 123
comptime _PING_LEN_MAX = 125


struct WsOutgoing(Movable, Sized):
    """What waits to be sent: a payload, or a frame that is written already."""

    var opcode: Opcode
    """What kind of frame it is."""
    var payload: List[UInt8]
    """The payload, if it is to be written."""
    var code: Int
    """The code of a close frame."""
    var frame: Optional[ArcPointer[Buffer]]
    """A frame that is shared with other connections."""

    def __init__(
        out self, opcode: Opcode, payload: Span[UInt8, _], code: Int = 0
    ):
        """Takes a payload.

        Args:
            opcode: What kind of frame it is.
            payload: The payload, copied.
            code: The code of a close frame.
        """
        self.opcode = opcode
        self.payload = List[UInt8](payload)
        self.code = code
        self.frame = None

    def __init__(out self, frame: ArcPointer[Buffer]):
        """Takes a frame.

        Args:
            frame: A whole frame, unmasked.
        """
        self.opcode = Opcode.BINARY
        self.payload = []
        self.code = 0
        self.frame = frame.copy()

    def __len__(self) -> Int:
        """Measures it.

        Returns:
            Bytes of payload, or of the frame.
        """
        return len(self.frame.value()[]) if self.frame else len(self.payload)


struct WsOutbox(Movable):
    """What waits for one connection, under the monitor's lock."""

    var monitor: Monitor
    """The lock."""
    var waiting: List[WsOutgoing]
    """What waits, in order."""
    var waiting_len: Int
    """How much that is, in bytes."""
    var waiting_len_max: Int
    """How much it may be."""
    var cuts: Bool
    """True to break the connection off beyond that."""
    var is_cut: Bool
    """True if it is to be broken off."""
    var is_closed: Bool
    """True if nothing more can be sent."""
    var is_awake: Bool
    """True if the connection looks here again without being woken."""
    var waker: Optional[StreamWaker]
    """Wakes it."""
    var id: UInt64
    """The connection's."""

    def __init__(
        out self, id: UInt64, waiting_len_max: Int, cuts: Bool
    ) raises OsError:
        """Makes an empty box.

        Args:
            id: The connection's.
            waiting_len_max: Most bytes that may wait.
            cuts: True to break the connection off beyond that.

        Raises:
            OsError: If the system has no more locks.
        """
        self.monitor = Monitor()
        self.waiting = []
        self.waiting_len = 0
        self.waiting_len_max = waiting_len_max
        self.cuts = cuts
        self.is_cut = False
        self.is_closed = False
        self.is_awake = True
        self.waker = None
        self.id = id

    def put(mut self, var item: WsOutgoing) raises:
        """Adds something, with the lock held.

        Args:
            item: What is to be sent.

        Raises:
            Error: If nothing more can be sent, or too much waits already.
        """
        if self.is_closed:
            raise Error("the WebSocket connection is closed")
        if self.waiting_len + len(item) > self.waiting_len_max:
            self._wake()
            if self.cuts:
                self.is_cut = True
                self.is_closed = True
                self.waiting.clear()
            raise Error(
                "the WebSocket client is behind: ",
                self.waiting_len,
                " bytes wait for it; at most ",
                self.waiting_len_max,
                " may (max_queue_size)",
            )
        self.waiting_len += len(item)
        self.is_closed = item.opcode == Opcode.CLOSE
        self.waiting.append(item^)
        self._wake()

    def _wake(mut self):
        if not self.is_awake and self.waker:
            self.is_awake = True
            self.waker.value().wake()


# These take the box by its counted pointer: in a method the compiler takes it
# for granted that nothing changes `mut self` while a lock is awaited.


def put_outgoing(box: ArcPointer[WsOutbox], var item: WsOutgoing) raises:
    """Adds something to what waits for a connection.

    Args:
        box: The connection's.
        item: What is to be sent.

    Raises:
        Error: If nothing more can be sent, or too much waits already.
    """
    box[].monitor.lock()
    try:
        box[].put(item^)
    except error:
        box[].monitor.unlock()
        raise error^
    box[].monitor.unlock()


def take_outgoing(box: ArcPointer[WsOutbox]) -> List[WsOutgoing]:
    """Takes all that waits; whoever adds to it next wakes the connection.

    Args:
        box: The connection's.

    Returns:
        What waits, in order.
    """
    var taken = List[WsOutgoing]()
    box[].monitor.lock()
    swap(taken, box[].waiting)
    box[].waiting_len = 0
    box[].is_awake = False
    box[].monitor.unlock()
    return taken^


def shared_frame(opcode: Opcode, payload: Span[UInt8, _]) -> ArcPointer[Buffer]:
    """Writes a frame for any number of clients.

    Args:
        opcode: What kind of frame it is.
        payload: The payload.

    Returns:
        The frame, unmasked, as servers send it.
    """
    var frame = Buffer(len(payload) + 16)
    write_frame(frame, FrameHeader(opcode, len(payload)), payload)
    return ArcPointer(frame^)


struct WsSender(Copyable, Movable):
    """Sends to one client; copies send to the same.

    Calls may come from any thread. They return at once: what the client is not
    ready to take waits, up to `WsConfig.max_queue_size`.
    """

    var _box: ArcPointer[WsOutbox]

    def __init__(out self, var box: ArcPointer[WsOutbox]):
        """Makes a sender.

        Args:
            box: What waits for the connection.
        """
        self._box = box^

    def id(self) -> UInt64:
        """Tells connections apart.

        Returns:
            A number that no other connection of this process has.
        """
        return self._box[].id

    def is_open(self) -> Bool:
        """Tells whether something can still be sent.

        Returns:
            False once the connection is closed, from whichever side.
        """
        self._box[].monitor.lock()
        var is_open = not self._box[].is_closed
        self._box[].monitor.unlock()
        return is_open

    def send_text(self, text: StringSpan) raises:
        """Sends a text message.

        Args:
            text: The text.

        Raises:
            Error: If the connection is closed, or the client is too far behind.
        """
        put_outgoing(self._box, WsOutgoing(Opcode.TEXT, text.as_bytes()))

    def send_binary(self, octets: Span[UInt8, _]) raises:
        """Sends a binary message.

        Args:
            octets: The octets.

        Raises:
            Error: If the connection is closed, or the client is too far behind.
        """
        put_outgoing(self._box, WsOutgoing(Opcode.BINARY, octets))

    def send_frame(self, frame: ArcPointer[Buffer]) raises:
        """Sends a frame that is shared with other clients.

        Args:
            frame: From `shared_frame`.

        Raises:
            Error: If the connection is closed, or the client is too far behind.
        """
        put_outgoing(self._box, WsOutgoing(frame))

    def ping(self, payload: StringSpan = "") raises:
        """Sends a ping.

        Args:
            payload: At most 125 bytes.

        Raises:
            Error: If the payload is too long, or the connection is closed.
        """
        if payload.byte_length() > _PING_LEN_MAX:
            raise Error(
                "a ping of ",
                payload.byte_length(),
                " bytes; at most 125 are allowed",
            )
        put_outgoing(self._box, WsOutgoing(Opcode.PING, payload.as_bytes()))

    def close(
        self, code: Int = CloseCode.NORMAL, reason: StringSpan = ""
    ) raises:
        """Closes the connection in good order; nothing can be sent after it.

        Args:
            code: 1000 to 1003, 1007 to 1014, or 3000 to 4999.
            reason: At most 123 bytes.

        Raises:
            Error: If code or reason cannot be sent, or it is closed already.
        """
        if not may_send_close_code(code):
            raise Error("close code ", code, " may not be sent")
        if reason.byte_length() > _CLOSE_REASON_LEN_MAX:
            raise Error(
                "a close reason of ",
                reason.byte_length(),
                " bytes; at most 123 are allowed",
            )
        put_outgoing(
            self._box, WsOutgoing(Opcode.CLOSE, reason.as_bytes(), code)
        )
