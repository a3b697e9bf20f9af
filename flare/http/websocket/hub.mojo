"""Messages for many WebSocket clients at once."""

from flare.backplane.backplane import Backplane, BackplaneCounts
from flare.backplane.channel import BackplaneListener, HasBackplane, HubChannel
from flare.backplane.message import BackplaneMessage, MessageKind
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.websocket.outbox import WsSender, shared_frame
from flare.sys.mutex import Mutex
from flare.sys.random import KeyedHasher
from flare.ws.core.frame import Opcode
from std.memory import ArcPointer


struct _Rooms(BackplaneListener):
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

    def on_message(mut self, message: BackplaneMessage, *, is_own: Bool) -> Int:
        var room = String(message.room())
        if self.count(room) == 0:
            return 0
        if message.kind == MessageKind.TEXT:
            return self.send_to_all(
                room, shared_frame(Opcode.TEXT, message.payload())
            )
        if message.kind == MessageKind.BINARY:
            return self.send_to_all(
                room, shared_frame(Opcode.BINARY, message.payload())
            )
        return 0


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


struct WsHub(Copyable, HasBackplane):
    """Rooms of clients; copies are the same hub.

    A message is written once, however many get it, on whatever worker they
    are, and in the same order for all. A worker process has a hub of its own,
    unless a backplane carries its messages to the others:

        var hub = WsHub(SharedMemoryBackplane())
    """

    var _rooms: Mutex[_Rooms]
    # None if it is the process's own.
    var _channel: Optional[ArcPointer[HubChannel]]

    def __init__(out self) raises:
        """Makes a hub without rooms, of this process alone.

        Raises:
            OsError: If the system has no more locks.
        """
        self._rooms = Mutex(_Rooms())
        self._channel = None

    def __init__[B: Backplane](out self, var backplane: B) raises:
        """Makes a hub that shares its messages with those of other processes.

        Parameters:
            B: The backplane's type.

        Args:
            backplane: What carries messages; a hub has one of its own. Make
                both before worker processes are forked.

        Raises:
            OsError: If the system has no more locks.
        """
        self = Self()
        comptime if not B.IS_LOCAL:
            self._channel = ArcPointer(
                HubChannel(backplane^, self._rooms, wants_order=False)
            )

    def join(self, sender: WsSender, room: StringSpan = ""):
        """Lets a client into a room; it is in it once.

        Args:
            sender: Sends to the client.
            room: The room; made when the first one joins.
        """
        if self._channel:
            self._channel.held()[].open()
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
        """Counts the clients of this process in a room.

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
            To how many of this process it goes; those that are closed, or too
            far behind, do not count.
        """
        if self._channel:
            return self._channel.held()[].send(
                MessageKind.TEXT, room, "", text.as_bytes()
            )
        var frame = shared_frame(Opcode.TEXT, text.as_bytes())
        return self._rooms.lock()[].send_to_all(String(room), frame)

    def send_binary(self, octets: Span[UInt8, _], room: StringSpan = "") -> Int:
        """Sends a binary message to all in a room.

        Args:
            octets: The octets.
            room: The room.

        Returns:
            To how many of this process it goes.
        """
        if self._channel:
            return self._channel.held()[].send(
                MessageKind.BINARY, room, "", octets
            )
        var frame = shared_frame(Opcode.BINARY, octets)
        return self._rooms.lock()[].send_to_all(String(room), frame)

    def backplane_counts(self) -> BackplaneCounts:
        """Tells what went to other processes and came from them.

        Returns:
            The figures of this process; zeros without a backplane.
        """
        if self._channel:
            return self._channel.held()[].counts()
        return BackplaneCounts()

    def backplane_channel(self) -> Optional[ArcPointer[HubChannel]]:
        """Tells of its way to other processes; `BackplaneMetrics` asks.

        Returns:
            The way; None without a backplane.
        """
        return self._channel.copy()
