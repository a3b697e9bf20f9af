"""What a client does behind a failure, with servers that answer by a plan."""

from flare.redis.client import RedisClient
from flare.redis.config import RedisConfig
from flare.redis.core.error import RedisErrorKind
from flare.redis.pipeline import Pipeline
from flare.sys.backoff import Backoff
from flare.sys.clock import Deadline, monotonic_ms
from flare.sys.mutex import Mutex
from flare.sys.poll import POLL_READ, pause, wait_for
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener, TcpStream
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.loopback import PATIENCE_MS
from tests.support.scripted_redis import (
    UNKNOWN_COMMAND,
    Asking,
    config_of,
    listen,
)


@fieldwise_init
struct _Dying(Task):
    """Answers nothing: the first connection ends after a while, the second one
    when its client gives it up."""

    var _listener: TcpListener
    var _pause_ms: Int

    def run(mut self) raises:
        var first = Asking(self._listener)
        _ = first.asks()
        pause(self._pause_ms)
        first.stream.close()
        var second = Asking(self._listener)
        while second.asks():
            pass


def test_repetitions_have_the_time_of_the_command() raises:
    """`RedisConfig.timeout_ms` is for one command, repetitions included."""
    comptime TIMEOUT_MS = 1_500
    var listener = listen()
    var config = config_of(listener)
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


@fieldwise_init
struct _Plain(Task):
    """Speaks no TLS: it says so, or ends the connection, or says nothing until
    its client has gone."""

    var _listener: TcpListener
    var _answer: String
    var _waits: Bool

    def run(mut self) raises:
        var client = Asking(self._listener)
        _ = client.asks()
        client.say(self._answer)
        while self._waits and client.asks():
            pass


def test_a_server_without_tls_is_told_of() raises:
    """A message says how to mend what it is about: here the URL's scheme."""
    for answer in ["-ERR Protocol error\r\n", ""]:
        for waits in [False, True]:
            var listener = listen()
            var port = listener.local_addr().port
            var config = RedisConfig.from_url(
                String("rediss://127.0.0.1:", port)
            )
            config.connect_timeout_ms = 400
            config.retry_max = 0
            var server = Thread(_Plain(listener^, answer, waits))
            var client = RedisClient(config^)
            var text = String()
            try:
                client.ping()
            except error:
                text = String(error)
            client.close()
            server^.join()
            assert_true("for a server without it write redis://" in text, text)


@fieldwise_init
struct _Asked(Task):
    """Knows no HELLO, says OK to all else, and keeps what it was asked."""

    var _listener: TcpListener
    var _asked: Mutex[String]

    def run(mut self) raises:
        var client = Asking(self._listener)
        while client.asks():
            self._asked.lock()[] += client.asked
            if "HELLO" in client.asked:
                client.say(UNKNOWN_COMMAND)
            else:
                client.say("+OK\r\n")


def test_a_user_without_a_password_is_named() raises:
    """Redis, ACL: a user may need none (nopass), and is not the default user."""
    # The user of the URL, and what comes in HELLO and in AUTH behind it.
    var rows: List[Tuple[String, String, String]] = [
        (
            "alice@",
            "AUTH\r\n$5\r\nalice\r\n$0\r\n\r\n",
            "*3\r\n$4\r\nAUTH\r\n$5\r\nalice\r\n$0\r\n\r\n",
        ),
        (
            "alice:pw@",
            "AUTH\r\n$5\r\nalice\r\n$2\r\npw\r\n",
            "*3\r\n$4\r\nAUTH\r\n$5\r\nalice\r\n$2\r\npw\r\n",
        ),
        (
            ":pw@",
            "AUTH\r\n$7\r\ndefault\r\n$2\r\npw\r\n",
            "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n",
        ),
    ]
    for index in range(len(rows)):
        var listener = listen()
        var asked = Mutex(String())
        var config = RedisConfig.from_url(
            String(
                "redis://",
                rows[index][0],
                "127.0.0.1:",
                listener.local_addr().port,
            )
        )
        var server = Thread(_Asked(listener^, asked))
        var client = RedisClient.connect(config^)
        client.close()
        server^.join()
        var text = asked.lock()[].copy()
        assert_true(
            String("HELLO\r\n$1\r\n3\r\n$4\r\n", rows[index][1]) in text, text
        )
        assert_true(text.endswith(rows[index][2]), text)


