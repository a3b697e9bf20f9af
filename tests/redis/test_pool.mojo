"""What a pool lends again, with a server that says yes to all."""

from flare.net.socket_addr import SocketAddr
from flare.redis.config import RedisConfig
from flare.redis.pipeline import Pipeline
from flare.redis.pool import RedisPool
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from tests.support.assertions import assert_equal
from tests.support.loopback import PATIENCE_MS


struct _Yes(Task):
    """Says OK to each command of one connection, until that ends."""

    var _listener: TcpListener

    def __init__(out self, var listener: TcpListener):
        self._listener = listener^

    def run(mut self) raises:
        var stream = self._listener.accept(PATIENCE_MS)
        stream.set_read_timeout(PATIENCE_MS)
        var room = List[UInt8](length=1_024, fill=0)
        while stream.read(room) > 0:
            _ = stream.write("+OK\r\n".as_bytes())


def _kept_behind(name: StringSpan, *, piped: Bool) raises -> Int:
    """Counts the connections that a pool keeps behind a command."""
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var config = RedisConfig()
    config.port = listener.local_addr().port
    config.protocol = 2
    var server = Thread(_Yes(listener^))
    var pool = RedisPool(config^)
    var redis = pool.acquire()
    if piped:
        var pipe = Pipeline()
        pipe.command(name, "a")
        _ = redis[].execute(pipe)
    else:
        redis[].command(name, "a").check()
    _ = redis^
    var count = pool.idle_count()
    pool.close()
    server^.join()
    return count


def test_a_connection_that_was_altered_is_not_lent_again() raises:
    """Redis, Commands: these are about the connection, so the next one who has
    it would be in a transaction, or in another database."""
    for name in [
        "WATCH",
        "MULTI",
        "multi",
        "SELECT",
        "AUTH",
        "HELLO",
        "CLIENT",
        "SUBSCRIBE",
        "PSUBSCRIBE",
        "SSUBSCRIBE",
        "MONITOR",
        "READONLY",
    ]:
        for piped in [False, True]:
            assert_equal(_kept_behind(name, piped=piped), 0, String(name))


def test_other_connections_are_lent_again() raises:
    for name in ["SET", "PUBLISH", "GET", "EVAL"]:
        for piped in [False, True]:
            assert_equal(_kept_behind(name, piped=piped), 1, String(name))
