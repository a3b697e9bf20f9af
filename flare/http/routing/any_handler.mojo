"""Handlers of any type behind one, and handlers that read content as it arrives."""

from flare.http.message.body import Erased, destroy, erase
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.routing.app import StateFunction, StateHandler
from flare.http.routing.handler import (
    FnHandler,
    Handler,
    HandlerFunction,
    HoldsHandler,
    QuietHandlerFunction,
    RequestPolicy,
)
from flare.http.routing.operation import Operation
from flare.json.field_types import type_name
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
comptime _Describe = def(Erased, mut Operation) thin -> None
comptime _Claims = def(Erased) thin -> UInt8
comptime _Notice = def(Erased) thin -> None


def call_serve[
    H: Handler, o: ImmOrigin
](handler: Erased, req: Request[o]) raises -> Response:
    """Calls `Handler.serve`; the pointer was made from an H."""
    # SAFETY: it was, and who keeps it keeps the handler.
    return handler.unsafe_bitcast[H]()[].serve(req)


def call_refuse[
    H: Handler, o: ImmOrigin
](handler: Erased, req: Request[o], var response: Response) raises -> Response:
    """Calls `Handler.refuse`; the pointer was made from an H."""
    # SAFETY: as for `call_serve`.
    return handler.unsafe_bitcast[H]()[].refuse(req, response^)


def call_policy_for[
    H: Handler, o: ImmOrigin
](handler: Erased, req: Request[o]) -> RequestPolicy:
    """Calls `Handler.policy_for`; the pointer was made from an H."""
    # SAFETY: as for `call_serve`.
    return handler.unsafe_bitcast[H]()[].policy_for(req)


comptime _STREAMS = UInt8(1)
comptime _UPGRADES = UInt8(2)
comptime _DEFERS = UInt8(4)


def _claims[H: Handler](handler: Erased) -> UInt8:
    # SAFETY: `AnyHandler` made the pointer from an H of its own.
    ref inner = handler.unsafe_bitcast[H]()[]
    return (
        (_STREAMS if inner.may_stream() else 0)
        | (_UPGRADES if inner.may_upgrade() else 0)
        | (_DEFERS if inner.may_defer() else 0)
    )


def _drained[H: Handler](handler: Erased):
    # SAFETY: `AnyHandler` made the pointer from an H of its own.
    handler.unsafe_bitcast[H]()[].drained()


def _describe[H: Handler](handler: Erased, mut operation: Operation):
    # SAFETY: `AnyHandler` made the pointer from an H of its own.
    handler.unsafe_bitcast[H]()[].describe(operation)


@fieldwise_init
struct _QuietFnHandler(Handler):
    var function: QuietHandlerFunction

    def serve(self, req: Request) raises -> Response:
        return self.function(req)


struct AnyHandler(Handler):
    """Owns a handler of any type, and calls it through pointers."""

    # SAFETY: `_handler` points to memory that this value owns; the functions
    # beside it were made for the type that it holds.
    var _handler: Erased
    var _call: ServeCall
    var _deny: RefuseCall
    var _ask: PolicyCall
    var _claims: _Claims
    var _finish: _Notice
    var _tell: _Describe
    var _release: def(Erased) thin -> None

    @implicit
    def __init__[H: Handler](out self, var handler: H):
        """Takes a handler.

        Parameters:
            H: Its type.

        Args:
            handler: The handler.
        """
        self._handler = erase(handler^)
        self._call = call_serve[H, ...]
        self._deny = call_refuse[H, ...]
        self._ask = call_policy_for[H, ...]
        self._claims = _claims[H]
        self._finish = _drained[H]
        self._tell = _describe[H]
        self._release = destroy[H]

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
        self._release(self._handler)

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
        return self._call(self._handler, req)

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
        return self._deny(self._handler, req, response^)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Asks the handler how a request is to be treated.

        Args:
            req: The request's head.

        Returns:
            Its answer.
        """
        return self._ask(self._handler, req)

    def may_stream(self) -> Bool:
        """Asks the handler whether it may stream.

        Returns:
            Its answer.
        """
        return self._claims(self._handler) & _STREAMS != 0

    def may_defer(self) -> Bool:
        """Asks the handler whether it may answer later.

        Returns:
            Its answer.
        """
        return self._claims(self._handler) & _DEFERS != 0

    def may_upgrade(self) -> Bool:
        """Asks the handler whether it may answer with a conversation.

        Returns:
            Its answer.
        """
        return self._claims(self._handler) & _UPGRADES != 0

    def drained(self):
        """Lets the handler finish what goes beyond single requests."""
        self._finish(self._handler)

    def describe(self, mut operation: Operation):
        """Lets the handler say what it takes and gives.

        Args:
            operation: What is known of the route.
        """
        self._tell(self._handler, operation)


struct Streamed(Handler, HoldsHandler):
    """Lets a handler read a request's content while it arrives.

        def upload(req: Request) raises -> Response:
            var body = req.body_reader()
            return ok(String(len(body.read_all(1 << 30))))

        router.post("/upload", Streamed(upload), max_body_size=1 << 30)

    The handler is called when the head is there, on a thread of
    `ServerConfig.handler_threads`, and never on the worker's own: a server
    without such threads refuses to start. So it may be called for several
    requests at once, like any handler on such threads. Content that arrives
    whole with its head is read the same way.

    What the handler does not take is not received: the client waits. A client
    that waits for 100 (Continue) gets it with the first read. Content that is
    not read to its end, and has not arrived, ends the connection behind the
    response.
    """

    comptime Inner = AnyHandler
    """The inner handler's type."""
    var handler: AnyHandler
    """What answers."""

    def __init__(out self, var handler: AnyHandler):
        """Makes a handler of one that uses `Request.body_reader`.

        Args:
            handler: A plain function or any `Handler`.
        """
        self.handler = handler^

    def serve(self, req: Request) raises -> Response:
        """Lets the handler answer.

        Args:
            req: The request.

        Returns:
            Its response.

        Raises:
            Error: What the handler raises.
        """
        return self.handler.serve(req)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Tells that content is read while it arrives.

        Args:
            req: The request's head.

        Returns:
            What the handler says, and that it streams.
        """
        var policy = self.handler.policy_for(req)
        policy.streams = True
        return policy

    def may_stream(self) -> Bool:
        """Tells that content is read while it arrives.

        Returns:
            True.
        """
        return True


struct NoHandler(Movable):
    """Stands for a value that is given as a handler and is none.

    A program that makes one does not compile: the compiler then says what a
    handler is.
    """

    @implicit
    def __init__[T: AnyType](out self, ref value: T):
        """Refuses the program.

        Parameters:
            T: The value's type.

        Args:
            value: The value.
        """
        comptime PROBLEM = handler_problem[T]()
        comptime assert False, PROBLEM


comptime _FUNCTION = StaticString(
    "`def name(req: Request) raises -> Response`, with or without `raises`, or"
    " `def name(req: Request, state: State[T]) raises -> Response`"
)


def handler_problem[T: AnyType]() -> String:
    """Says why a value is no handler; run by the compiler.

    Parameters:
        T: The value's type.

    Returns:
        A sentence.
    """
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
        " Extracted[...](), or write ",
        _FUNCTION,
    )
