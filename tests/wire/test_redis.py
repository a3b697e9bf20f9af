"""The Redis client against a Redis server."""

import socket
import threading
import time

import pytest
from conftest import running_client, wait_until
from redis_servers import RedisServer, running_redis

QUICK = {"backoff_ms": 5, "backoff_max_ms": 50}


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    yield from running_redis(tmp_path_factory.mktemp("redis"))


@pytest.fixture(scope="module")
def talker(redis):
    yield from running_client("redis_talker")


@pytest.fixture
def client(talker, redis):
    """A client of an empty server."""
    redis.ask("FLUSHALL")
    answer = talker.ask(do="connect", url=redis.url, **QUICK)
    assert "error" not in answer, answer
    return talker


def call(talker, *words: str) -> object:
    answer = talker.ask(do="call", args=list(words))
    return answer.get("reply", answer)


TYPED = {
    "get": "hello", "get_none": 0, "get_octets": 4, "ttl": 1, "ttl_none": 0,
    "nx": 0, "nx_new": 1, "getdel": "y", "mget": "hello", "mget_none": 0,
    "incr": -3, "exists": 1, "expire": 1, "hset": 2, "hget": "two",
    "hgetall": 2, "hdel": 1, "push": 5, "lrange": "abc", "pop": "ac",
    "blpop": "b", "brpop": 0, "sadd": 2, "srem": 1, "smembers": "a",
    "sismember": 1, "zadd": 1, "zscore": 3, "zrange": "m", "eval": "7",
    "xlen": 2, "xrange": "2", "xread": "w", "xread_none": 0, "group": 1,
    "group_again": 0, "xreadgroup": 2, "xautoclaim": 2, "xack": 1,
}  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 3])
def test_commands_with_typed_answers(talker, redis, protocol):
    redis.ask("FLUSHALL")
    answer = talker.ask(do="connect", url=f"{redis.url}?protocol={protocol}")
    assert answer["is_resp3"] == (protocol == 3)
    answer = talker.ask(do="typed")
    assert {name: answer.get(name) for name in TYPED} == TYPED, answer


def test_the_database_and_the_name_of_a_url(talker, redis):
    talker.ask(do="connect", url=f"{redis.url}/3?client_name=tester")
    call(talker, "SET", "a", "1")
    assert b"db3:keys=1" in redis.ask("INFO", "keyspace")
    assert call(talker, "CLIENT", "GETNAME") == "tester"


def test_a_unix_socket(talker, redis):
    answer = talker.ask(do="connect", url=f"redis+unix://{redis.path}?db=1")
    assert "error" not in answer, answer
    assert call(talker, "PING") == "PONG"


def test_nested_replies_and_those_of_resp3(client):
    assert call(client, "CONFIG", "GET", "maxmemory-policy") == [
        "maxmemory-policy", "noeviction",
    ]  # fmt: skip
    assert call(client, "EVAL", "return {1,{2,{'a'}},redis.status_reply('B')}", "0") == [
        1, [2, ["a"]], "B",
    ]  # fmt: skip
    script = "redis.setresp(3); return {true, {double=1.5}, {map={a=1}}}"
    assert call(client, "EVAL", script, "0") == [True, 1.5, ["a", 1]]


def test_commands_of_any_length(client):
    """Name and arguments are known when they are sent."""
    keys = [f"k{number}" for number in range(200)]
    pairs = [word for key in keys for word in (key, key.upper())]
    assert call(client, "MSET", *pairs) == "OK"
    assert call(client, "MGET", *keys) == [key.upper() for key in keys]
    answer = client.ask(do="call", args=["mget", *keys], as_octets=1)
    assert answer["reply"] == [key.upper() for key in keys]
    assert call(client, "GET", "") is None
    answer = client.ask(do="pipeline", commands=[["MGET", *keys], ["DBSIZE"]])
    assert answer["reply"] == [[key.upper() for key in keys], 200]


@pytest.mark.parametrize(
    ("args", "options", "said"),
    [
        ([""], {}, "a command has no name; write one, such as GET"),
        (["", "x"], {"as_octets": 1}, "a command has no name"),
        (["CONFIG GET", "x"], {}, "it must be one word"),
        (["GET", "x"], {"key_index": 1}, "key_index of GET is 1, and the command has 1"),
    ],
)
def test_commands_that_cannot_be_right(client, args, options, said):
    answer = client.ask(do="call", args=args, **options)
    assert answer["kind"] == "BadArgument" and said in answer["error"]
    assert not answer["may_have_run"]
    assert call(client, "PING") == "PONG", "nothing was sent"


