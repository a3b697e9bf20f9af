"""Tests of octets and messages: https://protobuf.dev/programming-guides/encoding/."""

from flare.protobuf import (
    ProtobufErrorKind,
    ProtobufLimits,
    decode,
    encode,
    merge,
)
from flare.protobuf.known import BytesValue, StringValue
from flare.protobuf.message import swap_octets
from tests.protobuf.messages.every_pb import Color, Every, Every_Inner
from tests.support.assertions import assert_equal, assert_true
from tests.support.guard_page import GuardedBytes


def octets_of(text: StringSpan) -> List[UInt8]:
    """Reads hex digits; spaces are left out."""
    var octets = List[UInt8]()
    var high = -1
    for octet in text.as_bytes():
        if octet == 32:
            continue
        var digit = Int(octet) - 48 if octet < 58 else Int(octet) - 87
        if high < 0:
            high = digit
        else:
            octets.append(UInt8(high << 4 | digit))
            high = -1
    return octets^


def hex_of(octets: Span[UInt8, _]) -> String:
    comptime DIGITS = StaticString("0123456789abcdef")
    var text = String()
    for octet in octets:
        text += DIGITS[byte = Int(octet >> 4) : Int(octet >> 4) + 1]
        text += DIGITS[byte = Int(octet & 15) : Int(octet & 15) + 1]
    return text^


@fieldwise_init
struct Taken(ImplicitlyCopyable):
    """Octets that are a message, and what is written of it."""

    var rule: StaticString
    var octets: StaticString
    var again: StaticString
    """Empty if the same octets."""


@fieldwise_init
struct Refused(ImplicitlyCopyable):
    """Octets that are no message."""

    var rule: StaticString
    var octets: StaticString
    var kind: ProtobufErrorKind
    var offset: Int
    var field: StaticString


comptime E = StaticString("flare.test.Every")


def test_messages_are_read_and_written() raises:
    var rows: List[Taken] = [
        Taken("Structure: nothing is a message", "", ""),
        Taken("Varints: 150", "18 96 01", ""),
        Taken(
            "Varints: bits beyond 64 are dropped",
            "20 ff ff ff ff ff ff ff ff ff 02",
            "20ffffffffffffffff7f",
        ),
        Taken("Varints: 0 is the default and not written", "18 00", "-"),
        Taken(
            "Signed: -2 as int32 has ten octets",
            "18 fe ff ff ff ff ff ff ff ff 01",
            "",
        ),
        Taken(
            "Signed: int32 takes the low 32 bits",
            "18 81 80 80 80 10",
            "1801",
        ),
        Taken("Signed: sint32 -2", "38 03", ""),
        Taken("Signed: sint64 least", "40 ff ff ff ff ff ff ff ff ff 01", ""),
        Taken("Bool: any varint but 0", "68 96 01", "6801"),
        Taken("Fixed: double", "09 00 00 00 00 00 00 f0 3f", ""),
        Taken("Fixed: -0.0 is not the default", "15 00 00 00 80", ""),
        Taken(
            "Fixed: fixed32, fixed64",
            "4d 01 02 03 04 51 01 02 03 04 05 06 07 08",
            "",
        ),
        Taken("Length: string", "72 07 74 65 73 74 69 6e 67", ""),
        Taken("Length: octets need not be UTF-8", "7a 02 ff 00", ""),
        Taken("Length: a longer form of a length", "72 81 80 00 61", "720161"),
        Taken("Submessages", "8a 01 03 0a 01 61", ""),
        Taken(
            "Submessages: pieces are merged",
            "8a 01 03 0a 01 61 8a 01 02 10 05",
            "8a01050a01611005",
        ),
        Taken("Submessages: an empty one is there", "8a 01 00", ""),
        Taken("Last One Wins", "18 01 18 02", "1802"),
        Taken("Optional: the default is there", "a8 01 00", ""),
        Taken("Repeated: strings, empty ones too", "e2 02 01 61 e2 02 00", ""),
        Taken("Packed", "8a 02 06 03 8e 02 9e a7 05", ""),
        Taken(
            "Packed: one by one is taken, too",
            "88 02 03 88 02 05",
            "8a02020305",
        ),
        Taken(
            "Packed: both in turn",
            "88 02 03 8a 02 02 04 05 88 02 06",
            "8a020403040506",
        ),
        Taken("Packed: nothing", "8a 02 00", "-"),
        Taken("Packed: packed = false", "88 03 01 88 03 02", ""),
        Taken(
            "Packed: packed is taken where it is false",
            "8a 03 02 01 02",
            "880301880302",
        ),
        Taken("Packed: fixed", "ba 02 08 01 00 00 00 02 00 00 00", ""),
        Taken("Packed: bool", "da 02 03 00 01 00", ""),
        Taken("Maps", "ea 03 06 0a 01 61 12 01 62", ""),
        Taken("Maps: no key and no value", "ea 03 00", "ea03040a001200"),
        Taken(
            "Maps: the last value of a key",
            "f2 03 04 08 01 10 02 f2 03 04 08 01 10 03",
            "f20304" "08011003",
        ),
        Taken(
            "Maps: the value before the key, and what is not known",
            "f2 03 06 10 02 18 07 08 01",
            "f2030408011002",
        ),
        Taken("Maps: a message", "92 04 07 0a 01 61 12 02 10 05", ""),
        Taken("Oneof: the default is there", "c0 04 00", ""),
        Taken("Oneof: the last one", "ba 04 01 61 c0 04 05", "c00405"),
        Taken("Enums: a number without a name", "80 01 63", ""),
        Taken("Unknown: varint", "e0 06 96 01", ""),
        Taken(
            "Unknown: kept in their order, behind all others",
            "e2 06 01 61 e0 06 01 18 01",
            "1801e2060161e00601",
        ),
        Taken(
            "Unknown: another wire type than the field's", "1d 01 02 03 04", ""
        ),
        Taken("Unknown: a number where a message should be", "88 01 05", ""),
        Taken("Groups: kept whole", "e3 06 08 01 13 14 e4 06", ""),
        Taken("Field numbers: the largest", "f8 ff ff ff 0f 05", ""),
    ]
    for row in rows:
        var octets = octets_of(row.octets)
        var again = String(row.again)
        if again == "-":
            again = ""
        elif again == "":
            again = hex_of(octets)
        var message = decode[Every](octets)
        var written = encode(message)
        assert_equal(hex_of(written), again, row.rule)
        assert_equal(hex_of(encode(decode[Every](written))), again, row.rule)
        assert_equal(hex_of(encode(message.copy())), again, row.rule)


