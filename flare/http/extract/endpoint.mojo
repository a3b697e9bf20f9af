"""Handlers whose fields are what they take from a request."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.handler import Handler, RequestPolicy
from flare.http.routing.operation import Input, InputError, Operation
from flare.json.struct_reader import FieldSource, make_fieldwise
from std.reflection import reflect


trait Endpoint(Deinitable, Movable):
    """Answers a request that it knows by its own fields alone.

        @fieldwise_init
        struct ShowUser(Endpoint):
            var id: PathInt["id"]
            var full: OptQueryStr["full"]
            var users: State[Users]

            def serve(self) raises -> Response:
                return ok(String("user ", self.id.value))

        router.get("/users/:id", Extracted[ShowUser]())

    Each field is an `Input`, filled anew for every request. If one is missing
    or bad, `serve` is not called, and the answer names it. In tests an endpoint
    is made like any struct, without a request.
    """

    def serve(self) raises -> Response:
        """Answers the request that the fields were filled from.

        Returns:
            The response.

        Raises:
            Error: The server logs it and answers 500, saying nothing of it.
        """
        ...

    @staticmethod
    def describe(mut operation: Operation):
        """Says what the inputs do not, such as a summary, for documents.

        By default the struct's name names the operation.

        Args:
            operation: What is known of the route, inputs included.
        """
        comptime NAME = reflect[Self].base_name()
        operation.id = String(materialize[NAME]())


@fieldwise_init
struct Extracted[E: Endpoint](Handler):
    """Answers with an endpoint, made of each request.

    Parameters:
        E: The endpoint's type; one with a field that is no `Input` does not
            compile.
    """

    def serve(self, req: Request) raises -> Response:
        """Fills an endpoint from the request, and lets it answer.

        Args:
            req: The request.

        Returns:
            Its response; 400, 415 or 422 with a problem (RFC 9457) that names
            an input that is missing or bad.

        Raises:
            Error: What the endpoint raises, or that an input cannot be had for
                a reason of ours.
        """
        var source = _Inputs(req)
        var endpoint: Self.E
        try:
            endpoint = make_fieldwise[Self.E](source)
        except error:
            if error.status >= 500:
                raise Error(error)
            return error.response()
        return endpoint.serve()

    def policy_for(self, req: Request) -> RequestPolicy:
        """Tells whether an input reads content while it arrives.

        Args:
            req: The request's head.

        Returns:
            A policy that streams if one does.
        """
        return RequestPolicy(streams=self.may_stream())

    def may_stream(self) -> Bool:
        """Tells whether an input reads content while it arrives.

        Returns:
            True if one does.
        """
        comptime for index in range(reflect[Self.E].field_count()):
            comptime F = reflect[Self.E].field_types()[index]
            comptime if conforms_to(F, Input):
                comptime if F.STREAMS_BODY:
                    return True
        return False

    def describe(self, mut operation: Operation):
        """Says what the endpoint takes.

        Args:
            operation: What is known of the route.
        """
        comptime for index in range(reflect[Self.E].field_count()):
            comptime F = reflect[Self.E].field_types()[index]
            comptime assert conforms_to(
                F, Input
            ), "each field of an Endpoint is an Input, such as PathInt"
            F.describe(operation)
        Self.E.describe(operation)


struct _Inputs[r: ImmOrigin, o: ImmOrigin](FieldSource):
    """A request as the source of inputs."""

    comptime FieldError = InputError
    # SAFETY: `r` is the request's own origin, which keeps it alive.
    var req: Pointer[Request[Self.o], Self.r]

    def __init__(out self, ref[Self.r] req: Request[Self.o]):
        self.req = Pointer(to=req)

    def field[
        T: AnyType, index: Int, F: Movable & Deinitable
    ](mut self) raises InputError -> F:
        comptime assert conforms_to(
            F, Input
        ), "each field of an Endpoint is an Input, such as PathInt"
        return F.extract(self.req[])
