"""Commands with typed answers, for all that speak to one server or a cluster."""

from flare.bytes.copy import list_of
from flare.bytes.digits import read_unsigned
from flare.redis.core.any_command import (
    append_argument,
    append_command,
    begin_command,
)
from flare.redis.core.command import Command, RedisArg
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.reply import Reply, ReplyKind
from flare.redis.core.value import RedisValue, value_or_none


@fieldwise_init
struct ScoredMember(Copyable, Movable):
    """A member of a sorted set."""

    var member: String
    """The member."""
    var score: Float64
    """Its score."""


@fieldwise_init
struct PoppedItem(Copyable, Movable):
    """An element that `blpop` or `brpop` waited for."""

    var key: String
    """The list that it was in."""
    var value: RedisValue
    """The element."""


@fieldwise_init
struct ScanPage(Copyable, Movable):
    """A part of the keys of a server."""

    var cursor: Int
    """Where to go on; 0 when all have been seen. Its 64 bits are the server's,
    so that it may be negative here."""
    var keys: List[String]
    """Some keys; one may be seen twice."""


trait RedisCommands(Deinitable, Movable):
    """What sends a command and gives its reply.

    Each command raises `RedisError` if it fails, or the server refuses.
    """

    def _commands(ref self) -> ref[self] Command:
        """Lends the room for commands, which is a field of this."""
        ...

    def _run(mut self) raises RedisError -> Reply[ImmUntrackedOrigin]:
        """Sends the command that was written, and repeats what may be. The
        reply is lent until the next command, and no error of the server: that
        is raised."""
        ...

    @always_inline
    def _next[o: MutOrigin](ref[o] self) -> ref[o] Command:
        ref commands = self._commands()
        commands.clear()
        return commands

    @always_inline
    def _write_at[
        o: MutOrigin, //, name: StaticString
    ](ref[o] self, key: StringSpan, more: Int = 0) -> ref[o] Command:
        """Begins a command that changes what is at a key, with so many more
        arguments."""
        ref room = self._next()
        room.begin[name](1 + more)
        room.key(key)
        return room

    @always_inline
    def _read_at[
        o: MutOrigin, //, name: StaticString
    ](ref[o] self, key: StringSpan, more: Int = 0) -> ref[o] Command:
        """Begins a command that changes nothing, likewise."""
        ref room = self._next()
        room.begin_read[name](1 + more)
        room.key(key)
        return room

    @always_inline
    def _write_all[
        name: StaticString
    ](mut self, key: StringSpan, *values: RedisArg) raises RedisError -> Int:
        """Has values put to what is at a key, or taken away; gives the count
        that is answered."""
        ref room = self._write_at[name](key, len(values))
        for index in range(len(values)):
            room.add(values[index].text)
        return self._run().integer()

    def command[
        o: MutOrigin
    ](
        ref[o] self, name: StringSpan, *arguments: RedisArg
    ) raises RedisError -> Reply[ImmOrigin(o)]:
        """Sends any command.

            var reply = redis.command("GETRANGE", "key", 0, 3)
            print(reply.text())

        Parameters:
            o: The client's origin, which keeps it while the reply is lent.

        Args:
            name: The command, such as GETRANGE.
            arguments: Its arguments: texts, octets or numbers.

        Returns:
            The reply, lent until the next command.

        Raises:
            RedisError: If it fails, the server refuses, or the name is empty
                or more than one word (`BAD_ARGUMENT`).
        """
        ref room = self._next()
        var places = begin_command(room, name, len(arguments))
        for index in range(len(arguments)):
            append_argument(
                room, places, index, arguments[index].text.as_bytes()
            )
        return self._run().unsafe_lent_by[ImmOrigin(o)]()

    def command[
        o: MutOrigin
    ](
        ref[o] self,
        name: StringSpan,
        arguments: List[String],
        *,
        key_index: Optional[Int] = None,
    ) raises RedisError -> Reply[ImmOrigin(o)]:
        """Sends a command whose arguments are known when it is sent.

            var words: List[String] = ["greeting", "hello", "PX", "5000"]
            redis.command("SET", words).check()

        Args:
            name: The command, such as SET.
            arguments: Its arguments, as many as there are.
            key_index: Which argument says what node of a cluster is asked,
                from 0; -1 if any will do. By default the name tells, as far as
                it is known, and else it is the first one.

        Raises:
            RedisError: If it fails, the server refuses, or name or index
                cannot be right (`BAD_ARGUMENT`); nothing was sent then.
        """
        ref room = self._next()
        append_command(room, name, arguments, key_index)
        return self._run().unsafe_lent_by[ImmOrigin(o)]()

    def command[
        o: MutOrigin
    ](
        ref[o] self,
        name: StringSpan,
        arguments: List[List[UInt8]],
        *,
        key_index: Optional[Int] = None,
    ) raises RedisError -> Reply[ImmOrigin(o)]:
        """Sends the same with arguments that are octets."""
        ref room = self._next()
        append_command(room, name, arguments, key_index)
        return self._run().unsafe_lent_by[ImmOrigin(o)]()

    def command[
        o: MutOrigin
    ](
        ref[o] self,
        name: StringSpan,
        arguments: List[RedisArg],
        *,
        key_index: Optional[Int] = None,
    ) raises RedisError -> Reply[ImmOrigin(o)]:
        """Sends the same with texts, octets and numbers."""
        ref room = self._next()
        append_command(room, name, arguments, key_index)
        return self._run().unsafe_lent_by[ImmOrigin(o)]()

    def ping(mut self) raises RedisError:
        """Asks the server for a sign of life (PING).

        Raises:
            RedisError: If none comes.
        """
        self._next().begin_read["PING"](0)
        _ = self._run()

    # Values.

    def get(mut self, key: StringSpan) raises RedisError -> Optional[String]:
        """Reads a value (GET); None if there is no such key.

        Args:
            key: The key.

        Raises:
            RedisError: If it fails, or the value is no UTF-8 (`NOT_TEXT`).
        """
        _ = self._read_at["GET"](key)
        return text_or_none(self._run())

    def get_octets(
        mut self, key: StringSpan
    ) raises RedisError -> Optional[List[UInt8]]:
        """Reads a value of any octets (GET); None if there is no such key."""
        _ = self._read_at["GET"](key)
        var reply = self._run()
        if reply.is_null():
            return None
        var octets = reply.octets()
        return list_of(octets)

    def set(mut self, key: StringSpan, value: StringSpan) raises RedisError:
        """Writes a value, which does not expire (SET).

        Args:
            value: The value.
        """
        self.set(key, value.as_bytes())

    def set(mut self, key: StringSpan, value: Span[UInt8, _]) raises RedisError:
        """Writes a value of any octets, which does not expire (SET)."""
        ref room = self._write_at["SET"](key, 1)
        room.add(value)
        _ = self._run()

    def set(
        mut self, key: StringSpan, value: StringSpan, *, expire_ms: Int
    ) raises RedisError:
        """Writes a value that expires (SET with PX).

        Args:
            expire_ms: After how many milliseconds it is gone; more than 0.
        """
        ref room = self._write_at["SET"](key, 3)
        room.add(value)
        room.add_literal["PX"]()
        room.add_number(expire_ms)
        _ = self._run()

    def set_if_absent(
        mut self, key: StringSpan, value: StringSpan, *, expire_ms: Int = 0
    ) raises RedisError -> Bool:
        """Writes a value if there is none (SET with NX), and gives False if
        there is one, which stays.

        Args:
            expire_ms: After how many milliseconds it is gone; 0 for never.
        """
        ref room = self._write_at["SET"](key, 2 if expire_ms == 0 else 4)
        room.add(value)
        room.add_literal["NX"]()
        if expire_ms != 0:
            room.add_literal["PX"]()
            room.add_number(expire_ms)
        return not self._run().is_null()

    def getdel(
        mut self, key: StringSpan
    ) raises RedisError -> Optional[RedisValue]:
        """Reads a value and removes it (GETDEL); None if there is no such key."""
        _ = self._write_at["GETDEL"](key)
        return value_or_none(self._run())

    def mget(
        mut self, keys: List[String]
    ) raises RedisError -> List[Optional[String]]:
        """Reads values (MGET), in the order of the keys; None for those that
        are not there.

        Args:
            keys: The keys, at least one; in a cluster all of one slot.
        """
        ref room = self._next()
        room.begin_read["MGET"](len(keys))
        add_keys(room, keys)
        var values = List[Optional[String]]()
        for item in self._run():
            values.append(text_or_none(item))
        return values^

    def incr(mut self, key: StringSpan, by: Int = 1) raises RedisError -> Int:
        """Adds to a number (INCRBY), and gives what it is then.

        Args:
            key: The key; a missing one counts as 0.
            by: How much; may be negative.
        """
        ref room = self._write_at["INCRBY"](key, 1)
        room.add_number(by)
        return self._run().integer()

    # Keys.

    def delete(mut self, *keys: String) raises RedisError -> Int:
        """Removes keys (DEL), and gives how many there were."""
        ref room = self._next()
        room.begin["DEL"](len(keys))
        for index in range(len(keys)):
            room.key(keys[index])
        return self._run().integer()

    def exists(mut self, key: StringSpan) raises RedisError -> Bool:
        """Tells whether a key is there (EXISTS)."""
        _ = self._read_at["EXISTS"](key)
        return self._run().boolean()

    def expire_ms(
        mut self, key: StringSpan, time_ms: Int
    ) raises RedisError -> Bool:
        """Lets a key expire (PEXPIRE), and gives False if there is none.

        Args:
            time_ms: After how many milliseconds it is gone.
        """
        ref room = self._write_at["PEXPIRE"](key, 1)
        room.add_number(time_ms)
        return self._run().boolean()

    def ttl_ms(mut self, key: StringSpan) raises RedisError -> Optional[Int]:
        """Tells how many milliseconds a key is yet there (PTTL); None if there
        is no such key, or it never expires."""
        _ = self._read_at["PTTL"](key)
        var left_ms = self._run().integer()
        if left_ms < 0:
            return None
        return left_ms

    def scan(
        mut self,
        cursor: Int = 0,
        *,
        pattern: StringSpan = "*",
        count: Int = 100,
    ) raises RedisError -> ScanPage:
        """Reads some of the keys (SCAN), of one node of a cluster, and where to
        go on.

        Args:
            cursor: 0 at first, then what the page before says.
            pattern: A pattern of keys.
            count: About how many are looked at.
        """
        ref room = self._next()
        room.begin_read["SCAN"](5)
        # A number without a sign to the server.
        room.add(String(UInt64(cursor)))
        room.add_literal["MATCH"]()
        room.add(pattern)
        room.add_literal["COUNT"]()
        room.add_number(count)
        var reply = self._run()
        return ScanPage(_cursor_of(reply[0]), texts(reply[1]))

    # Hashes.

    def hset(
        mut self, key: StringSpan, *pairs: RedisArg
    ) raises RedisError -> Int:
        """Writes fields of a hash (HSET), and gives how many of them are new.

        Args:
            pairs: Field and value in turn.
        """
        return self._write_all["HSET"](key, *pairs)

    def hget(
        mut self, key: StringSpan, field: StringSpan
    ) raises RedisError -> Optional[String]:
        """Reads a field of a hash (HGET); None if there is no such key or
        field.

        Args:
            field: The field.
        """
        ref room = self._read_at["HGET"](key, 1)
        room.add(field)
        return text_or_none(self._run())

    def hgetall(
        mut self, key: StringSpan
    ) raises RedisError -> Dict[String, String]:
        """Reads all values of a hash by field (HGETALL); none if there is no
        such key."""
        _ = self._read_at["HGETALL"](key)
        var fields = Dict[String, String]()
        var reply = self._run()
        var items = reply.__iter__()
        for _ in range(len(reply) // 2):
            var field = String(items.next().text())
            fields[field^] = String(items.next().text())
        return fields^

    def hdel(
        mut self, key: StringSpan, field: StringSpan
    ) raises RedisError -> Bool:
        """Removes a field of a hash (HDEL), and gives False if there was none."""
        ref room = self._write_at["HDEL"](key, 1)
        room.add(field)
        return self._run().boolean()

    # Lists.

    def lpush(
        mut self, key: StringSpan, *values: RedisArg
    ) raises RedisError -> Int:
        """Puts elements in front of a list, one after the other (LPUSH), and
        gives how many are in it now.

        Args:
            values: The elements, at least one.
        """
        return self._write_all["LPUSH"](key, *values)

    def rpush(
        mut self, key: StringSpan, *values: RedisArg
    ) raises RedisError -> Int:
        """Puts elements at the end of a list (RPUSH), and gives how many are in
        it now."""
        return self._write_all["RPUSH"](key, *values)

    def lpop(
        mut self, key: StringSpan
    ) raises RedisError -> Optional[RedisValue]:
        """Takes the first element of a list (LPOP); None if there is none."""
        _ = self._write_at["LPOP"](key)
        return value_or_none(self._run())

    def rpop(
        mut self, key: StringSpan
    ) raises RedisError -> Optional[RedisValue]:
        """Takes the last element of a list (RPOP); None if there is none."""
        _ = self._write_at["RPOP"](key)
        return value_or_none(self._run())

    def blpop(
        mut self, keys: List[String], *, wait_ms: Int
    ) raises RedisError -> Optional[PoppedItem]:
        """Takes the first element of one of some lists, and waits for it
        (BLPOP); None if the time is over.

        Args:
            keys: The lists, at least one.
            wait_ms: How long; more than 0. The time for the command is on top.
        """
        return self._pop["BLPOP"](keys, wait_ms)

    def brpop(
        mut self, keys: List[String], *, wait_ms: Int
    ) raises RedisError -> Optional[PoppedItem]:
        """Takes the last element of one of some lists (BRPOP); the rest is as
        for `blpop`."""
        return self._pop["BRPOP"](keys, wait_ms)

    def _pop[
        name: StaticString
    ](mut self, keys: List[String], wait_ms: Int) raises RedisError -> Optional[
        PoppedItem
    ]:
        ref room = self._next()
        room.begin[name](1 + len(keys))
        add_keys(room, keys)
        set_wait(room, wait_ms)
        room.add_fraction(Float64(wait_ms) / 1_000.0)
        var reply = self._run()
        if reply.is_null():
            return None
        return PoppedItem(String(reply[0].text()), RedisValue(reply[1]))

    def lrange(
        mut self, key: StringSpan, start: Int, stop: Int
    ) raises RedisError -> List[String]:
        """Reads elements of a list (LRANGE).

        Args:
            start: The first, from 0; negative from the end.
            stop: The last, itself included.
        """
        ref room = self._read_at["LRANGE"](key, 2)
        room.add_number(start)
        room.add_number(stop)
        return texts(self._run())

    # Sets.

    def sadd(
        mut self, key: StringSpan, *members: RedisArg
    ) raises RedisError -> Int:
        """Puts members into a set (SADD), and gives how many are new.

        Args:
            members: The members, at least one.
        """
        return self._write_all["SADD"](key, *members)

    def srem(
        mut self, key: StringSpan, *members: RedisArg
    ) raises RedisError -> Int:
        """Takes members out of a set (SREM), and gives how many there were."""
        return self._write_all["SREM"](key, *members)

    def smembers(mut self, key: StringSpan) raises RedisError -> List[String]:
        """Reads all members of a set (SMEMBERS), in no order."""
        _ = self._read_at["SMEMBERS"](key)
        return texts(self._run())

    def sismember(
        mut self, key: StringSpan, member: StringSpan
    ) raises RedisError -> Bool:
        """Tells whether a set has a member (SISMEMBER)."""
        ref room = self._read_at["SISMEMBER"](key, 1)
        room.add(member)
        return self._run().boolean()

    # Sorted sets.

    def zadd(
        mut self, key: StringSpan, score: Float64, member: StringSpan
    ) raises RedisError -> Bool:
        """Puts a member into a sorted set, or moves it (ZADD), and gives True
        if it is new.

        Args:
            score: Its score.
            member: The member.
        """
        ref room = self._write_at["ZADD"](key, 2)
        room.add_fraction(score)
        room.add(member)
        return self._run().boolean()

    def zscore(
        mut self, key: StringSpan, member: StringSpan
    ) raises RedisError -> Optional[Float64]:
        """Reads the score of a member (ZSCORE); None if it is not there."""
        ref room = self._read_at["ZSCORE"](key, 1)
        room.add(member)
        var reply = self._run()
        if reply.is_null():
            return None
        return reply.number()

    def zrange(
        mut self, key: StringSpan, start: Int, stop: Int
    ) raises RedisError -> List[ScoredMember]:
        """Reads members by their place (ZRANGE with WITHSCORES), with scores,
        lowest first."""
        ref room = self._read_at["ZRANGE"](key, 3)
        room.add_number(start)
        room.add_number(stop)
        room.add_literal["WITHSCORES"]()
        return _scored(self._run())

    # Messages.

    def publish(
        mut self, channel: StringSpan, message: StringSpan
    ) raises RedisError -> Int:
        """Sends a message to all who have subscribed (PUBLISH), and gives how
        many got it, on the node that was asked.

        Args:
            channel: The channel.
            message: The message.
        """
        ref room = self._next()
        room.begin["PUBLISH"](2)
        room.add(channel)
        room.add(message)
        return self._run().integer()


def set_wait(mut command: Command, wait_ms: Int) raises RedisError:
    """Notes how long the server waits on purpose. Raises if it would wait for
    ever."""
    if wait_ms < 1:
        raise RedisError(
            RedisErrorKind.BAD_ARGUMENT,
            String(
                "wait_ms is ",
                wait_ms,
                "; it must be at least 1, or the server waits for ever",
            ),
        )
    command.extra_ms = wait_ms


def add_keys(mut command: Command, keys: List[String]):
    for index in range(len(keys)):
        command.key(keys[index])


def text_or_none(reply: Reply[_]) raises RedisError -> Optional[String]:
    """Copies a text; None for null."""
    if reply.is_null():
        return None
    return String(reply.text())


def texts(reply: Reply[_]) raises RedisError -> List[String]:
    """Copies the texts of an array or a set."""
    reply.check()
    var copies = List[String](capacity=len(reply))
    var items = reply.__iter__()
    while items.has_next():
        copies.append(String(items.next().text()))
    return copies^


def _cursor_of(reply: Reply[_]) raises RedisError -> Int:
    """Reads a number of 64 bits without a sign."""
    var value = read_unsigned(reply.octets())
    if not value:
        raise RedisError(
            RedisErrorKind.UNEXPECTED_REPLY,
            String("the cursor of SCAN is no number of 64 bits"),
        )
    return Int(value.held())


def _scored(reply: Reply[_]) raises RedisError -> List[ScoredMember]:
    """Reads members and scores: in pairs (RESP3), or in turn (RESP2)."""
    var found = List[ScoredMember]()
    var items = reply.__iter__()
    while items.has_next():
        var item = items.next()
        if item.kind() == ReplyKind.ARRAY:
            found.append(ScoredMember(String(item[0].text()), item[1].number()))
        elif items.has_next():
            found.append(
                ScoredMember(String(item.text()), items.next().number())
            )
    return found^
