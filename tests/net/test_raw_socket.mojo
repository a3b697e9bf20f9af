"""Tests of raw sockets."""

from flare.net.error import (
    AddressInUse,
    AddressNotAvailable,
    ConnectionRefused,
    NetworkErrorKind,
)
from flare.net.ip import IpAddr
from flare.net.raw_socket import RawSocket, from_kernel, to_kernel
from flare.net.socket_addr import SocketAddr
from flare.runtime.event import Interest
from flare.runtime.selector import Selector
from flare.sys.clock import Deadline
from flare.sys.errno import EAGAIN, EBADF, ECONNRESET, EINVAL, EPIPE
from flare.sys.file import File
from flare.sys.poll import PollEntry, poll_descriptors
from flare.sys.signal import ignore_sigpipe
from flare.sys.sockets.sock_addr import SockAddr
from flare.sys.sockets.socket_option import SocketOption
from std.pathlib import Path
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.temporary_folder import TemporaryFolder


def _wait(mut socket: RawSocket, interest: Interest) raises:
    var selector = Selector(1)
    selector.register(socket.fd(), 0, interest)
    assert_equal(selector.wait(5_000), 1)


def _receive(mut socket: RawSocket) -> Int:
    var room = Array[UInt8, 64](fill=0)
    return socket.receive(Span(room))


struct _Pair(Movable):
    var client: RawSocket
    var server: RawSocket
    var listener: RawSocket

    def __init__(out self, address: SocketAddr) raises:
        self.listener = RawSocket.listen_tcp(address)
        self.client = RawSocket.tcp(address.ip.is_v6())
        var there = self.listener.local_addr()
        if not self.client.connect(there):
            _wait(self.client, Interest.WRITE)
            self.client.check_connected(there)
        _wait(self.listener, Interest.READ)
        var accepted = self.listener.accept()
        assert_equal(accepted.error_number, 0)
        assert_true(accepted.peer == self.client.local_addr())
        self.server = accepted^.take_socket()


def test_raw_socket_v4_round_trip() raises:
    var pair = _Pair(SocketAddr.localhost(0))
    assert_equal(_receive(pair.server), -EAGAIN)
    assert_equal(pair.client.send("hello".as_bytes()), 5)
    _wait(pair.server, Interest.READ)
    assert_equal(_receive(pair.server), 5)
    assert_true(pair.server.peer_addr() == pair.client.local_addr())
    assert_true(pair.client.peer_addr() == pair.server.local_addr())


def test_raw_socket_v6_round_trip() raises:
    var address = SocketAddr.parse("[::1]:0")
    try:
        var probe = RawSocket.listen_tcp(address)
        _ = probe.is_open()
    except error:
        # A container may have no IPv6; then that is what must be said.
        assert_true(error.kind == AddressNotAvailable or error.number == 97)
        return
    var pair = _Pair(address)
    assert_true(pair.server.peer_addr().ip.is_v6())
    assert_equal(pair.server.send_two("ab".as_bytes(), "cd".as_bytes()), 4)
    _wait(pair.client, Interest.READ)
    assert_equal(_receive(pair.client), 4)


def test_raw_socket_half_close_still_answers() raises:
    var pair = _Pair(SocketAddr.localhost(0))
    pair.client.finish_writing()
    _wait(pair.server, Interest.READ)
    assert_equal(_receive(pair.server), 0)
    assert_equal(pair.server.send("late".as_bytes()), 4)
    _wait(pair.client, Interest.READ)
    assert_equal(_receive(pair.client), 4)
    assert_equal(pair.client.send("x".as_bytes()), -EPIPE)


def test_raw_socket_reset() raises:
    var pair = _Pair(SocketAddr.localhost(0))
    pair.server.reset_on_close()
    pair.server.close()
    assert_false(pair.server.is_open())
    assert_equal(pair.server.fd(), -1)
    _wait(pair.client, Interest.READ)
    assert_equal(_receive(pair.client), -ECONNRESET)
    assert_equal(_receive(pair.server), -EBADF)
    pair.server.close()


def _listen(address: SocketAddr) -> NetworkErrorKind:
    try:
        var socket = RawSocket.listen_tcp(address)
        socket.close()
        return NetworkErrorKind("none")
    except error:
        return error.kind


def test_raw_socket_refused_addresses() raises:
    var first = RawSocket.listen_tcp(SocketAddr.localhost(0))
    assert_true(_listen(first.local_addr()) == AddressInUse)
    # 192.0.2.0/24 is for documentation (RFC 5737): no machine has it.
    var foreign = SocketAddr(IpAddr.v4(192, 0, 2, 1), 0)
    assert_true(_listen(foreign) == AddressNotAvailable)
    _ = first^


def test_raw_socket_two_bind_one_listens() raises:
    var first = RawSocket.tcp()
    first.set_option(SocketOption.REUSE_ADDR, 1)
    first.bind(SocketAddr.localhost(0))
    var address = first.local_addr()
    var second = RawSocket.tcp()
    second.set_option(SocketOption.REUSE_ADDR, 1)
    second.bind(address)
    first.listen(8)
    var text = String()
    try:
        second.listen(8)
    except error:
        assert_true(error.kind == AddressInUse)
        text = String(error)
    assert_true(String(address) in text)
    _ = first^


def test_raw_socket_reuse_port_shares_an_address() raises:
    var first = RawSocket.tcp()
    first.set_option(SocketOption.REUSE_PORT, 1)
    first.bind(SocketAddr.localhost(0))
    first.listen(8)
    var second = RawSocket.tcp()
    second.set_option(SocketOption.REUSE_PORT, 1)
    second.bind(first.local_addr())
    second.listen(8)
    assert_true(first.local_addr() == second.local_addr())


