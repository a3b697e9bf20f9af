"""Frame headers: round trip, cut anywhere, and what is refused."""

from flare.bytes.buffer import Buffer
from flare.ws.core.error import WsRule
from flare.ws.core.frame import (
    FrameExpectation,
    FrameHeader,
    MaskingKey,
    Opcode,
    apply_mask,
    apply_mask_scalar,
    copy_masked,
    parse_frame_header,
)
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes
from tests.vectors.hex_text import hex_of, octets_of

comptime _ANY_LEN = 1 << 62


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var hex: StaticString
    var opcode: Int
    var payload_len: Int


def test_good_headers() raises:
    var rows: List[_Row] = [
        _Row("6455-5.7 a text message", "8105", 1, 5),
        _Row("6455-5.7 a first fragment", "0103", 1, 3),
        _Row("6455-5.7 a ping", "8905", 9, 5),
        _Row("6455-5.7 256 octets", "827e0100", 2, 256),
        _Row("6455-5.7 64 KiB", "827f0000000000010000", 2, 65_536),
        _Row("6455-5.2 the shortest of 16 bits", "827e007e", 2, 126),
        _Row("6455-5.2 the longest of 16 bits", "827effff", 2, 65_535),
        _Row("6455-5.2 63 bits", "827f3fffffffffffffff", 2, (1 << 62) - 1),
        _Row("6455-5.5 a full control frame", "8a7d", 10, 125),
        _Row("6455-5.5.1 an empty close", "8800", 8, 0),
    ]
    var expected = FrameExpectation(False, False, False, _ANY_LEN)
    for row in rows:
        var octets = octets_of(row.hex)
        for end in range(len(octets)):
            var memory = GuardedBytes(octets[0:end])
            var part = FrameHeader(Opcode.TEXT, 0)
            var is_whole = parse_frame_header(memory.span(), expected, part)
            assert_false(is_whole, row.rule)
            _ = memory^
        var memory = GuardedBytes(Span(octets))
        var header = FrameHeader(Opcode.TEXT, 0)
        assert_true(parse_frame_header(memory.span(), expected, header))
        _ = memory^
        assert_equal(Int(header.opcode.code), row.opcode, row.rule)
        assert_equal(header.payload_len, row.payload_len, row.rule)
        assert_equal(header.header_len, len(octets), row.rule)
        var out = Buffer()
        header.write_to(out)
        assert_equal(hex_of(out.span()), row.hex, row.rule)


def test_headers_with_a_key() raises:
    # RFC 6455 section 5.7: "Hello" under the key 37 FA 21 3D.
    var octets = octets_of("818537fa213d")
    var expected = FrameExpectation(True, False, False, _ANY_LEN)
    var header = FrameHeader(Opcode.TEXT, 0)
    for end in range(len(octets)):
        assert_false(parse_frame_header(octets[0:end], expected, header))
    assert_true(parse_frame_header(Span(octets), expected, header))
    assert_equal(header.key.word, 0x3D21FA37)
    assert_true(header.key.is_given)
    var out = Buffer()
    header.write_to(out)
    assert_equal(hex_of(out.span()), "818537fa213d")


@fieldwise_init
struct _Refusal(Copyable, Movable):
    var name: StaticString
    var hex: StaticString
    var expected: FrameExpectation
    var rule: WsRule
    var offset: Int


