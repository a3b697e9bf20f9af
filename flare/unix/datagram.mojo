"""A Unix datagram socket with calls that wait."""

from flare.net.blocking_socket import BlockingSocket, SocketOwner
from flare.net.error import NetworkError, Timeout, send_failure
from flare.net.raw_socket import RawSocket
from flare.sys.clock import Deadline
from flare.sys.errno import EAGAIN, EINTR, OsError
from flare.sys.sockets.message import send_to
from flare.sys.sockets.sock_addr import SockAddr
from flare.sys.sockets.socket import SOCK_DGRAM, connect_socket, send_patiently
from flare.sys.socket_file import SocketFile
from flare.unix.unix_addr import (
    StartingTurn,
    UnixAddr,
    bind_unix,
    open_unix,
)


@fieldwise_init
struct UnixMessage(Movable):
    """What `UnixDatagram.recv_from` took."""

    var length: Int
    """How many octets; a datagram may have none."""
    var sender: UnixAddr
    """Who sent it; unnamed if nobody can answer."""


struct UnixDatagram(SocketOwner):
    """A socket for datagrams on this machine, which neither lose nor reorder.

    Each call has a deadline: 30 s unless the timeouts are set otherwise. When
    its owner goes, the socket's file goes too, as with `UnixListener`.
    """

    var _socket: BlockingSocket
    var _file: SocketFile

    def __init__(
        out self, var socket: RawSocket, var file: SocketFile, name: UnixAddr
    ):
        """Takes over a socket.

        Args:
            socket: A Unix datagram socket.
            file: Its file.
            name: What errors call it: its own address, or the peer's.
        """
        self._socket = BlockingSocket(socket^, String(name))
        self._file = file^

    @staticmethod
    def bind(
        address: UnixAddr, replace_stale: Bool = False
    ) raises NetworkError -> Self:
        """Gives a socket that receives at an address.

        Args:
            address: A path, or `@` and an abstract name.
            replace_stale: True to take over the path of a program that died,
                as with `UnixListener.bind`.

        Raises:
            NetworkError: If the address cannot be had, such as `AddressInUse`.
        """
        # Of two that find one stale file, the second would remove the first
        # one's.
        var turn = StartingTurn(address)
        var bound = bind_unix(SOCK_DGRAM, address, replace_stale)
        _ = turn^
        return Self(bound.take_socket(), bound.take_file(), address)

    @staticmethod
    def unbound() raises NetworkError -> Self:
        """Gives a socket that can send, but to which nobody can answer.

        Raises:
            NetworkError: If the kernel refuses.
        """
        return Self(open_unix(SOCK_DGRAM), SocketFile(), UnixAddr())

    def connect_to(mut self, peer: UnixAddr) raises NetworkError:
        """Makes the socket speak to one peer and hear nobody else from now on;
        what others have sent before is still received.

        Args:
            peer: The other side, which must be there.

        Raises:
            NetworkError: If nobody has the address.
        """
        var result = connect_socket(self._socket.raw.fd(), peer.to_kernel())
        if result < 0:
            raise NetworkError(OsError("connect", -result), String(peer))
        self._socket.name = String(peer)

    def send_to(
        mut self, octets: Span[UInt8, _], peer: UnixAddr
    ) raises NetworkError -> Int:
        """Sends one datagram, waiting while the peer's queue is full, and gives
        how many octets: all.

        Args:
            octets: Its content; may be empty.
            peer: Where to.

        Raises:
            NetworkError: If nobody has the address, the time is over, or it is
                `DatagramTooLarge`; it names the peer.
        """
        var there = peer.to_kernel()
        var number = self._socket.raw.fd()
        var deadline = Deadline(self._socket.write_timeout_ms)
        var count = send_to(number, octets, there)
        while count == -EAGAIN or count == -EINTR:
            if deadline.left_ms() == 0:
                raise NetworkError(
                    materialize[Timeout](),
                    "send",
                    String(peer),
                    "the peer's queue is full; is it still receiving?",
                )
            count = send_patiently(number, octets, there, deadline)
        if count < 0:
            raise send_failure(-count, String(peer), len(octets))
        return count

    def send(mut self, octets: Span[UInt8, _]) raises NetworkError -> Int:
        """Sends one datagram to the peer of a connected socket, and gives how
        many octets: all.

        Raises:
            NetworkError: If the peer is gone, the time is over, it is
                `DatagramTooLarge`, or the socket has no peer.
        """
        return self._socket.send_datagram(octets)

    def recv_from(
        mut self, room: MutSpan[UInt8, _]
    ) raises NetworkError -> UnixMessage:
        """Takes one datagram, waiting for it, and gives its length and its
        sender.

        Args:
            room: Where to.

        Raises:
            NetworkError: If the time is over, or the datagram is
                `DatagramTooLarge` for the room: its rest is lost then, and
                `room` holds its start.
        """
        var sender = SockAddr()
        var length = self._socket.receive_datagram(room, sender)
        return UnixMessage(length, UnixAddr.from_kernel(sender))

    def recv(mut self, room: MutSpan[UInt8, _]) raises NetworkError -> Int:
        """Takes one datagram, waiting for it, and gives how many octets it has;
        0 is an empty datagram, not an end; the rest is as for `recv_from`."""
        return self.recv_from(room).length

    def _blocking(ref self) -> ref[self] BlockingSocket:
        # SAFETY: the field lives as long as what it is a field of.
        ref socket = self._socket
        return Pointer(to=socket).unsafe_origin_cast[origin_of(self)]()[]

    def close(mut self):
        """Closes the socket and removes its file; once."""
        self._file.remove()
        self._socket.raw.close()
