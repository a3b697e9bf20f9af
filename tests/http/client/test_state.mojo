"""What a client remembers of servers, without sockets."""

from flare.http.client.connect.connection import ClientConnection, Endpoint
from flare.http.client.connect.transport import Transport
from flare.http.client.exchange.http2_link import Http2Link
from flare.http.client.exchange.shared_connections import (
    ConnectionClaim,
    IdleConnection,
)
from flare.http.client.exchange.state import ClientState
from flare.http.client.message.config import ClientConfig
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import coarse_monotonic_ms
from flare.tcp.stream import TcpListener, TcpStream
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.loopback import PATIENCE_MS
from std.memory import ArcPointer, OwnedPointer


def test_a_server_may_speak_http2_from_now_on() raises:
    # RFC 7301 section 3.2: it chooses for each connection.
    var state = ClientState(ClientConfig())
    var endpoint = Endpoint("a.test", 443)
    endpoint.is_tls = True
    endpoint.offers_http2 = True
    assert_false(state.joins_dial(endpoint, 1))
    assert_true(state.joins_dial(endpoint, 2))
    state.end_dial(endpoint, True)
    # Nobody waits for a connection that is for one request.
    assert_false(state.joins_dial(endpoint, 1))
    assert_false(state.joins_dial(endpoint, 2))
    var connection = OwnedPointer(
        ClientConnection(Transport(RawSocket(owned=-1)), endpoint.copy())
    )
    var claim = Optional[OwnedPointer[ConnectionClaim]](None)
    _ = state.add_link(connection^, claim)
    assert_true(state.joins_dial(endpoint, 3))


struct _Open(Movable):
    """A connection to a server that says nothing."""

    var connection: Optional[OwnedPointer[ClientConnection]]
    var served: TcpStream

    def __init__(out self, endpoint: Endpoint) raises:
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        var stream = TcpStream.connect(listener.local_addr(), PATIENCE_MS)
        self.served = listener.accept(PATIENCE_MS)
        self.served.set_read_timeout(PATIENCE_MS)
        self.connection = OwnedPointer(
            ClientConnection(Transport(stream^.take_socket()), endpoint.copy())
        )


def test_a_process_uses_no_connection_of_another_one() raises:
    """Of two that send on one, each would read what the other has asked for
    (RFC 9112 section 9.3: responses come in the order of requests)."""
    for is_forked in [False, True]:
        var state = ClientState(ClientConfig())
        var endpoint = Endpoint("a.test", 80)
        var open = _Open(endpoint)
        var idle = IdleConnection(open.connection.take())
        state.pool.put(endpoint.copy(), idle^, coarse_monotonic_ms())
        if is_forked:
            # As a process sees it that was forked from one with that number.
            state._process = 1
        var claim = Optional[OwnedPointer[ConnectionClaim]](None)
        var taken = state.take_any(claim, endpoint, True, joins=False)
        assert_equal(Bool(taken), not is_forked)
        assert_equal(len(state.pool), 0)
        _ = open^


def test_a_process_joins_no_connection_of_another_one() raises:
    for is_forked in [False, True]:
        var state = ClientState(ClientConfig())
        var endpoint = Endpoint("a.test", 443)
        endpoint.is_tls = True
        endpoint.offers_http2 = True
        var open = _Open(endpoint)
        var claim = Optional[OwnedPointer[ConnectionClaim]](None)
        _ = state.add_link(open.connection.take(), claim)
        if is_forked:
            state._process = 1
        var found = state.find_shared(claim, endpoint, True, waits=True)
        assert_equal(Bool(found), not is_forked)
        _ = open^


def test_a_process_says_no_goodbye_for_another_one() raises:
    """RFC 9113 section 6.8: behind GOAWAY the server takes no more requests of
    the connection, with which the other process goes on."""
    for is_forked in [False, True]:
        var open = _Open(Endpoint("a.test", 443))
        var link = ArcPointer(Http2Link(open.connection.take(), ClientConfig()))
        if is_forked:
            link[].connection[].process = 1
        _ = link^
        var room = List[UInt8](length=1_024, fill=0)
        assert_equal(open.served.read(room) > 0, not is_forked)
