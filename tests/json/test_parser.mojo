"""Tests which texts are JSON, and where the others stop being it."""

from flare.json.error import JsonError, JsonErrorKind, JsonKind, JsonLimits
from flare.json.value import parse
from flare.json.writer import dumps
from tests.support.assertions import assert_equal, assert_true
from tests.support.guard_page import GuardedBytes
from std.memory import bitcast


@fieldwise_init
struct _Good(Copyable, Movable):
    """A text that is JSON, and how it is written back."""

    var rule: StaticString
    var text: StaticString
    var written: StaticString


@fieldwise_init
struct _Bad(Copyable, Movable):
    """A text that is no JSON, and the first fault."""

    var rule: StaticString
    var text: StaticString
    var kind: JsonErrorKind
    var offset: Int


def _failure(text: Span[UInt8, _]) raises -> JsonError:
    try:
        _ = parse(text)
    except error:
        return error.copy()
    raise Error("accepted: ", String(from_utf8_lossy=text))


def test_accepts_and_writes_back() raises:
    var rows: List[_Good] = [
        _Good("8259-2 space, tab, line feed, return", " \t\n\r1 ", "1"),
        _Good("8259-2 no space is needed", '{"a":[1,2]}', '{"a":[1,2]}'),
        _Good("8259-2 any value is a text", '"a"', '"a"'),
        _Good("8259-3 literals", "[true,false,null]", "[true,false,null]"),
        _Good("8259-4 empty object", "{ }", "{}"),
        _Good("8259-4 members", '{"a" : 1 , "b" : 2}', '{"a":1,"b":2}'),
        _Good("8259-4 empty name", '{"":0}', '{"":0}'),
        _Good("8259-4 repeated names stay", '{"a":1,"a":2}', '{"a":1,"a":2}'),
        _Good("8259-5 empty array", "[ ]", "[]"),
        _Good("8259-5 mixed kinds", '[1,"a",{},[]]', '[1,"a",{},[]]'),
        _Good("8259-5 nesting", "[[[[]]],[]]", "[[[[]]],[]]"),
        _Good("8259-6 zero", "[0,-0]", "[0,0]"),
        _Good("8259-6 fraction", "[1.5,0.0,-0.0]", "[1.5,0.0,-0.0]"),
        _Good("8259-6 exponent", "[1e2,1E+2,1e-2]", "[100.0,100.0,0.01]"),
        _Good(
            "8259-7 short escapes",
            '"\\b\\f\\n\\r\\t"',
            '"\\u0008\\u000c\\n\\r\\t"',
        ),
        _Good("8259-7 solidus", '"\\/\\\\\\""', '"/\\\\\\""'),
        _Good("8259-7 unicode escapes", '"\\u0041\\u00e9\\u20AC"', '"Aé€"'),
        _Good("8259-7 surrogate pair", '"\\uD83D\\ude00"', '"😀"'),
        _Good("8259-7 NUL", '"\\u0000"', '"\\u0000"'),
        _Good("8259-7 DEL stands for itself", '"\x7f"', '"\x7f"'),
        _Good("8259-7 text behind an escape", '"\\tabc\\t"', '"\\tabc\\t"'),
        _Good(
            "8259-7 longer than a vector",
            '"0123456789012345678901234567890123456789\\n'
            '0123456789012345678901234567890123456789"',
            '"0123456789012345678901234567890123456789\\n'
            '0123456789012345678901234567890123456789"',
        ),
        _Good("8259-8.1 UTF-8", '"é€😀"', '"é€😀"'),
    ]
    for row in rows:
        assert_equal(dumps(parse(row.text)), row.written, row.rule)


