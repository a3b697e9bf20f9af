"""The Content-Encoding field and the content behind it (RFC 9110 section 8.4)."""

from flare.bytes.buffer import Buffer
from flare.compress import CompressErrorKind, ContentCoding, compress
from flare.http import AcceptEncoding, ContentDecoder, parse_content_encoding
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var value: StaticString
    var outcome: StaticString


def _outcome(value: StringSpan) raises -> String:
    var codings = List[ContentCoding]()
    try:
        parse_content_encoding(value, codings)
    except error:
        return String(error)
    var text = String()
    for coding in codings:
        text.write(coding, " ")
    return text^


def test_parse() raises:
    comptime UNKNOWN = "Content-Encoding: the coding '"
    comptime KNOWN = "' is unknown; gzip, deflate, br and zstd are not"
    var rows: List[_Row] = [
        _Row("9110-8.4 one", "gzip", "gzip "),
        _Row("9110-8.4 in the order applied", "gzip, br", "gzip br "),
        _Row("9110-8.4.1.3 alias", "X-Gzip", "gzip "),
        _Row("8878-7.2 zstd", "zstd, Zstd", "zstd zstd "),
        _Row("9110-8.4 identity adds nothing", "identity", ""),
        _Row("9110-5.6.1.2 empty elements", ", gzip,, ", "gzip "),
        _Row("none", "", ""),
        _Row("unknown", "gzip, lzma", UNKNOWN + "lzma" + KNOWN),
        _Row("no parameters", "gzip;q=1", UNKNOWN + "gzip;q=1" + KNOWN),
        _Row("no wildcard", "*", UNKNOWN + "*" + KNOWN),
        _Row("peer octets are escaped", "\n", UNKNOWN + "\\x0a" + KNOWN),
        _Row("three are fine", "br, br, br", "br br br "),
        _Row(
            "four are not",
            "br,br,br,br",
            "Content-Encoding: more than 3 codings; the sender must use fewer",
        ),
    ]
    for row in rows:
        assert_equal(_outcome(row.value), row.outcome, row.rule)


def test_lines_add_up() raises:
    var codings = List[ContentCoding]()
    parse_content_encoding("deflate", codings)
    parse_content_encoding("gzip", codings)
    assert_equal(len(codings), 2)
    assert_true(codings[0] == ContentCoding.DEFLATE)
    assert_true(codings[1] == ContentCoding.GZIP)


def _content() -> List[UInt8]:
    return List[UInt8](length=200_000, fill=65)


def _coded(names: StringSpan) raises -> List[UInt8]:
    var octets = _content()
    var codings = List[ContentCoding]()
    parse_content_encoding(names, codings)
    for coding in codings:
        octets = compress(octets, coding.format().value())
    return octets^


def _decoder(
    names: StringSpan, output_len_max: Int = 1_000_000
) raises -> ContentDecoder:
    var codings = List[ContentCoding]()
    parse_content_encoding(names, codings)
    return ContentDecoder(codings, output_len_max)


def test_chains_in_pieces_and_in_bounded_calls() raises:
    for names in ["gzip", "gzip, br", "br, deflate, gzip", "zstd, br"]:
        var octets = _coded(names)
        for step in [1, 7, 100_000]:
            for count_max in [1_000, 200_001]:
                var decoder = _decoder(names)
                var output = Buffer()
                var start = 0
                while start < len(octets) or decoder.has_pending():
                    var end = min(start + step, len(octets))
                    var before = len(output)
                    start += decoder.receive_some(
                        Span(octets)[start:end], output, count_max
                    )
                    assert_true(len(output) - before <= count_max)
                decoder.finish()
                assert_true(List[UInt8](output.span()) == _content(), names)


def test_limits_hold_for_each_coding() raises:
    # 200,000 octets, packed to 213, packed to 30: the inner limit is met.
    for names in ["gzip", "gzip, gzip"]:
        var octets = _coded(names)
        var decoder = _decoder(names, 199_999)
        var output = Buffer()
        var refused = False
        try:
            decoder.receive(octets, output)
        except error:
            refused = error.kind == CompressErrorKind.OUTPUT_LIMIT
        assert_true(refused, names)
        assert_true(len(output) <= 199_999)


def test_a_chain_cut_short_is_truncated() raises:
    var octets = _coded("gzip, br")
    for length in range(len(octets)):
        var decoder = _decoder("gzip, br")
        var output = Buffer()
        var refused = False
        try:
            decoder.receive(Span(octets)[:length], output)
            decoder.finish()
        except error:
            refused = error.kind == CompressErrorKind.TRUNCATED
        assert_true(refused)


def test_content_of_no_octets_is_no_stream() raises:
    var decoder = _decoder("gzip")
    assert_false(decoder.is_started())
    var output = Buffer()
    decoder.receive("\x1f".as_bytes(), output)
    assert_true(decoder.is_started())


def test_no_coding_at_all() raises:
    var decoder = _decoder("identity")
    var output = Buffer()
    assert_equal(decoder.receive_some("abc".as_bytes(), output, 2), 2)
    decoder.finish()
    assert_equal(len(output), 2)


@fieldwise_init
struct _AcceptEncodingRow(Copyable, Movable):
    var rule: StaticString
    var value: StaticString
    # Of gzip, deflate, br and identity.
    var weights: StaticString
    # From br, gzip, identity; and from gzip, br without identity.
    var choices: StaticString


