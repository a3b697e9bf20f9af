"""The WebSocket client."""

from flare.bytes.buffer import Buffer
from flare.http.client.client_response import url_without_credentials
from flare.http.message.header_map import HeaderMap
from flare.http.message.url import Url
from flare.sys.deadline import Deadline
from flare.ws.config import WsClientConfig
from flare.ws.core.close_code import CloseCode
from flare.ws.core.connection import WsConnection
from flare.ws.core.mask import MaskingKey
from flare.ws.core.misuse import WsMisuse
from flare.ws.core.opcode import Opcode
from flare.ws.core.progress import WsProgress
from flare.ws.core.role import Role
from flare.ws.error import WsError, WsMisused
from flare.ws.frame import WsFrame
from flare.ws.masking_keys import MaskingKeys
from flare.ws.message import WsMessage
from flare.ws.opening import Opened, open_websocket, parse_websocket_url
from flare.ws.wire import Wire

comptime OUTPUT_KEEP_LEN_MAX = 262_144
"""Room for outgoing messages that is kept from one to the next, in bytes."""

comptime DROP_TIMEOUT_MS = 1_000
"""How long a client that is dropped unclosed waits for the server's close
frame, in milliseconds; nobody is there to be told that it did not come."""


struct WsClient(Movable):
    """A WebSocket connection from its client's side.

        with WsClient.connect("ws://localhost:8080/chat") as ws:
            ws.send_text("hello")
            var message = ws.recv_message()
            if message.is_text:
                print(message.as_text())

    Pings are answered while something is received. The connection is closed
    with code 1000 when its owner goes, unless `close` was called. Every wait
    has a deadline. A client belongs to one thread.
    """

    var headers: HeaderMap
    """The fields of the server's response."""
    var subprotocol: String
    """The subprotocol that the server chose; empty for none."""
    var close_code: Int
    """Once closed, the server's close code; `CloseCode.ABNORMAL` before, and
    if there was no close frame."""
    var close_reason: String
    """Once closed, the server's reason; often empty."""
    var _url: String
    var _config: WsClientConfig
    # None once it is closed.
    var _wire: Optional[Wire]
    var _input: Buffer
    var _core: WsConnection
    var _keys: MaskingKeys
    var _was_closed_here: Bool

    def __init__(
        out self,
        var opened: Opened,
        var config: WsClientConfig,
        var url: String,
    ) raises WsError:
        """Takes over a connection; programs call `connect`.

        Args:
            opened: The connection, after its handshake.
            config: Limits and times.
            url: Where it leads, for errors.

        Raises:
            WsError: If zlib is missing and compression was agreed on.
        """
        try:
            self._core = WsConnection(
                Role.CLIENT, config.limits(), opened.agreement.deflate
            )
        except error:
            raise WsError(materialize[WsMisused](), String(error))
        self.subprotocol = opened.agreement.subprotocol
        self.close_code = CloseCode.ABNORMAL
        self.close_reason = String()
        self._url = url^
        self._config = config^
        self._keys = MaskingKeys()
        self._was_closed_here = False
        self._input = Buffer()
        self.headers = HeaderMap()
        swap(self._input, opened.input)
        swap(self.headers, opened.headers)
        self._wire = opened^.take_wire()

    @staticmethod
    def connect(
        url: StringSpan, var config: WsClientConfig = WsClientConfig()
    ) raises WsError -> Self:
        """Connects to a server and shakes hands.

        Args:
            url: Such as `wss://example.com/chat`. User name and password in it
                are sent as Basic credentials.
            config: Times, limits and offers.

        Returns:
            The connection.

        Raises:
            WsError: If the URL is bad, or the host cannot be reached or
                refuses; `status` has what it answered.
        """
        var parsed = parse_websocket_url(url)
        var name = url_without_credentials(parsed)
        var deadline = Deadline(config.connect_timeout_ms)
        try:
            var opened = open_websocket(parsed, config, deadline)
            return Self(opened^, config^, name)
        except error:
            error.url = name^
            raise error^

    def __enter__(var self) -> Self:
        """Lets the connection live as long as a `with` block.

        Returns:
            The connection.
        """
        return self^

    def __deinit__(deinit self):
        """Closes the connection, politely if that is quick."""
        if self._wire:
            self._config.close_timeout_ms = min(
                max(self._config.close_timeout_ms, 0), DROP_TIMEOUT_MS
            )
            self._config.write_timeout_ms = self._config.close_timeout_ms
            self._shut(CloseCode.NORMAL, "")

    def is_open(self) -> Bool:
        """Tells whether messages can be sent.

        Returns:
            False once either side has closed.
        """
        return Bool(self._wire) and self._core.state.may_send()

    def set_read_timeout(mut self, timeout_ms: Int):
        """Chooses how long one `recv` or `recv_message` may take.

        Args:
            timeout_ms: Milliseconds; negative (`NO_TIMEOUT_MS`) waits as long
                as it takes.
        """
        self._config.read_timeout_ms = timeout_ms

    def set_write_timeout(mut self, timeout_ms: Int):
        """Chooses how long sending one message may take.

        Args:
            timeout_ms: As for `set_read_timeout`.
        """
        self._config.write_timeout_ms = timeout_ms

    def send_text(mut self, text: StringSpan) raises WsError:
        """Sends a message of text.

        Args:
            text: The text.

        Raises:
            WsError: If the connection is closed or fails, or the time is over;
                after a timeout the rest goes out with the next call.
        """
        self._send(Opcode.TEXT, text.as_bytes())

    def send_binary(mut self, octets: Span[UInt8, _]) raises WsError:
        """Sends a message of octets.

        Args:
            octets: The message.

        Raises:
            WsError: As `send_text`.
        """
        self._send(Opcode.BINARY, octets)

    def send_fragment(
        mut self, opcode: Opcode, octets: Span[UInt8, _], is_final: Bool
    ) raises WsError:
        """Sends a part of a message, uncompressed.

        Args:
            opcode: `TEXT` or `BINARY` for the first part, then `CONTINUATION`.
            octets: The part; text is UTF-8, and may be cut anywhere.
            is_final: True for the last part.

        Raises:
            WsError: As `send_text`; `WsMisused` if another opcode is due.
        """
        var key = self._key()
        try:
            self._core.send_fragment(opcode, octets, is_final, key)
        except error:
            raise self._named(WsError(error))
        self._flush()

    def ping(mut self, payload: StringSpan = "") raises WsError:
        """Asks the server for a pong, which `recv` gives as a frame.

        Args:
            payload: What the pong repeats, at most 125 bytes.

        Raises:
            WsError: As `send_text`; `WsMisused` if the payload is too long.
        """
        var key = self._key()
        try:
            self._core.send_control(Opcode.PING, payload.as_bytes(), key)
        except error:
            raise self._named(WsError(error))
        self._flush()

    def recv_message(mut self) raises WsError -> WsMessage:
        """Receives the next message, whole.

        Returns:
            The message.

        Raises:
            WsError: `WsClosed` once the server has closed, with its code;
                `Timeout` if nothing came in time, and the connection is still
                good; `WsProtocolBroken` if the server broke a rule.
        """
        var progress = self._await_progress(by_frame=False)
        while progress == WsProgress.PONG:
            progress = self._await_progress(by_frame=False)
        if progress == WsProgress.CLOSE:
            raise self._closed()
        var is_text = self._core.receiver.opcode == Opcode.TEXT
        return WsMessage(self._payload(), is_text)

    def recv(mut self) raises WsError -> WsFrame:
        """Receives the next frame: of a message, a pong, or a close frame.

        Returns:
            The frame. Behind a close frame the connection is closed.

        Raises:
            WsError: As `recv_message`, but for the first `WsClosed`.
        """
        var progress = self._await_progress(by_frame=True)
        if progress == WsProgress.CLOSE:
            var reason = List[UInt8](self.close_reason.as_bytes())
            var frame = WsFrame(Opcode.CLOSE, True, reason^)
            frame.close_code = self.close_code
            return frame^
        if progress == WsProgress.PONG:
            return WsFrame(Opcode.PONG, True, self._payload())
        ref receiver = self._core.receiver
        return WsFrame(receiver.opcode, receiver.is_final, self._payload())

    def close(
        mut self, code: Int = CloseCode.NORMAL, reason: StringSpan = ""
    ) raises WsError:
        """Closes the connection; a second call does nothing.

        The server is told, and given `close_timeout_ms` to answer; messages
        that arrive meanwhile are dropped. Whether and how it answered is in
        `close_code`.

        Args:
            code: Why, as a number: 1000 to 1003, 1007 to 1014, or 3000 to
                4999.
            reason: Why, in words, at most 123 bytes.

        Raises:
            WsError: `WsMisused` if the code or the reason cannot be sent; the
                connection is then still open.
        """
        if not self._wire:
            return
        if self._core.state.may_send():
            var key = self._key()
            try:
                self._core.send_close(code, reason, key)
            except error:
                raise self._named(WsError(error))
        self._was_closed_here = True
        self._shut(code, reason)

    def _send(mut self, opcode: Opcode, octets: Span[UInt8, _]) raises WsError:
        var key = self._key()
        try:
            self._core.send_message(opcode, octets, key)
        except error:
            raise self._named(WsError(error))
        self._flush()

    def _key(mut self) raises WsError -> MaskingKey:
        """Takes the masking key for a frame, if one can still be sent."""
        if not self._wire:
            raise self._closed()
        try:
            return self._keys.next()
        except error:
            raise self._named(WsError(error))

    def _payload(self) -> List[UInt8]:
        return List[UInt8](self._core.payload(self._input))

    def _flush(mut self) raises WsError:
        """Sends what is in the output."""
        var deadline = Deadline(self._config.write_timeout_ms)
        try:
            self._wire.value().send(self._core.output, self._input, deadline)
        except error:
            raise self._named(error^)
        if self._core.output.capacity() > OUTPUT_KEEP_LEN_MAX:
            self._core.output = Buffer()

    def _await_progress(mut self, by_frame: Bool) raises WsError -> WsProgress:
        """Receives until there is something to tell; pings are answered."""
        if not self._wire:
            raise self._closed()
        var deadline = Deadline(self._config.read_timeout_ms)
        while True:
            var progress = self._advance(by_frame)
            if progress == WsProgress.CLOSE:
                self._note_close()
                self._shut(CloseCode.NORMAL, "")
                return progress
            if progress == WsProgress.NEEDS_OCTETS:
                self._answer()
                self._receive(deadline)
            elif progress != WsProgress.PING:
                self._answer()
                return progress

    def _advance(mut self, by_frame: Bool) raises WsError -> WsProgress:
        try:
            return self._core.advance(self._input, by_frame)
        except error:
            self._core.fail(error, self._key())
            self._shut(error.close_code(), "")
            raise self._named(WsError(error))

    def _answer(mut self) raises WsError:
        if self._core.owes_answer():
            self._core.answer(self._key())
            self._flush()

    def _receive(mut self, deadline: Deadline) raises WsError:
        var count: Int
        try:
            count = self._wire.value().receive(self._input, deadline)
        except error:
            raise self._named(error^)
        if count == 0:
            self._wire = None
            raise self._closed()

    def _note_close(mut self):
        self.close_code = self._core.receiver.close_code
        self.close_reason = String(
            unsafe_from_utf8=self._core.payload(self._input)
        )

    def _closed(self) -> WsError:
        if self._was_closed_here:
            return self._named(WsError(WsMisuse.CLOSED))
        return self._named(WsError.closed(self.close_code, self.close_reason))

    def _named(self, var error: WsError) -> WsError:
        error.url = self._url
        return error^

    def _shut(mut self, code: Int, reason: StringSpan):
        """Ends both directions, and gives the server time for its part."""
        try:
            self._say_goodbye(code, reason)
        except:
            # The connection goes in any case.
            pass
        self._wire = None

    def _say_goodbye(mut self, code: Int, reason: StringSpan) raises WsError:
        self._answer()
        if self._core.state.may_send():
            self._core.send_close(code, reason, self._key())
        self._flush()
        # RFC 6455 section 7.1.1: the server closes the connection first, and
        # octets left unread here would make the kernel reset it.
        var deadline = Deadline(self._config.close_timeout_ms)
        while True:
            var progress = self._core.advance(self._input)
            if progress == WsProgress.CLOSE:
                self._note_close()
            elif progress == WsProgress.NEEDS_OCTETS:
                self._receive(deadline)
