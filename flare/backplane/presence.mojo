"""Who is there, over all processes."""

from flare.backplane.backplane import (
    Backplane,
    BackplaneCounts,
    LocalBackplane,
)
from flare.backplane.channel import HasBackplane, HubChannel
from flare.backplane.message import MessageKind, append_word
from flare.backplane.presence_table import HEARTBEAT_MS, PresenceTable
from flare.backplane.presence_watcher import (
    AnyPresenceWatcher,
    PresenceMember,
    PresenceWatcher,
)
from flare.bytes.buffer import Buffer
from flare.sys.mutex import Mutex
from std.memory import ArcPointer


comptime PRESENCE_DATA_LEN_MAX = 4_096
"""Longest data of a member, in bytes: all processes keep them."""


struct Presence(Copyable, HasBackplane):
    """Who is in which room; copies are the same.

        var presence = Presence(SharedMemoryBackplane())
        # In on_open: presence.enter("lobby", "ann", sender.id())
        # In on_close: presence.leave("lobby", sender.id())
        # Anywhere: presence.names("lobby"), presence.count("lobby")

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
        self._enter(room, name, key, "")

    def enter(
        self,
        room: StringSpan,
        name: StringSpan,
        key: UInt64,
        data: StringSpan,
    ) raises:
        """Adds a member of this process that is more than a name; a second time
        it changes its name and its data.

        Args:
            data: What others are told of it, such as JSON.

        Raises:
            Error: If the data are longer than `PRESENCE_DATA_LEN_MAX`.
        """
        if data.byte_length() > PRESENCE_DATA_LEN_MAX:
            raise Error(
                "Presence: the data of a member have ",
                data.byte_length(),
                " bytes; at most ",
                PRESENCE_DATA_LEN_MAX,
                " are allowed",
            )
        self._enter(room, name, key, data)

    def _enter(
        self,
        room: StringSpan,
        name: StringSpan,
        key: UInt64,
        data: StringSpan,
    ):
        self.open()
        var version = self._table.lock()[].enter(room, name, key, data)
        if version > 0:
            self._tell(MessageKind.ENTERED, room, name, key, version, data)

    def leave(self, room: StringSpan, key: UInt64):
        """Takes a member of this process out.

        Args:
            key: The member's.
        """
        var version = self._table.lock()[].leave(room, key)
        if version > 0:
            self._tell(MessageKind.LEFT, room, "", key, version, "")

    def watch[W: PresenceWatcher](self, var watcher: W):
        """Has a watcher told of members that come, change and go, from now on.
        The one before hears nothing more. Call it before worker processes are
        forked; each then has a watcher of its own. A process hears of others
        from when it listens: `open`, `enter` and `names` begin that.

        Parameters:
            W: The watcher's type.

        Args:
            watcher: The watcher. One that holds this value keeps both until
                the program ends.
        """
        var before = self._table.lock()[].watch(AnyPresenceWatcher(watcher^))
        # Its end may end a hub, which must not be under the lock.
        _ = before^

    def members(self, room: StringSpan) -> List[PresenceMember]:
        """Gives the members of a room, in all processes, with their data: each
        connection by itself, in no order."""
        self.open()
        return self._table.lock()[].members(room)

    def count(self, room: StringSpan) -> Int:
        """Counts the members of a room, in all processes: each connection by
        itself, whatever its name."""
        self.open()
        return self._table.lock()[].count(room)

    def names(self, room: StringSpan) -> List[String]:
        """Names who is in a room, in all processes: each once, sorted."""
        self.open()
        return self._table.lock()[].names(room)

    def process_count(self) -> Int:
        """Counts the other processes that are known to be alive."""
        self.open()
        return self._table.lock()[].process_count()

    def backplane_counts(self) -> BackplaneCounts:
        """Tells what went to other processes and came from them: the figures of
        this process; zeros without a backplane."""
        if self._channel:
            return self._channel.value()[].counts()
        return BackplaneCounts()

    def backplane_channel(self) -> Optional[ArcPointer[HubChannel]]:
        """Gives its way to other processes, for `BackplaneMetrics`; None
        without a backplane."""
        return self._channel.copy()

    def _tell(
        self,
        kind: MessageKind,
        room: StringSpan,
        name: StringSpan,
        key: UInt64,
        version: Int,
        data: StringSpan,
    ):
        if self._channel:
            var payload = Buffer(16 + data.byte_length())
            append_word(payload, UInt64(version))
            append_word(payload, key)
            payload.append(data.as_bytes())
            _ = self._channel.value()[].send(kind, room, name, payload.span())
        PresenceTable.tell(self._table)
