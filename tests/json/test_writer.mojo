"""Tests what the writer writes, and that it refuses calls that make no text."""

from flare.json.error import JsonError, JsonErrorKind
from flare.json.value import parse
from flare.json.writer import JsonComposer, JsonWriter, dumps
from std.memory import bitcast
from tests.support.assertions import assert_equal, assert_raises, assert_true


def _written(value: Float64) raises -> String:
    var writer = JsonWriter()
    writer.value(value)
    return writer^.finish()


def _quoted(text: StringSpan) raises -> String:
    var writer = JsonWriter()
    writer.value(text)
    return writer^.finish()


def test_writes_a_text() raises:
    var inner = parse('{"x": [1, {"y": "z"}], "e": {}}')
    var writer = JsonWriter()
    writer.begin_object()
    writer.key("id")
    writer.value(7)
    writer.key("list")
    writer.begin_array()
    writer.value("a")
    writer.value(-1)
    writer.value(Int.MIN)
    writer.value(2.5)
    writer.value(True)
    writer.value(False)
    writer.null()
    writer.begin_array()
    writer.end_array()
    writer.begin_object()
    writer.end_object()
    writer.value(inner["x"])
    writer.end_array()
    writer.key("inner")
    writer.value(inner.view())
    writer.key('quoted "name"\n')
    writer.value("")
    writer.end_object()
    assert_equal(
        writer^.finish(),
        '{"id":7,"list":["a",-1,-9223372036854775808,2.5,true,false,null,[],'
        '{},[1,{"y":"z"}]],"inner":{"x":[1,{"y":"z"}],"e":{}},'
        '"quoted \\"name\\"\\n":""}',
    )


def test_escapes_what_must_be() raises:
    # RFC 8259 section 7: quotation mark, reverse solidus, below U+0020.
    for code in range(0x80):
        var text = String("ab", chr(code), "cd", chr(code))
        var quoted = _quoted(text)
        assert_equal(parse(quoted).string_value(), text)
        var must = code < 0x20 or code == 0x22 or code == 0x5C
        assert_equal(quoted.byte_length() > 8, must, String("octet ", code))
    assert_equal(_quoted('/é€😀"\\\t\x1f'), '"/é€😀\\"\\\\\\t\\u001f"')
    var long = String("0123456789") * 20
    assert_equal(_quoted(long), String('"', long, '"'))
    assert_equal(
        _quoted(long + "\n" + long), String('"', long, "\\n", long, '"')
    )


def test_floats_are_read_back() raises:
    assert_equal(_written(0.0), "0.0")
    assert_equal(_written(-0.0), "-0.0")
    assert_equal(_written(1.0), "1.0")
    assert_equal(_written(0.1), "0.1")
    assert_equal(_written(1e22), "1e+22")
    var state = UInt64(88172645463325252)
    for round in range(20_000):
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        var bits = state
        if round % 2 == 0:
            # Magnitudes of 2^53 to 2^80, where the shortest text is tricky.
            var exponent = UInt64(1023 + 53) + (state >> 52) % 27
            bits = (state & 0xFFFFFFFFFFFFF) | (exponent << 52)
        if bits & 0x7FF0000000000000 == 0x7FF0000000000000:
            continue
        var number = bitcast[DType.float64](bits)
        var text = _written(number)
        var back = parse(text).float_value()
        assert_equal(bitcast[DType.uint64](back), bits, text)


def test_short_decimals_stay_short() raises:
    var texts: List[StaticString] = [
        "0.5",
        "12.25",
        "0.01",
        "0.000001",
        "0.010203",
        "-13.404954",
        "999999999.999999",
        "100.0",
        "123456789.0",
        "1000000000.0",
        "1e-07",
        "0.1234567",
        "5e-324",
    ]
    for text in texts:
        assert_equal(dumps(parse(text)), text)
    for whole in range(0, 50_000, 7):
        var power = 10.0
        for _ in range(8):
            var number = Float64(whole) / power
            power *= 10.0
            assert_equal(parse(_written(number)).float_value(), number)


