"""Log lines: what they may hold, and that they never wait for a reader."""

from flare.bytes.checked import *
from flare.sys.descriptor import (
    Descriptor,
    Pipe,
    duplicate_from,
    duplicate_to,
    make_blocking,
    read_into,
)
from flare.sys.errno import EAGAIN
from flare.sys.log import (
    LOG_LINE_LEN_MAX,
    STANDARD_ERROR,
    log_line,
    share_lost_lines,
    write_at_once,
    write_log,
)
from flare.sys.poll import pause
from flare.sys.process import end_process, fork_process, reap
from tests.support.assertions import assert_equal, assert_true


struct Captured(Movable):
    """Standard error of this process, into a pipe that waits when it is full."""

    var pipe: Pipe
    var saved: Descriptor

    def __init__(out self) raises:
        self.pipe = Pipe()
        make_blocking(self.pipe.writing_fd())
        self.saved = duplicate_from(STANDARD_ERROR, 3)
        duplicate_to(self.pipe.writing_fd(), STANDARD_ERROR)

    def read(mut self) raises -> String:
        """Takes what has been written."""
        var text = String()
        var room = List[UInt8](length=4_096, fill=0)
        while True:
            var count = read_into(self.pipe.reading_fd(), room)
            if count <= 0:
                return text^
            text += StringSpan(unsafe_from_utf8=Span(room)[0:count])

    def end(deinit self) raises:
        """Puts standard error back."""
        duplicate_to(self.saved.fd(), STANDARD_ERROR)
        _ = self.saved^
        _ = self.pipe^


def test_a_line_stays_one_line() raises:
    var captured = Captured()
    log_line("plain")
    var plain = captured.read()
    log_line("a\nflare: forged")
    var forged = captured.read()
    log_line("cr\r nul\0 esc\x1b[31m tab\t del\x7f")
    var controls = captured.read()
    log_line("h\u00e4 \\x0a")
    var others = captured.read()
    captured^.end()
    assert_equal(plain, "flare: plain\n")
    assert_equal(forged, "flare: a\\x0aflare: forged\n")
    assert_equal(
        controls,
        "flare: cr\\x0d nul\\x00 esc\\x1b[31m tab\\x09 del\\x7f\n",
    )
    assert_equal(others, "flare: h\\xc3\\xa4 \\x0a\n")


def test_a_line_is_as_long_as_a_pipe_takes_at_once() raises:
    var captured = Captured()
    log_line("x" * 10_000)
    var text = captured.read()
    captured^.end()
    assert_equal(text.byte_length(), LOG_LINE_LEN_MAX)
    assert_true(text.endswith("x...\n"))


def test_a_full_pipe_makes_nobody_wait() raises:
    var pipe = Pipe()
    make_blocking(pipe.writing_fd())
    var line = String("y" * 999) + "\n"
    var taken = 0
    # More than any pipe holds (64 KiB on Linux).
    for _ in range(1_000):
        var count = write_at_once(pipe.writing_fd(), line.as_bytes())
        if count < 0:
            assert_equal(count, -EAGAIN)
            assert_true(taken > 4_096)
            return
        taken += count
    raise Error("the pipe took ", taken, " octets")


def test_what_was_dropped_is_counted_and_told() raises:
    var captured = Captured()
    var line = String("z" * 999) + "\n"
    var sent = 0
    for _ in range(1_000):
        write_log(STANDARD_ERROR, line.as_bytes())
        sent += 1
    var kept = captured.read().byte_length() // 1_000
    log_line("again")
    var text = captured.read()
    log_line("and again")
    var last = captured.read()
    captured^.end()
    assert_true(kept > 4 and kept < sent)
    assert_equal(
        text,
        String(
            "flare: again\nflare: ",
            sent - kept,
            " lines for standard error were dropped, for it took no more\n",
        ),
    )
    assert_equal(last, "flare: and again\n")


def test_a_line_that_was_cut_off_does_not_go_on_as_the_next() raises:
    """A pipe takes a part of a long line; a client could have chosen where."""
    var captured = Captured()
    var line = String("w" * 5_000) + "\n"
    for _ in range(200):
        write_log(STANDARD_ERROR, line.as_bytes())
    var text = captured.read()
    write_log(STANDARD_ERROR, StaticString("next\n").as_bytes())
    text += captured.read()
    write_log(STANDARD_ERROR, StaticString("last\n").as_bytes())
    text += captured.read()
    captured^.end()
    var lines = text.split("\n")
    var count = len(lines)
    assert_true(count > 13)
    assert_true(lines.at(count - 5).byte_length() < 5_000, "one was cut off")
    assert_equal(String(lines.at(count - 4)), "next")
    assert_true(lines.at(count - 3).startswith("flare: "))
    assert_equal(String(lines.at(count - 2)), "last")
    assert_equal(String(lines.at(count - 1)), "")


def test_a_line_that_another_process_has_left_torn_does_not_go_on() raises:
    """Worker processes share standard error: what one has begun there, and
    could not end, is ended by whichever writes next."""
    var captured = Captured()
    share_lost_lines()
    var child = fork_process()
    if child == 0:
        var line = String("w" * 5_000) + "\n"
        for _ in range(200):
            write_log(STANDARD_ERROR, line.as_bytes())
        end_process(0)
    while not reap(child):
        pause(5)
    var text = captured.read()
    write_log(STANDARD_ERROR, StaticString("next\n").as_bytes())
    text += captured.read()
    captured^.end()
    var lines = text.split("\n")
    var count = len(lines)
    # Some whole ones, by how the pipe fills its pages.
    assert_true(count > 5, String(count))
    assert_true(lines.at(count - 4).byte_length() < 5_000, "one was cut off")
    assert_equal(String(lines.at(count - 3)), "next")
    assert_true(lines.at(count - 2).startswith("flare: "))
