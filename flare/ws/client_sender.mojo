"""Sending over a client's connection from other threads than its owner's."""

from flare.runtime.event import Waker
from flare.sys.clock import Deadline
from flare.sys.errno import OsError
from flare.sys.mutex import Condvar, Mutex
from flare.ws.core.error import (
    CLOSE_REASON_LEN_MAX,
    CloseCode,
    WsMisuse,
    may_send_close_code,
)
from flare.ws.core.frame import CONTROL_PAYLOAD_LEN_MAX, Opcode
from flare.ws.error import WsError, WsQueueFull

comptime QUEUED_LEN = 64
"""What a message that waits counts beside its octets, in bytes, so that empty
ones cannot wait without end."""


struct QueuedMessage(Copyable, Movable):
    """A message, a ping or a close frame that waits for the owner."""

    var opcode: Opcode
    var payload: List[UInt8]
    """The octets; of a close frame its reason."""
    var close_code: Int
    """The code of a close frame; else 0."""

    def __init__(out self, opcode: Opcode, payload: Span[UInt8, _]):
        self.opcode = opcode
        self.payload = List[UInt8](payload)
        self.close_code = 0


struct _Waiting(Movable):
    var messages: List[QueuedMessage]
    var octet_count: Int
    # Why nothing is taken any more; nothing while it is.
    var end: Optional[WsError]

    def __init__(out self):
        self.messages = []
        self.octet_count = 0
        self.end = None


struct SendQueue(Copyable, Movable):
    """Messages on their way to the thread that has the connection; copies are
    the same queue. Its bell rings while there are some."""

    var _waiting: Mutex[_Waiting]
    var _has_room: Condvar
    var _bell: Waker
    var _octet_max: Int
    var _url: String

    def __init__(out self, octet_max: Int, url: String) raises OsError:
        """Makes an empty queue. Raises if the system has no more locks or
        descriptors."""
        self._waiting = Mutex(_Waiting())
        self._has_room = Condvar()
        self._bell = Waker()
        self._octet_max = octet_max
        self._url = url

    def bell(self) -> Int32:
        """Lends a descriptor that can be read while something waits."""
        return self._bell.fd()

    def put(self, var message: QueuedMessage, timeout_ms: Int) raises WsError:
        """Lets a message wait, once there is room: at most that long. After a
        close frame nothing is taken. Raises if the connection is closed, or
        there is no room."""
        var size = len(message.payload) + QUEUED_LEN
        if size > self._octet_max:
            raise self._full(len(message.payload))
        var deadline = Deadline(timeout_ms)
        var guard = self._waiting.lock()
        while True:
            if guard[].end:
                raise guard[].end.value().copy()
            if guard[].octet_count + size <= self._octet_max:
                break
            var left_ms = deadline.left_ms()
            if left_ms == 0:
                raise self._full(len(message.payload))
            if left_ms < 0:
                self._has_room.wait(guard)
            else:
                _ = self._has_room.wait_for(guard, left_ms)
        if message.opcode == Opcode.CLOSE:
            guard[].end = self.misused(WsMisuse.CLOSED)
        var was_empty = len(guard[].messages) == 0
        guard[].octet_count += size
        guard[].messages.append(message^)
        # Under the lock, so that the bell rings if something waits, and not
        # otherwise.
        if was_empty:
            self._bell.wake()
        _ = guard^

    def take(self) -> List[QueuedMessage]:
        """Takes all that waits, and silences the bell."""
        var taken = List[QueuedMessage]()
        var guard = self._waiting.lock()
        if len(guard[].messages) > 0:
            _ = self._bell.drain()
            swap(taken, guard[].messages)
            guard[].octet_count = 0
            self._has_room.notify_all()
        _ = guard^
        return taken^

    def end(self, var error: WsError):
        """Takes nothing any more, for this reason; what waits is dropped, and
        so are those who wait for room."""
        var guard = self._waiting.lock()
        if len(guard[].messages) > 0:
            _ = self._bell.drain()
            guard[].messages.clear()
            guard[].octet_count = 0
        guard[].end = error^
        self._has_room.notify_all()
        _ = guard^

    def is_open(self) -> Bool:
        return not self._waiting.lock()[].end

    def waiting_len(self) -> Int:
        return self._waiting.lock()[].octet_count

    def misused(self, misuse: WsMisuse) -> WsError:
        var error = WsError(misuse)
        error.url = self._url
        return error^

    def _full(self, length: Int) -> WsError:
        var error = WsError(
            materialize[WsQueueFull](),
            String(
                "a message of ",
                length,
                " octets finds no room: at most ",
                self._octet_max,
                " octets wait, of which each message takes ",
                QUEUED_LEN,
                (
                    " more than its own; send less, wait with timeout_ms, or"
                    " raise WsClientConfig.max_queue_size, and see that the"
                    " owner of the connection receives"
                ),
            ),
        )
        error.url = self._url
        return error^


