"""One WebSocket connection of a server: the core, fed by the worker's loop."""

from flare.bytes.buffer import Buffer
from flare.http.message.body_source import Conversation, Supply
from flare.http.message.stream_waker import StreamWaker
from flare.http.routing.ws_handler import WsConfig, WsHandler, WsIncoming
from flare.http.routing.ws_outbox import WsOutbox, advance, end, send
from flare.http.routing.ws_sender import WsSender
from flare.sys.clock import coarse_monotonic_ms
from flare.ws.core.close_code import CloseCode
from flare.ws.core.mask import MaskingKey
from flare.ws.core.opcode import Opcode
from flare.ws.core.progress import WsProgress
from flare.ws.core.protocol_error import WsProtocolError
from std.memory import ArcPointer

comptime _PONGS_LEN_MAX = 16_384
# Of a flood of pings, the last is answered (RFC 6455 section 5.5.3).

comptime _NEVER_MS = Int.MAX


struct WsSession[H: WsHandler](Conversation):
    """What goes on behind the 101 of a WebSocket route.

    Parameters:
        H: The handler's type.
    """

    var _handler: ArcPointer[Self.H]
    var _box: ArcPointer[WsOutbox]
    var _config: ArcPointer[WsConfig]
    var _close_code: Int
    var _close_reason: String
    var _failure: String
    var _heard_ms: Int
    var _pinged_ms: Int
    var _close_end_ms: Int

    def __init__(
        out self,
        handler: ArcPointer[Self.H],
        var box: ArcPointer[WsOutbox],
        config: ArcPointer[WsConfig],
    ):
        """Makes the session of a connection that its handler has heard of.

        Args:
            handler: Answers messages.
            box: The protocol, and what waits to be sent.
            config: Times and limits.
        """
        self._handler = handler.copy()
        self._box = box^
        self._config = config.copy()
        self._close_code = CloseCode.ABNORMAL
        self._close_reason = String()
        self._failure = String()
        self._heard_ms = coarse_monotonic_ms()
        self._pinged_ms = _NEVER_MS
        self._close_end_ms = _NEVER_MS

    def __deinit__(deinit self):
        """Tells the handler of the end."""
        var sender = WsSender(self._box.copy())
        end(self._box)
        self._handler[].on_close(self._close_code, self._close_reason, sender)

    def begin(mut self, var waker: StreamWaker):
        """Lets senders wake the connection.

        Args:
            waker: Wakes it.
        """
        self._box[].monitor.lock()
        self._box[].waker = waker^
        self._box[].monitor.unlock()

    def fill(mut self, mut out: Buffer) raises -> Supply:
        """Writes what waits, pings a silent client, and looks at the time.

        Args:
            out: Where to.

        Returns:
            LATER, or END when the time is over.

        Raises:
            Error: Never.
        """
        var now_ms = coarse_monotonic_ms()
        if now_ms >= self._close_end_ms:
            return Supply.END
        if self._pinged_ms != _NEVER_MS:
            if now_ms - self._pinged_ms >= self._config[].pong_timeout_ms:
                return Supply.END
        elif now_ms - self._heard_ms >= self._config[].ping_interval_ms:
            self._ping(now_ms)
        self._box[].monitor.lock()
        self._box[].take(out)
        var supply = self._supply()
        self._box[].monitor.unlock()
        return supply

    def receive(mut self, mut input: Buffer, mut out: Buffer) raises -> Supply:
        """Lets the handler answer what has come.

        Args:
            input: What has come.
            out: Where answers go.

        Returns:
            LATER, or END when the connection is closed.

        Raises:
            Error: If the client is too far behind. One that breaks a rule gets
                a close frame.
        """
        self._heard_ms = coarse_monotonic_ms()
        self._pinged_ms = _NEVER_MS
        self._box[].monitor.lock()
        self._box[].lend_room(out)
        self._box[].monitor.unlock()
        var failed = self._hear(input)
        self._box[].monitor.lock()
        self._box[].settle()
        if failed:
            self._box[].core.fail(failed.value(), MaskingKey.none())
        else:
            self._box[].core.answer(MaskingKey.none())
        self._box[].take_back(out)
        var supply = Supply.END if failed else self._supply()
        var is_cut = self._box[].is_cut
        self._box[].monitor.unlock()
        if is_cut:
            raise Error("a WebSocket client is too far behind")
        return supply

    def take_failure(mut self) -> String:
        """Tells what the handler raised for the messages received last.

        Returns:
            A text for the server's log; empty if it raised nothing.
        """
        var failure = String()
        swap(failure, self._failure)
        return failure^

    def end_early(mut self, mut out: Buffer) -> Supply:
        """Tells the client that the server goes away, and waits for its answer.

        Args:
            out: Where to.

        Returns:
            LATER, or END when the time is over.
        """
        self._close(CloseCode.GOING_AWAY, "the server stops".as_bytes())
        self._box[].monitor.lock()
        self._box[].take(out)
        var supply = self._supply()
        self._box[].monitor.unlock()
        if coarse_monotonic_ms() >= self._close_end_ms:
            return Supply.END
        return supply

    def is_endless(self) -> Bool:
        """Tells that the connection goes on until someone closes it.

        Returns:
            True.
        """
        return True

    def patience_ms(self) -> Int:
        """Tells when to look at the time again.

        Returns:
            Milliseconds to the next thing that time brings.
        """
        var now_ms = coarse_monotonic_ms()
        if self._close_end_ms != _NEVER_MS:
            return self._close_end_ms - now_ms
        if self._pinged_ms != _NEVER_MS:
            return self._pinged_ms + self._config[].pong_timeout_ms - now_ms
        return self._heard_ms + self._config[].ping_interval_ms - now_ms

    def has_given_up(self) -> Bool:
        """Tells whether the client is too far behind.

        Returns:
            True if it is to be cut off.
        """
        self._box[].monitor.lock()
        var is_cut = self._box[].is_cut
        self._box[].monitor.unlock()
        return is_cut

    def _hear(mut self, mut input: Buffer) -> Optional[WsProtocolError]:
        """Answers all that has come; gives the rule that the client broke."""
        while True:
            var progress: WsProgress
            try:
                progress = advance(self._box, input)
            except error:
                self._close_code = error.close_code()
                return error^
            ref core = self._box[].core
            if progress == WsProgress.NEEDS_OCTETS:
                return None
            if progress == WsProgress.MESSAGE:
                self._answer(input)
            elif progress == WsProgress.PING:
                if len(core.output) < _PONGS_LEN_MAX:
                    self._pong()
            elif progress == WsProgress.CLOSE:
                self._close_code = core.receiver.close_code
                self._close_reason = String(from_utf8_lossy=core.payload(input))
                return None

    def _answer(mut self, ref input: Buffer):
        # Only this thread receives, so what came in needs no lock.
        ref core = self._box[].core
        var message = WsIncoming(
            core.receiver.opcode == Opcode.TEXT, core.payload(input)
        )
        var failure: String
        try:
            self._handler[].on_message(message, WsSender(self._box))
            return
        except error:
            failure = String(error)
        # A client that is too far behind is cut off by other means.
        if not self.has_given_up():
            self._failure = String("a WebSocket handler failed: ", failure)
            self._close(CloseCode.INTERNAL_ERROR, "".as_bytes())

    def _pong(self):
        self._box[].monitor.lock()
        self._box[].core.answer(MaskingKey.none())
        self._box[].monitor.unlock()

    def _ping(mut self, now_ms: Int):
        try:
            send(self._box, Opcode.PING, "".as_bytes())
            self._pinged_ms = now_ms
        except:
            # It is being closed, and that has a time of its own.
            self._heard_ms = now_ms

    def _close(mut self, code: Int, reason: Span[UInt8, _]):
        try:
            send(self._box, Opcode.CLOSE, reason, code)
        except:
            # It is being closed already, or cut off.
            pass

    def _supply(mut self) -> Supply:
        """Tells what follows, with the lock held."""
        var state = self._box[].core.state
        if not state.may_send():
            if not state.may_receive():
                return Supply.END
            if self._close_end_ms == _NEVER_MS:
                self._close_end_ms = (
                    coarse_monotonic_ms() + self._config[].close_timeout_ms
                )
        return Supply.LATER
