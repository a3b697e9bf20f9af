"""Decompression of streams that Python's gzip, zlib and brotli modules made."""

from flare.bytes.buffer import Buffer
from flare.compress import (
    CompressError,
    CompressErrorKind,
    Decoder,
    Format,
    compress,
    decompress,
)
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes
from tests.vectors.hex_text import octets_of

comptime _HELLO = StaticString("hello, hello, hello!")
comptime _GZIP = StaticString(
    "1f8b0800000000000203cb48cdc9c9d751c840a21401a7bbd2fe14000000"
)
comptime _GZIP_EMPTY = StaticString("1f8b080000000000020303000000000000000000")
comptime _ZLIB = StaticString("789ccb48cdc9c9d751c840a214014b1e06f6")
comptime _RAW = StaticString("cb48cdc9c9d751c840a21401")
comptime _BROTLI = StaticString(
    "8b098068656c6c6f2c2068656c6c6f2c2068656c6c6f2103"
)

comptime _ZSTD = StaticString("28b52ffd20147500004068656c6c6f2c20210100e28a11")
comptime _ZSTD_EMPTY = StaticString("28b52ffd2000010000")


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var format: Format
    var hex: StaticString
    var text: StaticString


def _good_rows() -> List[_Row]:
    return [
        _Row("1952-2.3 one member", Format.GZIP, _GZIP, _HELLO),
        _Row(
            "1952-2.3.1 FNAME",
            Format.GZIP,
            "1f8b08080100000002ff612e74787400cb48cdc9c9d751c840a21401a7bbd2fe"
            "14000000",
            _HELLO,
        ),
        _Row(
            "1952-2.3.1 FHCRC, FEXTRA, FNAME, FCOMMENT",
            Format.GZIP,
            "1f8b081e05000000000303006162636e0063006b13cb48cdc9c9d751c840a21401"
            "a7bbd2fe14000000",
            _HELLO,
        ),
        _Row("1952-2.2 no data", Format.GZIP, _GZIP_EMPTY, ""),
        _Row(
            "1952-2.2 members behind each other",
            Format.GZIP,
            "1f8b0800000000000203cb48cdc9c9d751c840a21401a7bbd2fe14000000"
            "1f8b080000000000020303000000000000000000"
            "1f8b0800000000000203cb48cdc9c9d751c840a21401a7bbd2fe14000000",
            "hello, hello, hello!hello, hello, hello!",
        ),
        _Row("1950-2.2 wrapped", Format.ZLIB, _ZLIB, _HELLO),
        _Row(
            "1950-2.2 window of 512",
            Format.ZLIB,
            "18d3cb48cdc9c9d751c840a214014b1e06f6",
            _HELLO,
        ),
        _Row("1950-2.2 no data", Format.ZLIB, "789c030000000001", ""),
        _Row("1951-3.2.6 fixed codes", Format.RAW_DEFLATE, _RAW, _HELLO),
        _Row(
            "1951-3.2.4 stored",
            Format.RAW_DEFLATE,
            "011400ebff68656c6c6f2c2068656c6c6f2c2068656c6c6f21",
            _HELLO,
        ),
        _Row("1951-3.2.3 no data", Format.RAW_DEFLATE, "0300", ""),
        _Row("9110-8.4.1.2 deflate is zlib", Format.DEFLATE, _ZLIB, _HELLO),
        _Row(
            "9110-8.4.1.2 a small window",
            Format.DEFLATE,
            "18d3cb48cdc9c9d751c840a214014b1e06f6",
            _HELLO,
        ),
        _Row("9110-8.4.1.2 some send it raw", Format.DEFLATE, _RAW, _HELLO),
        _Row(
            "9110-8.4.1.2 raw, and stored",
            Format.DEFLATE,
            "011400ebff68656c6c6f2c2068656c6c6f2c2068656c6c6f21",
            _HELLO,
        ),
        _Row("9110-8.4.1.2 raw, no data", Format.DEFLATE, "0300", ""),
        _Row(
            "9110-8.4.1.2 raw, its first octet like zlib's",
            Format.DEFLATE,
            # A stored block with a bit set in its padding: nobody writes it,
            # RFC 1951 section 3.2.4 allows it.
            "080100fe" + "ff41" + "0300",
            "A",
        ),
        _Row("7932-9 stream", Format.BROTLI, _BROTLI, _HELLO),
        _Row("7932-9.2 no data", Format.BROTLI, "3b", ""),
        _Row("8878-3.1.1 frame", Format.ZSTD, _ZSTD, _HELLO),
        _Row("8878-3.1.1 no data", Format.ZSTD, _ZSTD_EMPTY, ""),
        _Row(
            "9659-3 a window of 8 MiB",
            Format.ZSTD,
            "28b52ffd006829000068656c6c6f",
            "hello",
        ),
    ]


