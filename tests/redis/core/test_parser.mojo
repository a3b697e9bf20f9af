"""What a parser makes of replies, however they are cut."""

from flare.redis.core.parser import ReplyLimits, ReplyParser
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import guarded_input, terminated_input
from tests.support.redis_log import replies_log


@fieldwise_init
struct _Row(Copyable, Movable):
    """Octets of a server, and the replies within them."""

    var rule: StaticString
    var input: StaticString
    var log: StaticString


def _rows() -> List[_Row]:
    return [
        _Row("RESP2 simple string", "+OK\r\n", "*[+OK]"),
        _Row("RESP2 empty simple string", "+\r\n", "*[+]"),
        _Row("RESP2 error", "-ERR no\r\n", "*[-ERR no]"),
        _Row("RESP2 integer", ":-12\r\n", "*[:-12]"),
        _Row(
            "RESP2 the largest",
            ":9223372036854775807\r\n",
            "*[:9223372036854775807]",
        ),
        _Row(
            "RESP2 the smallest",
            ":-9223372036854775808\r\n",
            "*[:-9223372036854775808]",
        ),
        _Row("RESP2 bulk string", "$5\r\nhe\r\no\r\n", "*[$he\\x0d\\x0ao]"),
        _Row("RESP2 empty bulk string", "$0\r\n\r\n", "*[$]"),
        _Row("RESP2 null bulk string", "$-1\r\n", "*[_]"),
        _Row("RESP2 array", "*2\r\n$1\r\na\r\n:1\r\n", "*[*[$a :1]]"),
        _Row("RESP2 empty array", "*0\r\n", "*[*[]]"),
        _Row("RESP2 null array", "*-1\r\n", "*[_]"),
        _Row("RESP2 nested", "*2\r\n*1\r\n*0\r\n+b\r\n", "*[*[*[*[]] +b]]"),
        _Row("RESP2 null in an array", "*2\r\n$-1\r\n+b\r\n", "*[*[_ +b]]"),
        _Row("RESP3 null", "_\r\n", "*[_]"),
        _Row("RESP3 boolean", "*2\r\n#t\r\n#f\r\n", "*[*[#1 #0]]"),
        _Row("RESP3 double", ",3.25\r\n", "*[,3.25]"),
        _Row("RESP3 big number", "(349285082350\r\n", "*[(349285082350]"),
        _Row("RESP3 bulk error", "!7\r\nERR a\nb\r\n", "*[-ERR a\\x0ab]"),
        _Row("RESP3 verbatim string", "=7\r\ntxt:abc\r\n", "*[=abc]"),
        _Row("RESP3 map", "%1\r\n+a\r\n:1\r\n", "*[%[+a :1]]"),
        _Row("RESP3 set", "~2\r\n+a\r\n+b\r\n", "*[~[+a +b]]"),
        _Row("RESP3 attribute", "|1\r\n+k\r\n+v\r\n:7\r\n", "*[:7]"),
        _Row(
            "RESP3 two attributes",
            "|1\r\n+k\r\n+v\r\n|1\r\n+l\r\n+w\r\n:7\r\n",
            "*[:7]",
        ),
        _Row(
            "RESP3 two attributes within, and one behind",
            "*2\r\n|0\r\n|1\r\n+k\r\n+v\r\n+a\r\n|0\r\n:7\r\n",
            "*[*[+a :7]]",
        ),
        _Row(
            "RESP3 attribute within",
            "*2\r\n+a\r\n|1\r\n+k\r\n*1\r\n:1\r\n:7\r\n",
            "*[*[+a :7]]",
        ),
        _Row("RESP3 push before a reply", ">2\r\n+m\r\n+x\r\n:7\r\n", "*[:7]"),
        _Row(
            "RESP3 push within an array is no element of it",
            "*2\r\n+a\r\n>2\r\n+m\r\n+x\r\n:7\r\n",
            "*[*[+a :7]]",
        ),
        _Row(
            "RESP3 push within a map and a push",
            "%1\r\n>1\r\n>1\r\n+x\r\n+m\r\n+k\r\n>1\r\n+y\r\n:7\r\n",
            "*[%[+k :7]]",
        ),
        _Row("two one after the other", "+a\r\n+b\r\n", "*[+a]*[+b]"),
        _Row("incomplete", "*2\r\n+a\r\n", "?"),
        _Row("no type", "OK\r\n", "<ProtocolError>"),
        _Row("a streamed string", "$?\r\n", "<ProtocolError>"),
        _Row("a negative length", "$-2\r\n", "<ProtocolError>"),
        _Row("a length with a sign", "$+2\r\nab\r\n", "<ProtocolError>"),
        _Row("no length", "*\r\n", "<ProtocolError>"),
        _Row("a length that is none", "*2x\r\n", "<ProtocolError>"),
        _Row("no CR", "+OK\n", "<ProtocolError>"),
        _Row("no LF", "+OK\r+", "<ProtocolError>"),
        _Row("no CRLF behind a value", "$2\r\nabcd", "<ProtocolError>"),
        _Row("no integer", ":1x\r\n", "<ProtocolError>"),
        _Row(
            "an integer too large",
            ":9223372036854775808\r\n",
            "<ProtocolError>",
        ),
        _Row("neither t nor f", "#x\r\n", "<ProtocolError>"),
        _Row("a null with more", "_x\r\n", "<ProtocolError>"),
        _Row(
            "a verbatim string without format",
            "=3\r\nabc\r\n",
            "<ProtocolError>",
        ),
        _Row("the longest", "$290\r\n", "?"),
        _Row("limit: octets", "$300\r\n", "<ReplyTooLarge>"),
        _Row(
            "limit: a length of 20 digits",
            "$99999999999999999999\r\n",
            "<ReplyTooLarge>",
        ),
        _Row("limit: elements said", "*13\r\n", "<ReplyTooLarge>"),
        _Row(
            "limit: pairs said", "%9223372036854775807\r\n", "<ReplyTooLarge>"
        ),
        _Row(
            "limit: the deepest",
            "*1\r\n*1\r\n*1\r\n*1\r\n+a\r\n",
            "*[*[*[*[*[+a]]]]]",
        ),
        _Row(
            "limit: depth", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", "<ReplyTooLarge>"
        ),
        _Row(
            "limit: elements at all depths",
            "*7\r\n*2\r\n:1\r\n:1\r\n*2\r\n:1\r\n:1\r\n*2\r\n:1\r\n:1\r\n*2\r\n:1\r\n:1\r\n",
            "<ReplyTooLarge>",
        ),
    ]


