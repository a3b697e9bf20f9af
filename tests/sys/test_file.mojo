"""Files by descriptor: what the system says of them."""

from flare.sys.clock import realtime_ns
from flare.sys.errno import ENODATA
from flare.sys.file import File, PathKind
from std.os import mkdir, remove, symlink
from std.pathlib import Path
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.temporary_folder import TemporaryFolder

comptime _MINUTE_NS = 60_000_000_000


def test_status_tells_kind_length_time_and_name() raises:
    with TemporaryFolder() as path:
        mkdir(path + "/sub")
        Path(path + "/a").write_text("0123456789")
        var folder = File.folder(path)
        var file = folder.open_beneath("a", follows_links=False)
        var status = file.status()
        assert_true(status.is_regular and not status.is_folder)
        assert_true(status.is_linked)
        assert_equal(status.size, 10)
        assert_true(abs(realtime_ns() - status.modified_ns) < _MINUTE_NS)
        Path(path + "/a").write_text("0123")
        assert_equal(file.status().size, 4)
        remove(path + "/a")
        assert_false(file.status().is_linked)
        assert_equal(file.status().size, 4)
        status = folder.open_beneath("sub", follows_links=False).status()
        assert_true(status.is_folder and not status.is_regular)
        assert_true(status.is_linked)


def test_what_stands_at_a_path() raises:
    with TemporaryFolder() as path:
        mkdir(path + "/folder")
        Path(path + "/file").write_text("0")
        for name in ["file", "folder", "nowhere"]:
            symlink(name, path + "/to_" + name)
        var expected: List[Tuple[String, PathKind, PathKind]] = [
            ("file", PathKind.FILE, PathKind.FILE),
            ("folder", PathKind.FOLDER, PathKind.FOLDER),
            ("nowhere", PathKind.NOTHING, PathKind.NOTHING),
            ("to_file", PathKind.LINK, PathKind.FILE),
            ("to_folder", PathKind.LINK, PathKind.FOLDER),
            ("to_nowhere", PathKind.LINK, PathKind.NOTHING),
        ]
        for index in range(len(expected)):
            ref row = expected[index]
            var at = String(path, "/", row[0])
            assert_equal(
                String(PathKind.of(at, follows_links=False)), String(row[1]), at
            )
            assert_equal(
                String(PathKind.of(at, follows_links=True)), String(row[2]), at
            )
    var device = PathKind.of("/dev/null", follows_links=False)
    assert_true(device == PathKind.DEVICE)
    assert_equal(String(device), "a device")


def test_a_temporary_file_has_no_name() raises:
    with TemporaryFolder() as path:
        var file = File.temporary(path)
        file.append("0123".as_bytes())
        assert_equal(file.status().size, 4)
        assert_false(file.status().is_linked)
        var octets = List[UInt8](length=4, fill=0)
        file.read_exactly_at(Span(octets)[:2], 2)
        assert_equal(String(from_utf8=Span(octets)[:2]), "23")
        var number = 0
        try:
            file.read_exactly_at(Span(octets), 1)
        except error:
            number = error.number
        assert_equal(number, ENODATA)