def test_what_is_no_message_is_refused() raises:
    comptime K = ProtobufErrorKind
    var rows: List[Refused] = [
        Refused(
            "Varints: cut", "18 96", K.TRUNCATED, 2, "flare.test.Every.f_int32"
        ),
        Refused(
            "Varints: nothing behind the tag",
            "18",
            K.TRUNCATED,
            1,
            "flare.test.Every.f_int32",
        ),
        Refused(
            "Varints: eleven octets",
            "20 80 80 80 80 80 80 80 80 80 80 01",
            K.VARINT,
            1,
            "flare.test.Every.f_int64",
        ),
        Refused("Tags: cut", "98", K.TRUNCATED, 1, E),
        Refused("Tags: six octets", "98 80 80 80 80 00 01", K.VARINT, 0, E),
        Refused("Tags: more than 32 bits", "f8 ff ff ff 1f 00", K.VARINT, 0, E),
        Refused("Field numbers: 0", "00 01", K.FIELD_NUMBER, 0, E),
        Refused(
            "Field numbers: 0 in a long tag", "80 00 01", K.FIELD_NUMBER, 0, E
        ),
        Refused("Wire types: 6", "e6 06", K.WIRE_TYPE, 2, E),
        Refused(
            "Wire types: 7 of a field that is known",
            "1f",
            K.WIRE_TYPE,
            1,
            "flare.test.Every.f_int32",
        ),
        Refused(
            "Fixed: cut",
            "4d 01 02 03",
            K.TRUNCATED,
            4,
            "flare.test.Every.f_fixed32",
        ),
        Refused(
            "Fixed: cut",
            "51 01 02 03 04 05 06 07",
            K.TRUNCATED,
            8,
            "flare.test.Every.f_fixed64",
        ),
        Refused(
            "Length: cut",
            "72 05 61",
            K.TRUNCATED,
            3,
            "flare.test.Every.f_string",
        ),
        Refused(
            "Length: beyond 2 GiB",
            "72 80 80 80 80 10",
            K.TOO_LONG,
            1,
            "flare.test.Every.f_string",
        ),
        Refused(
            "Length: 64 bits",
            "72 ff ff ff ff ff ff ff ff ff 01",
            K.TOO_LONG,
            1,
            "flare.test.Every.f_string",
        ),
        Refused(
            "Strings: not UTF-8",
            "72 02 61 ff",
            K.NOT_UTF8,
            2,
            "flare.test.Every.f_string",
        ),
        Refused(
            "Strings: a key that is not UTF-8",
            "ea 03 03 0a 01 ff",
            K.NOT_UTF8,
            5,
            "flare.test.Every.m_string",
        ),
        Refused(
            "Submessages: beyond the one around",
            "8a 01 03 0a 02 61 61",
            K.TRUNCATED,
            6,
            "flare.test.Every.Inner.name",
        ),
        Refused(
            "Packed: cut within",
            "8a 02 02 01 96 01",
            K.TRUNCATED,
            5,
            "flare.test.Every.r_int32",
        ),
        Refused(
            "Packed: no multiple of the width",
            "ba 02 05 01 00 00 00 02",
            K.TRUNCATED,
            8,
            "flare.test.Every.r_fixed32",
        ),
        Refused(
            "Maps: cut within",
            "f2 03 03 08 01 10",
            K.TRUNCATED,
            6,
            "flare.test.Every.m_int32",
        ),
        Refused("Groups: an end without a start", "e4 06", K.GROUP, 2, E),
        Refused("Groups: no end", "e3 06 08 01", K.GROUP, 4, E),
        Refused("Groups: another one's end", "e3 06 ec 06", K.GROUP, 4, E),
        Refused(
            "Groups: one's end beyond the message",
            "8a 01 02 e3 06 e4 06",
            K.GROUP,
            5,
            "flare.test.Every.Inner",
        ),
    ]
    for row in rows:
        var octets = octets_of(row.octets)
        var guarded = GuardedBytes(octets)
        var refused = False
        try:
            _ = decode[Every](guarded.span())
        except error:
            refused = True
            var place = String(row.rule, ": ", error)
            assert_equal(Int(error.kind.code), Int(row.kind.code), place)
            assert_equal(error.offset, row.offset, place)
            assert_equal(error.field, row.field, place)
        assert_true(refused, row.rule)


