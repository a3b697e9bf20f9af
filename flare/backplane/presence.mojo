"""Who is there, over all processes."""

from flare.backplane.backplane import (
    Backplane,
    BackplaneCounts,
    LocalBackplane,
)
from flare.backplane.channel import HasBackplane, HubChannel
from flare.backplane.message import MessageKind, append_word
from flare.backplane.presence_table import HEARTBEAT_MS, PresenceTable
from flare.bytes.buffer import Buffer
from flare.sys.mutex import Mutex
from std.memory import ArcPointer


struct Presence(Copyable, HasBackplane):
    """Who is in which room; copies are the same.

        var presence = Presence(SharedMemoryBackplane())
        # In on_open: presence.enter("lobby", "ann", sender.id())
        # In on_close: presence.leave("lobby", sender.id())
        # Anywhere: presence.names("lobby")

    Each process tells the others who comes and goes, and once a second that it
    is alive. The members of one that dies, or cannot be reached, are gone when
    it has been silent for `expires_ms`, and come back with it. Give it a
    backplane of its own, without a history.
    """

    var _table: Mutex[PresenceTable]
    # None if there are no other processes.
    var _channel: Optional[ArcPointer[HubChannel]]

    def __init__[
        B: Backplane = LocalBackplane
    ](
        out self,
        var backplane: B = LocalBackplane(),
        *,
        expires_ms: Int = 5_000,
    ) raises:
        """Makes a table without members.

        Parameters:
            B: The backplane's type.

        Args:
            backplane: What carries the news; by default there are no other
                processes. Make both before worker processes are forked.
            expires_ms: After how long a silent process is taken for dead; at
                least two heartbeats, 2 s.

        Raises:
            Error: If the time is too short.
        """
        if expires_ms < 2 * HEARTBEAT_MS:
            raise Error(
                "Presence: expires_ms is ",
                expires_ms,
                "; it must be at least ",
                2 * HEARTBEAT_MS,
            )
        self._table = Mutex(PresenceTable(expires_ms))
        self._channel = None
        comptime if not B.IS_LOCAL:
            self._channel = ArcPointer(
                HubChannel(backplane^, self._table, wants_order=False)
            )

    def open(self):
        """Begins to listen to other processes, which `enter` does, too. It
        takes up to a second until the members of all are known."""
        if self._channel:
            self._channel.value()[].open()

    def enter(self, room: StringSpan, name: StringSpan, key: UInt64):
        """Adds a member of this process; a second time it changes its name.

        Args:
            room: The room.
            name: What others see; members of one name are seen as one.
            key: Tells it from others of this process, as `WsSender.id` does.
        """
        self.open()
        var version = self._table.lock()[].enter(room, name, key)
        self._tell(MessageKind.ENTERED, room, name, key, version)

    def leave(self, room: StringSpan, key: UInt64):
        """Takes a member of this process out.

        Args:
            room: The room.
            key: The member's.
        """
        var version = self._table.lock()[].leave(room, key)
        if version > 0:
            self._tell(MessageKind.LEFT, room, "", key, version)

    def names(self, room: StringSpan) -> List[String]:
        """Lists who is in a room, in all processes.

        Args:
            room: The room.

        Returns:
            The names, each once, sorted.
        """
        self.open()
        return self._table.lock()[].names(room)

    def process_count(self) -> Int:
        """Counts the other processes that are known to be alive.

        Returns:
            How many there are.
        """
        self.open()
        return self._table.lock()[].process_count()

    def backplane_counts(self) -> BackplaneCounts:
        """Tells what went to other processes and came from them.

        Returns:
            The figures of this process; zeros without a backplane.
        """
        if self._channel:
            return self._channel.value()[].counts()
        return BackplaneCounts()

    def backplane_channel(self) -> Optional[ArcPointer[HubChannel]]:
        """Tells of its way to other processes; `BackplaneMetrics` asks.

        Returns:
            The way; None without a backplane.
        """
        return self._channel.copy()

    def _tell(
        self,
        kind: MessageKind,
        room: StringSpan,
        name: StringSpan,
        key: UInt64,
        version: Int,
    ):
        if self._channel:
            var payload = Buffer(16)
            append_word(payload, UInt64(version))
            append_word(payload, key)
            _ = self._channel.value()[].send(kind, room, name, payload.span())
