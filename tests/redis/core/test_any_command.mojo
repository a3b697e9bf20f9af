"""Commands whose name and arguments are known when they are sent."""

from flare.redis.core.any_command import append_command
from flare.redis.core.command import Command, RedisArg
from flare.redis.core.error import RedisErrorKind
from flare.redis.pipeline import Pipeline
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


def _text(command: Command) -> String:
    return String(StringSpan(unsafe_from_utf8=command.octets.span()))


def _key(command: Command) -> String:
    return String(StringSpan(unsafe_from_utf8=command.first_key()))


def test_all_kinds_of_arguments_are_the_same_on_the_way() raises:
    var wanted = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$2\r\n12\r\n"
    var texts: List[String] = ["a", "12"]
    var octets: List[List[UInt8]] = [[0x61], [0x31, 0x32]]
    var mixed: List[RedisArg] = [RedisArg("a"), RedisArg(12)]
    var command = Command()
    append_command(command, "SET", texts, None)
    assert_equal(_text(command), wanted)
    assert_false(command.is_repeatable)
    command.clear()
    append_command(command, "SET", octets, None)
    assert_equal(_text(command), wanted)
    command.clear()
    append_command(command, "SET", mixed, None)
    assert_equal(_text(command), wanted)
    assert_equal(_key(command), "a")


def test_a_name_alone() raises:
    var command = Command()
    append_command(command, "PING", List[String](), None)
    assert_equal(_text(command), "*1\r\n$4\r\nPING\r\n")
    assert_true(command.is_repeatable)
    assert_false(command.has_key())


@fieldwise_init
struct _Row(Copyable, Movable):
    var name: String
    var words: List[String]
    var index: Optional[Int]
    var key: String


def test_which_argument_is_the_key() raises:
    var rows: List[_Row] = [
        _Row("GET", ["k"], None, "k"),
        _Row("get", ["k"], None, "k"),
        _Row("EVAL", ["s", "1", "k", "x"], None, "k"),
        _Row("evalsha", ["s", "1", "k", "x"], None, "k"),
        _Row("XREAD", ["COUNT", "1", "Streams", "k", "0"], None, "k"),
        _Row("xread", ["streams", "streams", "0"], None, "streams"),
        _Row("X.Y", ["a", "b"], None, "a"),
        _Row("X.Y", ["a", "b"], 1, "b"),
        _Row("GET", ["a"], -1, ""),
        _Row("PUBLISH", ["a", "b"], None, ""),
    ]
    for row in rows:
        var command = Command()
        append_command(command, row.name, row.words, row.index)
        assert_equal(_key(command), row.key, row.name)
        assert_equal(command.has_key(), row.key != "", row.name)


def test_what_cannot_be_right_is_refused_and_leaves_nothing() raises:
    var words: List[String] = ["a", "b"]
    var command = Command()
    for name in ["", " ", "GET a", "GET\r\n", "\x00", "a\x7f"]:
        with assert_raises(contains="name"):
            append_command(command, name, words, None)
    with assert_raises(contains="has no name"):
        append_command(command, "", words, None)
    for index in [2, 3, -2]:
        with assert_raises(contains="key_index of GET is"):
            append_command(command, "GET", words, index)
    assert_equal(len(command.octets), 0)
    assert_equal(command.count, 0)
    var kind = RedisErrorKind.TIMEOUT
    try:
        append_command(command, "", words, None)
    except error:
        kind = error.kind
    assert_true(kind == RedisErrorKind.BAD_ARGUMENT)


@fieldwise_init
struct _WaitRow(Copyable, Movable):
    var name: String
    var words: List[String]
    var wait_ms: Int


