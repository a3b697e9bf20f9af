"""A handler that is known when a program is built."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.handler import Handler, HoldsHandler


struct FixedHandler[H: Handler, //, HANDLER: H](Handler, HoldsHandler):
    """Stands for a handler whose value is part of the program.

    The compiler sees which function is called, where a handler in memory would
    be asked for its address.

    Parameters:
        H: The handler's type. It is made anew for each call, so it should be
            of fixed values alone (`TrivialRegisterPassable`).
        HANDLER: The handler.
    """

    comptime Inner = Self.H
    """The handler's type."""
    var handler: Self.H
    """The handler, to be asked what it says of itself."""

    def __init__(out self):
        """Makes the handler."""
        self.handler = materialize[Self.HANDLER]()

    @always_inline
    def serve(self, req: Request) raises -> Response:
        """Calls the handler.

        Args:
            req: The request.

        Returns:
            Its response.

        Raises:
            Error: What the handler raises.
        """
        return materialize[Self.HANDLER]().serve(req)


def can_be_fixed[H: AnyType]() -> Bool:
    """Tells whether a handler made by the compiler works in the program.

    One that keeps others behind pointers of its own does not: such memory
    comes over from the compiler without the functions that it points to.

    Parameters:
        H: The handler's type.

    Returns:
        True if it is `Copyable`, or a `Middleware` around what is.
    """
    comptime if conforms_to(H, Copyable):
        return True
    elif conforms_to(H, HoldsHandler):
        return can_be_fixed[H.Inner]()
    else:
        return False
