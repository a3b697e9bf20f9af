"""Who is in which room, over all processes; pure.

Each process tells of its own members when they come and go, with a version that
counts these changes, and says it is alive once a second with its version. Who
hears a version that does not follow what he has asks for all members of that
process. One that is silent for too long is taken for dead.
"""

from flare.backplane.channel import BackplaneListener, OutgoingMessage
from flare.backplane.message import (
    BackplaneMessage,
    MessageKind,
    append_word,
    load_word,
)
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.utf8 import is_valid_utf8
from flare.sys.random import KeyedHasher
from std.collections import Dict

comptime HEARTBEAT_MS = 1_000
"""How often a process says that it is alive."""

# Of all members of a process as many go into one message.
comptime _PART_LEN = 16_384
comptime _NEVER = Int.MIN // 2
# Of how many processes all members are asked for at once.
comptime _WANTED_COUNT_MAX = 100

comptime _Members = Dict[UInt64, String]
comptime _Rooms = Dict[String, _Members, KeyedHasher]


struct _Process(Copyable, Movable):
    """Another process, as far as it is known."""

    var heard_ms: Int
    # -1 until all of its members are known.
    var version: Int
    var rooms: _Rooms
    # What has come of a list of all members.
    var parts: _Rooms
    var parts_version: Int
    var part_count: Int

    def __init__(out self, now_ms: Int):
        self.heard_ms = now_ms
        self.version = -1
        self.rooms = {}
        self.parts = {}
        self.parts_version = -1
        self.part_count = 0


struct PresenceTable(BackplaneListener):
    """The members of this process and of all others."""

    comptime TICKS: Bool = True
    """It has something to say each second."""

    var expires_ms: Int
    """After how long a silent process is taken for dead."""
    var now_ms: Int
    """When `on_tick` was called last."""
    var _origin: UInt64
    var _own: _Rooms
    var _version: Int
    var _others: Dict[UInt64, _Process]
    var _beat_ms: Int
    # Processes whose members are wanted, and whether somebody wants ours.
    var _wanted: List[UInt64]
    var _is_wanted: Bool

    def __init__(out self, expires_ms: Int):
        """Makes a table without members.

        Args:
            expires_ms: After how long a silent process is taken for dead.
        """
        self.expires_ms = expires_ms
        self.now_ms = 0
        self._origin = 0
        self._own = {}
        self._version = 0
        self._others = {}
        self._beat_ms = _NEVER
        self._wanted = []
        self._is_wanted = False

    def enter(mut self, room: StringSpan, name: StringSpan, key: UInt64) -> Int:
        """Adds a member of this process.

        Args:
            room: The room.
            name: The member's name.
            key: Tells it from others of this process.

        Returns:
            The version now.
        """
        self._version += 1
        self._own.setdefault(String(room), {})[key] = String(name)
        return self._version

    def leave(mut self, room: StringSpan, key: UInt64) -> Int:
        """Takes a member of this process out.

        Args:
            room: The room.
            key: The member's.

        Returns:
            The version now; 0 if it was not there.
        """
        if not _take(self._own, String(room), key):
            return 0
        self._version += 1
        return self._version

    def names(self, room: StringSpan) -> List[String]:
        """Lists who is in a room, everywhere.

        Args:
            room: The room.

        Returns:
            The names, each once, sorted.
        """
        var found = List[String]()
        var key = String(room)
        _add_names(self._own, key, found)
        for process in self._others.values():
            if not self._is_dead(process):
                _add_names(process.rooms, key, found)
        sort(Span(found))
        var names = List[String]()
        for index in range(len(found)):
            if index == 0 or found[index] != found[index - 1]:
                names.append(found[index])
        return names^

    def process_count(self) -> Int:
        """Counts the processes that are alive.

        Returns:
            How many others there are.
        """
        var count = 0
        for process in self._others.values():
            count += Int(not self._is_dead(process))
        return count

    def _is_dead(self, process: _Process) -> Bool:
        return self.now_ms - process.heard_ms > self.expires_ms

    def on_message(mut self, message: BackplaneMessage, *, is_own: Bool) -> Int:
        """Takes note of what another process tells.

        Args:
            message: The message.
            is_own: True if it is this process's own.

        Returns:
            0.
        """
        if is_own:
            return 0
        var origin = message.origin
        if origin not in self._others:
            self._others[origin] = _Process(self.now_ms)
        try:
            ref process = self._others[origin]
            process.heard_ms = self.now_ms
            if message.kind == MessageKind.WANTED:
                self._is_wanted |= _names(message.payload(), self._origin)
            elif not _note(process, message):
                if origin not in self._wanted:
                    self._wanted.append(origin)
        except:
            # It was put there above.
            pass
        return 0

    def on_tick(
        mut self,
        now_ms: Int,
        origin: UInt64,
        mut outgoing: List[OutgoingMessage],
    ):
        """Says what is to be said now, and forgets who is dead.

        Args:
            now_ms: The time.
            origin: This process's own number.
            outgoing: What is sent.
        """
        self.now_ms = now_ms
        if self._origin != origin:
            # Behind a fork: nothing is known in this process.
            self._origin = origin
            self._others.clear()
            self._wanted.clear()
        if len(self._wanted) > 0:
            var question = OutgoingMessage(MessageKind.WANTED)
            for index in range(min(len(self._wanted), _WANTED_COUNT_MAX)):
                append_word(question.payload, self._wanted[index])
            outgoing.append(question^)
            self._wanted.clear()
        if self._is_wanted:
            self._is_wanted = False
            self._tell_all(outgoing)
        if now_ms - self._beat_ms < HEARTBEAT_MS:
            return
        self._beat_ms = now_ms
        var beat = OutgoingMessage(MessageKind.HEARTBEAT)
        append_word(beat.payload, UInt64(self._version))
        outgoing.append(beat^)
        var dead = List[UInt64]()
        for item in self._others.items():
            if self._is_dead(item.value):
                dead.append(item.key)
        for origin in dead:
            try:
                _ = self._others.pop(origin)
            except:
                # It was there above.
                pass

    def _tell_all(self, mut outgoing: List[OutgoingMessage]):
        """Tells all members of this process, in parts: version, number of the
        part, whether it is the last, and then key, lengths, room and name."""
        var number = 0
        var part = self._part(number)
        for room in self._own.items():
            for member in room.value.items():
                if len(part.payload) > _PART_LEN:
                    outgoing.append(part^)
                    number += 1
                    part = self._part(number)
                append_word(part.payload, member.key)
                append_word(part.payload, UInt64(room.key.byte_length()))
                append_word(part.payload, UInt64(member.value.byte_length()))
                part.payload.append(room.key.as_bytes())
                part.payload.append(member.value.as_bytes())
        part.room = String("last")
        outgoing.append(part^)

    def _part(self, number: Int) -> OutgoingMessage:
        var part = OutgoingMessage(MessageKind.MEMBERS)
        append_word(part.payload, UInt64(self._version))
        append_word(part.payload, UInt64(number))
        return part^


