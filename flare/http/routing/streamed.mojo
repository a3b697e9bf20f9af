"""Handlers that read content while it arrives."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.any_handler import AnyHandler
from flare.http.routing.handler import Handler, HoldsHandler, RequestPolicy


struct Streamed(Handler, HoldsHandler):
    """Lets a handler read a request's content while it arrives.

        def upload(req: Request) raises -> Response:
            var body = req.body_reader()
            ...

        router.post("/upload", Streamed(upload), max_body_size=1 << 30)

    The handler is called when the head is there, on a thread of
    `ServerConfig.handler_threads`, and never on the worker's own: a server
    without such threads refuses to start. So it may be called for several
    requests at once, like any handler on such threads. Content that arrives
    whole with its head is read the same way.

    What the handler does not take is not received: the client waits. A client
    that waits for 100 (Continue) gets it with the first read. Content that is
    not read to its end, and has not arrived, ends the connection behind the
    response.
    """

    comptime Inner = AnyHandler
    """The inner handler's type."""
    var handler: AnyHandler
    """What answers."""

    def __init__(out self, var handler: AnyHandler):
        """Makes a handler of one that uses `Request.body_reader`.

        Args:
            handler: A plain function or any `Handler`.
        """
        self.handler = handler^

    def serve(self, req: Request) raises -> Response:
        """Lets the handler answer.

        Args:
            req: The request.

        Returns:
            Its response.

        Raises:
            Error: What the handler raises.
        """
        return self.handler.serve(req)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Tells that content is read while it arrives.

        Args:
            req: The request's head.

        Returns:
            What the handler says, and that it streams.
        """
        var policy = self.handler.policy_for(req)
        policy.streams = True
        return policy

    def may_stream(self) -> Bool:
        """Tells that content is read while it arrives.

        Returns:
            True.
        """
        return True
