"""The state that handlers share, and plain functions that are given it."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.handler import Handler
from flare.http.handler.operation import Input, InputError, Operation
from flare.http.handler.surroundings import missing_state
from flare.sys.errno import OsError
from flare.sys.mutex import Mutex, MutexGuard
from std.reflection import reflect

comptime StateFunction[T: Movable & Deinitable] = def[o: ImmOrigin](
    Request[o], State[T]
) raises thin -> Response
"""A plain function that is given a state beside the request.

Parameters:
    T: The state's type.
"""


def state_type[T: AnyType]() -> String:
    """Names the type of a state, with its module's name, in no way that another
    one is.

    Parameters:
        T: What `App` lends, and a handler takes as `State[T]`.
    """
    comptime NAME = reflect[T].name()
    return String(materialize[NAME]())


@fieldwise_init
struct StateHandler[T: Movable & Deinitable](Handler, ImplicitlyCopyable):
    """A plain function with a state as a handler.

    Parameters:
        T: The state's type.
    """

    var function: StateFunction[Self.T]
    """What is called."""

    def serve(self, req: Request) raises -> Response:
        """Calls the function.

        Raises:
            Error: What the function raises, or that there is no such state.
        """
        return self.function(req, State[Self.T].of(req))

    def describe(self, mut operation: Operation):
        """Says what has to be lent."""
        State[Self.T].describe(operation)


struct State[T: Movable & Deinitable](ImplicitlyCopyable, Input):
    """A handle to one value that all workers share; copies mean the same value.

    Workers are threads, so the value is reached under its lock alone:

        State[Counters].of(req).lock()[].hits += 1

    holds the lock for just that line, and

        var counters = state.lock()
        counters[].hits += 1
        counters[].last = "..."

    until the last use of `counters`. Keep such stretches short: no waiting, no
    second `lock` on the same state, which would wait for itself for ever. A
    value that never changes needs no state: give it to the handlers that read
    it. Worker processes (`serve_prefork`) have a copy of the state each.

    Parameters:
        T: The value's type.
    """

    var _value: Mutex[Self.T]

    def __init__(out self, var value: Self.T) raises OsError:
        """Shares a value.

        Args:
            value: The value.

        Raises:
            OsError: If the system has no more locks.
        """
        self._value = Mutex(value^)

    @staticmethod
    def of(req: Request) raises -> Self:
        """Finds the state that the innermost `App` with one of this type gives
        to its handlers.

        Args:
            req: The request that is being handled.

        Raises:
            Error: If no `App` around the handler has a state of this type.
        """
        var found = req.extension[Self]()
        if not found:
            comptime NAME = reflect[Self.T].base_name()
            raise Error(missing_state(materialize[NAME]()))
        # SAFETY: the App that lends its state is in the midst of a call.
        return found.held()[]

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        """Finds the state for a field of an endpoint.

        Raises:
            InputError: 500 if no `App` has such a state.
        """
        try:
            return Self.of(req)
        except error:
            raise InputError(500, "state", String(), String(error))

    @staticmethod
    def describe(mut operation: Operation):
        """Says what has to be lent, of which the client sends nothing."""
        operation.states.append(state_type[Self.T]())

    def lock(self) -> MutexGuard[Self.T, origin_of(self._value)]:
        """Waits until no other thread has the lock, and gives the way to the
        value, which gives the lock away when it goes."""
        return self._value.lock()

    def snapshot(self) -> Self.T where conforms_to(Self.T, Copyable):
        """Copies the value as it is now, under the lock."""
        return self._value.snapshot()


comptime StateGuard = MutexGuard
"""The lock on a state's value."""
