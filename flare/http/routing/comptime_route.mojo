"""A route that is known when a program is built."""

from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.handler import (
    DEFAULT_BODY_LIMIT,
    DEFAULT_TIMEOUT_MS,
    Handler,
    HandlerFunction,
)
from flare.http.routing.operation import Operation
from flare.http.routing.route_tree import ANY_METHOD

comptime NumberFunction = def[o: ImmOrigin](Request[o]) thin -> Int
"""What `max_body_size` and `timeout_ms` of a `Handler` are as plain functions.
"""

comptime ClaimFunction = def[o: ImmOrigin](Request[o]) thin -> Bool
"""What `may_block` and `streams_body` of a `Handler` are as plain functions."""

comptime DescribeFunction = def(mut Operation) thin -> None
"""What `Handler.describe` is as a plain function."""


struct ComptimeRoute(Copyable, Movable):
    """What a `ComptimeRouter` is told of one route.

    comptime ROUTES: List[ComptimeRoute] = [
        ComptimeRoute(Method.GET, "/", home),
        ComptimeRoute(Method.GET, "/users/:id", user),
        ComptimeRoute.of[StateHandler(count)](Method.GET, "/count"),
    ]
    """

    comptime ANY = Method(number=ANY_METHOD)
    """Stands for every method that has no route of its own, as `Router.all`
    does."""

    var method: Method
    """The method, or `ANY`."""
    var pattern: String
    """The pattern, as for `Router`."""
    var max_body_size: Int
    """Most content in bytes, or `DEFAULT_BODY_LIMIT`."""
    var may_block: Bool
    """False if the handler never takes long."""
    var answer: HandlerFunction
    """What answers."""
    var limit: NumberFunction
    """What the handler says of the size of content."""
    var blocks: ClaimFunction
    """Whether the handler may take long."""
    var streams: ClaimFunction
    """Whether the handler reads content while it arrives."""
    var timeout: NumberFunction
    """What the handler says of the time it may take."""
    var describe: DescribeFunction
    """What the handler says of itself."""

    def __init__(
        out self,
        method: Method,
        var pattern: String,
        function: HandlerFunction,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ):
        """Makes a route to a plain function.

        Args:
            method: A registered method, or `ANY`.
            pattern: The pattern.
            function: `def f(req: Request) raises -> Response`.
            max_body_size: Most content in bytes, in place of the server's
                limit.
            may_block: False if the function never takes long; see
                `Handler.may_block`.
        """
        self.method = method
        self.pattern = pattern^
        self.max_body_size = max_body_size
        self.may_block = may_block
        self.answer = function
        self.limit = _default_limit
        self.blocks = _always_blocks
        self.streams = _never_streams
        self.timeout = _default_timeout
        self.describe = _say_nothing

    @staticmethod
    def of[
        H: Handler, //, HANDLER: H
    ](
        method: Method,
        var pattern: String,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) -> Self:
        """Makes a route to a handler that can be made when the program is built.

        It is made anew for each request, which costs nothing if its fields are
        numbers and functions. One that changes, or owns much, belongs into a
        `Router`.

        Parameters:
            H: The handler's type.
            HANDLER: What answers.

        Args:
            method: A registered method, or `ANY`.
            pattern: The pattern.
            max_body_size: As for a function.
            may_block: As for a function.

        Returns:
            The route.
        """
        var route = Self(
            method,
            pattern^,
            _answer[H, HANDLER, ...],
            max_body_size=max_body_size,
            may_block=may_block,
        )
        route.limit = _limit[H, HANDLER, ...]
        route.blocks = _blocks[H, HANDLER, ...]
        route.streams = _streams[H, HANDLER, ...]
        route.timeout = _timeout[H, HANDLER, ...]
        route.describe = _describe[H, HANDLER]
        return route^


def _default_limit(req: Request) -> Int:
    return DEFAULT_BODY_LIMIT


def _always_blocks(req: Request) -> Bool:
    return True


def _never_streams(req: Request) -> Bool:
    return False


def _default_timeout(req: Request) -> Int:
    return DEFAULT_TIMEOUT_MS


def _say_nothing(mut operation: Operation):
    pass


def _answer[
    H: Handler, HANDLER: H, o: ImmOrigin
](req: Request[o]) raises -> Response:
    return materialize[HANDLER]().serve(req)


def _limit[H: Handler, HANDLER: H, o: ImmOrigin](req: Request[o]) -> Int:
    return materialize[HANDLER]().max_body_size(req)


def _blocks[H: Handler, HANDLER: H, o: ImmOrigin](req: Request[o]) -> Bool:
    return materialize[HANDLER]().may_block(req)


def _streams[H: Handler, HANDLER: H, o: ImmOrigin](req: Request[o]) -> Bool:
    return materialize[HANDLER]().streams_body(req)


def _timeout[H: Handler, HANDLER: H, o: ImmOrigin](req: Request[o]) -> Int:
    return materialize[HANDLER]().timeout_ms(req)


def _describe[H: Handler, HANDLER: H](mut operation: Operation):
    materialize[HANDLER]().describe(operation)