@fieldwise_init
struct _Loading(Task):
    """Carries nothing out, and counts how often it is asked to."""

    var _listener: TcpListener
    var _asked: Mutex[Int]

    def run(mut self) raises:
        var client = Asking(self._listener)
        while client.asks():
            self._asked.lock()[] += 1
            client.say("-LOADING wait\r\n")


def test_what_is_refused_is_repeated_as_often_as_is_wanted() raises:
    """`RedisConfig.retry_max`."""
    var listener = listen()
    var config = config_of(listener)
    config.retry_max = 2
    config.backoff = Backoff(1, 1)
    var asked = Mutex(0)
    var server = Thread(_Loading(listener^, asked))
    var client = RedisClient.connect(config^)
    var kind = RedisErrorKind.REFUSED
    try:
        client.set("key", "value")
    except error:
        kind = error.kind
    assert_equal(String(kind), "Loading")
    assert_equal(asked.lock()[], 1 + 2)
    client.close()
    server^.join()


@fieldwise_init
struct _Demoted(Task):
    """A sentinel, and a master that is none any more at its first write; one
    connection after the other, until one comes that sends nothing."""

    var _listener: TcpListener
    var _written: Mutex[Int]

    def run(mut self) raises:
        var has_heard = True
        while has_heard:
            has_heard = False
            var client = Asking(self._listener)
            while client.asks():
                has_heard = True
                client.say(self._answer(client.asked))

    def _answer(mut self, asked: String) raises -> String:
        if "SENTINEL" in asked:
            var port = String(self._listener.local_addr().port)
            return String(
                "*2\r\n$9\r\n127.0.0.1\r\n$",
                port.byte_length(),
                "\r\n",
                port,
                "\r\n",
            )
        if "ROLE" in asked:
            return String("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n")
        if "SET" in asked:
            self._written.lock()[] += 1
            if self._written.lock()[] == 1:
                return String("-READONLY a replica takes no writes\r\n")
            return String("+OK\r\n")
        if "WATCH" in asked:
            return String("+OK\r\n")
        return String(UNKNOWN_COMMAND)


def test_what_is_watched_is_not_lost_to_another_master() raises:
    """A new master watches nothing: who goes on there must be told."""
    var listener = listen()
    var address = listener.local_addr()
    var config = RedisConfig()
    config.sentinels = [String("127.0.0.1:", address.port)]
    config.master_name = String("m")
    var written = Mutex(0)
    var server = Thread(_Demoted(listener^, written))
    var client = RedisClient.connect(config^)
    client.watch("key")
    var kind = RedisErrorKind.REFUSED
    try:
        client.set("other", "value")
    except error:
        kind = error.kind
    assert_equal(String(kind), "ReadOnly")
    assert_equal(written.lock()[], 1)
    assert_false(client.is_connected())
    # The next one begins anew.
    client.set("other", "value")
    assert_equal(written.lock()[], 2)
    client.close()
    var last = TcpStream.connect(address, PATIENCE_MS)
    last.close()
    server^.join()


def test_who_is_refused_a_write_looks_for_the_master_anew() raises:
    """A name may lead to another server by now (DNS); what leads to the one
    that has become a replica is a connection alone."""
    for is_pipeline in [False, True]:
        var listener = listen()
        var address = listener.local_addr()
        var config = config_of(listener, protocol=3)
        var written = Mutex(0)
        var server = Thread(_Demoted(listener^, written))
        var client = RedisClient.connect(config^)
        assert_equal(_write(client, is_pipeline), "ReadOnly")
        assert_equal(written.lock()[], 1, "it is not repeated there")
        assert_equal(_write(client, is_pipeline), "")
        assert_equal(client.connect_count(), 2)
        client.close()
        var last = TcpStream.connect(address, PATIENCE_MS)
        last.close()
        server^.join()


def test_what_is_watched_is_not_lost_behind_a_pipeline() raises:
    """Behind a pipeline that a replica refuses, too, whoever watches must be
    told: the next connection watches nothing."""
    var listener = listen()
    var address = listener.local_addr()
    var config = config_of(listener, protocol=3)
    var written = Mutex(0)
    var server = Thread(_Demoted(listener^, written))
    var client = RedisClient.connect(config^)
    client.watch("key")
    assert_equal(_write(client, True), "ReadOnly")
    client.watch("key")
    assert_equal(client.connect_count(), 1)
    client.close()
    var last = TcpStream.connect(address, PATIENCE_MS)
    last.close()
    server^.join()


