"""The word that nobody waits for a response any more."""

from std.atomic import Atomic, Ordering


struct CancelFlag(Movable):
    """Set once by the thread that owns a connection, read by a handler's."""

    var _value: Atomic[Int64]

    def __init__(out self):
        """Makes a flag that is not set."""
        self._value = Atomic[Int64](0)

    def set(mut self):
        """Sets the flag."""
        self._value.store[ordering=Ordering.RELEASE](1)

    def is_set(self) -> Bool:
        """Reads the flag.

        Returns:
            True after `set`.
        """
        return self._value.load[ordering=Ordering.ACQUIRE]() != 0
