"""How a source of content says that it has something."""

from flare.http.message.erased import Erased, destroy, erase
from std.memory import ArcPointer


trait WakeTarget(Deinitable, Movable):
    """What a waker rings at."""

    def wake(self, token: UInt64):
        """Sees to it that the source of a connection is asked again.

        Args:
            token: The connection's.
        """
        ...


def _wake[T: WakeTarget](target: Erased, token: UInt64):
    # SAFETY: the pointer was made from a `T` by the struct that calls this.
    target.unsafe_bitcast[T]()[].wake(token)


struct _AnyTarget(Movable):
    """A wake target of any type."""

    var _target: Erased
    var _wake: def(Erased, UInt64) thin -> None
    var _drop: def(Erased) thin -> None

    def __init__[T: WakeTarget](out self, var target: T):
        self._target = erase(target^)
        self._wake = _wake[T]
        self._drop = destroy[T]

    def __deinit__(deinit self):
        self._drop(self._target)

    def wake(self, token: UInt64):
        self._wake(self._target, token)


struct StreamWaker(Copyable, Movable):
    """Rings when a source that answered `Supply.LATER` has something.

    `wake` may be called from any thread, any number of times, and after the
    connection has ended. Copies ring for the same connection.
    """

    var _target: ArcPointer[_AnyTarget]
    var _token: UInt64

    def __init__[T: WakeTarget](out self, var target: T, token: UInt64):
        """Makes a waker.

        Parameters:
            T: The target's type.

        Args:
            target: What is rung at; safe to be used by several threads.
            token: The connection's.
        """
        self._target = ArcPointer(_AnyTarget(target^))
        self._token = token

    def wake(self):
        """Has the source asked again, soon."""
        self._target[].wake(self._token)
