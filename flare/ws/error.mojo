"""The error of a WebSocket client."""

from flare.http.client.connect.error import ClientError
from flare.http.message.header_map import HeaderMap
from flare.net.error import NetworkError, NetworkErrorKind, Timeout
from flare.sys.errno import OsError
from flare.ws.core.error import CloseCode, WsMisuse, WsProtocolError
from flare.ws.core.handshake import HandshakeRule, WsHandshakeError

comptime WsClosed = NetworkErrorKind("WsClosed")
"""The connection is closed; `WsError.close_code` says how."""
comptime WsRefused = NetworkErrorKind("WsRefused")
"""The server answered the handshake, but not with 101, or 2xx over HTTP/2;
`WsError.status` has what it answered. 0 if it takes no WebSocket over HTTP/2, and
nothing else may be tried."""
comptime WsBadHandshake = NetworkErrorKind("WsBadHandshake")
"""The server's handshake breaks a rule."""
comptime WsProtocolBroken = NetworkErrorKind("WsProtocolBroken")
"""A frame of the server breaks a rule; it was told so with a close frame."""
comptime WsMisused = NetworkErrorKind("WsMisused")
"""What was asked for cannot be sent, or a message is of another kind."""

comptime WsQueueFull = NetworkErrorKind("WsQueueFull")
"""A message of a `WsClientSender` has found no room among those that wait."""

comptime REFUSAL_CONTENT_LEN_MAX = 4_096
"""Most octets of a refusal's content that are kept, in bytes: enough for a
problem in JSON or a sentence."""
comptime REFUSAL_CONTENT_TIMEOUT_MS = 1_000
"""How long they are waited for, in milliseconds: the refusal is known already."""


struct WsError(Copyable, Movable, Writable):
    """A connection could not be opened, or a message not sent or received."""

    var kind: NetworkErrorKind
    """What went wrong: a kind of this file, of `flare.net`, or of the HTTP
    client."""
    var reason: String
    """The cause in words, and what to do about it."""
    var url: String
    """Which connection, without user name and password."""
    var close_code: Int
    """The peer's code if `WsClosed`, or `CloseCode.ABNORMAL` if there was no
    close frame; the code that was sent if `WsProtocolBroken`; else 0."""
    var close_reason: String
    """The peer's reason; often empty."""
    var status: Int
    """The status code if `WsRefused`; else 0."""
    var headers: HeaderMap
    """The response's fields if `WsRefused`, such as WWW-Authenticate of a 401,
    Retry-After of a 429 or 503, Location of a redirection, which is not
    followed; else none."""
    var body: List[UInt8]
    """The first octets of the response's content if `WsRefused`, at most
    `REFUSAL_CONTENT_LEN_MAX`; less if they did not come soon. Still encoded if
    there is a Content-Encoding."""

    def __init__(out self, kind: NetworkErrorKind, var reason: String):
        """Makes an error."""
        self.kind = kind
        self.reason = reason^
        self.url = String()
        self.close_code = 0
        self.close_reason = String()
        self.status = 0
        self.headers = HeaderMap()
        self.body = []

    @implicit
    def __init__(out self, error: ClientError):
        """Takes over a failure to open or use the connection.

        Args:
            error: What failed.
        """
        self = Self(error.kind, String(error.phase, ": ", error.reason))

    @implicit
    def __init__(out self, error: OsError):
        """Takes over a failed system call."""
        var network = NetworkError(error)
        self = Self(network.kind, String(network))

    @implicit
    def __init__(out self, error: WsMisuse):
        """Takes over what cannot be sent."""
        var kind = materialize[WsMisused]()
        if error == WsMisuse.CLOSED:
            kind = materialize[WsClosed]()
        self = Self(kind, String(error))

    @implicit
    def __init__(out self, error: WsHandshakeError):
        """Takes over a handshake that failed."""
        self = Self(materialize[WsBadHandshake](), String(error))
        if (
            error.rule == HandshakeRule.STATUS
            or error.rule == HandshakeRule.STREAM_STATUS
        ):
            self.kind = materialize[WsRefused]()

    @implicit
    def __init__(out self, error: WsProtocolError):
        """Takes over a frame that breaks a rule."""
        self = Self(materialize[WsProtocolBroken](), String(error))
        self.close_code = error.close_code()

    @no_inline
    def __deinit__(deinit self):
        return

    @staticmethod
    def closed(code: Int, reason: StringSpan) -> Self:
        """Gives the error for a connection that the peer has closed.

        Args:
            code: Its close code, or `CloseCode.ABNORMAL`.
            reason: Its reason.
        """
        var text = String("the server closed the connection")
        if code == CloseCode.ABNORMAL:
            text.write(" without a close frame; open another one")
        elif code == CloseCode.NO_STATUS:
            text.write(" and gave no code")
        else:
            text.write(" with code ", code)
        if reason.byte_length() > 0:
            text.write(": ", reason)
        var error = Self(materialize[WsClosed](), text^)
        error.close_code = code
        error.close_reason = String(reason)
        return error^

    @staticmethod
    def timeout(operation: StaticString, timeout_ms: Int) -> Self:
        """Gives the error for time that is over.

        Args:
            operation: What took so long.
            timeout_ms: How long it had.
        """
        return Self(
            materialize[Timeout](),
            String(
                operation,
                ": nothing within ",
                timeout_ms,
                " ms; allow more time, or give the peer up",
            ),
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes URL, kind and cause."""
        if self.url.byte_length() > 0:
            writer.write(self.url, ": ")
        writer.write(self.kind, ": ", self.reason)
