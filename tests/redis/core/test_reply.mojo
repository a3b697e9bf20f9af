"""What a reply tells, and what it refuses to tell."""

from flare.redis.core.error import RedisErrorKind
from flare.redis.core.reply import read_integer
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
from tests.support.redis_log import kept_reply


def test_texts_and_numbers() raises:
    assert_equal(String(kept_reply("$2\r\nab\r\n").view().text()), "ab")
    assert_equal(kept_reply(":42\r\n").view().integer(), 42)
    assert_equal(kept_reply("$2\r\n42\r\n").view().integer(), 42)
    assert_equal(kept_reply(",1.5\r\n").view().number(), 1.5)
    assert_equal(kept_reply("$4\r\n-2.5\r\n").view().number(), -2.5)
    assert_equal(kept_reply(":3\r\n").view().number(), 3.0)
    assert_true(kept_reply("#t\r\n").view().boolean())
    assert_false(kept_reply(":0\r\n").view().boolean())
    assert_true(kept_reply("$-1\r\n").view().is_null())


def test_attributes_are_passed_over_however_many_there_are() raises:
    """RESP3: attributes stand before the reply that they are about, and who does
    not know them takes that one."""
    var attribute = "|1\r\n+k\r\n+v\r\n"
    for count in range(4):
        var before = attribute * count
        assert_equal(kept_reply(before + ":7\r\n").view().integer(), 7)
        var list = kept_reply(
            String("*2\r\n", before, ":7\r\n", before, ":8\r\n")
        )
        assert_equal(list.view()[0].integer(), 7)
        assert_equal(list.view()[1].integer(), 8)


def test_what_is_something_else() raises:
    with assert_raises(contains="is a text, and not a whole number"):
        _ = kept_reply("$1\r\na\r\n").view().integer()
    with assert_raises(contains="is null, and not a text"):
        _ = kept_reply("_\r\n").view().text()
    with assert_raises(contains="is a list of replies, and not a text"):
        _ = kept_reply("*0\r\n").view().text()
    with assert_raises(contains="is a text, and not a number"):
        _ = kept_reply("$3\r\n1 2\r\n").view().number()
    with assert_raises(contains="no UTF-8"):
        var kept = kept_reply("$1\r\nx\r\n")
        kept._octets[0] = 0xFF
        _ = kept.view().text()


def test_an_error_is_raised_when_it_is_read() raises:
    var kept = kept_reply("*1\r\n-WRONGTYPE no\x1b\r\n")
    var error = kept.view()[0]
    assert_true(error.is_error())
    assert_true(error.error().kind == RedisErrorKind.WRONG_TYPE)
    assert_equal(error.error().message, "WRONGTYPE no\\x1b")
    with assert_raises(contains="WRONGTYPE"):
        _ = error.text()


def test_kinds_by_code() raises:
    assert_true(RedisErrorKind.of_code("MOVED") == RedisErrorKind.MOVED)
    assert_true(RedisErrorKind.of_code("MOVE") == RedisErrorKind.REFUSED)
    assert_true(RedisErrorKind.of_code("") == RedisErrorKind.REFUSED)


def test_elements() raises:
    var kept = kept_reply("*3\r\n*2\r\n:1\r\n:2\r\n+b\r\n*0\r\n")
    var reply = kept.view()
    assert_equal(len(reply), 3)
    assert_equal(reply[0][1].integer(), 2)
    assert_equal(String(reply[1].text()), "b")
    assert_equal(len(reply[2]), 0)
    with assert_raises(contains="holds 3, and not 4"):
        _ = reply[3]
    with assert_raises(contains="holds 0"):
        _ = reply[1][0]
    var count = 0
    for item in reply:
        count += Int(not item.is_null())
    assert_equal(count, 3)


def test_values_by_name() raises:
    for text in [
        "%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n",
        "*4\r\n+a\r\n:1\r\n+b\r\n:2\r\n",
    ]:
        var kept = kept_reply(text)
        assert_equal(kept.view().find("b").value().integer(), 2)
        assert_false(Bool(kept.view().find("c")))


def test_a_part_is_kept_alone() raises:
    var kept = kept_reply("*2\r\n+x\r\n*2\r\n$2\r\nab\r\n:7\r\n")
    var part = kept.view()[1].keep()
    _ = kept^
    assert_equal(String(part.view()[0].text()), "ab")
    assert_equal(part.view()[1].integer(), 7)


def test_integers() raises:
    var number = 5
    for text in ["", "-", "+", "1-", "a", "12345678901234567890", " 1"]:
        assert_false(read_integer(text.as_bytes(), number), text)
    assert_equal(number, 5)
    assert_true(read_integer("-9223372036854775808".as_bytes(), number))
    assert_equal(number, Int.MIN)
    assert_false(read_integer("9223372036854775808".as_bytes(), number))
