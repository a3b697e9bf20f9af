"""Streams: entries with fields, read by id or by the members of a group."""

from flare.redis.commands import RedisCommands, set_wait
from flare.redis.core.command import Command, RedisArg
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.reply import Reply, ReplyKind
from flare.redis.core.value import RedisValue


@fieldwise_init
struct StreamField(Copyable, Movable):
    """A field of an entry."""

    var name: RedisValue
    """Its name."""
    var value: RedisValue
    """Its value."""


struct StreamEntry(Copyable, Movable):
    """An entry of a stream."""

    var id: String
    """Its id, such as 1526919030474-55."""
    var fields: List[StreamField]
    """Its fields, in order; none if it was deleted meanwhile."""

    def __init__(out self, reply: Reply[_]) raises RedisError:
        """Copies an entry.

        Args:
            reply: Id and fields.

        Raises:
            RedisError: If it is no entry.
        """
        self.id = String(reply[0].text())
        self.fields = []
        var fields = reply[1]
        var items = fields.__iter__()
        for _ in range(len(fields) // 2):
            var name = RedisValue(items.next())
            self.fields.append(StreamField(name^, RedisValue(items.next())))

    def get(self, name: StringSpan) -> Optional[RedisValue]:
        """Finds a field; None if there is none.

        Args:
            name: Its name.
        """
        for index in range(len(self.fields)):
            ref field = self.fields[index]
            if Span(field.name.octets) == name.as_bytes():
                return field.value.copy()
        return None


struct StreamBatch(Copyable, Movable):
    """New entries of one stream."""

    var key: String
    """The stream."""
    var entries: List[StreamEntry]
    """The entries, oldest first."""

    def __init__(out self, key: Reply[_], entries: Reply[_]) raises RedisError:
        """Copies entries.

        Raises:
            RedisError: If they are none.
        """
        self.key = String(key.text())
        self.entries = read_entries(entries)


@fieldwise_init
struct StreamPosition(Copyable, Movable):
    """Where to read on in a stream."""

    var key: String
    """The stream."""
    var id: String
    """The last entry that was read: `0` for all, `$` for what is new from now
    on; in a group `>` for what no member has got."""


struct ClaimedEntries(Copyable, Movable):
    """Entries that were taken over from a member that does not answer."""

    var cursor: String
    """Where to go on; `0-0` when all have been seen."""
    var entries: List[StreamEntry]
    """The entries, oldest first."""

    def __init__(out self, reply: Reply[_]) raises RedisError:
        """Copies the answer to XAUTOCLAIM.

        Args:
            reply: The answer.

        Raises:
            RedisError: If it is none.
        """
        self.cursor = String(reply[0].text())
        self.entries = read_entries(reply[1])


trait StreamCommands(RedisCommands):
    """The commands of streams. Each command raises `RedisError` if it fails."""

    def xadd(
        mut self, key: StringSpan, *pairs: RedisArg, max_len: Int = 0
    ) raises RedisError -> String:
        """Appends an entry (XADD), and gives the id that the server has made. A
        stream that is not there is made.

        Args:
            key: The stream.
            max_len: About how many entries stay; 0 for all.
        """
        var more = 1 + len(pairs) + (3 if max_len > 0 else 0)
        ref room = self._write_at["XADD"](key, more)
        if max_len > 0:
            room.add_literal["MAXLEN"]()
            room.add_literal["~"]()
            room.add_number(max_len)
        room.add_literal["*"]()
        for index in range(len(pairs)):
            room.add(pairs[index].text)
        return String(self._run().text())

    def xlen(mut self, key: StringSpan) raises RedisError -> Int:
        """Counts the entries of a stream (XLEN)."""
        _ = self._read_at["XLEN"](key)
        return self._run().integer()

    def xrange(
        mut self,
        key: StringSpan,
        start: StringSpan = "-",
        end: StringSpan = "+",
        count: Int = 100,
    ) raises RedisError -> List[StreamEntry]:
        """Reads entries by their ids (XRANGE), oldest first.

        Args:
            start: The first id; `-` for the oldest, `(id` for those after it.
            end: The last id; `+` for the newest.
            count: Most entries.
        """
        ref room = self._read_at["XRANGE"](key, 4)
        room.add(start)
        room.add(end)
        room.add_literal["COUNT"]()
        room.add_number(count)
        return read_entries(self._run())

    def xread(
        mut self,
        positions: List[StreamPosition],
        *,
        count: Int = 100,
        wait_ms: Int = 0,
    ) raises RedisError -> List[StreamBatch]:
        """Reads what is new in some streams (XREAD); none if the time is over.

        Args:
            positions: The streams, and the last entries that were read.
            count: Most entries of each stream.
            wait_ms: How long to wait for one; 0 takes what is there.
        """
        ref room = self._next()
        room.begin_read["XREAD"](
            3 + 2 * len(positions) + (2 if wait_ms > 0 else 0)
        )
        _add_positions(room, positions, count, wait_ms)
        return _read_batches(self._run())

    def xgroup_create(
        mut self,
        key: StringSpan,
        group: StringSpan,
        start: StringSpan = "$",
    ) raises RedisError -> Bool:
        """Makes a group of readers, and the stream if it is not there (XGROUP
        CREATE with MKSTREAM), and gives False if the group is there already.

        Args:
            group: The group.
            start: After which entry it begins: `$` the newest, `0` none.
        """
        ref room = self._next()
        room.begin["XGROUP"](5)
        room.add_literal["CREATE"]()
        room.key(key)
        room.add(group)
        room.add(start)
        room.add_literal["MKSTREAM"]()
        try:
            _ = self._run()
        except error:
            if error.kind == RedisErrorKind.BUSY_GROUP:
                return False
            raise error.copy()
        return True

    def xreadgroup(
        mut self,
        group: StringSpan,
        consumer: StringSpan,
        positions: List[StreamPosition],
        *,
        count: Int = 100,
        wait_ms: Int = 0,
    ) raises RedisError -> List[StreamBatch]:
        """Reads entries as a member of a group, each of which goes to one
        member (XREADGROUP). Confirm each with `xack`.

        Args:
            consumer: The member's name.
            positions: The streams with `>` for what is new, or `0` for what
                this member has got and not confirmed.
            count: Most entries of each stream.

        Returns:
            The streams that have something; none if the time is over.

        Raises:
            RedisError: If it fails. If the answer is lost, the entries are
                found again with `0`.
        """
        ref room = self._next()
        room.begin["XREADGROUP"](
            6 + 2 * len(positions) + (2 if wait_ms > 0 else 0)
        )
        room.add_literal["GROUP"]()
        room.add(group)
        room.add(consumer)
        _add_positions(room, positions, count, wait_ms)
        return _read_batches(self._run())

    def xack(
        mut self, key: StringSpan, group: StringSpan, *ids: String
    ) raises RedisError -> Int:
        """Confirms entries (XACK), and gives how many were waiting for it.

        Args:
            ids: The entries, at least one.
        """
        ref room = self._write_at["XACK"](key, 1 + len(ids))
        room.add(group)
        for index in range(len(ids)):
            room.add(ids[index])
        return self._run().integer()

    def xautoclaim(
        mut self,
        key: StringSpan,
        group: StringSpan,
        consumer: StringSpan,
        *,
        idle_ms: Int,
        cursor: StringSpan = "0-0",
    ) raises RedisError -> ClaimedEntries:
        """Takes over entries that another member got and did not confirm
        (XAUTOCLAIM); they are to be confirmed as one's own.

        Args:
            consumer: Who takes them over.
            idle_ms: For how long they have been waiting at least.
            cursor: Where to go on.
        """
        ref room = self._write_at["XAUTOCLAIM"](key, 4)
        room.add(group)
        room.add(consumer)
        room.add_number(idle_ms)
        room.add(cursor)
        return ClaimedEntries(self._run())


def _add_positions(
    mut room: Command,
    positions: List[StreamPosition],
    count: Int,
    wait_ms: Int,
) raises RedisError:
    room.add_literal["COUNT"]()
    room.add_number(count)
    if wait_ms > 0:
        room.add_literal["BLOCK"]()
        room.add_number(wait_ms)
        set_wait(room, wait_ms)
    room.add_literal["STREAMS"]()
    for index in range(len(positions)):
        room.key(positions[index].key)
    for index in range(len(positions)):
        room.add(positions[index].id)


def read_entries(reply: Reply[_]) raises RedisError -> List[StreamEntry]:
    """Copies an array of entries; those that were deleted have no fields."""
    reply.check()
    var entries = List[StreamEntry](capacity=len(reply))
    var items = reply.__iter__()
    while items.has_next():
        var item = items.next()
        # Servers before 7 give null for an entry that was deleted.
        if not item.is_null():
            entries.append(StreamEntry(item))
    return entries^


def _read_batches(reply: Reply[_]) raises RedisError -> List[StreamBatch]:
    """Reads streams: a map (RESP3), or pairs (RESP2)."""
    var batches = List[StreamBatch]()
    var items = reply.__iter__()
    while items.has_next():
        var item = items.next()
        if reply.kind() == ReplyKind.MAP:
            batches.append(StreamBatch(item, items.next()))
        else:
            batches.append(StreamBatch(item[0], item[1]))
    return batches^
