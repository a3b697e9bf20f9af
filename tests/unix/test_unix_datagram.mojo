"""Tests of Unix datagrams."""

from flare.net.error import (
    AddressInUse,
    ConnectionRefused,
    DatagramTooLarge,
    NetworkError,
    NotConnected,
    PathNotFound,
    Timeout,
)
from flare.sys.clock import monotonic_ns
from flare.sys.mutex import Mutex
from flare.sys.poll import pause
from flare.sys.sockets.sock_addr import SockAddr
from flare.sys.sockets.socket import SOCK_DGRAM, bind_socket
from flare.sys.thread import Task, Thread
from flare.unix.datagram import UnixDatagram
from flare.unix.unix_addr import (
    StartingTurn,
    UnixAddr,
    bind_unix,
    open_unix,
)
from std.os.path import exists
from std.tempfile import TemporaryDirectory
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.loopback import PATIENCE_MS


def _abstract() -> String:
    """Makes up an abstract name that no other test has."""
    return String("@flare-datagram-", monotonic_ns())


def _send_failure(
    mut socket: UnixDatagram, length: Int, peer: UnixAddr
) raises -> NetworkError:
    var octets = List[UInt8](length=length, fill=65)
    try:
        _ = socket.send_to(octets, peer)
    except error:
        return error.copy()
    raise Error("sent to ", peer)


def _recv_failure(
    mut socket: UnixDatagram, room_len: Int
) raises -> NetworkError:
    var room = List[UInt8](length=room_len, fill=0)
    try:
        _ = socket.recv(room)
    except error:
        return error.copy()
    raise Error("a datagram came")


def _talk(first: UnixAddr, second: UnixAddr) raises:
    var server = UnixDatagram.bind(first)
    var client = UnixDatagram.bind(second)
    assert_equal(client.send_to("question".as_bytes(), first), 8)
    var room = Array[UInt8, 64](fill=0)
    var question = server.recv_from(Span(room))
    assert_equal(question.length, 8)
    assert_true(question.sender == second)
    client.connect_to(first)
    assert_equal(server.send_to("answer".as_bytes(), question.sender), 6)
    assert_equal(client.recv(Span(room)), 6)
    assert_equal(client.send("".as_bytes()), 0)
    assert_equal(server.recv(Span(room)), 0)
    var nobody = UnixDatagram.unbound()
    _ = nobody.send_to("x".as_bytes(), first)
    assert_true(server.recv_from(Span(room)).sender.is_unnamed())


def test_unix_datagram_by_path() raises:
    var folder = TemporaryDirectory()
    var first = folder.name + "/a.sock"
    var second = folder.name + "/b.sock"
    _talk(first, second)
    assert_false(exists(first) or exists(second))
    var socket = UnixDatagram.bind(first)
    assert_true(exists(first) and socket.is_open())
    socket.close()
    assert_false(exists(first) or socket.is_open())
    _ = folder^


def test_unix_datagram_by_abstract_name() raises:
    _talk(_abstract(), _abstract())


def test_unix_datagram_truncation_is_an_error() raises:
    var name = _abstract()
    var server = UnixDatagram.bind(name)
    var client = UnixDatagram.unbound()
    _ = client.send_to("0123456789".as_bytes(), name)
    var error = _recv_failure(server, 4)
    assert_true(error.kind == DatagramTooLarge)
    assert_true("10 bytes was cut to 4 bytes" in String(error))


def test_unix_datagram_failures() raises:
    var folder = TemporaryDirectory()
    var socket = UnixDatagram.unbound()
    var nowhere = folder.name + "/none.sock"
    assert_true(_send_failure(socket, 1, nowhere).kind == PathNotFound)
    var name = _abstract()
    var refused = _send_failure(socket, 1, name)
    assert_true(refused.kind == ConnectionRefused)
    assert_true(name in String(refused))
    var server = UnixDatagram.bind(name)
    var large = _send_failure(socket, 64_000_000, name)
    assert_true(large.kind == DatagramTooLarge)
    var is_taken = False
    try:
        _ = UnixDatagram.bind(name)
    except error:
        is_taken = error.kind == AddressInUse
    assert_true(is_taken)
    server.set_read_timeout(10)
    assert_true(_recv_failure(server, 4).kind == Timeout)
    server.close()
    assert_true(_recv_failure(server, 4).kind == NotConnected)
    assert_equal(server.fd(), -1)
    var is_refused = False
    try:
        socket.connect_to(name)
    except error:
        is_refused = error.kind == ConnectionRefused
    assert_true(is_refused)
    _ = folder^


def _fill_queue(mut sender: UnixDatagram, peer: UnixAddr) raises -> Int:
    """Sends until the peer's queue is full."""
    sender.set_write_timeout(0)
    for count in range(100_000):
        try:
            _ = sender.send_to("x".as_bytes(), peer)
        except error:
            assert_true(error.kind == Timeout)
            return count
    raise Error("the queue has no end")


def test_unix_datagram_send_ends_at_its_timeout() raises:
    var name = _abstract()
    var server = UnixDatagram.bind(name)
    var sender = UnixDatagram.unbound()
    assert_true(_fill_queue(sender, name) > 0)
    sender.set_write_timeout(30)
    var start = monotonic_ns()
    var error = _send_failure(sender, 1, name)
    assert_true(error.kind == Timeout)
    assert_true(monotonic_ns() - start >= 29_000_000)
    sender.connect_to(name)
    var is_late = False
    try:
        _ = sender.send("x".as_bytes())
    except failure:
        is_late = failure.kind == Timeout
    assert_true(is_late)
    _ = server^


@fieldwise_init
struct _Sending(Task):
    var peer: UnixAddr

    def run(mut self) raises:
        var socket = UnixDatagram.unbound()
        socket.set_write_timeout(PATIENCE_MS)
        _ = socket.send_to("patient".as_bytes(), self.peer)


def test_unix_datagram_send_waits_for_room() raises:
    var name = _abstract()
    var server = UnixDatagram.bind(name)
    var sender = UnixDatagram.unbound()
    var count = _fill_queue(sender, name)
    var thread = Thread(_Sending(name))
    var room = Array[UInt8, 16](fill=0)
    for _ in range(count):
        assert_equal(server.recv(Span(room)), 1)
    assert_equal(server.recv(Span(room)), 7)
    thread^.join()


@fieldwise_init
struct _Starting(Task):
    """Takes over a stale path, though another program is about to."""

    var _path: String
    var _found: Mutex[String]

    def run(mut self) raises:
        try:
            _ = UnixDatagram.bind(self._path, replace_stale=True)
            self._found.lock()[] = "bound"
        except error:
            self._found.lock()[] = String(error.kind)


def test_unix_datagram_of_two_one_takes_over_a_stale_path() raises:
    """unix(7): who removes a file by its name removes whatever stands there by
    then, so those who look whether it is stale do so one after the other."""
    var folder = TemporaryDirectory()
    var path = folder.name + "/a.sock"
    var stale = open_unix(SOCK_DGRAM)
    bind_socket(stale.fd(), SockAddr.unix(path.as_bytes()))
    stale.close()
    var found = Mutex(String())
    var turn = StartingTurn(path)
    var other = Thread(_Starting(path, found))
    # Long enough for one that does not wait to have its way.
    pause(100)
    var own = bind_unix(SOCK_DGRAM, path, True)
    _ = turn^
    other^.join()
    assert_equal(found.lock()[], String(AddressInUse))
    _ = own^
    _ = folder^
