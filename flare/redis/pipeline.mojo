"""Several commands that are sent together."""

from flare.redis.core.any_command import (
    GivenKey,
    append_command,
    check_name,
)
from flare.redis.core.command import Command, RedisArg, WaitPlace
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.reply import Reply, ReplyItems, ReplyKind


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
    var given_keys: List[GivenKey]
    """Where callers say that keys are, in the order of the commands."""

    def __init__(out self):
        """Makes one without commands."""
        self.commands = Command()
        self.given_keys = []

    @no_inline
    def __deinit__(deinit self):
        return

    def __len__(self) -> Int:
        """Counts the commands."""
        return self.commands.count

    def clear(mut self):
        """Drops all commands, so that it can be used again."""
        self.commands.clear()
        self.given_keys.clear()

    def command(
        mut self, name: StringSpan, *arguments: RedisArg
    ) raises RedisError:
        """Adds any command.

        Args:
            name: The command, such as SET.
            arguments: Its arguments: texts, octets or numbers.

        Raises:
            RedisError: If the name cannot be right (`BAD_ARGUMENT`); nothing is
                added then.
        """
        check_name(name)
        self.commands.begin_any(name.as_bytes(), len(arguments))
        var wait = WaitPlace.of(name.as_bytes(), len(arguments))
        for index in range(len(arguments)):
            ref text = arguments[index].text
            self.commands.extra_ms += wait.wait_ms(index, text.as_bytes())
            self.commands.add(text)

    def command(
        mut self,
        name: StringSpan,
        arguments: List[String],
        *,
        key_index: Optional[Int] = None,
    ) raises RedisError:
        """Adds a command whose arguments are known when it is added.

        Args:
            arguments: Its arguments, as many as there are.
            key_index: Which argument says what node of a cluster is asked,
                from 0. By default the name tells, as far as it is known, and
                else it is the first one.

        Raises:
            RedisError: If name or index cannot be right (`BAD_ARGUMENT`);
                nothing is added then.
        """
        append_command(self.commands, name, arguments, key_index)
        self._note_key(key_index)

    def command(
        mut self,
        name: StringSpan,
        arguments: List[List[UInt8]],
        *,
        key_index: Optional[Int] = None,
    ) raises RedisError:
        """Adds a command whose arguments are octets."""
        append_command(self.commands, name, arguments, key_index)
        self._note_key(key_index)

    def command(
        mut self,
        name: StringSpan,
        arguments: List[RedisArg],
        *,
        key_index: Optional[Int] = None,
    ) raises RedisError:
        """Adds a command with a list of texts, octets and numbers."""
        append_command(self.commands, name, arguments, key_index)
        self._note_key(key_index)

    def _note_key(mut self, key_index: Optional[Int]):
        if key_index:
            self.given_keys.append(
                GivenKey(self.commands.count - 1, key_index.value())
            )

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
            value: The value.
        """
        self.commands.begin["SET"](2)
        self.commands.key(key)
        self.commands.add(value)

    def incr(mut self, key: StringSpan, by: Int = 1):
        """Adds the adding to a number (INCRBY).

        Args:
            by: How much.
        """
        self.commands.begin["INCRBY"](2)
        self.commands.key(key)
        self.commands.add_number(by)

    def delete(mut self, key: StringSpan):
        """Adds the removal of a key (DEL)."""
        self.commands.begin["DEL"](1)
        self.commands.key(key)

    def expire_ms(mut self, key: StringSpan, time_ms: Int):
        """Adds that a key expires (PEXPIRE).

        Args:
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
    """Appends commands between MULTI and EXEC."""
    room.begin["MULTI"](0)
    room.octets.append(pipe.commands.octets.span())
    room.count += pipe.commands.count
    room.begin["EXEC"](0)


def transaction_replies[
    o: ImmOrigin
](all: Reply[o]) raises RedisError -> Reply[o]:
    """Gives the reply to EXEC of those to all that was sent, from MULTI on;
    null if a key that is watched was changed. Raises what the server refused
    first: it says more than EXEC."""
    var items = all.__iter__()
    while True:
        var reply = items.next()
        if reply.is_error():
            var refused = _refusal(reply.error(), items)
            raise refused^
        if not items.has_next():
            return reply


@no_inline
def _refusal(
    error: RedisError, mut behind: ReplyItems[_]
) raises RedisError -> RedisError:
    """Says what becomes of a transaction of which something was refused, by the
    replies to what came after it."""
    while behind.has_next():
        var reply = behind.next()
        var is_last = not behind.has_next()
        if reply.is_error() or (is_last and reply.is_null()):
            continue
        if is_last or not _is_queued(reply):
            # Never one that may be repeated.
            var kind = RedisErrorKind.REFUSED
            if error.kind == RedisErrorKind.NO_PERMISSION:
                kind = error.kind
            return RedisError(
                kind,
                String(
                    (
                        "MULTI was refused, and commands behind it were"
                        " carried out all the same, with no guard: "
                    ),
                    error.message,
                ),
            )
    return error.copy()


def _is_queued(reply: Reply[_]) raises RedisError -> Bool:
    """Tells whether a command waits for EXEC."""
    return reply.kind() == ReplyKind.SIMPLE and reply.text() == "QUEUED"


def nothing_to_send() -> RedisError:
    return RedisError(
        RedisErrorKind.BAD_ARGUMENT, String("the pipeline has no commands")
    )
