"""Tests of UDP sockets on loopback."""

from flare.bytes.checked import *
from flare.net.error import (
    BadAddress,
    ConnectionRefused,
    DatagramTooLarge,
    NetworkError,
    NotConnected,
    PermissionDenied,
    Timeout,
    Unreachable,
)
from flare.net.ip import IpAddr
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.udp.socket import MulticastInterface, UdpSocket
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.loopback import PATIENCE_MS

comptime DATAGRAM_LEN_MAX = 65_507
"""Largest content over IPv4: 65,535 less 20 for IP and 8 for UDP (RFC 768)."""


def _bound() raises -> UdpSocket:
    var socket = UdpSocket.bind(SocketAddr.localhost(0))
    socket.set_read_timeout(PATIENCE_MS)
    return socket^


def _recv_failure(mut socket: UdpSocket, room_len: Int) raises -> NetworkError:
    var room = List[UInt8](length=room_len, fill=0)
    try:
        _ = socket.recv(room)
    except error:
        return error.copy()
    raise Error("a datagram came")


def _send_failure(
    mut socket: UdpSocket, length: Int, peer: SocketAddr
) raises -> NetworkError:
    var octets = List[UInt8](length=length, fill=65)
    try:
        _ = socket.send_to(octets, peer)
    except error:
        return error.copy()
    raise Error("sent to ", peer)


def test_udp_question_and_answer() raises:
    var server = _bound()
    var client = UdpSocket.connect(server.local_addr())
    client.set_read_timeout(PATIENCE_MS)
    assert_equal(client.send("question".as_bytes()), 8)
    var room = Array[UInt8, 64](fill=0)
    var question = server.recv_from(Span(room))
    assert_equal(question.length, 8)
    assert_true(question.sender == client.local_addr())
    assert_equal(server.send_to("answer".as_bytes(), question.sender), 6)
    assert_equal(client.recv(Span(room)), 6)
    assert_equal(StringSpan(unsafe_from_utf8=Span(room)[0:6]), "answer")
    assert_true(client.peer_addr() == server.local_addr())
    assert_true(client.fd() >= 0)
    client.close()
    assert_equal(client.fd(), -1)


def test_udp_v6() raises:
    var server: UdpSocket
    var loopback = SocketAddr.parse("[::1]:0")
    try:
        server = UdpSocket.bind(loopback)
    except:
        # A container may have no IPv6.
        return
    var client = UdpSocket.connect(server.local_addr())
    _ = client.send("six".as_bytes())
    var room = Array[UInt8, 64](fill=0)
    var datagram = server.recv_from(Span(room))
    assert_equal(datagram.length, 3)
    assert_true(datagram.sender.ip.is_v6())
    var v4 = SocketAddr.localhost(9)
    assert_true(_send_failure(server, 1, v4).kind == BadAddress)


def test_udp_datagrams_keep_their_bounds() raises:
    var server = _bound()
    var client = UdpSocket.connect(server.local_addr())
    var lengths: List[Int] = [0, 1, 1_500, DATAGRAM_LEN_MAX]
    for length in lengths:
        assert_equal(client.send(List[UInt8](length=length, fill=7)), length)
    var room = List[UInt8](length=DATAGRAM_LEN_MAX, fill=0)
    for length in lengths:
        assert_equal(server.recv(room), length)


def test_udp_truncation_is_an_error() raises:
    var server = _bound()
    var client = UdpSocket.connect(server.local_addr())
    _ = client.send("0123456789".as_bytes())
    _ = client.send("next".as_bytes())
    var room = Array[UInt8, 4](fill=0)
    var text = String()
    try:
        _ = server.recv_from(Span(room))
    except error:
        assert_true(error.kind == DatagramTooLarge)
        text = String(error)
    assert_true("a datagram of 10 bytes was cut to 4 bytes" in text, text)
    assert_equal(StringSpan(unsafe_from_utf8=Span(room)), "0123")
    # The rest of it is gone, and the next one whole.
    assert_equal(server.recv(Span(room)), 4)
    assert_equal(StringSpan(unsafe_from_utf8=Span(room)), "next")
    # No room at all is room for an empty datagram.
    _ = client.send("".as_bytes())
    assert_equal(server.recv(Span(room)[0:0]), 0)


