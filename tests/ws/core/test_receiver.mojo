"""What a receiver makes of frames, however they are cut."""

from flare.bytes.buffer import Buffer
from flare.bytes.utf8 import is_valid_utf8
from flare.ws.core.deflate import DeflateAgreement, MessageDeflater
from flare.ws.core.frame import (
    FrameHeader,
    MaskingKey,
    Opcode,
    Role,
    write_frame,
)
from flare.ws.core.receiver import (
    FrameReceiver,
    Utf8Checker,
    WsLimits,
    WsProgress,
)
from tests.support.assertions import assert_equal, assert_true
from tests.support.guard_page import GuardedBytes
from tests.support.ws_log import WsLog, log_in_pieces, log_of
from tests.vectors.hex_text import octets_of


@fieldwise_init
struct _Row(Copyable, Movable):
    """Frames of a server, and what a client makes of them."""

    var rule: StaticString
    var hex: StaticString
    var log: StaticString


def _rows() -> List[_Row]:
    return [
        _Row("6455-5.7 a message", "810548656c6c6f", "T(Hello)"),
        _Row("6455-5.6 octets", "8203ff00fe", "B(\\xff\\x00\\xfe)"),
        _Row("6455-5.6 nothing at all", "81008200", "T()B()"),
        _Row("6455-5.7 two fragments", "010348656c80026c6f", "T(Hello)"),
        _Row(
            "6455-5.4 empty fragments",
            "0100000000016100008001628100",
            "T(ab)T()",
        ),
        _Row("6455-5.4 fragments of octets", "020161000162800163", "B(abc)"),
        _Row(
            "6455-5.4 a ping in between",
            "0101618901708001628a0171",
            "P(p)T(ab)O(q)",
        ),
        _Row("6455-5.5.2 pings", "89008903616263", "P()P(abc)"),
        _Row("6455-5.5.1 a close without a code", "8800810161", "C1005()"),
        _Row("6455-5.5.1 a close", "880203e8", "C1000()"),
        _Row(
            "6455-5.5.1 a close with a reason", "880503e8627965", "C1000(bye)"
        ),
        _Row(
            "6455-5.5.1 nothing counts behind it", "880203e8ffffffff", "C1000()"
        ),
        _Row("6455-5.5.1 half a code", "880103", "<13 @1>"),
        _Row("6455-7.4.1 1005 is not sent", "880203ed", "<14 @2>"),
        _Row("6455-7.4.2 999 is none", "880203e7", "<14 @2>"),
        _Row("6455-7.4.2 4999 is the last", "88021387", "C4999()"),
        _Row("6455-7.4.2 5000 is none", "88021388", "<14 @2>"),
        _Row("6455-5.5.1 the reason is text", "880403e8c328", "<15 @5>"),
        _Row("6455-5.5.1 the reason is whole", "880303e8c3", "<15 @5>"),
        _Row("6455-8.1 text is UTF-8", "8101618104ce61ffff", "T(a)<12 @6>"),
        _Row("6455-8.1 a whole character", "8102c3a4", "T(\\xc3\\xa4)"),
        _Row("6455-8.1 cut between frames", "0101c38001a4", "T(\\xc3\\xa4)"),
        _Row("6455-8.1 cut off at the end", "8101c3", "<12 @3>"),
        _Row("6455-8.1 cut off in fragments", "0101c38000", "<12 @5>"),
        _Row("6455-8.1 not of octets", "8201c3", "B(\\xc3)"),
        _Row("6455-8.1 wrong within a fragment", "0103e28228", "<12 @4>"),
        _Row("6455-5.2 in the second frame", "8101618301", "T(a)<2 @3>"),
        _Row("6455-5.4 a message in a message", "010161810162", "<6 @3>"),
        _Row("6455-5.4 nothing to continue", "8101618001", "T(a)<5 @3>"),
        _Row("6455-10.4 a long frame", "827e03e9", "<10 @1>"),
        _Row(
            "6455-10.4 the longest message",
            "02016180000201629000",
            "B(a)<1 @8>",
        ),
    ]


