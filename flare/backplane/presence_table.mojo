"""Who is in which room, over all processes; pure.

Each process tells of its own members when they come and go, with a version that
counts these changes, and says it is alive once a second with its version. Who
hears a version that does not follow what he has asks for all members of that
process. One that is silent for too long is taken for dead.

What comes of all that is noted as changes of members, if anybody watches, and
told when no lock is held.
"""

from flare.backplane.channel import BackplaneListener, OutgoingMessage
from flare.backplane.message import (
    BackplaneMessage,
    MessageKind,
    append_word,
    load_word,
)
from flare.backplane.presence_watcher import (
    AnyPresenceWatcher,
    PresenceChange,
    PresenceEvent,
    PresenceMember,
)
from flare.bytes.checked import *
from flare.bytes.utf8 import is_valid_utf8
from flare.sys.mutex import Mutex
from flare.sys.random import KeyedHasher
from std.collections import Dict
from std.memory import ArcPointer

comptime HEARTBEAT_MS = 1_000
"""How often a process says that it is alive."""

# Between two ticks; they are a second apart, and a little.
comptime _LISTENING_MS_MAX = 2 * HEARTBEAT_MS

# Of all members of a process as many go into one message.
comptime _PART_LEN = 16_384
comptime _NEVER = Int.MIN // 2
# Of how many processes all members are asked for at once.
comptime _WANTED_COUNT_MAX = 100


@fieldwise_init
struct _Member(Copyable, Equatable, Movable):
    """What is known of a member beside its room and its key."""

    var name: String
    var data: String


