"""Handlers of any type behind one, and handlers that read content as it arrives."""

from flare.bytes.erased import Erased, destroy, erase
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.state import StateFunction, StateHandler
from flare.http.handler.handler import (
    FnHandler,
    Handler,
    HandlerClaims,
    HandlerFunction,
    HoldsHandler,
    QuietHandlerFunction,
    RequestPolicy,
)
from flare.http.handler.operation import Operation
from flare.http.handler.surroundings import Surroundings, operation_problem
from flare.json.field_types import type_name
from std.memory import ArcPointer
from std.reflection import reflect

comptime ServeCall = def[o: ImmOrigin](
    Erased, Request[o]
) raises thin -> Response
"""`Handler.serve` of a handler whose type is forgotten."""
comptime PolicyCall = def[o: ImmOrigin](
    Erased, Request[o]
) thin -> RequestPolicy
"""`Handler.policy_for`, likewise."""
comptime RefuseCall = def[o: ImmOrigin](
    Erased, Request[o], var Response
) raises thin -> Response
"""`Handler.refuse`, likewise."""
comptime ClaimsCall = def(Erased) thin -> HandlerClaims
"""`Handler.claims`, likewise."""
comptime ProblemCall = def(Erased, Surroundings) thin -> String
"""`Handler.problem`, likewise."""
comptime DescribeCall = def(Erased, mut Operation) thin -> None
"""`Handler.describe`, likewise."""
comptime NoticeCall = def(Erased) thin -> None
"""`Handler.drained`, likewise, and the handler's end."""


def _serve[
    H: Handler, o: ImmOrigin
](handler: Erased, req: Request[o]) raises -> Response:
    # SAFETY: the pointer was made from an H, and who keeps it keeps the handler.
    return handler.unsafe_bitcast[H]()[].serve(req)


def _refuse[
    H: Handler, o: ImmOrigin
](handler: Erased, req: Request[o], var response: Response) raises -> Response:
    # SAFETY: as for `_serve`.
    return handler.unsafe_bitcast[H]()[].refuse(req, response^)


def _policy_for[
    H: Handler, o: ImmOrigin
](handler: Erased, req: Request[o]) -> RequestPolicy:
    # SAFETY: as for `_serve`.
    return handler.unsafe_bitcast[H]()[].policy_for(req)


def _claims[H: Handler](handler: Erased) -> HandlerClaims:
    # SAFETY: as for `_serve`.
    return handler.unsafe_bitcast[H]()[].claims()


def _drained[H: Handler](handler: Erased):
    # SAFETY: as for `_serve`.
    handler.unsafe_bitcast[H]()[].drained()


def _problem[H: Handler](handler: Erased, around: Surroundings) -> String:
    # SAFETY: as for `_serve`.
    return handler.unsafe_bitcast[H]()[].problem(around)


def _describe[H: Handler](handler: Erased, mut operation: Operation):
    # SAFETY: as for `_serve`.
    handler.unsafe_bitcast[H]()[].describe(operation)


@fieldwise_init
struct HandlerTable(TrivialRegisterPassable):
    """The functions by which a handler is called whose type is forgotten.

    All that serves requests goes through it, so that nothing of the server is
    generated for each handler's type.
    """

    var serve: ServeCall
    var policy_for: PolicyCall
    var refuse: RefuseCall
    var claims: ClaimsCall
    """What the handler says of itself."""
    var problem: ProblemCall
    var drained: NoticeCall
    var describe: DescribeCall
    var destroy: NoticeCall
    """Ends the handler and gives its memory back."""

    @staticmethod
    def of[H: Handler]() -> Self:
        """Makes the table for pointers that `erase` has made from such
        handlers."""
        return Self(
            serve=_serve[H, ...],
            policy_for=_policy_for[H, ...],
            refuse=_refuse[H, ...],
            claims=_claims[H],
            problem=_problem[H],
            drained=_drained[H],
            describe=_describe[H],
            destroy=destroy[H],
        )


@fieldwise_init
struct _QuietFnHandler(Handler):
    var function: QuietHandlerFunction

    def serve(self, req: Request) raises -> Response:
        return self.function(req)