def _refusals() -> List[_Refusal]:
    var plain = FrameExpectation(False, False, False, 100_000)
    var inside = FrameExpectation(False, True, False, 100_000)
    var client = FrameExpectation(True, False, False, 100_000)
    var deflate = FrameExpectation(False, False, True, 100_000)
    var more = FrameExpectation(False, True, True, 100_000)
    return [
        _Refusal("6455-5.2 RSV1", "c1", plain, WsRule.RESERVED_BITS, 0),
        _Refusal("6455-5.2 RSV2", "a1", plain, WsRule.RESERVED_BITS, 0),
        _Refusal("6455-5.2 RSV3", "91", plain, WsRule.RESERVED_BITS, 0),
        _Refusal(
            "7692-6 RSV2 all the same", "e1", deflate, WsRule.RESERVED_BITS, 0
        ),
        _Refusal(
            "7692-6 RSV1 in a ping", "c9", deflate, WsRule.RESERVED_BITS, 0
        ),
        _Refusal("7692-6 RSV1 further on", "c0", more, WsRule.RESERVED_BITS, 0),
        _Refusal("6455-5.2 opcode 3", "83", plain, WsRule.OPCODE, 0),
        _Refusal("6455-5.2 opcode 7", "87", plain, WsRule.OPCODE, 0),
        _Refusal("6455-5.2 opcode 11", "8b", plain, WsRule.OPCODE, 0),
        _Refusal("6455-5.2 opcode 15", "8f", plain, WsRule.OPCODE, 0),
        _Refusal(
            "6455-5.5 a cut ping", "09", plain, WsRule.CONTROL_FRAGMENTED, 0
        ),
        _Refusal(
            "6455-5.5 a cut close", "08", plain, WsRule.CONTROL_FRAGMENTED, 0
        ),
        _Refusal(
            "6455-5.4 continues nothing",
            "80",
            plain,
            WsRule.UNEXPECTED_CONTINUATION,
            0,
        ),
        _Refusal(
            "6455-5.4 continues nothing on",
            "00",
            plain,
            WsRule.UNEXPECTED_CONTINUATION,
            0,
        ),
        _Refusal(
            "6455-5.4 text in between",
            "81",
            inside,
            WsRule.EXPECTED_CONTINUATION,
            0,
        ),
        _Refusal(
            "6455-5.4 binary in between",
            "02",
            inside,
            WsRule.EXPECTED_CONTINUATION,
            0,
        ),
        _Refusal(
            "6455-5.1 masked by a server", "8180", plain, WsRule.MASKED, 1
        ),
        _Refusal(
            "6455-5.1 not masked by a client",
            "8100",
            client,
            WsRule.NOT_MASKED,
            1,
        ),
        _Refusal("6455-5.5 a long ping", "897e", plain, WsRule.CONTROL_LEN, 1),
        _Refusal(
            "6455-5.5 a very long close", "887f", plain, WsRule.CONTROL_LEN, 1
        ),
        _Refusal(
            "6455-5.2 0 in 16 bits", "817e0000", plain, WsRule.LENGTH_FORM, 2
        ),
        _Refusal(
            "6455-5.2 125 in 16 bits", "817e007d", plain, WsRule.LENGTH_FORM, 2
        ),
        _Refusal(
            "6455-5.2 125 in 64 bits",
            "817f000000000000007d",
            plain,
            WsRule.LENGTH_FORM,
            2,
        ),
        _Refusal(
            "6455-5.2 65535 in 64 bits",
            "817f000000000000ffff",
            plain,
            WsRule.LENGTH_FORM,
            2,
        ),
        _Refusal("6455-5.2 64 bits", "817f80", plain, WsRule.LENGTH_FORM, 2),
        _Refusal("6455-5.2 all bits", "817fff", plain, WsRule.LENGTH_FORM, 2),
        _Refusal(
            "6455-10.4 over the limit",
            "817f00000000000186a1",
            plain,
            WsRule.FRAME_LEN,
            1,
        ),
        _Refusal(
            "6455-10.4 far over it",
            "817f7fffffffffffffff",
            plain,
            WsRule.FRAME_LEN,
            1,
        ),
    ]


