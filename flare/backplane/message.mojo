"""What hubs of several processes tell each other, as octets; pure.

    0        1      2          4        6          8        16         24
    version  kind   room len   id len   reserved   origin   sequence   room id payload

Numbers are little-endian. The origin is a number that a process draws when it
joins; the sequence counts its messages from 1, so that a receiver knows what it
has had before and what it has missed.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.utf8 import is_valid_utf8

comptime MESSAGE_HEAD_LEN = 24
"""What a message takes beside room, id and payload."""
comptime NAME_LEN_MAX = 65_535
"""Longest room, and longest id, in bytes."""
comptime _VERSION = UInt8(1)


@fieldwise_init
struct MessageKind(Equatable, ImplicitlyCopyable):
    """What a message is."""

    var value: UInt8
    """Its number on the way."""

    comptime TEXT = Self(1)
    """A text for all in a room."""
    comptime BINARY = Self(2)
    """Octets for all in a room."""
    comptime EVENT = Self(3)
    """A server-sent event, as clients read it; with its id."""
    comptime USER_TEXT = Self(4)
    """A text for all connections of a user, who stands where rooms do."""
    comptime USER_BINARY = Self(5)
    """Octets for all connections of a user."""
    comptime USER_CLOSE = Self(6)
    """All connections of a user are closed; the id is the reason, the payload
    the code, in network order."""
    comptime HEARTBEAT = Self(16)
    """A process is alive; its payload is the version of its members."""
    comptime ENTERED = Self(17)
    """A member has come into a room; the id is its name."""
    comptime LEFT = Self(18)
    comptime MEMBERS = Self(19)
    """A part of all members of a process."""
    comptime WANTED = Self(20)
    """The origin wants all members of the processes that the payload names."""

    def is_text(self) -> Bool:
        """Tells whether its payload is a text of UTF-8."""
        return self == Self.TEXT or self == Self.USER_TEXT

    def is_for_user(self) -> Bool:
        """Tells whether it is for the connections of a user."""
        return self.value >= 4 and self.value <= 6

    def is_known(self) -> Bool:
        """Tells whether this version knows the kind: a later one may send
        others."""
        return (self.value >= 1 and self.value <= 6) or (
            self.value >= 16 and self.value <= 20
        )


struct BackplaneMessage[o: ImmOrigin](ImplicitlyCopyable):
    """A message, lent from the octets that it came in."""

    var kind: MessageKind
    var origin: UInt64
    """The process that sent it."""
    var sequence: Int
    """Its number among the messages of that process."""
    var all_but: UInt64
    """The connection of the own process that does not get it; 0 for none. It is
    not on the way: no other process has that connection."""
    var _octets: Span[UInt8, Self.o]
    var _id_start: Int
    var _payload_start: Int

    def __init__(
        out self,
        octets: Span[UInt8, Self.o],
        id_start: Int,
        payload_start: Int,
    ):
        """Takes octets whose lengths fit; `parse_message` sees to that. The
        room ends at `id_start`, the id at `payload_start`."""
        self.kind = MessageKind(octets.at(1))
        self.origin = load_word(octets, 8)
        self.sequence = Int(load_word(octets, 16))
        self.all_but = 0
        self._octets = octets
        self._id_start = id_start
        self._payload_start = payload_start

    def room(self) -> StringSpan[Self.o]:
        """Names the room, in valid UTF-8."""
        return StringSpan(
            unsafe_from_utf8=self._octets.between(
                MESSAGE_HEAD_LEN, self._id_start
            )
        )

    def id(self) -> StringSpan[Self.o]:
        """Names the event, or the member, in valid UTF-8; may be empty."""
        return StringSpan(
            unsafe_from_utf8=self._octets.between(
                self._id_start, self._payload_start
            )
        )

    def payload(self) -> Span[UInt8, Self.o]:
        """Lends what is sent: valid UTF-8 if the kind is TEXT or USER_TEXT."""
        return self._octets.after(self._payload_start)


def parse_message[
    o: ImmOrigin, //
](octets: Span[UInt8, o]) -> Optional[BackplaneMessage[o]]:
    """Reads a message; None if it is none, or one of another version. What
    comes out of shared memory or from an engine may be anything."""
    if len(octets) < MESSAGE_HEAD_LEN or octets.at(0) != _VERSION:
        return None
    var id_start = MESSAGE_HEAD_LEN + _load_short(octets, 2)
    var payload_start = id_start + _load_short(octets, 4)
    if payload_start > len(octets):
        return None
    var kind = MessageKind(octets.at(1))
    var sequence = load_word(octets, 16)
    if not kind.is_known() or sequence == 0 or sequence >> 62 != 0:
        return None
    var text_end = len(octets) if kind.is_text() else payload_start
    # Each by itself, so that no character lies across a border.
    if (
        not is_valid_utf8(octets.between(MESSAGE_HEAD_LEN, id_start))
        or not is_valid_utf8(octets.between(id_start, payload_start))
        or not is_valid_utf8(octets.between(payload_start, text_end))
    ):
        return None
    return BackplaneMessage[o](octets, id_start, payload_start)


def write_message(
    mut out: Buffer,
    kind: MessageKind,
    origin: UInt64,
    sequence: Int,
    room: StringSpan,
    id: StringSpan,
    payload: Span[UInt8, _],
):
    """Appends a message of process `origin`; `room` and `id` are at most
    `NAME_LEN_MAX` long."""
    out.append_octet(_VERSION)
    out.append_octet(kind.value)
    _append_number(out, UInt64(room.byte_length()), 2)
    _append_number(out, UInt64(id.byte_length()), 2)
    _append_number(out, 0, 2)
    _append_number(out, origin, 8)
    _append_number(out, UInt64(sequence), 8)
    out.append(room.as_bytes())
    out.append(id.as_bytes())
    out.append(payload)


def load_word(octets: Span[UInt8, _], start: Int) -> UInt64:
    """Reads eight octets as a number."""
    var word = UInt64(0)
    for index in range(8):
        word |= UInt64(octets.at(start + index)) << UInt64(8 * index)
    return word


def append_word(mut out: Buffer, word: UInt64):
    """Writes a number as eight octets."""
    _append_number(out, word, 8)


def _load_short(octets: Span[UInt8, _], start: Int) -> Int:
    return Int(octets.at(start)) | (Int(octets.at(start + 1)) << 8)


def _append_number(mut out: Buffer, number: UInt64, count: Int):
    for index in range(count):
        out.append_octet(UInt8((number >> UInt64(8 * index)) & 0xFF))