def test_replies_wherever_they_are_cut() raises:
    for row in _rows():
        var octets = row.input.as_bytes()
        var end = len(octets)
        assert_equal(replies_log(octets, [end]), String(row.log), row.rule)
        var each = List[Int]()
        for place in range(1, end + 1):
            each.append(place)
            assert_equal(
                replies_log(octets, [place, end]),
                String(row.log),
                String(row.rule, " cut at ", place),
            )
        assert_equal(replies_log(octets, each), String(row.log), row.rule)


def test_reads_nothing_behind_the_terminator() raises:
    for filler in [UInt8(0x0D), UInt8(0x0A), UInt8(0x31)]:
        for row in _rows():
            var octets = row.input.as_bytes()
            for end in range(1, len(octets)):
                var memory = guarded_input(octets[0:end], filler)
                var parser = ReplyParser(ReplyLimits(300, 12, 4))
                parser.begin(1)
                var is_refused = False
                try:
                    _ = parser.advance(terminated_input(memory, end))
                except error:
                    is_refused = True
                assert_true(not is_refused or row.log.endswith(">"), row.rule)
                assert_true(parser.length() <= end, row.rule)
                _ = memory^


def test_a_pipeline_is_one_list() raises:
    var input = "+a\r\n>1\r\n+p\r\n:2\r\n-ERR c\r\n".as_bytes()
    for cut in range(1, len(input)):
        assert_equal(
            replies_log(input, [cut, len(input)], count=3),
            "*[+a :2 -ERR c]",
        )


def test_a_push_counts_where_it_is_waited_for() raises:
    var input = ">2\r\n+m\r\n+x\r\n+a\r\n".as_bytes()
    assert_equal(
        replies_log(input, [len(input)], takes_pushes=True),
        "*[>[+m +x]]*[+a]",
    )
    input = "*1\r\n>1\r\n+m\r\n:1\r\n".as_bytes()
    assert_equal(
        replies_log(input, [len(input)], takes_pushes=True), "*[*[:1]]"
    )


def test_a_line_has_a_limit() raises:
    var line = "+" + "a" * 65_536
    var limits = ReplyLimits(1 << 20, 12, 4)
    assert_equal(
        replies_log(line.as_bytes(), [line.byte_length()], limits=limits),
        "<ReplyTooLarge>",
    )
    var allowed = "+" + "a" * 65_000 + "\r\n"
    var log = replies_log(
        allowed.as_bytes(), [allowed.byte_length()], limits=limits
    )
    assert_false(log.endswith(">"))


def test_a_full_pipeline_has_no_room_wherever_it_is_cut() raises:
    """Its first replies have all 300 octets that are allowed; what comes behind
    is no RESP, but is not looked at."""
    var text = "+" + "a" * 292 + "\r\n+ab\r\n$1\r\r\n"
    var octets = text.as_bytes()
    var end = len(octets)
    assert_equal(end, 305)
    for cut in range(1, end + 1):
        assert_equal(
            replies_log(octets, [cut, end], count=3),
            "<ReplyTooLarge>",
            String("cut at ", cut),
        )


def test_missing_says_how_much_follows() raises:
    var memory = guarded_input("$100\r\nabc".as_bytes(), 0)
    var parser = ReplyParser()
    parser.begin(1)
    assert_false(parser.advance(terminated_input(memory, 9)))
    assert_equal(parser.missing(), 99)
    _ = memory^
