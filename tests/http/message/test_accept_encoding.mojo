"""The Accept-Encoding field (RFC 9110 section 12.5.3)."""

from flare.compress import ContentCoding
from flare.http import AcceptEncoding
from std.testing import assert_equal


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var value: StaticString
    # Of gzip, deflate, br and identity.
    var weights: StaticString
    # From br, gzip, identity; and from gzip, br without identity.
    var choices: StaticString


def test_weights_and_choices() raises:
    var rows: List[_Row] = [
        _Row("9110-12.5.3 empty", "", "0 0 0 1", "identity -"),
        _Row("9110-12.5.3 one", "gzip", "1000 0 0 1", "gzip gzip"),
        _Row("9110-12.5.3 several", "gzip, br", "1000 0 1000 1", "br gzip"),
        _Row(
            "browsers", "gzip, deflate, br, zstd", "1000 1000 1000 1", "br gzip"
        ),
        _Row(
            "9110-12.4.2 weight",
            "gzip;q=0.5, br;q=0.4",
            "500 0 400 1",
            "gzip gzip",
        ),
        _Row("9110-12.4.2 three digits", "br;q=0.001", "0 0 1 1", "br br"),
        _Row(
            "9110-12.4.2 zeros", "br;q=1.000,gzip;q=0.", "0 0 1000 1", "br br"
        ),
        _Row("9110-12.4.2 q=0 excludes", "gzip;q=0", "0 0 0 1", "identity -"),
        _Row("9110-12.4.2 Q", "gzip ; Q=0.7", "700 0 0 1", "gzip gzip"),
        _Row("9110-12.5.3 the wildcard", "*", "1000 1000 1000 1000", "br gzip"),
        _Row(
            "9110-12.5.3 all else", "br, *;q=0.1", "100 100 1000 100", "br br"
        ),
        _Row(
            "9110-12.5.3 all but", "br;q=0, *", "1000 1000 0 1000", "gzip gzip"
        ),
        _Row("9110-12.5.3 none", "*;q=0", "0 0 0 0", "- -"),
        _Row("9110-12.5.3 no identity", "identity;q=0", "0 0 0 0", "- -"),
        _Row(
            "9110-12.5.3 identity stays",
            "*;q=0, identity",
            "0 0 0 1000",
            "identity -",
        ),
        _Row(
            "9110-12.5.3 identity wins",
            "identity, gzip;q=0.5",
            "500 0 0 1000",
            "identity gzip",
        ),
        _Row("9110-8.4.1.3 alias", "x-gzip", "1000 0 0 1", "gzip gzip"),
        _Row("9110-8.4.1 case", "GZIP;q=1", "1000 0 0 1", "gzip gzip"),
        _Row(
            "the first counts",
            "gzip;q=0.2, gzip, x-gzip;q=0",
            "200 0 0 1",
            "gzip gzip",
        ),
        _Row(
            "9110-5.6.1.2 empty elements",
            ",, gzip ,",
            "1000 0 0 1",
            "gzip gzip",
        ),
        _Row("9110-12.4.2 above 1", "gzip;q=1.001", "0 0 0 1", "identity -"),
        _Row(
            "9110-12.4.2 four digits", "gzip;q=0.1234", "0 0 0 1", "identity -"
        ),
        _Row("9110-12.4.2 two", "gzip;q=2", "0 0 0 1", "identity -"),
        _Row(
            "9110-12.4.2 signs", "gzip;q=-1, br;q=+1", "0 0 0 1", "identity -"
        ),
        _Row("9110-12.4.2 no number", "gzip;q=, br;q", "0 0 0 1", "identity -"),
        _Row("9110-12.4.2 no digits", "gzip;q=0.x", "0 0 0 1", "identity -"),
        _Row("9110-12.4.2 no point", "gzip;q=01", "0 0 0 1", "identity -"),
        _Row(
            "9110-12.5.3 another parameter",
            "gzip;level=9",
            "0 0 0 1",
            "identity -",
        ),
        _Row("an unknown coding", "zstd, x", "0 0 0 1", "identity -"),
        _Row("no comma", "gzip br", "0 0 0 1", "identity -"),
    ]
    for row in rows:
        var accepted = AcceptEncoding(row.value)
        var weights = String(
            accepted.weight(ContentCoding.GZIP),
            " ",
            accepted.weight(ContentCoding.DEFLATE),
            " ",
            accepted.weight(ContentCoding.BR),
            " ",
            accepted.weight(ContentCoding.IDENTITY),
        )
        assert_equal(weights, row.weights, row.rule)
        var first = accepted.choose(
            [ContentCoding.BR, ContentCoding.GZIP, ContentCoding.IDENTITY]
        )
        var second = accepted.choose([ContentCoding.GZIP, ContentCoding.BR])
        var choices = String(_name(first), " ", _name(second))
        assert_equal(choices, row.choices, row.rule)


def _name(coding: Optional[ContentCoding]) -> String:
    if not coding:
        return "-"
    return String(coding.value())