def _connect(address: SocketAddr) raises -> NetworkErrorKind:
    var client = RawSocket.tcp()
    try:
        if client.connect(address):
            return NetworkErrorKind("none")
    except error:
        assert_true(String(address) in String(error))
        return error.kind
    _wait(client, Interest.WRITE)
    try:
        client.check_connected(address)
    except error:
        assert_true(String(address) in String(error))
        return error.kind
    return NetworkErrorKind("none")


def test_raw_socket_refused_connection_names_the_address() raises:
    var bound = RawSocket.tcp()
    bound.bind(SocketAddr.localhost(0))
    assert_true(_connect(bound.local_addr()) == ConnectionRefused)
    _ = bound^


def test_raw_socket_accepted_inherits_no_delay() raises:
    var pair = _Pair(SocketAddr.localhost(0))
    assert_true(pair.server.option(SocketOption.NO_DELAY) != 0)
    assert_equal(pair.client.option(SocketOption.NO_DELAY), 0)
    pair.client.set_option(SocketOption.NO_DELAY, 1)
    assert_true(pair.client.option(SocketOption.NO_DELAY) != 0)


def test_raw_socket_accept_without_a_connection() raises:
    var listener = RawSocket.listen_tcp(SocketAddr.localhost(0))
    var accepted = listener.accept()
    assert_equal(accepted.error_number, EAGAIN)
    assert_false(accepted.socket.is_open())
    listener.close()
    assert_equal(listener.accept().error_number, EBADF)


def test_raw_socket_udp() raises:
    var receiver = RawSocket.udp()
    receiver.bind(SocketAddr.localhost(0))
    var sender = RawSocket.udp()
    assert_true(sender.connect(receiver.local_addr()))
    assert_equal(sender.send("datagram".as_bytes()), 8)
    _wait(receiver, Interest.READ)
    assert_equal(_receive(receiver), 8)


def test_raw_socket_sends_a_file() raises:
    with TemporaryFolder() as folder:
        Path(folder + "/a.txt").write_text("0123456789")
        var root = File.folder(folder)
        var file = root.open_beneath("a.txt", follows_links=False)
        var number = file.fd()
        var pair = _Pair(SocketAddr.localhost(0))
        assert_equal(pair.server.send_ahead("head ".as_bytes()), 5)
        assert_equal(pair.server.send_file(number, 3, 4), 4)
        # Only what is there; nothing behind the end.
        assert_equal(pair.server.send_file(number, 8, 9), 2)
        assert_equal(pair.server.send_file(number, 10, 1), 0)
        pair.server.finish_writing()
        var octets = List[UInt8]()
        var room = Array[UInt8, 64](fill=0)
        while True:
            _wait(pair.client, Interest.READ)
            var count = pair.client.receive(Span(room))
            if count == 0:
                break
            octets.extend(Span(room)[:count])
        assert_equal(String(from_utf8=octets), "head 345689")
        # A folder, as all that has no octets to send, has to be read.
        assert_equal(pair.client.send_file(root.fd(), 0, 1), -EINVAL)
        _ = file^
        _ = root^


def test_raw_socket_sends_a_file_as_far_as_there_is_room() raises:
    with TemporaryFolder() as folder:
        Path(folder + "/a.txt").write_text(String("x") * (1 << 20))
        var file = File.folder(folder).open_beneath("a.txt", follows_links=True)
        var pair = _Pair(SocketAddr.localhost(0))
        var offset = 0
        while True:
            var count = pair.server.send_file(file.fd(), 0, 1 << 20)
            if count == -EAGAIN:
                break
            assert_true(count > 0)
            offset += count
        assert_true(offset > 0)
        pair.client.close()
        # Octets that were not read make this a reset. Servers ignore SIGPIPE.
        ignore_sigpipe()
        _wait(pair.server, Interest.READ)
        var count = pair.server.send_file(file.fd(), 0, 1 << 20)
        assert_true(count == -ECONNRESET or count == -EPIPE)
        _ = file^


def test_raw_socket_counts_what_has_not_arrived() raises:
    var pair = _Pair(SocketAddr.localhost(0))
    assert_equal(pair.server.undelivered_len(), 0)
    var octets = List[UInt8](length=1 << 20, fill=7)
    var sent = 0
    while True:
        var count = pair.server.send(Span(octets))
        if count <= 0:
            assert_equal(count, -EAGAIN)
            break
        sent += count
    # The client's side has no room for all.
    assert_true(pair.server.undelivered_len() > 0)
    assert_true(pair.server.undelivered_len() <= sent)
    var room = List[UInt8](length=1 << 20, fill=0)
    var received = 0
    while received < sent:
        _wait(pair.client, Interest.READ)
        received += pair.client.receive(Span(room))
    var deadline = Deadline(5_000)
    var nothing = List[PollEntry]()
    while pair.server.undelivered_len() > 0 and deadline.left_ms() > 0:
        _ = poll_descriptors(Span(nothing), 1)
    assert_equal(pair.server.undelivered_len(), 0)


def test_addresses_survive_the_kernel_layout() raises:
    for text in [
        "0.0.0.0:0",
        "127.0.0.1:8080",
        "255.255.255.255:65535",
        "[::]:0",
        "[::1]:443",
        "[2001:db8::ff00:42:8329]:80",
        "[::ffff:1.2.3.4]:1",
    ]:
        var address = SocketAddr.parse(text)
        assert_true(from_kernel(to_kernel(address)) == address, text)
    # No IP family: nothing to show, and no crash.
    assert_true(from_kernel(SockAddr()) == SocketAddr.any(0))
