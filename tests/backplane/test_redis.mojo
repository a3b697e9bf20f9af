"""What a hub's way to Redis does at its end, with a server that is slow."""

from flare.backplane.redis import RedisBackplane
from flare.net.socket_addr import SocketAddr
from flare.redis.config import RedisConfig
from flare.sys.clock import Deadline
from flare.sys.mutex import Mutex
from flare.sys.poll import pause
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from tests.support.assertions import assert_equal, assert_true
from tests.support.loopback import PATIENCE_MS


struct _Slow(Task):
    """Takes a while for the first message, and counts all."""

    var _listener: TcpListener
    var _published: Mutex[Int]

    def __init__(out self, var listener: TcpListener, published: Mutex[Int]):
        self._listener = listener^
        self._published = published

    def run(mut self) raises:
        var stream = self._listener.accept(PATIENCE_MS)
        stream.set_read_timeout(PATIENCE_MS)
        var room = List[UInt8](length=4_096, fill=0)
        while True:
            var count = stream.read(room)
            if count == 0:
                return
            if "PUBLISH" not in String(from_utf8_lossy=room[:count]):
                stream.write_all("-ERR unknown command\r\n".as_bytes())
                continue
            self._published.lock()[] += 1
            if self._published.lock()[] == 1:
                pause(500)
            stream.write_all(":0\r\n".as_bytes())


def test_what_waits_at_the_end_is_sent() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var config = RedisConfig()
    config.port = listener.local_addr().port
    var published = Mutex(0)
    var server = Thread(_Slow(listener^, published))
    var plane = RedisBackplane(config^, "room")
    plane.connect(wants_past=False)
    _ = plane.publish("first".as_bytes(), wants_order=False)
    var deadline = Deadline(PATIENCE_MS)
    while published.lock()[] == 0:
        assert_true(deadline.left_ms() > 0, "it is not sent")
        pause(1)
    # Behind the one that is on its way.
    _ = plane.publish("last".as_bytes(), wants_order=False)
    plane.interrupt()
    assert_equal(published.lock()[], 2)
    server^.join()