def _sample() raises -> Every:
    """Makes a message with fields of every form and keeping."""
    var message = Every(
        f_double=-1.5,
        f_int32=-7,
        f_sint64=Int64.MIN,
        f_bool=True,
        f_string="a text that is too long to stand in the struct",
        f_bytes=[0, 255],
        f_color=Color.GREEN,
        f_inner=Every_Inner(name="inner", count=300),
        f_every=Every(f_int32=1, f_every=Every(f_string="deep")),
        o_bool=False,
        o_string=String(""),
        o_bytes=List[UInt8](),
        r_double=[1.0, 2.0],
        r_int32=[-1, 0, 1, 300],
        r_bool=[True, False],
        r_string=["", "é"],
        r_bytes=[[1], []],
        r_color=[Color.RED, Color(77)],
        e_int32=[1, 2],
        c_every=Every(c_bytes=List[UInt8](length=200, fill=7)),
        far=1,
    )
    message.r_inner.append(Every_Inner(name="first"))
    message.r_inner.append(Every_Inner())
    message.m_string["key"] = "value"
    message.m_int32[-1] = Int64.MAX
    message.m_bool[True] = [9]
    message.m_sint64[5] = 0.25
    message.m_fixed32[7] = Color.RED
    message.m_inner["i"] = Every_Inner(count=-1)
    message.m_every[UInt64.MAX] = Every(f_float=0.5)
    return message^


def test_every_field_survives_a_round_trip() raises:
    var message = _sample()
    var octets = encode(message)
    var again = decode[Every](octets)
    assert_equal(hex_of(encode(again)), hex_of(octets))
    assert_equal(again.f_string, message.f_string)
    assert_equal(again.f_every.value().f_every.value().f_string, "deep")
    assert_equal(Int(again.f_sint64), Int(Int64.MIN))
    assert_true(again.o_string and again.o_bytes and again.o_bool)
    assert_true(not again.o_int32)
    assert_equal(len(again.r_int32), 4)
    assert_equal(Int(again.r_color[1].number), 77)
    assert_equal(again.m_inner["i"].count, -1)
    assert_equal(again.which_choice(), 74)
    again.clear_choice()
    assert_equal(again.which_choice(), 0)
    assert_true(not again.c_every)