struct WsClientSender(Copyable, Movable):
    """Sends over a `WsClient` that belongs to another thread; copies send over
    the same connection.

        var client = WsClient.connect("wss://example.com/feed")
        var sender = client.sender()
        # ... on another thread
        sender.send_text("hello")

    What is sent waits in a queue of `WsClientConfig.max_queue_size`, and the
    owner's thread sends it: at once while it is in a call that receives, else
    with its next one, and before it closes. So the owner is to receive all the
    time, as a client that reads does. Messages go in the order in which they
    were queued, whole, and not between the fragments of one that the owner
    sends (RFC 6455 section 5.4). That a call returns says that a message waits,
    not that it has left.

    A sender may outlive its client; every call may come from any thread.
    """

    var _queue: SendQueue

    def __init__(out self, queue: SendQueue):
        """Makes a sender; programs call `WsClient.sender`.

        Args:
            queue: The connection's queue.
        """
        self._queue = queue.copy()

    def is_open(self) -> Bool:
        """Tells whether something can still be sent: the connection is not
        closed, and no sender has said `close`."""
        return self._queue.is_open()

    def waiting_len(self) -> Int:
        """Tells how many bytes wait to be sent, with 64 more for each message
        than it holds."""
        return self._queue.waiting_len()

    def send_text(
        self, text: StringSpan, *, timeout_ms: Int = 0
    ) raises WsError:
        """Sends a message of text.

        Args:
            text: The text.
            timeout_ms: Longest wait for room, in milliseconds; 0 does not wait,
                negative (`NO_TIMEOUT_MS`) waits as long as it takes.

        Raises:
            WsError: `WsQueueFull` if there is no room; `WsClosed` if the
                connection is closed, also while it waits.
        """
        var message = QueuedMessage(Opcode.TEXT, text.as_bytes())
        self._queue.put(message^, timeout_ms)

    def send_binary(
        self, octets: Span[UInt8, _], *, timeout_ms: Int = 0
    ) raises WsError:
        """Sends a message of octets; the rest is as for `send_text`.

        Args:
            octets: The message.
        """
        self._queue.put(QueuedMessage(Opcode.BINARY, octets), timeout_ms)

    def ping(self, payload: StringSpan = "") raises WsError:
        """Asks the server for a pong, which the owner's `recv` gives as a
        frame; the rest is as for `WsClient.ping`."""
        if payload.byte_length() > CONTROL_PAYLOAD_LEN_MAX:
            raise self._queue.misused(WsMisuse.CONTROL_LEN)
        self._queue.put(QueuedMessage(Opcode.PING, payload.as_bytes()), 0)

    def close(
        self, code: Int = CloseCode.NORMAL, reason: StringSpan = ""
    ) raises WsError:
        """Has the connection closed after what waits; nothing is sent any
        more. The owner hears of the end as of one by the server, once that has
        answered the close frame.

        Args:
            code: Why, as a number: 1000 to 1003, 1007 to 1014, or 3000 to
                4999.
            reason: Why, in words, at most 123 bytes.

        Raises:
            WsError: As `send_text`; `WsMisused` if the code or the reason
                cannot be sent.
        """
        if not may_send_close_code(code):
            raise self._queue.misused(WsMisuse.CLOSE_CODE)
        if reason.byte_length() > CLOSE_REASON_LEN_MAX:
            raise self._queue.misused(WsMisuse.CLOSE_REASON)
        var message = QueuedMessage(Opcode.CLOSE, reason.as_bytes())
        message.close_code = code
        self._queue.put(message^, 0)
