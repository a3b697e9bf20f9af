"""What a client was not ready to take."""

from flare.http.message.body import Body
from flare.http.server.connection import Tail
from std.testing import assert_equal, assert_true


@fieldwise_init
struct _Row(Copyable):
    var taken: Int
    var octets: StaticString
    var content: StaticString


def test_a_tail_keeps_what_was_not_taken() raises:
    comptime rows = [
        _Row(0, "head", "body"),
        _Row(1, "ead", "body"),
        _Row(4, "", "body"),
        _Row(6, "", "dy"),
        _Row(8, "", ""),
    ]
    for row in materialize[rows]():
        var tail = Tail(Body("body"), "head".as_bytes(), row.taken)
        _check(tail, row)
        # The same, taken from a whole tail.
        tail = Tail(Body("body"), "head".as_bytes(), 0)
        tail.drop(row.taken)
        _check(tail, row)


def _check(tail: Tail, row: _Row) raises:
    assert_equal(StringSpan(from_utf8=tail.octets.span()), row.octets)
    assert_equal(StringSpan(from_utf8=tail.content()), row.content)
    assert_equal(tail.is_empty(), row.taken == 8)


def test_an_empty_tail() raises:
    assert_true(Tail().is_empty())
