"""Tests which value each number gets (RFC 8259 section 6)."""

from flare.json.error import JsonErrorKind
from flare.json.kind import JsonKind
from flare.json.value import parse
from std.memory import bitcast
from std.testing import assert_equal, assert_true


@fieldwise_init
struct _Integer(Copyable, Movable):
    var text: StaticString
    var value: Int


@fieldwise_init
struct _Float(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    var bits: UInt64


def test_integers_are_exact() raises:
    var rows: List[_Integer] = [
        _Integer("0", 0),
        _Integer("-0", 0),
        _Integer("-1", -1),
        _Integer("9007199254740993", 9007199254740993),
        _Integer("999999999999999999", 999999999999999999),
        _Integer("9223372036854775807", Int.MAX),
        _Integer("-9223372036854775808", Int.MIN),
    ]
    for row in rows:
        var value = parse(row.text)
        assert_true(value.kind() == JsonKind.INT, row.text)
        assert_equal(value.int_value(), row.value, row.text)


def test_floats_are_the_nearest() raises:
    # The bits were made by a correctly rounding conversion.
    var rows: List[_Float] = [
        _Float("fraction", "0.1", 0x3FB999999999999A),
        _Float("exponent", "1e2", 0x4059000000000000),
        _Float("capital, plus", "1E+2", 0x4059000000000000),
        _Float("negative exponent", "-25e-1", 0xC004000000000000),
        _Float("negative zero", "-0.0", 0x8000000000000000),
        _Float("zero with a huge exponent", "0e999999999999", 0),
        _Float("greatest exact power", "1e22", 0x4480F0CF064DD592),
        _Float("power beyond", "1e23", 0x44B52D02C7E14AF6),
        _Float("above Int64", "9223372036854775808", 0x43E0000000000000),
        _Float("below Int64", "-9223372036854775809", 0xC3E0000000000000),
        _Float("above UInt64", "18446744073709551616", 0x43F0000000000000),
        _Float("tie to even", "9007199254740993.0", 0x4340000000000000),
        _Float(
            "just above the tie",
            "9007199254740993.00000000000000000000001",
            0x4340000000000001,
        ),
        _Float("greatest", "1.7976931348623157e308", 0x7FEFFFFFFFFFFFFF),
        _Float("least normal", "2.2250738585072014e-308", 0x10000000000000),
        _Float("greatest subnormal", "2.225073858507201e-308", 0xFFFFFFFFFFFFF),
        _Float("least", "4.9e-324", 1),
        _Float("rounds to zero", "1e-400", 0),
        _Float("exponent beyond any word", "1e-99999999999999999999", 0),
    ]
    for row in rows:
        var value = parse(row.text)
        assert_true(value.kind() == JsonKind.FLOAT, row.rule)
        assert_equal(
            bitcast[DType.uint64](value.float_value()), row.bits, row.rule
        )


def test_many_digits() raises:
    var zeros = String("0") * 400
    assert_equal(parse(String("1", zeros, "e-400")).float_value(), 1.0)
    assert_equal(parse(String("0.", zeros, "1e401")).float_value(), 1.0)
    assert_equal(parse(String("1.", zeros)).float_value(), 1.0)
    var nines = String("9") * 1000
    assert_equal(parse(String("0.", nines)).float_value(), 1.0)


def test_numbers_beyond_floats_are_refused() raises:
    var texts: List[String] = [
        "1e309",
        "-1e309",
        "1.7976931348623159e308",
        "1e99999999999999999999",
        String("9") * 400,
    ]
    for text in texts:
        try:
            _ = parse(text)
        except error:
            assert_true(error.kind == JsonErrorKind.NUMBER_RANGE, text)
            assert_equal(error.offset, 0)
            continue
        assert_true(False, text)


def test_integers_read_as_floats() raises:
    assert_equal(parse("-7").float_value(), -7.0)
