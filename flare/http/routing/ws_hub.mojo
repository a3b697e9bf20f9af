"""Messages for many WebSocket clients at once."""

from flare.bytes.buffer import Buffer
from flare.http.routing.ws_sender import WsSender, shared_frame
from flare.sys.monitor import Monitor
from flare.ws.core.opcode import Opcode
from std.memory import ArcPointer


struct _Rooms(Movable):
    """Who is where, under the monitor's lock."""

    var monitor: Monitor
    var rooms: Dict[String, List[WsSender]]

    def __init__(out self) raises:
        self.monitor = Monitor()
        self.rooms = {}


# These take what is shared by its counted pointer: in a method the compiler
# takes it for granted that nothing changes `mut self` while a lock is awaited.


def _members(shared: ArcPointer[_Rooms], room: String) -> List[WsSender]:
    """Copies the members of a room."""
    var members = List[WsSender]()
    shared[].monitor.lock()
    var found = shared[].rooms.get(room)
    shared[].monitor.unlock()
    if found:
        members = found.take()
    return members^


def _set_members(
    shared: ArcPointer[_Rooms], room: String, sender: WsSender, joins: Bool
):
    """Takes a sender out of a room, and puts it in if it joins."""
    shared[].monitor.lock()
    var kept = List[WsSender]()
    var found = shared[].rooms.get(room)
    if found:
        for member in found.value():
            if member.id() != sender.id():
                kept.append(member.copy())
    if joins:
        kept.append(sender.copy())
    if len(kept) > 0:
        shared[].rooms[room] = kept^
    elif found:
        _ = shared[].rooms.pop(room, List[WsSender]())
    shared[].monitor.unlock()


struct WsHub(Copyable, Movable):
    """Rooms of clients; copies are the same hub.

    A message is written once, however many get it, on whatever worker they
    are. A worker process has a hub of its own.
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
        _set_members(self._shared, String(room), sender, True)

    def leave(self, sender: WsSender, room: StringSpan = ""):
        """Lets a client out of a room; call it in `on_close`.

        Args:
            sender: Sends to the client.
            room: The room; ends when the last one leaves.
        """
        _set_members(self._shared, String(room), sender, False)

    def count(self, room: StringSpan = "") -> Int:
        """Counts the clients in a room.

        Args:
            room: The room.

        Returns:
            How many there are.
        """
        return len(_members(self._shared, String(room)))

    def send_text(self, text: StringSpan, room: StringSpan = "") -> Int:
        """Sends a text message to all in a room.

        Args:
            text: The text.
            room: The room.

        Returns:
            To how many it goes; those that are closed, or too far behind, do
            not count.
        """
        return self._send(shared_frame(Opcode.TEXT, text.as_bytes()), room)

    def send_binary(self, octets: Span[UInt8, _], room: StringSpan = "") -> Int:
        """Sends a binary message to all in a room.

        Args:
            octets: The octets.
            room: The room.

        Returns:
            To how many it goes.
        """
        return self._send(shared_frame(Opcode.BINARY, octets), room)

    def _send(self, frame: ArcPointer[Buffer], room: StringSpan) -> Int:
        var count = 0
        for member in _members(self._shared, String(room)):
            try:
                member.send_frame(frame)
                count += 1
            except:
                # It is closed or cut off, and says so itself.
                continue
        return count
