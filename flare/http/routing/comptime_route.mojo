"""A route that is known when a program is built."""

from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.fixed_handler import can_be_fixed
from flare.http.routing.handler import (
    DEFAULT_BODY_LIMIT,
    Handler,
    HandlerFunction,
    RequestPolicy,
)
from flare.http.routing.operation import Operation
from flare.http.routing.route_tree import ANY_METHOD

comptime PolicyFunction = def[o: ImmOrigin](Request[o]) thin -> RequestPolicy
"""What `Handler.policy_for` is as a plain function."""

comptime ClaimFunction = def() thin -> Bool
"""What `Handler.may_stream` is as a plain function."""

comptime DescribeFunction = def(var Operation) thin -> Operation
"""What `Handler.describe` is as a plain function."""


struct ComptimeRoute(Copyable, Movable):
    """What a `ComptimeRouter` is told of one route.

        comptime ROUTES: List[ComptimeRoute] = [
            ComptimeRoute(Method.GET, "/", home),
            ComptimeRoute(Method.GET, "/users/:id", user),
            ComptimeRoute.of[StateHandler(count)](Method.GET, "/count"),
        ]

    It is made of a plain function, or with `of` of another handler.
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
    var policy: PolicyFunction
    """How the handler wants requests to be treated."""
    var may_stream: ClaimFunction
    """Whether the handler may read content while it arrives."""
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
                `RequestPolicy.blocks`.
        """
        self.method = method
        self.pattern = pattern^
        self.max_body_size = max_body_size
        self.may_block = may_block
        self.answer = function
        self.policy = _default_policy
        self.may_stream = _never
        self.describe = _as_it_is

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
            H: The handler's type: `Copyable`, or a `Middleware` around such.
            HANDLER: What answers.

        Args:
            method: A registered method, or `ANY`.
            pattern: The pattern.
            max_body_size: As for a function.
            may_block: As for a function.

        Returns:
            The route.
        """
        comptime assert can_be_fixed[H](), "HANDLER must be Copyable"
        var route = Self(
            method,
            pattern^,
            _answer[H, HANDLER, ...],
            max_body_size=max_body_size,
            may_block=may_block,
        )
        route.policy = _policy[H, HANDLER, ...]
        route.may_stream = _may_stream[H, HANDLER]
        route.describe = _describe[H, HANDLER]
        return route^


def _default_policy(req: Request) -> RequestPolicy:
    return RequestPolicy()


def _never() -> Bool:
    return False


def _as_it_is(var operation: Operation) -> Operation:
    return operation^


def _answer[
    H: Handler, HANDLER: H, o: ImmOrigin
](req: Request[o]) raises -> Response:
    return materialize[HANDLER]().serve(req)


def _policy[
    H: Handler, HANDLER: H, o: ImmOrigin
](req: Request[o]) -> RequestPolicy:
    return materialize[HANDLER]().policy_for(req)


def _may_stream[H: Handler, HANDLER: H]() -> Bool:
    return materialize[HANDLER]().may_stream()


def _describe[H: Handler, HANDLER: H](var operation: Operation) -> Operation:
    materialize[HANDLER]().describe(operation)
    return operation^