def test_bad_headers_are_refused_at_the_octet_that_makes_them_bad() raises:
    var header = FrameHeader(Opcode.TEXT, 0)
    for row in _refusals():
        var octets = octets_of(row.hex)
        for end in range(len(octets)):
            var is_whole = parse_frame_header(
                octets[0:end], row.expected, header
            )
            assert_false(is_whole, row.name)
        var found = -1
        try:
            _ = parse_frame_header(Span(octets), row.expected, header)
        except error:
            assert_true(error.rule == row.rule, row.name)
            found = error.offset
        assert_equal(found, row.offset, row.name)


def test_every_first_octet_is_judged_as_the_standard_says() raises:
    for octet in range(256):
        var code = octet & 15
        var is_known = code <= 2 or (code >= 8 and code <= 10)
        var is_control = code >= 8
        var is_good = is_known and (octet & 0x70) == 0 and code != 0
        if is_control and (octet & 0x80) == 0:
            is_good = False
        var expected = FrameExpectation(False, False, False, _ANY_LEN)
        var was_taken = True
        try:
            var header = FrameHeader(Opcode.TEXT, 0)
            _ = parse_frame_header([UInt8(octet)], expected, header)
        except:
            was_taken = False
        assert_equal(was_taken, is_good, String(octet))


def test_written_lengths_take_the_fewest_octets() raises:
    for length in [0, 125, 126, 65_535, 65_536, 1 << 40]:
        var out = Buffer()
        FrameHeader(Opcode.BINARY, length).write_to(out)
        var wanted = 2 if length < 126 else (4 if length < 65_536 else 10)
        assert_equal(len(out), wanted)
        var header = FrameHeader(Opcode.BINARY, length)
        header.key = MaskingKey(1)
        out.clear()
        header.write_to(out)
        assert_equal(len(out), wanted + 4)


comptime _KEY = MaskingKey(0x3D21FA37)


def _octets(length: Int) -> List[UInt8]:
    var octets = List[UInt8](capacity=length)
    for index in range(length):
        octets.append(UInt8((index * 31 + 7) & 0xFF))
    return octets^


def test_the_example_of_the_standard() raises:
    # RFC 6455 section 5.7: "Hello" under the key 37 FA 21 3D.
    var octets: List[UInt8] = [0x7F, 0x9F, 0x4D, 0x51, 0x58]
    apply_mask(Span(octets), materialize[_KEY]())
    assert_equal(String(from_utf8=octets), "Hello")


def test_every_length_at_every_alignment() raises:
    var key = materialize[_KEY]()
    for start in range(64):
        for length in range(0, 300, 1 if start < 4 else 7):
            var octets = _octets(start + length + 64)
            var twin = octets.copy()
            apply_mask(Span(octets)[start : start + length], key)
            apply_mask_scalar(Span(twin)[start : start + length], key)
            assert_true(octets == twin)
            var copied = List[UInt8](length=length, fill=0)
            apply_mask_scalar(Span(twin)[start : start + length], key)
            copy_masked(twin[start : start + length], Span(copied), key)
            assert_true(copied == List[UInt8](octets[start : start + length]))


def test_pieces_go_on_where_the_last_one_ended() raises:
    var key = materialize[_KEY]()
    var whole = _octets(300)
    apply_mask_scalar(Span(whole), key)
    for step in range(1, 40):
        var octets = _octets(300)
        for start in range(0, 300, step):
            var end = min(start + step, 300)
            apply_mask(Span(octets)[start:end], key.rotated(start))
        assert_true(octets == whole)


def test_no_octet_beyond_is_touched() raises:
    for length in range(200):
        var memory = GuardedBytes(Span(_octets(length)))
        apply_mask(
            Span[UInt8, MutUntrackedOrigin](
                unsafe_ptr=memory.span()
                .unsafe_ptr()
                .unsafe_mut_cast[True]()
                .unsafe_origin_cast[MutUntrackedOrigin](),
                length=length,
            ),
            materialize[_KEY](),
        )
        var twin = _octets(length)
        apply_mask_scalar(Span(twin), materialize[_KEY]())
        assert_true(List[UInt8](memory.span()) == twin)
        _ = memory^
