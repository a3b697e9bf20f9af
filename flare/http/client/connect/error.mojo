"""The error of a request that did not get its response."""

from flare.http.h1.error import LocalProtocolError, RemoteProtocolError, Rule
from flare.http.h2.error import Http2Error, Http2Rule
from flare.http.message.status import Status
from flare.json.error import JsonError
from flare.sys.clock import NO_TIMEOUT_MS
from flare.net.error import NetworkError, NetworkErrorKind, Timeout
from flare.tls.error import TlsError, TlsErrorKind

comptime BadUrl = NetworkErrorKind("BadUrl")
"""A text is no URL that a request can go to."""
comptime BadRequest = NetworkErrorKind("BadRequest")
"""A request holds what must not be sent, such as a line end in its method."""
comptime MalformedResponse = NetworkErrorKind("MalformedResponse")
"""A response breaks the rules of HTTP; `ClientError.rule` says which."""
comptime TruncatedResponse = NetworkErrorKind("TruncatedResponse")
"""The connection was closed before the response was complete."""
comptime NoResponse = NetworkErrorKind("NoResponse")
"""The connection was closed before any octet of a response."""
comptime StreamReset = NetworkErrorKind("StreamReset")
"""A server has ended a request over HTTP/2 without a response."""
comptime ResponseTooLarge = NetworkErrorKind("ResponseTooLarge")
"""A response goes over a limit of `ClientConfig`."""
comptime TooManyRedirects = NetworkErrorKind("TooManyRedirects")
"""More redirections than `ClientConfig.max_redirects`, or a loop of them."""
comptime RedirectRefused = NetworkErrorKind("RedirectRefused")
"""A redirection leads where no client should follow."""
comptime Cancelled = NetworkErrorKind("Cancelled")
"""The program has ended the request with a `CancelToken`."""
comptime PoolExhausted = NetworkErrorKind("PoolExhausted")
"""All connections of a shared client are in use, and too many requests wait."""
comptime ProxyRefused = NetworkErrorKind("ProxyRefused")
"""A proxy did not open a tunnel."""
comptime BadContent = NetworkErrorKind("BadContent")
"""Content that is not what its Content-Encoding says."""
comptime TlsFailed = NetworkErrorKind("TlsFailed")
"""TLS has failed; `ClientError.tls_kind` says how."""
comptime UnexpectedResponse = NetworkErrorKind("UnexpectedResponse")
"""A response is none that the call can go on with: its status, type or range."""
comptime ErrorStatus = NetworkErrorKind("ErrorStatus")
"""A response says that the request failed: `ClientError.status` is 400 or
more. Only `raise_for_status` raises it."""
comptime OtherError = NetworkErrorKind("OtherError")
"""What a program has called beside the client has failed, such as `Int(text)`
in the same `try`."""
comptime HookFailed = NetworkErrorKind("HookFailed")
"""A hook of the program has refused to send a request."""
comptime SinkFailed = NetworkErrorKind("SinkFailed")
"""What the content was to be written to has failed."""
comptime SourceFailed = NetworkErrorKind("SourceFailed")
"""What the content was to be read from has failed."""


@fieldwise_init
struct Phase(Equatable, TrivialRegisterPassable, Writable):
    """The part of a request's life in which it failed."""

    var name: StaticString
    """The phase in words."""

    comptime REQUEST = Phase("request")
    """Making the request; nothing was sent."""
    comptime QUEUE = Phase("queue")
    """Waiting for a connection, or for a stream of one (HTTP/2)."""
    comptime RESOLVE = Phase("resolve")
    """Looking up the host's name."""
    comptime CONNECT = Phase("connect")
    """Connecting to the host."""
    comptime PROXY = Phase("proxy")
    """Asking a proxy for a tunnel."""
    comptime TLS = Phase("tls")
    """The TLS handshake."""
    comptime WRITE = Phase("write")
    """Sending the request."""
    comptime READ_HEAD = Phase("read head")
    """Waiting for the response's head."""
    comptime READ_BODY = Phase("read body")
    """Receiving the response's content."""
    comptime DECODE = Phase("decode")
    """Undoing the response's Content-Encoding."""
    comptime REDIRECT = Phase("redirect")
    """Following a redirection."""
    comptime TOTAL = Phase("total")
    """The time for all of it together is over."""
    comptime RESPONSE = Phase("response")
    """Using a complete response: its status, its text, its JSON."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name."""
        writer.write(self.name)