def test_rows_whole_and_in_pieces() raises:
    for row in _rows():
        var octets = octets_of(row.hex)
        assert_equal(log_of(Span(octets), Role.CLIENT), row.log, row.rule)
        var all = List[Int]()
        for cut in range(1, len(octets) + 1):
            all.append(cut)
            var two = log_in_pieces(
                Span(octets), [cut, len(octets)], Role.CLIENT
            )
            assert_equal(two, row.log, row.rule)
        var single = log_in_pieces(Span(octets), all, Role.CLIENT)
        assert_equal(single, row.log, row.rule)


def test_a_message_may_have_its_limit_and_no_more() raises:
    # RFC 6455 section 10.4: fragments count together.
    var limits = WsLimits(10, 15)
    var row = octets_of("020a" + "61" * 10 + "8005" + "62" * 5)
    assert_equal(
        log_of(Span(row), Role.CLIENT, limits), "B(" + "a" * 10 + "bbbbb)"
    )
    row = octets_of("020a" + "61" * 10 + "8006" + "62" * 6)
    assert_equal(log_of(Span(row), Role.CLIENT, limits), "<11 @13>")
    row = octets_of("820b" + "61" * 11)
    assert_equal(log_of(Span(row), Role.CLIENT, limits), "<10 @1>")


def _sent(
    texts: List[String], key: MaskingKey, mut deflater: MessageDeflater
) raises -> List[UInt8]:
    """Writes messages, each compressed, in fragments of at most 7 octets."""
    var out = Buffer()
    for text in texts:
        var packed = Buffer()
        deflater.deflate(text.as_bytes(), packed)
        var start = 0
        while start == 0 or start < len(packed):
            var end = min(start + 7, len(packed))
            var opcode = Opcode.TEXT if start == 0 else Opcode.CONTINUATION
            var header = FrameHeader(opcode, end - start)
            header.is_final = end == len(packed)
            header.is_compressed = start == 0
            header.key = key
            write_frame(out, header, packed.span()[start:end])
            start = end
    return List[UInt8](out.span())


def test_compressed_messages_whole_and_in_pieces() raises:
    var agreement = DeflateAgreement.widest()
    var texts: List[String] = ["\u00e4" * 300, "b", "cc" * 20, "\u00e4" * 300]
    var deflater = MessageDeflater(agreement, Role.CLIENT)
    var octets = _sent(texts, MaskingKey(0x01020304), deflater)
    var whole = log_of(
        Span(octets), Role.SERVER, WsLimits(1_000, 600), agreement
    )
    assert_true(whole.count("T(") == 4, whole)
    for step in [1, 2, 3, 5, 11]:
        var cuts = List[Int]()
        for end in range(step, len(octets), step):
            cuts.append(end)
        cuts.append(len(octets))
        var limits = WsLimits(1_000, 600)
        assert_equal(
            log_in_pieces(Span(octets), cuts, Role.SERVER, limits, agreement),
            whole,
        )
    # The first message has 600 octets decompressed.
    var refused = log_of(
        Span(octets), Role.SERVER, WsLimits(1_000, 599), agreement
    )
    assert_equal(refused, "<11 @13>")


@fieldwise_init
struct _Packed(Copyable, Movable):
    var rule: StaticString
    var hex: StaticString
    var log: StaticString


def test_compressed_rows() raises:
    var rows: List[_Packed] = [
        _Packed("7692-7.2.3.1 one block", "c107f248cdc9c90700", "T(Hello)"),
        _Packed(
            "7692-7.2.3.1 two frames", "4103f248cd8004c9c90700", "T(Hello)"
        ),
        _Packed(
            "7692-7.2.3.2 the window",
            "c107f248cdc9c90700c105f200110000",
            "T(Hello)T(Hello)",
        ),
        _Packed(
            "7692-7.2.3.3 a stored block",
            "c10b000500faff48656c6c6f00",
            "T(Hello)",
        ),
        _Packed("7692-7.2.3.4 BFINAL", "c108f348cdc9c9070000", "T(Hello)"),
        _Packed(
            "7692-7.2.3.5 two blocks",
            "c10df248050000 00ffffcac9c90700",
            "T(Hello)",
        ),
        _Packed("7692-7.2.3.6 empty", "c10100", "T()"),
        _Packed(
            "7692-6 not every message is",
            "810161c107f248cdc9c90700",
            "T(a)T(Hello)",
        ),
        _Packed("7692-6 RSV1 on a continuation", "4103f248cdc004", "<1 @5>"),
        _Packed("7692-7.2.2 no deflate", "c103ffffff", "<16 @0>"),
        _Packed("7692-7.2.2 cut off", "c103f248cd", "<16 @0>"),
        _Packed(
            "6455-8.1 text, decompressed", "c1070102 00fdffc32800", "<12 @0>"
        ),
    ]
    for row in rows:
        var octets = octets_of(row.hex.replace(" ", ""))
        var agreement = DeflateAgreement.widest()
        var limits = WsLimits(1_000, 1_000)
        var cuts = List[Int]()
        for cut in range(1, len(octets) + 1):
            cuts.append(cut)
        assert_equal(
            log_of(Span(octets), Role.CLIENT, limits, agreement),
            row.log,
            row.rule,
        )
        assert_equal(
            log_in_pieces(Span(octets), cuts, Role.CLIENT, limits, agreement),
            row.log,
            row.rule,
        )


