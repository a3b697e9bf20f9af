"""Handlers that answer with what others have answered, without a thread for each.

    def price(req: Request) raises -> Response:
        var request = ClientRequest("GET", "/prices/" + req.path_param("name"))
        return fetch_later(req, client, request^, shown)
"""

from flare.bytes.checked import *
from flare.bytes.erased import Erased, ErasedBox
from flare.bytes.padding import Padding
from flare.bytes.text import Text
from flare.http.client.connect.error import (
    BadRequest,
    BadUrl,
    ClientError,
    Phase,
    PoolExhausted,
    bad_request,
)
from flare.http.client.exchange.loop_calls import (
    NO_CALL,
    CallUser,
    LoopCalls,
    drop_call,
    settle,
    start_call,
)
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import ClientResponse, SendResult
from flare.http.client.shared_client import SharedClient
from flare.http.handler.failure import refusal
from flare.http.handler.later import (
    deferred_call,
    later,
    owns_all,
    Completion,
    Errand,
)
from flare.http.message.body import Body
from flare.http.message.header_map import HeaderMap
from flare.http.message.request import Request
from flare.http.message.response import Response, internal_error
from flare.net.error import Timeout
from flare.runtime.worker_loop import WorkerLoop
from flare.sys.log import log_line
from std.memory import ArcPointer

comptime _STATUS_MAX = 599
# The largest status of a class that there is (RFC 9110 section 15).


def relayed_response(var answer: ClientResponse) raises -> Response:
    """Makes a response of another one: its status, its content, and the fields
    without which these mean nothing: Content-Type, Content-Encoding where the
    client has not decoded, Content-Range, WWW-Authenticate, Allow, and Location
    of a redirection or of what was created (RFC 9110 sections 10.2.2, 15.3.7,
    15.5.2 and 15.5.6). Nothing else is passed on; `ReverseProxy` does that.

    A Location is passed on as it stands; one without scheme and host is relative
    to our own URL then. The client follows redirections, so most are seen with
    `max_redirects` 0 alone.

    Args:
        answer: The other response.

    Returns:
        The response; 502 for a status of no class (RFC 9110 section 15).

    Raises:
        Error: Never, for what was received can be sent.
    """
    if answer.status > _STATUS_MAX:
        return refusal(502, "an upstream did not answer\n")
    var body = Body()
    swap(body, answer.body)
    var response = Response(answer.status, body^)
    var type = answer.headers.get("content-type")
    if type:
        response.headers.set("Content-Type", type.value())
    if not answer.is_decoded:
        _pass_on("Content-Encoding", answer.headers, response.headers)
    if answer.status == 206 or answer.status == 416:
        _pass_on("Content-Range", answer.headers, response.headers)
    elif answer.status == 401:
        _pass_on("WWW-Authenticate", answer.headers, response.headers)
    elif answer.status == 405:
        _pass_on("Allow", answer.headers, response.headers)
    elif answer.status == 201 or (answer.status >= 300 and answer.status < 400):
        _pass_on("Location", answer.headers, response.headers)
    return response^


def _pass_on(name: StaticString, source: HeaderMap, mut out: HeaderMap) raises:
    """Copies all lines of a field."""
    var index = source.find(name)
    while index >= 0:
        out.append(name, source.value(index))
        index = source.find(name, index + 1)


def fetch_failure(error: ClientError) -> Response:
    """Makes what is answered when there was no response.

    Args:
        error: Why.

    Returns:
        504 if time was over, 503 if no connection was free, 500 if the request
        could not be sent by any means, else 502 (RFC 9110 section 15.6). It
        does not tell what the error says.
    """
    if error.kind == PoolExhausted or error.phase == Phase.QUEUE:
        return refusal(503, "too many requests wait for an upstream\n")
    if error.kind == Timeout:
        return refusal(504, "an upstream did not answer in time\n")
    if error.kind == BadUrl or error.kind == BadRequest:
        return internal_error()
    return refusal(502, "an upstream did not answer\n")


@fieldwise_init
struct _One(Continuation):
    """Makes a response of one other."""

    var answer: def(var ClientResponse) raises thin -> Response
    var logs_errors: Bool

    def go_on(mut self, var results: List[SendResult]) raises -> NextStep:
        var result = results.pop()
        if not result.error:
            return self.answer(result^.take())
        if self.logs_errors:
            log_line(
                Text().add("fetch_later: ").add(result.error.value()).end()
            )
        return fetch_failure(result.error.value())


