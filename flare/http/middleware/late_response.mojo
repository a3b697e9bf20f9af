"""Middleware that changes responses, where they are made later."""

from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.later import LaterStep, finish_later

comptime CLIENT_GONE = 499
"""The status that figures and logs give a request whose client has gone before
there was a response. It is never sent."""


trait ChangesResponses(Movable):
    """Middleware whose work is done on the response of its inner handler."""

    def change(self, req: Request, var response: Response) raises -> Response:
        """Makes the response of the middleware of what the inner handler has
        made."""
        ...


@fieldwise_init
struct _Change[M: ChangesResponses](LaterStep):

    # SAFETY: as `change_later` says.
    var middleware: Pointer[Self.M, ImmUntrackedOrigin]
    var request: OwnedRequest

    def finish(mut self, var response: Response) raises -> Response:
        return self.middleware[].change(self.request.view(), response^)


@no_inline
def change_later[
    M: ChangesResponses
](middleware: M, req: Request, mut response: Response) raises:
    """Has middleware change a response when it is there, as `is_later` has
    told of `response`, which stands for it. Raises if the inner handler does not answer later."""
    # SAFETY: a handler outlives the requests that it has been given.
    var held = Pointer(to=middleware).unsafe_origin_cast[ImmUntrackedOrigin]()
    finish_later(req, response, _Change(held, OwnedRequest(copy_of=req)))
