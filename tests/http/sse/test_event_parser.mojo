"""Events of a stream, read (WHATWG HTML sections 9.2.5 and 9.2.6)."""

from flare.bytes.buffer import Buffer
from flare.http.sse.event_hub import ServerSentEvent
from flare.http.sse.event_parser import EventParser
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
from tests.support.guard_page import GuardedBytes


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var stream: StaticString
    # NAME(ID)=DATA, each with a bar behind it.
    var found: StaticString


def _rows() -> List[_Row]:
    return [
        _Row("9.2.6 data", "data: a\n\n", "()=a|"),
        _Row("9.2.6 two lines", "data: a\ndata: b\n\n", "()=a/b|"),
        _Row("9.2.6 no space", "data:a\n\n", "()=a|"),
        _Row("9.2.6 one space goes", "data:  a\n\n", "()= a|"),
        _Row("9.2.6 a tab stays", "data:\ta\n\n", "()=\ta|"),
        _Row("9.2.6 no value", "data\n\n", "()=|"),
        _Row("9.2.6 no value, twice", "data\ndata\n\n", "()=/|"),
        _Row("9.2.6 empty value", "data:\n\n", "()=|"),
        _Row("9.2.6 a colon in it", "data: a:b: c\n\n", "()=a:b: c|"),
        _Row("9.2.6 no data, no event", "event: x\n\ndata: a\n\n", "()=a|"),
        _Row(
            "9.2.6 the type", "event: x\ndata: a\n\ndata: b\n\n", "x()=a|()=b|"
        ),
        _Row("9.2.6 the last type", "event: x\nevent: y\ndata\n\n", "y()=|"),
        _Row(
            "9.2.6 the id stays",
            "id: 1\ndata: a\n\ndata: b\n\n",
            "(1)=a|(1)=b|",
        ),
        _Row("9.2.6 an id alone", "id: 1\n\ndata: b\n\n", "(1)=b|"),
        _Row("9.2.6 an empty id", "id: 1\ndata\n\nid\ndata\n\n", "(1)=|()=|"),
        _Row("9.2.6 an id with NUL", "id: 1\0\ndata: a\n\n", "()=a|"),
        _Row(
            "9.2.6 other fields",
            "x: y\nData: b\n data: c\ndata: a\n\n",
            "()=a|",
        ),
        _Row("9.2.6 comments", ": hello\n:\ndata: a\n:x\n\n", "()=a|"),
        _Row("9.2.6 an end cuts off", "data: a\n\ndata: b\n", "()=a|"),
        _Row("9.2.6 a cut line", "data: a\n\ndata: b", "()=a|"),
        _Row("9.2.5 CR", "data: a\r\rdata: b\r\r", "()=a|()=b|"),
        _Row("9.2.5 CRLF", "data: a\r\ndata: b\r\n\r\n", "()=a/b|"),
        _Row("9.2.5 all three", "data: a\rdata: b\ndata: c\r\n\n", "()=a/b/c|"),
        _Row(
            "9.2.5 CRLF is one end", "data: a\r\n\ndata: b\r\n\r", "()=a|()=b|"
        ),
        _Row("9.2.5 a mark", "\ufeffdata: a\n\n", "()=a|"),
        _Row(
            "9.2.5 one mark alone",
            "\ufeff\ufeffdata: a\n\ndata: b\n\n",
            "()=b|",
        ),
        _Row("9.2.5 a mark within", "data: \ufeff\n\n", "()=\ufeff|"),
        _Row("9.2.5 other letters", "data: né\n\n", "()=né|"),
        _Row("9.2.5 empty lines", "\n\n\r\n\rdata: a\n\n\n", "()=a|"),
        _Row("9.2.5 nothing", "", ""),
    ]


def _read_on(mut parser: EventParser, mut input: Buffer) raises -> String:
    var found = String()
    while parser.advance(input):
        var event = parser.take_event()
        var data = event.data.replace("\n", "/")
        found.write(event.name, "(", event.id, ")=", data, "|")
    return found^


def _read(octets: Span[UInt8, _], piece_len: Int) raises -> String:
    """Reads a stream that comes in pieces."""
    var parser = EventParser()
    var input = Buffer()
    var found = String()
    var start = 0
    while start < len(octets):
        var end = min(start + piece_len, len(octets))
        input.append(octets[start:end])
        found += _read_on(parser, input)
        start = end
    return found^


def test_streams() raises:
    for row in _rows():
        var octets = row.stream.as_bytes()
        assert_equal(_read(octets, len(octets) + 1), row.found, row.rule)


def test_wherever_it_is_cut() raises:
    for row in _rows():
        var octets = row.stream.as_bytes()
        for piece_len in range(1, len(octets)):
            assert_equal(_read(octets, piece_len), row.found, row.rule)


def test_what_is_written_is_read() raises:
    var events = List[ServerSentEvent]()
    events.append(ServerSentEvent("a"))
    events.append(ServerSentEvent("", name="x", id="7"))
    events.append(ServerSentEvent("a\n\nb\n", id="8", retry_ms=5))
    events.append(ServerSentEvent(": no comment", name="né", id="9"))
    var input = Buffer()
    for event in events:
        event.append_to(input)
    var parser = EventParser()
    for event in events:
        assert_true(parser.advance(input))
        var again = parser.take_event()
        assert_equal(again.data, event.data)
        assert_equal(again.name, event.name)
        assert_equal(again.id, event.id)
        assert_equal(again.retry_ms, event.retry_ms)
    assert_false(parser.advance(input))
    assert_equal(parser.last_id, "9")
    assert_equal(parser.retry_ms, 5)


def test_an_id_counts_once_its_event_ends() raises:
    var parser = EventParser(last_id="1")
    var input = Buffer()
    input.append("id: 2\ndata: a\n".as_bytes())
    assert_false(parser.advance(input))
    # Whoever comes back now has not got the event.
    assert_equal(parser.last_id, "1")
    input.append("\n".as_bytes())
    assert_true(parser.advance(input))
    assert_equal(parser.last_id, "2")


def test_times_to_wait() raises:
    for value, wanted in [
        ("0", 0),
        ("3000", 3_000),
        ("007", 7),
        ("1234567890123456789012", 1_000_000_000),
        ("", -1),
        ("-1", -1),
        ("1.5", -1),
        ("+1", -1),
        ("1 ", -1),
        ("x", -1),
    ]:
        var parser = EventParser()
        var input = Buffer()
        input.append(String("retry: ", value, "\n").as_bytes())
        assert_false(parser.advance(input))
        assert_equal(parser.retry_ms, wanted, value)


def test_limits() raises:
    for stream, limit, is_good in [
        ("data: abc\n\n", 9, True),
        ("data: abc\n\n", 8, False),
        # A line without an end.
        ("xxxxxxxxxx", 10, True),
        ("xxxxxxxxxxx", 10, False),
        # Many lines: all that is kept counts.
        ("data: a\ndata: b\n\n", 9, True),
        ("data: a\ndata: b\n\n", 8, False),
        # What is dropped does not.
        (": abc\n: abc\n: abc\ndata: a\n\n", 7, True),
    ]:
        var parser = EventParser(limit)
        var input = Buffer()
        input.append(stream.as_bytes())
        if is_good:
            _ = _read_on(parser, input)
        else:
            with assert_raises(contains="allow more"):
                _ = _read_on(parser, input)


def test_no_octet_is_read_beyond_the_end() raises:
    for row in _rows():
        var guarded = GuardedBytes(row.stream.as_bytes())
        var parser = EventParser()
        var input = Buffer()
        input.append(guarded.span())
        assert_equal(_read_on(parser, input), row.found, row.rule)
