"""One WebSocket connection of a server: the core, fed by the worker's loop."""

from flare.bytes.buffer import Buffer
from flare.http.message.body_source import Conversation, Supply
from flare.http.message.stream_waker import StreamWaker
from flare.http.routing.ws_handler import WsConfig, WsHandler, WsIncoming
from flare.http.routing.ws_sender import (
    WsOutbox,
    WsOutgoing,
    WsSender,
    take_outgoing,
)
from flare.sys.clock import coarse_monotonic_ms
from flare.ws.core.close_code import CloseCode
from flare.ws.core.connection import WsConnection
from flare.ws.core.mask import MaskingKey
from flare.ws.core.opcode import Opcode
from flare.ws.core.progress import WsProgress
from flare.ws.core.protocol_error import WsProtocolError
from std.memory import ArcPointer
from std.sys import stderr

comptime _PONGS_LEN_MAX = 4_096
# Of a flood of pings, the last is answered (RFC 6455 section 5.5.3).

comptime _NEVER_MS = Int.MAX


struct WsSession[H: WsHandler](Conversation):
    """What goes on behind the 101 of a WebSocket route.

    Parameters:
        H: The handler's type.
    """

    var _handler: ArcPointer[Self.H]
    var _core: WsConnection
    var _box: ArcPointer[WsOutbox]
    var _config: ArcPointer[WsConfig]
    var _close_code: Int
    var _close_reason: String
    var _heard_ms: Int
    var _pinged_ms: Int
    var _close_end_ms: Int

    def __init__(
        out self,
        handler: ArcPointer[Self.H],
        var core: WsConnection,
        var box: ArcPointer[WsOutbox],
        config: ArcPointer[WsConfig],
    ):
        """Makes the session of a connection that its handler has heard of.

        Args:
            handler: Answers messages.
            core: The protocol.
            box: What waits to be sent.
            config: Times and limits.
        """
        self._handler = handler.copy()
        self._core = core^
        self._box = box^
        self._config = config.copy()
        self._close_code = CloseCode.ABNORMAL
        self._close_reason = String()
        self._heard_ms = coarse_monotonic_ms()
        self._pinged_ms = _NEVER_MS
        self._close_end_ms = _NEVER_MS

    def __deinit__(deinit self):
        """Tells the handler of the end."""
        var sender = WsSender(self._box.copy())
        self._box[].monitor.lock()
        self._box[].is_closed = True
        self._box[].waker = None
        self._box[].waiting.clear()
        self._box[].monitor.unlock()
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
        self._write_waiting()
        return self._flush(out)

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
        self._wake_up()
        while True:
            var progress: WsProgress
            try:
                progress = self._core.advance(input)
            except error:
                return self._fail(error, out)
            if progress == WsProgress.NEEDS_OCTETS:
                break
            if progress == WsProgress.MESSAGE:
                self._answer(input)
                self._write_waiting()
                self._wake_up()
            elif progress == WsProgress.PING:
                if len(self._core.output) < _PONGS_LEN_MAX:
                    self._core.answer(MaskingKey.none())
            elif progress == WsProgress.CLOSE:
                self._close_code = self._core.receiver.close_code
                self._close_reason = String(
                    from_utf8_lossy=self._core.payload(input)
                )
                break
        if self.has_given_up():
            raise Error("a WebSocket client is too far behind")
        self._core.answer(MaskingKey.none())
        self._write_waiting()
        return self._flush(out)

    def end_early(mut self, mut out: Buffer) -> Supply:
        """Tells the client that the server goes away, and waits for its answer.

        Args:
            out: Where to.

        Returns:
            LATER, or END when the time is over.
        """
        if self._close_end_ms == _NEVER_MS:
            self._write_waiting()
            self._close(CloseCode.GOING_AWAY, "the server stops".as_bytes())
        if coarse_monotonic_ms() >= self._close_end_ms:
            return Supply.END
        return self._flush(out)

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

    def _wake_up(self):
        """What senders add from now on is seen without waking."""
        self._box[].monitor.lock()
        self._box[].is_awake = True
        self._box[].monitor.unlock()

    def _answer(mut self, ref input: Buffer):
        var sender = WsSender(self._box.copy())
        var message = WsIncoming(
            self._core.receiver.opcode == Opcode.TEXT,
            self._core.payload(input),
        )
        var failure = String()
        try:
            self._handler[].on_message(message, sender)
            return
        except error:
            failure = String(error)
        # A client that is too far behind is cut off by other means.
        if not self.has_given_up():
            print("flare: a WebSocket handler failed:", failure, file=stderr)
            self._close(CloseCode.INTERNAL_ERROR, "".as_bytes())

    def _ping(mut self, now_ms: Int):
        try:
            self._core.send_control(
                Opcode.PING, "".as_bytes(), MaskingKey.none()
            )
            self._pinged_ms = now_ms
        except:
            # It is being closed, and that has a time of its own.
            self._heard_ms = now_ms

    def _write_waiting(mut self):
        """Writes what senders have left."""
        var items = take_outgoing(self._box)
        for index in range(len(items)):
            ref item = items[index]
            if not self._core.state.may_send():
                return
            if item.opcode == Opcode.CLOSE:
                self._close(item.code, Span(item.payload))
            elif item.frame:
                self._core.output.append(item.frame.value()[].span())
            else:
                self._write(item)

    def _write(mut self, item: WsOutgoing):
        try:
            if item.opcode == Opcode.PING:
                self._core.send_control(
                    item.opcode, Span(item.payload), MaskingKey.none()
                )
            else:
                self._core.send_message(
                    item.opcode, Span(item.payload), MaskingKey.none()
                )
        except error:
            print("flare: a WebSocket message is lost:", error, file=stderr)

    def _close(mut self, code: Int, reason: Span[UInt8, _]):
        if not self._core.state.may_send():
            return
        try:
            self._core.send_close(
                code, StringSpan(unsafe_from_utf8=reason), MaskingKey.none()
            )
        except error:
            print("flare: a WebSocket is not closed:", error, file=stderr)
        self._end_sending()

    def _end_sending(mut self):
        self._close_end_ms = (
            coarse_monotonic_ms() + self._config[].close_timeout_ms
        )
        self._box[].monitor.lock()
        self._box[].is_closed = True
        self._box[].monitor.unlock()

    def _fail(mut self, error: WsProtocolError, mut out: Buffer) -> Supply:
        self._core.fail(error, MaskingKey.none())
        self._close_code = error.close_code()
        out.append(self._core.output.span())
        return Supply.END

    def _flush(mut self, mut out: Buffer) -> Supply:
        out.append(self._core.output.span())
        self._core.output.clear()
        var is_over = not (
            self._core.state.may_send() or self._core.state.may_receive()
        )
        return Supply.END if is_over else Supply.LATER
