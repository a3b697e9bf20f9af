"""A time for the answers of one route."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.handler import (
    DEFAULT_TIMEOUT_MS,
    Handler,
    Middleware,
    RequestPolicy,
)


struct Timeout[H: Handler](Middleware):
    """Gives handlers on handler threads a time of their own.

    In place of `ServerConfig.handler_timeout_ms`, which counts from when the
    request is complete, waiting for a thread included. At its end the client
    gets a 503, and the connection ends; `Request.cancelled` is true from then
    on, and what the handler answers later is dropped. The innermost `Timeout`
    around a handler holds.

    A handler cannot be interrupted, so this needs threads: without
    `ServerConfig.handler_threads`, and for a route with `may_block=False`,
    nothing is held to the time. While content arrives that is read meanwhile
    (`Streamed`), the time counts for each of the handler's turns, as
    `handler_timeout_ms` does.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    """The inner handler's type."""
    var handler: Self.H
    """What answers."""
    var _timeout_ms: Int

    def __init__(out self, var handler: Self.H, *, timeout_ms: Int) raises:
        """Wraps a handler.

        Args:
            handler: What answers.
            timeout_ms: How long it may take, 1 to 86,400,000 (a day).

        Raises:
            Error: If the time is out of range.
        """
        if timeout_ms < 1 or timeout_ms > 86_400_000:
            raise Error(
                "Timeout: timeout_ms is ",
                timeout_ms,
                "; allowed are 1 to 86400000",
            )
        self.handler = handler^
        self._timeout_ms = timeout_ms

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer.

        Args:
            req: The request.

        Returns:
            Its response.

        Raises:
            Error: What the inner handler raises.
        """
        return self.handler.serve(req)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Tells the time.

        Args:
            req: The request.

        Returns:
            What the inner handler says, with its time or else this one's.
        """
        var policy = self.handler.policy_for(req)
        if policy.timeout_ms == DEFAULT_TIMEOUT_MS:
            policy.timeout_ms = self._timeout_ms
        return policy
