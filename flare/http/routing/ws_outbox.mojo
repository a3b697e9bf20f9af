"""A server's side of one WebSocket connection, shared by all who send to it."""

from flare.bytes.buffer import Buffer
from flare.http.message.stream_waker import StreamWaker
from flare.sys.errno import OsError
from flare.sys.monitor import Monitor
from flare.ws.core.connection import WsConnection
from flare.ws.core.mask import MaskingKey
from flare.ws.core.opcode import Opcode
from flare.ws.core.progress import WsProgress
from flare.ws.core.protocol_error import WsProtocolError
from std.memory import ArcPointer


struct WsOutbox(Movable):
    """A connection's core, under the monitor's lock.

    Frames are written where they are sent from: into the worker's buffer while
    the worker hears the client, else into a buffer that goes when it is taken.
    So an idle connection has none.
    """

    var monitor: Monitor
    """The lock."""
    var core: WsConnection
    """The protocol; its output waits to be taken by the worker."""
    var waker: Optional[StreamWaker]
    """Wakes the worker."""
    var is_closed: Bool
    """True if nothing more can be sent."""
    var is_cut: Bool
    """True if the client is too far behind."""
    var is_awake: Bool
    """True if the worker looks here again without being woken."""
    var id: UInt64
    """The connection's."""
    # Shared frames go behind the core's output.
    var _frames: List[ArcPointer[Buffer]]
    var _frames_len: Int
    # What of the output does not count, since it is on its way.
    var _passed_len: Int
    var _waiting_len_max: Int
    var _cuts: Bool

    def __init__(
        out self,
        id: UInt64,
        var core: WsConnection,
        waiting_len_max: Int,
        cuts: Bool,
    ) raises OsError:
        """Makes an empty box.

        Args:
            id: The connection's.
            core: The protocol.
            waiting_len_max: Most bytes that may wait.
            cuts: True to break the connection off beyond that.

        Raises:
            OsError: If the system has no more locks.
        """
        self.monitor = Monitor()
        self.core = core^
        self.waker = None
        self.is_closed = False
        self.is_cut = False
        self.is_awake = True
        self.id = id
        self._frames = []
        self._frames_len = 0
        self._passed_len = 0
        self._waiting_len_max = waiting_len_max
        self._cuts = cuts

    # All methods want the lock held.

    def admit(mut self, count: Int) raises:
        """Sees to it that something can be sent, and soon will be.

        Args:
            count: How much it is, in bytes.

        Raises:
            Error: If nothing more can be sent, or too much waits already.
        """
        if self.is_closed:
            raise Error("the WebSocket connection is closed")
        if not self.is_awake:
            self._wake()
        var waiting_len = (
            len(self.core.output) - self._passed_len + self._frames_len
        )
        if waiting_len + count <= self._waiting_len_max:
            return
        if self._cuts:
            self.is_cut = True
            self.is_closed = True
            # A worker that waits for the client to read looks here only now.
            self._wake()
        raise Error(
            "the WebSocket client is behind: ",
            waiting_len,
            " bytes wait for it; at most ",
            self._waiting_len_max,
            " may (max_queue_size)",
        )

    def _wake(mut self):
        self.is_awake = True
        if self.waker:
            self.waker.value().wake()

    def write(
        mut self, opcode: Opcode, payload: Span[UInt8, _], code: Int
    ) raises:
        """Writes a message, a ping or a close frame behind all that waits.

        Args:
            opcode: What kind of frame it is.
            payload: The payload, or the reason of a close frame.
            code: The code of a close frame.

        Raises:
            Error: If it cannot be sent, or too much waits already.
        """
        # Whoever is closed is not behind.
        self.admit(0 if opcode == Opcode.CLOSE else len(payload))
        self.settle()
        if opcode == Opcode.CLOSE:
            var reason = StringSpan(unsafe_from_utf8=payload)
            self.core.send_close(code, reason, MaskingKey.none())
            self.is_closed = True
        elif opcode == Opcode.PING:
            self.core.send_control(opcode, payload, MaskingKey.none())
        else:
            self.core.send_message(opcode, payload, MaskingKey.none())

    def put_frame(mut self, frame: ArcPointer[Buffer]) raises:
        """Adds a shared frame behind all that waits.

        Args:
            frame: A whole frame, unmasked.

        Raises:
            Error: If it cannot be sent, or too much waits already.
        """
        self.admit(len(frame[]))
        self._frames.append(frame.copy())
        self._frames_len += len(frame[])

    def settle(mut self):
        """Copies shared frames into the output, so that more can follow."""
        if self._frames_len > 0:
            for index in range(len(self._frames)):
                self.core.output.append(self._frames[index][].span())
            self._frames.clear()
            self._frames_len = 0

    def pass_on(mut self):
        """Does not count what waits any more: it is about to be sent."""
        self.settle()
        self._passed_len = len(self.core.output)

    def lend_room(mut self, mut room: Buffer):
        """Has frames written into a buffer of the worker's until `take_back`.

        Args:
            room: The buffer, empty.
        """
        self.pass_on()
        room.append(self.core.output.span())
        swap(self.core.output, room)
        self.is_awake = True

    def take_back(mut self, mut room: Buffer):
        """Gives the worker's buffer back, with what was written.

        Args:
            room: What `lend_room` left.
        """
        self.settle()
        swap(self.core.output, room)
        self._rest()

    def take(mut self, mut out: Buffer):
        """Takes all that waits, and gives the memory back that it was in.

        Args:
            out: Where to append it.
        """
        out.append(self.core.output.span())
        for index in range(len(self._frames)):
            out.append(self._frames[index][].span())
        self._frames = []
        self._frames_len = 0
        self._rest()

    def _rest(mut self):
        if self.core.output.capacity() > 0:
            self.core.output = Buffer()
        self._passed_len = 0
        self.is_awake = False

    def close(mut self):
        """Gives memory back; nothing is sent or received any more."""
        self.is_closed = True
        self.waker = None
        self._frames = []
        self._frames_len = 0
        self.core.release()