comptime _Members = Dict[UInt64, _Member]
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
    comptime TELLS: Bool = True
    """It has something to tell of what has come."""

    var expires_ms: Int
    """After how long a silent process is taken for dead."""
    var now_ms: Int
    """How long it has listened, as of the last call of `on_tick`."""
    var _ticked_ms: Int
    var _origin: UInt64
    var _own: _Rooms
    var _version: Int
    var _others: Dict[UInt64, _Process]
    var _beat_ms: Int
    # Processes whose members are wanted, and whether somebody wants ours.
    var _wanted: List[UInt64]
    var _is_wanted: Bool
    var _changes: _Changes
    # True if a thread is about to tell of them.
    var _is_telling: Bool

    def __init__(out self, expires_ms: Int):
        """Makes a table without members; a process is taken for dead when it
        was silent for `expires_ms`."""
        self.expires_ms = expires_ms
        self.now_ms = 0
        self._ticked_ms = 0
        self._origin = 0
        self._own = {}
        self._version = 0
        self._others = {}
        self._beat_ms = _NEVER
        self._wanted = []
        self._is_wanted = False
        self._changes = _Changes()
        self._is_telling = False

    @no_inline
    def __deinit__(deinit self):
        return

    def watch(
        mut self, var watcher: AnyPresenceWatcher
    ) -> Optional[ArcPointer[AnyPresenceWatcher]]:
        """Has changes told from now on. Returns the watcher before, to be ended
        when the lock is not held."""
        var before = Optional(ArcPointer(watcher^))
        swap(before, self._changes.watcher)
        return before^

    @staticmethod
    def tell(state: Mutex[Self]):
        """Tells the watcher of all changes, with no lock held. If another
        thread does so, or a call from within the watcher, that one goes on.
        """
        while True:
            var changes = List[PresenceChange]()
            var table = state.lock()
            if table[]._is_telling or len(table[]._changes.list) == 0:
                return
            table[]._is_telling = True
            swap(changes, table[]._changes.list)
            var watcher = table[]._changes.watcher.copy()
            deinit(table^)
            for index in range(len(changes)):
                if watcher:
                    watcher.value()[].on_change(changes.at(index))
            state.lock()[]._is_telling = False

    def enter(
        mut self,
        room: StringSpan,
        name: StringSpan,
        key: UInt64,
        data: StringSpan = "",
    ) -> Int:
        """Adds a member of this process, which `key` tells from its others.
        Returns the version now; 0 if it was there, and is as it was."""
        var member = _Member(String(name), String(data))
        var before = _find(self._own, String(room), key)
        if before and before.value() == member:
            return 0
        self._version += 1
        self._changes.note(
            PresenceEvent.CHANGED if before else PresenceEvent.ENTERED,
            String(room),
            key,
            member,
            self._origin,
        )
        self._own.setdefault(String(room), {})[key] = member^
        return self._version

    def leave(mut self, room: StringSpan, key: UInt64) -> Int:
        """Takes a member of this process out. Returns the version now; 0 if it
        was not there."""
        var member = _take(self._own, String(room), key)
        if not member:
            return 0
        self._version += 1
        self._changes.note(
            PresenceEvent.LEFT,
            String(room),
            key,
            member.value(),
            self._origin,
        )
        return self._version

    def names(self, room: StringSpan) -> List[String]:
        """Lists who is in a room, everywhere: each name once, sorted."""
        var found = List[String]()
        for ref member in self.members(room):
            found.append(member.name)
        sort(Span(found))
        var names = List[String]()
        for index in range(len(found)):
            if index == 0 or found[index] != found[index - 1]:
                names.append(found[index])
        return names^

    def members(self, room: StringSpan) -> List[PresenceMember]:
        """Lists the members of a room, everywhere, those of this process first."""
        var found = List[PresenceMember]()
        var key = String(room)
        _add_members(self._own, key, self._origin, found)
        for item in self._others.items():
            if not self._is_dead(item.value):
                _add_members(item.value.rooms, key, item.key, found)
        return found^

    def count(self, room: StringSpan) -> Int:
        """Counts the members of a room, everywhere."""
        var key = String(room)
        var count = _count(self._own, key)
        for process in self._others.values():
            if not self._is_dead(process):
                count += _count(process.rooms, key)
        return count

    def process_count(self) -> Int:
        """Counts the other processes that are alive."""
        var count = 0
        for process in self._others.values():
            count += Int(not self._is_dead(process))
        return count

    def _is_dead(self, process: _Process) -> Bool:
        return self.now_ms - process.heard_ms > self.expires_ms

    def on_message(mut self, message: BackplaneMessage, *, is_own: Bool) -> Int:
        """Takes note of what another process tells."""
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
            elif not _note(process, message, self._changes):
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
        """Says what is to be said now, and forgets who is dead."""
        # Silence counts as far as this process listens: what others have said
        # while it was stopped is still to come.
        self.now_ms += min(now_ms - self._ticked_ms, _LISTENING_MS_MAX)
        self._ticked_ms = now_ms
        if self._origin != origin:
            # After a fork: nothing is known in this process.
            self._origin = origin
            self._others.clear()
            self._wanted.clear()
        if len(self._wanted) > 0:
            var question = OutgoingMessage(MessageKind.WANTED)
            for index in range(min(len(self._wanted), _WANTED_COUNT_MAX)):
                append_word(question.payload, self._wanted.at(index))
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
                var process = self._others.pop(origin)
                _note_all(process.rooms, {}, origin, self._changes)
            except:
                # It was there above.
                pass

    def _tell_all(self, mut outgoing: List[OutgoingMessage]):
        """Tells all members of this process, in parts: version, number of the
        part, whether it is the last, and then key, lengths, room, name and
        data."""
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
                append_word(
                    part.payload, UInt64(member.value.name.byte_length())
                )
                append_word(
                    part.payload, UInt64(member.value.data.byte_length())
                )
                part.payload.append(room.key.as_bytes())
                part.payload.append(member.value.name.as_bytes())
                part.payload.append(member.value.data.as_bytes())
        part.room = String("last")
        outgoing.append(part^)

    def _part(self, number: Int) -> OutgoingMessage:
        var part = OutgoingMessage(MessageKind.MEMBERS)
        append_word(part.payload, UInt64(self._version))
        append_word(part.payload, UInt64(number))
        return part^


struct _Changes(Defaultable, Movable):
    """Who watches, and what it has not been told yet."""

    var watcher: Optional[ArcPointer[AnyPresenceWatcher]]
    var list: List[PresenceChange]

    def note(
        mut self,
        event: PresenceEvent,
        room: String,
        key: UInt64,
        member: _Member,
        process: UInt64,
    ):
        if self.watcher:
            self.list.append(
                PresenceChange(
                    event,
                    room,
                    PresenceMember(member.name, member.data, key, process),
                )
            )


