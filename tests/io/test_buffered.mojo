"""Buffered reading: the same whatever pieces the stream comes in."""

from flare.io.buffered import BufReader, BufWriter
from flare.io.stream import MemoryReader, MemoryWriter, Readable, Writable
from tests.support.assertions import assert_equal, assert_true


def _reader(text: StringSpan, piece_len: Int) -> BufReader[MemoryReader]:
    var octets = List[UInt8]()
    octets.extend(text.as_bytes())
    return BufReader(MemoryReader(octets^, piece_len))


@fieldwise_init
struct _Row(Copyable, Movable):
    var text: StaticString
    var lines: StaticString


def test_lines() raises:
    var rows: List[_Row] = [
        _Row("", ""),
        _Row("a", "[a]"),
        _Row("a\n", "[a]"),
        _Row("a\r\nb\n\nc", "[a][b][][c]"),
        _Row("\n\r\n", "[][]"),
        _Row("a\rb\r\n", "[a\rb]"),
        _Row("ä\nö", "[ä][ö]"),
    ]
    for row in rows:
        for piece_len in range(1, 12):
            var reader = _reader(row.text, piece_len)
            var lines = String()
            while True:
                var line = reader.read_line()
                if not line:
                    break
                lines.write("[", line.value(), "]")
            assert_equal(lines, row.lines)


def test_exact_then_rest() raises:
    for piece_len in range(1, 12):
        var reader = _reader("hello world", piece_len)
        assert_equal(String(unsafe_from_utf8=reader.read_exact(5)), "hello")
        assert_equal(len(reader.read_exact(0)), 0)
        assert_equal(String(unsafe_from_utf8=reader.read_all(100)), " world")
        assert_equal(len(reader.read_all(100)), 0)


def test_until_gives_the_end_with_the_piece() raises:
    for piece_len in range(1, 8):
        var reader = _reader("a;bc;d", piece_len)
        assert_equal(String(unsafe_from_utf8=reader.read_until(59)), "a;")
        assert_equal(String(unsafe_from_utf8=reader.read_until(59)), "bc;")
        assert_equal(String(unsafe_from_utf8=reader.read_until(59)), "d")
        assert_equal(len(reader.read_until(59)), 0)


def test_read_serves_the_buffer_first() raises:
    var reader = _reader("abcdef", 4)
    _ = reader.read_exact(1)
    var room = Array[UInt8, 10](fill=0)
    assert_equal(reader.read(Span(room)), 3)
    assert_equal(Int(room[0]), 98)
    assert_equal(reader.read(Span(room)), 2)
    assert_equal(reader.read(Span(room)), 0)


def _line_error(text: StringSpan, limit: Int, piece_len: Int) -> String:
    var reader = _reader(text, piece_len)
    try:
        _ = reader.read_line(limit)
    except error:
        return String(error)
    return ""


def test_limits_hold_whatever_the_pieces() raises:
    for piece_len in range(1, 8):
        assert_equal(_line_error("abc\n", 4, piece_len), "")
        assert_equal(_line_error("abc", 3, piece_len), "")
        assert_true(
            "line is longer than 3" in _line_error("abc\n", 3, piece_len)
        )
        assert_true("longer than 3" in _line_error("abcdef", 3, piece_len))
        var reader = _reader("abcdef", piece_len)
        var message = String()
        try:
            _ = reader.read_all(5)
        except error:
            message = String(error)
        assert_true("longer than 5 bytes" in message, message)


def test_an_early_end_tells_both_counts() raises:
    var reader = _reader("abc", 2)
    try:
        _ = reader.read_exact(5)
    except error:
        assert_true("3 of 5 bytes" in String(error), String(error))
        return
    raise Error("five octets were read from three")


def test_a_line_that_is_no_text() raises:
    var octets: List[UInt8] = [0xFF, 10]
    var reader = BufReader(MemoryReader(octets^))
    try:
        _ = reader.read_line()
    except:
        return
    raise Error("octets that are no UTF-8 became text")


def _message(count: Int) -> String:
    var reader = _reader("abc", 2)
    try:
        _ = reader.read_exact(count)
    except error:
        return String(error)
    return ""


def test_a_negative_count_is_refused() raises:
    assert_true("-1 bytes" in _message(-1), _message(-1))


@fieldwise_init
struct _Lying(Readable):
    """Claims counts that cannot be."""

    var count: Int

    def read(mut self, room: MutSpan[UInt8, _]) raises -> Int:
        return self.count


def _lie(count: Int) -> String:
    var reader = BufReader(_Lying(count))
    try:
        _ = reader.read_exact(1)
    except error:
        return String(error)
    return ""


def test_a_stream_that_lies_is_refused() raises:
    assert_true("claims" in _lie(-1), _lie(-1))
    assert_true("claims" in _lie(1_000_000), _lie(1_000_000))


def test_readers_can_be_stacked() raises:
    var reader = BufReader(_reader("one\ntwo", 2))
    assert_equal(reader.read_line().value(), "one")
    assert_equal(reader.read_line().value(), "two")


def test_small_writes_are_gathered() raises:
    var writer = BufWriter(MemoryWriter(100_000))
    for _ in range(1_000):
        writer.write_all("0123456789".as_bytes())
    var sink = writer^.finish()
    assert_equal(len(sink.octets), 10_000)
    assert_equal(sink.write_count, 2)


def test_short_writes_are_continued() raises:
    for piece_len in [1, 2, 3, 7, 100]:
        var writer = BufWriter(MemoryWriter(piece_len))
        writer.write_all("hello ".as_bytes())
        writer.flush()
        writer.write_all("world".as_bytes())
        var sink = writer^.finish()
        assert_equal(String(unsafe_from_utf8=sink.octets), "hello world")


@fieldwise_init
struct _Failing(Writable):
    """Takes some octets, then fails once."""

    var left: Int

    def write(mut self, octets: Span[UInt8, _]) raises -> Int:
        if self.left == 0:
            self.left = 100
            raise Error("the sink is full")
        self.left -= 1
        return 1


def test_a_failed_flush_is_told_and_may_be_repeated() raises:
    var writer = BufWriter(_Failing(3))
    writer.write_all("hello".as_bytes())
    var message = String()
    try:
        writer.flush()
    except error:
        message = String(error)
    assert_true("full" in message, message)
    writer.flush()
    var sink = writer^.finish()
    assert_equal(sink.left, 98)
