"""A UDP socket with calls that wait."""

from flare.net.blocking_socket import BlockingSocket, SocketOwner
from flare.net.error import (
    BadAddress,
    NetworkError,
    NotConnected,
    PermissionDenied,
    send_failure,
)
from flare.net.ip import IpAddr
from flare.net.raw_socket import RawSocket, from_kernel, to_kernel
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import Deadline
from flare.sys.errno import OsError
from flare.sys.sockets.message import send_to
from flare.sys.poll import POLL_WRITE
from flare.sys.sockets.sock_addr import SockAddr
from flare.sys.sockets.socket_option import (
    SocketOption,
    set_group_v4,
    set_group_v6,
)


@fieldwise_init
struct Datagram(ImplicitlyCopyable):
    """What `UdpSocket.recv_from` took."""

    var length: Int
    """How many octets; a datagram may have none."""
    var sender: SocketAddr
    """Who sent it. UDP proves nothing: anyone can write any address there."""


struct UdpSocket(SocketOwner):
    """A socket for datagrams; it is closed when its owner goes.

    Each call has a deadline: 30 s unless the timeouts are set otherwise.
    """

    var _socket: BlockingSocket
    var _is_v6: Bool
    # Who alone is heard, if others may have sent before the kernel was told so.
    var _peer: Optional[SocketAddr]

    def __init__(out self, var socket: RawSocket, address: SocketAddr):
        """Takes over a socket.

        Args:
            socket: A UDP socket.
            address: The peer it is connected to, or else its own address.
        """
        self._socket = BlockingSocket(socket^, String(address))
        self._is_v6 = address.ip.is_v6()
        self._peer = None

    @staticmethod
    def bind(address: SocketAddr) raises NetworkError -> Self:
        """Gives a socket that receives at an address.

        Args:
            address: Where; port 0 lets the kernel choose one, and the ip
                decides between IPv4 and IPv6.

        Raises:
            NetworkError: If the address cannot be had, such as `AddressInUse`.
        """
        var socket = RawSocket.udp(address.ip.is_v6())
        socket.bind(address)
        var own = socket.local_addr()
        return Self(socket^, own)

    @staticmethod
    def connect(peer: SocketAddr) raises NetworkError -> Self:
        """Gives a socket that speaks to one peer and hears nobody else.

        Args:
            peer: The other side. It need not be there: only a later call can
                notice, as `ConnectionRefused`.

        Raises:
            NetworkError: If there is no route to the address.
        """
        var socket = RawSocket.udp(peer.ip.is_v6())
        _ = socket.connect(peer)
        return Self(socket^, peer)

    def connect_to(mut self, peer: SocketAddr) raises NetworkError:
        """Makes a bound socket speak to one peer and hear nobody else.

        Args:
            peer: The other side.

        Raises:
            NetworkError: If there is no route to the address, or its port is 0.
        """
        self._check_family(peer.ip, "connect")
        _check_port(peer, "connect")
        _ = self._socket.raw.connect(peer)
        self._socket.name = String(peer)
        self._peer = self._socket.raw.peer_addr()

    def send_to(
        mut self, octets: Span[UInt8, _], peer: SocketAddr
    ) raises NetworkError -> Int:
        """Sends one datagram, and gives how many octets: all.

        Args:
            octets: Its content; may be empty.
            peer: Where to.

        Raises:
            NetworkError: If it is `DatagramTooLarge` for the network, or the
                system refuses it; it names the peer.
        """
        self._check_family(peer.ip, "send")
        _check_port(peer, "send")
        var address = to_kernel(peer)
        var deadline = Deadline(self._socket.write_timeout_ms)
        while True:
            var count = send_to(self._socket.raw.fd(), octets, address)
            if count >= 0:
                return count
            if not self._socket.is_worth_waiting(count):
                raise _with_advice(
                    send_failure(-count, String(peer), len(octets))
                )
            self._socket.wait_after(count, "send", POLL_WRITE, deadline)

    def send(mut self, octets: Span[UInt8, _]) raises NetworkError -> Int:
        """Sends one datagram to the peer of a connected socket, and gives how
        many octets: all.

        Raises:
            NetworkError: If it is `DatagramTooLarge` for the network, an
                earlier one found nobody there (`ConnectionRefused`), or the
                socket has no peer.
        """
        try:
            return self._socket.send_datagram(octets)
        except error:
            if error.kind == NotConnected and self.is_open():
                error.reason += "; name one with connect_to, or use send_to"
            raise _with_advice(error^)

    def recv_from(
        mut self, room: MutSpan[UInt8, _]
    ) raises NetworkError -> Datagram:
        """Takes one datagram, waiting for it, and gives its length and its
        sender.

        Args:
            room: Where to; 65,527 bytes hold any datagram.

        Raises:
            NetworkError: If the time is over, or the datagram is
                `DatagramTooLarge` for the room: its rest is lost then, and
                `room` holds its start.
        """
        var sender = SockAddr()
        while True:
            var length = self._socket.receive_datagram(room, sender)
            var datagram = Datagram(length, from_kernel(sender))
            # Of strangers there is only what waited when the peer was named.
            if not self._peer or self._peer.value() == datagram.sender:
                return datagram

    def recv(mut self, room: MutSpan[UInt8, _]) raises NetworkError -> Int:
        """Takes one datagram, waiting for it, and gives how many octets it has;
        0 is an empty datagram, not an end.

        Args:
            room: Where to.

        Raises:
            NetworkError: As `recv_from`; and `ConnectionRefused` if an earlier
                datagram found nobody at the peer's port.
        """
        return self.recv_from(room).length

    def join_multicast(
        mut self,
        group: IpAddr,
        interface: MulticastInterface = MulticastInterface(),
    ) raises NetworkError:
        """Receives what is sent to a group, from now on.

        Args:
            group: The group, in 224.0.0.0/4 or ff00::/8.
            interface: Where to listen.

        Raises:
            NetworkError: If the group is none, the interface is named by an
                address that cannot name one for it, or the system refuses.
        """
        comptime v4 = SocketOption.JOIN_GROUP_V4
        comptime v6 = SocketOption.JOIN_GROUP_V6
        self._set_group(v6 if self._is_v6 else v4, group, interface)

    def leave_multicast(
        mut self,
        group: IpAddr,
        interface: MulticastInterface = MulticastInterface(),
    ) raises NetworkError:
        """No longer receives what is sent to a group.

        Args:
            group: The group that was joined.
            interface: The interface that it was joined on.

        Raises:
            NetworkError: If it was not joined.
        """
        comptime v4 = SocketOption.LEAVE_GROUP_V4
        comptime v6 = SocketOption.LEAVE_GROUP_V6
        self._set_group(v6 if self._is_v6 else v4, group, interface)

    def _set_group(
        mut self,
        option: SocketOption,
        group: IpAddr,
        interface: MulticastInterface,
    ) raises NetworkError:
        self._check_family(group, "multicast")
        if not group.is_multicast():
            raise NetworkError(
                materialize[BadAddress](),
                "multicast",
                String(group),
                "not a group; groups are in 224.0.0.0/4 and ff00::/8",
            )
        self._check_interface(interface)
        var number = self._socket.raw.fd()
        var index = interface.index
        try:
            if self._is_v6:
                set_group_v6(number, option, group.v6_octets(), index)
            else:
                var address = interface.address.v4_octets()
                set_group_v4(number, option, group.v4_octets(), address, index)
        except error:
            var known = OsError("multicast", error.number)
            raise NetworkError(known, String(group))

    def set_multicast_interface(
        mut self, interface: MulticastInterface
    ) raises NetworkError:
        """Chooses where datagrams to groups leave the machine.

        Args:
            interface: The interface.

        Raises:
            NetworkError: If there is no such interface, or its address cannot
                name one for this socket.
        """
        self._check_interface(interface)
        comptime v4 = SocketOption.MULTICAST_INTERFACE_V4
        comptime v6 = SocketOption.MULTICAST_INTERFACE_V6
        if self._is_v6:
            self._socket.raw.set_option(v6, interface.index)
            return
        var number = self._socket.raw.fd()
        var address = interface.address.v4_octets()
        try:
            set_group_v4(number, v4, [0, 0, 0, 0], address, interface.index)
        except error:
            var known = OsError("multicast", error.number)
            raise NetworkError(known, String(interface.address))

    def set_broadcast(mut self, is_on: Bool) raises NetworkError:
        """Allows datagrams to broadcast addresses, or forbids them (default).

        Args:
            is_on: Which.

        Raises:
            NetworkError: If the socket is closed.
        """
        self._socket.raw.set_option(SocketOption.BROADCAST, 1 if is_on else 0)

    def _blocking(ref self) -> ref[self] BlockingSocket:
        # SAFETY: the field lives as long as what it is a field of.
        ref socket = self._socket
        return Pointer(to=socket).unsafe_origin_cast[origin_of(self)]()[]

    def local_addr(self) raises NetworkError -> SocketAddr:
        """Reads the address of the own side, with the port that the kernel
        chose.

        Raises:
            NetworkError: If the socket is closed.
        """
        return self._socket.raw.local_addr()

    def peer_addr(self) raises NetworkError -> SocketAddr:
        """Reads the address of the peer.

        Raises:
            NetworkError: If the socket is not connected.
        """
        return self._socket.raw.peer_addr()

    def _check_interface(
        self, interface: MulticastInterface
    ) raises NetworkError:
        var is_named = not interface.address.is_unspecified()
        if interface.address.is_v4() and not (is_named and self._is_v6):
            return
        raise NetworkError(
            materialize[BadAddress](),
            "multicast",
            String(interface.address),
            (
                "only an IPv4 address names an interface, and for IPv4 groups"
                " alone; MulticastInterface.numbered names any by its index"
            ),
        )

    def _check_family(
        self, ip: IpAddr, operation: StaticString
    ) raises NetworkError:
        if ip.is_v6() == self._is_v6:
            return
        var own = "6" if self._is_v6 else "4"
        raise NetworkError(
            materialize[BadAddress](),
            operation,
            String(ip),
            String("the socket is for IPv", own, "; bind one of the other"),
        )