# These take the box by its counted pointer: in a method the compiler takes it
# for granted that nothing changes `mut self` while a lock is awaited.


def send(
    box: ArcPointer[WsOutbox],
    opcode: Opcode,
    payload: Span[UInt8, _],
    code: Int = 0,
) raises:
    """Sends a frame; the calling thread compresses it, if that was agreed on.

    Args:
        box: The connection's.
        opcode: What kind of frame it is.
        payload: The payload, or the reason of a close frame.
        code: The code of a close frame.

    Raises:
        Error: If it cannot be sent, or the client is too far behind.
    """
    box[].monitor.lock()
    try:
        box[].write(opcode, payload, code)
    except error:
        box[].monitor.unlock()
        raise error^
    box[].monitor.unlock()


def send_shared(box: ArcPointer[WsOutbox], frame: ArcPointer[Buffer]) raises:
    """Sends a frame that goes to other connections, too.

    Args:
        box: The connection's.
        frame: A whole frame, unmasked.

    Raises:
        Error: If it cannot be sent, or the client is too far behind.
    """
    box[].monitor.lock()
    try:
        box[].put_frame(frame)
    except error:
        box[].monitor.unlock()
        raise error^
    box[].monitor.unlock()


def end(box: ArcPointer[WsOutbox]):
    """Ends a connection for all who might still send to it.

    Args:
        box: The connection's.
    """
    box[].monitor.lock()
    box[].close()
    box[].monitor.unlock()


def advance(
    box: ArcPointer[WsOutbox], mut input: Buffer
) raises WsProtocolError -> WsProgress:
    """Goes on with what the client has sent.

    Args:
        box: The connection's.
        input: What has come.

    Returns:
        What was found.

    Raises:
        WsProtocolError: If the client breaks a rule.
    """
    box[].monitor.lock()
    box[].pass_on()
    try:
        var progress = box[].core.advance(input)
        box[].monitor.unlock()
        return progress
    except error:
        box[].monitor.unlock()
        raise error^
