"""Frames: their header, padding, and those that are written at once (RFC 9113
sections 4.1 and 6)."""

from flare.bytes.buffer import Buffer
from flare.http.h2.error import ErrorCode
from flare.http.h2.frame import (
    FRAME_HEADER_LEN,
    FrameHeader,
    check_dependency,
    parse_frame_header,
    read_u31,
    read_u32,
    unpadded,
    write_frame_header,
    write_goaway,
    write_ping,
    write_rst_stream,
    write_window_update,
)
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes
from tests.vectors.hex_text import hex_of, octets_of


@fieldwise_init
struct _Header(Copyable, Movable):
    var rule: StaticString
    var hex: StaticString
    var header: FrameHeader
    var written: StaticString


def test_headers() raises:
    var rows: List[_Header] = [
        _Header(
            "9113-4.1 all zero",
            "000000000000000000",
            FrameHeader(0, 0, 0, 0),
            "000000000000000000",
        ),
        _Header(
            "9113-4.1 the order of the fields",
            "010203040506070809",
            FrameHeader(0x010203, 4, 5, 0x06070809),
            "010203040506070809",
        ),
        _Header(
            "9113-4.1 the highest values; the reserved bit is unset when sent",
            "ffffffffffffffffff",
            FrameHeader(0xFFFFFF, 255, 255, 0x7FFFFFFF),
            "ffffffffff7fffffff",
        ),
        _Header(
            "9113-4.1 the reserved bit is ignored",
            "000001000080000001",
            FrameHeader(1, 0, 0, 1),
            "000001000000000001",
        ),
    ]
    for row in rows:
        # No octet behind the ninth is read.
        var memory = GuardedBytes(octets_of(row.hex))
        var header = parse_frame_header(memory.span())
        assert_equal(header.payload_len, row.header.payload_len, row.rule)
        assert_equal(header.type, row.header.type, row.rule)
        assert_equal(header.flags, row.header.flags, row.rule)
        assert_equal(header.stream_id, row.header.stream_id, row.rule)
        var out = Buffer()
        write_frame_header(out, header)
        assert_equal(hex_of(out.span()), row.written, row.rule)


def test_every_flag() raises:
    for bit in range(8):
        var header = FrameHeader(0, 0, UInt8(1) << UInt8(bit), 1)
        for other in range(8):
            assert_equal(header.has(UInt8(1) << UInt8(other)), bit == other)


def test_headers_behind_one_another() raises:
    # A round trip through a buffer that grows.
    var out = Buffer(0)
    for index in range(2_000):
        write_frame_header(
            out,
            FrameHeader(
                index * 8_000, UInt8(index % 256), 5, index * 1_000_000
            ),
        )
    var octets = out.span()
    assert_equal(len(octets), 2_000 * FRAME_HEADER_LEN)
    for index in range(2_000):
        var start = index * FRAME_HEADER_LEN
        var header = parse_frame_header(octets[start : start + 9])
        assert_equal(header.payload_len, index * 8_000)
        assert_equal(Int(header.type), index % 256)
        assert_equal(header.stream_id, index * 1_000_000)


def test_numbers() raises:
    var memory = GuardedBytes(octets_of("01ffffffff"))
    assert_equal(read_u32(memory.span(), 1), 0xFFFF_FFFF)
    assert_equal(read_u31(memory.span(), 1), 0x7FFF_FFFF)
    assert_equal(read_u32(memory.span(), 0), 0x01FF_FFFF)


@fieldwise_init
struct _Padding(Copyable, Movable):
    var rule: StaticString
    var flags: Int
    var payload: StaticString
    var part: StaticString
    """What is left, or the number of the rule that is broken."""


def test_padding() raises:
    var rows: List[_Padding] = [
        _Padding("9113-6.1 none", 0, "020304", "020304"),
        _Padding("9113-6.1 nothing at all", 0, "-", "-"),
        _Padding("9113-6.1 two octets", 8, "02" + "61" + "0000", "61"),
        _Padding("9113-6.1 no octets", 8, "00" + "6162", "6162"),
        _Padding("9113-6.1 padding alone", 8, "02" + "0000", "-"),
        _Padding("9113-6.1 its length alone", 8, "00", "-"),
        _Padding("9113-6.1 as long as the payload", 8, "03" + "0000", "<11>"),
        _Padding("9113-6.1 longer", 8, "ff" + "0000", "<11>"),
        _Padding("9113-6.1 one octet of one", 8, "01", "<11>"),
        _Padding("9113-4.2 no length", 8, "-", "<4>"),
    ]
    for row in rows:
        var memory = GuardedBytes(octets_of(row.payload))
        var payload = memory.span()
        var header = FrameHeader(len(payload), 1, UInt8(row.flags), 1)
        var text: String
        try:
            var part = unpadded(header, payload)
            text = hex_of(payload[part.offset : part.offset + part.length])
        except error:
            assert_false(error.rule.is_of_stream, row.rule)
            text = String("<", error.rule.number, ">")
        assert_equal(text, row.part, row.rule)


def test_dependencies() raises:
    # 7540-5.3.1; the highest bit is no part of the number.
    check_dependency(octets_of("0000000310"), 0, 1)
    for hex in ["0000000110", "8000000110"]:
        var is_refused = False
        var octets = octets_of(hex)
        try:
            check_dependency(octets, 0, 1)
        except error:
            is_refused = error.rule.is_of_stream and error.stream_id == 1
        assert_true(is_refused, hex)


def test_what_is_written() raises:
    var out = Buffer()
    write_rst_stream(out, 5, ErrorCode.CANCEL)
    assert_equal(
        hex_of(out.span()), "000004" + "0300" + "00000005" + "00000008"
    )
    out.clear()
    write_window_update(out, 0, 0x7FFF_FFFF)
    assert_equal(
        hex_of(out.span()), "000004" + "0800" + "00000000" + "7fffffff"
    )
    out.clear()
    write_ping(out, 1, octets_of("0102030405060708"))
    assert_equal(
        hex_of(out.span()), "000008" + "0601" + "00000000" + "0102030405060708"
    )
    out.clear()
    write_goaway(out, 3, ErrorCode.ENHANCE_YOUR_CALM, "hi")
    assert_equal(
        hex_of(out.span()),
        "00000a" + "0700" + "00000000" + "00000003" + "0000000b" + "6869",
    )
