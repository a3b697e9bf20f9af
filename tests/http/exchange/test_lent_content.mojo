"""Content that lies elsewhere: how a loan begins and ends. How it is sent is tested
with the request that it belongs to."""

from flare.bytes.buffer import Buffer
from flare.http.exchange.outgoing_request import LentContent
from tests.support.assertions import assert_equal

comptime HEAD = "POST / HTTP/1.1\r\n\r\n"
comptime CONTENT = "what is lent to be sent"


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
    assert_equal(
        String(StringSpan(unsafe_from_utf8=output.span())),
        String(HEAD, CONTENT),
    )


def test_a_loan_ends() raises:
    var content = List[UInt8](CONTENT.as_bytes())
    var lent = LentContent()
    assert_equal(len(lent.span()), 0)
    # SAFETY: the list outlives the loan.
    lent.unsafe_begin(Span(content))
    assert_equal(len(lent.span()), len(content))
    lent.end()
    assert_equal(len(lent.span()), 0)
    _ = content^
