"""The way to one server: connecting again, waiting before it, repeating."""

from flare.bytes.checked import *
from flare.redis.config import RedisConfig, SENTINEL_PORT
from flare.redis.connection import RedisConnection
from flare.redis.core.command import Command
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.reply import Reply
from flare.redis.core.retry import may_repeat
from flare.sys.clock import Deadline
from flare.sys.poll import pause
from flare.sys.random import random_word
from flare.tls.context import TlsClientContext
from std.sys.intrinsics import likely, unlikely


struct RedisLink(Movable):
    """A connection that is made when it is needed, and again when it is lost."""

    var config: RedisConfig
    """Where to, as whom, how long."""
    var connection: RedisConnection
    """The connection; closed at first, and after a failure."""
    var connect_count: Int
    var is_pinned: Bool
    """True while the server remembers something for this connection alone, so
    that another one does not serve (WATCH)."""
    var is_altered: Bool
    """True if the connection may not be as `open` makes it: a command was sent
    on it after which another one does not serve (SELECT, MULTI)."""
    # True if the server takes no writes any more; its replies are still lent.
    var _is_outdated: Bool
    var _context: Optional[TlsClientContext]

    def __init__(out self, var config: RedisConfig) raises RedisError:
        """Takes a configuration; nothing is sent. Raises if a value of it
        cannot work (`BAD_ARGUMENT`)."""
        var context = client_context(config)
        self = Self(config^, context)

    def __init__(
        out self,
        var config: RedisConfig,
        context: Optional[TlsClientContext],
    ) raises RedisError:
        """Does the same with what `client_context` has made of such a
        configuration, which many links share."""
        config.check()
        self._context = context
        self.connection = RedisConnection(config)
        self.config = config^
        self.connect_count = 0
        self.is_pinned = False
        self.is_altered = False
        self._is_outdated = False

    @no_inline
    def __deinit__(deinit self):
        return

    @always_inline
    def run(
        mut self, command: Command
    ) raises RedisError -> Reply[ImmUntrackedOrigin]:
        """Sends one command, and repeats it if that is safe. The reply is lent
        until the next exchange, and no error of the server: that is raised."""
        if likely(self.connection.is_open() and not self._is_outdated):
            var failure: RedisError
            try:
                self.connection.exchange(command)
                var reply = self.connection.first()
                if likely(not reply.is_error()):
                    return reply
                failure = self.refusal(reply.error())
            except error:
                failure = error.copy()
            return self._run_patiently(command, failure^)
        return self._run_patiently(command, None)

    def run_all(mut self, command: Command) raises RedisError:
        """Sends at least one command, and repeats them if that is safe. The
        connection lends the replies, of which some may be errors."""
        var failure = Optional[RedisError]()
        var is_done = False
        if likely(self.connection.is_open() and not self._is_outdated):
            try:
                self.connection.exchange(command)
                is_done = True
            except error:
                failure = error.copy()
        if unlikely(not is_done):
            self._repeat(command, failure, False)
        if unlikely(self.connection.has_errors()):
            self._look_at_errors()

    def _look_at_errors(mut self) raises RedisError:
        """Has the next command connect anew if the server was a master."""
        var replies = self.connection.all().__iter__()
        while replies.has_next():
            var reply = replies.next()
            if reply.is_error():
                if reply.error().kind == RedisErrorKind.READ_ONLY:
                    self._is_outdated = True

    def _run_patiently(
        mut self, command: Command, failure: Optional[RedisError]
    ) raises RedisError -> Reply[ImmUntrackedOrigin]:
        self._repeat(command, failure, True)
        return self.connection.first()

    def _repeat(
        mut self,
        command: Command,
        failure: Optional[RedisError],
        is_single: Bool,
    ) raises RedisError:
        """Goes on after an attempt that has failed, or before the first. The
        time of a command began with its first attempt."""
        var time_ms = self.config.timeout_ms
        if failure:
            time_ms = self.connection.time_left_ms(time_ms)
        var deadline = Deadline(time_ms)
        var attempt = 0
        var error = RedisError(RedisErrorKind.CONNECTION_LOST, String())
        if failure:
            error = failure.held().copy()
            attempt = 1
        while True:
            if attempt > 0:
                self._prepare_repetition(command, error, attempt, deadline)
            attempt += 1
            try:
                self.open(deadline)
                self.connection.exchange(command, deadline.left_ms())
            except another:
                error = another.copy()
                continue
            if not is_single:
                return
            var reply = self.connection.first()
            if not reply.is_error():
                return
            error = self.refusal(reply.error())

    def _prepare_repetition(
        mut self,
        command: Command,
        error: RedisError,
        attempt: Int,
        deadline: Deadline,
    ) raises RedisError:
        """Waits before the next attempt, or raises if there must be none."""
        if not self._may_repeat(command, error) or attempt > (
            self.config.retry_max
        ):
            raise error.copy()
        # A connection that was only idle for too long needs no wait.
        if error.kind == RedisErrorKind.CONNECTION_LOST and attempt == 1:
            return
        var wait_ms = self.config.backoff.wait_ms(attempt, random_word())
        var left_ms = deadline.left_ms()
        if left_ms >= 0 and wait_ms >= left_ms:
            raise error.copy()
        pause(wait_ms)

    def _may_repeat(mut self, command: Command, error: RedisError) -> Bool:
        var is_elsewhere = error.kind == RedisErrorKind.READ_ONLY
        if is_elsewhere:
            # It was a master. The new one is known by the sentinels, or by the
            # name that leads to it with the next connection.
            self.connection.close()
            is_elsewhere = len(self.config.sentinels) > 0
        if self.is_special() and not self.connection.is_open():
            self.is_pinned = False
            self.is_altered = False
            return False
        return is_elsewhere or may_repeat(error, command.is_repeatable)

    def is_special(self) -> Bool:
        """Tells whether another connection, as `open` makes it, does not serve
        in place of this one."""
        return self.is_pinned or self.is_altered

    def refusal(self, error: RedisError) -> RedisError:
        """Says which server it was that refused a command."""
        var refusal = error.copy()
        refusal.server = self.connection.name
        refusal.was_sent = True
        return refusal^

    def open(mut self) raises RedisError:
        """Connects and logs in now, if that is not done; there is one attempt."""
        self.open(Deadline(self.config.timeout_ms))

    def open(mut self, deadline: Deadline) raises RedisError:
        """Does the same by a deadline, or within `connect_timeout_ms` if that is
        less."""
        # What it remembers for this connection alone must not be lost unsaid.
        if self._is_outdated and not self.is_special():
            self.connection.close()
        if self.connection.is_open():
            return
        self._is_outdated = False
        var time_ms = self.config.connect_timeout_ms
        var left_ms = deadline.left_ms()
        if left_ms >= 0 and (time_ms < 0 or left_ms < time_ms):
            time_ms = left_ms
        if len(self.config.sentinels) > 0:
            self._open_master(Deadline(time_ms))
        else:
            self.connection.open(self.config, self._context, time_ms)
        self.connect_count += 1

    def _open_master(mut self, deadline: Deadline) raises RedisError:
        """Connects to the server that the sentinels name, if it is a master."""
        find_master(self.config, self._context, deadline)
        self.connection.open(self.config, self._context, deadline.left_ms())
        var command = Command()
        command.begin_read["ROLE"](0)
        self.connection.exchange(command, deadline.left_ms())
        var role = self.connection.first()
        if role.is_error():
            # ROLE is `@dangerous` to access lists. Without it the sentinel's
            # word counts, and a replica refuses what is written (READONLY).
            var refusal = self.refusal(role.error())
            if refusal.kind == RedisErrorKind.NO_PERMISSION:
                return
            self.connection.close()
            raise refusal^
        if not (role[0].text() == "master"):
            self.connection.close()
            raise RedisError(
                RedisErrorKind.NO_MASTER,
                String(
                    self.connection.name,
                    " is no master yet, though a sentinel says so",
                ),
            )

    def close(mut self):
        """Closes the connection; a next command makes another."""
        self.connection.close()
        self.is_pinned = False
        self.is_altered = False


