"""Files that change while they are kept open, and descriptors that run out."""

from flare.bytes.buffer import Buffer
from flare.http.conditional.range import ByteRange, ByterangesLayout
from flare.http.message.body import BodyStream, Poll
from flare.http.static.file_folder import FileFolder, FileSource
from flare.sys.clock import Deadline
from flare.sys.descriptor import Descriptor, Pipe, duplicate_from
from flare.sys.errno import EMFILE
from flare.sys.file import File
from flare.sys.process import descriptor_limit, set_descriptor_limit
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
from tests.support.temporary_folder import TemporaryFolder
from std.memory import ArcPointer
from std.os import makedirs, remove, symlink
from std.pathlib import Path
from std.subprocess import run

comptime _LONG_MS = 3_600_000


def _folder(path: String, *, cache_ms: Int = _LONG_MS) raises -> FileFolder:
    return FileFolder(
        path, follows_links=False, finds_coded=True, cache_ms=cache_ms
    )


def _write(folder: String, name: StringSpan, text: StringSpan) raises:
    Path(String(folder, "/", name)).write_text(text)


def _rename(old: String, new: String) raises:
    _ = run(String("mv -f '", old, "' '", new, "'"))


def _text(folder: FileFolder, name: String) raises -> String:
    """Reads all of a file as long as it is said to be; "-" if there is none."""
    var found = folder.find(name)
    if not found:
        return "-"
    var octets = List[UInt8](length=found.value().status.size, fill=0)
    found.value().file[].plain[].read_exactly_at(octets, 0)
    return String(from_utf8=octets)


def _number(folder: FileFolder, name: String) raises -> Int32:
    return folder.find(name).value().file[].plain[].fd()


def test_a_file_stays_open() raises:
    with TemporaryFolder() as path:
        _write(path, "a", "one")
        var folder = _folder(path)
        var held = folder.find("a")
        assert_equal(_number(folder, "a"), held.value().file[].plain[].fd())
        var eager = _folder(path, cache_ms=0)
        var first = eager.find("a")
        assert_false(_number(eager, "a") == first.value().file[].plain[].fd())
        _ = held^
        _ = first^


def test_changes_are_noticed_at_once() raises:
    with TemporaryFolder() as path:
        var folder = _folder(path)
        _write(path, "a", "one")
        assert_equal(_text(folder, "a"), "one")
        _write(path, "a", "longer")
        assert_equal(_text(folder, "a"), "longer", "written in place")
        _write(path, "a", "")
        assert_equal(_text(folder, "a"), "", "cut")
        _write(path, "new", "two")
        _rename(path + "/new", path + "/a")
        assert_equal(_text(folder, "a"), "two", "replaced")
        remove(path + "/a")
        assert_equal(_text(folder, "a"), "-", "removed")
        _write(path, "a", "three")
        assert_equal(_text(folder, "a"), "three", "there again")


def test_neighbours_that_go_are_noticed_at_once() raises:
    with TemporaryFolder() as path:
        var folder = _folder(path)
        _write(path, "a", "plain")
        _write(path, "a.br", "br")
        _write(path, "a.gz", "gz")
        assert_equal(len(folder.find("a").value().file[].codings()), 2)
        for name in ["a.br", "a.gz"]:
            var count = len(folder.find("a").value().file[].codings())
            remove(String(path, "/", name))
            var found = folder.find("a")
            assert_equal(len(found.value().file[].codings()), count - 1, name)


def test_what_moves_away_is_noticed_when_the_time_is_over() raises:
    with TemporaryFolder() as path:
        var folder = _folder(path, cache_ms=20)
        _write(path, "a", "one")
        assert_equal(_text(folder, "a"), "one")
        _rename(path + "/a", path + "/b")
        _write(path, "b.gz", "gz")
        var deadline = Deadline(10_000)
        while _text(folder, "a") != "-" and deadline.left_ms() > 0:
            pass
        assert_equal(_text(folder, "a"), "-")
        assert_equal(len(folder.find("b").value().file[].codings()), 1)


def test_a_folder_stays_the_same_when_it_is_renamed() raises:
    """As when a link to the current release is set to the next one."""
    with TemporaryFolder() as path:
        makedirs(path + "/old/sub")
        _write(path, "old/sub/b", "")
        _write(path, "old/sub/a", "")
        var folder = _folder(path + "/old")
        _rename(path + "/old", path + "/older")
        makedirs(path + "/old")
        assert_equal(folder.names("sub"), ["a", "b"])
        assert_equal(folder.names(""), ["sub"])


def test_a_folder_is_not_listed_through_a_link() raises:
    with TemporaryFolder() as path:
        symlink("/", path + "/link")
        with assert_raises():
            _ = _folder(path).names("link")


def test_a_response_keeps_its_file() raises:
    """What was found goes on, whatever becomes of the name."""
    with TemporaryFolder() as path:
        var folder = _folder(path)
        _write(path, "a", "one")
        var found = folder.find("a")
        remove(path + "/a")
        assert_equal(_text(folder, "a"), "-")
        var octets = List[UInt8](length=3, fill=0)
        found.value().file[].plain[].read_exactly_at(octets, 0)
        assert_equal(String(from_utf8=octets), "one")


def _use_up(mut hoard: List[Descriptor], pipe: Pipe):
    while True:
        var copy = duplicate_from(pipe.reading_fd(), 0)
        if not copy.is_open():
            return
        hoard.append(copy^)


def _errno_of_status(folder: FileFolder, name: String) -> Int:
    try:
        return 0 if folder.status(name) else -1
    except error:
        return error.number


def test_the_cache_gives_way_when_descriptors_run_out() raises:
    with TemporaryFolder() as path:
        var folder = _folder(path)
        for name in ["a", "b", "c"]:
            _write(path, name, name)
        assert_equal(_text(folder, "a") + _text(folder, "b"), "ab")
        var pipe = Pipe()
        var hoard = List[Descriptor]()
        var limit = descriptor_limit()
        set_descriptor_limit(300)
        _use_up(hoard, pipe)
        var of_found = _errno_of_status(folder, "c")
        _use_up(hoard, pipe)
        # Nothing is left to give way: that is an error, not a missing file.
        var of_refused = _errno_of_status(folder, "c")
        _ = hoard^
        _ = pipe^
        set_descriptor_limit(limit)
        assert_equal(of_found, 0)
        assert_equal(of_refused, EMFILE)
        assert_equal(_text(folder, "a"), "a")


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
