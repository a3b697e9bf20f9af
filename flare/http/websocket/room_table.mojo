"""Who is in which room, whose connections are whose, and what rooms keep."""

from flare.backplane.channel import BackplaneListener
from flare.backplane.message import BackplaneMessage, MessageKind
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.websocket.outbox import WsSender, shared_frame
from flare.http.websocket.room_history import (
    HistoryBounds,
    MissedMessages,
    RoomHistory,
)
from flare.sys.random import KeyedHasher
from flare.ws.core.frame import Opcode
from std.collections import Dict
from std.memory import ArcPointer

comptime _Members = Dict[UInt64, WsSender]


struct RoomTable(BackplaneListener):
    """What a hub keeps under its lock."""

    var rooms: Dict[String, _Members, KeyedHasher]
    """The members of each room, by connection."""
    var users: Dict[String, _Members, KeyedHasher]
    """The connections of each user."""
    var bounds: HistoryBounds
    # In which rooms a connection is.
    var _rooms_of: Dict[UInt64, List[String]]
    # Whose a connection is.
    var _user_of: Dict[UInt64, String]
    var _histories: Dict[String, ArcPointer[RoomHistory], KeyedHasher]
    # Counts what was kept, so that the rooms can be told apart by their age.
    var _kept_count: Int

    def __init__(out self, var bounds: HistoryBounds):
        self.rooms = {}
        self.users = {}
        self.bounds = bounds^
        self._rooms_of = {}
        self._user_of = {}
        self._histories = {}
        self._kept_count = 0

    def join(mut self, room: StringSpan, sender: WsSender):
        """Adds a member, unless it is closed: it would never leave."""
        # Who is closed after this leaves after it, under the same lock.
        if not sender.is_open():
            return
        var id = sender.id()
        ref members = self.rooms.setdefault(String(room), {})
        if id not in members:
            self._rooms_of.setdefault(id, []).append(String(room))
        members[id] = sender.copy()

    def leave(mut self, room: String, id: UInt64):
        """Takes a member out; the last one ends the room."""
        if not _take(self.rooms, room, id):
            return
        var kept = List[String]()
        for name in self.rooms_of(id):
            if name != room:
                kept.append(name)
        self._note_rooms(id, kept^)

    def leave_all(mut self, id: UInt64) -> Int:
        """Takes a member out of all rooms, and tells how many they were."""
        var left = self.rooms_of(id)
        for room in left:
            _ = _take(self.rooms, room, id)
        self._note_rooms(id, [])
        return len(left)

    def rooms_of(self, id: UInt64) -> List[String]:
        """Names the rooms that a member is in, in the order in which it came."""
        var found = self._rooms_of.get(id)
        return found.take() if found else List[String]()

    def _note_rooms(mut self, id: UInt64, var rooms: List[String]):
        if len(rooms) > 0:
            self._rooms_of[id] = rooms^
            return
        try:
            _ = self._rooms_of.pop(id)
        except:
            # It is in none.
            pass

    def set_user(mut self, sender: WsSender, user: StringSpan):
        """Notes whose a connection is; nobody's if empty."""
        var id = sender.id()
        self.unset_user(id)
        if user.byte_length() == 0 or not sender.is_open():
            return
        self._user_of[id] = String(user)
        self.users.setdefault(String(user), {})[id] = sender.copy()

    def unset_user(mut self, id: UInt64):
        """Forgets whose a connection is."""
        try:
            _ = _take(self.users, self._user_of.pop(id), id)
        except:
            # It is nobody's.
            pass

    def count(self, room: String) -> Int:
        try:
            return len(self.rooms[room])
        except:
            # Nobody is there.
            return 0

    def send(
        mut self,
        kind: MessageKind,
        name: String,
        id: StringSpan,
        frame: ArcPointer[Buffer],
        all_but: UInt64,
    ) -> Int:
        """Sends to a room or a user, under the lock, so that all get messages in
        the same order, and tells to how many connections. The id is that of a
        room's message, if it is kept; the connection `all_but` does not get it.
        """
        if kind.is_for_user():
            return _send_to_all(self.users, name, frame, 0)
        if self.bounds.count_max > 0:
            self._keep(name, id, frame)
        return _send_to_all(self.rooms, name, frame, all_but)

    def close_user(
        mut self, user: String, code: Int, reason: StringSpan
    ) -> Int:
        """Closes all connections of a user, and tells how many were open."""
        var count = 0
        try:
            for member in self.users[user].values():
                count += Int(_closes(member, code, reason))
        except:
            # He is not here.
            pass
        return count

    def resume(
        mut self,
        room: StringSpan,
        sender: WsSender,
        last_id: StringSpan,
        gap: Optional[ArcPointer[Buffer]],
    ) -> MissedMessages:
        """Adds a member that gets first what it has missed after `last_id`
        (empty for none), and before it `gap` if that is not all: both under one
        lock, so that nothing comes between. Returns what it was sent."""
        var missed = self._missed(String(room), last_id)
        var frames = List[ArcPointer[Buffer]]()
        if gap and not missed.is_complete:
            frames.append(gap.value().copy())
        for index in range(len(missed.frames)):
            frames.append(missed.frames.at(index).copy())
        try:
            sender.send_frames(frames)
        except:
            # It is closed or cut off, and says so itself.
            missed.frames.clear()
        self.join(room, sender)
        return missed^

    def _missed(self, room: String, last_id: StringSpan) -> MissedMessages:
        try:
            return self._histories[room][].missed(last_id)
        except:
            # Nothing is kept of it.
            return MissedMessages([], last_id.byte_length() == 0)

    def _keep(
        mut self, room: String, id: StringSpan, frame: ArcPointer[Buffer]
    ):
        var found = self._histories.get(room)
        if not found:
            if len(self._histories) >= self.bounds.rooms_max:
                self._forget_oldest()
            found = ArcPointer(RoomHistory())
            self._histories[room] = found.value().copy()
        self._kept_count += 1
        ref history = found.value()[]
        history.used = self._kept_count
        history.put(id, frame, self.bounds)

    def _forget_oldest(mut self):
        """Forgets the half of the rooms in which nothing was said for the
        longest."""
        var times = List[Int]()
        for history in self._histories.values():
            times.append(history[].used)
        sort(Span(times))
        var limit = times.at((len(times) - 1) // 2)
        var kept = Dict[String, ArcPointer[RoomHistory], KeyedHasher]()
        for item in self._histories.items():
            if item.value[].used > limit:
                kept[item.key] = item.value.copy()
        self._histories = kept^

    def on_message(mut self, message: BackplaneMessage, *, is_own: Bool) -> Int:
        """Delivers a message to the clients of this process, and tells to how
        many."""
        var name = String(message.room())
        var kind = message.kind
        var payload = message.payload()
        if kind == MessageKind.USER_CLOSE:
            if len(payload) != 2:
                return 0
            var code = Int(payload.at(0)) << 8 | Int(payload.at(1))
            return self.close_user(name, code, message.id())
        if not self._reaches_some(kind, name):
            return 0
        return self.send(
            kind, name, message.id(), frame_of(kind, payload), message.all_but
        )

    def _reaches_some(self, kind: MessageKind, name: String) -> Bool:
        """Tells whether a message is for clients, and for some here or to come."""
        if kind.is_for_user():
            return name in self.users
        if not kind.is_text() and kind != MessageKind.BINARY:
            return False
        return self.bounds.count_max > 0 or name in self.rooms


def frame_of(kind: MessageKind, payload: Span[UInt8, _]) -> ArcPointer[Buffer]:
    """Writes the frame of a message."""
    return shared_frame(
        Opcode.TEXT if kind.is_text() else Opcode.BINARY, payload
    )


def _take(
    mut rooms: Dict[String, _Members, KeyedHasher], room: String, id: UInt64
) -> Bool:
    try:
        var is_there = _drop(rooms[room], id)
        if len(rooms[room]) == 0:
            _ = rooms.pop(room)
        return is_there
    except:
        # There is no such room.
        return False


def _drop(mut members: _Members, id: UInt64) -> Bool:
    try:
        _ = members.pop(id)
        return True
    except:
        # It was not there.
        return False


@always_inline
def _send_to_all(
    rooms: Dict[String, _Members, KeyedHasher],
    room: String,
    frame: ArcPointer[Buffer],
    all_but: UInt64,
) -> Int:
    var count = 0
    try:
        for member in rooms[room].items():
            if member.key != all_but or all_but == 0:
                count += Int(_takes(member.value, frame))
    except:
        # Nobody is there.
        pass
    return count


def _takes(member: WsSender, frame: ArcPointer[Buffer]) -> Bool:
    try:
        member.send_frame(frame)
        return True
    except:
        # It is closed or cut off, and says so itself.
        return False


def _closes(member: WsSender, code: Int, reason: StringSpan) -> Bool:
    try:
        member.close(code, reason)
        return True
    except:
        # It is closed already.
        return False
