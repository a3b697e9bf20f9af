"""Messages of gRPC in a stream, read in any pieces and written."""

from flare.bytes.buffer import Buffer
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.message_reader import MessageReader
from flare.grpc.core.message_writer import (
    append_message,
    begin_message,
    end_message,
)
from flare.grpc.core.status import GrpcCode, GrpcStatus
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes

comptime _BOUND = 1000


def _stream(coding: MessageCoding) raises -> List[UInt8]:
    var out = Buffer()
    append_message("one".as_bytes(), out, coding)
    append_message("".as_bytes(), out, coding)
    append_message(String("a" * 900).as_bytes(), out, coding)
    append_message("end".as_bytes(), out, coding)
    return List[UInt8](out.span())


def _events(
    octets: Span[UInt8, _],
    coding: MessageCoding,
    piece_len: Int,
    room_turn: Int = 0,
) -> String:
    """Lists what a reader says of a stream in pieces, of which each `room_turn`th
    is put into its room, if that is not 0."""
    var reader = MessageReader(coding, _BOUND)
    var text = String()
    try:
        _feed(reader, octets, piece_len, room_turn, text)
    except status:
        text.write("!", status.code.name(), " ", status.message)
    return text


def _feed(
    mut reader: MessageReader,
    octets: Span[UInt8, _],
    piece_len: Int,
    room_turn: Int,
    mut text: String,
) raises GrpcStatus:
    var count = 0
    for start in range(0, len(octets), piece_len):
        var end = min(start + piece_len, len(octets))
        var guarded = _guarded(octets[start:end])
        count += 1
        if room_turn > 0 and count % room_turn == 0:
            reader.room().append(guarded.span())
        else:
            reader.receive(guarded.span())
        while reader.next():
            text.write(StringSpan(unsafe_from_utf8=reader.message()), "|")
    reader.finish()


def _guarded(octets: Span[UInt8, _]) raises GrpcStatus -> GuardedBytes:
    return GuardedBytes(octets)


def test_any_pieces_are_the_same_messages() raises:
    for coding in [MessageCoding.IDENTITY, MessageCoding.GZIP]:
        var octets = _stream(coding)
        var whole = _events(octets, coding, len(octets))
        assert_equal(whole, String("one||", "a" * 900, "|end|"))
        for piece_len in range(1, 40):
            for room_turn in range(4):
                assert_equal(
                    _events(octets, coding, piece_len, room_turn), whole
                )
    assert_true(
        len(_stream(MessageCoding.GZIP))
        < len(_stream(MessageCoding.IDENTITY)) // 2,
        "compressed",
    )


@fieldwise_init
struct _Bad(Copyable, Movable):
    var rule: StaticString
    var octets: List[UInt8]
    var coding: MessageCoding
    var expected: String


def test_what_is_refused() raises:
    comptime PLAIN = MessageCoding.IDENTITY
    comptime GZIP = MessageCoding.GZIP
    var rows: List[_Bad] = [
        _Bad("flag", [2, 0, 0, 0, 0], PLAIN, "!INTERNAL message prefix: the"),
        _Bad("flag", [255, 0, 0, 0, 0], GZIP, "!INTERNAL message prefix: the"),
        _Bad(
            "no coding",
            [1, 0, 0, 0, 1, 0],
            PLAIN,
            "!INTERNAL message prefix: the message is said",
        ),
        _Bad(
            "over-long prefix",
            [0, 0xFF, 0xFF, 0xFF, 0xFF],
            PLAIN,
            "!RESOURCE_EXHAUSTED message of 4294967295 bytes",
        ),
        _Bad(
            "one too many",
            [0, 0, 0, 3, 0xE9],
            PLAIN,
            "!RESOURCE_EXHAUSTED message of 1001 bytes",
        ),
        _Bad("cut prefix", [0, 0, 0], PLAIN, "!INTERNAL the stream ends 3"),
        _Bad("cut message", [0, 0, 0, 0, 2, 9], PLAIN, "!INTERNAL the stream"),
        _Bad(
            "no gzip",
            [1, 0, 0, 0, 2, 9, 9],
            GZIP,
            "!INTERNAL compressed message: gzip",
        ),
        _Bad(
            "cut gzip",
            [1, 0, 0, 0, 2, 0x1F, 0x8B],
            GZIP,
            "!INTERNAL compressed message: gzip",
        ),
        _Bad(
            "no octet of gzip",
            [1, 0, 0, 0, 0],
            GZIP,
            "!INTERNAL compressed message: gzip",
        ),
    ]
    for row in rows:
        for piece_len in [1, 3, 100]:
            var events = _events(row.octets, row.coding, piece_len)
            assert_true(
                events.startswith(row.expected), String(row.rule, ": ", events)
            )


def test_a_bomb_is_refused() raises:
    var out = Buffer()
    append_message(String("a" * 1001).as_bytes(), out, MessageCoding.GZIP)
    assert_true(len(out) < 100, "compressed")
    assert_equal(
        _events(out.span(), MessageCoding.GZIP, 7),
        "!RESOURCE_EXHAUSTED message of more than 1000 bytes decompressed,"
        " the longest that is read",
    )


def _frame(flag: UInt8, text: StringSpan) -> List[UInt8]:
    var octets: List[UInt8] = [flag, 0, 0, 0, UInt8(text.byte_length())]
    octets.extend(text.as_bytes())
    return octets^


