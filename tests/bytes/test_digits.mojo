"""Decimal digits, at their bounds."""

from flare.bytes.digits import (
    read_digits,
    read_saturated,
    read_unsigned,
    seconds_text,
)
from tests.support.assertions import assert_equal


@fieldwise_init
struct _Row(Copyable):
    var text: StaticString
    var of_three: Int
    """What is read of three digits at most."""
    var up_to_500: Int
    """What is read if 500 is the most."""


def test_numbers() raises:
    var rows: List[_Row] = [
        _Row("", -1, -1),
        _Row("0", 0, 0),
        _Row("007", 7, 7),
        _Row("499", 499, 499),
        _Row("501", 501, 500),
        _Row("999", 999, 500),
        _Row("1000", -1, 500),
        _Row("0000", -1, 0),
        _Row("99999999999999999999999999", -1, 500),
        # Octets beside the digits, signs and space are none.
        _Row("1/", -1, -1),
        _Row(":1", -1, -1),
        _Row("+1", -1, -1),
        _Row("-1", -1, -1),
        _Row(" 1", -1, -1),
        _Row("99999999999999999999x", -1, -1),
    ]
    for row in rows:
        assert_equal(read_digits(row.text.as_bytes(), 3), row.of_three)
        assert_equal(read_saturated(row.text.as_bytes(), 500), row.up_to_500)


def test_numbers_of_64_bits() raises:
    var largest = read_unsigned("18446744073709551615".as_bytes())
    assert_equal(largest.value(), UInt64.MAX)
    assert_equal(read_unsigned("00".as_bytes()).value(), 0)
    var others: List[StaticString] = ["", "18446744073709551616", "1x", "-1"]
    for other in others:
        assert_equal(Bool(read_unsigned(other.as_bytes())), False)


def test_the_longest_numbers() raises:
    comptime MOST = 1 << 62
    for text in ["4611686018427387904", "4611686018427387905", "9" * 30]:
        assert_equal(read_saturated(text.as_bytes(), MOST), MOST)
    assert_equal(
        read_saturated("4611686018427387903".as_bytes(), MOST), MOST - 1
    )
    assert_equal(
        read_digits("999999999999999999".as_bytes(), 18),
        999_999_999_999_999_999,
    )


def test_seconds_have_the_digits_that_it_takes() raises:
    var rows: List[Tuple[Int, String]] = [
        (0, "0"),
        (1, "0.000001"),
        (250, "0.00025"),
        (1_000, "0.001"),
        (500_000, "0.5"),
        (1_000_000, "1"),
        (2_500_000, "2.5"),
        (10_000_000, "10"),
        (60_000_001, "60.000001"),
    ]
    for ref row in rows:
        assert_equal(seconds_text(row[0]), row[1])
