"""The chunked coding (RFC 9112 section 7.1)."""

from flare.bytes.buffer import Buffer
from flare.http.h1.chunked import ChunkedDecoder
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.error import RemoteProtocolError, Rule
from tests.support.assertions import assert_equal, assert_true

comptime _LIMITS = HeadLimits(100, 100, 5)


def _decode(
    text: StringSpan,
    step: Int,
    mut decoder: ChunkedDecoder,
    mut buffer: Buffer,
    max_body_size: Int = 1000,
) raises RemoteProtocolError -> Bool:
    buffer.clear()
    decoder.begin()
    var octets = text.as_bytes()
    var start = 0
    while start < len(octets):
        var end = min(start + step, len(octets))
        buffer.append(octets[start:end])
        if decoder.decode(
            buffer.terminate(), max_body_size, materialize[_LIMITS]()
        ):
            return True
        start = end
    return False


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var coded: StaticString
    var content: StaticString
    var rest: Int


def test_accepts_however_it_is_cut() raises:
    var rows: List[_Row] = [
        _Row("9112-7.1 last-chunk", "0\r\n\r\n", "", 0),
        _Row("9112-7.1 chunks", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde", 0),
        _Row(
            "9112-7.1 two cases of hex",
            "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n",
            "01234567890123456789",
            0,
        ),
        _Row("9112-7.1 zeros before", "0003\r\nabc\r\n000\r\n\r\n", "abc", 0),
        _Row(
            "9112-7.1.1 extension",
            '3;a=b;c="d;e"\r\nabc\r\n0;x\r\n\r\n',
            "abc",
            0,
        ),
        _Row("9112-7.1.1 BWS before", "3 ;a\r\nabc\r\n0\r\n\r\n", "abc", 0),
        _Row(
            "9112-7.1.1 BWS everywhere",
            '3\t ; a \t=  b\t; c ; d = "e"\r\nabc\r\n0\r\n\r\n',
            "abc",
            0,
        ),
        _Row(
            "9110-5.6.4 quoted pairs, and text beyond ASCII",
            '3;a="\\"\\\\\t \\;\xc3\xa4";b=""\r\nabc\r\n0\r\n\r\n',
            "abc",
            0,
        ),
        _Row(
            "9112-7.1.2 trailers", "1\r\na\r\n0\r\nA: b\r\nC: d\r\n\r\n", "a", 0
        ),
        _Row(
            "9112-7.1 data like framing",
            "7\r\n0\r\n\r\n0\r\r\n0\r\n\r\n",
            "0\r\n\r\n0\r",
            0,
        ),
    ]
    var decoder = ChunkedDecoder()
    var buffer = Buffer(0)
    for row in rows:
        for step in range(1, row.coded.byte_length() + 1):
            assert_true(_decode(row.coded, step, decoder, buffer), row.rule)
            var content = buffer.span()[0 : decoder.content_len]
            assert_equal(
                StringSpan(unsafe_from_utf8=content), row.content, row.rule
            )
            assert_equal(
                decoder.consumed_len, row.coded.byte_length(), row.rule
            )


def test_stops_at_the_end_of_the_body() raises:
    var decoder = ChunkedDecoder()
    var buffer = Buffer(0)
    assert_true(_decode("1\r\na\r\n0\r\n\r\nGET", 100, decoder, buffer))
    assert_equal(decoder.consumed_len, 11)


def test_trailers_are_lent() raises:
    comptime CODED = "1\r\na\r\n0\r\nA: b\r\n\r\n"
    var decoder = ChunkedDecoder()
    var buffer = Buffer(0)
    for step in range(1, 30):
        assert_true(_decode(CODED, step, decoder, buffer))
        var trailers = decoder.trailers.fields(
            buffer.span()[decoder.trailers_offset :]
        )
        assert_equal(len(trailers), 1)
        assert_equal(trailers["a"], "b")


@fieldwise_init
struct _Bad(Copyable, Movable):
    var rule: StaticString
    var coded: String
    var number: UInt8


def test_refuses_however_it_is_cut() raises:
    var rows: List[_Bad] = [
        _Bad("9112-7.1 no digit", "g\r\n", Rule.CHUNK_SIZE.number),
        _Bad("9112-7.1 empty", "\r\n", Rule.CHUNK_SIZE.number),
        _Bad("9112-7.1 sign", "+1\r\n", Rule.CHUNK_SIZE.number),
        _Bad(
            "9112-7.1 CHUNK_SIZE_DIGITS_MAX",
            "0000000000000001\r\n",
            Rule.CHUNK_SIZE.number,
        ),
        _Bad("9112-7.1 prefix", "0x1\r\n", Rule.CHUNK_EXTENSION.number),
        _Bad("9112-7.1 whitespace", "1 \r\n", Rule.CHUNK_EXTENSION.number),
        _Bad("9112-7.1.1 no name", "1;\r\n", Rule.CHUNK_EXTENSION.number),
        _Bad("9112-7.1.1 no name", "1; =a\r\n", Rule.CHUNK_EXTENSION.number),
        _Bad("9112-7.1 LF", "1\na", Rule.CHUNK_EXTENSION.number),
        _Bad("9112-7.1 CR", "1\rXa", Rule.LINE_END.number),
        _Bad(
            "9112-7.1 control in extension",
            "1;a\x01\r\n",
            Rule.CHUNK_EXTENSION.number,
        ),
        _Bad("9112-2.2 LF", "1;a\n", Rule.CHUNK_EXTENSION.number),
        _Bad("9112-2.2 LF", '1;a="b"\n', Rule.CHUNK_EXTENSION.number),
        _Bad("9112-2.2 CR", "1;a\rb", Rule.LINE_END.number),
        _Bad("9112-7.1.1 no value", "1;a=\r\n", Rule.CHUNK_EXTENSION.number),
        _Bad("9112-7.1.1 no value", "1;a=;b\r\n", Rule.CHUNK_EXTENSION.number),
        _Bad("9112-7.1.1 two names", "1;a b\r\n", Rule.CHUNK_EXTENSION.number),
        _Bad("9112-7.1.1 BWS behind", "1;a \r\n", Rule.CHUNK_EXTENSION.number),
        _Bad(
            "9112-7.1.1 BWS behind a value",
            "1;a=b\t\r\n",
            Rule.CHUNK_EXTENSION.number,
        ),
        _Bad("9112-7.1.1 `;` behind", "1;a;\r\n", Rule.CHUNK_EXTENSION.number),
        _Bad("9112-7.1.1 comma", "1;a,b\r\n", Rule.CHUNK_EXTENSION.number),
        _Bad("9112-7.1.1 twice =", "1;a=b=c\r\n", Rule.CHUNK_EXTENSION.number),
        _Bad(
            "9110-5.6.4 open quote", '1;a="b\r\n', Rule.CHUNK_EXTENSION.number
        ),
        _Bad(
            "9110-5.6.4 open behind a pair",
            '1;a="b\\"\r\n',
            Rule.CHUNK_EXTENSION.number,
        ),
        _Bad(
            "9110-5.6.4 CR in a pair",
            '1;a="\\\r\n"',
            Rule.CHUNK_EXTENSION.number,
        ),
        _Bad("9110-5.6.4 NUL", '1;a="\0"\r\n', Rule.CHUNK_EXTENSION.number),
        _Bad(
            "9110-5.6.4 DEL in a pair",
            '1;a="\\\x7f"\r\n',
            Rule.CHUNK_EXTENSION.number,
        ),
        _Bad(
            "9110-5.6.4 behind the quote",
            '1;a="b"c\r\n',
            Rule.CHUNK_EXTENSION.number,
        ),
        _Bad(
            "CHUNK_EXTENSION_LEN_MAX in a quote",
            String('1;a="', String("b") * 1100),
            Rule.CHUNK_EXTENSION.number,
        ),
        _Bad(
            "9112-7.1 no CRLF behind data", "1\r\nab\r\n", Rule.CHUNK_END.number
        ),
        _Bad(
            "9112-7.1 LF behind data",
            "1\r\na\n0\r\n\r\n",
            Rule.CHUNK_END.number,
        ),
        _Bad("9110-15.5.14 one chunk", "3e9\r\n", Rule.BODY_LEN.number),
        _Bad(
            "9112-7.1.2 field name", "0\r\na b\r\n\r\n", Rule.FIELD_NAME.number
        ),
        _Bad("9112-7.1.2 obs-fold", "0\r\n a: b\r\n\r\n", Rule.OBS_FOLD.number),
        _Bad(
            "trailers",
            String("0\r\na: ", String("b") * 200, "\r\n\r\n"),
            Rule.HEADER_LEN.number,
        ),
        _Bad(
            "CHUNK_EXTENSION_LEN_MAX",
            String("1;", String("b") * 1100),
            Rule.CHUNK_EXTENSION.number,
        ),
    ]
    var decoder = ChunkedDecoder()
    var buffer = Buffer(0)
    for row in rows:
        var count = row.coded.byte_length()
        for step in range(1, count + 1, 1 if count < 50 else 97):
            var message = _refusal(row.coded, step, decoder, buffer)
            assert_true(
                message.startswith(Rule(row.number, 0).text()),
                String(row.rule, " cut at ", step, ": ", message),
            )


def _refusal(
    coded: String, step: Int, mut decoder: ChunkedDecoder, mut buffer: Buffer
) -> String:
    try:
        _ = _decode(coded, step, decoder, buffer)
        return "accepted"
    except error:
        return String(error)


def test_bounds_all_extensions_together() raises:
    var coded = String()
    for _ in range(40):
        coded += "1;" + String("b") * 500 + "\r\na\r\n"
    var decoder = ChunkedDecoder()
    var buffer = Buffer(0)
    assert_true(
        _refusal(coded, 10_000, decoder, buffer).startswith(
            Rule.CHUNK_EXTENSION.text()
        )
    )


def test_a_signature_in_each_large_chunk_is_no_flood() raises:
    var coded = String()
    for _ in range(300):
        coded += "640;chunk-signature=" + String("b") * 64
        coded += "\r\n" + String("a") * 1600 + "\r\n"
    coded += "0\r\n\r\n"
    var decoder = ChunkedDecoder()
    var buffer = Buffer(0)
    assert_true(_decode(coded, 10_000, decoder, buffer, 480_000))
    assert_equal(decoder.content_len, 480_000)
