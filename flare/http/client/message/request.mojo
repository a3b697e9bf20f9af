"""A request that is being made: URL, fields and content."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.client.connect.auth import Credentials
from flare.http.client.connect.cancel import CancelToken
from flare.http.client.message.config import time_problem, total_problem
from flare.http.client.message.hooks import AnyHook
from flare.http.client.connect.error import (
    BadUrl,
    ClientError,
    Phase,
    check_problem,
)
from flare.http.client.message.multipart import FormParts, MultipartForm
from flare.http.client.message.retry_policy import RetryPolicy
from flare.http.message.body import Body
from flare.http.message.form import FormData
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.response import APPLICATION_JSON, OCTET_STREAM
from flare.json.error import JsonError
from flare.json.value import JsonValue
from flare.json.writer import dumps
from flare.trace.core.span import TraceSpan
from flare.url.parts import URL_TOO_LONG
from flare.url.url import Url
from std.memory import ArcPointer

comptime CLIENTS_OWN = -2
"""A number of a request that leaves the choice to `ClientConfig`."""


struct ClientRequest(Copyable, Movable):
    """Method, URL, fields and content of a request.

    ```mojo
    var request = ClientRequest("GET", "/items")
    request.add_query("page", "2")
    request.headers.set("Accept", "application/json")
    var response = client.send(request^)
    ```
    """

    var method: String
    """The method; any token."""
    var url: String
    """An absolute URL, or one relative to the client's base URL."""
    var headers: HeaderMap
    """Header fields. They win over those that the client sends of itself; the
    framing (Content-Length, Transfer-Encoding) is always the client's."""
    var body: RequestBody
    """The content."""
    var query: FormData
    """Appended to the URL's own query."""
    var auth: Credentials
    """Wins over the client's credentials; like them, not sent elsewhere."""
    var total_timeout_ms: Int
    """Time for all of it in milliseconds, whatever progress it makes;
    `CLIENTS_OWN` for the client's."""
    var max_redirects: Int
    """Most redirections to follow; `CLIENTS_OWN` for the client's."""
    var expects_continue: Bool
    """True to ask whether the content is wanted before sending it."""
    var minor_version: UInt8
    """1; 0 to speak HTTP/1.0."""
    var problem: String
    """Why it cannot be sent; empty if nothing is known against it."""
    var cancel: Optional[CancelToken]
    """Ends it from outside."""
    var is_repeatable: Bool
    """True if sending it twice means the same as once, whatever its method, so
    that it may be repeated as a GET may."""
    # In a box, for few requests have any.
    var _options: Optional[ArcPointer[RequestOptions]]

    def __init__(
        out self,
        var method: String,
        var url: String,
        var body: RequestBody = RequestBody(),
    ):
        """Makes a request."""
        self.method = method^
        self.url = url^
        self.headers = HeaderMap()
        self.body = body^
        self.query = FormData()
        self.auth = Credentials()
        self.total_timeout_ms = CLIENTS_OWN
        self.max_redirects = CLIENTS_OWN
        self.expects_continue = False
        self.minor_version = 1
        self.problem = String()
        self.cancel = None
        self.is_repeatable = False
        self._options = None

    @no_inline
    def __deinit__(deinit self):
        return

    def set_trace(mut self, span: TraceSpan):
        """Makes the request a part of a trace.

            request.set_trace(current_span(req))
            var response = client.send(request^)

        It goes out with the fields of W3C Trace Context. If the trace is
        recorded, the client makes a span, from the start of the request to the
        end of the response, all redirections and repetitions included: method,
        URL without credentials and values of the query, status, error.

        Args:
            span: Whose part it is; one that belongs to no trace changes
                nothing.
        """
        if span.context.is_valid():
            self._own_options()
            self._options.held()[].trace = ArcPointer(span)

    def trace_span(self) -> Optional[ArcPointer[TraceSpan]]:
        """Lends what `set_trace` was given; nothing if the request is a part of
        no trace."""
        if self._options:
            return self._options.held()[].trace
        return None

    def set_retries(mut self, var policy: RetryPolicy):
        """Has the request repeated by a policy of its own, in place of the
        client's.

            request.set_retries(RetryPolicy(max_attempts=1))

        Requests that are given copies of one policy have one budget together.
        One that `RetryPolicy.problem` finds fault with fails before it is sent.

        Args:
            policy: The policy.
        """
        if self.problem.byte_length() == 0:
            self.problem = policy.problem()
        self._own_options()
        self._options.held()[].retries = policy^

    def add_hook(mut self, hook: AnyHook):
        """Has each attempt of the request seen by a hook, after the client's.

        Args:
            hook: A `ClientHook`, or a plain function: `BeforeAttempt` or
                `AfterAttempt`.
        """
        self._own_options()
        self._options.held()[].hooks.append(hook)

    def _own_options(mut self):
        """Has options that no copy of the request has in common with it."""
        var options = RequestOptions()
        if self._options:
            options = self._options.held()[].copy()
        self._options = ArcPointer(options^)

    def options(self) -> Optional[ArcPointer[RequestOptions]]:
        """Lends what few requests are given; nothing if there is none of it."""
        return self._options

    def add_query(mut self, var name: String, var value: String):
        """Appends a parameter to the query; it is encoded when it is sent.

        Args:
            name: Its name.
            value: Its value.
        """
        self.query.add(name^, value^)

    def set_header(
        mut self, name: StringSpan, value: StringSpan
    ) raises HeaderError:
        """Sets a header field.

        Args:
            name: A token.
            value: The value.

        Raises:
            HeaderError: If either would break the request's head.
        """
        self.headers.set(name, value)


