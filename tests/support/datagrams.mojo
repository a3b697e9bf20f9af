"""Two connected sockets whose octets come as they were sent, piece by piece: each
read gives one, and there is room for few that nobody has read."""

from flare.net.raw_socket import RawSocket
from flare.sys.descriptor import make_nonblocking
from std.ffi import external_call

comptime _AF_UNIX = Int32(1)
comptime _SOCK_DGRAM = Int32(2)
comptime DATAGRAM_COUNT_MAX = 9
"""How many fit that nobody has read, at least (net.unix.max_dgram_qlen of Linux)."""


struct DatagramPair(Movable):
    """Both ends, whose calls never wait."""

    var near: RawSocket
    """One end."""
    var far: RawSocket
    """The other end."""

    def __init__(out self) raises:
        """Connects them.

        Raises:
            Error: If the system makes none.
        """
        var ends = Array[Int32, 2](fill=-1)
        if (
            external_call["socketpair", Int32](
                _AF_UNIX, _SOCK_DGRAM, Int32(0), ends.unsafe_ptr()
            )
            != 0
        ):
            raise Error("the system makes no pair of sockets")
        for index in range(2):
            make_nonblocking(ends[index])
        self.near = RawSocket(owned=ends[0])
        self.far = RawSocket(owned=ends[1])

    def take_near(mut self) -> RawSocket:
        """Takes one end out."""
        return RawSocket(owned=self.near.release())

    def take_far(mut self) -> RawSocket:
        """Takes the other end out."""
        return RawSocket(owned=self.far.release())
