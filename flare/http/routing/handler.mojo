"""What answers requests."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.operation import Operation
from std.reflection import reflect

comptime HandlerFunction = def[o: ImmOrigin](Request[o]) raises thin -> Response
"""A plain function as a handler: `def f(req: Request) raises -> Response`.

A function that does not raise fits too.
"""

comptime QuietHandlerFunction = def[o: ImmOrigin](Request[o]) thin -> Response
"""A plain function as a handler that never raises."""

comptime DEFAULT_BODY_LIMIT = -1
"""Stands for `ServerConfig.max_body_size`."""

comptime DEFAULT_TIMEOUT_MS = -1
"""Stands for `ServerConfig.handler_timeout_ms`."""


trait Handler(Deinitable, Movable):
    """Answers requests.

    A server with one worker calls a handler for one request at a time. Several
    workers, and `ServerConfig.handler_threads`, call it from several threads at
    once: what it changes must be atomic or locked then. Middleware is a handler
    that holds another.
    """

    def serve(self, req: Request) raises -> Response:
        """Answers one request.

        Args:
            req: The request, lent for the length of the call.

        Returns:
            The response.

        Raises:
            Error: The server logs it and answers 500, saying nothing of it.
        """
        ...

    def max_body_size(self, req: Request) -> Int:
        """Chooses the limit for the request's content before it is read.

        Called once a request with content, when its head is there.

        Args:
            req: The request, still without content and path parameters.

        Returns:
            Bytes, or `DEFAULT_BODY_LIMIT` for the server's own limit. A
            `Middleware` asks its inner handler.
        """
        comptime if conforms_to(Self, HoldsHandler):
            return self.inner().max_body_size(req)
        else:
            return DEFAULT_BODY_LIMIT

    def may_block(self, req: Request) -> Bool:
        """Tells whether the handler may take long for a request.

        Asked for each request if `ServerConfig.handler_threads` is not 0. If
        not, the handler is called at once on the worker's own thread, which
        costs less and waits for no other handler.

        Args:
            req: The request, without path parameters.

        Returns:
            True, unless the handler knows better. A `Middleware` asks its
            inner handler.
        """
        comptime if conforms_to(Self, HoldsHandler):
            return self.inner().may_block(req)
        else:
            return True

    def streams_body(self, req: Request) -> Bool:
        """Tells whether the handler reads content while it arrives.

        Asked once a request whose content has not arrived whole with its head.
        If so, the handler is called at once on a thread of its own, and reads
        with `Request.body_reader`; `body` is empty then. `Streamed` makes such
        a handler.

        Args:
            req: The request, still without content and path parameters.

        Returns:
            False, unless the handler knows better. A `Middleware` asks its
            inner handler.
        """
        comptime if conforms_to(Self, HoldsHandler):
            return self.inner().streams_body(req)
        else:
            return False

    def timeout_ms(self, req: Request) -> Int:
        """Chooses how long the handler may take on a handler thread.

        Asked for each request that goes to such a thread; see `Timeout`.

        Args:
            req: The request, without path parameters.

        Returns:
            Milliseconds, at least 1, or `DEFAULT_TIMEOUT_MS` for the server's
            own time. A `Middleware` asks its inner handler.
        """
        comptime if conforms_to(Self, HoldsHandler):
            return self.inner().timeout_ms(req)
        else:
            return DEFAULT_TIMEOUT_MS

    def describe(self, mut operation: Operation):
        """Says what the handler takes and gives, for documents.

        Args:
            operation: What is known of the route. A `Middleware` lets its
                inner handler speak; others leave it as it is.
        """
        comptime if conforms_to(Self, HoldsHandler):
            self.inner().describe(operation)


trait HoldsHandler:
    """Has a field `handler`, which is another handler."""

    comptime Inner: Handler
    """The inner handler's type."""

    def inner(ref self) -> ref[self] Self.Inner:
        """Lends the inner handler.

        Returns:
            The field `handler`.
        """
        comptime INDEX = _index_of_handler[Self]()
        comptime assert (
            INDEX >= 0
        ), "a Middleware keeps the inner handler in a field named 'handler'"
        # SAFETY: the field is part of `self`, and is of the type that `Inner`
        # says.
        ref field = reflect[Self].field_ref[INDEX](self)
        return (
            Pointer(to=field)
            .unsafe_bitcast[Self.Inner]()
            .unsafe_origin_cast[origin_of(self)]()[]
        )


def _index_of_handler[T: AnyType]() -> Int:
    comptime for index in range(reflect[T].field_count()):
        comptime if reflect[T].field_names()[index] == "handler":
            return index
    return -1


comptime Middleware = Handler & HoldsHandler
"""A handler around another one, which does something before or after it.

A stack of them is a nested struct, `AccessLog(Cors(router^))`, known as a whole
to the compiler: no call goes through a pointer. A middleware keeps the inner
handler in a field `handler`, says `comptime Inner = Self.H`, and writes
`serve`; what else a server asks a handler goes through to the inner one.
"""


@fieldwise_init
struct FnHandler(Handler, TrivialRegisterPassable):
    """A plain function as a handler."""

    var function: HandlerFunction
    """What is called."""

    @always_inline
    def serve(self, req: Request) raises -> Response:
        """Calls the function.

        Args:
            req: The request.

        Returns:
            What the function returns.

        Raises:
            Error: What the function raises.
        """
        return self.function(req)
