"""A handler that is known when a program is built."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.handler import Handler
from flare.http.routing.operation import Operation


@fieldwise_init
struct FixedHandler[H: Handler, //, HANDLER: H](
    Handler, TrivialRegisterPassable
):
    """Stands for a handler whose value is part of the program.

    The compiler sees which function is called, where a handler in memory would
    be asked for its address.

    Parameters:
        H: The handler's type. It is made anew for each call, so it should be
            of fixed values alone (`TrivialRegisterPassable`).
        HANDLER: The handler.
    """

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

    def max_body_size(self, req: Request) -> Int:
        """Asks the handler for its limit.

        Args:
            req: The request's head.

        Returns:
            Its answer.
        """
        return materialize[Self.HANDLER]().max_body_size(req)

    def may_block(self, req: Request) -> Bool:
        """Asks the handler whether it may take long.

        Args:
            req: The request.

        Returns:
            Its answer.
        """
        return materialize[Self.HANDLER]().may_block(req)

    def streams_body(self, req: Request) -> Bool:
        """Asks the handler whether it reads content while it arrives.

        Args:
            req: The request's head.

        Returns:
            Its answer.
        """
        return materialize[Self.HANDLER]().streams_body(req)

    def timeout_ms(self, req: Request) -> Int:
        """Asks the handler how long it may take.

        Args:
            req: The request.

        Returns:
            Its answer.
        """
        return materialize[Self.HANDLER]().timeout_ms(req)

    def describe(self, mut operation: Operation):
        """Lets the handler say what it takes and gives.

        Args:
            operation: What is known of the route.
        """
        materialize[Self.HANDLER]().describe(operation)
