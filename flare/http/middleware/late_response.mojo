"""Middleware that changes responses, where they are made later."""

from flare.bytes.ascii import equals_ignore_case
from flare.http.message.header_map import HeaderError, HeaderMap, add_vary
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.failure import note_failure_fields
from flare.http.handler.handler import Handler
from flare.http.handler.later import LaterStep, finish_later, is_later

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


trait SetsFields(Movable):
    """Middleware that sets fields on all that its inner handler answers."""

    def _set_fields(
        self, req: Request, mut headers: HeaderMap
    ) raises HeaderError:
        """Sets the fields of the response to a request, and adds to Vary."""
        ...


def serve_with_fields[
    H: Handler, M: SetsFields
](handler: H, req: Request, middleware: M) raises -> Response:
    """Lets a handler answer, and has middleware set fields on the response, also
    on one that is made later, and on the answer to what the handler raises."""
    try:
        var response = handler.serve(req)
        if is_later(req, response):
            var fields = _fields_of(middleware, req)
            finish_later(req, response, _SetFields(fields^))
        else:
            middleware._set_fields(req, response.headers)
        return response^
    except error:
        note_failure_fields(req, _fields_of(middleware, req))
        raise error^


@no_inline
def _fields_of[
    M: SetsFields
](middleware: M, req: Request) raises HeaderError -> HeaderMap:
    var fields = HeaderMap()
    middleware._set_fields(req, fields)
    return fields^
