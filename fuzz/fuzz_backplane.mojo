"""Fuzzes what hubs tell each other: hostile messages, and a hostile ring.

A message is read within its octets, and written back the same; the table of
members takes any. Whatever is in the shared memory, reading ends, stays within
it, and gives nothing that was not written; behind it, new messages come again.
"""

from flare.backplane.channel import OutgoingMessage
from flare.backplane.message import parse_message, write_message
from flare.backplane.origins import OriginTable
from flare.backplane.presence_table import PresenceTable
from flare.backplane.ring import HEADER_LEN, PushResult, RingCursor, SharedRing
from flare.bytes.buffer import Buffer
from fuzz.engine import Target, fuzz_main, octets_from_hex

comptime _CAPACITY = 4_096
# Where messages begin; the lock before it is the C library's.
comptime _DATA = 1_024
# The header's words, each on a line of its own.
comptime _HEADER_WORD_COUNT = 6
comptime _LINE_LEN = 64
# Beyond it, positions begin again.
comptime _POSITION_END = 1 << 60
comptime _STEP_COUNT_MAX = 200
comptime _PROBE_LEN = 40


struct BackplaneTarget(Target):
    """The input is a message, a chain of them, each behind its length, and a
    program of two octets a step: what to do with a ring, and with how much."""

    var ring: SharedRing
    """The ring, as empty before each input as a new one."""
    var zeros: List[UInt8]
    """What is in a new one behind its header."""

    def __init__(out self) raises:
        """Maps the memory once: to map it for each input took half of the time."""
        self.ring = SharedRing(_CAPACITY)
        self.zeros = List[UInt8](length=_CAPACITY, fill=0)

    def seeds(self) -> List[String]:
        """Lists messages, and programs for the ring."""
        return [
            octets_from_hex(
                "0101 0400 0200 0000 0df0000000000000 0700000000000000"
                " 726f6f6d 6964 74657874"
            ),
            octets_from_hex(
                "0113 0400 0000 0000 0df0000000000000 0100000000000000 6c617374"
                " 0100000000000000 0000000000000000 0200000000000000"
                " 0100000000000000 0100000000000000 0100000000000000 72 6e 64"
            ),
            octets_from_hex(
                "0106 0300 0300 0000 0df0000000000000 0800000000000000 616e6e"
                " 6f7574 0fa1"
            ),
            octets_from_hex(
                "0111 0100 0100 0000 0df0000000000000 0100000000000000 72 6e"
                " 0100000000000000 0200000000000000 7b7d"
            ),
            octets_from_hex(
                "0114 0000 0000 0000 0df0000000000000 0200000000000000"
                " 0100000000000000"
            ),
            octets_from_hex(
                "0111 0100 0100 0000 0df0000000000000 0100000000000000 72 6e"
                " 0100000000000000 0200000000000000"
            ),
            octets_from_hex(
                "2a 0111 0100 0100 0000 0df0000000000000 0100000000000000 72 6e"
                " 0100000000000000 0200000000000000"
                "2a 0112 0100 0100 0000 0df0000000000000 0200000000000000 72 6e"
                " 0200000000000000 0200000000000000"
                "20 0110 0000 0000 0000 0df0000000000000 0300000000000000"
                " 0200000000000000"
            ),
            "p1p2p3rrrw1~x2!p4rr",
            octets_from_hex(
                "70ff 70ff 70ff 7701ff80 7280 7002 7280 7702007f 72"
            ),
        ]

    def tokens(self) -> List[String]:
        """Lists steps, numbers at limits, and beginnings of messages."""
        return [
            "p",
            "r",
            "w",
            octets_from_hex("0101"),
            octets_from_hex("0103"),
            octets_from_hex("0113"),
            octets_from_hex("ffffffffffffffff"),
            octets_from_hex("ffffffffffffff7f"),
            octets_from_hex("0000000000000080"),
            octets_from_hex("0004000000000000"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input as a message and as many, and runs it."""
        _read_message(input)
        _tell_tables(input)
        self._empty()
        _use(self.ring, input)
        _check_whole(self.ring)

    def _empty(self):
        """Writes over all that an input may have written; the lock is free, or
        the input before has failed."""
        for word in range(_HEADER_WORD_COUNT):
            self.ring.memory.store(word * _LINE_LEN, 0)
        self.ring.memory.write(_DATA, self.zeros)


def _read_message(input: Span[UInt8, _]) raises:
    """What is read is written the same."""
    var found = parse_message(input)
    if not found:
        return
    var message = found.value()
    var again = Buffer()
    write_message(
        again,
        message.kind,
        message.origin,
        message.sequence,
        message.room(),
        message.id(),
        message.payload(),
    )
    if len(again) != len(input) or message.sequence < 0:
        raise Error(len(again), " octets, number ", message.sequence)
    for index in range(len(input)):
        # Two octets are reserved.
        if index != 6 and index != 7:
            if again.span()[index] != input[index]:
                raise Error("it is written differently at ", index)


def _tell_tables(input: Span[UInt8, _]) raises:
    """None is delivered twice, and members may be any."""
    var table = PresenceTable(5_000)
    var origins = OriginTable()
    var outgoing = List[OutgoingMessage]()
    var place = 0
    var now_ms = 0
    while place < len(input):
        var end = min(place + 1 + Int(input[place]), len(input))
        var found = parse_message(input[place + 1 : end])
        place = end
        if not found:
            continue
        var message = found.value()
        var last = origins.last(message.origin)
        if origins.note(message.origin, message.sequence, now_ms):
            if message.sequence <= last:
                raise Error("delivered twice")
        _ = table.on_message(message, is_own=False)
        _ = table.names(message.room())
        now_ms += 700
        table.on_tick(now_ms, 0xF00D, outgoing)


def _use(mut ring: SharedRing, input: Span[UInt8, _]) raises:
    """Writes messages and anything, and reads."""
    var cursor = RingCursor(ring.tail())
    var place = 0
    for _ in range(_STEP_COUNT_MAX):
        if place + 2 > len(input):
            return
        var what = input[place] % 4
        var word = Int(input[place + 1])
        place += 2
        if what == 0:
            var end = min(place + word * 5, len(input))
            _ = ring.push(input[place:end], 0)
            continue
        if what == 1:
            _ = _read(ring, cursor)
            continue
        var number = _number(input, place)
        place = min(place + 8, len(input))
        if what == 2:
            # A reader that has been anywhere.
            cursor = RingCursor(number)
        else:
            _damage(ring, word, number)


def _damage(ring: SharedRing, word: Int, value: Int):
    """Writes a word of the header but the lock, or one of the data."""
    var offset = (word % _HEADER_WORD_COUNT) * _LINE_LEN
    if word >= 48:
        offset = _DATA + (word * 37 % (_CAPACITY // 8)) * 8
    ring.memory.store(offset, value)


def _read(ring: SharedRing, mut cursor: RingCursor) raises -> Bool:
    """Reads one message, behind what is there."""
    var out = Buffer()
    out.append_octet(0x2A)
    var is_found = ring.read(cursor, out)
    if out.span()[0] != 0x2A or (not is_found and len(out) != 1):
        raise Error("other octets than those of a message")
    if len(out) - 1 > ring.message_len_max():
        raise Error("a message of ", len(out) - 1)
    return is_found


def _check_whole(mut ring: SharedRing) raises:
    """A message that is written now comes, whole, to who reads from now on, and
    whoever reads from the oldest on comes to an end."""
    var probe = Buffer()
    for index in range(_PROBE_LEN):
        probe.append_octet(UInt8(index))
    # Positions may have been anywhere, also where they begin again at 0.
    for _ in range(2):
        _ = ring.push(probe.span(), 0)
        if ring.published() < _POSITION_END:
            break
    var cursor = RingCursor(ring.published())
    if ring.push(probe.span(), 0) != PushResult.PUBLISHED:
        raise Error("the lock is not free")
    var out = Buffer()
    if not ring.read(cursor, out) or len(out) != len(probe):
        raise Error("what was written does not come")
    for index in range(_PROBE_LEN):
        if out.span()[index] != UInt8(index):
            raise Error("what was written comes differently")
    var old = RingCursor(ring.tail())
    for _ in range(_CAPACITY // HEADER_LEN + 2):
        if not _read(ring, old):
            return
    raise Error("reading does not end")


def _number(input: Span[UInt8, _], place: Int) -> Int:
    """Eight octets, or fewer at the end."""
    var word = UInt64(0)
    for index in range(min(8, max(len(input) - place, 0))):
        word |= UInt64(input[place + index]) << UInt64(8 * index)
    return Int(word)


def main() raises:
    """Runs the target."""
    fuzz_main("backplane", BackplaneTarget())
