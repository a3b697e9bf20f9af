"""What a client does behind a failure, with servers that answer by a plan."""

from flare.net.socket_addr import SocketAddr
from flare.redis.client import RedisClient
from flare.redis.config import RedisConfig
from flare.redis.core.error import RedisErrorKind
from flare.sys.clock import monotonic_ms
from flare.sys.poll import pause
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from tests.support.assertions import assert_equal, assert_true
from tests.support.loopback import PATIENCE_MS


struct _Dying(Task):
    """Answers nothing: the first connection ends after a while, the second one
    when its client gives it up."""

    var _listener: TcpListener
    var _pause_ms: Int

    def __init__(out self, var listener: TcpListener, pause_ms: Int):
        self._listener = listener^
        self._pause_ms = pause_ms

    def run(mut self) raises:
        var first = self._listener.accept(PATIENCE_MS)
        var room = List[UInt8](length=1_024, fill=0)
        _ = first.read(room)
        pause(self._pause_ms)
        first.close()
        var second = self._listener.accept(PATIENCE_MS)
        second.set_read_timeout(PATIENCE_MS)
        while second.read(room) > 0:
            pass


def test_repetitions_have_the_time_of_the_command() raises:
    """`RedisConfig.timeout_ms` is for one command, repetitions included."""
    comptime TIMEOUT_MS = 1_500
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var config = RedisConfig()
    config.port = listener.local_addr().port
    config.protocol = 2
    config.timeout_ms = TIMEOUT_MS
    var server = Thread(_Dying(listener^, TIMEOUT_MS * 2 // 3))
    var client = RedisClient.connect(config^)
    var began_ms = monotonic_ms()
    var kind = RedisErrorKind.REFUSED
    try:
        # It may be repeated: nothing changes by it.
        _ = client.get("key")
    except error:
        kind = error.kind
    assert_equal(String(kind), "Timeout")
    var took_ms = monotonic_ms() - began_ms
    assert_true(took_ms >= TIMEOUT_MS - 50, String(took_ms))
    assert_true(took_ms < TIMEOUT_MS * 3 // 2, String(took_ms))
    client.close()
    server^.join()
