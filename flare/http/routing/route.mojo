"""One route of a router."""

from flare.bytes.lend import lend_text
from flare.http.message.method_registry import method_name
from flare.http.message.request import Request
from flare.http.routing.any_handler import AnyHandler
from flare.http.routing.handler import DEFAULT_BODY_LIMIT, RequestPolicy
from flare.http.routing.operation import Operation
from flare.http.routing.route_tree import ANY_METHOD


struct Route(Movable):
    """What a router keeps of one registration."""

    var method: UInt8
    """The method's number, or `ANY_METHOD`."""
    var pattern: String
    """The pattern as registered."""
    var names: List[String]
    """The names of its parameters, in order."""
    var handler: AnyHandler
    """What answers."""
    var max_body_size: Int
    """Most content in bytes, or `DEFAULT_BODY_LIMIT`."""
    var may_block: Bool
    """False if the handler never takes long."""

    def __init__(
        out self,
        method: UInt8,
        pattern: StringSpan,
        var names: List[String],
        var handler: AnyHandler,
        max_body_size: Int,
        may_block: Bool,
    ):
        """Makes a route.

        Args:
            method: The method's number, or `ANY_METHOD`.
            pattern: The pattern.
            names: The names of its parameters, in order.
            handler: What answers.
            max_body_size: Most content in bytes, or `DEFAULT_BODY_LIMIT`.
            may_block: False if the handler never takes long.
        """
        self.method = method
        self.pattern = String(pattern)
        self.names = names^
        self.handler = handler^
        self.max_body_size = max_body_size
        self.may_block = may_block

    @always_inline
    def lend_pattern(self) -> StringSpan[ImmUntrackedOrigin]:
        """Lends the pattern to the records of requests.

        Returns:
            The pattern, good while the router lives.
        """
        # SAFETY: the router outlives all requests that it answers.
        return lend_text[ImmUntrackedOrigin](
            self.pattern.unsafe_ptr(), self.pattern.byte_length()
        )

    def operation(self) -> Operation:
        """Tells what the route takes.

        Returns:
            Method and pattern, with what the handler says of itself.
        """
        var operation = operation_of(self.method, self.pattern)
        self.handler.describe(operation)
        return operation^

    def policy_for(self, req: Request) -> RequestPolicy:
        """Tells how a request of this route is to be treated.

        Args:
            req: The request's head.

        Returns:
            What the registration says, or else the handler.
        """
        var policy = self.handler.policy_for(req)
        if self.max_body_size != DEFAULT_BODY_LIMIT:
            policy.max_body_size = self.max_body_size
        policy.blocks = policy.blocks and self.may_block
        return policy

    def take_handler(deinit self) -> AnyHandler:
        """Takes the handler out.

        Returns:
            What answers.
        """
        return self.handler^


def operation_of(method: UInt8, pattern: String) -> Operation:
    """Makes the operation of a route, of whose handler nothing is known yet.

    Args:
        method: The method's number, or `ANY_METHOD`.
        pattern: The pattern.

    Returns:
        The operation.
    """
    if method == ANY_METHOD:
        return Operation("*", pattern)
    return Operation(String(method_name(Int(method))), pattern)
