"""Generated messages of Protocol Buffers, in octets and in JSON."""

import json
from random import Random

from edits import CUT, edited
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from protobuf_kinds import (
    FIXED32,
    FIXED64,
    GROUP_END,
    GROUP_START,
    LENGTH,
    NAMES,
    NO_JSON,
    VARINT,
    content,
    is_map,
    kind,
    pieces,
    pool,
    read_varint,
    varint,
)

INTEGERS = [
    *(0, 1, 2, 127, 128, 255, 300, 16383, 16384, 2**31 - 1, 2**31, 2**32 - 1, 2**32),
    *(2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1),
]
TEXTS = ["", "a", "é", "\U0001f600", 'quote " \\ \n\t\x01', "x" * 130, "2", "true", "\x00", "a/b"]
FLOATS = [
    *(0.0, -0.0, 1.0, 1.5, -1e30, 0.1, 1e-45, 3.4028235e38, 16777216.0, 1e300, 5e-324),
    *(float("inf"), -float("inf"), float("nan"), 2.0**63, -(2.0**31)),
]
# The first second of the year 1, and the last of 9999; most seconds of a span.
SECONDS = (-62135596800, 253402300799)
SPAN = 315576000000
PATHS = [*("a", "foo_bar", "a.b_c", "foo1", "fooBar", "a_", "_a", "a__b", "a_1", "", "a,b", "é")]
URLS = ["type.googleapis.com/", "x/y/", "/", ""]
DEPTHS = (49, 50, 51, 98, 99, 100, 101, 102, 120, 5000)
COUNTED = {
    "google.protobuf.Any", "google.protobuf.Duration", "google.protobuf.FieldMask",
    "google.protobuf.Timestamp", "google.protobuf.Value",
}  # fmt: skip


