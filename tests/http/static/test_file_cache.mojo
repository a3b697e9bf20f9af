"""What a cache of open files holds, for how long, and how much of it."""

from flare.http.static.file_folder import FILE_CACHE_COUNT_MAX, FileCache
from flare.http.static.file_folder import OpenFile
from flare.sys.file import File
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_false, assert_true


def _file() raises -> ArcPointer[OpenFile]:
    return ArcPointer(OpenFile(File.temporary("/tmp")))


def test_a_file_is_kept_for_its_time() raises:
    var cache = FileCache(100)
    var file = _file()
    cache.keep("a", file, 1_000)
    assert_false(cache.find("b", 1_000))
    var found = cache.find("a", 1_000)
    assert_equal(found.value()[].plain[].fd(), file[].plain[].fd(), "the same")
    assert_true(cache.find("a", 1_099))
    assert_false(cache.find("a", 1_100), "its time is over")


def test_what_has_ended_is_closed_by_any_lookup() raises:
    var cache = FileCache(100)
    var file = _file()
    cache.keep("a", file, 1_000)
    assert_equal(file.count(), 2)
    _ = cache.find("b", 1_050)
    assert_equal(file.count(), 2)
    _ = cache.find("b", 1_200)
    assert_equal(file.count(), 1)
    assert_equal(len(cache), 0)


def test_a_new_file_of_a_path_takes_the_place_of_the_old() raises:
    var cache = FileCache(100)
    var old = _file()
    cache.keep("a", old, 1_000)
    cache.keep("a", _file(), 1_050)
    assert_equal(old.count(), 1)
    assert_equal(len(cache), 1)
    assert_true(cache.find("a", 1_149))


def test_a_full_cache_takes_nothing_until_something_has_ended() raises:
    var cache = FileCache(100)
    var file = _file()
    for index in range(FILE_CACHE_COUNT_MAX + 9):
        cache.keep(String(index), file, 1_000)
    assert_equal(len(cache), FILE_CACHE_COUNT_MAX)
    assert_equal(file.count(), FILE_CACHE_COUNT_MAX + 1)
    assert_true(cache.find("0", 1_050))
    cache.keep("x", file, 1_050)
    assert_false(cache.find("x", 1_050))
    # One that is in may still be replaced.
    cache.keep("0", file, 1_060)
    assert_true(cache.find("0", 1_060))
    assert_false(cache.find("x", 1_150))
    cache.keep("x", file, 1_150)
    assert_true(cache.find("x", 1_150))


def test_forgets_one_and_all() raises:
    var cache = FileCache(100)
    var file = _file()
    cache.keep("a", file, 1_000)
    cache.keep("b", file, 1_000)
    cache.forget("a")
    cache.forget("none")
    assert_false(cache.find("a", 1_000))
    assert_true(cache.find("b", 1_000))
    cache.clear()
    assert_equal(file.count(), 1)


def test_no_time_is_no_cache() raises:
    var cache = FileCache(0)
    var file = _file()
    cache.keep("a", file, 1_000)
    assert_false(cache.find("a", 1_000))
    assert_equal(file.count(), 1)


def test_a_time_without_end_is_one() raises:
    var cache = FileCache(Int.MAX)
    var file = _file()
    cache.keep("a", file, 1_000)
    assert_true(cache.find("a", 1_000))
    assert_true(cache.find("a", 9_000_000_000_000))