def test_a_pipeline_with_errors_in_between(client):
    answer = client.ask(
        do="pipeline",
        commands=[["SET", "a", "x"], ["INCR", "a"], ["GET", "a"], ["GET", "none"]],
    )
    replies = answer["reply"]
    assert replies[0] == "OK" and replies[2:] == ["x", None]
    assert "not an integer" in replies[1]["error"]


def test_a_pipeline_larger_than_all_buffers(client):
    """Its replies must be read while it is sent."""
    value = "v" * 20_000
    client.ask(do="call", args=["SET", "big", value])
    answer = client.ask(do="pipeline", commands=[["ECHO", value]] * 800)
    assert answer["reply"] == [value] * 800


def test_transactions(client):
    answer = client.ask(do="transaction", commands=[["SET", "t", "1"], ["INCR", "t"]])
    assert answer["reply"] == ["OK", 2]
    answer = client.ask(do="transaction", commands=[["INCR", "t"], ["SET", "t"]])
    assert "wrong number of arguments" in answer["error"]
    assert call(client, "GET", "t") == "2", "none was carried out"


def test_a_watched_key_that_was_changed(client, redis):
    call(client, "SET", "w", "1")
    client.ask(do="watch", keys=["w"])
    redis.ask("SET", "w", "2")
    answer = client.ask(do="transaction", commands=[["SET", "w", "3"]])
    assert answer["reply"] == "nothing"
    assert call(client, "GET", "w") == "2"
    client.ask(do="watch", keys=["w"])
    answer = client.ask(do="transaction", commands=[["SET", "w", "3"]])
    assert answer["reply"] == ["OK"]


def test_a_watch_does_not_outlive_its_connection(client, redis):
    call(client, "SET", "w", "1")
    client.ask(do="watch", keys=["w"])
    redis.ask("CLIENT", "KILL", "TYPE", "normal")
    answer = client.ask(do="transaction", commands=[["SET", "w", "3"]])
    assert answer["kind"] in ("ConnectionLost", "AnswerLost"), answer
    assert b"1" in redis.ask("GET", "w")


def test_scripts_that_the_server_forgets(client, redis):
    order = dict(do="eval", source="return redis.call('INCR', KEYS[1])", keys=["n"])
    redis.ask("CONFIG", "RESETSTAT")
    assert client.ask(**order)["reply"] == 1
    assert client.ask(**order)["reply"] == 2
    redis.ask("SCRIPT", "FLUSH")
    assert client.ask(**order)["reply"] == 3
    assert b"cmdstat_eval:calls=2" in redis.ask("INFO", "commandstats")


def test_a_blocking_command_gets_what_comes(client, redis):
    pushed = threading.Timer(0.2, redis.ask, ["RPUSH", "later", "x"])
    pushed.start()
    answer = client.ask(do="blpop", keys=["later"], wait_ms=5_000)
    pushed.join()
    assert answer["item"] == "x"


def test_a_blocking_command_waits_longer_than_the_timeout(talker, redis):
    talker.ask(do="connect", url=redis.url, timeout_ms=150)
    start = time.monotonic()
    answer = talker.ask(do="blpop", keys=["nothing"], wait_ms=600)
    assert "error" not in answer, answer
    assert time.monotonic() - start > 0.5


@pytest.mark.parametrize(
    "words",
    [
        ["BLPOP", "nothing", "1.2"],
        ["BLMPOP", "1.2", "1", "nothing", "LEFT"],
        ["XREAD", "BLOCK", "1200", "STREAMS", "nothing", "$"],
        ["WAIT", "9", "1200"],
    ],
)
def test_so_does_any_command_that_blocks(talker, redis, words):
    """The server's wait is on top of the client's time, whoever says it."""
    talker.ask(do="connect", url=redis.url, timeout_ms=800)
    assert call(talker, *words) in (None, 0)


def test_errors_of_the_server_by_kind(client, redis):
    call(client, "SET", "s", "x")
    assert call(client, "LPUSH", "s", "y")["kind"] == "WrongType"
    assert call(client, "NOSUCH")["kind"] == "Refused"
    redis.ask("CONFIG", "SET", "maxmemory", "1")
    answer = call(client, "SET", "s", "y")
    redis.ask("CONFIG", "SET", "maxmemory", "0")
    assert answer["kind"] == "OutOfMemory"
    assert answer["may_have_run"] == 0
    assert answer["is_connected"] == 1, "a refusal does not end a connection"


