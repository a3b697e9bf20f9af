"""Several commands that are sent together."""

from flare.redis.core.command import Command, RedisArg, key_place
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.reply import Reply


struct Pipeline(Movable, Sized):
    """Commands for `execute` and `transaction` of `RedisClient` and
    `RedisCluster`.

        var pipe = Pipeline()
        pipe.set("greeting", "hello")
        pipe.incr("visits")
        pipe.command("LRANGE", "log", 0, 9)
        var replies = redis.execute(pipe)
        print(replies[1].integer())

    They are sent at once; each has its own reply.
    """

    var commands: Command
    """The commands, as they are sent."""

    def __init__(out self):
        """Makes one without commands."""
        self.commands = Command()

    def __len__(self) -> Int:
        """Counts the commands.

        Returns:
            How many there are.
        """
        return self.commands.count

    def clear(mut self):
        """Drops all commands, so that it can be used again."""
        self.commands.clear()

    def command(mut self, name: StringSpan, *arguments: RedisArg):
        """Adds any command.

        Args:
            name: The command.
            arguments: Its arguments: texts, octets or numbers.
        """
        self.commands.begin_any(name.as_bytes(), len(arguments))
        var place = key_place(name)
        for index in range(len(arguments)):
            if index == place:
                self.commands.key(arguments[index].text)
            else:
                self.commands.add(arguments[index].text)

    @always_inline
    def get(mut self, key: StringSpan):
        """Adds the reading of a value (GET).

        Args:
            key: The key.
        """
        self.commands.begin_read["GET"](1)
        self.commands.key(key)

    @always_inline
    def set(mut self, key: StringSpan, value: StringSpan):
        """Adds the writing of a value (SET).

        Args:
            key: The key.
            value: The value.
        """
        self.commands.begin["SET"](2)
        self.commands.key(key)
        self.commands.add(value)

    def incr(mut self, key: StringSpan, by: Int = 1):
        """Adds the adding to a number (INCRBY).

        Args:
            key: The key.
            by: How much.
        """
        self.commands.begin["INCRBY"](2)
        self.commands.key(key)
        self.commands.add_number(by)

    def delete(mut self, key: StringSpan):
        """Adds the removal of a key (DEL).

        Args:
            key: The key.
        """
        self.commands.begin["DEL"](1)
        self.commands.key(key)

    def expire_ms(mut self, key: StringSpan, time_ms: Int):
        """Adds that a key expires (PEXPIRE).

        Args:
            key: The key.
            time_ms: After how many milliseconds.
        """
        self.commands.begin["PEXPIRE"](2)
        self.commands.key(key)
        self.commands.add_number(time_ms)

    @always_inline
    def publish(mut self, channel: StringSpan, message: StringSpan):
        """Adds the sending of a message (PUBLISH).

        Args:
            channel: The channel.
            message: The message.
        """
        self.commands.begin["PUBLISH"](2)
        self.commands.add(channel)
        self.commands.add(message)


def append_transaction(mut room: Command, pipe: Pipeline):
    """Appends commands between MULTI and EXEC.

    Args:
        room: Where to.
        pipe: The commands.
    """
    room.begin["MULTI"](0)
    room.octets.append(pipe.commands.octets.span())
    room.count += pipe.commands.count
    room.begin["EXEC"](0)


def transaction_replies[
    o: ImmOrigin
](all: Reply[o]) raises RedisError -> Reply[o]:
    """Gives the replies of the commands between MULTI and EXEC.

    Parameters:
        o: The origin of what owns the octets.

    Args:
        all: The replies to all that was sent, from MULTI to EXEC.

    Returns:
        The reply to EXEC; null if a key that is watched was changed.

    Raises:
        RedisError: What the server refused first: it says more than EXEC.
    """
    var items = all.__iter__()
    while True:
        var reply = items.next()
        reply.check()
        if not items.has_next():
            return reply


def nothing_to_send() -> RedisError:
    """Says that a pipeline is empty.

    Returns:
        The error.
    """
    return RedisError(
        RedisErrorKind.BAD_ARGUMENT, String("the pipeline has no commands")
    )