def _write(mut client: RedisClient, is_pipeline: Bool) raises -> String:
    """Writes; gives the kind of the error, or nothing."""
    try:
        if not is_pipeline:
            client.set("key", "value")
            return String()
        var pipe = Pipeline()
        pipe.set("key", "value")
        client.execute(pipe)[0].check()
        return String()
    except error:
        return String(error.kind)


@fieldwise_init
struct _Restricted(Task):
    """A sentinel that names a port, and a master at its own that answers ROLE
    as it is told; one connection after the other, until one sends nothing."""

    var _listener: TcpListener
    var _port: String
    var _role: String

    def run(mut self) raises:
        var has_heard = True
        while has_heard:
            has_heard = False
            var client = Asking(self._listener)
            while client.asks():
                has_heard = True
                if "SENTINEL" in client.asked:
                    client.say(
                        String(
                            "*2\r\n$9\r\n127.0.0.1\r\n$",
                            self._port.byte_length(),
                            "\r\n",
                            self._port,
                            "\r\n",
                        )
                    )
                elif "ROLE" in client.asked:
                    client.say(self._role)
                elif "SET" in client.asked:
                    client.say("+OK\r\n")
                else:
                    client.say(UNKNOWN_COMMAND)


def _written_by_sentinel(
    role: StringSpan, port: Optional[String] = None
) raises -> String:
    """Writes to the master that a sentinel names; gives OK, or the error."""
    var listener = listen()
    var address = listener.local_addr()
    var config = RedisConfig()
    config.sentinels = [String("127.0.0.1:", address.port)]
    config.master_name = String("m")
    config.retry_max = 0
    var found = String("OK")
    var named = port.value() if port else String(address.port)
    var server = Thread(_Restricted(listener^, named, String(role)))
    var client = RedisClient(config^)
    try:
        client.set("key", "value")
    except error:
        found = String(error)
    client.close()
    var last = TcpStream.connect(address, PATIENCE_MS)
    last.close()
    server^.join()
    return found


def test_a_user_who_may_not_ask_for_the_role_has_a_master() raises:
    """Redis, ACL: ROLE is `@dangerous`, so users are often refused it. Then the
    sentinel's word counts; what else is wrong is told as it is."""
    var rows: List[Tuple[String, String]] = [
        ("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n", "OK"),
        ("-NOPERM this user has no permissions to run 'role'\r\n", "OK"),
        ("*3\r\n$5\r\nslave\r\n$1\r\na\r\n:1\r\n", "is no master yet"),
        ("-NOAUTH Authentication required.\r\n", "NOAUTH"),
    ]
    for index in range(len(rows)):
        var found = _written_by_sentinel(rows[index][0])
        assert_true(rows[index][1] in found, found)


def test_a_master_without_a_port_is_none() raises:
    """RFC 9293 section 3.1: a port has 16 bits, and one that is cut to them
    would be another server's."""
    for port in ["0", "-1", "65536", "72000"]:
        var found = _written_by_sentinel("+OK\r\n", String(port))
        assert_true(String("the port ", port) in found, found)


@fieldwise_init
struct _Full(Task):
    """Has too many clients."""

    var _listener: TcpListener

    def run(mut self) raises:
        var client = Asking(self._listener)
        client.say("-ERR max number of clients reached\r\n")
        _ = client.asks()


def test_why_a_server_takes_no_client_is_told() raises:
    """Redis, maxclients and protected mode: the error comes unasked, and then
    the connection ends."""
    var listener = listen()
    var config = config_of(listener)
    config.retry_max = 0
    var server = Thread(_Full(listener^))
    var client = RedisClient.connect(config^)
    assert_equal(
        wait_for(
            client._link.connection.fd(), POLL_READ, Deadline(PATIENCE_MS)
        ),
        1,
    )
    var text = String()
    try:
        client.set("key", "value")
    except error:
        text = String(error)
    client.close()
    server^.join()
    assert_true("ERR max number of clients reached;" in text, text)