def _note(
    mut process: _Process, message: BackplaneMessage, mut changes: _Changes
) -> Bool:
    """Takes note of a message; False if all members have to be asked for."""
    var payload = message.payload()
    if message.kind == MessageKind.MEMBERS:
        if len(payload) >= 16:
            _note_part(process, message, changes)
        return True
    if len(payload) < 8:
        return False
    var version = Int(load_word(payload, 0) & 0x3FFF_FFFF_FFFF_FFFF)
    if message.kind == MessageKind.HEARTBEAT:
        if process.version < 0 and version == 0:
            # It has no members yet.
            process.version = 0
        return process.version == version
    var data = payload.after(min(16, len(payload)))
    if (
        len(payload) < 16
        or process.version != version - 1
        or not is_valid_utf8(data)
    ):
        return False
    process.version = version
    var key = load_word(payload, 8)
    var room = String(message.room())
    if message.kind == MessageKind.ENTERED:
        var member = _Member(
            String(message.id()), String(StringSpan(unsafe_from_utf8=data))
        )
        var before = _find(process.rooms, room, key)
        changes.note(
            PresenceEvent.CHANGED if before else PresenceEvent.ENTERED,
            room,
            key,
            member,
            message.origin,
        )
        process.rooms.setdefault(room, {})[key] = member^
    elif message.kind == MessageKind.LEFT:
        var member = _take(process.rooms, room, key)
        if member:
            changes.note(
                PresenceEvent.LEFT, room, key, member.value(), message.origin
            )
    return True


def _note_part(
    mut process: _Process, message: BackplaneMessage, mut changes: _Changes
):
    """Takes note of a part of all members; what is out of order is dropped, and
    asked for again after the next heartbeat."""
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
        _note_all(process.rooms, process.parts, message.origin, changes)
        process.rooms = process.parts.copy()
        process.parts = {}
        process.version = version
        process.parts_version = -1


def _note_all(
    before: _Rooms, after: _Rooms, origin: UInt64, mut changes: _Changes
):
    """Notes what is different between all members of a process then and now."""
    if not changes.watcher:
        return
    for room in before.items():
        for member in room.value.items():
            if not _find(after, room.key, member.key):
                changes.note(
                    PresenceEvent.LEFT,
                    room.key,
                    member.key,
                    member.value,
                    origin,
                )
    for room in after.items():
        for member in room.value.items():
            var old = _find(before, room.key, member.key)
            if not old or old.value() != member.value:
                changes.note(
                    PresenceEvent.CHANGED if old else PresenceEvent.ENTERED,
                    room.key,
                    member.key,
                    member.value,
                    origin,
                )


def _read_members(payload: Span[UInt8, _], mut rooms: _Rooms) -> Bool:
    var place = 16
    while place < len(payload):
        if len(payload) - place < 32:
            return False
        var key = load_word(payload, place)
        var room_len = load_word(payload, place + 8)
        var name_len = load_word(payload, place + 16)
        var data_len = load_word(payload, place + 24)
        place += 32
        var left = UInt64(len(payload) - place)
        if (
            room_len > left
            or name_len > left - room_len
            or data_len > left - room_len - name_len
        ):
            return False
        var name_start = place + Int(room_len)
        var data_start = name_start + Int(name_len)
        var end = data_start + Int(data_len)
        var room = payload.between(place, name_start)
        var name = payload.between(name_start, data_start)
        var data = payload.between(data_start, end)
        if not (
            is_valid_utf8(room) and is_valid_utf8(name) and is_valid_utf8(data)
        ):
            return False
        rooms.setdefault(String(StringSpan(unsafe_from_utf8=room)), {})[
            key
        ] = _Member(
            String(StringSpan(unsafe_from_utf8=name)),
            String(StringSpan(unsafe_from_utf8=data)),
        )
        place = end
    return True


def _find(rooms: _Rooms, room: String, key: UInt64) -> Optional[_Member]:
    try:
        return rooms[room].get(key)
    except:
        # There is no such room.
        return None


def _take(mut rooms: _Rooms, room: String, key: UInt64) -> Optional[_Member]:
    try:
        var member = _take_member(rooms[room], key)
        if len(rooms[room]) == 0:
            _ = rooms.pop(room)
        return member^
    except:
        # There is no such room.
        return None


def _take_member(mut members: _Members, key: UInt64) -> Optional[_Member]:
    try:
        return members.pop(key)
    except:
        # It is not there.
        return None


def _count(rooms: _Rooms, room: String) -> Int:
    try:
        return len(rooms[room])
    except:
        # Nobody is there.
        return 0


def _add_members(
    rooms: _Rooms,
    room: String,
    process: UInt64,
    mut found: List[PresenceMember],
):
    try:
        for item in rooms[room].items():
            found.append(
                PresenceMember(
                    item.value.name, item.value.data, item.key, process
                )
            )
    except:
        # Nobody is there.
        pass


def _names(payload: Span[UInt8, _], origin: UInt64) -> Bool:
    """Tells whether a process is among those that are asked."""
    for index in range(len(payload) // 8):
        if load_word(payload, 8 * index) == origin:
            return True
    return False
