"""Content that comes piece by piece, read in portions of any length."""

from flare.http.client.piece_reader import PieceReader
from tests.support.assertions import assert_equal, assert_false, assert_true


def _piece(text: StringSpan) -> List[UInt8]:
    return List[UInt8](text.as_bytes())


def _read(
    mut reader: PieceReader, mut piece: List[UInt8], room_len: Int
) raises -> String:
    """Reads once, what is ahead before what is in the piece."""
    var room = List[UInt8](length=room_len, fill=0)
    var count = reader.read_ahead(Span(room))
    if count == 0:
        count = reader.read(piece, Span(room))
    return String(from_utf8=Span(room)[:count])


def test_portions_of_any_length_are_the_content() raises:
    for room_len in range(1, 9):
        var reader = PieceReader()
        var read = String()
        for text in ["ab", "c", "defgh"]:
            var piece = _piece(text)
            while reader.has_more_of(piece):
                read += _read(reader, piece, room_len)
            # Whoever has lent it may fill it again.
            assert_equal(len(piece), 0)
        assert_equal(read, "abcdefgh", String("portions of ", room_len))


def test_what_was_taken_out_comes_first() raises:
    var reader = PieceReader()
    var piece = _piece("abcd")
    assert_equal(_read(reader, piece, 1), "a")
    reader.take_ahead(piece)
    assert_equal(len(piece), 0)
    assert_false(reader.has_more_of(piece))
    piece = _piece("ef")
    assert_true(reader.has_more_of(piece))
    # Never octets of both at once: the piece is asked for when the rest is read.
    assert_equal(_read(reader, piece, 8), "bcd")
    assert_equal(_read(reader, piece, 8), "ef")
    assert_equal(len(piece), 0)


def test_no_room_reads_nothing() raises:
    var reader = PieceReader()
    var piece = _piece("ab")
    assert_equal(_read(reader, piece, 0), "")
    assert_true(reader.has_more_of(piece))
    reader.take_ahead(piece)
    assert_equal(_read(reader, piece, 0), "")
    assert_equal(len(reader.ahead), 2)


def test_all_that_is_left_of_a_piece() raises:
    var reader = PieceReader()
    var piece = _piece("abc")
    assert_equal(_read(reader, piece, 2), "ab")
    var octets = _piece("ab")
    reader.move_all(piece, octets)
    assert_equal(String(from_utf8=octets), "abc")
    assert_equal(len(piece), 0)
    piece = _piece("d")
    assert_true(reader.has_more_of(piece), "from its first octet")