struct RequestOptions(Copyable, Defaultable, Movable):
    """What few requests are given."""

    var trace: Optional[ArcPointer[TraceSpan]]
    """The span that the request is a part of."""
    var retries: Optional[RetryPolicy]
    """Whether it is repeated, in place of the client's policy."""
    var hooks: List[AnyHook]
    """What sees each attempt."""


comptime FORM_URLENCODED = StaticString("application/x-www-form-urlencoded")
"""Media type of a form without files (URL Standard section 5)."""


struct RequestBody(Copyable, Defaultable, Movable):
    """Content, and what it is: text is JSON, octets are just octets.

    For other kinds set Content-Type among the request's headers, which wins.
    """

    var content: Body
    """The octets, unless they are a form's."""
    # The parts of a form, shared by all copies.
    var _parts: Optional[ArcPointer[FormParts]]
    var content_type: String
    """The media type; empty without content."""
    var is_given: Bool
    """False if the request was made without a body."""

    def __init__(out self):
        """Makes no content."""
        self.content = Body()
        self._parts = None
        self.content_type = String()
        self.is_given = False

    def __init__(out self, var content: Body, var content_type: String):
        """Takes content of any kind."""
        self.content = content^
        self._parts = None
        self.content_type = content_type^
        self.is_given = True

    @implicit
    def __init__(out self, var text: String):
        """Takes JSON text; it is not checked.

        Args:
            text: The text.
        """
        self = Self(Body(text^), String(APPLICATION_JSON))

    @implicit
    def __init__(out self, text: StringLiteral):
        """Takes literal JSON text; it is not checked."""
        self = Self(Body(text), String(APPLICATION_JSON))

    @implicit
    def __init__(out self, text: StringSpan):
        """Copies JSON text; it is not checked."""
        self = Self(Body(String(text)), String(APPLICATION_JSON))

    @implicit
    def __init__(out self, var octets: List[UInt8]):
        """Takes octets.

        Args:
            octets: The octets.
        """
        self = Self(Body(octets^), String(OCTET_STREAM))

    @implicit
    def __init__(out self, form: FormData):
        """Takes a form, to be sent as a browser does.

        Args:
            form: The fields.
        """
        self = Self(Body(String(form)), String(FORM_URLENCODED))

    @implicit
    def __init__(out self, var form: MultipartForm):
        """Takes a form with files."""
        var content_type = form.content_type()
        self = Self(Body(), content_type^)
        self._parts = ArcPointer(form^.finish())

    @no_inline
    def __deinit__(deinit self):
        return

    def content_len(self) -> Int:
        """Counts the octets of content, those in files included."""
        if self._parts:
            return len(self._parts.value()[])
        return len(self.content)

    def is_in_memory(self) -> Bool:
        """Tells whether all of it can be had without a wait: no part of a form
        is to be read from a file."""
        return not self._parts

    def append_to(
        self, mut output: Buffer, start: Int, end: Int
    ) raises ClientError:
        """Copies a piece of the content.

        Args:
            output: Where to.
            start: Where the piece begins, in bytes.
            end: Where it ends; at most `content_len`.

        Raises:
            ClientError: If a file of a form cannot be read, or has become
                shorter (`SourceFailed`).
        """
        if self._parts:
            self._parts.value()[].append_to(output, start, end)
        else:
            output.append(self.content.as_bytes().between(start, end))

    @staticmethod
    def json(value: JsonValue) raises JsonError -> Self:
        """Writes a JSON value.

        Args:
            value: The value.

        Returns:
            The content.

        Raises:
            JsonError: If the value cannot be written.
        """
        return Self(Body(dumps(value)), String(APPLICATION_JSON))