def test_decompresses() raises:
    for row in _good_rows():
        var octets = decompress(octets_of(row.hex), row.format)
        assert_equal(String(from_utf8_lossy=octets), row.text, row.rule)


def _in_pieces(
    octets: Span[UInt8, _], format: Format, cuts: List[Int], count_max: Int
) raises -> String:
    """Feeds pieces that end at the cuts; gives what comes out, or the error."""
    var decoder = Decoder(format, 1000)
    var output = Buffer()
    var outcome = String("whole ")
    try:
        var start = 0
        for end in cuts:
            # The piece ends at a forbidden page.
            var piece = GuardedBytes(octets[start:end])
            _drain(decoder, piece.span(), output, count_max)
            start = end
        _drain(decoder, octets[start:], output, count_max)
        decoder.finish()
    except error:
        outcome = String(error, " ")
    return outcome + String(from_utf8_lossy=output.span())


def _drain(
    mut decoder: Decoder,
    octets: Span[UInt8, _],
    mut output: Buffer,
    count_max: Int,
) raises CompressError:
    var taken = 0
    while taken < len(octets) or decoder.has_pending():
        var before = len(output)
        taken += decoder.receive_some(octets[taken:], output, count_max)
        debug_assert[assert_mode="safe"](
            len(output) - before <= count_max, "more than its bound"
        )


def test_split_invariance_at_every_byte() raises:
    for row in _good_rows():
        var octets = octets_of(row.hex)
        var all = List[Int]()
        for offset in range(len(octets)):
            var outcome = _in_pieces(octets, row.format, [offset], Int.MAX)
            assert_equal(outcome, String("whole ", row.text), row.rule)
            all.append(offset)
        var bytewise = _in_pieces(octets, row.format, all, Int.MAX)
        assert_equal(bytewise, String("whole ", row.text), row.rule)
        for count_max in range(1, 7):
            bytewise = _in_pieces(octets, row.format, all, count_max)
            assert_equal(bytewise, String("whole ", row.text), row.rule)
            var whole = _in_pieces(octets, row.format, [], count_max)
            assert_equal(whole, String("whole ", row.text), row.rule)


@fieldwise_init
struct _BadRow(Copyable, Movable):
    var rule: StaticString
    var format: Format
    var hex: StaticString
    var kind: CompressErrorKind
    var offset: Int