def test_zstd() raises:
    """RFC 8878 section 7.2; it has a weight of its own."""
    var accepted = AcceptEncoding("zstd, gzip;q=0.5")
    assert_equal(accepted.weight(ContentCoding.ZSTD), 1000)
    assert_equal(accepted.weight(ContentCoding.BR), 0)
    assert_equal(AcceptEncoding("*;q=0.2").weight(ContentCoding.ZSTD), 200)
    assert_equal(AcceptEncoding("br").weight(ContentCoding.ZSTD), 0)
    var offered: List[ContentCoding] = [ContentCoding.BR, ContentCoding.ZSTD]
    assert_true(accepted.choose(offered).value() == ContentCoding.ZSTD)


def test_weights_and_choices() raises:
    var rows: List[_AcceptEncodingRow] = [
        _AcceptEncodingRow("9110-12.5.3 empty", "", "0 0 0 1", "identity -"),
        _AcceptEncodingRow(
            "9110-12.5.3 one", "gzip", "1000 0 0 1", "gzip gzip"
        ),
        _AcceptEncodingRow(
            "9110-12.5.3 several", "gzip, br", "1000 0 1000 1", "br gzip"
        ),
        _AcceptEncodingRow(
            "browsers", "gzip, deflate, br, zstd", "1000 1000 1000 1", "br gzip"
        ),
        _AcceptEncodingRow(
            "9110-12.4.2 weight",
            "gzip;q=0.5, br;q=0.4",
            "500 0 400 1",
            "gzip gzip",
        ),
        _AcceptEncodingRow(
            "9110-12.4.2 three digits", "br;q=0.001", "0 0 1 1", "br br"
        ),
        _AcceptEncodingRow(
            "9110-12.4.2 zeros", "br;q=1.000,gzip;q=0.", "0 0 1000 1", "br br"
        ),
        _AcceptEncodingRow(
            "9110-12.4.2 q=0 excludes", "gzip;q=0", "0 0 0 1", "identity -"
        ),
        _AcceptEncodingRow(
            "9110-12.4.2 Q", "gzip ; Q=0.7", "700 0 0 1", "gzip gzip"
        ),
        _AcceptEncodingRow(
            "9110-12.5.3 the wildcard", "*", "1000 1000 1000 1000", "br gzip"
        ),
        _AcceptEncodingRow(
            "9110-12.5.3 all else", "br, *;q=0.1", "100 100 1000 100", "br br"
        ),
        _AcceptEncodingRow(
            "9110-12.5.3 all but", "br;q=0, *", "1000 1000 0 1000", "gzip gzip"
        ),
        _AcceptEncodingRow("9110-12.5.3 none", "*;q=0", "0 0 0 0", "- -"),
        _AcceptEncodingRow(
            "9110-12.5.3 no identity", "identity;q=0", "0 0 0 0", "- -"
        ),
        _AcceptEncodingRow(
            "9110-12.5.3 identity stays",
            "*;q=0, identity",
            "0 0 0 1000",
            "identity -",
        ),
        _AcceptEncodingRow(
            "9110-12.5.3 identity wins",
            "identity, gzip;q=0.5",
            "500 0 0 1000",
            "identity gzip",
        ),
        _AcceptEncodingRow(
            "9110-8.4.1.3 alias", "x-gzip", "1000 0 0 1", "gzip gzip"
        ),
        _AcceptEncodingRow(
            "9110-8.4.1 case", "GZIP;q=1", "1000 0 0 1", "gzip gzip"
        ),
        _AcceptEncodingRow(
            "the first counts",
            "gzip;q=0.2, gzip, x-gzip;q=0",
            "200 0 0 1",
            "gzip gzip",
        ),
        _AcceptEncodingRow(
            "9110-5.6.1.2 empty elements",
            ",, gzip ,",
            "1000 0 0 1",
            "gzip gzip",
        ),
        _AcceptEncodingRow(
            "9110-12.4.2 above 1", "gzip;q=1.001", "0 0 0 1", "identity -"
        ),
        _AcceptEncodingRow(
            "9110-12.4.2 four digits", "gzip;q=0.1234", "0 0 0 1", "identity -"
        ),
        _AcceptEncodingRow(
            "9110-12.4.2 two", "gzip;q=2", "0 0 0 1", "identity -"
        ),
        _AcceptEncodingRow(
            "9110-12.4.2 signs", "gzip;q=-1, br;q=+1", "0 0 0 1", "identity -"
        ),
        _AcceptEncodingRow(
            "9110-12.4.2 no number", "gzip;q=, br;q", "0 0 0 1", "identity -"
        ),
        _AcceptEncodingRow(
            "9110-12.4.2 no digits", "gzip;q=0.x", "0 0 0 1", "identity -"
        ),
        _AcceptEncodingRow(
            "9110-12.4.2 no point", "gzip;q=01", "0 0 0 1", "identity -"
        ),
        _AcceptEncodingRow(
            "9110-12.5.3 another parameter",
            "gzip;level=9",
            "0 0 0 1",
            "identity -",
        ),
        _AcceptEncodingRow(
            "an unknown coding", "lzma, x", "0 0 0 1", "identity -"
        ),
        _AcceptEncodingRow("no comma", "gzip br", "0 0 0 1", "identity -"),
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
