"""Media types (RFC 9110 section 8.3.1)."""

from flare.http import MediaType
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    var written: StaticString


def test_parses_and_writes() raises:
    var rows: List[_Row] = [
        _Row("9110-8.3.1", "text/html", "text/html"),
        _Row("9110-8.3.1 case", "Text/HTML", "text/html"),
        _Row("9110-8.3.1 parameter", "a/b;c=d", "a/b; c=d"),
        _Row("9110-8.3.1 case of names", "a/b;C=D", "a/b; c=D"),
        _Row("9110-5.6.6 OWS", " a/b ; c=d\t;e=f ", "a/b; c=d; e=f"),
        _Row("9110-5.6.6 empty parameters", "a/b;; c=d;", "a/b; c=d"),
        _Row("9110-5.6.4 quoted", 'a/b;c="d"', "a/b; c=d"),
        _Row("9110-5.6.4 separators", 'a/b;c="d;e=f"', 'a/b; c="d;e=f"'),
        _Row("9110-5.6.4 pairs", 'a/b;c="\\"\\\\\\d"', 'a/b; c="\\"\\\\d"'),
        _Row("9110-5.6.4 empty", 'a/b;c=""', 'a/b; c=""'),
        _Row("6838-4.2 suffix", "application/a.b+json", "application/a.b+json"),
    ]
    for row in rows:
        var media_type = MediaType.parse(row.text)
        assert_equal(String(media_type), row.written, row.rule)
        assert_true(MediaType.parse(String(media_type)) == media_type)


def test_parameters() raises:
    var media_type = MediaType.parse('text/plain; CharSet="utf-8"; q=x')
    assert_equal(media_type.essence, "text/plain")
    assert_equal(media_type.parameter("charset").value(), "utf-8")
    assert_equal(media_type.parameter("Q").value(), "x")
    assert_false(media_type.parameter("boundary"))


@fieldwise_init
struct _BadRow(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    var offset: Int


def test_refuses() raises:
    var rows: List[_BadRow] = [
        _BadRow("9110-8.3.1 empty", "", 0),
        _BadRow("9110-8.3.1 no slash", "text", 4),
        _BadRow("9110-8.3.1 no type", "/html", 0),
        _BadRow("9110-8.3.1 no subtype", "text/", 5),
        _BadRow("9110-8.3.1 spaces", "text /html", 4),
        _BadRow("9110-8.3.1 two", "a/b, c/d", 3),
        _BadRow("9110-8.3.1 two slashes", "a/b/c", 3),
        _BadRow("9110-5.6.6 no name", "a/b;=c", 4),
        _BadRow("9110-5.6.6 no equals sign", "a/b;c", 5),
        _BadRow("9110-5.6.6 spaces around it", "a/b;c =d", 5),
        _BadRow("9110-5.6.6 no value", "a/b;c=", 6),
        _BadRow("9110-5.6.6 twice", "a/b;c=d;C=e", 8),
        _BadRow("9110-5.6.4 open quote", 'a/b;c="d', 8),
        _BadRow("9110-5.6.4 open pair", 'a/b;c="\\', 8),
        _BadRow("9110-5.6.4 control octet", 'a/b;c="\n"', 7),
        _BadRow("9110-5.6.4 behind it", 'a/b;c="d"e', 9),
    ]
    for row in rows:
        var refused = False
        try:
            _ = MediaType.parse(row.text)
        except error:
            refused = True
            assert_equal(error.offset, row.offset, row.rule)
            for octet in String(error).as_bytes():
                assert_true(octet >= 32 and octet < 127, row.rule)
        assert_true(refused, row.rule)


def test_parameters_have_a_limit() raises:
    var text = String("a/b")
    for number in range(16):
        text.write(";p", number, "=v")
    assert_equal(len(MediaType.parse(text).parameters), 16)
    var refused = False
    try:
        _ = MediaType.parse(text + ";q=v")
    except error:
        refused = True
        assert_equal(error.offset, text.byte_length() + 1)
    assert_true(refused)
