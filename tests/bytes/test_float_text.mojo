"""Floats as text: a reader gets the same float (RFC 8259 section 6 has them in
the precision of IEEE 754)."""

from flare.bytes.float_text import float_text
from tests.support.assertions import assert_equal, assert_true


def _is_read_back(number: Float64) raises -> Bool:
    return atof(float_text(number)) == number


def test_large_floats_are_read_back() raises:
    var power = Float64(1 << 50)
    for exponent in range(50, 106):
        for step in range(300):
            var number = power + power * Float64(step) / 300
            assert_true(_is_read_back(number), String(exponent, " ", step))
            assert_true(_is_read_back(-number), String(exponent, " ", step))
        power *= 2


def test_floats_are_short_where_they_may_be() raises:
    var rows: List[Tuple[Float64, String]] = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.5, "1.5"),
        (-7.0, "-7.0"),
        (0.1, "0.1"),
        (9007199254740992.0, "9007199254740992.0"),
        # As 1.805042730650095e+16 it would be its neighbour.
        (18050427306500948.0, "18050427306500948.0"),
        (-18050427306500948.0, "-18050427306500948.0"),
        (1e300, "1e+300"),
    ]
    for index in range(len(rows)):
        assert_equal(float_text(rows[index][0]), rows[index][1])
    assert_equal(float_text(Float64.MAX), "inf")
    assert_equal(float_text(Float64.MIN), "-inf")