def test_float_that_needs_all_digits() raises:
    # The standard library's text for it, 3.659081473752322e+16, lies half way
    # to the neighbour, which it is then rounded to.
    var number = bitcast[DType.float64](UInt64(0x43603FE4DE4F1C43))
    assert_equal(_written(number), "36590814737523224.0")
    assert_equal(_written(-number), "-36590814737523224.0")


def test_refuses_what_json_cannot_say() raises:
    var zero = Float64(0)
    var numbers: List[Float64] = [1.0 / zero, -1.0 / zero, zero / zero]
    for number in numbers:
        try:
            _ = _written(number)
        except:
            continue
        assert_true(False, String(number))
    var octets: List[UInt8] = [0x61, 0xFF]
    var raw = StringSpan(unsafe_from_utf8=octets)
    try:
        _ = _quoted(raw)
    except:
        return
    assert_true(False, "not UTF-8")


def _misuse(mut writer: JsonWriter, step: Int) raises JsonError:
    if step == 0:
        writer.end_array()
    elif step == 1:
        writer.key("a")
    elif step == 2:
        writer.value(1)
        writer.value(2)
    elif step == 3:
        writer.begin_object()
        writer.value(1)
    elif step == 4:
        writer.begin_object()
        writer.key("a")
        writer.key("b")
    elif step == 5:
        writer.begin_object()
        writer.key("a")
        writer.end_object()
    elif step == 6:
        writer.begin_array()
        writer.end_object()
    elif step == 7:
        writer.begin_array()
        writer.key("a")
    elif step == 8:
        writer.begin_object()
        writer.end_array()
    elif step == 9:
        writer.null()
        writer.begin_array()
    else:
        writer.begin_array()
        writer.end_array()
        writer.end_array()


def test_refuses_misuse() raises:
    for step in range(11):
        var writer = JsonWriter()
        var is_refused = False
        try:
            _misuse(writer, step)
        except error:
            is_refused = error.kind == JsonErrorKind.MISUSED_WRITER
        assert_true(is_refused, String("step ", step))


def test_refuses_an_unfinished_text() raises:
    for step in range(3):
        var writer = JsonWriter()
        if step > 0:
            writer.begin_object()
        if step > 1:
            writer.key("a")
        try:
            _ = writer^.finish()
        except:
            continue
        assert_true(False, String("step ", step))


def test_round_trip() raises:
    var texts: List[StaticString] = [
        "null",
        '{"a":[{"b":[[],{},"",0,-1,1.5,true]},null]}',
        '[[[[[[["deep"]]]]]],"\\u0001\\n"]',
    ]
    for text in texts:
        assert_equal(dumps(parse(text)), text)
        assert_equal(dumps(parse(text).view()), text)


def test_members() raises:
    var writer = JsonComposer()
    writer.text("a", 'x"y')
    writer.number("b", -7)
    writer.flag("c", True)
    writer.json("d", '[1, {"e": null}]')
    writer.begin_array("f")
    writer.begin_object()
    writer.end_object()
    writer.end_array()
    writer.begin_object("g")
    writer.end_object()
    assert_equal(
        writer^.finish(),
        '{"a":"x\\"y","b":-7,"c":true,"d":[1,{"e":null}],"f":[{}],"g":{}}',
    )


def test_what_is_wrong_is_told_at_the_end() raises:
    # RFC 8259-8.1: text is UTF-8.
    var octets: List[UInt8] = [0xFF]
    var bad_text = JsonComposer()
    bad_text.text("a", StringSpan(unsafe_from_utf8=octets))
    bad_text.text("b", "x")
    with assert_raises(contains="UTF-8"):
        _ = bad_text^.finish()
    var bad_json = JsonComposer()
    bad_json.json("a", "{")
    with assert_raises(contains="JSON text"):
        _ = bad_json^.finish()
    var unended = JsonComposer()
    unended.begin_array("a")
    with assert_raises(contains="JSON writer"):
        _ = unended^.finish()