def test_udp_too_large_to_send() raises:
    var server = _bound()
    var client = UdpSocket.connect(server.local_addr())
    var error = _send_failure(server, 65_508, client.local_addr())
    assert_true(error.kind == DatagramTooLarge)
    assert_true("65508 bytes" in String(error), String(error))
    assert_true(String(client.local_addr()) in String(error))
    var is_refused = False
    try:
        _ = client.send(List[UInt8](length=65_508, fill=65))
    except failure:
        is_refused = failure.kind == DatagramTooLarge
    assert_true(is_refused)


def test_udp_receive_ends_at_its_timeout() raises:
    var socket = _bound()
    for timeout_ms in [0, 20]:
        socket.set_read_timeout(timeout_ms)
        var error = _recv_failure(socket, 16)
        assert_true(error.kind == Timeout)
        assert_true(String(socket.local_addr()) in String(error))


def test_udp_connected_hears_of_a_refusal() raises:
    # Bound by a socket that is closed again: nobody receives there.
    var gone = RawSocket.udp()
    gone.bind(SocketAddr.localhost(0))
    var address = gone.local_addr()
    gone.close()
    var client = UdpSocket.connect(address)
    client.set_read_timeout(PATIENCE_MS)
    _ = client.send("anybody?".as_bytes())
    var error = _recv_failure(client, 16)
    assert_true(error.kind == ConnectionRefused)
    assert_true(String(address) in String(error))


def test_udp_connected_hears_nobody_else() raises:
    var socket = _bound()
    var peer = _bound()
    var stranger = _bound()
    _ = socket.send_to("x".as_bytes(), peer.local_addr())
    # What waits from before is a stranger's, too: the kernel keeps it.
    _ = stranger.send_to("too early".as_bytes(), socket.local_addr())
    _ = peer.send_to("early".as_bytes(), socket.local_addr())
    socket.connect_to(peer.local_addr())
    assert_true(socket.peer_addr() == peer.local_addr())
    _ = stranger.send_to("stranger".as_bytes(), socket.local_addr())
    _ = peer.send_to("peer".as_bytes(), socket.local_addr())
    var room = Array[UInt8, 64](fill=0)
    assert_equal(socket.recv(Span(room)), 5)
    assert_equal(socket.recv(Span(room)), 4)
    socket.set_read_timeout(0)
    assert_true(_recv_failure(socket, 16).kind == Timeout)


def test_udp_broadcast_needs_permission() raises:
    var receiver = UdpSocket.bind(SocketAddr.any(0))
    receiver.set_read_timeout(PATIENCE_MS)
    # The broadcast address of the loopback network, which every Linux has.
    var everybody = SocketAddr(
        IpAddr.v4(127, 255, 255, 255), receiver.local_addr().port
    )
    var sender = UdpSocket.bind(SocketAddr.any(0))
    var error = _send_failure(sender, 1, everybody)
    assert_true(error.kind == PermissionDenied)
    assert_true("set_broadcast(True)" in String(error))
    sender.set_broadcast(True)
    assert_equal(sender.send_to("all".as_bytes(), everybody), 3)
    var room = Array[UInt8, 16](fill=0)
    assert_equal(receiver.recv(Span(room)), 3)
    sender.set_broadcast(False)
    assert_true(_send_failure(sender, 1, everybody).kind == PermissionDenied)


def test_udp_multicast_v4() raises:
    # RFC 5771 section 10: 233.252.0.0/24 is for documentation.
    var group = IpAddr.v4(233, 252, 0, 1)
    var loopback = MulticastInterface.at(IpAddr.v4(127, 0, 0, 1))
    var receiver = UdpSocket.bind(SocketAddr.any(0))
    var there = SocketAddr(group, receiver.local_addr().port)
    var sender = _bound()
    sender.set_multicast_interface(loopback)
    receiver.join_multicast(group, loopback)
    _ = sender.send_to("to the group".as_bytes(), there)
    receiver.set_read_timeout(PATIENCE_MS)
    var room = Array[UInt8, 64](fill=0)
    assert_equal(receiver.recv(Span(room)), 12)
    receiver.leave_multicast(group, loopback)
    _ = sender.send_to("to nobody".as_bytes(), there)
    # Loopback delivers at once: what is not there yet will not come.
    receiver.set_read_timeout(0)
    assert_true(_recv_failure(receiver, 64).kind == Timeout)


