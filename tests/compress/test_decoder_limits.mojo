"""What comes out of a decoder is bounded, in all and for each call."""

from flare.bytes.buffer import Buffer
from flare.compress import (
    CompressError,
    CompressErrorKind,
    Decoder,
    Format,
    compress,
)
from tests.support.assertions import assert_equal, assert_true
from tests.vectors.hex_text import octets_of

comptime _GZIP = StaticString(
    "1f8b0800000000000203cb48cdc9c9d751c840a21401a7bbd2fe14000000"
)
comptime _GZIP_EMPTY = StaticString("1f8b080000000000020303000000000000000000")
# 16 KiB and 1 MiB of zeros.
comptime _GZIP_BOMB = StaticString(
    "1f8b0800000000000203edc13101000000c2a0f54f6d0c1fa0000000000000000000000000"
    "00000080b70186d254ab00400000"
)
comptime _BROTLI_BOMB = StaticString("5bffff8f7f02201e0b0472ef1f00")
comptime _ZSTD_BOMB = StaticString(
    "28b52ffda0000010005400001000000100fbff39c0020200100002001000020010000200"
    "1000020010000200100003001000"
)


def _bomb(
    hex: StringSpan, format: Format, output_len_max: Int, step: Int
) raises -> Int:
    """Gives how much came out if it was refused for its length; -1 if not."""
    var decoder = Decoder(format, output_len_max)
    var octets = octets_of(hex)
    var output = Buffer()
    var start = 0
    try:
        while start < len(octets):
            var end = min(start + step, len(octets))
            decoder.receive(Span(octets)[start:end], output)
            start = end
        decoder.finish()
    except error:
        assert_true(error.kind == CompressErrorKind.OUTPUT_LIMIT, String(error))
        assert_equal(error.output_len_max, output_len_max)
        return len(output)
    return -1


def test_bombs_stop_at_the_limit() raises:
    for step in [1, 5, 1000]:
        for limit in [0, 1, 2, 777, 16_383]:
            assert_equal(_bomb(_GZIP_BOMB, Format.GZIP, limit, step), limit)
        assert_equal(_bomb(_GZIP_BOMB, Format.GZIP, 16_384, step), -1)
        for limit in [0, 1, 2, 777, 1_048_575]:
            assert_equal(_bomb(_BROTLI_BOMB, Format.BROTLI, limit, step), limit)
            assert_equal(_bomb(_ZSTD_BOMB, Format.ZSTD, limit, step), limit)
        assert_equal(_bomb(_BROTLI_BOMB, Format.BROTLI, 1_048_576, step), -1)
        assert_equal(_bomb(_ZSTD_BOMB, Format.ZSTD, 1_048_576, step), -1)
    # The limit is for all members together.
    var two = _GZIP + _GZIP
    assert_equal(_bomb(two, Format.GZIP, 20, 1000), 20)
    assert_equal(_bomb(two, Format.GZIP, 40, 1000), -1)
    # A stream of nothing needs no room.
    assert_equal(_bomb(_GZIP_EMPTY, Format.GZIP, 0, 1), -1)


def test_the_limit_is_the_same_however_it_is_cut() raises:
    # Found by fuzzing: zlib takes 31 octets or 30 for the first 10, as it is cut.
    var text = List[UInt8]()
    for number in range(400):
        text.append(UInt8(97 + (number * number + number // 7) % 20))
    var octets = compress(text, Format.ZLIB)
    for limit in [10, 107, 399]:
        for step in range(1, len(octets) + 1):
            var decoder = Decoder(Format.ZLIB, limit)
            var output = Buffer()
            var refused = Optional[CompressError]()
            var given = 0
            while given < len(octets) and not refused:
                var start = given
                given = min(given + step, len(octets))
                try:
                    decoder.receive(Span(octets)[start:given], output)
                except error:
                    refused = error.copy()
            assert_true(refused.value().kind == CompressErrorKind.OUTPUT_LIMIT)
            assert_true(refused.value().offset <= given)
            assert_true(output.span() == Span(text)[:limit])


def test_a_bounded_call_stops_and_goes_on() raises:
    var decoder = Decoder(Format.GZIP)
    var octets = octets_of(_GZIP_BOMB)
    var output = Buffer()
    var taken = decoder.receive_some(octets, output, 100)
    assert_equal(len(output), 100)
    assert_true(decoder.has_pending())
    var count = len(output)
    while taken < len(octets) or decoder.has_pending():
        output.clear()
        taken += decoder.receive_some(Span(octets)[taken:], output, 100)
        assert_true(len(output) <= 100)
        count += len(output)
    decoder.finish()
    assert_equal(count, 16_384)


def test_finish_before_all_was_taken_is_refused() raises:
    var decoder = Decoder(Format.GZIP)
    var output = Buffer()
    _ = decoder.receive_some(octets_of(_GZIP_BOMB), output, 1)
    var message = String()
    try:
        decoder.finish()
    except error:
        message = String(error)
    assert_equal(
        message, "gzip: it has failed before, or not all was taken from it"
    )
