"""What hubs tell each other, as octets."""

from flare.backplane.message import (
    MESSAGE_HEAD_LEN,
    MessageKind,
    parse_message,
    write_message,
)
from flare.bytes.buffer import Buffer
from tests.support.assertions import assert_equal, assert_false, assert_true


def _written(
    kind: MessageKind, room: StringSpan, id: StringSpan, payload: StringSpan
) -> Buffer:
    var out = Buffer()
    write_message(out, kind, 0xF00D, 7, room, id, payload.as_bytes())
    return out^


def test_what_is_written_is_read() raises:
    for kind in [MessageKind.TEXT, MessageKind.BINARY, MessageKind.EVENT]:
        for room in ["", "red", "Küche"]:
            for id in ["", "1-0"]:
                for payload in ["", "x", "data: a\n\n"]:
                    var out = _written(kind, room, id, payload)
                    var found = parse_message(out.span()).value()
                    assert_true(found.kind == kind)
                    assert_equal(found.origin, 0xF00D)
                    assert_equal(found.sequence, 7)
                    assert_equal(String(found.room()), room)
                    assert_equal(String(found.id()), id)
                    assert_equal(
                        StringSpan(unsafe_from_utf8=found.payload()), payload
                    )


def test_what_is_cut_is_none() raises:
    var out = _written(MessageKind.TEXT, "room", "id", "")
    for length in range(len(out)):
        assert_false(Bool(parse_message(out.span()[:length])), String(length))
    assert_true(Bool(parse_message(out.span())))


@fieldwise_init
struct _Row(Copyable, Movable):
    var name: String
    var place: Int
    var octet: UInt8


def test_what_is_wrong_is_none() raises:
    var rows: List[_Row] = [
        _Row("another version", 0, 2),
        _Row("no kind", 1, 0),
        _Row("a kind behind the last of messages", 1, 7),
        _Row("a kind behind the last of members", 1, 21),
        _Row("a room beyond the end", 3, 1),
        _Row("an id beyond the end", 5, 1),
        _Row("a number that is too large", 23, 0x40),
        _Row("a number below the first, which is 1", 16, 0),
        _Row("a room that is no UTF-8", MESSAGE_HEAD_LEN, 0xFF),
        _Row("an id that is no UTF-8", MESSAGE_HEAD_LEN + 4, 0xC3),
        _Row("a text that is no UTF-8", MESSAGE_HEAD_LEN + 6, 0x80),
    ]
    for row in rows:
        var out = _written(MessageKind.TEXT, "room", "id", "text")
        var octets = List[UInt8]()
        octets.extend(out.span())
        octets[row.place] = row.octet
        assert_false(Bool(parse_message(Span(octets))), row.name)


def test_octets_need_not_be_text() raises:
    var out = Buffer()
    var payload: List[UInt8] = [0xFF, 0x00, 0xC3]
    write_message(out, MessageKind.BINARY, 1, 1, "", "", payload)
    assert_equal(len(parse_message(out.span()).value().payload()), 3)
