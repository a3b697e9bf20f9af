"""The WebSocket client."""

from flare.http.client.message.response import url_without_credentials
from flare.http.message.header_map import HeaderMap
from flare.sys.clock import Deadline
from flare.ws.client_sender import WsClientSender
from flare.ws.config import WsClientConfig
from flare.ws.core.error import CloseCode
from flare.ws.core.frame import Opcode
from flare.ws.core.receiver import WsProgress
from flare.ws.error import WsClosed, WsError
from flare.ws.link import WsLink
from flare.ws.message import WsFrame, WsMessage
from flare.ws.opening import Opened, open_websocket, parse_websocket_url
from std.memory import ArcPointer


struct WsClient(Movable):
    """A WebSocket connection from its client's side.

        with WsClient.connect("ws://localhost:8080/chat") as ws:
            ws.send_text("hello")
            var message = ws.recv_message()
            if message.is_text:
                print(message.as_text())

    Pings are answered while something is received. The connection is closed
    with code 1000 when its owner goes, unless `close` was called. Every wait
    has a deadline. A client belongs to one thread; others send by its `sender`.
    """

    var headers: HeaderMap
    """The fields of the server's response."""
    var subprotocol: String
    """The subprotocol that the server chose; empty for none."""
    # A `with` block holds a second handle on the same connection.
    var _link: ArcPointer[WsLink]

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
        self.subprotocol = opened.agreement.subprotocol
        self.headers = HeaderMap()
        swap(self.headers, opened.headers)
        self._link = ArcPointer(WsLink(opened^, config^, url^))

    def __init__(out self, *, sharing: Self):
        """Makes another handle on a connection.

        Args:
            sharing: The connection; it closes when the last handle goes.
        """
        self.headers = sharing.headers.copy()
        self.subprotocol = sharing.subprotocol
        self._link = sharing._link

    @staticmethod
    def connect(
        url: StringSpan, var config: WsClientConfig = WsClientConfig()
    ) raises WsError -> Self:
        """Connects to a server, shakes hands, and gives the connection.

        Args:
            url: Such as `wss://example.com/chat`. User name and password in it
                are sent as Basic credentials.
            config: Times, limits and offers.

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

    def __enter__(self) -> Self:
        """Gives another handle on the connection, which lives as long as a
        `with` block."""
        return Self(sharing=self)

    def __exit__(mut self):
        """Closes the connection at the end of a `with` block."""
        self._link[].close_here(CloseCode.NORMAL)

    def __exit__(mut self, error: Error) -> Bool:
        """Closes the connection when a `with` block fails, and gives False, for
        the error goes on.

        Because of this method, errors of any type leave the block, as `Error`.

        Args:
            error: Why it fails.
        """
        self._link[].close_here(CloseCode.GOING_AWAY)
        return False

    def is_open(self) -> Bool:
        """Tells whether messages can be sent: neither side has closed."""
        return (
            self._link[].is_connected() and self._link[].core.state.may_send()
        )

    def close_code(self) -> Int:
        """Gives the server's close code; `CloseCode.ABNORMAL` before it has
        sent one."""
        return self._link[].close_code

    def close_reason(self) -> String:
        """Gives the server's reason to close; often empty."""
        return self._link[].close_reason

    def set_read_timeout(mut self, timeout_ms: Int):
        """Chooses how long one `recv` or `recv_message` may take; the rest is
        as for `TlsStream.set_read_timeout`."""
        self._link[].config.read_timeout_ms = timeout_ms

    def set_write_timeout(mut self, timeout_ms: Int):
        """Chooses how long sending one message may take; the rest is as for
        `TlsStream.set_read_timeout`."""
        self._link[].config.write_timeout_ms = timeout_ms

    def sender(self) raises WsError -> WsClientSender:
        """Gives a handle by which other threads send, while this one receives.
        All of a connection have one queue, whose bound is
        `WsClientConfig.max_queue_size` when the first is asked for.

        Raises:
            WsError: If the system has no more locks or descriptors, or
                `max_queue_size` is less than 1.
        """
        return WsClientSender(self._link[].send_queue())

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
        """Sends a message of octets; the rest is as for `send_text`.

        Args:
            octets: The message.
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
        var key = self._link[].key()
        try:
            self._link[].core.send_fragment(opcode, octets, is_final, key)
        except error:
            raise self._link[].named(WsError(error))
        self._link[].flush()

    def ping(mut self, payload: StringSpan = "") raises WsError:
        """Asks the server for a pong, which `recv` gives as a frame.

        Args:
            payload: What the pong repeats, at most 125 bytes.

        Raises:
            WsError: As `send_text`; `WsMisused` if the payload is too long.
        """
        self._send(Opcode.PING, payload.as_bytes())

    def recv_message(mut self) raises WsError -> WsMessage:
        """Takes the next message, whole, waiting for it.

        Raises:
            WsError: `WsClosed` once the server has closed, with its code;
                `Timeout` if nothing came in time, and the connection is still
                good; `WsProtocolBroken` if the server broke a rule.
        """
        var progress = self._link[].await_progress(by_frame=False)
        if progress == WsProgress.CLOSE:
            raise self._link[].closed_error()
        var is_text = self._link[].core.receiver[].opcode == Opcode.TEXT
        return WsMessage(self._link[].take_payload(), is_text)

    def next_message(mut self) raises WsError -> Optional[WsMessage]:
        """Receives the next message, or hears that there is none:

            with WsClient.connect("ws://localhost:8080/chat") as ws:
                while True:
                    var message = ws.next_message()
                    if not message:
                        break
                    print(message.value().as_text())

        Returns:
            The message; None once the server has closed in good order: with
            1000, 1001, or no code.

        Raises:
            WsError: As `recv_message`, but for such an end.
        """
        try:
            return self.recv_message()
        except error:
            var code = error.close_code
            if error.kind == WsClosed and (
                code == CloseCode.NORMAL
                or code == CloseCode.GOING_AWAY
                or code == CloseCode.NO_STATUS
            ):
                return None
            raise error^

    def recv(mut self) raises WsError -> WsFrame:
        """Takes the next frame, waiting for it: of a message, a pong, or a
        close frame, after which the connection is closed.

        Raises:
            WsError: As `recv_message`, but for the first `WsClosed`.
        """
        var progress = self._link[].await_progress(by_frame=True)
        if progress == WsProgress.CLOSE:
            var reason = List[UInt8](self._link[].close_reason.as_bytes())
            var frame = WsFrame(Opcode.CLOSE, True, reason^)
            frame.close_code = self._link[].close_code
            return frame^
        if progress == WsProgress.PONG:
            return WsFrame(Opcode.PONG, True, self._link[].take_payload())
        var payload = self._link[].take_payload()
        ref receiver = self._link[].core.receiver[]
        return WsFrame(receiver.opcode, receiver.is_final, payload^)

    def close(
        mut self, code: Int = CloseCode.NORMAL, reason: StringSpan = ""
    ) raises WsError:
        """Closes the connection; a second call does nothing.

        What a `sender` has queued goes before. The server is told, and given
        `close_timeout_ms` to answer; messages that arrive meanwhile are
        dropped. Whether and how it answered is in `close_code`.

        Args:
            code: Why, as a number: 1000 to 1003, 1007 to 1014, or 3000 to
                4999.
            reason: Why, in words, at most 123 bytes.

        Raises:
            WsError: `WsMisused` if the code or the reason cannot be sent; the
                connection is then still open.
        """
        if not self._link[].is_connected():
            return
        try:
            self._link[].send_queued()
        except:
            # The connection goes in any case.
            pass
        if self._link[].core.state.may_send():
            self._link[].write(Opcode.CLOSE, reason.as_bytes(), code)
        self._link[].close_here(code)

    def _send(mut self, opcode: Opcode, octets: Span[UInt8, _]) raises WsError:
        self._link[].write(opcode, octets)
        self._link[].flush()
