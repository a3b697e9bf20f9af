"""What a hub's way to Redis does at its end, with a server that is slow, and
behind another master."""

from flare.backplane.redis import RedisBackplane
from flare.bytes.buffer import Buffer
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


struct _Failover(Task):
    """A master, and from the second connection on another one, which had not
    all of the stream, and whose clock is behind."""

    var _listener: TcpListener

    def __init__(out self, var listener: TcpListener):
        self._listener = listener^

    def run(mut self) raises:
        self._serve("9000-1")
        self._serve("5-1")

    def _serve(mut self, last: String) raises:
        var stream = self._listener.accept(PATIENCE_MS)
        stream.set_read_timeout(PATIENCE_MS)
        var room = List[UInt8](length=4_096, fill=0)
        while True:
            var count = stream.read(room)
            if count == 0:
                return
            var asked = String(from_utf8_lossy=room[:count])
            var answer = String("-ERR unknown command\r\n")
            if "XREVRANGE" in asked:
                answer = String(
                    "*1\r\n*2\r\n$",
                    last.byte_length(),
                    "\r\n",
                    last,
                    "\r\n*2\r\n$1\r\nm\r\n$3\r\nold\r\n",
                )
            elif "XREAD" in asked:
                answer = String("*-1\r\n")
                # What it has added since stands right behind.
                if "$3\r\n5-1\r\n" in asked:
                    answer = String(
                        "*1\r\n*2\r\n$4\r\nroom\r\n*1\r\n*2\r\n$3\r\n5-2\r\n"
                        "*2\r\n$1\r\nm\r\n$3\r\nnew\r\n"
                    )
                else:
                    pause(5)
            stream.write_all(answer.as_bytes())


def test_entries_of_another_master_are_read() raises:
    """Redis, XADD: ids follow the newest entry that the master has, and its
    clock, so a new master may give lower ones than the former has given."""
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var config = RedisConfig()
    config.port = listener.local_addr().port
    var server = Thread(_Failover(listener^))
    var plane = RedisBackplane(config^, "room", history=9)
    plane.connect(wants_past=False)
    var deadline = Deadline(PATIENCE_MS)
    var message = Buffer()
    while not plane.receive(message):
        assert_true(deadline.left_ms() > 0, "what it has added is not read")
        plane.wait(20)
    assert_equal(String(from_utf8_lossy=message.span()), "new")
    plane.interrupt()
    _ = plane^
    server^.join()
