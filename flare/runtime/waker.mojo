"""A way to end a selector's wait from another thread."""

from flare.sys.errno import OsError
from flare.sys.pipe import Pipe
from std.memory import ArcPointer


struct Waker(Copyable, Movable):
    """A bell that a selector listens to. Copies ring the same bell.

    `wake` may be called from any thread and from a signal handler.
    """

    var _pipe: ArcPointer[Pipe]

    def __init__(out self) raises OsError:
        """Makes a bell.

        Raises:
            OsError: If the process has no more descriptors.
        """
        self._pipe = ArcPointer(Pipe())

    def fd(self) -> Int32:
        """Lends the descriptor to register for reading.

        Returns:
            A descriptor, good while a copy of this waker lives.
        """
        return self._pipe[].reading_fd()

    @deprecated("use fd")
    def number(self) -> Int32:
        """Lends the descriptor under its name until 0.2.

        Returns:
            What `fd` returns.
        """
        return self.fd()

    def wake(self):
        """Makes the descriptor readable until `drain` is called."""
        self._pipe[].ring()

    def drain(self) -> Int:
        """Silences the bell.

        Returns:
            How often it was rung, if less than the pipe holds.
        """
        return self._pipe[].drain()