def test_udp_multicast_v6() raises:
    # Interface-local (RFC 4291 section 2.7), on the loopback interface.
    var group = IpAddr.parse("ff01::db8:1")
    var loopback = MulticastInterface.numbered(1)
    var receiver: UdpSocket
    var sender: UdpSocket
    var everywhere = SocketAddr.parse("[::]:0")
    try:
        receiver = UdpSocket.bind(everywhere)
        sender = UdpSocket.bind(everywhere)
    except:
        # A container may have no IPv6.
        return
    receiver.join_multicast(group, loopback)
    sender.set_multicast_interface(loopback)
    var there = SocketAddr(group, receiver.local_addr().port)
    var is_sent = False
    try:
        is_sent = sender.send_to("six".as_bytes(), there) == 3
    except error:
        # Linux gives the loopback interface no route for groups by default.
        assert_true(error.kind == Unreachable)
    if is_sent:
        var room = Array[UInt8, 64](fill=0)
        assert_equal(receiver.recv(Span(room)), 3)
    receiver.leave_multicast(group, loopback)


def _group_failure(
    mut socket: UdpSocket, group: IpAddr, interface: MulticastInterface
) raises -> NetworkError:
    try:
        socket.join_multicast(group, interface)
    except error:
        return error.copy()
    raise Error("joined ", group)


def test_udp_multicast_refusals() raises:
    var socket = _bound()
    var any = MulticastInterface()
    var plain = _group_failure(socket, IpAddr.v4(10, 0, 0, 1), any)
    assert_true(plain.kind == BadAddress)
    assert_true("224.0.0.0/4" in String(plain))
    var v6 = _group_failure(socket, IpAddr.parse("ff02::1"), any)
    assert_true(v6.kind == BadAddress)
    var group = IpAddr.v4(233, 252, 0, 1)
    var nowhere = MulticastInterface.numbered(9_999)
    var error = _group_failure(socket, group, nowhere)
    assert_true("no such network interface" in String(error), String(error))
    var is_refused = False
    try:
        socket.leave_multicast(group)
    except failure:
        is_refused = "233.252.0.1" in String(failure)
    assert_true(is_refused)


def test_udp_multicast_interface_of_the_other_version() raises:
    """Else it would be forgotten, and any interface taken."""
    var group = IpAddr.v4(233, 252, 0, 1)
    var socket = _bound()
    for name in ["::1", "::"]:
        var by_v6 = MulticastInterface.at(IpAddr.parse(name))
        var error = _group_failure(socket, group, by_v6)
        assert_true(error.kind == BadAddress, String(error))
        assert_true("MulticastInterface.numbered" in String(error))
    var receiver: UdpSocket
    var everywhere = SocketAddr.parse("[::]:0")
    try:
        receiver = UdpSocket.bind(everywhere)
    except:
        # A container may have no IPv6.
        return
    var by_v4 = MulticastInterface.at(IpAddr.v4(127, 0, 0, 1))
    var six = _group_failure(receiver, IpAddr.parse("ff01::db8:1"), by_v4)
    assert_true(six.kind == BadAddress, String(six))
    var chosen = String()
    try:
        receiver.set_multicast_interface(by_v4)
    except error:
        chosen = String(error)
    assert_true("127.0.0.1" in chosen, chosen)


def test_udp_that_is_closed_says_so() raises:
    var socket = _bound()
    var address = socket.local_addr()
    assert_true(socket.is_open())
    socket.close()
    socket.close()
    assert_false(socket.is_open())
    assert_true(_recv_failure(socket, 4).kind == NotConnected)
    assert_true(_send_failure(socket, 1, address).kind == NotConnected)
    assert_equal(socket.fd(), -1)


def test_udp_nobody_has_port_0() raises:
    # RFC 768: it says that no reply is expected, and is no destination.
    var socket = _bound()
    var nobody = SocketAddr.localhost(0)
    var error = _send_failure(socket, 1, nobody)
    assert_true(error.kind == BadAddress, String(error))
    assert_true("port 0" in String(error), String(error))
    var refused = String()
    try:
        socket.connect_to(nobody)
    except refusal:
        refused = String(refusal.kind)
    assert_equal(refused, "BadAddress")


def test_udp_send_without_a_peer() raises:
    var socket = _bound()
    socket.set_write_timeout(PATIENCE_MS)
    var is_refused = False
    try:
        _ = socket.send("x".as_bytes())
    except error:
        is_refused = error.kind == NotConnected
        assert_true("connect_to" in String(error), String(error))
    assert_true(is_refused)
    is_refused = False
    try:
        _ = socket.peer_addr()
    except error:
        is_refused = error.kind == NotConnected
    assert_true(is_refused)
    assert_false(socket.fd() < 0)
