"""Answering for handlers that raise."""

from flare.http.message.request import Request
from flare.http.message.response import Response, internal_error
from flare.http.routing.bad_input import bad_input_of
from flare.http.routing.failure_line import log_failure
from flare.http.routing.handler import Handler, Middleware

comptime ErrorHook = def[o: ImmOrigin](Request[o], Error) thin -> Response
"""Told of what a handler raised; gives the response in its place.

`def on_error(req: Request, error: Error) -> Response`. It is called by several
threads at once.
"""


def log_and_hide(req: Request, error: Error) -> Response:
    """Logs an error to standard error, unless `ServerConfig.logs_errors` is
    off, and answers with a plain 500.

    Args:
        req: The request.
        error: What the handler raised.

    Returns:
        A 500 that says nothing of it.
    """
    log_failure(req, error)
    return internal_error()


struct Recover[H: Handler](Middleware):
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
    """The inner handler's type."""
    var handler: Self.H
    """What answers."""
    var hook: ErrorHook
    """What answers instead when it raises."""

    def __init__(out self, var handler: Self.H):
        """Wraps a handler; errors are logged, and answered with a plain 500.

        Args:
            handler: What answers.
        """
        self.handler = handler^
        self.hook = log_and_hide

    def __init__(out self, var handler: Self.H, hook: ErrorHook):
        """Wraps a handler.

        Args:
            handler: What answers.
            hook: What answers instead when it raises.
        """
        self.handler = handler^
        self.hook = hook

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, or the hook.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            Error: Never.
        """
        try:
            return self.handler.serve(req)
        except error:
            var bad_input = bad_input_of(req, error)
            if bad_input:
                return bad_input.value().response()
            return self.hook(req, error)
