"""Tests of the socket calls, over the loopback interface."""

from flare.sys.descriptor import (
    Descriptor,
    close_descriptor,
    duplicate_from,
    duplicate_to,
    is_kept_on_exec,
    read_into,
)
from flare.sys.epoll import (
    EPOLL_ADD,
    EPOLLIN,
    EPOLLOUT,
    EpollEvents,
    control_epoll,
    create_epoll,
)
from flare.sys.errno import (
    EAGAIN,
    EBADF,
    ECONNREFUSED,
    ECONNRESET,
    EINPROGRESS,
    ENOTCONN,
    EPIPE,
)
from flare.sys.sockets.sock_addr import AF_INET, SockAddr
from flare.sys.sockets.socket import (
    SHUT_WRITE,
    SOCK_STREAM,
    accept_socket,
    bind_socket,
    connect_socket,
    listen_socket,
    local_address,
    open_socket,
    peer_address,
    receive,
    send,
    send_two,
    shutdown_socket,
)
from flare.sys.sockets.socket_option import (
    SocketOption,
    get_option,
    set_option,
    set_reset_on_close,
)
from tests.support.assertions import assert_equal, assert_true


def _loopback(port: UInt16) -> SockAddr:
    return SockAddr.inet([127, 0, 0, 1], port)


def _wait(number: Int32, events: UInt32) raises:
    """Waits until a descriptor is ready."""
    var epoll = create_epoll()
    var room = EpollEvents(1)
    control_epoll(epoll.fd(), EPOLL_ADD, number, events, 0)
    var count = room.wait(epoll.fd(), 5_000)
    _ = epoll^
    assert_equal(count, 1)


struct _Pair(Movable):
    """Two connected sockets."""

    var client: Descriptor
    var server: Descriptor

    def __init__(out self) raises:
        var listener = open_socket(AF_INET, SOCK_STREAM)
        bind_socket(listener.fd(), _loopback(0))
        listen_socket(listener.fd(), 4)
        var address = local_address(listener.fd())
        self.client = open_socket(AF_INET, SOCK_STREAM)
        var result = connect_socket(self.client.fd(), address)
        assert_true(result == 0 or result == -EINPROGRESS)
        _wait(listener.fd(), EPOLLIN)
        var peer = SockAddr()
        self.server = Descriptor(owned=accept_socket(listener.fd(), peer))
        assert_true(self.server.is_open())
        _wait(self.client.fd(), EPOLLOUT)
        assert_equal(peer.port(), local_address(self.client.fd()).port())
        _ = listener^

    def client_receives(mut self) -> Int:
        var room = Array[UInt8, 64](fill=0)
        return receive(self.client.fd(), Span(room))

    def server_receives(mut self) -> Int:
        var room = Array[UInt8, 64](fill=0)
        return receive(self.server.fd(), Span(room))

    def client_sends(mut self, text: StaticString) -> Int:
        return send(self.client.fd(), text.as_bytes())

    def client_waits(mut self) raises:
        _wait(self.client.fd(), EPOLLIN)

    def server_waits(mut self) raises:
        _wait(self.server.fd(), EPOLLIN)


def test_socket_octets_arrive() raises:
    var pair = _Pair()
    assert_equal(pair.server_receives(), -EAGAIN)
    assert_equal(pair.client_sends("hello"), 5)
    pair.server_waits()
    assert_equal(pair.server_receives(), 5)
    assert_equal(pair.server_receives(), -EAGAIN)


def test_socket_two_pieces_arrive_joined() raises:
    var pair = _Pair()
    var sent = send_two(pair.client.fd(), "head ".as_bytes(), "body".as_bytes())
    assert_equal(sent, 9)
    pair.server_waits()
    var room = Array[UInt8, 64](fill=0)
    assert_equal(receive(pair.server.fd(), Span(room)), 9)
    assert_equal(StringSpan(unsafe_from_utf8=Span(room)[0:9]), "head body")
    assert_equal(send_two(pair.client.fd(), "".as_bytes(), "x".as_bytes()), 1)
    _ = pair^