def test_a_bomb_is_refused_and_its_memory_bounded() raises:
    var agreement = DeflateAgreement.widest()
    var deflater = MessageDeflater(agreement, Role.SERVER)
    var packed = Buffer()
    var zeros = List[UInt8](length=10_000_000, fill=0)
    deflater.deflate(Span(zeros), packed)
    var out = Buffer()
    var header = FrameHeader(Opcode.BINARY, len(packed))
    header.is_compressed = True
    write_frame(out, header, packed.span())
    var log = WsLog(Role.CLIENT, WsLimits(100_000, 50_000), agreement)
    log.feed(out.span())
    assert_equal(log.text, "<11 @0>")
    assert_true(log.receiver.held_len() <= 50_000)


def test_frames_one_by_one() raises:
    var rows: List[_Row] = [
        _Row("6455-5.7 a message", "810548656c6c6f", "t(Hello)"),
        _Row("6455-5.7 fragments", "010348656c80026c6f", "t(Hel)+c(lo)"),
        _Row(
            "6455-5.4 a ping in between",
            "020161890080016281 00",
            "b(a)+P()c(b)t()",
        ),
        _Row(
            "6455-8.1 cut between frames", "0101c38001a4", "t(\\xc3)+c(\\xa4)"
        ),
        _Row("6455-5.5.1 a close", "880203e8", "C1000()"),
    ]
    for row in rows:
        var octets = octets_of(row.hex.replace(" ", ""))
        for step in [1, 2, 100]:
            var log = WsLog(Role.CLIENT, by_frame=True)
            for start in range(0, len(octets), step):
                log.feed(octets[start : min(start + step, len(octets))])
            assert_equal(log.text, row.log, row.rule)


def test_frames_of_a_message_share_its_limit() raises:
    for step in [1, 100]:
        var log = WsLog(Role.CLIENT, WsLimits(10, 4), by_frame=True)
        var octets = octets_of("0203616161" + "0002" + "6161")
        for start in range(0, len(octets), step):
            log.feed(octets[start : min(start + step, len(octets))])
        assert_equal(log.text, "b(aaa)+<11 @6>")


def test_what_was_told_can_be_let_go_of() raises:
    """A long message need not be kept until the next one comes; nothing that
    stands behind it is lost."""
    var octets = Buffer()
    var part = List[UInt8](length=40_000, fill=7)
    for index in range(3):
        var opcode = Opcode.BINARY if index == 0 else Opcode.CONTINUATION
        var header = FrameHeader(opcode, len(part))
        header.is_final = index == 2
        write_frame(octets, header, Span(part))
    write_frame(octets, FrameHeader(Opcode.TEXT, 3), "one".as_bytes())
    write_frame(octets, FrameHeader(Opcode.TEXT, 3), "two".as_bytes())
    var receiver = FrameReceiver(Role.CLIENT, WsLimits(1 << 20, 1 << 20))
    assert_true(receiver.advance(octets) == WsProgress.MESSAGE)
    assert_equal(receiver.held_len(), 120_000)
    receiver.let_go(octets)
    assert_equal(receiver.held_len(), 0)
    assert_equal(len(receiver.payload(octets)), 0)
    # Twice is as good as once, and a payload in the input goes as well.
    receiver.let_go(octets)
    assert_true(receiver.advance(octets) == WsProgress.MESSAGE)
    receiver.let_go(octets)
    assert_equal(len(octets), 5)
    assert_true(receiver.advance(octets) == WsProgress.MESSAGE)
    assert_equal(String(unsafe_from_utf8=receiver.payload(octets)), "two")


