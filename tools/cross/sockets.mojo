"""Reaches addresses, sockets and the event loop; see `everything.mojo`."""

from flare.dns import resolve, resolve_v4, resolve_v6
from flare.net import IpAddr, IpNetwork, RawSocket, SocketAddr
from flare.runtime import Interest, Reactor, Waker
from flare.sys.process import descriptor_limit, set_descriptor_limit
from flare.sys.signal import SIGHUP, SignalPipe
from flare.sys.thread import Task, Thread
from flare.tcp import KeepAlive, Shutdown, TcpListener, TcpStream
from flare.udp import MulticastInterface, UdpSocket
from flare.unix import UnixDatagram, UnixListener, UnixStream


def addresses() raises:
    """Reaches parsing and printing of addresses."""
    print(IpAddr.parse("fe80::1").is_link_local())
    print(IpNetwork.parse("10.0.0.0/8").contains(IpAddr.parse("10.1.2.3")))
    print(SocketAddr.parse("[::1]:8080"))


@fieldwise_init
struct Waking(Task):
    """Reaches threads."""

    var waker: Waker
    """Rung by the thread."""

    def run(mut self) raises:
        """Wakes the reactor."""
        self.waker.wake()


def event_loop() raises:
    """Reaches sockets, selector, timers, threads, signals and limits."""
    set_descriptor_limit(descriptor_limit())
    var reactor = Reactor()
    var bell = SignalPipe([SIGHUP])
    reactor.register(bell.fd(), 1, Interest.READ)
    var socket = RawSocket.udp()
    socket.bind(SocketAddr.localhost(0))
    reactor.register(socket.fd(), 2, Interest.READ)
    reactor.modify(socket.fd(), 3, Interest.STREAM)
    var thread = Thread(Waking(reactor.waker()))
    _ = reactor.insert_timer(1, 4)
    for index in range(reactor.poll()):
        print(reactor.event(index).token, len(bell.take()))
    print(reactor.next_expired().__bool__())
    reactor.deregister(socket.fd())
    thread^.join()
    socket.close()


def streams() raises:
    """Reaches names, TCP and Unix streams."""
    print(len(resolve("localhost")), len(resolve_v4("localhost", -1)))
    print(resolve_v6("::1")[0])
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = TcpStream.connect("localhost", listener.local_addr().port)
    client = TcpStream.connect(listener.local_addr())
    client.set_keepalive(KeepAlive.ON)
    client.write_all("octets".as_bytes())
    client.shutdown(Shutdown.WRITE)
    var room = List[UInt8](length=64, fill=0)
    var server = listener.accept(1_000)
    print(server.read(room), server.write(room), server.nodelay())
    server.set_read_timeout(1_000)
    var local_listener = UnixListener.bind("/tmp/flare.sock", True)
    var local = UnixStream.connect(local_listener.local_addr())
    local.write_all("octets".as_bytes())
    print(local.read(room), local_listener.accept(1_000).peer_addr())


def datagrams() raises:
    """Reaches UDP and Unix datagrams."""
    var room = List[UInt8](length=64, fill=0)
    var socket = UdpSocket.bind(SocketAddr.any(0))
    var interface = MulticastInterface.numbered(1)
    socket.join_multicast(IpAddr.v4(233, 252, 0, 1), interface)
    socket.leave_multicast(IpAddr.v4(233, 252, 0, 1), interface)
    socket.set_multicast_interface(interface)
    socket.set_broadcast(True)
    _ = socket.send_to("octets".as_bytes(), SocketAddr.localhost(9))
    print(socket.recv_from(room).sender)
    var peer = UdpSocket.connect(socket.local_addr())
    print(peer.send(room), peer.recv(room))
    var local = UnixDatagram.bind("/tmp/flare.datagram.sock", True)
    _ = local.send_to("octets".as_bytes(), "/tmp/flare.datagram.sock")
    print(local.recv_from(room).sender)
    local.connect_to("/tmp/flare.datagram.sock")
    print(local.send(room), UnixDatagram.unbound().fd())