def test_each_cut_is_a_shorter_message_or_an_error_within() raises:
    # The octets end at a page that may not be touched.
    var octets = encode(_sample())
    var refused_count = 0
    for length in range(len(octets)):
        var guarded = GuardedBytes(Span(octets)[:length])
        var written_len = 0
        try:
            # It may have been cut between two fields.
            written_len = len(encode(decode[Every](guarded.span())))
        except error:
            refused_count += 1
            assert_true(
                error.offset >= 0 and error.offset <= length, String(error)
            )
        assert_true(written_len <= length, "made longer")
    assert_true(refused_count > len(octets) // 2, String(refused_count))


def test_messages_are_merged() raises:
    # "Last One Wins": what two messages are one behind the other.
    var first = encode(_sample())
    var message = _sample()
    merge(message, first)
    var both = first.copy()
    both.extend(Span(first))
    assert_equal(hex_of(encode(message)), hex_of(encode(decode[Every](both))))
    assert_equal(len(message.r_int32), 8)
    assert_equal(len(message.m_string), 1)


def _nested(depth: Int) raises -> List[UInt8]:
    var octets = List[UInt8]()
    for _ in range(depth - 1):
        # The field f_every, 18.
        var outer: List[UInt8] = [0x92, 0x01]
        var length = len(octets)
        if length >= 128:
            outer.append(UInt8(length & 0x7F | 0x80))
            length >>= 7
        outer.append(UInt8(length))
        outer.extend(Span(octets))
        octets = outer^
    return octets^


def test_depth_and_length_have_limits() raises:
    # 100 messages inside each other are read and written, one more is not.
    var message = decode[Every](_nested(100))
    assert_equal(len(encode(message)), len(_nested(100)))
    var deep = ProtobufLimits.DEFAULT
    assert_equal(_kind_of(_nested(101), deep), ProtobufErrorKind.TOO_DEEP)
    assert_equal(_kind_of(_nested(3), deep), ProtobufErrorKind.JSON)
    var groups = List[UInt8](length=100, fill=0x0B)
    groups.extend(Span(List[UInt8](length=100, fill=0x0C)))
    assert_equal(_kind_of(groups, deep), ProtobufErrorKind.TOO_DEEP)
    var short = ProtobufLimits(1, 100)
    assert_equal(_kind_of([0x18, 1], short), ProtobufErrorKind.TOO_LONG)
    var kind = ProtobufErrorKind.JSON
    var deeper = Every(f_every=message^)
    try:
        _ = encode(deeper)
    except error:
        kind = error.kind
    assert_equal(kind, ProtobufErrorKind.TOO_DEEP)


def _kind_of(octets: List[UInt8], limits: ProtobufLimits) -> ProtobufErrorKind:
    """Gives the kind of the error; one that no octets have if there is none."""
    try:
        _ = decode[Every](octets, limits)
    except error:
        return error.kind
    return ProtobufErrorKind.JSON


def test_lengths_of_several_octets_are_put_in_front() raises:
    # A length's place is one octet at first.
    for length in [
        0,
        1,
        123,
        124,
        125,
        126,
        127,
        128,
        129,
        16380,
        16384,
        70000,
    ]:
        var inner = Every_Inner(name=String("x") * length, count=1)
        var octets = encode(Every(f_inner=inner.copy(), far=3))
        var again = decode[Every](octets)
        assert_equal(again.f_inner.value().name.byte_length(), length)
        assert_equal(again.f_inner.value().count, 1)
        assert_equal(again.far, 3)


def test_a_string_that_is_not_utf8_is_not_written() raises:
    var octets: List[UInt8] = [0x61, 0xFF]
    var message = Every_Inner(name=String(StringSpan(unsafe_from_utf8=octets)))
    var field = String()
    try:
        _ = encode(message)
    except error:
        field = error.field
        assert_true(error.kind == ProtobufErrorKind.NOT_UTF8, String(error))
    assert_equal(field, "flare.test.Every.Inner.name")


def test_an_error_says_field_and_place() raises:
    var text = String()
    try:
        _ = decode[Every](octets_of("8a0103 0a02 61"))
    except error:
        text = String(error)
    assert_equal(
        text,
        (
            "protobuf flare.test.Every.Inner.name (field 1), octet 6: expected"
            " as many octets as the length says, found the end of the message"
        ),
    )


def test_messages_read_one_after_the_other_in_the_same_memory() raises:
    """`swap_octets`: what one has had is not in the next."""
    var room = List[UInt8]()
    # A field of 3 octets, one of 200, none, and again one of 200.
    var lengths: List[Int] = [3, 200, 0, 200, -1, 2]
    var capacity = 0
    for length in lengths:
        var octets = List[UInt8]()
        if length >= 0:
            var sent = BytesValue()
            for index in range(length):
                sent.value.append(UInt8((index + length) & 255))
            octets = encode(sent)
        var message = BytesValue()
        swap_octets(message, room)
        assert_equal(len(message.value), 0)
        merge(message, octets)
        assert_equal(len(message.value), max(length, 0))
        for index in range(len(message.value)):
            assert_equal(message.value[index], UInt8((index + length) & 255))
        swap_octets(message, room)
        assert_true(room.capacity() >= capacity)
        capacity = room.capacity()
    assert_equal(capacity, 200)
    # Nothing is done with one that has no such field.
    var text = StringValue(value="text")
    swap_octets(text, room)
    assert_equal(text.value, "text")
    assert_equal(room.capacity(), 200)
