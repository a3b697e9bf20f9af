"""Commands as they are sent, and what is known of them."""

from flare.redis.core.command import Command, RedisArg, is_read, key_place
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.redis_log import replies_log


def _text(command: Command) -> String:
    return String(StringSpan(unsafe_from_utf8=command.octets.span()))


def test_a_command_is_an_array_of_texts() raises:
    var command = Command()
    command.begin["SET"](2)
    command.key("key")
    command.add("a value")
    assert_equal(
        _text(command), "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$7\r\na value\r\n"
    )
    assert_equal(
        String(StringSpan(unsafe_from_utf8=command.first_key())), "key"
    )


def test_round_trip_of_all_lengths() raises:
    for length in [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 70_000]:
        var command = Command()
        command.begin_any("ECHO".as_bytes(), 1)
        command.add("x" * length)
        var octets = command.octets.span()
        var header = String(length)
        assert_true(String("\r\n$", header, "\r\n") in _text(command))
        assert_equal(
            len(octets),
            len("*2\r\n$4\r\nECHO\r\n$\r\n\r\n".as_bytes())
            + length
            + header.byte_length(),
        )
        if length < 200:
            assert_equal(
                replies_log(octets, [len(octets)]),
                String("*[*[$ECHO $", "x" * length, "]]"),
            )


def test_many_arguments() raises:
    for count in [9, 10, 99, 100, 1000]:
        var command = Command()
        command.begin["DEL"](count)
        assert_true(_text(command).startswith(String("*", count + 1, "\r\n")))


def test_arguments_of_all_types() raises:
    assert_equal(RedisArg("a").text, "a")
    assert_equal(RedisArg(-7).text, "-7")
    assert_equal(RedisArg(1.5).text, "1.5")
    # Redis, ZADD: scores are floats of 64 bits, and no neighbours of them.
    assert_equal(RedisArg(18050427306500948.0).text, "18050427306500948.0")
    var command = Command()
    command.begin["ZADD"](1)
    command.add_fraction(18050427306500948.0)
    assert_true("18050427306500948.0" in _text(command), _text(command))
    var octets: List[UInt8] = [0xFF, 0x00]
    assert_equal(RedisArg(Span(octets)).text.byte_length(), 2)


def test_what_may_be_sent_twice() raises:
    var command = Command()
    command.begin_read["GET"](1)
    command.key("a")
    assert_true(command.is_repeatable)
    command.begin["INCR"](1)
    command.key("a")
    assert_false(command.is_repeatable, "one that changes something is enough")
    command.clear()
    assert_true(command.is_repeatable)
    command.begin_any("hgetall".as_bytes(), 0)
    assert_true(command.is_repeatable)
    command.begin_any("FLUSHALL".as_bytes(), 0)
    assert_false(command.is_repeatable)


def test_names_of_reads() raises:
    for name in ["GET", "get", "HGETALL", "XREAD", "EVAL_RO", "ZUNION", "LCS"]:
        assert_true(is_read(name.as_bytes()), name)
    for name in ["SET", "GETDEL", "GETSET", "XREADGROUP", "GE", "", "GET HGET"]:
        assert_false(is_read(name.as_bytes()), name)


def test_where_keys_are() raises:
    assert_equal(key_place("GET"), 0)
    assert_equal(key_place("PING"), -1)
    assert_equal(key_place("EVAL"), 2)
    assert_equal(key_place("XREADGROUP"), -2)
    assert_equal(key_place("OBJECT"), 1)
    # Names that a program reads may be in any case.
    assert_equal(key_place("get"), 0)
    assert_equal(key_place("ping"), -1)
    assert_equal(key_place("evalsha"), 2)
    assert_equal(key_place("xread"), -2)