def test_how_long_a_command_waits_on_purpose() raises:
    """Redis, Commands: each of them says how long it blocks, in seconds or in
    milliseconds; 0 is for ever, which is left to the client's own time."""
    var rows: List[_WaitRow] = [
        _WaitRow("BLPOP", ["a", "b", "3"], 3_000),
        _WaitRow("blpop", ["a", "0.25"], 250),
        _WaitRow("BRPOP", ["a", "1e1"], 10_000),
        _WaitRow("BRPOPLPUSH", ["a", "b", "2"], 2_000),
        _WaitRow("BLMOVE", ["a", "b", "LEFT", "RIGHT", "2"], 2_000),
        _WaitRow("BZPOPMIN", ["a", "2"], 2_000),
        _WaitRow("BZPOPMAX", ["a", "2"], 2_000),
        _WaitRow("BLMPOP", ["2", "1", "7", "LEFT"], 2_000),
        _WaitRow("BZMPOP", ["2", "1", "7", "MIN"], 2_000),
        _WaitRow("WAIT", ["1", "1500"], 1_500),
        _WaitRow("WAITAOF", ["1", "0", "1500"], 1_500),
        _WaitRow("XREAD", ["BLOCK", "700", "STREAMS", "s", "$"], 700),
        _WaitRow(
            "XREADGROUP",
            ["GROUP", "g", "c", "block", "700", "STREAMS", "s", ">"],
            700,
        ),
        _WaitRow("XREAD", ["STREAMS", "block", "9"], 0),
        _WaitRow("BLPOP", ["a", "0"], 0),
        _WaitRow("XREAD", ["BLOCK", "0", "STREAMS", "s", "$"], 0),
        # What a server refuses waits for nothing.
        _WaitRow("BLPOP", ["a", "-1"], 0),
        _WaitRow("BLPOP", ["a", "soon"], 0),
        _WaitRow("BLPOP", ["a", "nan"], 0),
        _WaitRow("BLPOP", [], 0),
        _WaitRow("XREAD", ["BLOCK"], 0),
        # Nothing is added to a time so that it is none.
        _WaitRow("BLPOP", ["a", "1e300"], 1 << 40),
        _WaitRow("WAIT", ["1", "99999999999999999999"], 1 << 40),
        _WaitRow("LPOP", ["a", "3"], 0),
        _WaitRow("BITCOUNT", ["a", "3"], 0),
        _WaitRow("SET", ["BLOCK", "3"], 0),
    ]
    for row in rows:
        var command = Command()
        append_command(command, row.name, row.words, None)
        assert_equal(command.extra_ms, row.wait_ms, row.name)
        var pipe = Pipeline()
        pipe.command(row.name, row.words)
        assert_equal(pipe.commands.extra_ms, row.wait_ms, row.name)
    var pipe = Pipeline()
    pipe.command("BLPOP", "a", 1)
    pipe.command("BLPOP", "b", 0.5)
    assert_equal(pipe.commands.extra_ms, 1_500, "one after the other")
    pipe.clear()
    assert_equal(pipe.commands.extra_ms, 0)


def test_commands_that_are_answered_by_messages_are_refused() raises:
    """RESP3, Pushed data: a subscription is confirmed by a push, which is no
    reply, so that who waits for one waits in vain."""
    var words: List[String] = ["news"]
    var command = Command()
    for name in [
        "SUBSCRIBE",
        "psubscribe",
        "SSUBSCRIBE",
        "UNSUBSCRIBE",
        "PUNSUBSCRIBE",
        "SUNSUBSCRIBE",
        "MONITOR",
        "SYNC",
        "PSYNC",
    ]:
        with assert_raises(contains="is answered by messages"):
            append_command(command, name, words, None)
        assert_equal(len(command.octets), 0)
        assert_equal(command.count, 0)
    with assert_raises(contains="RedisSubscriber"):
        append_command(command, "SUBSCRIBE", words, None)


def test_a_pipeline_refuses_names_that_cannot_be_right() raises:
    """Whichever way the arguments are given; nothing is added then."""
    var words: List[String] = ["news"]
    var pipe = Pipeline()
    for row in [
        ("SUBSCRIBE", "is answered by messages"),
        ("monitor", "is answered by messages"),
        ("", "has no name"),
        ("SET a", "must be one word"),
        ("GET\r\n", "must be one word"),
    ]:
        with assert_raises(contains=row[1]):
            pipe.command(row[0], "news")
        with assert_raises(contains=row[1]):
            pipe.command(row[0], words)
        assert_equal(len(pipe), 0)
        assert_equal(len(pipe.commands.octets), 0)
