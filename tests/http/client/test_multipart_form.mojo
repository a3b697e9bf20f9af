"""Forms with files: what they are made of, and files that cannot be had."""

from flare.bytes.buffer import Buffer
from flare.http.client.multipart import MultipartForm
from flare.http.client.request import RequestBody
from std.os import remove
from tests.support.assertions import assert_equal, assert_raises
from tests.support.temporary_folder import TemporaryFolder


def _write(path: String, text: String) raises:
    with open(path, "w") as file:
        file.write(text)


def _text(body: RequestBody, start: Int, end: Int) raises -> String:
    var out = Buffer()
    body.append_to(out, start, end)
    return String(from_utf8=out.span())


def test_a_form_is_the_same_from_files_and_from_memory() raises:
    with TemporaryFolder() as folder:
        _write(folder + "/a.txt", "first")
        _write(folder + "/b", "")
        var form = MultipartForm()
        form.add("title", "t")
        form.add_file_from("one", folder + "/a.txt", content_type="text/plain")
        form.add_file_from("two", folder + "/b", filename="else")
        form.add("end", "e")
        var memory = MultipartForm()
        var boundary = form.content_type()
        memory.add("title", "t")
        memory.add_file("one", "a.txt", "first".as_bytes(), "text/plain")
        memory.add_file("two", "else", "".as_bytes())
        memory.add("end", "e")
        var other = memory.content_type()
        var from_files = RequestBody(form^)
        var from_memory = RequestBody(memory^)
        assert_equal(from_files.content_len(), from_memory.content_len())
        var expected = _text(from_memory, 0, from_memory.content_len())
        expected = expected.replace(
            String(other.removeprefix("multipart/form-data; boundary=")),
            String(boundary.removeprefix("multipart/form-data; boundary=")),
        )
        var length = from_files.content_len()
        assert_equal(_text(from_files, 0, length), expected)
        # Cut anywhere, and read again.
        for cut in range(length + 1):
            var text = _text(from_files, 0, cut)
            text += _text(from_files, cut, length)
            assert_equal(text, expected)


def test_files_that_cannot_be_had() raises:
    with TemporaryFolder() as folder:
        var form = MultipartForm()
        with assert_raises(contains="SourceFailed: "):
            form.add_file_from("f", folder + "/none")
        with assert_raises(contains="no file that holds octets"):
            form.add_file_from("f", folder + "/.")
        # A file that becomes shorter, or goes, is told when it is read.
        _write(folder + "/a", "12345")
        form.add_file_from("f", folder + "/a")
        _write(folder + "/a", "1234")
        var body = RequestBody(form^)
        with assert_raises(contains="shorter than when it was added"):
            _ = _text(body, 0, body.content_len())
        remove(folder + "/a")
        var later = body.copy()
        with assert_raises(contains="SourceFailed: "):
            _ = _text(later, 0, later.content_len())