struct ClientError(Copyable, Movable, Writable):
    """A request failed before its response was complete, or the response is of
    no use: `raise_for_status`, `text` and `json` raise the same type.

        try:
            var response = client.get("/items")
            response.raise_for_status()
            print(response.json()["count"].int_value())
        except error:
            print(error)

    A `try` has the type of its first call that raises. What is called after a
    request there, such as `int_value` with its `JsonError`, becomes one of these.
    """

    var phase: Phase
    """When it failed."""
    var kind: NetworkErrorKind
    """What went wrong: a kind of this file or of `flare.net`."""
    var detail: NetworkErrorKind
    """The same more finely, where there is more to say: of `DnsError`, whether the
    name does not exist (`NameNotFound`); of the phase `TOTAL`, whether there was no
    connection by then (`ConnectionTimeout`); else the kind."""
    var url: String
    """The URL that was asked, without user name and password."""
    var reason: String
    """The cause in words."""
    var rule: Optional[Rule]
    """The rule that a malformed response breaks."""
    var tls_kind: Optional[TlsErrorKind]
    """How TLS has failed: a kind of `flare.tls`."""
    var status: Status
    """The status of a response that `raise_for_status` refuses, or with which a
    proxy has refused a tunnel (`ProxyRefused`); else 0."""
    var attempt_count: Int
    """How often the request was sent, but for redirections; 0 if it was not
    begun. With a `RetryPolicy`, `reason` says why it was not sent again."""
    var http2_code: Int
    """The error code with which a server has ended the request over HTTP/2
    (RFC 9113 section 7), by RST_STREAM or GOAWAY; -1 if it has sent none."""

    def __init__(
        out self, phase: Phase, kind: NetworkErrorKind, var reason: String
    ):
        """Makes an error, whose reason says, too, what to do about it; the
        client fills in the URL."""
        self.phase = phase
        self.kind = kind
        self.detail = kind
        self.url = String()
        self.reason = reason^
        self.rule = None
        self.tls_kind = None
        self.status = 0
        self.attempt_count = 0
        self.http2_code = -1

    def __init__(out self, phase: Phase, error: NetworkError):
        """Takes over a failure of the network.

        Args:
            error: What failed.
        """
        self = Self(phase, error.kind, String(error))
        self.detail = error.detail

    def __init__(out self, phase: Phase, error: RemoteProtocolError):
        """Takes over a breach of the protocol."""
        self = Self(phase, _kind_of(error.rule), String(error))
        self.rule = error.rule
        if error.rule == Rule.HEADER_LEN:
            self.name_setting("head_limits.max_header_size")
        elif error.rule == Rule.FIELD_COUNT:
            self.name_setting("head_limits.max_fields")
        elif error.rule == Rule.REASON_LEN:
            self.name_setting("head_limits.max_target_size")

    def __init__(
        out self,
        phase: Phase,
        error: Http2Error,
        *,
        has_all_fields: Bool = False,
    ):
        """Takes over a breach of the rules of HTTP/2.

        Args:
            phase: When it was found.
            error: What was broken.
            has_all_fields: True if the section has as many fields as it may
                have, so that there were too many, and not too long ones.
        """
        var is_limit = (
            error.rule == Http2Rule.SECTION_LEN
            or error.rule == Http2Rule.FIELD_BLOCK_LEN
        )
        var kind = MalformedResponse
        if is_limit:
            kind = ResponseTooLarge
        self = Self(phase, kind, String(error))
        if is_limit and has_all_fields:
            self.name_setting("head_limits.max_fields")
        elif is_limit:
            self.name_setting("head_limits.max_header_size")

    @no_inline
    def __deinit__(deinit self):
        return

    def name_setting(mut self, name: StaticString):
        """Says which setting allows more.

        Args:
            name: The field of `ClientConfig`.
        """
        self.reason.write("; ClientConfig.", name, " allows more")

    def __init__(out self, phase: Phase, error: TlsError):
        """Takes over a failure of TLS, or of the network below it."""
        if error.network:
            self = Self(phase, error.network.value())
        else:
            self = Self(phase, TlsFailed, String(error))
            self.tls_kind = error.kind

    @implicit
    def __init__(out self, error: LocalProtocolError):
        """Takes over the refusal to write a request."""
        self = bad_request(String(error))

    @implicit
    def __init__(out self, error: JsonError):
        """Takes over what is wrong with the JSON of a response."""
        self = Self(Phase.RESPONSE, BadContent, String(error))

    @implicit
    def __init__(out self, error: Error):
        """Takes over what a program calls in one `try` with a request."""
        self = Self(Phase.RESPONSE, OtherError, String(error))

    @staticmethod
    def timeout(
        phase: Phase, timeout_ms: Int, *, idle_ms: Int = NO_TIMEOUT_MS
    ) -> Self:
        """Makes the error for time that is over.

        Args:
            phase: What took so long.
            timeout_ms: How long it had.
            idle_ms: The `idle_timeout_ms` of the call that reads, if it has
                set one.

        Returns:
            The error.
        """
        var setting = StaticString("connect_timeout_ms")
        if phase == Phase.WRITE:
            setting = "write_timeout_ms"
        elif phase == Phase.READ_HEAD or phase == Phase.READ_BODY:
            setting = "read_timeout_ms"
        var error = Self(
            phase, Timeout, String("nothing within ", timeout_ms, " ms")
        )
        if phase == Phase.READ_BODY and idle_ms >= 0:
            error.reason.write("; idle_timeout_ms allows more")
        else:
            error.name_setting(setting)
        return error^

    def write_to(self, mut writer: Some[Writer]):
        """Writes URL, phase, kind and cause; of a status and of what is not the
        client's the cause alone behind the URL."""
        writer.write_string(self._message())

    def _message(self) -> String:
        var text = String()
        if self.url.byte_length() > 0:
            text.write(self.url, ": ")
        if self.kind == ErrorStatus or self.kind == OtherError:
            text.write(self.reason)
            return text^
        text.write(self.phase, ": ", self.kind, ": ", self.reason)
        return text^


def bad_request(var reason: String) -> ClientError:
    """Makes the error of a request that is not sent, or a setting that is of no
    use."""
    return ClientError(Phase.REQUEST, BadRequest, reason^)


def check_problem(var problem: String) raises ClientError:
    """Raises what is wrong with what a request or a client was given, if
    anything is."""
    if problem.byte_length() > 0:
        raise bad_request(problem^)


def _kind_of(rule: Rule) -> NetworkErrorKind:
    if rule == Rule.NO_RESPONSE:
        return NoResponse
    if rule == Rule.TRUNCATED_HEAD or rule == Rule.TRUNCATED_CONTENT:
        return TruncatedResponse
    var is_limit = (
        rule == Rule.BODY_LEN
        or rule == Rule.HEADER_LEN
        or rule == Rule.FIELD_COUNT
        or rule == Rule.REASON_LEN
        or rule == Rule.INTERIM_COUNT
    )
    if is_limit:
        return ResponseTooLarge
    return MalformedResponse