def _check_port(peer: SocketAddr, operation: StaticString) raises NetworkError:
    if peer.port == 0:
        raise NetworkError(
            materialize[BadAddress](),
            operation,
            String(peer),
            "nobody has port 0; name the port that the other side is bound to",
        )


def _with_advice(var error: NetworkError) -> NetworkError:
    if error.kind == PermissionDenied:
        error.reason += "; broadcasts need set_broadcast(True)"
    return error^


struct MulticastInterface(ImplicitlyCopyable):
    """An interface, named by one of its addresses or by its index."""

    var address: IpAddr
    """An IPv4 address of the interface; 0.0.0.0 if it is not named so."""
    var index: Int
    """The interface's index; 0 if it is not named so."""

    def __init__(out self):
        """Lets the system choose."""
        self.address = IpAddr.v4(0, 0, 0, 0)
        self.index = 0

    @staticmethod
    def at(address: IpAddr) -> Self:
        """Names an interface by an address; for IPv4 groups only.

        Args:
            address: An IPv4 address of the interface.
        """
        var interface = Self()
        interface.address = address
        return interface

    @staticmethod
    def numbered(index: Int) -> Self:
        """Names an interface by its index, as `ip link` lists it.

        Args:
            index: The index.
        """
        var interface = Self()
        interface.index = index
        return interface
