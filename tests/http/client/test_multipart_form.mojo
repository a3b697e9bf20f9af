"""Forms with files: what they are made of, and files that cannot be had."""

from flare.bytes.buffer import Buffer
from flare.http.client.message.multipart import MultipartForm
from flare.http.client.message.request import RequestBody
from flare.sys.mutex import Mutex
from flare.sys.thread import Task, Thread
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


comptime _READ_COUNT = 2_000


@fieldwise_init
struct _Reading(Task):
    """Reads a form again and again, and counts what is another one."""

    var body: RequestBody
    var expected: String
    var wrong_count: Mutex[Int]

    def run(mut self) raises:
        for _ in range(_READ_COUNT):
            var text = String()
            try:
                text = _text(self.body, 0, self.body.content_len())
            except:
                # Counted with the rest.
                pass
            if text != self.expected:
                self.wrong_count.lock()[] += 1


def test_threads_may_send_copies_of_a_form() raises:
    """A `SharedClient` is for many threads, and a request is copied for each."""
    with TemporaryFolder() as folder:
        _write(folder + "/a", "first" * 50)
        _write(folder + "/b", "other" * 50)
        var form = MultipartForm()
        form.add_file_from("one", folder + "/a")
        form.add_file_from("two", folder + "/b")
        var body = RequestBody(form^)
        var expected = _text(body, 0, body.content_len())
        var wrong_count = Mutex(0)
        var threads = List[Thread]()
        for _ in range(3):
            threads.append(Thread(_Reading(body.copy(), expected, wrong_count)))
        while len(threads) > 0:
            threads.pop().join()
        assert_equal(wrong_count.lock()[], 0)


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
