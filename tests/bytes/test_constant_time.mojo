"""Comparison in constant time compares."""

from flare.bytes.hash import equals_in_constant_time
from tests.support.assertions import assert_equal


@fieldwise_init
struct _Row(Copyable, Movable):
    var left: StaticString
    var right: StaticString
    var is_equal: Bool


def test_equality() raises:
    var rows: List[_Row] = [
        _Row("", "", True),
        _Row("a", "a", True),
        _Row("secret", "secret", True),
        _Row("secret", "secreT", False),
        _Row("secret", "Secret", False),
        _Row("secret", "secre", False),
        _Row("secret", "secretsecret", False),
        _Row("", "a", False),
        _Row("a", "", False),
    ]
    for row in rows:
        assert_equal(
            equals_in_constant_time(row.left.as_bytes(), row.right.as_bytes()),
            row.is_equal,
            String(row.left, "/", row.right),
        )
