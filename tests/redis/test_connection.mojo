"""One connection to a server, with servers that read and write by a plan."""

from flare.redis.client import RedisClient
from flare.redis.pipeline import Pipeline
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from flare.tls.config import TlsConfig, TlsServerConfig
from flare.tls.context import TlsServerContext
from flare.tls.stream import TlsStream
from tests.support.assertions import assert_equal
from tests.support.certificates import certificate
from tests.support.loopback import PATIENCE_MS
from tests.support.scripted_redis import config_of, listen

comptime COUNT = 800
comptime LEN = 20_000


@fieldwise_init
struct _Strict(Task):
    """Answers each ECHO before it reads on, however long the client takes."""

    var _listener: TcpListener
    var _command_len: Int
    var _context: Optional[TlsServerContext]

    def run(mut self) raises:
        var tcp = self._listener.accept(PATIENCE_MS)
        tcp.set_read_timeout(PATIENCE_MS)
        tcp.set_write_timeout(PATIENCE_MS)
        var room = List[UInt8](length=65_536, fill=0)
        var answer = String("$", LEN, "\r\n", "v" * LEN, "\r\n")
        var left = COUNT * self._command_len
        var answered = 0
        if not self._context:
            while left > 0:
                left -= tcp.read(room)
                while left <= (COUNT - answered - 1) * self._command_len:
                    tcp.write_all(answer.as_bytes())
                    answered += 1
            return
        var stream = TlsStream.accept(tcp^, self._context.value())
        stream.set_read_timeout(PATIENCE_MS)
        stream.set_write_timeout(PATIENCE_MS)
        while left > 0:
            left -= stream.read(room)
            while left <= (COUNT - answered - 1) * self._command_len:
                stream.write_all(answer.as_bytes())
                answered += 1
        stream.close()


def test_replies_are_read_while_commands_are_sent() raises:
    """RESP, Pipelining: a server may answer each command before it reads the
    next one, and then reads no more than its answers are read."""
    for is_tls in [False, True]:
        var listener = listen()
        var config = config_of(listener)
        config.retry_max = 0
        config.timeout_ms = PATIENCE_MS
        var context = Optional[TlsServerContext]()
        if is_tls:
            config.is_tls = True
            config.tls = TlsConfig(ca_file=certificate("root.pem"))
            context = TlsServerContext(
                TlsServerConfig(
                    certificate("good_chain.pem"), certificate("good.key")
                )
            )
        var pipe = Pipeline()
        for _ in range(COUNT):
            pipe.command("ECHO", "v" * LEN)
        var server = Thread(
            _Strict(listener^, len(pipe.commands.octets) // COUNT, context^)
        )
        var client = RedisClient(config^)
        var replies = client.execute(pipe)
        assert_equal(len(replies), COUNT)
        assert_equal(len(replies[COUNT - 1].octets()), LEN)
        client.close()
        server^.join()