def _note(mut process: _Process, message: BackplaneMessage) -> Bool:
    """Takes note of a message; False if all members have to be asked for."""
    var payload = message.payload()
    if message.kind == MessageKind.MEMBERS:
        if len(payload) >= 16:
            _note_part(process, message)
        return True
    if len(payload) < 8:
        return False
    var version = Int(load_word(payload, 0) & 0x3FFF_FFFF_FFFF_FFFF)
    if message.kind == MessageKind.HEARTBEAT:
        if process.version < 0 and version == 0:
            # It has no members yet.
            process.version = 0
        return process.version == version
    if len(payload) < 16 or process.version != version - 1:
        return False
    process.version = version
    var key = load_word(payload, 8)
    if message.kind == MessageKind.ENTERED:
        process.rooms.setdefault(String(message.room()), {})[key] = String(
            message.id()
        )
    elif message.kind == MessageKind.LEFT:
        _ = _take(process.rooms, String(message.room()), key)
    return True


def _note_part(mut process: _Process, message: BackplaneMessage):
    """Takes note of a part of all members; what is out of order is dropped, and
    asked for again behind the next heartbeat."""
    var payload = message.payload()
    var version = Int(load_word(payload, 0) & 0x3FFF_FFFF_FFFF_FFFF)
    var number = load_word(payload, 8)
    if number == 0:
        process.parts = {}
        process.parts_version = version
        process.part_count = 0
    if process.parts_version != version or number != UInt64(process.part_count):
        return
    process.part_count += 1
    if not _read_members(payload, process.parts):
        process.parts_version = -1
        return
    if message.room() == "last" and version >= process.version:
        process.rooms = process.parts.copy()
        process.parts = {}
        process.version = version
        process.parts_version = -1


def _read_members(payload: Span[UInt8, _], mut rooms: _Rooms) -> Bool:
    var place = 16
    while place < len(payload):
        if len(payload) - place < 24:
            return False
        var key = load_word(payload, place)
        var room_len = load_word(payload, place + 8)
        var name_len = load_word(payload, place + 16)
        place += 24
        var left = UInt64(len(payload) - place)
        if room_len > left or name_len > left - room_len:
            return False
        var name_start = place + Int(room_len)
        var end = name_start + Int(name_len)
        var room = payload.between(place, name_start)
        var name = payload.between(name_start, end)
        if not is_valid_utf8(room) or not is_valid_utf8(name):
            return False
        rooms.setdefault(String(StringSpan(unsafe_from_utf8=room)), {})[
            key
        ] = String(StringSpan(unsafe_from_utf8=name))
        place = end
    return True


def _take(mut rooms: _Rooms, room: String, key: UInt64) -> Bool:
    try:
        var was_there = _take_member(rooms[room], key)
        if len(rooms[room]) == 0:
            _ = rooms.pop(room)
        return was_there
    except:
        # There is no such room.
        return False


def _take_member(mut members: _Members, key: UInt64) -> Bool:
    try:
        _ = members.pop(key)
        return True
    except:
        # It is not there.
        return False


def _add_names(rooms: _Rooms, room: String, mut found: List[String]):
    try:
        for name in rooms[room].values():
            found.append(name)
    except:
        # Nobody is there.
        pass


def _names(payload: Span[UInt8, _], origin: UInt64) -> Bool:
    """Tells whether a process is among those that are asked."""
    for index in range(len(payload) // 8):
        if load_word(payload, 8 * index) == origin:
            return True
    return False
