"""Uploads: what stays in memory, what goes to files, and what stays behind."""

from flare.bytes.checked import *
from flare.http.multipart.parser import MultipartLimits
from flare.http.extract.upload import (
    FORM_MEMORY_LEN_MAX,
    PART_MEMORY_LEN_MAX,
    FormUpload,
)
from std.os import listdir, mkdir
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
from tests.support.temporary_folder import TemporaryFolder

comptime _TYPE = "multipart/form-data; boundary=b"


def _head(name: StringSpan) -> String:
    return String(
        '--b\r\nContent-Disposition: form-data; name="',
        name,
        '"; filename="x"\r\n\r\n',
    )


def _feed(mut upload: FormUpload, count: Int, octet: UInt8) raises:
    var piece = List[UInt8](length=min(count, 65_536), fill=octet)
    var left = count
    while left > 0:
        upload.receive(Span(piece)[: min(left, len(piece))])
        left -= len(piece)


def test_small_and_large_parts() raises:
    with TemporaryFolder() as folder:
        var upload = FormUpload(_TYPE, MultipartLimits(1 << 30), folder)
        upload.receive(_head("small").as_bytes())
        _feed(upload, PART_MEMORY_LEN_MAX, 97)
        upload.receive(String("\r\n", _head("large")).as_bytes())
        _feed(upload, 3_000_000, 98)
        assert_equal(len(listdir(folder)), 0, "the file has no name")
        upload.receive("c\r\n--b--\r\n".as_bytes())
        upload.finish()
        assert_equal(len(upload.parts), 2)
        assert_equal(upload.find("large"), 1)
        assert_equal(upload.find("none"), -1)
        assert_false(upload.parts.at(0).is_in_file())
        assert_equal(
            upload.parts.at(0).text().byte_length(), PART_MEMORY_LEN_MAX
        )
        ref large = upload.parts.at(1)
        assert_true(large.is_in_file())
        assert_equal(large.memory_len(), 0)
        assert_equal(len(large), 3_000_001)
        var room = List[UInt8](length=4, fill=0)
        assert_equal(large.read_at(Span(room), 2_999_999), 2)
        assert_equal(room.at(0), 98)
        assert_equal(room.at(1), 99)
        assert_equal(large.read_at(Span(room), 5_000_000), 0)
        var text = large.text()
        assert_equal(text.byte_length(), 3_000_001)
        assert_equal(len(listdir(folder)), 0)


def _kept(folder: StringSpan, name: StringSpan) raises -> String:
    with open(String(folder, "/", name), "r") as file:
        return file.read()


def test_parts_are_kept_whole_or_not_at_all() raises:
    with TemporaryFolder() as folder:
        var upload = FormUpload(_TYPE, MultipartLimits(1 << 30))
        upload.receive(
            String(_head("empty"), "\r\n", _head("small")).as_bytes()
        )
        upload.receive(String("tea\r\n", _head("large")).as_bytes())
        _feed(upload, 200_001, 98)
        upload.receive("c\r\n--b--\r\n".as_bytes())
        upload.finish()
        for name in ["empty", "small", "large"]:
            ref part = upload.parts.at(upload.find(name))
            part.save_to(String(folder, "/", name))
            assert_equal(_kept(folder, name), part.text())
        assert_true(upload.parts.at(2).is_in_file())
        # One that is there stays as it is, unless it is to give way.
        with assert_raises(contains="such a file already"):
            upload.parts.at(2).save_to(folder + "/small")
        assert_equal(_kept(folder, "small"), "tea")
        upload.parts.at(1).save_to(folder + "/large", replaces=True)
        assert_equal(_kept(folder, "large"), "tea")
        # Neither success nor failure leaves another name behind.
        assert_equal(len(listdir(folder)), 3)
        with assert_raises(contains="no such file"):
            upload.parts.at(1).save_to(folder + "/none/small")
        mkdir(folder + "/full")
        with assert_raises(contains="rename"):
            upload.parts.at(1).save_to(folder + "/full", replaces=True)
        assert_equal(len(listdir(folder)), 4)


def test_aborted_upload_leaves_nothing() raises:
    with TemporaryFolder() as folder:
        var upload = FormUpload(_TYPE, MultipartLimits(1 << 30), folder)
        upload.receive(_head("large").as_bytes())
        _feed(upload, 1_000_000, 98)
        assert_true(upload.parts.at(0).is_in_file())
        _ = upload^
        assert_equal(len(listdir(folder)), 0)


def test_many_parts_share_the_memory() raises:
    var upload = FormUpload(_TYPE, MultipartLimits(1 << 30))
    var count = FORM_MEMORY_LEN_MAX // PART_MEMORY_LEN_MAX + 5
    for _ in range(count):
        upload.receive(_head("a").as_bytes())
        _feed(upload, PART_MEMORY_LEN_MAX, 97)
        upload.receive("\r\n".as_bytes())
    upload.receive("--b--".as_bytes())
    upload.finish()
    var memory_len = 0
    for index in range(count):
        memory_len += upload.parts.at(index).memory_len()
    assert_equal(memory_len, FORM_MEMORY_LEN_MAX)
    assert_true(upload.parts.at(count - 1).is_in_file())


def test_many_parts_share_one_file() raises:
    """So that no form takes the descriptors of a whole process."""
    var before = len(listdir("/dev/fd"))
    var upload = FormUpload(_TYPE, MultipartLimits(1 << 30))
    var full = FORM_MEMORY_LEN_MAX // PART_MEMORY_LEN_MAX
    for index in range(full + 100):
        upload.receive(_head("a").as_bytes())
        _feed(upload, PART_MEMORY_LEN_MAX if index < full else 3, UInt8(index))
        upload.receive("\r\n".as_bytes())
    upload.receive("--b--".as_bytes())
    upload.finish()
    assert_equal(len(listdir("/dev/fd")), before + 1)
    var part = upload.take(full + 7)
    _ = upload^
    var room = List[UInt8](length=4, fill=0)
    assert_equal(part.read_at(Span(room), 1), 2)
    assert_equal(room.at(1), UInt8(full + 7))
    assert_equal(part.read_at(Span(room), 3), 0)
    _ = part^
    assert_equal(len(listdir("/dev/fd")), before)


def _status(content_type: StringSpan, folder: String, body: StringSpan) -> Int:
    try:
        return _run(content_type, folder, body)
    except:
        return -1


def _run(
    content_type: StringSpan, folder: String, body: StringSpan
) raises -> Int:
    var upload = FormUpload(content_type, MultipartLimits(200_000), folder)
    try:
        upload.receive(body.as_bytes())
        upload.finish()
    except error:
        return error.status
    return 200


def test_errors_have_a_status() raises:
    var large = _head("a") + String("x") * 100_000 + "\r\n--b--"
    assert_equal(_status(_TYPE, "/tmp", large), 200)
    assert_equal(_status(_TYPE, "/nowhere/at/all", large), 500)
    assert_equal(_status(_TYPE, "/tmp", large + String("x") * 100_000), 413)
    assert_equal(_status(_TYPE, "/tmp", _head("a")), 400)
    assert_equal(_status("text/plain", "/tmp", large), -1)