class Maker:
    """Fills messages by chance."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def message(self, letter: str) -> Message:
        return self.fill(kind(letter)(), 0)

    def number(self, low: int, high: int) -> int:
        value = self.random.choice(INTEGERS)
        value = self.random.choice([value, -value, self.random.randint(low, high)])
        return value if low <= value <= high else self.random.randint(low, high)

    def scalar(self, field: FieldDescriptor):
        random, kinds = self.random, FieldDescriptor
        if field.cpp_type == kinds.CPPTYPE_INT32:
            return self.number(-(2**31), 2**31 - 1)
        if field.cpp_type == kinds.CPPTYPE_INT64:
            return self.number(-(2**63), 2**63 - 1)
        if field.cpp_type == kinds.CPPTYPE_UINT32:
            return self.number(0, 2**32 - 1)
        if field.cpp_type == kinds.CPPTYPE_UINT64:
            return self.number(0, 2**64 - 1)
        if field.cpp_type in (kinds.CPPTYPE_DOUBLE, kinds.CPPTYPE_FLOAT):
            if random.random() < 0.5:
                return random.choice(FLOATS)
            return random.choice([random.uniform(-1e6, 1e6), random.uniform(-1, 1)])
        if field.cpp_type == kinds.CPPTYPE_BOOL:
            return random.random() < 0.5
        if field.cpp_type == kinds.CPPTYPE_ENUM:
            numbers = [value.number for value in field.enum_type.values]
            return random.choice(numbers if field.enum_type.is_closed else [*numbers, 77])
        if field.type == kinds.TYPE_BYTES:
            return random.randbytes(random.choice([0, 1, 2, 3, 30, 200]))
        return random.choice(TEXTS)

    def fill(self, message: Message, depth: int) -> Message:
        described = message.DESCRIPTOR
        if described.full_name in COUNTED and self.random.random() < 0.9:
            getattr(self, "fill_" + described.name.lower())(message, depth)
            return message
        fields = described.fields
        share = self.random.choice([0.03, 0.1, 0.4]) if len(fields) > 5 else 0.7
        for field in fields:
            if field.is_required or self.random.random() < share:
                self.fill_field(message, field, depth)
        return message

    def fill_field(self, message: Message, field: FieldDescriptor, depth: int) -> None:
        value = getattr(message, field.name)
        count = self.random.randint(1, 3) if depth < 3 else 0
        if is_map(field):
            key, item = field.message_type.fields
            for _ in range(count):
                if item.message_type is not None:
                    self.fill(value[self.scalar(key)], depth + 1)
                else:
                    value[self.scalar(key)] = self.scalar(item)
        elif field.message_type is None:
            if field.is_repeated:
                value.extend(self.scalar(field) for _ in range(self.random.randint(1, 4)))
            else:
                setattr(message, field.name, self.scalar(field))
        elif field.is_repeated:
            for _ in range(count):
                self.fill(value.add(), depth + 1)
        elif depth < 4 or field.is_required:
            value.SetInParent()
            self.fill(value, depth + 1)

    def fill_any(self, message: Message, depth: int) -> None:
        random = self.random
        letter = random.choice([*NAMES])
        message.type_url = random.choice(URLS[:1] * 9 + URLS) + NAMES[letter]
        if random.random() < 0.05:
            message.type_url = random.choice(["", "x", "type.googleapis.com/no.Type"])
        inner = kind(letter)()
        if depth < 3:
            self.fill(inner, depth + 2)
        message.value = inner.SerializePartialToString(deterministic=True)
        if random.random() < 0.03:
            message.value = random.randbytes(3)

    def fill_duration(self, message: Message, _: int) -> None:
        random = self.random
        sign = random.choice((-1, 1))
        message.seconds = sign * random.choice((0, 1, 59, SPAN, random.randint(0, SPAN)))
        message.nanos = sign * self.nanos()
        if random.random() < 0.03:
            message.seconds = random.choice((SPAN + 1, -SPAN - 1, -(2**63), 2**63 - 1, 1))
            message.nanos = random.choice((0, -1, 10**9, -(10**9), -(2**31), 2**31 - 1))

    def fill_timestamp(self, message: Message, _: int) -> None:
        random = self.random
        message.seconds = random.choice((0, *SECONDS, random.randint(*SECONDS)))
        message.nanos = self.nanos()
        if random.random() < 0.03:
            message.seconds = random.choice((SECONDS[0] - 1, SECONDS[1] + 1, -(2**63), 0))
            message.nanos = random.choice((0, -1, 10**9, -(2**31)))

    def nanos(self) -> int:
        return self.random.choice((0, 0, 5, 1000, 25_000_000, 999_999_999, 120_000))

    def fill_fieldmask(self, message: Message, _: int) -> None:
        paths = PATHS if self.random.random() < 0.1 else PATHS[:4]
        for _ in range(self.random.randrange(4)):
            message.paths.append(self.random.choice(paths))

    def fill_value(self, message: Message, depth: int) -> None:
        fields = message.DESCRIPTOR.fields
        field = self.random.choice(fields if depth < 4 else fields[:4])
        if field.name == "null_value":
            message.null_value = 0
        elif field.name == "number_value" and self.random.random() < 0.9:
            message.number_value = self.random.choice((0.0, 1.0, -1.5, 1e21, 0.1, 2.0**53))
        else:
            self.fill_field(message, field, depth)


def deep(random: Random, letter: str) -> bytes:
    """Makes octets with messages inside each other, or groups."""
    depth = random.choice(DEPTHS)
    if random.random() < 0.2:
        number = random.choice((90, 536870911, 1))
        return varint(number << 3 | GROUP_START) * depth + varint(number << 3 | GROUP_END) * depth
    described = kind(letter).DESCRIPTOR
    octets = b""
    for _ in range(depth - 1):
        inner = [
            field for field in described.fields
            if field.message_type is not None
            and (field.message_type is described or is_map(field))
        ]  # fmt: skip
        if not inner:
            break
        field = random.choice(inner)
        if is_map(field):
            value = field.message_type.fields_by_name["value"]
            if value.message_type is not described:
                continue
            octets = b"\x12" + varint(len(octets)) + octets
        octets = varint(field.number << 3 | LENGTH) + varint(len(octets)) + octets
    return octets


def octets_case(random: Random) -> bytes:
    letter = random.choice("EEEELLLLKKKKADMSTVI")
    if random.random() < 0.005:
        return letter.encode() + deep(random, random.choice("EL"))
    octets = Maker(random).message(letter).SerializePartialToString(deterministic=True)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        octets = mutated(random, octets, kind(letter).DESCRIPTOR)
    return letter.encode() + octets


def mutated(random: Random, octets: bytes, described) -> bytes:
    """Changes a message, or one within it."""
    if random.random() < 0.3:
        return raw(random, octets)
    try:
        fields = pieces(octets)
    except IndexError:
        return raw(random, octets)
    if not fields:
        return octets + unknown(random, described)
    at = random.randrange(len(fields))
    tag, piece = fields[at]
    field = described.fields_by_number.get(tag >> 3)
    what = random.randrange(10)
    if field is not None and field.message_type is not None and tag & 7 == LENGTH and what < 5:
        inner = mutated(random, content(piece), field.message_type)
        piece = varint(tag) + varint(len(inner)) + inner
    elif what < 3:
        piece = rewritten(random, tag, piece)
    elif what == 3:
        piece += piece
    elif what == 4:
        piece = b""
    elif what == 5:
        other = random.randrange(len(fields))
        fields[other], piece = (tag, piece), fields[other][1]
    elif what == 6:
        piece += unknown(random, described)
    elif what == 7 and field is not None:
        piece = retyped(random, tag, piece)
    elif what == 8 and tag & 7 == LENGTH:
        inner = content(piece)
        length = max(0, len(inner) + random.choice((-2, -1, 1, 2, 100, 2**31, 2**63)))
        piece = varint(tag) + varint(length) + inner
    else:
        piece = raw(random, piece)
    return b"".join([*(one for _, one in fields[:at]), piece, *(one for _, one in fields[at + 1 :])])


def rewritten(random: Random, tag: int, piece: bytes) -> bytes:
    """Writes a field with varints that are longer, or hold more, than they need."""
    at = read_varint(piece, 0)[1]
    head, rest = varint(tag), piece[at:]
    if tag & 7 in (VARINT, LENGTH) and random.random() < 0.8:
        value, end = read_varint(rest, 0)
        if tag & 7 == VARINT and random.random() < 0.4:
            value |= random.choice((2**31, 2**32, 2**40, 2**63, 2**64, 2**69, 2**70))
        rest = varint(value, random.choice((0, 1, 2, 4, 8, 9, 10))) + rest[end:]
    else:
        head = varint(tag, random.choice((1, 2, 3, 4, 5, 9)))
    return head + rest


def retyped(random: Random, tag: int, piece: bytes) -> bytes:
    """Gives a field a value of another wire type."""
    number = tag >> 3
    some = [random.choice(INTEGERS) for _ in range(random.randrange(4))]
    wire = random.randrange(8)
    head = varint(number << 3 | wire)
    if wire == VARINT:
        return head + varint(random.choice(INTEGERS))
    if wire == FIXED64:
        return head + random.randbytes(8)
    if wire == FIXED32:
        return head + random.randbytes(4)
    if wire == LENGTH:
        packed = random.choice(
            (b"".join(map(varint, some)), random.randbytes(4 * len(some)),
             random.randbytes(8 * len(some)), random.randbytes(len(some)), piece)
        )  # fmt: skip
        return head + varint(len(packed)) + packed
    if wire == GROUP_START:
        end = number if random.random() < 0.9 else number + 1
        return head + piece + varint(end << 3 | GROUP_END)
    return head


def unknown(random: Random, described) -> bytes:
    """Makes a field of any number and wire type."""
    numbers = [field.number for field in described.fields]
    number = random.choice([*numbers, 0, 90, 100, 199, 1000, 536870911, 536870912, 2**29 + 1])
    return retyped(random, number << 3, b"")


def raw(random: Random, octets: bytes) -> bytes:
    """Changes a few octets, or cuts, doubles or inserts some."""
    some = bytearray(octets)
    at = random.randrange(len(some) + 1)
    what = random.randrange(5)
    if what == 0 and at < len(some):
        some[at] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
    elif what == 1 and at < len(some):
        some[at] ^= 1 << random.randrange(8)
    elif what == 2:
        del some[at : at + random.choice([1, 1, 2, 8, 1000])]
    elif what == 3:
        some[at:at] = some[at : at + random.randrange(1, 20)]
    else:
        some[at:at] = random.randbytes(random.randrange(1, 4))
    return bytes(some)


VALUES = [
    *(None, True, False, "", "x", "1", "-1", "4294967296", 0, 1, -1, 2**31, 2**63, 2**64 - 1),
    *(2**64, 1.5, 1.0, 1e3, 1e39, [], {}, [1], [[]], {"a": 1}, [None], {"a": None}, "RED", "DIM"),
    *("COLOR_UNKNOWN", "red", "NaN", "Infinity", "-Infinity", "nan", "1.0", "1e2", " 1", "0x1", "+1"),
    *("01", "1_0", "AQ==", "AQ", "AR==", "-_8=", "A", "A=", "AQ=", "====", "!AQ=", "AQ\n=="),
    *("2020-02-29T00:00:00Z", "2021-02-29T00:00:00Z", "2020-01-01T00:00:00.5+01:00"),
    *("2020-01-01t00:00:00z", "2020-01-01 00:00:00Z", "0001-01-01T00:00:00+23:59", 77),
    *("2020-01-01T00:00:60Z", "2020-01-01T24:00:00Z", "2020-01-01T00:00:00.1234567891Z"),
    *("2020-01-01T00:00:00", "2020-1-1T0:0:0Z", "2020-01-01T00:00:00.Z", "9999-12-31T23:59:59-00:01"),
    *("3s", "-0.5s", "1.000000001s", "1.0000000001s", "1", "s", "-s", ".5s", "1.s", "+1s", "1e3s"),
    *("315576000001s", "-315576000000.999999999s", "--1s", "a,fooBar", "foo_bar", "a..b", ",", "a,"),
    *({"@type": "type.googleapis.com/flare.test.Every"}, {"@type": ""}, {"@type": 1}),
    *({"@type": "type.googleapis.com/google.protobuf.Duration", "value": "1s"}, {"value": 1}),
    *({"@type": "type.googleapis.com/google.protobuf.Duration"}, {"@type": "x/flare.test.Every"}),
]
MARKS = [
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\x00", b"\xff", b"\xed\xa0\x80", b"0"),
    *(b"-", b".", b"e", b" ", b"null", b"\\u0000", b"\\ud800", b"\\u0041", b"\x0b", b"1", b"/", b"E5"),
]


def text_case(random: Random) -> bytes:
    letter = random.choice("EEEELLLLKKKKAADMMSTVI")
    first = letter.lower() if random.random() < 0.1 else letter
    if random.random() < 0.005:
        return first.encode() + deep_text(random)
    maker = Maker(random)
    while True:
        try:
            document = json_format.MessageToDict(
                maker.message(letter),
                preserving_proto_field_name=random.random() < 0.2,
                always_print_fields_with_no_presence=random.random() < 0.1,
                descriptor_pool=pool(),
            )
            break
        except NO_JSON:
            continue
    # Maps come in another order each time.
    document = json.loads(json.dumps(document, sort_keys=True))
    for _ in range(random.choice((0, 0, 1, 1, 1, 2))):
        document = other(random, document)
    octets = written(random, document).encode("utf-8", "surrogatepass")
    if random.random() < 0.2:
        place = random.randrange(len(octets) + 1)
        mark = random.choice(MARKS)
        octets = edited(octets, place, random.randrange(CUT + 1), lambda: mark)
    return first.encode() + octets


def deep_text(random: Random) -> bytes:
    depth = random.choice(DEPTHS)
    head, tail = random.choice(
        (("[", "]"), ('{"a":', "}"), ('{"fEvery":', "}"), ('{"mEvery":{"1":', "}}"),
         ('{"fKnown":', "}"), ('{"rEvery":[', "]}"), ('{"unknown":', "}"), ('{"rValue":[[', "]]}"),
         ('{"@type":"type.googleapis.com/google.protobuf.Any","value":', "}"))
    )  # fmt: skip
    return (head * depth + random.choice(("{}", "1", "null", "[]")) + tail * depth).encode()


def other(random: Random, value: object) -> object:
    """Puts another value somewhere into a document."""
    if isinstance(value, dict) and value and random.random() < 0.85:
        name = random.choice(list(value))
        if random.random() < 0.15:
            rest = {key: one for key, one in value.items() if key != name}
            return {**rest, random.choice((name.upper(), name + "_", "fInt32", "x", "")): value[name]}
        return {**value, name: other(random, value[name])}
    if isinstance(value, list) and value and random.random() < 0.85:
        at = random.randrange(len(value))
        return [*value[:at], other(random, value[at]), *value[at + 1 :]]
    return random.choice(VALUES)


def written(random: Random, value: object) -> str:
    """Writes a document, with chances of white space, of names twice, and of other
    ways to write numbers and texts."""
    space = random.choice(" \n\t\r") if random.random() < 0.03 else ""
    if isinstance(value, dict):
        members = [
            f"{text_of(random, name)}:{space}{written(random, one)}"
            for name, one in value.items()
        ]
        if members and random.random() < 0.02:
            members.append(random.choice(members))
        return "{" + space + ",".join(members) + space + "}"
    if isinstance(value, list):
        return "[" + f",{space}".join(written(random, one) for one in value) + space + "]"
    if isinstance(value, str):
        return text_of(random, value)
    text = json.dumps(value)
    if isinstance(value, bool) or value is None or random.random() < 0.9:
        return text + space
    return random.choice(
        (f"{text}.0", f"{text}e0", f"{text}0e-1", f'"{text}"', f"{text}E+1", f"-{text}",
         f"0{text}", f"{text}.00000000000000000001", f"{text}e400", f"{text}e-400")
    )  # fmt: skip


def text_of(random: Random, value: str) -> str:
    if value and random.random() < 0.01:
        return '"' + "".join(f"\\u{ord(one):04x}" for one in value if ord(one) < 65536) + '"'
    return json.dumps(value, ensure_ascii=random.random() < 0.5)
