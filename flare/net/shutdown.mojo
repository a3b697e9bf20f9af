"""Which direction of a connection ends."""

from flare.sys.socket import SHUT_BOTH, SHUT_READ, SHUT_WRITE


struct Shutdown(Equatable, TrivialRegisterPassable):
    """What `shutdown` ends."""

    var number: Int
    """The system's number."""

    comptime READ = Shutdown(SHUT_READ)
    """Reads see the end of the stream."""
    comptime WRITE = Shutdown(SHUT_WRITE)
    """The peer sees the end of the stream; it may still answer."""
    comptime BOTH = Shutdown(SHUT_BOTH)
    """Both of them."""

    def __init__(out self, number: Int):
        """Makes one from the system's number.

        Args:
            number: A `SHUT_` constant.
        """
        self.number = number
