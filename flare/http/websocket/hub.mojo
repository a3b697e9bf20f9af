"""Messages for many WebSocket clients at once."""

from flare.bytes.buffer import Buffer
from flare.http.websocket.sender import WsSender, shared_frame
from flare.sys.monitor import Monitor
from flare.sys.random import KeyedHasher
from flare.ws.core.frame import Opcode
from std.memory import ArcPointer


struct _Rooms(Movable):
    """Who is where, by connection, under the monitor's lock."""

    var monitor: Monitor
    var rooms: Dict[String, Dict[UInt64, WsSender], KeyedHasher]

    def __init__(out self) raises:
        self.monitor = Monitor()
        self.rooms = {}


# These take what is shared by its counted pointer: in a method the compiler
# takes it for granted that nothing changes `mut self` while a lock is awaited.


def _join(shared: ArcPointer[_Rooms], room: String, sender: WsSender):
    shared[].monitor.lock()
    shared[].rooms.setdefault(room, {})[sender.id()] = sender.copy()
    shared[].monitor.unlock()


def _leave(shared: ArcPointer[_Rooms], room: String, id: UInt64):
    shared[].monitor.lock()
    try:
        _drop(shared[].rooms[room], id)
        if len(shared[].rooms[room]) == 0:
            _ = shared[].rooms.pop(room)
    except:
        # There is no such room.
        pass
    shared[].monitor.unlock()


def _drop(mut members: Dict[UInt64, WsSender], id: UInt64):
    try:
        _ = members.pop(id)
    except:
        # It was not there.
        pass


def _count(shared: ArcPointer[_Rooms], room: String) -> Int:
    var count = 0
    shared[].monitor.lock()
    try:
        count = len(shared[].rooms[room])
    except:
        # Nobody is there.
        pass
    shared[].monitor.unlock()
    return count


def _send_to_all(
    shared: ArcPointer[_Rooms], room: String, frame: ArcPointer[Buffer]
) -> Int:
    """Sends under the lock, so that all get messages in the same order."""
    var count = 0
    shared[].monitor.lock()
    try:
        for member in shared[].rooms[room].values():
            count += Int(_takes(member, frame))
    except:
        # Nobody is there.
        pass
    shared[].monitor.unlock()
    return count


def _takes(member: WsSender, frame: ArcPointer[Buffer]) -> Bool:
    try:
        member.send_frame(frame)
        return True
    except:
        # It is closed or cut off, and says so itself.
        return False


struct WsHub(Copyable, Movable):
    """Rooms of clients; copies are the same hub.

    A message is written once, however many get it, on whatever worker they
    are, and in the same order for all. A worker process has a hub of its own.
    """

    var _shared: ArcPointer[_Rooms]

    def __init__(out self) raises:
        """Makes a hub without rooms.

        Raises:
            OsError: If the system has no more locks.
        """
        self._shared = ArcPointer(_Rooms())

    def join(self, sender: WsSender, room: StringSpan = ""):
        """Lets a client into a room; it is in it once.

        Args:
            sender: Sends to the client.
            room: The room; made when the first one joins.
        """
        _join(self._shared, String(room), sender)

    def leave(self, sender: WsSender, room: StringSpan = ""):
        """Lets a client out of a room; call it in `on_close`.

        Args:
            sender: Sends to the client.
            room: The room; ends when the last one leaves.
        """
        _leave(self._shared, String(room), sender.id())

    def count(self, room: StringSpan = "") -> Int:
        """Counts the clients in a room.

        Args:
            room: The room.

        Returns:
            How many there are.
        """
        return _count(self._shared, String(room))

    def send_text(self, text: StringSpan, room: StringSpan = "") -> Int:
        """Sends a text message to all in a room.

        Args:
            text: The text.
            room: The room.

        Returns:
            To how many it goes; those that are closed, or too far behind, do
            not count.
        """
        var frame = shared_frame(Opcode.TEXT, text.as_bytes())
        return _send_to_all(self._shared, String(room), frame)

    def send_binary(self, octets: Span[UInt8, _], room: StringSpan = "") -> Int:
        """Sends a binary message to all in a room.

        Args:
            octets: The octets.
            room: The room.

        Returns:
            To how many it goes.
        """
        var frame = shared_frame(Opcode.BINARY, octets)
        return _send_to_all(self._shared, String(room), frame)