def _bad_rows() -> List[_BadRow]:
    comptime CORRUPT = CompressErrorKind.CORRUPT
    comptime TRAILING = CompressErrorKind.TRAILING
    comptime TRUNCATED = CompressErrorKind.TRUNCATED
    return [
        _BadRow("1952-2.3.1 ID1", Format.GZIP, "1e8b08", CORRUPT, 2),
        _BadRow(
            "1952-2.3.1 CM", Format.GZIP, "1f8b0700000000000203", CORRUPT, 4
        ),
        _BadRow(
            "1952-2.3.1 reserved FLG bit",
            Format.GZIP,
            "1f8b0880000000000203",
            CORRUPT,
            4,
        ),
        _BadRow(
            "1952-2.3.1 CRC32",
            Format.GZIP,
            "1f8b0800000000000203cb48cdc9c9d751c840a21401a7bbd2ff14000000",
            CORRUPT,
            26,
        ),
        _BadRow(
            "1952-2.3.1 ISIZE",
            Format.GZIP,
            "1f8b0800000000000203cb48cdc9c9d751c840a21401a7bbd2fe15000000",
            CORRUPT,
            30,
        ),
        _BadRow("1952-2.2 text", Format.GZIP, "3c68746d6c3e", CORRUPT, 2),
        _BadRow(
            "1952-2.2 padding behind the member",
            Format.GZIP,
            "1f8b08000000000002030300000000000000000000",
            TRAILING,
            20,
        ),
        _BadRow(
            "1952-2.2 the next member is none",
            Format.GZIP,
            "1f8b0800000000000203030000000000000000001f00",
            CORRUPT,
            22,
        ),
        _BadRow(
            "1952-2.2 the next member is cut off",
            Format.GZIP,
            "1f8b0800000000000203030000000000000000001f",
            TRUNCATED,
            21,
        ),
        _BadRow("1950-2.2 FCHECK", Format.ZLIB, "789d", CORRUPT, 2),
        _BadRow("1950-2.2 CM", Format.ZLIB, "7796", CORRUPT, 2),
        _BadRow(
            "1950-2.2 FDICT",
            Format.ZLIB,
            "78f90ace0261cbc0a414014b1e06f6",
            CORRUPT,
            6,
        ),
        _BadRow(
            "1950-2.2 ADLER32",
            Format.ZLIB,
            "789ccb48cdc9c9d751c840a214014b1e06f7",
            CORRUPT,
            18,
        ),
        _BadRow(
            "1950-2.2 trailing",
            Format.ZLIB,
            "789c03000000000178",
            TRAILING,
            8,
        ),
        _BadRow("1951-3.2.3 BTYPE 11", Format.RAW_DEFLATE, "07", CORRUPT, 1),
        _BadRow(
            "1951-3.2.4 NLEN", Format.RAW_DEFLATE, "010000feff", CORRUPT, 5
        ),
        _BadRow(
            "1951-3.2.5 distance before the start",
            Format.RAW_DEFLATE,
            "4b044200",
            CORRUPT,
            3,
        ),
        _BadRow("1951 trailing", Format.RAW_DEFLATE, "030000", TRAILING, 2),
        _BadRow("9110-8.4.1.2 neither", Format.DEFLATE, "ffff", CORRUPT, 1),
        _BadRow(
            "9110-8.4.1.2 one octet of zlib", Format.DEFLATE, "78", TRUNCATED, 1
        ),
        _BadRow(
            "9110-8.4.1.2 gzip is not deflate",
            Format.DEFLATE,
            _GZIP,
            CORRUPT,
            1,
        ),
        _BadRow("7932-9.1 WBITS", Format.BROTLI, "11", CORRUPT, 1),
        _BadRow("7932 trailing", Format.BROTLI, "3b00", TRAILING, 1),
        _BadRow("no octets", Format.ZSTD, "-", TRUNCATED, 0),
        _BadRow("no octets", Format.GZIP, "-", TRUNCATED, 0),
        _BadRow("no octets", Format.DEFLATE, "-", TRUNCATED, 0),
        _BadRow("no octets", Format.BROTLI, "-", TRUNCATED, 0),
    ]


def _refusal(
    octets: Span[UInt8, _], format: Format, step: Int
) raises CompressError:
    var decoder = Decoder(format)
    var output = Buffer()
    var start = 0
    while start < len(octets):
        var end = min(start + step, len(octets))
        decoder.receive(octets[start:end], output)
        start = end
    decoder.finish()


def test_refuses_by_kind_and_offset() raises:
    for row in _bad_rows():
        for step in [1, 2, 1000]:
            var octets = octets_of(row.hex)
            var refused = False
            try:
                _refusal(octets, row.format, step)
            except error:
                refused = True
                assert_true(error.kind == row.kind, String(row.rule, error))
                assert_equal(error.offset, row.offset, row.rule)
                assert_true(error.format == row.format, row.rule)
            assert_true(refused, row.rule)


def test_every_truncation_is_told_apart_from_corruption() raises:
    for row in _good_rows():
        var octets = octets_of(row.hex)
        for length in range(len(octets)):
            # Members behind each other may well end at the end of one.
            if row.format == Format.GZIP and length in [20, 30, 50]:
                continue
            var kind = CompressErrorKind.MISUSED
            try:
                _refusal(Span(octets)[:length], row.format, 7)
            except error:
                kind = error.kind
                assert_equal(error.offset, length, row.rule)
            assert_true(kind == CompressErrorKind.TRUNCATED, row.rule)