def request_url(
    base: Optional[Url], request: ClientRequest
) raises ClientError -> Url:
    """Finds the URL of a request, with its query. A URL without a scheme is
    appended to the client's base URL, whatever it begins with, so that no path
    can name another host. Raises if it is no absolute URL, or the request has a
    `problem`."""
    check_problem(_problem_of(request))
    var text = request.url
    if base and not _has_scheme(text):
        ref start = base.value()
        var joined = String(start.protocol(), "//", start.host())
        joined.write(start.pathname().removesuffix("/"))
        if not (
            text.startswith("/")
            or text.startswith("?")
            or text.byte_length() == 0
        ):
            joined.write("/")
        joined.write(text)
        text = joined^
    var url = parse_request_url(text)
    if len(request.query) == 0:
        return url^
    return parse_request_url(_with_query(String(url), request.query))


def _with_query(url: String, query: FormData) -> String:
    """Appends to the query of a URL in its normal form. There both marks stand
    where their parts begin, and nowhere before that; a part may be the mark
    alone (RFC 3986 sections 3.4 and 3.5)."""
    var end = url.find("#")
    if end < 0:
        end = url.byte_length()
    var text = String(url[byte=:end])
    var mark = text.find("?")
    if mark < 0:
        text.write("?")
    elif mark < end - 1:
        text.write("&")
    text.write(query, url[byte=end:])
    return text^


def _problem_of(request: ClientRequest) -> String:
    """Says why a request cannot be sent; empty if nothing is known against it."""
    if request.problem.byte_length() > 0:
        return request.problem.copy()
    if request.max_redirects < 0 and request.max_redirects != CLIENTS_OWN:
        return String(
            "max_redirects: ",
            request.max_redirects,
            " is no number; allow 0 or more, or CLIENTS_OWN",
        )
    if request.total_timeout_ms == CLIENTS_OWN:
        return String()
    return total_problem("total_timeout_ms", request.total_timeout_ms)


def own_time_problem(name: StaticString, time_ms: Int) -> String:
    """Does as `time_problem` for a time of a call, in milliseconds or
    `CLIENTS_OWN`."""
    if time_ms == CLIENTS_OWN:
        return String()
    return time_problem(name, time_ms)


def parse_request_url(text: StringSpan) raises ClientError -> Url:
    """Reads an absolute URL. Raises if it is none; a password in it is not
    repeated."""
    try:
        return Url.parse(text)
    except error:
        var reason = String(error.reason, " (byte ", error.offset, ")")
        if "@" not in text or error.reason == URL_TOO_LONG:
            reason = String(error)
        raise ClientError(Phase.REQUEST, BadUrl, reason^)


def _has_scheme(text: StringSpan) -> Bool:
    var end = text.find("://")
    if end < 1:
        return False
    for octet in text.as_bytes().before(end):
        if octet == 47 or octet == 63 or octet == 35:
            return False
    return True


@fieldwise_init
struct Transfer(TrivialRegisterPassable):
    """How far a transfer has come, in bytes as transferred."""

    var is_upload: Bool
    """True for the content of the request, False for that of the response."""
    var done_len: Int
    """How much has gone, or come."""
    var total_len: Int
    """How much there is; -1 if nobody has said."""


trait TransferProgress(Deinitable, Movable):
    """Is told how far transfers have come, such as a bar on a screen."""

    def on_progress(mut self, transfer: Transfer) raises:
        """Hears that more has gone or come: about each 64 KiB, and at the end.

        A transfer that has to begin anew, because the content has changed or the
        request is repeated, goes back to 0.

        Args:
            transfer: How far it is.

        Raises:
            Error: To stop the transfer; the request fails with `SinkFailed` or
                `SourceFailed`, and this error's text.
        """
        ...


struct NoProgress(TransferProgress):
    """Nobody wants to know."""

    def __init__(out self):
        pass

    def on_progress(mut self, transfer: Transfer) raises:
        """Hears nothing."""
        return
