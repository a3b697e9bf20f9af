"""Lines of a log: that they are one line, valid and bounded, whatever they hold."""

from flare.bytes.utf8 import is_valid_utf8
from flare.json.value import parse
from flare.log.level import Level
from flare.log.line import LogLine
from flare.log.sink import LogFormat
from flare.sys.log import LOG_LINE_LEN_MAX
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _MOMENT = 784_111_777_123


def _line(format: LogFormat, message: StringSpan, value: StringSpan) -> String:
    var line = LogLine(format, Level.WARN, _MOMENT)
    line.put_message(message)
    line.put("a", value)
    line.put("n", 1)
    return line^.end()


@fieldwise_init
struct _Row(Copyable, Movable):
    var value: StaticString
    var text: StaticString
    var json: StaticString


comptime _ROWS: List[_Row] = [
    _Row("plain", "plain", '"plain"'),
    _Row("", '""', '""'),
    _Row("two words", '"two words"', '"two words"'),
    # What would be another field of logfmt.
    _Row("x level=error", '"x level=error"', '"x level=error"'),
    _Row("a=b", '"a=b"', '"a=b"'),
    _Row('say "no"', '"say \\"no\\""', '"say \\"no\\""'),
    _Row("C:\\dir", '"C:\\\\dir"', '"C:\\\\dir"'),
    _Row("a\r\nb\tc", '"a\\r\\nb\\tc"', '"a\\r\\nb\\tc"'),
    _Row("a\x00\x1b[2J", '"a\\u0000\\u001b[2J"', '"a\\u0000\\u001b[2J"'),
    _Row("\x7f", '"\\u007f"', '"\\u007f"'),
    _Row("caf\u00e9", '"caf\u00e9"', '"caf\u00e9"'),
    _Row("\u6f22\U0001F600", '"\u6f22\U0001F600"', '"\u6f22\U0001F600"'),
    # C1 controls, line separators, marks of direction, a byte order mark.
    _Row("\u0085", '"\\u0085"', '"\\u0085"'),
    _Row("\u009b", '"\\u009b"', '"\\u009b"'),
    _Row("\u2028", '"\\u2028"', '"\\u2028"'),
    _Row("\u202e", '"\\u202e"', '"\\u202e"'),
    _Row("\u200f", '"\\u200f"', '"\\u200f"'),
    _Row("\u2066", '"\\u2066"', '"\\u2066"'),
    _Row("\ufeff", '"\\ufeff"', '"\\ufeff"'),
    _Row("\u2027", '"\u2027"', '"\u2027"'),
    _Row("true", "true", '"true"'),
]


def test_values_as_text_and_as_json() raises:
    for row in materialize[_ROWS]():
        assert_equal(
            _line(LogFormat.TEXT, row.value, row.value),
            String(
                "time=1994-11-06T08:49:37.123Z level=warn msg=",
                row.text,
                " a=",
                row.text,
                " n=1\n",
            ),
        )
        var json = _line(LogFormat.JSON, row.value, row.value)
        assert_equal(
            json,
            String(
                '{"time":"1994-11-06T08:49:37.123Z","level":"warn","msg":',
                row.json,
                ',"a":',
                row.json,
                ',"n":1}\n',
            ),
        )
        var read = parse(json)
        assert_equal(read["a"].string_value(), row.value)
        assert_equal(read["msg"].string_value(), row.value)


def _octets(count: Int, seed: Int) -> String:
    """Makes octets that may be no UTF-8."""
    var text = String("x") * count
    var state = UInt64(seed)
    for index in range(count):
        state = state * 6364136223846793005 + 1442695040888963407
        text.unsafe_ptr_mut()[unsafe_offset=index] = UInt8(state >> 56)
    return text^


def _check_whole(line: String) raises:
    """One line of UTF-8 without controls, short enough for a pipe."""
    assert_true(line.byte_length() <= LOG_LINE_LEN_MAX)
    assert_true(line.endswith("\n"))
    assert_true(is_valid_utf8(line.as_bytes()))
    for octet in line.as_bytes()[: line.byte_length() - 1]:
        assert_true(octet >= 32 and octet != 127)


