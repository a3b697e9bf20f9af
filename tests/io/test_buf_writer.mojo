"""Buffered writing: nothing is lost, and small writes are gathered."""

from flare.io.buf_writer import BufWriter
from flare.io.stream import MemoryWriter, Writable
from std.testing import assert_equal, assert_true


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


struct _Failing(Writable):
    """Takes some octets, then fails once."""

    var left: Int

    def __init__(out self, left: Int):
        self.left = left

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
