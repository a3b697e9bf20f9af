"""A value that handlers share, whichever thread calls them."""

from flare.http.message.request import Request
from flare.http.routing.input import Input, InputError
from flare.http.routing.operation import Operation
from flare.sys.errno import OsError
from flare.sys.monitor import Monitor
from std.memory import ArcPointer
from std.reflection import reflect


struct _Cell[T: Movable & Deinitable](Movable):
    """The value beside its lock."""

    var monitor: Monitor
    var value: Self.T

    def __init__(out self, var value: Self.T) raises OsError:
        self.monitor = Monitor()
        self.value = value^


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

    var _cell: ArcPointer[_Cell[Self.T]]

    def __init__(out self, var value: Self.T) raises OsError:
        """Shares a value.

        Args:
            value: The value.

        Raises:
            OsError: If the system has no more locks.
        """
        self._cell = ArcPointer(_Cell(value^))

    @staticmethod
    def of(req: Request) raises -> Self:
        """Finds the state that an `App` gives to its handlers.

        Args:
            req: The request that is being handled.

        Returns:
            The state of the innermost such `App`.

        Raises:
            Error: If no `App` around the handler has a state of this type.
        """
        var found = req.extension[Self]()
        if not found:
            comptime NAME = reflect[Self.T].base_name()
            raise Error(
                "no App around this handler has a state of type ",
                materialize[NAME](),
                "; serve App(state=",
                materialize[NAME](),
                "(...), handler=...)",
            )
        # SAFETY: the App that lends its state is in the midst of a call.
        return found.value()[]

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        """Finds the state for a field of an endpoint.

        Args:
            req: The request.

        Returns:
            The state.

        Raises:
            InputError: 500 if no `App` has such a state.
        """
        try:
            return Self.of(req)
        except error:
            raise InputError(500, "state", String(), String(error))

    @staticmethod
    def describe(mut operation: Operation):
        """Says nothing, since the client does not send it.

        Args:
            operation: What is known of the route.
        """
        _ = operation

    def lock(self) -> StateGuard[Self.T]:
        """Waits until no other thread has the lock, and takes it.

        Returns:
            The way to the value; it gives the lock away when it goes.
        """
        return StateGuard(_locked=self._cell)

    def snapshot(self) -> Self.T where conforms_to(Self.T, Copyable):
        """Copies the value under the lock.

        Returns:
            The value as it is now.
        """
        var guard = self.lock()
        return guard[].copy()


struct StateGuard[T: Movable & Deinitable](Movable):
    """The lock on a state's value, held for as long as this lives.

    Parameters:
        T: The value's type.
    """

    var _cell: ArcPointer[_Cell[Self.T]]

    def __init__(out self, *, _locked: ArcPointer[_Cell[Self.T]]):
        """Takes the lock; `State.lock` does that.

        Args:
            _locked: What to lock.
        """
        self._cell = _locked
        self._cell[].monitor.lock()

    def __deinit__(deinit self):
        """Gives the lock away."""
        self._cell[].monitor.unlock()

    def __getitem__[
        o: ImmOrigin
    ](ref[o] self) -> ref[o.unsafe_mut_cast[True]()] Self.T:
        """Reaches the value.

        Parameters:
            o: The guard's origin, which keeps the lock while the value is used.

        Returns:
            The value, to read and to change.
        """
        # SAFETY: nobody else reaches the value while the lock is held, and the
        # guard keeps the value alive.
        return (
            Pointer(to=self._cell[].value)
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[o.unsafe_mut_cast[True]()]()[]
        )
