"""The client without a socket."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import Buffer
from flare.bytes.copy import list_of
from flare.http.client.message.request import ClientRequest, request_url
from flare.http.client.message.response import ClientResponse
from flare.http.client.message.verbs import RequestMethods
from flare.http.cookie.jar import CookieJar
from flare.http.h1.error import Rule
from flare.http.message.body import Body, Poll, StreamWaker, WakeTarget
from flare.http.message.header_map import HeaderMap
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.response import Response
from flare.http.handler.any_handler import AnyHandler, problem_of_all
from flare.http.handler.failure import (
    bad_input_of,
    failure_response,
    finished_refusal,
    refusal,
)
from flare.http.handler.handler import DEFAULT_BODY_LIMIT
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import unix_seconds
from flare.sys.mutex import Condvar, Mutex
from flare.trace.core.propagation import set_trace_fields
from flare.url.url import Url

comptime _BASE = StaticString("http://testserver")


struct TestClient(RequestMethods):
    """Sends requests to a handler, as `HttpClient` does to a server.

        var client = TestClient(router^)
        assert_equal(client.get("/users/7").text(), "user 7")

    Cookies are kept and sent back. Redirections are not followed, content is
    given as the handler made it, coded or not, and a body limit of the handler
    is held to (413). Content from a source is read to its end, an endless one until
    it has nothing more. There is one type of client for all handlers, so that
    programs of many tests compile soon.
    """

    var handler: AnyHandler
    """What answers: any handler, or a plain function."""
    var cookies: CookieJar
    """The cookies that responses have set."""
    var peer: SocketAddr
    """Where requests come from; the loopback, unless it is changed."""
    var hides_errors: Bool
    """True to answer 500 where the handler raises, as a server does. By default
    the error is raised to the test, unless it is of bad content: that is
    answered with 400 either way."""
    var early_hints: HeaderMap
    """What the handler of the last request has sent by
    `Request.send_early_hints`."""
    var _base: Url

    def __init__(out self, var handler: AnyHandler) raises:
        """Makes a client of a handler.

        Raises:
            Error: If a server would refuse to serve it; see `Handler.problem`.
        """
        var problem = problem_of_all(handler)
        if problem.byte_length() > 0:
            raise Error(problem)
        self.handler = handler^
        self.cookies = CookieJar()
        self.peer = SocketAddr.localhost(40_000)
        self.hides_errors = False
        self.early_hints = HeaderMap()
        self._base = Url.parse(_BASE)

    @no_inline
    def __deinit__(deinit self):
        return

    def send(mut self, var request: ClientRequest) raises -> ClientResponse:
        """Sends a request.

        Raises:
            Error: What the handler raises, or that the URL is none.
        """
        var url = request_url(self._base.copy(), request)
        if request.trace_span():
            set_trace_fields(request.headers, request.trace_span().value()[])
        var owned = self._owned(request, url)
        var response = self._answer(owned)
        ref hints = owned.view().route_params()[].early_hints.fields
        self.early_hints = hints.value()[].copy() if hints else HeaderMap()
        # SAFETY: the storage of the hints is the request's.
        _ = owned^
        var code = response.status.code
        if code < 200 or code > 599:
            raise Error("a handler answered with status ", code)
        for index in range(len(response.headers)):
            if equals_ignore_case(
                response.headers.name(index).as_bytes(), "set-cookie".as_bytes()
            ):
                _ = self.cookies.store(
                    url, response.headers.value(index), unix_seconds()
                )
        var received = ClientResponse(url^)
        received.status = response.status
        received.reason = String(response.reason())
        received.headers = response.headers.copy()
        if request.method != "HEAD" and response.status.allows_content():
            received.body = whole_body(response.body)
            if response.body.is_stream():
                received.trailers = response.body.stream()[].trailers().fields()
        return received^

    def _owned(
        mut self, request: ClientRequest, url: Url
    ) raises -> OwnedRequest:
        """Makes what the handler gets, with the fields that a client adds."""
        var owned = OwnedRequest(request.method, url.request_target())
        owned.peer = self.peer
        var content = Buffer()
        request.body.append_to(content, 0, request.body.content_len())
        owned.body.extend(content.span())
        for index in range(len(request.headers)):
            owned.add_header(
                request.headers.name(index), request.headers.value(index)
            )
        _add_missing(owned, request, "Host", url.host())
        request.auth.check()
        _add_missing(
            owned, request, "Authorization", request.auth.field_value()
        )
        _add_missing(
            owned,
            request,
            "Cookie",
            self.cookies.header_for(url, unix_seconds()),
        )
        if request.body.is_given:
            _add_missing(
                owned, request, "Content-Type", request.body.content_type
            )
            owned.add_header("Content-Length", String(len(content)))
        return owned^

    def _answer(self, owned: OwnedRequest) raises -> Response:
        """Answers as a server does: what it refuses goes through `refuse`."""
        var limit = self.handler.policy_for(owned.view()).max_body_size
        if limit != DEFAULT_BODY_LIMIT and len(owned.body) > limit:
            return self._refused(owned)
        try:
            return self.handler.serve(owned.view())
        except error:
            if not self.hides_errors and not bad_input_of(owned.view(), error):
                raise error^
            return failure_response(owned.view(), error)

    def _refused(self, owned: OwnedRequest) raises -> Response:
        """Answers content that is longer than the handler takes."""
        comptime RULE = Rule.BODY_LEN
        var plain = refusal(RULE.status, String(RULE.text(), "\n"))
        try:
            return finished_refusal(
                self.handler.refuse(owned.view(), plain.copy())
            )
        except error:
            if not self.hides_errors:
                raise error^
            return plain^


def _add_missing(
    mut owned: OwnedRequest,
    request: ClientRequest,
    name: StringSpan,
    value: StringSpan,
) raises:
    if value.byte_length() > 0 and name not in request.headers:
        owned.add_header(name, value)


comptime QUIET_MS_MAX = 5_000
"""How long a source may have nothing before a test gives up, in milliseconds."""

comptime WHOLE_LEN_MAX = 64 * 1024 * 1024
"""Most content of a source that is read, in bytes."""


@fieldwise_init
struct _Call(Copyable, WakeTarget):
    """A source's call, for which the reader waits."""

    var has_come: Mutex[Bool]
    var changed: Condvar

    def wake(self, token: UInt64):
        var has_come = self.has_come.lock()
        has_come[] = True
        self.changed.notify_one()
        deinit(has_come^)

    def wait(self) -> Bool:
        """Waits for a call; False if none comes in time."""
        var has_come = self.has_come.lock()
        var is_in_time = True
        while not has_come[] and is_in_time:
            is_in_time = self.changed.wait_for(has_come, QUIET_MS_MAX)
        var is_called = has_come[]
        has_come[] = False
        return is_called


def whole_body(body: Body) raises -> Body:
    """Reads a body's source into memory, if it has one; of an endless source
    that which it has now. Raises what the source raises, or that it does not
    end."""
    if not body.is_stream():
        return body.copy()
    var stream = body.stream()
    var call = _Call(Mutex(False), Condvar())
    stream[].begin(StreamWaker(call.copy(), 0))
    var content = Buffer()
    while len(content) <= WHOLE_LEN_MAX:
        var supply = stream[].fill(content)
        if supply == Poll.DONE:
            return Body(list_of(content.span()))
        if supply == Poll.PENDING:
            if stream[].is_endless():
                return Body(list_of(content.span()))
            if not call.wait():
                raise Error(
                    "the content's source had nothing for ",
                    QUIET_MS_MAX,
                    " ms, and did not end",
                )
    raise Error("the content's source made more than ", WHOLE_LEN_MAX, " bytes")
