"""Content as a stream, where it is in memory."""

from flare.http.message.owned_request import OwnedRequest
from flare.io.buffered import BufReader
from tests.support.assertions import assert_equal


def _owned(content: StringSpan) -> OwnedRequest:
    var owned = OwnedRequest("POST", "/")
    owned.body.extend(content.as_bytes())
    return owned^


def test_content_in_memory_is_read_to_its_end() raises:
    var owned = _owned("abcdef")
    var reader = owned.view().body_reader()
    var room = List[UInt8](length=4, fill=0)
    assert_equal(reader.read(Span(room)), 4)
    assert_equal(StringSpan(from_utf8=room), "abcd")
    assert_equal(reader.read(Span(room)), 2)
    assert_equal(StringSpan(from_utf8=Span(room)[:2]), "ef")
    assert_equal(reader.read(Span(room)), 0)
    assert_equal(reader.read(Span(room)), 0)


def test_all_at_once_has_a_limit() raises:
    var owned = _owned("abcdef")
    var reader = owned.view().body_reader()
    assert_equal(len(reader.read_all(6)), 6)
    reader = owned.view().body_reader()
    var status = 0
    try:
        _ = reader.read_all(5)
    except error:
        status = error.status
        assert_equal(
            String(error),
            "the request's content: it is longer than 5 octets",
        )
    assert_equal(status, 413)


def test_lines_of_content() raises:
    var owned = _owned("one\ntwo\n")
    var lines = BufReader(owned.view().body_reader())
    assert_equal(lines.read_line().value(), "one")
    assert_equal(lines.read_line().value(), "two")