def fetch_later(
    req: Request,
    client: SharedClient,
    var request: ClientRequest,
    answer: def(var ClientResponse) raises thin -> Response = relayed_response,
) raises -> Response:
    """Answers with what a function makes of another server's response.

    Without a response the answer is `fetch_failure`, and the error is logged.
    The request ends when the client has gone.

    Args:
        req: The request that is handled, by a handler within `Deferred`.
        client: Sends the other one; keep it for all requests.
        request: The other one.
        answer: Makes the response; `relayed_response` passes on status and
            content. It runs on the worker's own thread, so it must not wait.

    Returns:
        What stands for the response meanwhile.

    Raises:
        Error: If the handler is not `Deferred`, or has answered so already.
    """
    var logs_errors = req.route_params()[].record.logs_errors
    return fetch_later(req, client, [request^], _One(answer, logs_errors))


def fetch_later[
    C: Continuation
](
    req: Request,
    client: SharedClient,
    var requests: List[ClientRequest],
    var continuation: C,
) raises -> Response:
    """Answers with what a continuation makes of other servers' responses, which
    may need further requests.

    The requests are sent at the same time, and end when the client has gone.

    Parameters:
        C: The continuation's type. It owns what it holds: one that borrows,
            from the request or anything else, does not compile.

    Args:
        req: The request that is handled, by a handler within `Deferred`.
        client: Sends the others; keep it for all requests.
        requests: The others; at least one.
        continuation: Goes on when there is a response, or an error, for each.

    Returns:
        What stands for the response meanwhile.

    Raises:
        Error: If there are no requests, or the handler is not `Deferred`, or
            has answered so already.
    """
    comptime assert owns_all[C](), (
        "a continuation outlives the request, so it must own what it holds: copy"
        " what it needs into fields of its own, in place of a Span, a"
        " StringSpan, a Request or anything else with an origin"
    )
    if len(requests) == 0:
        raise Error("fetch_later was given no requests; give at least one")
    var errand = FetchErrand(
        deferred_call(req)[].loop,
        client,
        requests^,
        AnyContinuation(continuation^),
    )
    return later(req, ArcPointer(errand^))


comptime ROUND_COUNT_MAX = 100
"""Most rounds of requests for one response: a continuation that always wants
another one must not go on for ever."""


comptime _KEY = 2
# Of what the loop keeps; no address is so low.


struct _Clients(Defaultable, Movable):
    """The clients of one worker, and its calls of each."""

    var clients: List[SharedClient]
    var calls: List[ArcPointer[LoopCalls]]

    def drop_unused(mut self):
        """Forgets clients of which there is no other copy left."""
        for index in range(len(self.clients) - 1, -1, -1):
            if (
                self.calls.at(index)[].is_idle()
                and self.clients.at(index).is_last()
            ):
                self.calls.pop(index)[].end()
                _ = self.clients.pop(index)


def _calls_of(
    loop: ArcPointer[WorkerLoop], client: SharedClient
) -> ArcPointer[LoopCalls]:
    """Finds what a worker has of a client, or makes it; the same for all copies
    of the client."""
    var kept = loop[].unsafe_local[_Clients](_KEY)
    if not kept:
        kept = ArcPointer(_Clients())
        loop[].keep_local(_KEY, kept.held())
    ref known = kept.held()[]
    for index in range(len(known.clients)):
        if known.clients.at(index).is_same(client):
            return known.calls.at(index).copy()
    known.drop_unused()
    known.clients.append(client)
    known.calls.append(ArcPointer(LoopCalls(loop, client.new_state())))
    return known.calls.at(len(known.calls) - 1).copy()


struct FetchErrand(CallUser, Errand):
    """Sends requests, and makes a response of what becomes of them."""

    var _padding: Padding[200]
    var _loop: ArcPointer[WorkerLoop]
    var _client: SharedClient
    # What is sent first.
    var _requests: List[ClientRequest]
    var _continuation: AnyContinuation
    var _completion: Optional[Completion]
    var _results: List[SendResult]
    var _calls: List[UInt64]
    var _waiting_count: Int
    var _round_count: Int
    # True while requests are begun, so that one which fails at once does not
    # begin the next round within this one.
    var _is_sending: Bool

    def __init__(
        out self,
        loop: ArcPointer[WorkerLoop],
        client: SharedClient,
        var requests: List[ClientRequest],
        var continuation: AnyContinuation,
    ):
        """Makes one that has not begun."""
        self._padding = {}
        self._loop = loop.copy()
        self._client = client
        self._requests = requests^
        self._continuation = continuation^
        self._completion = None
        self._results = []
        self._calls = []
        self._waiting_count = 0
        self._round_count = 0
        self._is_sending = False

    @staticmethod
    def begin(errand: ArcPointer[Self], var completion: Completion):
        """Sends the first requests."""
        errand[]._completion = completion^
        _run(errand)

    @staticmethod
    def on_content(errand: ArcPointer[Self]):
        """Ignores content: it is not read."""
        return

    @staticmethod
    def cancel(errand: ArcPointer[Self]):
        errand[]._completion = None
        var calls = _calls_of(errand[]._loop, errand[]._client)
        for token in errand[]._calls.copy():
            drop_call(calls, token)
        settle(calls)

    @staticmethod
    def on_result(user: ArcPointer[Self], index: Int, var result: SendResult):
        """Takes what became of a request; after the last one it goes on."""
        ref self = user[]
        self._results[index] = result^
        self._waiting_count -= 1
        if self._waiting_count > 0 or self._is_sending or not self._completion:
            return
        if not _go_on(user):
            _run(user)