struct AnyHandler(Handler):
    """Owns a handler of any type, and calls it through pointers."""

    # SAFETY: `_handler` points to memory that this value owns; the table was
    # made for the type that it holds.
    var _handler: Erased
    var _table: HandlerTable

    @implicit
    def __init__[H: Handler](out self, var handler: H):
        """Takes a handler.

        Parameters:
            H: Its type.

        Args:
            handler: The handler.
        """
        self._handler = erase(handler^)
        self._table = HandlerTable.of[H]()

    @implicit
    def __init__(out self, function: HandlerFunction):
        """Takes a plain function.

        Args:
            function: `def f(req: Request) raises -> Response`.
        """
        self = Self(FnHandler(function))

    @implicit
    def __init__(out self, function: QuietHandlerFunction):
        """Takes a plain function that does not raise.

        Args:
            function: `def f(req: Request) -> Response`.
        """
        self = Self(_QuietFnHandler(function))

    @implicit
    def __init__[T: Movable & Deinitable](out self, function: StateFunction[T]):
        """Takes a plain function that is given a state.

        Parameters:
            T: The state's type.

        Args:
            function: `def f(req: Request, state: State[T]) raises -> Response`.
        """
        self = Self(StateHandler(function))

    def __deinit__(deinit self):
        """Releases the handler."""
        self._table.destroy(self._handler)

    @always_inline
    def serve(self, req: Request) raises -> Response:
        return self._table.serve(self._handler, req)

    def refuse(self, req: Request, var response: Response) raises -> Response:
        return self._table.refuse(self._handler, req, response^)

    def policy_for(self, req: Request) -> RequestPolicy:
        return self._table.policy_for(self._handler, req)

    def claims(self) -> HandlerClaims:
        return self._table.claims(self._handler)

    def problem(self, around: Surroundings) -> String:
        return self._table.problem(self._handler, around)

    def drained(self):
        self._table.drained(self._handler)

    def describe(self, mut operation: Operation):
        self._table.describe(self._handler, operation)


@no_inline
def find_problem(
    handler: AnyHandler, var operation: Operation, around: Surroundings
) -> String:
    """Says what the handler of a route takes that nobody gives it, or what else is
    wrong with it (`Handler.problem`); empty if all is well."""
    handler.describe(operation)
    var problem = operation_problem(operation, around)
    if problem.byte_length() > 0:
        return problem^
    return handler.problem(around)


@no_inline
def problem_of_all(handler: AnyHandler) -> String:
    """Says why a server must not serve a handler, around which there is none;
    empty if all is well."""
    return find_problem(handler, Operation("*", ""), Surroundings())


comptime SharedHandler = ArcPointer[AnyHandler]
"""A handler that several workers call; it ends with the last of them."""


def share_handler[H: Handler](var handler: H) -> SharedHandler:
    """Makes what a server is driven by of a handler of any type; the only
    pointer to it so far."""
    return SharedHandler(AnyHandler(handler^))


struct Streamed(Handler, HoldsHandler):
    """Lets a handler read a request's content while it arrives.

        def upload(req: Request) raises -> Response:
            var body = req.body_reader()
            return ok(String(len(body.read_all(1 << 30))))

        router.post("/upload", Streamed(upload), max_body_size=1 << 30)

    The handler is called when the head is there, on a thread of
    `ServerConfig.handler_threads`, and never on the worker's own: with
    `handler_threads=0` a server refuses to start. So it may be called for several
    requests at once, like any handler on such threads. Content that arrives
    whole with its head is read the same way.

    What the handler does not take is not received: the client waits. A client
    that waits for 100 (Continue) gets it with the first read. Content that is
    not read to its end, and has not arrived, ends the connection after the
    response.
    """

    comptime Inner = AnyHandler
    var handler: AnyHandler
    """What answers: a plain function or any `Handler`."""

    def __init__(out self, var handler: AnyHandler):
        """Makes a handler of one that uses `Request.body_reader`."""
        self.handler = handler^

    def serve(self, req: Request) raises -> Response:
        return self.handler.serve(req)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives what the handler says, and that it streams."""
        var policy = self.handler.policy_for(req)
        policy.streams = True
        return policy

    def claims(self) -> HandlerClaims:
        """Gives what the handler says, and that it streams."""
        return self.handler.claims() | HandlerClaims(streams=True)


struct NoHandler(Movable):
    """Stands for a value that is given as a handler and is none.

    A program that makes one does not compile: the compiler then says what a
    handler is.
    """

    @implicit
    def __init__[T: AnyType](out self, ref value: T):
        comptime PROBLEM = handler_problem[T]()
        comptime assert False, PROBLEM


comptime _FUNCTION = StaticString(
    "`def name(req: Request) raises -> Response`, with or without `raises`, or"
    " `def name(req: Request, state: State[T]) raises -> Response`"
)


def handler_problem[T: AnyType]() -> String:
    """Says why a value is no handler; run by the compiler."""
    comptime if not reflect[T].is_struct():
        return String("this is no handler; write ", _FUNCTION)
    var name = String(materialize[reflect[T].name()]())
    if ".closure$" in name:
        return (
            "a function that captures variables is no handler; make a struct"
            " that conforms to Handler, with the variables as its fields and"
            " `def serve(self, req: Request) raises -> Response`, or take them"
            " as State[T]"
        )
    if "__MLIRType" in name:
        return String(
            "this function has not the form of a handler; write ", _FUNCTION
        )
    return String(
        type_name[T](),
        " is no handler; let it conform to Handler, with `def serve(self,"
        " req: Request) raises -> Response`, put an Endpoint into"
        " Extracted[...](), give a WsHandler to router.ws(pattern, handler),"
        " or write ",
        _FUNCTION,
    )
