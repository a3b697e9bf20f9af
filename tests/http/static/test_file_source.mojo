"""Content in a file: regions and texts in turn, read or sent as they lie."""

from flare.bytes.buffer import Buffer
from flare.http.conditional.range import ByteRange, ByterangesLayout
from flare.http.message.body import BodyStream, Poll
from flare.http.static.file_source import FileSource
from flare.sys.file import File
from tests.support.temporary_folder import TemporaryFolder
from std.memory import ArcPointer
from std.pathlib import Path
from std.testing import assert_equal, assert_true


def _open(folder: String) raises -> ArcPointer[File]:
    Path(folder + "/a.txt").write_text("0123456789")
    return ArcPointer(
        File.folder(folder).open_beneath("a.txt", follows_links=False)
    )


def _send(mut stream: BodyStream, step: Int) raises -> String:
    """Takes all, regions by parts of a length, and the rest as it is made."""
    var out = Buffer()
    var file = List[UInt8]("0123456789".as_bytes())
    while True:
        var region = stream.region().first(step)
        if region.length > 0:
            out.append(file[region.offset : region.offset + region.length])
            stream.advance(region.length)
        elif stream.fill(out) == Poll.DONE:
            return String(from_utf8=out.span())


def test_one_range() raises:
    with TemporaryFolder() as folder:
        for step in range(1, 8):
            var source = FileSource(_open(folder), ByteRange(3, 5))
            var stream = BodyStream(source^, 5)
            assert_equal(stream.region().offset, 3)
            assert_equal(stream.region().length, 5)
            assert_true(stream.region().number >= 0)
            assert_equal(_send(stream, step), "34567")
            assert_equal(stream.region().length, 0)


def test_several_ranges() raises:
    with TemporaryFolder() as folder:
        var layout = ByterangesLayout(
            [ByteRange(8, 2), ByteRange(0, 1)],
            10,
            "text/plain",
            Array[UInt8, 16](fill=7),
        )
        var read = Buffer()
        var source = FileSource(_open(folder), layout)
        while source.fill(read) != Poll.DONE:
            pass
        var whole = String(from_utf8=read.span())
        assert_equal(whole.byte_length(), layout.content_length())
        for step in range(1, 4):
            var stream = BodyStream(FileSource(_open(folder), layout), None)
            # A text comes first.
            assert_equal(stream.region().length, 0)
            assert_equal(_send(stream, step), whole)


def test_a_region_that_cannot_be_sent_is_read() raises:
    with TemporaryFolder() as folder:
        var source = FileSource(_open(folder), ByteRange(0, 10))
        source.advance(4)
        var out = Buffer()
        assert_true(source.fill(out) == Poll.DONE)
        assert_equal(String(from_utf8=out.span()), "456789")


def test_regions() raises:
    with TemporaryFolder() as folder:
        var source = FileSource(_open(folder), ByteRange(2, 8))
        var region = source.region()
        assert_equal(region.first(3).length, 3)
        assert_equal(region.first(3).offset, 2)
        assert_equal(region.first(100).length, 8)
        assert_equal(region.after(3).offset, 5)
        assert_equal(region.after(3).length, 5)
        assert_equal(region.after(8).length, 0)
