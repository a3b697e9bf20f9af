"""Middleware that changes responses, where they are made later."""

from flare.bytes.ascii import equals_ignore_case
from flare.http.message.header_map import HeaderMap, add_vary
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
        """Gives the response of the middleware, which may be the same.

        Args:
            req: The request that it answers.
            response: What the inner handler has made.

        Raises:
            Error: If it cannot be made.
        """
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
    """Has middleware change a response when it is there, as `is_later` has told
    of `response`, which stands for it. Raises if the inner handler does not
    answer later."""
    # SAFETY: a handler outlives the requests that it has been given.
    var held = Pointer(to=middleware).unsafe_origin_cast[ImmUntrackedOrigin]()
    finish_later(req, response, _Change(held, OwnedRequest(copy_of=req)))


@fieldwise_init
struct _SetFields(LaterStep):
    var fields: HeaderMap

    def finish(mut self, var response: Response) raises -> Response:
        for index in range(len(self.fields)):
            var name = self.fields.name(index)
            var value = self.fields.value(index)
            if equals_ignore_case(name.as_bytes(), "vary".as_bytes()):
                add_vary(response.headers, value)
            else:
                response.headers.set(name, value)
        return response^


@no_inline
def set_later(
    req: Request, mut response: Response, var fields: HeaderMap
) raises:
    """Has fields set on a response when it is there, as `is_later` has told, in
    place of those that it brings; Vary is added to. Raises if the inner handler
    does not answer later."""
    finish_later(req, response, _SetFields(fields^))
