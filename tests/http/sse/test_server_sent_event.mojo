from flare.bytes.buffer import Buffer
from flare.http.sse.server_sent_event import ServerSentEvent
from std.testing import assert_equal, assert_raises


def _written(event: ServerSentEvent) raises -> String:
    var out = Buffer()
    event.append_to(out)
    return String(from_utf8=out.span())


def _expect(data: StaticString, wanted: StaticString) raises:
    assert_equal(_written(ServerSentEvent(String(data))), String(wanted))


def test_line_ends_of_data_split_it() raises:
    # HTML Standard 9.2.6: CR, LF and CRLF end a line.
    _expect("", "data: \n\n")
    _expect("a", "data: a\n\n")
    _expect(" a ", "data:  a \n\n")
    _expect("a\nb", "data: a\ndata: b\n\n")
    _expect("a\r\nb", "data: a\ndata: b\n\n")
    _expect("a\rb", "data: a\ndata: b\n\n")
    _expect("a\n", "data: a\ndata: \n\n")
    _expect("\n\r\r\n", "data: \ndata: \ndata: \ndata: \n\n")
    _expect("a\n\nid: 7", "data: a\ndata: \ndata: id: 7\n\n")


def test_fields_go_before_the_data() raises:
    assert_equal(
        _written(ServerSentEvent("d", name="n", id="i", retry_ms=20)),
        "id: i\nevent: n\nretry: 20\ndata: d\n\n",
    )


def test_names_and_ids_are_one_line() raises:
    with assert_raises(contains="name of an event has a line end"):
        _ = ServerSentEvent("d", name="a\nb")
    with assert_raises(contains="id of an event has a line end"):
        _ = ServerSentEvent("d", id="a\rb")
    with assert_raises(contains="NUL"):
        _ = ServerSentEvent("d", id="a\0b")
    with assert_raises(contains="retry_ms is -1"):
        _ = ServerSentEvent("d", retry_ms=-1)
