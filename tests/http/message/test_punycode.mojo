"""Punycode, by the samples of RFC 3492 section 7.1."""

from flare.http.message.punycode import punycode_decode, punycode_encode
from std.testing import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    """A label and its encoding."""

    var sample: StaticString
    var label: StaticString
    var encoded: StaticString


def _code_points(text: StringSpan) -> List[Int]:
    var code_points = List[Int]()
    for code_point in text.codepoints():
        code_points.append(Int(code_point))
    return code_points^


def test_punycode_samples() raises:
    var rows: List[_Row] = [
        _Row("B Chinese", "他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"),
        _Row(
            "D Czech",
            "pročprostěnemluvíčesky",
            "proprostnemluvesky-uyb24dma41a",
        ),
        _Row("L Japanese", "3年b組金八先生", "3b-ww4c5e180e575a65lsy2b"),
        _Row("R Japanese", "そのスピードで", "d9juau41awczczp"),
        _Row("no other letter", "abc", "abc-"),
        _Row("a hyphen at the start", "-\u00FC", "--eha"),
    ]
    for row in rows:
        var code_points = _code_points(row.label)
        var encoded = List[UInt8]()
        punycode_encode(code_points, encoded)
        assert_equal(
            StringSpan(unsafe_from_utf8=encoded), row.encoded, row.sample
        )
        assert_equal(punycode_decode(encoded).value(), code_points, row.sample)


def test_punycode_refuses() raises:
    var rows: List[StaticString] = [
        "\u00FC",  # not ASCII
        "a!",  # no digit
        "99999",  # cut off
        "99999999",  # above U+10FFFF
        "ls8h=",  # no digit behind digits
        "-tda",  # a hyphen that parts nothing (section 3.1)
    ]
    for row in rows:
        assert_false(Bool(punycode_decode(row.as_bytes())), row)
    var many = String("9" * 500)
    assert_false(Bool(punycode_decode(many.as_bytes())))
    assert_true(Bool(punycode_decode("".as_bytes())))
