"""A client of one server, or of the master that sentinels name."""

from flare.redis.commands import RedisCommands
from flare.redis.config import RedisConfig
from flare.redis.core.command import Command
from flare.redis.core.error import RedisError
from flare.redis.core.reply import Reply
from flare.redis.link import RedisLink
from flare.redis.pipeline import (
    Pipeline,
    append_transaction,
    nothing_to_send,
    transaction_replies,
)
from flare.redis.script import ScriptCommands
from flare.redis.streams import StreamCommands
from flare.tls.context import TlsClientContext
from std.sys.intrinsics import unlikely


struct RedisClient(RedisCommands, ScriptCommands, StreamCommands):
    """One connection to a server, for one thread; `RedisPool` has many.

        var redis = RedisClient.connect("redis://127.0.0.1:6379")
        redis.set("greeting", "hello")
        print(redis.get("greeting").value())

    A connection that is lost is made again by the next command. A command is
    repeated only if the server has not carried it out, or if that changes
    nothing; else the error says that its answer is lost (`ANSWER_LOST`). It is
    not repeated either after what counts for one connection alone, such as
    `watch`, or SELECT and MULTI by `command`: the next connection begins anew.

    Each command raises `RedisError` if it fails.
    """

    var _link: RedisLink
    var _command: Command

    def __init__(out self, var config: RedisConfig) raises RedisError:
        """Makes a client; the first command connects.

        Args:
            config: Where to, as whom, how long.

        Raises:
            RedisError: If a value of it cannot work (`BAD_ARGUMENT`).
        """
        self._link = RedisLink(config^)
        self._command = Command()

    def __init__(
        out self,
        var config: RedisConfig,
        context: Optional[TlsClientContext],
    ) raises RedisError:
        """Makes a client that shares what TLS needs with others; `RedisPool`
        does that.

        Args:
            context: What was made of the configuration's `tls`.
        """
        self._link = RedisLink(config^, context)
        self._command = Command()

    @no_inline
    def __deinit__(deinit self):
        return

    @staticmethod
    def connect(url: StringSpan) raises RedisError -> Self:
        """Connects to a server.

        Args:
            url: Where to, as `RedisConfig.from_url` takes it.

        Returns:
            The client, connected and logged in.

        Raises:
            RedisError: If there is no connection, or the login is refused.
        """
        return Self.connect(RedisConfig.from_url(url))

    @staticmethod
    def connect(var config: RedisConfig) raises RedisError -> Self:
        """Connects to a server."""
        var client = Self(config^)
        client._link.open()
        return client^

    def _commands(ref self) -> ref[self] Command:
        # SAFETY: the field lives as long as what it is a field of.
        ref command = self._command
        return Pointer(to=command).unsafe_origin_cast[origin_of(self)]()[]

    @always_inline
    def _run(mut self) raises RedisError -> Reply[ImmUntrackedOrigin]:
        if unlikely(self._command.alters_connection):
            return self._alter()
        return self._link.run(self._command)

    @no_inline
    def _alter(mut self) raises RedisError -> Reply[ImmUntrackedOrigin]:
        """Runs a command after which the connection may be another one."""
        var reply = self._link.run(self._command)
        self._link.is_altered = True
        return reply

    def execute(
        mut self, pipe: Pipeline
    ) raises RedisError -> Reply[ImmOrigin(origin_of(self))]:
        """Sends all commands of a pipeline together.

        Args:
            pipe: The commands.

        Returns:
            Their replies in order, lent until the next command. Some may be
            errors: `is_error` tells, and reading one raises it.

        Raises:
            RedisError: If the connection fails; some of the commands may have
                been carried out then.
        """
        if len(pipe) == 0:
            raise nothing_to_send()
        self._link.run_all(pipe.commands)
        if pipe.commands.alters_connection:
            self._link.is_altered = True
        return self._link.connection.all().unsafe_lent_by[
            ImmOrigin(origin_of(self))
        ]()

    def watch(mut self, *keys: String) raises RedisError:
        """Lets the next transaction fail if one of some keys is changed
        meanwhile (WATCH)."""
        ref room = self._next()
        room.begin["WATCH"](len(keys))
        for index in range(len(keys)):
            room.key(keys[index])
        _ = self._run()
        self._link.is_pinned = True

    def unwatch(mut self) raises RedisError:
        """Forgets what is watched (UNWATCH)."""
        self._next().begin["UNWATCH"](0)
        _ = self._run()
        self._link.is_pinned = False

    def transaction(
        mut self, pipe: Pipeline
    ) raises RedisError -> Optional[Reply[ImmOrigin(origin_of(self))]]:
        """Has all commands of a pipeline carried out with no other in between
        (MULTI, EXEC).

        Returns:
            Their replies in order, lent until the next command; None if a key
            that is watched was changed, and nothing was carried out.

        Raises:
            RedisError: If the server refuses one of the commands, and so
                carries out none, or the connection fails. For a user who may
                not say MULTI (`NO_PERMISSION`) the others were carried out one
                by one, which the message says.
        """
        if len(pipe) == 0:
            raise nothing_to_send()
        append_transaction(self._next(), pipe)
        self._link.run_all(self._command)
        self._link.is_pinned = False
        if pipe.commands.alters_connection:
            self._link.is_altered = True
        var replies = transaction_replies(self._link.connection.all())
        if replies.is_null():
            return None
        return replies.unsafe_lent_by[ImmOrigin(origin_of(self))]()

    def config(ref self) -> ref[self._link.config] RedisConfig:
        """Lends the configuration that it was made from; with sentinels, with
        the master's address."""
        return self._link.config

    def is_connected(self) -> Bool:
        """Tells whether there is a connection, as far as this side knows: not
        before the first command, nor after a failure."""
        return self._link.connection.is_open()

    def is_resp3(self) -> Bool:
        """Tells whether the server speaks RESP3, and not RESP2; False before
        there is a connection."""
        return self._link.connection.is_resp3

    def connect_count(self) -> Int:
        """Counts the connections that were made; each after the first followed
        a loss."""
        return self._link.connect_count

    def close(mut self):
        """Closes the connection; a next command makes another."""
        self._link.close()
