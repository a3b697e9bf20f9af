"""The sockets that a worker accepts from, and those it is lent."""

from flare.http.server.config import ServerConfig
from flare.http.server.listen import Listeners, listen_ip
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.runtime.selector import Selector
from flare.sys.sockets.socket_option import SocketOption
from flare.tcp.stream import TcpStream
from tests.support.assertions import assert_equal

comptime _TOKEN = UInt64(7)


def test_a_lent_socket_is_not_watched_once_it_is_given_back() raises:
    """Its master holds it all the time, and its worker is there again."""
    var own = List[RawSocket]()
    own.append(RawSocket.listen_tcp(SocketAddr.localhost(0), 8))
    var listeners = Listeners(own^, False)
    var selector = Selector(8)
    listeners.start(selector, _TOKEN)
    var masters = RawSocket.listen_tcp(SocketAddr.localhost(0), 8)
    for _ in range(3):
        # As often as a worker dies, each time with the same number.
        listeners.adopt(5, masters.duplicate(), selector, _TOKEN)
        var lent = TcpStream.connect(masters.local_addr())
        assert_equal(selector.wait(5_000), 1)
        assert_equal(listeners.accept().error_number, 0)
        listeners.give_back(5, selector)
        lent.close()
    var client = TcpStream.connect(masters.local_addr())
    # It waits in the queue, and nobody else is told.
    assert_equal(selector.wait(0), 0)
    client.close()
    masters.close()


def test_accepted_sockets_keep_little_that_is_not_sent() raises:
    var sockets = listen_ip(SocketAddr.localhost(0), ServerConfig())
    var client = TcpStream.connect(sockets[0].local_addr())
    var listeners = Listeners(sockets^, False)
    var accepted = listeners.accept()
    assert_equal(accepted.error_number, 0)
    assert_equal(accepted.socket.option(SocketOption.UNSENT_MAX), 131_072)
    client.close()