def test_refuses_at_the_fault() raises:
    comptime UNEXPECTED = JsonErrorKind.UNEXPECTED
    comptime TRUNCATED = JsonErrorKind.TRUNCATED
    comptime ESCAPE = JsonErrorKind.ESCAPE
    comptime SURROGATE = JsonErrorKind.SURROGATE
    var rows: List[_Bad] = [
        _Bad("8259-2 no value", "", TRUNCATED, 0),
        _Bad("8259-2 only space", " \n", TRUNCATED, 2),
        _Bad("8259-2 two values", "1 2", UNEXPECTED, 2),
        _Bad("8259-2 form feed is no space", "\x0c1", UNEXPECTED, 0),
        _Bad("8259-3 upper case", "True", UNEXPECTED, 0),
        _Bad("8259-3 cut literal", "tru", UNEXPECTED, 0),
        _Bad("8259-3 longer literal", "nulls", UNEXPECTED, 4),
        _Bad("8259-3 NaN", "NaN", UNEXPECTED, 0),
        _Bad("8259-4 open object", "{", TRUNCATED, 1),
        _Bad("8259-4 name without quotes", "{a:1}", UNEXPECTED, 1),
        _Bad("8259-4 single quotes", "{'a':1}", UNEXPECTED, 1),
        _Bad("8259-4 no colon", '{"a" 1}', UNEXPECTED, 5),
        _Bad("8259-4 no member value", '{"a":}', UNEXPECTED, 5),
        _Bad("8259-4 comma at the end", '{"a":1,}', UNEXPECTED, 7),
        _Bad("8259-4 array's end", '{"a":1]', UNEXPECTED, 6),
        _Bad("8259-4 cut behind the value", '{"a":1', TRUNCATED, 6),
        _Bad("8259-5 open array", "[", TRUNCATED, 1),
        _Bad("8259-5 comma at the end", "[1,]", UNEXPECTED, 3),
        _Bad("8259-5 comma at the start", "[,1]", UNEXPECTED, 1),
        _Bad("8259-5 no comma", "[1 2]", UNEXPECTED, 3),
        _Bad("8259-5 colon", "[1:2]", UNEXPECTED, 2),
        _Bad("8259-5 object's end", "[1}", UNEXPECTED, 2),
        _Bad("8259-5 closed twice", "[]]", UNEXPECTED, 2),
        _Bad("8259-6 leading zero", "01", UNEXPECTED, 1),
        _Bad("8259-6 plus", "+1", UNEXPECTED, 0),
        _Bad("8259-6 minus alone", "-", TRUNCATED, 1),
        _Bad("8259-6 minus and letter", "-x", UNEXPECTED, 1),
        _Bad("8259-6 no digit before the point", ".5", UNEXPECTED, 0),
        _Bad("8259-6 no digit behind the point", "[1.]", UNEXPECTED, 3),
        _Bad("8259-6 no exponent", "[1e]", UNEXPECTED, 3),
        _Bad("8259-6 no exponent digit", "[1e+]", UNEXPECTED, 4),
        _Bad("8259-6 hex", "0x1", UNEXPECTED, 1),
        _Bad("8259-6 range", "[1e400]", JsonErrorKind.NUMBER_RANGE, 1),
        _Bad("8259-7 open string", '"a', TRUNCATED, 2),
        _Bad("8259-7 cut escape", '"\\', TRUNCATED, 2),
        _Bad("8259-7 cut hex", '"\\u12', TRUNCATED, 5),
        _Bad("8259-7 no escape", '"\\x"', ESCAPE, 2),
        _Bad("8259-7 no hex digit", '"\\u12g4"', ESCAPE, 5),
        _Bad("8259-7 raw line feed", '"a\nb"', JsonErrorKind.CONTROL, 2),
        _Bad("8259-7 raw NUL", '"a\0b"', JsonErrorKind.CONTROL, 2),
        _Bad(
            "8259-7 raw tab behind an escape",
            '"\\n\t"',
            JsonErrorKind.CONTROL,
            3,
        ),
        _Bad("8259-8.2 high alone", '"\\ud800"', SURROGATE, 1),
        _Bad("8259-8.2 low alone", '"a\\udc00"', SURROGATE, 2),
        _Bad("8259-8.2 high twice", '"\\ud800\\ud800"', SURROGATE, 1),
        _Bad("8259-8.2 high, then text", '"\\ud800xx"', SURROGATE, 1),
        _Bad("8259-2 NUL between values", "[1\0]", UNEXPECTED, 2),
        _Bad("8259-2 NUL behind the text", "1\0", UNEXPECTED, 1),
        _Bad("8259-8.1 byte order mark", "\ufeff1", UNEXPECTED, 0),
    ]
    for row in rows:
        var error = _failure(row.text.as_bytes())
        assert_true(error.kind == row.kind, String(row.rule, ": ", error))
        assert_equal(error.offset, row.offset, row.rule)


