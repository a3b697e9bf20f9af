"""Slots of keys, and the nodes that have them."""

from flare.bytes.buffer import Buffer
from flare.redis.core.hash_slot import (
    SLOT_COUNT,
    SlotMap,
    crc16,
    hash_tag,
    key_slot,
    read_redirection,
    read_slots,
)
from flare.redis.core.parser import ReplyParser
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


def _covered_count(map: SlotMap) -> Int:
    var count = 0
    for slot in range(SLOT_COUNT):
        count += Int(Bool(map.owner(slot)))
    return count


def test_the_checksum_of_the_specification() raises:
    assert_equal(Int(crc16("123456789".as_bytes())), 0x31C3)
    assert_equal(Int(crc16("".as_bytes())), 0)
    assert_equal(key_slot("foo".as_bytes()), 12_182)
    assert_equal(key_slot("bar".as_bytes()), 5_061)


def test_hash_tags() raises:
    var rows: List[List[String]] = [
        ["{user1000}.following", "user1000"],
        ["foo{}{bar}", "foo{}{bar}"],
        ["foo{{bar}}zap", "{bar"],
        ["foo{bar}{zap}", "bar"],
        ["foo{bar", "foo{bar"],
        ["", ""],
        ["}{a}", "a"],
    ]
    for row in rows:
        var tag = hash_tag(row[0].as_bytes().as_imm())
        assert_equal(String(StringSpan(unsafe_from_utf8=tag)), row[1])
        assert_equal(key_slot(row[0].as_bytes()), Int(crc16(tag)) % 16_384)


def test_redirections() raises:
    var moved = read_redirection("MOVED 3999 127.0.0.1:6381")
    assert_equal(moved.slot, 3999)
    assert_equal(moved.host, "127.0.0.1")
    assert_equal(Int(moved.port), 6381)
    var same = read_redirection("ASK 1 :7000")
    assert_equal(same.host, "")
    assert_equal(Int(same.port), 7000)
    assert_equal(read_redirection("MOVED 5 ::1:7001").host, "::1")
    # Redis, cluster-preferred-endpoint-type: no host name is known.
    assert_equal(read_redirection("MOVED 5 ?:7001").host, "")


def test_redirections_that_lead_nowhere() raises:
    for text in [
        "MOVED",
        "MOVED 1",
        "MOVED x 127.0.0.1:1",
        "MOVED 16384 127.0.0.1:1",
        "MOVED 1 127.0.0.1",
        "MOVED 1 127.0.0.1:",
        "MOVED 1 127.0.0.1:70000",
        "MOVED 1 127.0.0.1:1234567890123456789",
        "",
        "   ",
    ]:
        with assert_raises(contains="names no slot"):
            _ = read_redirection(text)


def _read(reply: StaticString) raises -> SlotMap:
    """Reads what a node, which was reached as `asked`, says to CLUSTER SLOTS."""
    var buffer = Buffer(64)
    buffer.append(reply.as_bytes())
    var parser = ReplyParser()
    parser.begin(1)
    assert_true(parser.advance(buffer.terminate()))
    var map = read_slots(parser.first(buffer.span()), "asked")
    _ = parser^
    _ = buffer^
    return map^


def test_a_map_of_slots() raises:
    var map = _read(
        "*2\r\n*3\r\n:0\r\n:5460\r\n*2\r\n$3\r\n1.2\r\n:7000\r\n"
        "*3\r\n:5461\r\n:16383\r\n*2\r\n$0\r\n\r\n:7001\r\n"
    )
    assert_equal(_covered_count(map), 16_384)
    assert_equal(map.owner(5_460).value(), "1.2:7000")
    assert_equal(map.owner(5_461).value(), "asked:7001")
    assert_false(Bool(map.owner(16_384)))
    map.set_owner(7, 7, "1.2:7002")
    assert_equal(map.owner(7).value(), "1.2:7002")
    assert_equal(map.owner(6).value(), "1.2:7000")


def test_nodes_without_a_host_name() raises:
    """Redis, CLUSTER SLOTS: where host names are preferred, `?` stands for one
    that has none; its address is in the metadata behind its id, if it knows it.
    """
    var map = _read(
        # RESP2: names and values in turn.
        "*3\r\n*3\r\n:0\r\n:0\r\n*4\r\n$1\r\n?\r\n:7000\r\n$2\r\nid\r\n"
        "*2\r\n$2\r\nip\r\n$3\r\n1.2\r\n"
        # RESP3: a map.
        "*3\r\n:1\r\n:1\r\n*4\r\n$1\r\n?\r\n:7001\r\n$2\r\nid\r\n"
        "%1\r\n$2\r\nip\r\n$3\r\n1.3\r\n"
        # The one that was asked: it does not know its own address.
        "*3\r\n:2\r\n:2\r\n*4\r\n$1\r\n?\r\n:7002\r\n$2\r\nid\r\n"
        "*2\r\n$2\r\nip\r\n$0\r\n\r\n"
    )
    assert_equal(map.owner(0).value(), "1.2:7000")
    assert_equal(map.owner(1).value(), "1.3:7001")
    assert_equal(map.owner(2).value(), "asked:7002")


def test_slots_beyond_the_last_are_left_out() raises:
    var map = SlotMap()
    map.set_owner(16_380, 99_999, "a:1")
    map.set_owner(-5, 0, "b:1")
    assert_equal(_covered_count(map), 5)


def test_slots_of_a_node_that_cannot_be_reached_have_no_owner() raises:
    """RFC 9293 section 3.1: a port has 16 bits. One that is cut to them would
    be another server's."""
    for port in ["0", "-1", "65536", "72537"]:
        var buffer = Buffer(64)
        buffer.append(
            String(
                "*2\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\na\r\n:",
                port,
                "\r\n*3\r\n:2\r\n:3\r\n*2\r\n$1\r\nb\r\n:7001\r\n",
            ).as_bytes()
        )
        var parser = ReplyParser()
        parser.begin(1)
        assert_true(parser.advance(buffer.terminate()))
        var map = read_slots(parser.first(buffer.span()), "asked")
        _ = parser^
        _ = buffer^
        assert_equal(_covered_count(map), 2, String(port))
        assert_equal(map.owner(3).value(), "b:7001")