def test_any_octets_make_one_line_of_utf_8() raises:
    for seed in range(600):
        # Short ones, and ones beyond the longest line.
        var value = _octets(seed if seed < 400 else seed * 20, seed)
        _check_whole(_line(LogFormat.TEXT, value, value))
        var json = _line(LogFormat.JSON, value, value)
        _check_whole(json)
        var read = parse(json)
        assert_equal(read["level"].string_value(), "warn")


def test_each_octet_alone() raises:
    for octet in range(256):
        var value = String("x")
        value.unsafe_ptr_mut()[unsafe_offset=0] = UInt8(octet)
        var read = parse(_line(LogFormat.JSON, value, value))
        if octet < 128:
            assert_equal(read["a"].string_value(), value)
        else:
            assert_equal(read["a"].string_value(), "\uFFFD")


def test_no_mark_changes_the_direction_of_a_line() raises:
    """Unicode 15, PropList.txt: all of Bidi_Control. One of them shows a line
    otherwise than it is (CVE-2021-42574)."""
    for mark in [
        "\u061C",
        "\u200E",
        "\u200F",
        "\u202A",
        "\u202B",
        "\u202C",
        "\u202D",
        "\u202E",
        "\u2066",
        "\u2067",
        "\u2068",
        "\u2069",
    ]:
        for format in [LogFormat.TEXT, LogFormat.JSON]:
            var line = _line(format, String("a", mark), String("b", mark))
            assert_false(mark in line, line)


def test_what_is_too_long_is_cut_and_says_so() raises:
    for length in range(1_900, 4_200):
        var value = String("\u00e9") * (length // 2)
        for format in [LogFormat.TEXT, LogFormat.JSON]:
            var line = _line(format, "m", value)
            _check_whole(line)
            var is_whole = value in line and (" n=1" in line or '"n":1' in line)
            assert_equal("truncated" in line, not is_whole)
            if format == LogFormat.JSON:
                var read = parse(line)
                var kept = read["a"].string_value()
                assert_true(value.startswith(kept))
                # The field behind is there if there is room for it.
                assert_equal(read.contains("n"), not read.contains("truncated"))


def test_a_long_message_leaves_room_for_fields() raises:
    var read = parse(_line(LogFormat.JSON, String("\x01") * 9_000, "v"))
    assert_equal(read["a"].string_value(), "v")
    assert_equal(read["n"].int_value(), 1)
    assert_true(read["truncated"].bool_value())
    assert_true(read["msg"].string_value().byte_length() > 300)


def test_fields_beyond_the_room_are_left_out() raises:
    var line = LogLine(LogFormat.JSON, Level.INFO, _MOMENT)
    line.put_message("m")
    for index in range(2_000):
        line.put(String("f", index), index)
    var text = line^.end()
    _check_whole(text)
    var read = parse(text)
    assert_equal(read["f0"].int_value(), 0)
    assert_true(read["truncated"].bool_value())
    assert_false(read.contains("f1999"))


def test_names_cannot_forge_fields() raises:
    var line = LogLine(LogFormat.JSON, Level.INFO, _MOMENT)
    line.put('a":1,"b', 1)
    line.put("x y=\n", 2)
    line.put("level", 3)
    line.put("msg", 4)
    line.put("time", 5)
    line.put("truncated", 6)
    var read = parse(line^.end())
    assert_equal(read["a_:1,_b"].int_value(), 1)
    assert_equal(read["x_y__"].int_value(), 2)
    assert_equal(read["level"].string_value(), "info")
    assert_equal(read["level_"].int_value(), 3)
    assert_equal(read["msg_"].int_value(), 4)
    assert_equal(read["time_"].int_value(), 5)
    assert_equal(read["truncated_"].int_value(), 6)


def test_types_of_values() raises:
    var line = LogLine(LogFormat.JSON, Level.INFO, _MOMENT)
    line.put("i", Int.MIN)
    line.put("u", UInt64.MAX)
    line.put("f", 0.1)
    line.put("s", Float32(0.5))
    line.put("nan", Float64(0) / Float64(0))
    line.put("b", False)
    line.put("t", String("3"))
    line.put("e", Error("went wrong"))
    var text = line^.end()
    assert_true(
        '"i":-9223372036854775808,"u":18446744073709551615,"f":0.1,"s":0.5,'
        in text,
        text,
    )
    assert_true('"nan":"nan","b":false,"t":"3","e":"went wrong"}' in text, text)
