"""Messages for many WebSocket clients at once."""

from flare.backplane.backplane import Backplane, BackplaneCounts
from flare.backplane.channel import HasBackplane, HubChannel
from flare.backplane.message import MessageKind
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.websocket.outbox import WsSender, check_close, shared_frame
from flare.http.websocket.room_history import HistoryBounds
from flare.http.websocket.room_table import RoomTable, frame_of
from flare.sys.mutex import Mutex
from flare.ws.core.error import CloseCode
from flare.ws.core.frame import Opcode
from std.memory import ArcPointer


@fieldwise_init
struct ResumedRoom(ImplicitlyCopyable):
    """What a client got that has come back to a room."""

    var sent_count: Int
    """Messages that it had missed, and was sent."""
    var is_complete: Bool
    """False if there may have been more: the last message that it saw is not
    kept any more, or never was."""


struct WsHub(Copyable, HasBackplane):
    """Rooms of clients; copies are the same hub.

    A message is written once, however many get it, on whatever worker they
    are, and in the same order for all of a process. A worker process has a hub of its own,
    unless a backplane carries its messages to the others:

        var hub = WsHub(SharedMemoryBackplane())
    """

    var _rooms: Mutex[RoomTable]
    # None if it is the process's own.
    var _channel: Optional[ArcPointer[HubChannel]]

    def __init__(
        out self,
        *,
        history: Int = 0,
        history_size: Int = 256 * 1024,
        history_rooms: Int = 1_000,
    ) raises:
        """Makes a hub without rooms, of this process alone.

        Args:
            history: Messages of each room that are kept for clients that come
                back (`resume`). Default 0: none.
            history_size: Bytes that may be kept for each room; at most half of
                `WsConfig.max_queue_size`, so that a client can take it.
                Default 256 KiB.
            history_rooms: Rooms of which messages are kept, also when nobody
                is in them; the half that was silent for the longest is
                forgotten when there are more. Default 1,000.

        Raises:
            Error: If a number is out of range, or the system has no more locks.
        """
        var bounds = HistoryBounds(history, history_size, history_rooms)
        bounds.check()
        self._rooms = Mutex(RoomTable(bounds^))
        self._channel = None

    def __init__[
        B: Backplane
    ](
        out self,
        var backplane: B,
        *,
        history: Int = 0,
        history_size: Int = 256 * 1024,
        history_rooms: Int = 1_000,
    ) raises:
        """Makes a hub that shares its messages with those of other processes.

        With a history, all of them have the messages in one order, and what
        the backplane keeps of earlier ones is what a new worker begins with.
        So it takes a `SharedMemoryBackplane`, or a `RedisBackplane` with a
        history of its own.

        Parameters:
            B: The backplane's type.

        Args:
            backplane: What carries messages; a hub has one of its own. Make
                both before worker processes are forked.

        Raises:
            Error: If a number is out of range, the backplane has no order for
                a history, or the system has no more locks.
        """
        self = Self(
            history=history,
            history_size=history_size,
            history_rooms=history_rooms,
        )
        comptime if not B.IS_LOCAL:
            if history > 0 and not backplane.has_order():
                raise Error(
                    "WsHub: a history needs a backplane that has all messages",
                    " in one order; give RedisBackplane a history, too",
                )
            self._channel = ArcPointer(
                HubChannel(backplane^, self._rooms, wants_order=history > 0)
            )

    @no_inline
    def __deinit__(deinit self):
        return

    def join(self, sender: WsSender, room: StringSpan = ""):
        """Lets a client into a room; it is in it once. One whose connection is
        closed stays outside: it would never leave.

        Args:
            sender: Sends to the client.
            room: The room; made when the first one joins.
        """
        if self._channel:
            self._channel.held()[].open()
        self._rooms.lock()[].join(room, sender)

    def resume(
        self,
        sender: WsSender,
        room: StringSpan,
        last_id: StringSpan,
        *,
        gap_text: StringSpan = "",
    ) -> ResumedRoom:
        """Lets a client that comes back into a room: it gets what it has
        missed, in order, and then what is sent from now on, none of it twice;
        gives how much it was sent, and whether that is all that it missed.

        It is called in `on_open`, in place of `join`. What the client gets here
        is not bounded by `WsConfig.max_queue_size`, but counts for what follows.

        Args:
            room: The room.
            last_id: The id of the last message that it has seen; empty if it
                has seen none, and is to get all that is kept.
            gap_text: A text message that it gets before all else if it has
                missed more than is kept; by default it gets none.
        """
        if self._channel:
            # Another process may have said it a moment ago.
            self._channel.held()[].catch_up()
        var gap = Optional[ArcPointer[Buffer]]()
        if gap_text.byte_length() > 0:
            gap = shared_frame(Opcode.TEXT, gap_text.as_bytes())
        var missed = self._rooms.lock()[].resume(room, sender, last_id, gap)
        return ResumedRoom(len(missed.frames), missed.is_complete)

    def leave(self, sender: WsSender, room: StringSpan = ""):
        """Lets a client out of a room; call it in `on_close`.

        Args:
            room: The room; ends when the last one leaves.
        """
        self._rooms.lock()[].leave(String(room), sender.id())

    def leave_all(self, sender: WsSender) -> Int:
        """Lets a client out of all rooms that it is in, and gives how many they
        were; call it in `on_close`, and no room has to be remembered."""
        return self._rooms.lock()[].leave_all(sender.id())

    def rooms_of(self, sender: WsSender) -> List[String]:
        """Names the rooms that a client is in, in the order in which it has
        joined them."""
        return self._rooms.lock()[].rooms_of(sender.id())

    def count(self, room: StringSpan = "") -> Int:
        """Counts the clients of this process in a room.

        Args:
            room: The room.
        """
        return self._rooms.lock()[].count(String(room))

    def set_user(self, sender: WsSender, user: StringSpan):
        """Says whose a connection is, as long as it is open; a second call says
        it anew. A user may have any number of connections, in any processes.

        Args:
            user: The user; empty if it is nobody's.
        """
        if self._channel:
            self._channel.held()[].open()
        self._rooms.lock()[].set_user(sender, user)

    def unset_user(self, sender: WsSender):
        """Forgets whose a connection is; call it in `on_close`."""
        self._rooms.lock()[].unset_user(sender.id())

    def send_to_user(self, user: StringSpan, text: StringSpan) -> Int:
        """Sends a text message to a user, on all connections that he has, in
        all processes, and gives to how many connections of this process it
        goes. It is kept in no history.

        Args:
            user: The user.
            text: The text.
        """
        return self._send(MessageKind.USER_TEXT, text.as_bytes(), user, "", 0)

    def send_to_user(self, user: StringSpan, octets: Span[UInt8, _]) -> Int:
        """Sends a binary message to a user, and gives to how many connections
        of this process it goes; the rest is as for the text.

        Args:
            octets: The octets.
        """
        return self._send(MessageKind.USER_BINARY, octets, user, "", 0)

    def close_user(
        self,
        user: StringSpan,
        code: Int = CloseCode.NORMAL,
        reason: StringSpan = "",
    ) raises -> Int:
        """Closes the connections of a user, in all processes, after what was
        sent to him before, and gives how many of this process they were. He may
        come back at once: refuse him in `on_open`.

        Args:
            user: The user.
            code: As for `WsSender.close`.
            reason: At most 123 bytes.

        Raises:
            Error: If code or reason cannot be sent; then none is closed.
        """
        check_close(code, reason)
        if self._channel:
            var octets: List[UInt8] = [UInt8(code >> 8), UInt8(code & 0xFF)]
            return self._channel.held()[].send(
                MessageKind.USER_CLOSE, user, reason, Span(octets)
            )
        return self._rooms.lock()[].close_user(String(user), code, reason)

    def send_text(
        self, text: StringSpan, room: StringSpan = "", *, id: StringSpan = ""
    ) -> Int:
        """Sends a text message to all in a room, and gives to how many of this
        process it goes; those that are closed, or too far behind, do not count.

        Args:
            room: The room.
            id: What a client that comes back names to go on from here, in a
                room with a history; tell it within the text. No other message
                of the room may have it. A client cannot name one without.
        """
        return self._send(MessageKind.TEXT, text.as_bytes(), room, id, 0)

    def send_text(
        self,
        text: StringSpan,
        room: StringSpan = "",
        *,
        all_but: WsSender,
        id: StringSpan = "",
    ) -> Int:
        """Sends a text message to all in a room but one, and gives to how many
        of this process it goes: to the others, what one of them has said.

        A history keeps it for all: a client that comes back has another
        connection, and gets what was said since, its own messages too.

        Args:
            all_but: Whose client does not get it; it need not be in the room.
        """
        return self._send(
            MessageKind.TEXT, text.as_bytes(), room, id, all_but.id()
        )

    def send_binary(
        self,
        octets: Span[UInt8, _],
        room: StringSpan = "",
        *,
        id: StringSpan = "",
    ) -> Int:
        """Sends a binary message to all in a room, and gives to how many of
        this process it goes.

        Args:
            room: The room.
        """
        return self._send(MessageKind.BINARY, octets, room, id, 0)

    def send_binary(
        self,
        octets: Span[UInt8, _],
        room: StringSpan = "",
        *,
        all_but: WsSender,
        id: StringSpan = "",
    ) -> Int:
        """Sends a binary message to all in a room but one, and gives to how
        many of this process it goes, as `send_text` does."""
        return self._send(MessageKind.BINARY, octets, room, id, all_but.id())

    def _send(
        self,
        kind: MessageKind,
        octets: Span[UInt8, _],
        name: StringSpan,
        id: StringSpan,
        all_but: UInt64,
    ) -> Int:
        """Sends to a room or a user: to all processes, or here."""
        if self._channel:
            return self._channel.held()[].send(kind, name, id, octets, all_but)
        var frame = frame_of(kind, octets)
        return self._rooms.lock()[].send(kind, String(name), id, frame, all_but)

    def backplane_counts(self) -> BackplaneCounts:
        """Tells what went to other processes and came from them: the figures of
        this process; zeros without a backplane."""
        if self._channel:
            return self._channel.held()[].counts()
        return BackplaneCounts()

    def backplane_channel(self) -> Optional[ArcPointer[HubChannel]]:
        """Gives its way to other processes, for `BackplaneMetrics`; None
        without a backplane."""
        return self._channel.copy()