def test_access_control(talker, redis):
    redis.ask("ACL", "SETUSER", "reader", "on", ">p@ss", "~*", "+@read", "+hello")
    url = f"redis://reader:p%40ss@127.0.0.1:{redis.port}"
    assert "error" not in talker.ask(do="connect", url=url)
    assert call(talker, "GET", "a") is None
    assert call(talker, "SET", "a", "1")["kind"] == "NoPermission"
    # A user who may not even say HELLO speaks RESP2.
    redis.ask("ACL", "SETUSER", "reader", "-hello", "+auth")
    answer = talker.ask(do="connect", url=url.replace("p%40ss", "wrong"))
    assert answer["kind"] == "AuthFailed", answer
    assert "wrong" not in answer["error"]


def test_a_server_that_wants_a_password(talker, redis, tmp_path):
    server = RedisServer(tmp_path / "auth", requirepass="secret")
    try:
        answer = talker.ask(do="connect", url=server.url)
        assert answer["kind"] == "AuthRequired", answer
        for protocol in (2, 3):
            url = f"redis://:secret@127.0.0.1:{server.port}?protocol={protocol}"
            assert "error" not in talker.ask(do="connect", url=url)
            assert call(talker, "PING") == "PONG"
    finally:
        server.stop()


ODD = b"\xff\x00\r\n\xc3"
TAKEN = {
    "lpop": ("RPUSH", "taken", ODD),
    "rpop": ("RPUSH", "taken", ODD),
    "blpop": ("RPUSH", "taken", ODD),
    "brpop": ("RPUSH", "taken", ODD),
    "getdel": ("SET", "taken", ODD),
    "xreadgroup": ("XADD", "taken", "*", ODD, ODD),
}


@pytest.mark.parametrize("how", TAKEN)
def test_what_is_taken_may_be_any_octets(client, redis, how):
    """Redis has it no more, so it must not be lost for being no UTF-8."""
    redis.ask(*TAKEN[how])
    if how == "xreadgroup":
        redis.ask("XADD", "taken", "*", "a", "b")
    answer = client.ask(do="take", how=how)
    expected = ODD.hex()
    if how == "xreadgroup":
        expected += expected + b"ab".hex()
    assert answer.get("hex") == expected, answer


def test_tls(talker, redis, tmp_path, certs):
    plain, port = RedisServer(tmp_path / "probe"), 0
    port = plain.port
    plain.stop()
    server = RedisServer(
        tmp_path / "tls",
        tls_port=str(port),
        tls_cert_file=str(certs / "good_chain.pem"),
        tls_key_file=str(certs / "good.key"),
        tls_ca_cert_file=str(certs / "root.pem"),
        tls_auth_clients="no",
    )
    try:
        url = f"rediss://127.0.0.1:{port}"
        answer = talker.ask(do="connect", url=url, ca_file=str(certs / "root.pem"))
        assert "error" not in answer, answer
        assert call(talker, "ECHO", "x" * 100_000) == "x" * 100_000
        answer = talker.ask(do="typed")
        assert {name: answer.get(name) for name in TYPED} == TYPED, answer
        assert talker.ask(do="connect", url=url)["kind"] == "ConnectFailed"
        hear_many(talker, server, url, str(certs / "root.pem"))
    finally:
        server.stop()


def hear_many(talker, server: RedisServer, url: str, ca_file: str) -> None:
    """Records that came with others are in no socket, so no poll tells of them."""
    talker.ask(do="subscriber", url=url, ca_file=ca_file)
    talker.ask(do="subscribe", names=["many"])
    assert wait_until(lambda: b"\r\n:1\r\n" in server.ask("PUBSUB", "NUMSUB", "many"))
    text = "x" * 5_000
    for number in range(30):
        server.ask("PUBLISH", "many", f"{number}{text}")
    answer = talker.ask(do="receive", count=30, timeout_ms=2_000)
    said = [answer.get(f"message{number}") for number in range(30)]
    assert said == [f"many many {number}{text}" for number in range(30)]