def _events_to_end(
    octets: Span[UInt8, _], piece_len: Int, *, end_flag: UInt8
) -> String:
    """Lists messages, and the end in brackets, with how much is behind it."""
    var reader = MessageReader(
        MessageCoding.IDENTITY, _BOUND, end_flag=end_flag
    )
    var text = String()
    try:
        for start in range(0, len(octets), piece_len):
            reader.receive(octets[start : min(start + piece_len, len(octets))])
            while reader.next():
                text.write(StringSpan(unsafe_from_utf8=reader.message()), "|")
    except status:
        return text + String("!", status.code.name())
    if reader.has_end:
        var end = StringSpan(unsafe_from_utf8=reader.message())
        text.write("[", end, "]", reader.waiting_len())
    return text


def test_frames_that_end_a_stream() raises:
    """PROTOCOL-WEB.md: 0x80; Connect, "Streaming-Response": 2."""
    for flag in [UInt8(2), UInt8(0x80)]:
        var octets = _frame(0, "one")
        octets.extend(_frame(flag, "{}"))
        for piece_len in range(1, len(octets) + 1):
            assert_equal(
                _events_to_end(octets, piece_len, end_flag=flag), "one|[{}]0"
            )
        octets.extend(_frame(0, "behind"))
        assert_equal(
            _events_to_end(octets, 1, end_flag=flag),
            "one|[{}]11",
            "nothing is read behind it",
        )
        # Flags of other protocols, and what is compressed without a coding.
        for wrong in [UInt8(4), flag ^ 0x82, flag | 1, flag | 4]:
            assert_equal(
                _events_to_end(_frame(wrong, "{}"), 9, end_flag=flag),
                "!INTERNAL",
            )
    assert_equal(
        _events_to_end(_frame(0x80, ""), 9, end_flag=0), "!INTERNAL", "gRPC"
    )


def test_an_end_that_is_compressed() raises:
    var out = Buffer()
    append_message("{}".as_bytes(), out, MessageCoding.GZIP, always=True)
    assert_equal(out.span()[0], 1, "compressed, though it gets longer")
    var octets = List[UInt8](out.span())
    octets[0] = 3
    var reader = MessageReader(MessageCoding.GZIP, _BOUND, end_flag=2)
    reader.receive(octets)
    assert_false(reader.next(), "no message")
    assert_true(reader.has_end, "the end")
    assert_equal(String(from_utf8_lossy=reader.message()), "{}")
    assert_equal(reader.message_count, 0)
    reader.finish()


def test_how_long_an_end_may_be() raises:
    """Longer than a message may be: metadata has a bound of its own."""
    for is_longer in [False, True]:
        var out = Buffer()
        var length = 65_537 if is_longer else 65_536
        append_message(String("x" * length).as_bytes(), out)
        var octets = List[UInt8](out.span())
        octets[0] = 2
        var reader = MessageReader(length_max=10, end_flag=2)
        reader.receive(octets)
        var is_refused = False
        try:
            assert_false(reader.next())
        except status:
            is_refused = status.code == GrpcCode.RESOURCE_EXHAUSTED
        assert_equal(reader.has_end, not is_longer)
        assert_equal(is_refused, is_longer)


def test_what_is_too_long_to_send() raises:
    var out = Buffer()
    append_message("ab".as_bytes(), out)
    try:
        append_message("abc".as_bytes(), out, length_max=2)
    except status:
        assert_true(status.code == GrpcCode.RESOURCE_EXHAUSTED)
        assert_equal(len(out), 7, "taken out again")
        return
    raise Error("it was sent")


def test_what_comes_in_both_ways_stays_in_order() raises:
    var octets = _stream(MessageCoding.IDENTITY)
    var all = Span(octets)
    for first in range(len(octets)):
        var reader = MessageReader(MessageCoding.IDENTITY, _BOUND)
        reader.receive(all[:first])
        reader.room().append(all[first : len(octets) - 1])
        # Behind what is in the room, which nobody has looked at.
        reader.receive(all[len(octets) - 1 :])
        assert_equal(reader.waiting_len(), len(octets))
        var text = String()
        while reader.next():
            text.write(StringSpan(unsafe_from_utf8=reader.message()), "|")
        assert_equal(text, String("one||", "a" * 900, "|end|"))
        assert_equal(len(reader.room()), 0)
        assert_equal(reader.waiting_len(), 0)


def test_a_message_is_lent_until_the_next() raises:
    var reader = MessageReader()
    assert_equal(len(reader.message()), 0)
    var out = Buffer()
    var start = begin_message(out)
    out.append("abc".as_bytes())
    end_message(out, start, MessageCoding.IDENTITY)
    out.append_octet(0)
    reader.room().append(out.span())
    assert_true(reader.next())
    assert_equal(len(reader.message()), 3)
    assert_equal(reader.waiting_len(), 1)
    assert_false(reader.next())
    assert_equal(reader.message_count, 1)


def test_room_grows_with_what_has_come() raises:
    """A length that is announced costs its peer five octets, and memory here."""
    var reader = MessageReader(length_max=64 << 20)
    var prefix: List[UInt8] = [0, 2, 0, 0, 0]
    reader.receive(prefix)
    assert_false(reader.next())
    assert_true(reader._octets.capacity() < 1 << 17)
    var piece = List[UInt8](length=1 << 16, fill=7)
    for count in range(1, 513):
        assert_true(reader._octets.capacity() < (count + 1) << 18)
        reader.receive(piece)
        assert_equal(reader.next(), count == 512)
    assert_equal(len(reader.message()), 32 << 20)