def find_master(
    mut config: RedisConfig,
    context: Optional[TlsClientContext],
    deadline: Deadline,
) raises RedisError:
    """Asks sentinels where a master is, and notes it in `host` and `port`. The
    sentinel that answers is asked first the next time. With TLS, the context
    says what to trust. Raises if none knows (`NO_MASTER`); it says what each
    said."""
    var said = List[String](capacity=len(config.sentinels))
    for index in range(len(config.sentinels)):
        try:
            var left_ms = share_ms(deadline, len(config.sentinels) - index)
            if _ask_sentinel(config, index, context, left_ms):
                config.sentinels.swap_elements(0, index)
                return
            said.append(
                String(
                    config.sentinels.at(index),
                    " knows no master ",
                    config.master_name,
                )
            )
        except error:
            said.append(String(error))
    raise RedisError(RedisErrorKind.NO_MASTER, StaticString("; ").join(said))


def share_ms(deadline: Deadline, count: Int) -> Int:
    """Tells how long the next one of `count` servers may take, so that one that
    is silent leaves time for the others; -1 if there is no deadline."""
    var left_ms = deadline.left_ms()
    return max(left_ms // count, 1) if left_ms > 0 else left_ms


def _ask_sentinel(
    mut config: RedisConfig,
    index: Int,
    context: Optional[TlsClientContext],
    timeout_ms: Int,
) raises RedisError -> Bool:
    var asked = RedisConfig()
    set_address(asked, config.sentinels.at(index), SENTINEL_PORT)
    asked.username = config.sentinel_username
    asked.password = config.sentinel_password
    asked.timeout_ms = timeout_ms
    var deadline = Deadline(timeout_ms)
    var connection = RedisConnection(asked)
    connection.open(asked, context, deadline.left_ms())
    var command = Command()
    command.begin_read["SENTINEL"](2)
    command.add("GET-MASTER-ADDR-BY-NAME")
    command.add(config.master_name)
    connection.exchange(command, deadline.left_ms())
    var reply = connection.first()
    reply.check()
    if reply.is_null():
        return False
    var port = reply[1].integer()
    if port < 1 or port > 65_535:
        raise RedisError(
            RedisErrorKind.PROTOCOL,
            String("a sentinel names a master with the port ", port),
        )
    config.host = String(reply[0].text())
    config.port = UInt16(port)
    _ = connection^
    return True


def set_address(
    mut config: RedisConfig, address: StringSpan, default_port: UInt16
) raises RedisError:
    """Notes host and port, which the last colon separates, in a configuration.
    Raises if the port is no number (`BAD_ARGUMENT`)."""
    var octets = address.as_bytes()
    var colon = len(octets)
    for index in range(len(octets)):
        if octets.at(index) == 0x3A:
            colon = index
    config.port = default_port
    var start = 0
    var end = colon
    if end > 1 and octets.at(0) == 0x5B and octets.at(end - 1) == 0x5D:
        start = 1
        end -= 1
    config.host = String(
        StringSpan(unsafe_from_utf8=octets.between(start, end))
    )
    if colon == len(octets):
        return
    var port = 0
    for index in range(colon + 1, len(octets)):
        if octets.at(index) - 48 > 9 or port > 6_553:
            port = 0
            break
        port = port * 10 + Int(octets.at(index) - 48)
    if port == 0 or port > 65_535:
        raise RedisError(
            RedisErrorKind.BAD_ARGUMENT,
            String(address, " is no host:port with a port from 1 to 65535"),
        )
    config.port = UInt16(port)


def client_context(
    config: RedisConfig,
) raises RedisError -> Optional[TlsClientContext]:
    """Reads what TLS needs, if a configuration wants it; many connections share
    it. Raises if a file or a value does not work (`BAD_ARGUMENT`)."""
    if not config.is_tls:
        return None
    try:
        return TlsClientContext(config.tls)
    except error:
        raise RedisError(RedisErrorKind.BAD_ARGUMENT, String(error))
