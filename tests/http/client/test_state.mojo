"""What a client remembers of servers, without sockets."""

from flare.http.client.config import ClientConfig
from flare.http.client.connection import ClientConnection, Endpoint
from flare.http.client.state import ClientState
from flare.http.client.transport import Transport
from flare.net.raw_socket import RawSocket
from std.memory import OwnedPointer
from tests.support.assertions import assert_false, assert_true


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
    _ = state.add_link(connection^)
    assert_true(state.joins_dial(endpoint, 3))
