"""Answers to errors: problem details (RFC 9457), and handlers that raise."""

from flare.bytes.utf8 import lossy_text
from flare.http.message.body import Body
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response, internal_error
from flare.http.message.status import Status
from flare.http.middleware.late_response import (
    ChangesResponses,
    change_later,
)
from flare.http.handler.failure import (
    bad_input_of,
    failure_response,
    log_failure,
    request_id,
    with_failure_fields,
)
from flare.http.handler.handler import Handler
from flare.http.handler.later import is_later
from flare.http.routing.stack import Layer
from flare.json.writer import JsonComposer


@fieldwise_init
struct Problem(Copyable, Movable):
    """What an answer tells of an error, whatever its shape will be."""

    var status: Status
    """The status; 400 to 599."""
    var detail: String
    """What was wrong, in a sentence; may be empty, and is for a 500."""


comptime ErrorFormat = def[o: ImmOrigin](
    Request[o], Problem
) raises thin -> Response
"""Gives a problem its shape: `def f(req: Request, problem: Problem) -> Response`.

It is called by several threads at once. Of a request that the server could not
read, only what is known is there: method, target and fields may be empty.
"""


def problem_json(req: Request, problem: Problem) raises -> Response:
    """Tells of an error as RFC 9457 has it (`application/problem+json`).

    Args:
        req: The request.
        problem: The error.

    Returns:
        A response with the members `title`, `status`, `request_id` and, where
        there is one, `detail`.

    Raises:
        Error: If the detail is not UTF-8.
    """
    var writer = JsonComposer()
    writer.text("title", problem.status.reason())
    writer.number("status", problem.status.code)
    if problem.detail.byte_length() > 0:
        writer.text("detail", problem.detail)
    writer.text("request_id", request_id(req))
    return Response(
        problem.status,
        writer^.finish(),
        content_type="application/problem+json",
    )


@fieldwise_init
struct ErrorHandler[H: Handler](ChangesResponses, Layer):
    """Gives every answer that tells of an error the same shape.

        def apologise(req: Request, problem: Problem) raises -> Response:
            return Response(problem.status, "sorry: " + problem.detail)

        server.serve(AccessLog(Cors(ErrorHandler(router^, apologise))))

    It takes: what the inner handler raises (logged, then 500 without a word of
    it); its responses from 400 up without content or with plain text, such as
    the router's 404 and 405, those of guards, and `bad_request("...")`; and what
    the server answers before or in place of any handler (400, 408, 413, 414,
    417, 431, 501, 503, 505). Errors with content of another type are somebody's own, and stay.
    Status and all other fields (`Allow`, `Retry-After`) are kept.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = ErrorHandler[I]
    var handler: Self.H
    """What answers."""
    var format: ErrorFormat
    """What gives errors their shape, such as `problem_json`."""

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, and shapes what is an error.

        Raises:
            Error: What the format raises.
        """
        try:
            var response = self.handler.serve(req)
            if is_later(req, response):
                change_later(self, req, response)
                return response^
            return self.change(req, response^)
        except error:
            var bad_input = bad_input_of(req, error)
            if bad_input:
                ref found = bad_input.held()
                return self._answer(req, Problem(found.status, found.reason))
            log_failure(req, error)
        return self._answer(req, Problem(500, ""))

    def _answer(self, req: Request, problem: Problem) raises -> Response:
        """Answers in place of a handler that has raised."""
        return with_failure_fields(req, self.format(req, problem))

    def change(self, req: Request, var response: Response) raises -> Response:
        """Gives a response that is an error its shape.

        Raises:
            Error: What the format raises.
        """
        if response.status.code < 400 or not _is_plain(response):
            return response^
        return self._shape(req, response^)

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Shapes what the server answers in place of the handler.

        Raises:
            Error: What the format raises.
        """
        response = self.handler.refuse(req, response^)
        if not _is_plain(response):
            return response^
        return self._shape(req, response^)

    def _shape(self, req: Request, var response: Response) raises -> Response:
        var shaped = self.format(req, _problem_of(response))
        _take_fields(response, shaped)
        if (
            req.method == Method.HEAD
            and len(response.body) == 0
            and "content-type" in response.headers
        ):
            # What the content says that GET would get is not here, so neither
            # is the length of what is made of it.
            shaped.body = Body()
        return shaped^


def _problem_of(response: Response) -> Problem:
    var text = lossy_text(response.body.as_bytes())
    return Problem(response.status, String(text.removesuffix("\n")))


def _take_fields(response: Response, mut shaped: Response) raises:
    """Gives a problem the status and the fields of the response it stands for, but
    for those that tell of its content."""
    comptime OF_CONTENT = StaticString(
        " content-type content-length content-language etag last-modified content-digest"
        " repr-digest accept-ranges "
    )
    shaped.status = response.status
    for index in range(len(response.headers)):
        var name = response.headers.name(index)
        if String(" ", name.lower(), " ") in OF_CONTENT:
            continue
        if name not in shaped.headers:
            shaped.headers.append(name, response.headers.value(index))


def _is_plain(response: Response) -> Bool:
    """Tells whether a response says no more than a text does."""
    if response.body.is_stream() or "content-encoding" in response.headers:
        return False
    if len(response.body) == 0 and "content-type" not in response.headers:
        return True
    return response.headers.content_type().startswith("text/plain")


comptime ErrorHook = def[o: ImmOrigin](Request[o], Error) thin -> Response
"""Told of what a handler raised; gives the response in its place.

`def on_error(req: Request, error: Error) -> Response`. It is called by several
threads at once.
"""


def log_and_hide(req: Request, error: Error) -> Response:
    """Logs an error to standard error, unless `ServerConfig.logs_errors` is
    off, and answers with a 500 that says nothing of it."""
    log_failure(req, error)
    return internal_error()


@fieldwise_init
struct Recover[H: Handler](Layer):
    """Turns what the inner handler raises into a response.

    A server does so by itself, but outside of all middleware. Within a stack
    this lets what stands around it (an access log, CORS) see the 500 as a
    response, and lets a hook choose what it says:

        def on_error(req: Request, error: Error) -> Response:
            return Response(500, "we are sorry")

        server.serve(AccessLog(Recover(router^, on_error)))

    What `Request.json` and its like raise for bad content is answered with 400,
    and the hook is not asked: it is no failure of a handler.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = Recover[I]
    var handler: Self.H
    """What answers."""
    var hook: ErrorHook
    """What answers instead when it raises."""

    def __init__(out self, var handler: Self.H):
        """Wraps a handler; errors are logged, and answered with a plain 500."""
        self.handler = handler^
        self.hook = log_and_hide

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, or the hook.

        Raises:
            Error: Never.
        """
        try:
            return self.handler.serve(req)
        except error:
            if bad_input_of(req, error):
                return failure_response(req, error)
            return with_failure_fields(req, self.hook(req, error))
