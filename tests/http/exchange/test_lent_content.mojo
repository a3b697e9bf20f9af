"""Sending of a request's head and of content that lies elsewhere: however much the
connection takes at once, the same octets go out in the same order."""

from flare.bytes.buffer import Buffer
from flare.http.exchange.lent_content import (
    LentContent,
    OctetSink,
    send_output,
)
from flare.sys.errno import EAGAIN, EPIPE
from tests.support.assertions import assert_equal, assert_true

comptime HEAD = "POST / HTTP/1.1\r\n\r\n"
comptime CONTENT = "what is lent to be sent"


struct Narrow(OctetSink):
    """Takes so many octets, then none once, and so on."""

    var got: Buffer
    var room_len: Int
    var left_len: Int
    var two_count: Int

    def __init__(out self, room_len: Int):
        self.got = Buffer(0)
        self.room_len = room_len
        self.left_len = room_len
        self.two_count = 0

    def send(mut self, octets: Span[UInt8, _]) -> Int:
        assert_nonempty(len(octets))
        var count = min(len(octets), self.left_len)
        if count == 0:
            self.left_len = self.room_len
            return -EAGAIN
        self.left_len -= count
        self.got.append(octets[:count])
        return count

    def send_two(
        mut self, first: Span[UInt8, _], second: Span[UInt8, _]
    ) -> Int:
        assert_nonempty(len(second))
        self.two_count += 1
        var count = self.send(first)
        if count < len(first) or self.left_len == 0:
            return count
        return count + self.send(second)

    def flush(mut self) -> Int:
        return 0


def assert_nonempty(length: Int):
    debug_assert[assert_mode="safe"](length > 0, "a piece without octets")


struct Broken(OctetSink):
    """Takes nothing any more."""

    def __init__(out self):
        pass

    def send(mut self, octets: Span[UInt8, _]) -> Int:
        return -EPIPE

    def send_two(
        mut self, first: Span[UInt8, _], second: Span[UInt8, _]
    ) -> Int:
        return -EPIPE

    def flush(mut self) -> Int:
        return 0


def text_of(buffer: Buffer) -> String:
    return String(StringSpan(unsafe_from_utf8=buffer.span()))


def test_a_cut_at_each_octet() raises:
    var whole = String(HEAD, CONTENT)
    for room_len in range(1, whole.byte_length() + 2):
        var sink = Narrow(room_len)
        var output = Buffer(0)
        output.append(HEAD.as_bytes())
        var content = String(CONTENT)
        var lent = LentContent()
        # SAFETY: the text outlives the loan.
        lent.unsafe_begin(content.as_bytes())
        var sent_len = 0
        for _ in range(whole.byte_length() + 1):
            var result = send_output(sink, output, lent.span(), sent_len)
            assert_equal(sent_len, len(sink.got))
            assert_equal(text_of(sink.got), String(whole[byte=:sent_len]))
            if result == 0:
                break
            assert_equal(result, -EAGAIN)
        assert_equal(text_of(sink.got), whole)
        assert_true(sink.two_count > 0)
        lent.end(sent_len)
        _ = content^


def test_without_a_loan() raises:
    var sink = Narrow(100)
    var output = Buffer(0)
    output.append(HEAD.as_bytes())
    var sent_len = 0
    assert_equal(send_output(sink, output, LentContent().span(), sent_len), 0)
    assert_equal(text_of(sink.got), HEAD)
    assert_equal(sink.two_count, 0)


def test_what_fails_changes_nothing() raises:
    var output = Buffer(0)
    output.append(HEAD.as_bytes())
    for start in [0, HEAD.byte_length(), HEAD.byte_length() + 3]:
        var content = String(CONTENT)
        var lent = LentContent()
        # SAFETY: the text outlives the loan.
        lent.unsafe_begin(content.as_bytes())
        var sent_len = start
        var sink = Broken()
        assert_equal(send_output(sink, output, lent.span(), sent_len), -EPIPE)
        assert_equal(sent_len, start)
        lent.end(sent_len)
        _ = content^


def test_a_loan_ends_with_a_copy() raises:
    var output = Buffer(0)
    output.append(HEAD.as_bytes())
    var content = List[UInt8](CONTENT.as_bytes())
    var lent = LentContent()
    # SAFETY: the list outlives the loan.
    lent.unsafe_begin(Span(content))
    assert_equal(len(lent), len(content))
    lent.move_to(output)
    assert_equal(len(lent), 0)
    for ref octet in content:
        octet = 0
    assert_equal(text_of(output), String(HEAD, CONTENT))