def test_a_failed_decoder_stays_failed() raises:
    var decoder = Decoder(Format.ZLIB)
    var output = Buffer()
    assert_false(decoder.is_started())
    var kinds = List[CompressErrorKind]()
    for _ in range(2):
        try:
            decoder.receive("no zlib".as_bytes(), output)
        except error:
            kinds.append(error.kind)
    try:
        decoder.finish()
    except error:
        kinds.append(error.kind)
    assert_true(decoder.is_started())
    assert_equal(len(kinds), 3)
    assert_true(kinds[0] == CompressErrorKind.CORRUPT)
    assert_true(kinds[1] == CompressErrorKind.MISUSED)
    assert_true(kinds[2] == CompressErrorKind.MISUSED)


def test_errors_explain_themselves() raises:
    var text = String()
    try:
        _ = decompress(octets_of(_GZIP), Format.GZIP, 10)
    except error:
        text = String(error)
    assert_true("more than 10 bytes" in text, text)
    assert_true("raise the limit" in text, text)
    text = String()
    try:
        _ = decompress("<html>".as_bytes(), Format.GZIP)
    except error:
        text = String(error)
    assert_true("not of this format" in text, text)


def test_long_octets_both_ways() raises:
    """Streams longer than every internal piece, in unequal cuts."""
    var octets = List[UInt8]()
    for number in range(60_000):
        octets.append(UInt8((number * number >> 7) & 255))
        octets.append(UInt8(number & 15))
    for format in [
        Format.GZIP,
        Format.RAW_DEFLATE,
        Format.BROTLI,
        Format.ZSTD,
    ]:
        var stream = compress(octets, format)
        assert_true(decompress(stream, format) == octets)
        for step in [1, 4_093, 16_384]:
            var decoder = Decoder(format)
            var output = Buffer()
            var start = 0
            while start < len(stream):
                var end = min(start + step, len(stream))
                decoder.receive(Span(stream)[start:end], output)
                start = end
            decoder.finish()
            assert_true(List[UInt8](output.span()) == octets)


def test_frames_of_zstd() raises:
    """RFC 8878 section 3: frames behind each other, and some to be skipped."""
    comptime FRAMES = StaticString(
        "28b52ffd2000010000502a4d1803000000ffffff28b52ffd20147500004068656c6c6f"
        "2c20210100e28a115f2a4d1800000000"
    )
    var octets = octets_of(FRAMES)
    for step in [1, 2, 7, 1000]:
        var decoder = Decoder(Format.ZSTD)
        var output = Buffer()
        var start = 0
        while start < len(octets):
            var end = min(start + step, len(octets))
            decoder.receive(Span(octets)[start:end], output)
            start = end
        decoder.finish()
        assert_equal(String(from_utf8_lossy=output.span()), _HELLO)


def test_what_is_no_zstd() raises:
    """How far the library gets before it finds a fault hangs on the cuts, so
    the offset is not looked at."""
    comptime CORRUPT = CompressErrorKind.CORRUPT
    comptime TRAILING = CompressErrorKind.TRAILING
    comptime TRUNCATED = CompressErrorKind.TRUNCATED
    var rows: List[_BadRow] = [
        _BadRow("8878-3.1.1 magic", Format.ZSTD, "28b52ffe00", CORRUPT, 0),
        _BadRow(
            "8878-3.1.1 version 0.7", Format.ZSTD, "27b52ffd20", CORRUPT, 0
        ),
        _BadRow(
            "8878-3 trailing", Format.ZSTD, "28b52ffd200001000000", TRAILING, 0
        ),
        _BadRow(
            "8878-3 text", Format.ZSTD, "28b52ffd200001000061", TRAILING, 0
        ),
        _BadRow("8878 cut", Format.ZSTD, "28b52ffd2014", TRUNCATED, 0),
        _BadRow(
            "8878-3.1.1.1.3 a dictionary",
            Format.ZSTD,
            "28b52ffd214200290000",
            CORRUPT,
            0,
        ),
        _BadRow(
            "9659-3 a window of 9 MiB",
            Format.ZSTD,
            "28b52ffd006929000068656c6c6f",
            CORRUPT,
            0,
        ),
    ]
    for row in rows:
        for step in [1, 2, 1000]:
            var octets = octets_of(row.hex)
            var text = String()
            try:
                _refusal(octets, row.format, step)
            except error:
                assert_true(error.kind == row.kind, String(row.rule, error))
                text = String(error)
            assert_true(text.byte_length() > 0, row.rule)
            assert_true("9659-3" not in row.rule or "8 MiB" in text, text)