def test_limits_of_replies(talker, redis):
    redis.ask("FLUSHALL")
    redis.ask("SET", "big", "x" * 5_000)
    redis.ask("EVAL", "for i=1,200 do redis.call('RPUSH','l',i) end", "0")
    talker.ask(do="connect", url=redis.url, max_reply_size=4_000)
    assert call(talker, "GET", "big")["kind"] == "ReplyTooLarge"
    assert call(talker, "PING") == "PONG"
    talker.ask(do="connect", url=redis.url, max_reply_elements=100)
    assert call(talker, "LRANGE", "l", "0", "-1")["kind"] == "ReplyTooLarge"
    assert len(call(talker, "LRANGE", "l", "0", "50")) == 51


def test_an_old_server_is_spoken_to_in_resp2(talker):
    """It knows no HELLO, as before Redis 6."""
    said = []

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            while data := connection.recv(65536):
                said.append(data)
                if b"HELLO" in data:
                    connection.sendall(b"-ERR unknown command `HELLO`\r\n")
                elif b"AUTH" in data:
                    connection.sendall(b"+OK\r\n+OK\r\n")
                else:
                    connection.sendall(b"+PONG\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        answer = talker.ask(do="connect", url=f"redis://:pw@127.0.0.1:{port}/2")
        assert answer["is_resp3"] == 0 and "error" not in answer, answer
        assert b"SELECT" in said[1] and b"AUTH" in said[1]
        assert call(talker, "PING") == "PONG"
        talker.ask(do="client", url="redis://127.0.0.1:1")
        thread.join(5)
        assert not thread.is_alive()


def test_channels_and_patterns(talker, redis):
    for protocol in (2, 3):
        talker.ask(do="subscriber", url=f"{redis.url}?protocol={protocol}")
        talker.ask(do="subscribe", names=["news", "sport"])
        talker.ask(do="psubscribe", names=["we*"])
        talker.ask(do="receive", timeout_ms=0, count=1)
        assert wait_until(lambda: b"\r\n:1\r\n" in redis.ask("PUBSUB", "NUMSUB", "sport"))
        assert wait_until(lambda: redis.ask("PUBSUB", "NUMPAT") == b":1\r\n")
        for channel, text in (("news", "a"), ("weather", "b"), ("sport", "c" * 70_000)):
            redis.ask("PUBLISH", channel, text)
        answer = talker.ask(do="receive", count=3)
        assert answer["message0"] == "news news a", answer
        assert answer["message1"] == "we* weather b"
        assert answer["message2"] == "sport sport " + "c" * 70_000
        talker.ask(do="unsubscribe", names=["news"])
        assert wait_until(lambda: b"\r\n:0\r\n" in redis.ask("PUBSUB", "NUMSUB", "news"))
        redis.ask("PUBLISH", "news", "d")
        redis.ask("PUBLISH", "sport", "e")
        assert talker.ask(do="receive")["message0"] == "sport sport e"
        assert "message0" not in talker.ask(do="receive", timeout_ms=50)
        talker.ask(do="punsubscribe", names=["we*"])
        assert wait_until(lambda: redis.ask("PUBSUB", "NUMPAT") == b":0\r\n")
        redis.ask("PUBLISH", "weather", "f")
        redis.ask("PUBLISH", "sport", "g")
        assert talker.ask(do="receive")["message0"] == "sport sport g"
        # The next round counts subscribers from none.
        talker.ask(do="subscriber", url=redis.url)
        assert wait_until(lambda: b"\r\n:0\r\n" in redis.ask("PUBSUB", "NUMSUB", "sport"))


def test_a_pool_of_threads(talker, redis):
    redis.ask("FLUSHALL")
    answer = talker.ask(do="pool", url=redis.url, threads=8, rounds=100)
    assert answer["done"] == 800 and answer["failed"] == 0, answer
    assert 1 <= answer["idle"] <= 4 and answer["lent"] == 0
    assert answer["closed_kind"] == "Closed"
    assert redis.ask("GET", "pooled") == b"$3\r\n800\r\n"


def test_a_pool_that_has_none_in_time(talker, redis):
    options = dict(url=redis.url, connections_max=1, rounds=1, block_ms=600)
    answer = talker.ask(do="pool", threads=2, wait_ms=100, **options)
    assert (answer["done"], answer["failed_kind"]) == (1, "Timeout"), answer
    answer = talker.ask(do="pool", threads=2, waiting_max=0, **options)
    assert (answer["done"], answer["failed_kind"]) == (1, "PoolExhausted"), answer
    answer = talker.ask(do="pool", threads=3, wait_ms=5_000, **options)
    assert answer["done"] == 3, "each had its turn"
