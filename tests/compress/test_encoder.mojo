"""Compression: what is written is read back, at every level and cut."""

from flare.bytes.buffer import Buffer
from flare.compress import (
    CompressErrorKind,
    Decoder,
    Encoder,
    Format,
    compress,
    decompress,
)
from tests.support.assertions import assert_equal, assert_true
from tests.vectors.hex_text import hex_of


def _formats() -> List[Format]:
    return [
        Format.GZIP,
        Format.ZLIB,
        Format.RAW_DEFLATE,
        Format.DEFLATE,
        Format.BROTLI,
        Format.ZSTD,
    ]


def _sample() -> List[UInt8]:
    var octets = List[UInt8]()
    for number in range(40_000):
        octets.append(UInt8((number * 7919 >> 5) & 127))
    return octets^


def test_round_trip_at_every_level() raises:
    var octets = _sample()
    for format in _formats():
        var level_max = 11 if format == Format.BROTLI else 9
        if format == Format.ZSTD:
            level_max = 19
        for level in range(-1, level_max + 1):
            if format == Format.ZSTD and level == 0:
                continue
            var stream = compress(octets, format, level)
            assert_true(
                decompress(stream, format) == octets, String(format, level)
            )
        assert_equal(
            len(decompress(compress("".as_bytes(), format), format)), 0
        )


def test_the_writings_that_others_expect() raises:
    # RFC 1952 section 2.3.1: no name, no time, so that equal content gives
    # equal octets.
    var gzip = compress("a".as_bytes(), Format.GZIP)
    assert_equal(hex_of(Span(gzip)[:8]), "1f8b080000000000")
    # RFC 9110 section 8.4.1.2: deflate means the zlib wrapping.
    var deflate = compress("a".as_bytes(), Format.DEFLATE)
    assert_equal(deflate[0], 0x78)
    assert_true(deflate == compress("a".as_bytes(), Format.ZLIB))


def test_a_whole_frame_says_its_length() raises:
    """RFC 8878 section 3.1.1.1: with Single_Segment_flag a reader needs memory
    for the content alone, and Frame_Content_Size of two octets is less 256."""
    var frame = compress(Span(_sample())[:300], Format.ZSTD)
    assert_equal(hex_of(Span(frame)[:7]), "28b52ffd602c00")


def test_a_stream_has_nothing_of_the_one_before() raises:
    # Streams of deflate are begun anew, also those that were left in the middle.
    var octets = _sample()
    var expected = List[List[UInt8]]()
    for level in [1, 9]:
        for format in _formats():
            expected.append(compress(octets, format, level))
    for _ in range(3):
        var index = 0
        for level in [1, 9]:
            for format in _formats():
                var output = Buffer()
                var left = Encoder(format, level)
                left.receive(Span(octets)[index:], output)
                _ = left^
                assert_true(compress(octets, format, level) == expected[index])
                index += 1


def test_pieces_make_the_same_content() raises:
    var octets = _sample()
    for format in _formats():
        for step in [1, 1_000, 16_384]:
            var encoder = Encoder(format)
            var output = Buffer()
            var start = 0
            while start < len(octets):
                var end = min(start + step, len(octets))
                encoder.receive(Span(octets)[start:end], output)
                start = end
            encoder.finish(output)
            assert_true(decompress(output.span(), format) == octets)


def test_flushed_octets_can_be_decoded_at_once() raises:
    for format in _formats():
        var encoder = Encoder(format)
        var decoder = Decoder(format)
        var wire = Buffer()
        var output = Buffer()
        for event in ["data: 1\n\n", "data: 2\n\n", ""]:
            encoder.receive(event.as_bytes(), wire)
            encoder.flush(wire)
            decoder.receive(wire.span(), output)
            wire.clear()
            assert_equal(String(from_utf8_lossy=output.span()), event)
            output.clear()
        encoder.finish(wire)
        decoder.receive(wire.span(), output)
        decoder.finish()
        assert_equal(len(output), 0)


def test_an_ended_stream_takes_nothing_more() raises:
    var encoder = Encoder(Format.GZIP)
    var output = Buffer()
    encoder.finish(output)
    var refused = False
    try:
        encoder.receive("a".as_bytes(), output)
    except error:
        refused = error.kind == CompressErrorKind.MISUSED
        assert_equal(String(error), "gzip: its stream has ended; start anew")
    assert_true(refused)


def test_levels_have_bounds() raises:
    for level in [-2, 10, 12]:
        var refused = False
        try:
            _ = Encoder(Format.GZIP, level)
        except error:
            refused = error.kind == CompressErrorKind.MISUSED
            assert_true("choose 0 to 9" in String(error), String(error))
        assert_true(refused)
    var refused = False
    try:
        _ = Encoder(Format.BROTLI, 12)
    except error:
        refused = error.kind == CompressErrorKind.MISUSED
    assert_true(refused)
    refused = False
    try:
        _ = Encoder(Format.ZSTD, 20)
    except error:
        refused = error.kind == CompressErrorKind.MISUSED
    assert_true(refused)
    assert_true(len(compress(_sample(), Format.GZIP, 0)) > 40_000)
