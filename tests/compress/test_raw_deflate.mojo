"""Endless deflate streams cut into messages."""

from flare.bytes.buffer import Buffer
from flare.compress import CompressErrorKind
from flare.compress.raw_deflate import RawDeflater, RawInflater
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.vectors.hex_text import octets_of


def _message(index: Int) -> List[UInt8]:
    var octets = List[UInt8]()
    for place in range(1 + index * 977 % 40_000):
        octets.append(UInt8((place * place + index) % 23 + 97))
    return octets^


def _tail() -> List[UInt8]:
    return [0, 0, 255, 255]


def test_messages_round_trip_with_every_window() raises:
    for bits in range(9, 16):
        for restarts in [True, False]:
            var deflater = RawDeflater(bits, 6)
            var inflater = RawInflater(bits)
            for index in range(12):
                var message = _message(index)
                var packed = Buffer()
                deflater.add(Span(message), packed)
                deflater.flush(packed)
                assert_true(
                    List[UInt8](packed.span()[len(packed) - 4 :]) == _tail()
                )
                var unpacked = Buffer()
                inflater.receive(packed.span(), unpacked, 1 << 20)
                assert_true(inflater.is_between_blocks())
                assert_true(List[UInt8](unpacked.span()) == message)
                if restarts:
                    deflater.restart()
                    inflater.restart()


def test_the_window_lives_on_between_messages() raises:
    var deflater = RawDeflater(15, 6)
    var inflater = RawInflater(15)
    var lengths = List[Int]()
    for _ in range(3):
        var packed = Buffer()
        deflater.add(
            "a sentence that is said again and again".as_bytes(), packed
        )
        deflater.flush(packed)
        lengths.append(len(packed))
        var unpacked = Buffer()
        inflater.receive(packed.span(), unpacked, 100)
        assert_equal(len(unpacked), 39)
    assert_true(lengths[1] < lengths[0] // 2)
    # Without what came before, the second message means nothing.
    deflater.restart()
    var packed = Buffer()
    deflater.add("a sentence that is said again and again".as_bytes(), packed)
    deflater.flush(packed)
    assert_equal(len(packed), lengths[0])


def test_a_stream_that_ends_within_a_message_goes_on_behind() raises:
    # RFC 7692 section 7.2.3.4: a block with BFINAL, an octet 0, the tail; and
    # a later message that refers back to it (section 7.2.3.2).
    var inflater = RawInflater(15)
    for _ in range(3):
        var output = Buffer()
        inflater.receive(Span(octets_of("f348cdc9c907000000")), output, 100)
        inflater.receive(Span(octets_of("00ffff")), output, 100)
        assert_true(inflater.is_between_blocks())
        assert_equal(StringSpan(from_utf8=output.span()), "Hello")
        output.clear()
        inflater.receive(Span(octets_of("f2001100000000ffff")), output, 100)
        assert_equal(StringSpan(from_utf8=output.span()), "Hello")


def test_output_stops_at_the_limit_however_it_is_cut() raises:
    var deflater = RawDeflater(15, 9)
    var packed = Buffer()
    var zeros = List[UInt8](length=100_000, fill=0)
    deflater.add(Span(zeros), packed)
    deflater.flush(packed)
    for limit in [0, 1, 777, 16_384, 99_999]:
        for step in [1, 3, 1_000]:
            var inflater = RawInflater(15)
            var output = Buffer()
            var was_refused = False
            var start = 0
            try:
                while start < len(packed):
                    var end = min(start + step, len(packed))
                    inflater.receive(packed.span()[start:end], output, limit)
                    start = end
            except error:
                was_refused = error.kind == CompressErrorKind.OUTPUT_LIMIT
            assert_true(was_refused)
            assert_equal(len(output), limit)
    var inflater = RawInflater(15)
    var output = Buffer()
    inflater.receive(packed.span(), output, 100_000)
    assert_equal(len(output), 100_000)


def test_what_is_no_stream_is_refused() raises:
    var inflater = RawInflater(15)
    var output = Buffer()
    var kind = CompressErrorKind.MISUSED
    try:
        inflater.receive([UInt8(0xFF), 0xFF, 0xFF], output, 100)
    except error:
        kind = error.kind
    assert_true(kind == CompressErrorKind.CORRUPT)
    var broken_off = RawInflater(15)
    broken_off.receive(Span(octets_of("f348cd")), output, 100)
    assert_false(broken_off.is_between_blocks())
    var was_refused = False
    try:
        _ = RawInflater(16)
    except error:
        was_refused = error.kind == CompressErrorKind.UNAVAILABLE
    assert_true(was_refused)