def test_refuses_what_is_not_utf8() raises:
    # RFC 3629 section 3: cut off, overlong, a surrogate, above U+10FFFF.
    var tails: List[List[UInt8]] = [
        [0xFF],
        [0xC3],
        [0xC0, 0x80],
        [0xED, 0xA0, 0x80],
        [0xF4, 0x90, 0x80, 0x80],
    ]
    for tail in tails:
        var text = List[UInt8]('["é'.as_bytes())
        text.extend(Span(tail))
        text.extend('"]'.as_bytes())
        var error = _failure(Span(text))
        assert_true(error.kind == JsonErrorKind.NOT_UTF8, "8259-8.1")
        assert_equal(error.offset, 4, "8259-8.1")


def test_error_names_line_and_column() raises:
    var error = _failure('{\n "é": 1,\n "éé" 2}'.as_bytes())
    assert_equal(error.line, 3)
    assert_equal(error.column, 7)
    assert_equal(
        String(error),
        "JSON text, line 3, column 7 (byte 20): found '2', expected ':' after"
        " a member's name",
    )


def test_error_shows_no_raw_octet() raises:
    assert_equal(_failure("\x1b[0m".as_bytes()).found, "octet 0x1b")


def test_every_cut_is_refused() raises:
    var text = '{"a":[1.5e3,true,"x\\u00e9\\n"],"b":{"c":null}}'.as_bytes()
    for length in range(len(text)):
        var error = _failure(text[:length])
        assert_true(error.offset <= length, String("cut at ", length))
        _ = String(error)


def test_depth_is_limited() raises:
    var text = String("[") * 128 + String("]") * 128
    assert_equal(len(parse(text)), 1)
    var error = _failure((String("[") + text + "]").as_bytes())
    assert_true(error.kind == JsonErrorKind.TOO_DEEP)
    assert_equal(error.offset, 128)
    assert_true(
        _failure((String("[") * 100_000).as_bytes()).kind
        == JsonErrorKind.TOO_DEEP
    )


def test_depth_does_not_use_the_stack() raises:
    var count = 100_000
    var text = String("[") * count + String("]") * count
    var value = parse(text, JsonLimits(depth_max=count, length_max=1 << 20))
    assert_equal(dumps(value), text)


def test_length_is_limited() raises:
    var limits = JsonLimits(depth_max=1, length_max=4)
    assert_equal(parse("1234", limits).int_value(), 1234)
    try:
        _ = parse("12345", limits)
    except error:
        assert_true(error.kind == JsonErrorKind.TOO_LONG)
        assert_equal(error.offset, 4)
        return
    assert_true(False, "accepted more than length_max")


def test_reads_nothing_behind_the_text() raises:
    var texts: List[StaticString] = [
        '{"a":[1,2.5,"x"],"b":"0123456789012345678901234567890123456789"}',
        '"\\',
        '"\\u',
        '"\\ud83d',
        '"\\ud83d\\',
        "tru",
        "f",
        "-",
        "1.",
        "1e",
        "[",
        '"0123456789012345678901234567890123456789',
    ]
    for text in texts:
        var guarded = GuardedBytes(text.as_bytes())
        var is_json = True
        try:
            _ = parse(guarded.span())
        except:
            is_json = False
        assert_equal(is_json, text.startswith("{"), text)


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