@fieldwise_init
struct _Utf8Row(Copyable, Movable):
    """Octets, and the first of them that is wrong; -1 if none is."""

    var rule: StaticString
    var octets: List[UInt8]
    var bad: Int


def _utf8_rows() -> List[_Utf8Row]:
    return [
        _Utf8Row("empty", [], -1),
        _Utf8Row(
            "3629-4 one to four octets",
            [97, 0xC3, 0xA4, 0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x92, 0xA9],
            -1,
        ),
        _Utf8Row(
            "3629-4 ends of the ranges",
            [0x7F, 0xC2, 0x80, 0xDF, 0xBF, 0xE0, 0xA0, 0x80, 0xEF, 0xBF, 0xBF],
            -1,
        ),
        _Utf8Row(
            "3629-4 around the surrogates",
            [0xED, 0x9F, 0xBF, 0xEE, 0x80, 0x80],
            -1,
        ),
        _Utf8Row(
            "3629-4 UTF8-4",
            [0xF0, 0x90, 0x80, 0x80, 0xF4, 0x8F, 0xBF, 0xBF],
            -1,
        ),
        _Utf8Row("3629-3 lone continuation", [97, 0x80], 1),
        _Utf8Row("3629-3 C0 is overlong", [0xC0, 0xAF], 0),
        _Utf8Row("3629-3 C1 is overlong", [0xC1, 0xBF], 0),
        _Utf8Row("3629-3 E0 9F is overlong", [0xE0, 0x9F, 0xBF], 1),
        _Utf8Row("3629-3 F0 8F is overlong", [0xF0, 0x8F, 0xBF, 0xBF], 1),
        _Utf8Row("3629-3 surrogate", [0xED, 0xA0, 0x80], 1),
        _Utf8Row("3629-3 above U+10FFFF", [0xF4, 0x90, 0x80, 0x80], 1),
        _Utf8Row("3629-3 F5 begins nothing", [0xF5, 0x80], 0),
        _Utf8Row("3629-3 FF begins nothing", [97, 98, 0xFF], 2),
        _Utf8Row("3629-3 ASCII in between", [0xE2, 0x82, 0x28], 2),
        _Utf8Row("3629-3 a start in between", [0xE2, 0xE2, 0x82], 1),
        _Utf8Row("3629-3 one too many", [0xC3, 0xA4, 0xA4], 2),
    ]


def test_rows_at_every_place_and_cut_everywhere() raises:
    for row in _utf8_rows():
        for before in range(0, 70, 3):
            var octets = List[UInt8](length=before, fill=97)
            octets.extend(Span(row.octets))
            octets.extend(List[UInt8](length=before, fill=98))
            var memory = GuardedBytes(Span(octets))
            var wanted = row.bad + before if row.bad >= 0 else -1
            for cut in range(len(octets) + 1):
                var checker = Utf8Checker()
                var bad = checker.check(memory.span()[0:cut])
                if bad < 0:
                    bad = checker.check(memory.span()[cut:])
                    bad = bad + cut if bad >= 0 else -1
                assert_equal(bad, wanted, row.rule)
                if wanted < 0:
                    assert_true(checker.is_complete())
            _ = memory^


def test_all_triples_agree_with_the_decoder() raises:
    # The third octet from each class that the grammar tells apart.
    var thirds: List[UInt8] = [
        0,
        0x7F,
        0x80,
        0x8F,
        0x90,
        0x9F,
        0xA0,
        0xBF,
        0xC2,
    ]
    for first in range(256):
        for second in range(256):
            for third in thirds:
                var octets: List[UInt8] = [UInt8(first), UInt8(second), third]
                var checker = Utf8Checker()
                var is_good = checker.check(Span(octets)) < 0
                is_good = is_good and checker.is_complete()
                assert_equal(is_good, is_valid_utf8(Span(octets)))


def test_a_text_that_breaks_off_is_not_complete() raises:
    var text = "\u00e4\u20ac\U0001f4a9"
    for end in range(text.byte_length() + 1):
        var checker = Utf8Checker()
        assert_equal(checker.check(text.as_bytes()[0:end]), -1)
        assert_equal(
            checker.is_complete(), is_valid_utf8(text.as_bytes()[0:end])
        )
