"""Several commands that are sent together."""

from flare.redis.core.command import Command, RedisArg, key_place


struct Pipeline(Movable, Sized):
    """Commands for `RedisClient.execute` and `RedisClient.transaction`.

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
