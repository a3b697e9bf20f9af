"""The way from what the server answers by itself to the handler's middleware."""

from flare.http.message.erased import Erased
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.handler import Handler
from std.memory import ArcPointer


def _refuse[
    H: Handler, o: ImmOrigin
](handler: Erased, req: Request[o], var response: Response) raises -> Response:
    # SAFETY: `Refuser` made the pointer from an H.
    return handler.unsafe_bitcast[H]()[].refuse(req, response^)


struct Refuser(Movable):
    """`Handler.refuse` of a handler whose type is forgotten, so that refusals
    cost no code for each handler."""

    # SAFETY: the worker that made this holds the handler for as long as it
    # answers.
    var _handler: Erased
    var _call: def[o: ImmOrigin](
        Erased, Request[o], var Response
    ) raises thin -> Response

    def __init__[H: Handler](out self, handler: ArcPointer[H]):
        """Makes the way to a handler.

        Parameters:
            H: Its type.

        Args:
            handler: Outlives this.
        """
        self._handler = (
            Pointer(to=handler[])
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_bitcast[NoneType]()
        )
        self._call = _refuse[H, ...]

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Lets the handler finish an answer of the server's own.

        Args:
            req: What is known of the request.
            response: The answer.

        Returns:
            The response.

        Raises:
            Error: What the handler raises.
        """
        return self._call(self._handler, req, response^)
