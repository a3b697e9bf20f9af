"""A client's connection to a peer that does not do its part."""

from flare.bytes.buffer import Buffer
from flare.http.client.connect.connection import ClientConnection, Endpoint
from flare.http.client.connect.transport import Transport
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import Deadline
from flare.tcp.stream import TcpListener, TcpStream
from flare.ws.error import WsClosed
from flare.ws.wire import SocketWire
from std.memory import OwnedPointer
from tests.support.assertions import assert_equal, assert_true
from tests.support.loopback import PATIENCE_MS

comptime _LONG_LEN = 64 << 20
# More than the kernel takes for a peer that reads nothing.


def test_a_write_ends_in_time_though_the_peer_has_ended_its_side() raises:
    """The end of the peer's direction can always be read, and is no progress."""
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = TcpStream.connect(listener.local_addr(), PATIENCE_MS)
    var server = listener.accept(PATIENCE_MS)
    server.shutdown()
    var wire = SocketWire(
        OwnedPointer(
            ClientConnection(
                Transport(client^.take_socket()), Endpoint("localhost", 80)
            )
        )
    )
    var output = Buffer()
    output.append(List[UInt8](length=_LONG_LEN, fill=0))
    var input = Buffer()
    var kind = materialize[WsClosed]()
    try:
        wire.send(output, input, Deadline(300))
    except error:
        kind = error.kind
    assert_equal(String(kind), "Timeout")
    assert_true(len(output) > 0)
    assert_equal(len(input), 0)
    # Not before: the peer goes on reading until then, as far as we know.
    server.close()
