"""A connection and its core: what a client does with calls that wait."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import list_of, text_of
from flare.net.error import Timeout
from flare.sys.clock import Deadline
from flare.sys.errno import OsError
from flare.sys.random import fill_random
from flare.ws.client_sender import SendQueue
from flare.ws.config import WsClientConfig
from flare.ws.core.connection import WsConnection
from flare.ws.core.error import CloseCode, WsMisuse
from flare.ws.core.frame import MaskingKey, Opcode, Role
from flare.ws.core.receiver import WsProgress
from flare.ws.error import WsError, WsMisused
from flare.ws.opening import Opened
from flare.ws.wire import Wire

comptime BUFFER_KEEP_LEN_MAX = 262_144
"""Room for messages that is kept from one to the next, each way, in bytes."""


comptime PONGS_LEN_MAX = 4_096
"""Most octets of pongs that wait to be sent; further pings have to wait for the
last one's (RFC 6455 section 5.5.3)."""

comptime DROP_TIMEOUT_MS = 1_000
"""How long a connection that is dropped unclosed waits for the server's close
frame, in milliseconds; nobody is there to be told that it did not come."""


struct WsLink(Movable):
    """Feeds a core with what the wire brings, and sends what it writes."""

    var core: WsConnection
    var config: WsClientConfig
    var close_code: Int
    """The peer's close code, or `CloseCode.ABNORMAL`."""
    var close_reason: String
    # None once it is closed.
    var _wire: Optional[Wire]
    var _url: String
    var _input: Buffer
    var _keys: MaskingKeys
    var _was_closed_here: Bool
    # What other threads send; none until one is to.
    var _queue: Optional[SendQueue]

    def __init__(
        out self,
        var opened: Opened,
        var config: WsClientConfig,
        var url: String,
    ) raises WsError:
        """Takes over a connection after its handshake, and its input. Raises if
        zlib is missing and compression was agreed on."""
        try:
            self.core = WsConnection(
                Role.CLIENT, config.limits(), opened.agreement.deflate
            )
        except error:
            raise WsError(materialize[WsMisused](), String(error))
        self.config = config^
        self.close_code = CloseCode.ABNORMAL
        self.close_reason = String()
        self._url = url^
        self._keys = MaskingKeys()
        self._was_closed_here = False
        self._queue = None
        self._input = Buffer()
        swap(self._input, opened.input)
        self._wire = opened^.take_wire()

    def __deinit__(deinit self):
        """Closes the connection, politely if that is quick."""
        if self._wire:
            var timeout_ms = max(self.config.close_timeout_ms, 0)
            self.config.close_timeout_ms = min(timeout_ms, DROP_TIMEOUT_MS)
            self.config.write_timeout_ms = self.config.close_timeout_ms
            self.close_here(CloseCode.NORMAL)

    def is_connected(self) -> Bool:
        return Bool(self._wire)

    def key(mut self) raises WsError -> MaskingKey:
        """Takes the masking key for a frame, if one can still be sent; else
        raises `WsClosed`."""
        if not self._wire:
            raise self.closed_error()
        try:
            return self._keys.next()
        except error:
            raise self.named(WsError(error))

    def send_queue(mut self) raises WsError -> SendQueue:
        """Gives the queue of what other threads send. Raises if the system has
        no more locks or descriptors, or the queue could hold nothing."""
        if not self._queue:
            var octet_max = self.config.max_queue_size
            if octet_max < 1:
                var said = String(
                    "max_queue_size is ", octet_max, "; allowed is 1 or more"
                )
                raise self.named(WsError(materialize[WsMisused](), said^))
            try:
                self._queue = SendQueue(octet_max, self._url)
            except error:
                raise self.named(WsError(error))
            if not (self._wire and self.core.state.may_send()):
                self._queue.value().end(self.closed_error())
        return self._queue.value().copy()

    def send_queued(mut self) raises WsError:
        """Sends what other threads have queued, if a message may begin now.
        Raises as `flush`."""
        if not self._queue or not self.core.may_begin_message():
            return
        # What is left of messages before these is not added to without end.
        if len(self.core.output) > 0:
            self.flush()
        var messages = self._queue.value().take()
        for index in range(len(messages)):
            ref message = messages[index]
            self.write(message.opcode, message.payload, message.close_code)
        if len(messages) > 0:
            self.flush()

    def write(
        mut self, opcode: Opcode, payload: Span[UInt8, _], close_code: Int = 0
    ) raises WsError:
        """Writes a message, a ping, or a close frame with a code and a reason,
        for `flush`. Raises if it cannot be sent."""
        var key = self.key()
        try:
            if opcode == Opcode.CLOSE:
                self.core.send_close(close_code, text_of(payload), key)
            elif opcode == Opcode.PING:
                self.core.send_control(opcode, payload, key)
            else:
                self.core.send_message(opcode, payload, key)
        except error:
            raise self.named(WsError(error))

    def _bell(self) -> Int32:
        """The descriptor that tells of queued messages, if they can be sent; -1
        if not."""
        if self._queue and self.core.may_begin_message():
            return self._queue.value().bell()
        return -1

    def _drop_wire(mut self):
        self._wire = None
        if self._queue:
            self._queue.value().end(self.closed_error())

    def take_payload(mut self) -> List[UInt8]:
        """Takes the payload that `await_progress` told of, so that a long one
        is not kept until the next one comes.
        """
        var payload = list_of(self.core.payload(self._input))
        self.core.receiver[].let_go(self._input)
        return payload^

    def flush(mut self) raises WsError:
        """Sends what the core has written. Raises if the connection fails or
        the time is over."""
        var deadline = Deadline(self.config.write_timeout_ms)
        try:
            self._wire.value().send(self.core.output, self._input, deadline)
        except error:
            raise self.named(error^)
        if self.core.output.capacity() > BUFFER_KEEP_LEN_MAX:
            self.core.output = Buffer()

    def await_progress(mut self, by_frame: Bool) raises WsError -> WsProgress:
        """Receives until there is something to tell, of a message or, if
        `by_frame`, of each frame; pings are answered. `MESSAGE`, or `FRAME` and
        `PONG`, or `CLOSE`: the connection is then closed. Raises if it is closed
        or fails, the time is over, or the peer breaks a rule."""
        if not self._wire:
            raise self.closed_error()
        if self._queue:
            self.send_queued()
        var deadline = Deadline(self.config.read_timeout_ms)
        var has_received = False
        while True:
            var progress = self._advance(by_frame)
            if progress == WsProgress.PONG and not by_frame:
                continue
            if progress == WsProgress.CLOSE:
                self._note_close()
                self._shut(CloseCode.NORMAL)
                return progress
            if progress == WsProgress.PING:
                # Each of a few is answered, of a flood only the last.
                if len(self.core.output) < PONGS_LEN_MAX:
                    self.core.answer(self.key())
                continue
            if self.core.owes_answer():
                self.core.answer(self.key())
            if len(self.core.output) > 0:
                self.flush()
            if progress != WsProgress.NEEDS_OCTETS:
                return progress
            self._receive(deadline, has_received)

    def close_here(mut self, code: Int):
        """Closes the connection, as the program wishes; with a code, if no
        close frame was sent yet."""
        if self._wire:
            self._was_closed_here = True
            self._shut(code)

    def _shut(mut self, code: Int):
        """Ends both directions, and gives the peer time for its part."""
        try:
            self._say_goodbye(code)
        except:
            # The connection goes in any case.
            pass
        self._drop_wire()

    def closed_error(self) -> WsError:
        """Makes the error `WsClosed` for a call on a closed connection."""
        if self._was_closed_here:
            return self.named(WsError(WsMisuse.CLOSED))
        return self.named(WsError.closed(self.close_code, self.close_reason))

    def named(self, var error: WsError) -> WsError:
        """Completes an error with the connection's URL."""
        error.url = self._url
        return error^

    def _advance(mut self, by_frame: Bool) raises WsError -> WsProgress:
        try:
            return self.core.advance(self._input, by_frame)
        except error:
            self.core.fail(error, self.key())
            self._shut(error.close_code())
            raise self.named(WsError(error))

    def _receive(
        mut self, deadline: Deadline, mut has_received: Bool
    ) raises WsError:
        """Takes what is there, waiting for the first octet. From the second
        piece on the time counts also if there is something: what a peer sends
        without end always is. What other threads queue meanwhile is sent."""
        if has_received and deadline.left_ms() == 0:
            raise self.named(WsError.timeout("receive", deadline.timeout_ms))
        has_received = True
        # While a long message was sent, much may have come.
        if len(self._input) == 0:
            if self._input.capacity() > BUFFER_KEEP_LEN_MAX:
                self._input = Buffer()
        var count: Optional[Int]
        try:
            count = self._wire.value().receive(
                self._input, deadline, self._bell()
            )
        except error:
            if error.kind != Timeout:
                # Nothing more comes, and nothing that is sent is heard.
                self._drop_wire()
            raise self.named(error^)
        if not count:
            self.send_queued()
        elif count.value() == 0:
            self._drop_wire()
            raise self.closed_error()

    def _note_close(mut self):
        self.close_code = self.core.receiver[].close_code
        self.close_reason = text_of(self.core.payload(self._input))

    def _say_goodbye(mut self, code: Int) raises WsError:
        if self.core.owes_answer():
            self.core.answer(self.key())
        if self.core.state.may_send():
            self.send_queued()
        if self.core.state.may_send():
            self.core.send_close(code, "", self.key())
        self.flush()
        # RFC 6455 section 7.1.1: the server closes the connection first, and
        # octets left unread here would make the kernel reset it.
        var deadline = Deadline(self.config.close_timeout_ms)
        var has_received = False
        while True:
            var progress = self.core.advance(self._input)
            if progress == WsProgress.CLOSE:
                self._note_close()
            elif progress == WsProgress.NEEDS_OCTETS:
                self._receive(deadline, has_received)


comptime _STOCK_LEN = 256


struct MaskingKeys(Movable):
    """Keys from the operating system, fetched 64 at a time.

    Source: RFC 6455 section 10.3: a script that could foretell keys could
    write what a proxy takes for requests.
    """

    var _stock: List[UInt8]
    var _used_len: Int

    def __init__(out self):
        """Makes an empty stock."""
        self._stock = List[UInt8](length=_STOCK_LEN, fill=0)
        self._used_len = _STOCK_LEN

    def next(mut self) raises OsError -> MaskingKey:
        """Takes a key; each is given out once. Raises if the system has no
        random numbers."""
        if self._used_len + 4 > len(self._stock):
            fill_random(self._stock)
            self._used_len = 0
        var word = UInt32(0)
        for place in range(4):
            word = word << 8 | UInt32(self._stock.at(self._used_len + place))
        self._used_len += 4
        return MaskingKey(word)
