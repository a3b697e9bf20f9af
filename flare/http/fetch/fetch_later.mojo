"""Handlers that answer with what others have answered, without a thread for each.

    def price(req: Request) raises -> Response:
        var request = ClientRequest("GET", "/prices/" + req.path_param("name"))
        return fetch_later(req, client, request^, shown)
"""

from flare.bytes.text import Text
from flare.http.client.connect.error import (
    BadRequest,
    BadUrl,
    ClientError,
    Phase,
    PoolExhausted,
)
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import ClientResponse, SendResult
from flare.http.client.shared_client import SharedClient
from flare.http.fetch.continuation import (
    AnyContinuation,
    Continuation,
    NextStep,
)
from flare.http.fetch.fetch_errand import FetchErrand
from flare.http.message.body import Body
from flare.http.message.header_map import HeaderMap
from flare.http.message.request import Request
from flare.http.message.response import Response, internal_error
from flare.http.handler.failure import refusal
from flare.http.handler.later import deferred_call, later, owns_all
from flare.net.error import Timeout
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