def _run(errand: ArcPointer[FetchErrand]):
    """Sends requests, round after round, until one has to be waited for."""
    var calls = _calls_of(errand[]._loop, errand[]._client)
    while True:
        _send(errand, calls)
        if errand[]._waiting_count > 0 or _go_on(errand):
            return


def _send(errand: ArcPointer[FetchErrand], calls: ArcPointer[LoopCalls]):
    ref self = errand[]
    var requests = List[ClientRequest]()
    swap(requests, self._requests)
    var count = len(requests)
    self._results = List[SendResult](capacity=count)
    for _ in range(count):
        # Replaced by what becomes of the request.
        self._results.append(SendResult(bad_request("")))
    self._waiting_count = count
    self._is_sending = True
    self._calls.clear()
    requests.reverse()
    for index in range(count):
        var token = NO_CALL
        try:
            var request = self._client.prepare(requests.pop())
            token = start_call(calls, request^, errand, index)
        except error:
            FetchErrand.on_result(errand, index, SendResult(error^))
        self._calls.append(token)
    settle(calls)
    self._is_sending = False


def _go_on(errand: ArcPointer[FetchErrand]) -> Bool:
    """Lets the continuation go on; True if that was the end."""
    ref self = errand[]
    var results = List[SendResult]()
    swap(results, self._results)
    self._round_count += 1
    try:
        var next = self._continuation.go_on(results^)
        if next.response:
            self._completion.take().finish(next.response.take())
            return True
        if len(next.requests) == 0:
            raise Error(
                "the continuation of fetch_later gave neither a response nor"
                " requests"
            )
        if self._round_count >= ROUND_COUNT_MAX:
            raise Error(
                Text()
                .add("the continuation of fetch_later wanted requests ")
                .add(ROUND_COUNT_MAX)
                .add(" times, and gave no response")
                .end()
            )
        swap(self._requests, next.requests)
        return False
    except error:
        self._completion.take().fail(error^)
        return True


struct NextStep(Movable):
    """What follows: the handler's response, or further requests."""

    var response: Optional[Response]
    """The response, if there is one."""
    var requests: List[ClientRequest]
    """What is sent next, if there is none."""

    @implicit
    def __init__(out self, var response: Response):
        """Ends with a response.

        Args:
            response: The response.
        """
        self.response = response^
        self.requests = []

    @implicit
    def __init__(out self, var request: ClientRequest):
        """Goes on with a request.

        Args:
            request: The request.
        """
        self.response = None
        self.requests = [request^]

    @implicit
    def __init__(out self, var requests: List[ClientRequest]):
        """Goes on with requests that are sent at the same time.

        Args:
            requests: The requests; at least one.
        """
        self.response = None
        self.requests = requests^

    def __init__(
        out self, var *requests: ClientRequest, __list_literal__: NoneType
    ):
        """Goes on with requests that are written as `[a^, b^]`.

        Args:
            requests: The requests; at least one.
            __list_literal__: Tells the compiler.
        """
        self.response = None
        self.requests = List[ClientRequest](capacity=len(requests))
        for request in requests:
            self.requests.append(request.copy())


trait Continuation(Deinitable, Movable):
    """Goes on for a handler that waits for responses of others.

    It owns what it needs: the handler's request is gone when it is called. It
    runs on the worker's own thread, so it must not wait.
    """

    def go_on(mut self, var results: List[SendResult]) raises -> NextStep:
        """Makes the handler's response, or says what is to be sent next.

        Args:
            results: What became of the requests, in their order.

        Returns:
            A `Response`, a `ClientRequest` or a list of them.

        Raises:
            Error: It is logged, and answered with 500.
        """
        ...


def _call[
    C: Continuation
](continuation: Erased, var results: List[SendResult]) raises -> NextStep:
    # SAFETY: `AnyContinuation` was made of a C, and keeps it.
    return continuation.unsafe_bitcast[C]()[].go_on(results^)


struct AnyContinuation(Movable):

    # SAFETY: the function was made for the type of the continuation.
    var _continuation: ErasedBox
    var _call: def(Erased, var List[SendResult]) raises thin -> NextStep

    def __init__[C: Continuation](out self, var continuation: C):
        self._continuation = ErasedBox(continuation^)
        self._call = _call[C]

    def go_on(mut self, var results: List[SendResult]) raises -> NextStep:
        return self._call(self._continuation.at, results^)
