"""Whether a server takes requests, said by hand."""

from std.atomic import Atomic, Ordering
from std.memory import ArcPointer


struct ReadySwitch(ImplicitlyCopyable, Movable):
    """Says by hand whether requests may come; copies are the same switch.

    `HttpServer.ready_switch` gives the one that the server turns off when it
    begins to stop. Each worker process has its own.
    """

    var _value: ArcPointer[Atomic[Int64]]

    def __init__(out self, is_ready: Bool = True):
        """Makes a switch.

        Args:
            is_ready: Its first position.
        """
        self._value = ArcPointer(Atomic(Int64(1 if is_ready else 0)))

    def set(self, is_ready: Bool):
        """Turns the switch, from any thread.

        Args:
            is_ready: Whether requests may come.
        """
        self._value[].store[ordering=Ordering.RELEASE](
            Int64(1 if is_ready else 0)
        )

    def is_ready(self) -> Bool:
        """Tells whether requests may come."""
        return self._value[].load[ordering=Ordering.ACQUIRE]() == 1
