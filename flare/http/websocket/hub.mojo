"""Messages for many WebSocket clients at once."""

from flare.bytes.buffer import Buffer
from flare.http.websocket.outbox import WsSender, shared_frame
from flare.sys.mutex import Mutex
from flare.sys.random import KeyedHasher
from flare.ws.core.frame import Opcode
from std.memory import ArcPointer


struct _Rooms(Movable):
    """Who is where, by connection."""

    var members: Dict[String, Dict[UInt64, WsSender], KeyedHasher]

    def __init__(out self):
        self.members = {}

    def leave(mut self, room: String, id: UInt64):
        try:
            _drop(self.members[room], id)
            if len(self.members[room]) == 0:
                _ = self.members.pop(room)
        except:
            # There is no such room.
            pass

    def count(self, room: String) -> Int:
        try:
            return len(self.members[room])
        except:
            # Nobody is there.
            return 0

    def send_to_all(self, room: String, frame: ArcPointer[Buffer]) -> Int:
        """Sends under the lock, so that all get messages in the same order."""
        var count = 0
        try:
            for member in self.members[room].values():
                count += Int(_takes(member, frame))
        except:
            # Nobody is there.
            pass
        return count


def _drop(mut members: Dict[UInt64, WsSender], id: UInt64):
    try:
        _ = members.pop(id)
    except:
        # It was not there.
        pass


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

    var _rooms: Mutex[_Rooms]

    def __init__(out self) raises:
        """Makes a hub without rooms.

        Raises:
            OsError: If the system has no more locks.
        """
        self._rooms = Mutex(_Rooms())

    def join(self, sender: WsSender, room: StringSpan = ""):
        """Lets a client into a room; it is in it once.

        Args:
            sender: Sends to the client.
            room: The room; made when the first one joins.
        """
        var rooms = self._rooms.lock()
        rooms[].members.setdefault(String(room), {})[
            sender.id()
        ] = sender.copy()

    def leave(self, sender: WsSender, room: StringSpan = ""):
        """Lets a client out of a room; call it in `on_close`.

        Args:
            sender: Sends to the client.
            room: The room; ends when the last one leaves.
        """
        self._rooms.lock()[].leave(String(room), sender.id())

    def count(self, room: StringSpan = "") -> Int:
        """Counts the clients in a room.

        Args:
            room: The room.

        Returns:
            How many there are.
        """
        return self._rooms.lock()[].count(String(room))

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
        return self._rooms.lock()[].send_to_all(String(room), frame)

    def send_binary(self, octets: Span[UInt8, _], room: StringSpan = "") -> Int:
        """Sends a binary message to all in a room.

        Args:
            octets: The octets.
            room: The room.

        Returns:
            To how many it goes.
        """
        var frame = shared_frame(Opcode.BINARY, octets)
        return self._rooms.lock()[].send_to_all(String(room), frame)
