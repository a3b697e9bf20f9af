"""Handlers whose fields are what they take from a request."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.handler import Handler, HandlerClaims, RequestPolicy
from flare.http.handler.operation import Input, InputError, Operation
from flare.json.field_types import is_plain_struct, type_name
from flare.json.struct_reader import Erased, FieldSource, make_fieldwise
from std.memory import unsafe_stack_allocation
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

    Each field is an `Input`, filled anew for every request. If some are missing
    or bad, `serve` is not called, and the answer names them all. In tests an
    endpoint is made like any struct, without a request.
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
struct Extracted[E: Endpoint](Copyable, Handler):
    """Answers with an endpoint, made of each request.

    Parameters:
        E: The endpoint's type; one with a field that is no `Input`, or with two
            that read the content, does not compile.
    """

    def serve(self, req: Request) raises -> Response:
        """Fills an endpoint from the request, and lets it answer.

        Returns:
            Its response; 400, 413, 415 or 422, as for the first one, with a
            problem (RFC 9457) that names the inputs that are missing or bad. An
            input that raises with another status is told of alone.

        Raises:
            Error: What the endpoint raises, or that an input cannot be had for
                a reason of ours.
        """
        _check_fields[Self.E]()
        # SAFETY: the endpoint is taken out only if all of it was made.
        var source = _Inputs(req)
        var place = unsafe_stack_allocation[1, Self.E]()
        if not make_fieldwise(source, place):
            return source.refusal()
        var endpoint = place.unsafe_take_pointee()
        return endpoint.serve()

    def policy_for(self, req: Request) -> RequestPolicy:
        """Tells whether an input reads content while it arrives.

        Returns:
            A policy that streams if one does.
        """
        return RequestPolicy(streams=Self._streams())

    def claims(self) -> HandlerClaims:
        """Tells whether an input reads content while it arrives."""
        return HandlerClaims(streams=Self._streams())

    @staticmethod
    def _streams() -> Bool:
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
        """Says what the endpoint takes."""
        _check_fields[Self.E]()
        comptime for index in range(reflect[Self.E].field_count()):
            comptime F = reflect[Self.E].field_types()[index]
            comptime assert conforms_to(F, Input), "each field is an Input"
            F.describe(operation)
        Self.E.describe(operation)


struct _Inputs[r: ImmOrigin, o: ImmOrigin](FieldSource):
    """A request as the source of inputs."""

    # SAFETY: `r` is the request's own origin, which keeps it alive.
    var req: Pointer[Request[Self.o], Self.r]
    var error: Optional[InputError]
    # Whether the rest need not be asked: it is not the inputs that are bad.
    var is_over: Bool

    def __init__(out self, ref[Self.r] req: Request[Self.o]):
        self.req = Pointer(to=req)
        self.error = None
        self.is_over = False

    @staticmethod
    def fill[
        F: Movable & Deinitable
    ](source: Erased, name: StaticString, place: Erased) -> Bool:
        comptime assert conforms_to(F, Input), "each field is an Input"
        # SAFETY: `make_fieldwise` gives the source that it was given, and
        # memory for an F.
        ref inputs = source.unsafe_bitcast[
            _Inputs[ImmUntrackedOrigin, ImmUntrackedOrigin]
        ]()[]
        if inputs.is_over or (F.STREAMS_BODY and inputs.error):
            return False
        try:
            place.unsafe_bitcast[F]().unsafe_write(F.extract(inputs.req[]))
            return True
        except error:
            inputs.take(error^)
            return False

    @no_inline
    def take(mut self, var error: InputError):
        """Keeps what is bad. What is no matter of inputs, such as 401 or an
        error of ours, is told alone."""
        self.is_over = not _is_of_inputs(error.status)
        if self.is_over or not self.error:
            self.error = error^
        else:
            self.error.value().add(error^)

    @no_inline
    def refusal(mut self) raises -> Response:
        ref error = self.error.value()
        if error.status >= 500:
            raise Error(error)
        return error.response()


def _is_of_inputs(status: Int) -> Bool:
    return status == 400 or status == 413 or status == 415 or status == 422


@always_inline
def _check_fields[E: Endpoint]():
    """Refuses a program with an endpoint that cannot be filled."""
    comptime for index in range(reflect[E].field_count()):
        comptime PROBLEM = _field_problem[E, index]()
        comptime assert PROBLEM.byte_length() == 0, PROBLEM
    comptime TWICE = _content_problem[E]()
    comptime assert TWICE.byte_length() == 0, TWICE


def _content_problem[E: AnyType]() -> String:
    """Says that two fields read the content, if they do; run by the compiler."""
    var first = String()
    comptime for index in range(reflect[E].field_count()):
        comptime F = reflect[E].field_types()[index]
        comptime if conforms_to(F, Input):
            comptime if F.TAKES_CONTENT or F.STREAMS_BODY:
                var name = String(
                    materialize[reflect[E].field_names()[index]]()
                )
                if first.byte_length() > 0:
                    return String(
                        "Endpoint ",
                        type_name[E](),
                        ": the fields '",
                        first,
                        "' and '",
                        name,
                        (
                            "' both read the content, and one may; put all"
                            " that the content has into one struct"
                        ),
                    )
                first = name^
    return String()


def _field_problem[E: AnyType, index: Int]() -> String:
    """Says that a field is no input, if it is none; run by the compiler."""
    comptime F = reflect[E].field_types()[index]
    comptime if conforms_to(F, Input):
        return F.problem()
    var name = String(materialize[reflect[E].field_names()[index]]())
    var kind = type_name[F]()
    var advice: String
    var other = String()
    comptime if F == Int or F == String:
        var short = String("Int" if F == Int else "Str")
        advice = String(
            'PathX["name"], QueryX["name"] or OptQueryX["name"]'
        ).replace("X", short)
    elif F == Bool or F == Float64:
        advice = 'QueryParam[Kind, "name"] or PathParam[Kind, "name"]'
    elif is_plain_struct[F]():
        advice = String("Json[Kind], Form[Kind] or State[Kind]")
        other = "; or make it `struct Kind(Input)`, whose `extract` fills it"
    else:
        advice = String('QueryParam[Kind, "name"] or State[Kind]')
    return String(
        "Endpoint ",
        type_name[E](),
        ": field '",
        name,
        "' is of type ",
        kind,
        ", which is no input; write `var ",
        name,
        ": ",
        advice.replace("name", name).replace("Kind", kind),
        "`, and read it as `self.",
        name,
        ".value`",
        other.replace("Kind", kind),
    )
