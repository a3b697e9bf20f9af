"""Where the commands of a pipeline belong, and replies put in their order."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.redis.core.command import RedisArg
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.hash_slot import key_slot
from flare.redis.core.parser import ReplyParser
from flare.redis.core.routing import GatheredReplies, route_commands
from flare.redis.pipeline import Pipeline
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


def _slot(pipe: Pipeline) raises -> Int:
    var routed = route_commands(pipe.commands.octets.span())
    assert_equal(len(routed), 1)
    return routed.at(0).slot


def test_each_command_has_the_slot_of_its_key() raises:
    var pipe = Pipeline()
    pipe.set("foo", "bar")
    pipe.get("bar")
    pipe.command("get", "foo")
    pipe.incr("{foo}2")
    pipe.publish("news", "foo")
    var octets = pipe.commands.octets.span()
    var routed = route_commands(octets)
    var keys: List[String] = ["foo", "bar", "foo", "foo", "news"]
    var reads: List[Bool] = [False, True, True, False, False]
    assert_equal(len(routed), 5)
    var end = 0
    for index in range(5):
        assert_equal(routed.at(index).slot, key_slot(keys.at(index).as_bytes()))
        assert_equal(routed.at(index).is_repeatable, reads.at(index))
        assert_equal(routed.at(index).start, end, "one begins behind another")
        end = routed.at(index).end
    assert_equal(end, len(octets))
    _ = pipe^


def test_keys_that_are_not_the_first_argument() raises:
    var rows: List[List[String]] = [
        ["EVAL", "return 1", "1", "foo", "x"],
        ["evalsha", "abc", "1", "foo", "x"],
        ["OBJECT", "ENCODING", "foo", "", ""],
        ["BITOP", "NOT", "foo", "bar", ""],
        ["ZUNION", "1", "foo", "x", ""],
        ["ZINTERCARD", "2", "foo", "foo", "LIMIT"],
        ["MIGRATE", "host", "6379", "foo", "0"],
        ["XREAD", "COUNT", "1", "streams", "foo"],
        ["XREAD", "STREAMS", "foo", "STREAMS", "0"],
        ["XREAD", "StreamS", "foo", "0", ""],
        ["BLMPOP", "0", "1", "foo", "LEFT"],
    ]
    for row in rows:
        var pipe = Pipeline()
        pipe.command(row.at(0), row.at(1), row.at(2), row.at(3), row.at(4))
        assert_equal(_slot(pipe), key_slot("foo".as_bytes()), row.at(0))


def test_the_key_of_a_command_is_where_its_caller_says() raises:
    var words: List[String] = ["a", "foo", "b"]
    var octets: List[List[UInt8]] = [[0x61], [0x66, 0x6F, 0x6F], [0xFF]]
    var mixed: List[RedisArg] = [RedisArg(1), RedisArg("foo"), RedisArg(2.5)]
    var pipe = Pipeline()
    pipe.set("bar", "1")
    pipe.command("MODULE.DO", words, key_index=1)
    pipe.command("module.do", octets, key_index=1)
    pipe.command("EVAL", mixed, key_index=1)
    pipe.command("MODULE.DO", words)
    pipe.get("bar")
    var routed = route_commands(pipe.commands.octets.span(), pipe.given_keys)
    var keys: List[String] = ["bar", "foo", "foo", "foo", "a", "bar"]
    assert_equal(len(routed), 6)
    for index in range(6):
        assert_equal(routed.at(index).slot, key_slot(keys.at(index).as_bytes()))
    pipe.clear()
    pipe.command("MODULE.DO", words, key_index=-1)
    with assert_raises(contains="MODULE.DO, names no key"):
        _ = route_commands(pipe.commands.octets.span(), pipe.given_keys)


def test_commands_without_a_key_are_refused() raises:
    var rows: List[List[String]] = [
        ["PING", ""],
        ["scan", "0"],
        ["EVAL", "return 1"],
        ["XREAD", "STREAMS"],
        ["MULTI", ""],
    ]
    for row in rows:
        var pipe = Pipeline()
        pipe.get("foo")
        pipe.command(row.at(0), row.at(1))
        with assert_raises(contains="command 2 of the pipeline"):
            _ = route_commands(pipe.commands.octets.span())
    var none = Pipeline()
    none.command("EVAL", "return KEYS", "0", "no key")
    with assert_raises(contains="EVAL, names no key"):
        _ = route_commands(none.commands.octets.span())
    var bare = Pipeline()
    bare.command("GET")
    with assert_raises(contains="names no key"):
        _ = route_commands(bare.commands.octets.span())


def test_octets_that_are_no_commands() raises:
    var whole = Pipeline()
    whole.set("foo", "bar")
    var octets = whole.commands.octets.span()
    for end in range(1, len(octets)):
        with assert_raises(contains="of the pipeline"):
            _ = route_commands(octets[0:end])
    for text in ["GET foo\r\n", "*2\r\n$9999999999\r\n", "*x\r\n", "*1\r\n+a"]:
        with assert_raises(contains="no command is at byte"):
            _ = route_commands(text.as_bytes())
    _ = whole^


def _put(
    mut gathered: GatheredReplies, indices: List[Int], text: StringSpan
) raises:
    """Puts the replies of one node, whose octets go then."""
    var buffer = Buffer(64)
    buffer.append(text.as_bytes())
    var parser = ReplyParser()
    parser.begin(len(indices))
    assert_true(parser.advance(buffer.terminate()))
    var replies = parser.all(buffer.span()).__iter__()
    for index in indices:
        gathered.put(index, replies.next())
    _ = parser^
    _ = buffer^


def test_replies_of_several_nodes_in_the_order_of_commands() raises:
    var gathered = GatheredReplies()
    gathered.begin(5)
    _put(gathered, [1, 4], "*2\r\n$1\r\na\r\n*1\r\n:7\r\n$4\r\nlast\r\n")
    _put(gathered, [0, 2, 3], "+OK\r\n_\r\n-MOVED 1 a:1\r\n")
    assert_equal(gathered.error(3).kind.name, "Moved")
    _put(gathered, [3], "%1\r\n+name\r\n$5\r\nthird\r\n")
    gathered.arrange()
    var replies = gathered.lend()
    assert_equal(len(replies), 5)
    assert_equal(replies[0].text(), "OK")
    assert_equal(replies[1][0].text(), "a")
    assert_equal(replies[1][1][0].integer(), 7)
    assert_true(replies[2].is_null())
    assert_equal(replies[3].find("name").value().text(), "third")
    assert_equal(replies[4].text(), "last")
    assert_equal(replies.keep().view()[4].text(), "last")
    _ = gathered^


def test_what_a_connection_failed_with_is_a_reply() raises:
    var gathered = GatheredReplies()
    gathered.begin(2)
    var lost = RedisError(RedisErrorKind.ANSWER_LOST, "it\nended")
    lost.server = "a:1"
    gathered.put_failure(0, lost)
    var refused = RedisError(RedisErrorKind.CONNECT_FAILED, "nobody listens")
    gathered.put_failure(1, refused)
    gathered.arrange()
    var replies = gathered.lend()
    assert_true(replies[0].is_error())
    assert_equal(replies[0].error().kind.name, "AnswerLost")
    assert_equal(replies[0].error().message, "a:1: it\\x0aended")
    assert_true(replies[0].error().may_have_run())
    assert_equal(replies[1].error().kind.name, "ConnectFailed")
    assert_false(replies[1].error().may_have_run())
    _ = gathered^


def test_no_server_can_say_what_the_client_says() raises:
    for text in ["AnswerLost x", "Timeout x", "TIMEOUT x"]:
        assert_equal(RedisError.of_reply(text.as_bytes()).kind.name, "Refused")