def test_socket_half_close_is_an_end_of_stream() raises:
    var pair = _Pair()
    assert_equal(shutdown_socket(pair.client.fd(), SHUT_WRITE), 0)
    pair.server_waits()
    assert_equal(pair.server_receives(), 0)
    assert_equal(send(pair.server.fd(), "still".as_bytes()), 5)
    pair.client_waits()
    assert_equal(pair.client_receives(), 5)
    # The own direction is over, and no signal ends the process.
    assert_equal(pair.client_sends("x"), -EPIPE)


def test_socket_reset_is_seen_by_the_reader_then_by_the_writer() raises:
    var pair = _Pair()
    set_reset_on_close(pair.server.fd())
    pair.server.close()
    pair.client_waits()
    assert_equal(pair.client_receives(), -ECONNRESET)
    assert_equal(pair.client_sends("x"), -EPIPE)


def test_socket_send_stops_at_a_full_peer() raises:
    var pair = _Pair()
    var piece = List[UInt8](length=65_536, fill=65)
    var total = 0
    # Far more than both buffers can hold.
    for _ in range(10_000):
        var count = send(pair.client.fd(), piece)
        if count < 0:
            assert_equal(count, -EAGAIN)
            break
        total += count
    assert_true(total > 0 and total < 65_536 * 10_000)
    _ = pair^


def test_socket_refused_connection() raises:
    var bound = open_socket(AF_INET, SOCK_STREAM)
    bind_socket(bound.fd(), _loopback(0))
    # Bound but not listening: the port is ours, and refuses.
    var address = local_address(bound.fd())
    var client = open_socket(AF_INET, SOCK_STREAM)
    var result = connect_socket(client.fd(), address)
    if result == -EINPROGRESS:
        _wait(client.fd(), EPOLLOUT)
        result = -get_option(client.fd(), SocketOption.ERROR)
    assert_equal(result, -ECONNREFUSED)
    _ = client^
    _ = bound^


def test_socket_accept_without_a_connection() raises:
    var listener = open_socket(AF_INET, SOCK_STREAM)
    bind_socket(listener.fd(), _loopback(0))
    listen_socket(listener.fd(), 4)
    var peer = SockAddr()
    assert_equal(Int(accept_socket(listener.fd(), peer)), -EAGAIN)
    _ = listener^
    assert_equal(Int(accept_socket(-1, peer)), -EBADF)


def test_socket_options_are_kept() raises:
    var socket = open_socket(AF_INET, SOCK_STREAM)
    for option in [
        SocketOption.REUSE_ADDR,
        SocketOption.REUSE_PORT,
        SocketOption.KEEP_ALIVE,
        SocketOption.NO_DELAY,
    ]:
        assert_equal(get_option(socket.fd(), option), 0)
        set_option(socket.fd(), option, 1)
        assert_true(get_option(socket.fd(), option) != 0)
    set_option(socket.fd(), SocketOption.SEND_BUFFER, 65_536)
    assert_true(get_option(socket.fd(), SocketOption.SEND_BUFFER) >= 65_536)
    _ = socket^


def _errno_of_peer_address(number: Int32) -> Int:
    try:
        return Int(peer_address(number).port())
    except error:
        return -error.number


def test_socket_peer_address() raises:
    var pair = _Pair()
    assert_equal(
        Int(local_address(pair.client.fd()).port()),
        _errno_of_peer_address(pair.server.fd()),
    )
    var lone = open_socket(AF_INET, SOCK_STREAM)
    assert_equal(_errno_of_peer_address(lone.fd()), -ENOTCONN)
    _ = lone^
    _ = pair^


def test_no_socket_is_a_standard_stream() raises:
    """Without them, the first socket would be what the program prints to."""
    var input = duplicate_from(0, 3)
    assert_true(input.is_open())
    close_descriptor(0)
    var socket = open_socket(AF_INET, SOCK_STREAM)
    var octet = Array[UInt8, 1](fill=0)
    var count = read_into(0, Span(octet))
    var is_kept = is_kept_on_exec(0)
    duplicate_to(input.fd(), 0)
    assert_true(socket.fd() > 2)
    # /dev/null, for programs that are executed, too.
    assert_equal(count, 0)
    assert_true(is_kept)
    # Still not blocking: nobody has been asked for a connection.
    assert_equal(receive(socket.fd(), Span(octet)), -ENOTCONN)
    _ = socket^
    _ = input^
