"""Messages of channels: a connection that listens, and comes back by itself."""

from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.redis.config import RedisConfig
from flare.redis.core.command import Command
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.reply import Reply, ReplyKind
from flare.redis.link import RedisLink
from flare.sys.clock import Deadline, coarse_monotonic_ms
from flare.sys.poll import pause
from flare.sys.random import random_word
from std.sys.intrinsics import unlikely

comptime PING_INTERVAL_MS = 15_000
"""After how long of silence the server is asked for a sign of life.

A server that has lost its power ends no connection, and a subscriber sends
nothing by itself.
"""


@fieldwise_init
struct RedisMessage[o: ImmOrigin](ImplicitlyCopyable):
    """A message of a channel, lent until the next call of its subscriber.

    Each method raises `RedisError` if what it gives is no UTF-8 (`NOT_TEXT`).

    Parameters:
        o: The subscriber's origin.
    """

    var _reply: Reply[Self.o]
    # Where the channel is within it.
    var _first: Int

    def channel(self) raises RedisError -> StringSpan[Self.o]:
        """Names the channel."""
        return self._reply[self._first].text()

    def pattern(self) raises RedisError -> StringSpan[Self.o]:
        """Names the pattern that was subscribed to; the channel if it was
        subscribed to by its name."""
        return self._reply[1].text()

    def text(self) raises RedisError -> StringSpan[Self.o]:
        """Lends the message."""
        return self._reply[self._first + 1].text()

    def octets(self) raises RedisError -> Span[UInt8, Self.o]:
        """Lends the message, of any octets.

        Raises:
            RedisError: If the server sent none.
        """
        return self._reply[self._first + 1].octets()


struct RedisSubscriber(Movable):
    """Listens to channels, on a connection of its own.

        var subscriber = RedisSubscriber(RedisConfig.from_url(url))
        subscriber.subscribe("news")
        while True:
            var message = subscriber.receive(timeout_ms=1_000)
            if message:
                print(message.value().channel(), message.value().text())

    Redis keeps no messages: what is sent while the connection is lost is gone.
    The subscriber connects again and says so in `gap_count`. For messages that
    must not be lost, use a stream.

    Each method raises `RedisError` if the connection fails.
    """

    var _link: RedisLink
    var _channels: List[String]
    var _patterns: List[String]
    var _gap_count: Int
    var _failures: Int
    # What answers are expected, in order: of a command that subscribes, or the
    # reverse, how many confirmations; 0 for a PING.
    var _awaited: List[Int]
    # When something was heard last, and whether and when a sign of life was
    # asked for.
    var _heard_ms: Int
    var _is_asked: Bool
    var _asked_ms: Int

    def __init__(out self, var config: RedisConfig) raises RedisError:
        """Makes a subscriber; the first `receive` or `subscribe` connects. The
        rest is as for `RedisClient.__init__`."""
        self._link = RedisLink(config^)
        self._channels = []
        self._patterns = []
        self._gap_count = 0
        self._failures = 0
        self._awaited = []
        self._heard_ms = 0
        self._is_asked = False
        self._asked_ms = 0

    @no_inline
    def __deinit__(deinit self):
        return

    def subscribe(mut self, *channels: String) raises RedisError:
        """Listens to channels.

        Args:
            channels: The channels, at least one.

        Raises:
            RedisError: If there is no connection, or it is refused. The
                channels are listened to once there is one.
        """
        self._tell["SUBSCRIBE"](_keep(self._channels, *channels))

    def psubscribe(mut self, *patterns: String) raises RedisError:
        """Listens to all channels that match patterns; the rest is as for
        `subscribe`.

        Args:
            patterns: The patterns, such as `news.*`, at least one.
        """
        self._tell["PSUBSCRIBE"](_keep(self._patterns, *patterns))

    def unsubscribe(mut self, channel: String) raises RedisError:
        """Listens to a channel no longer.

        Args:
            channel: The channel.
        """
        _drop(self._channels, channel)
        if self._link.connection.is_open():
            self._tell["UNSUBSCRIBE"]([channel])

    def punsubscribe(mut self, pattern: String) raises RedisError:
        """Listens to a pattern no longer.

        Args:
            pattern: The pattern.
        """
        _drop(self._patterns, pattern)
        if self._link.connection.is_open():
            self._tell["PUNSUBSCRIBE"]([pattern])

    def receive(
        mut self, *, timeout_ms: Int
    ) raises RedisError -> Optional[RedisMessage[ImmOrigin(origin_of(self))]]:
        """Gives the next message, and waits for it. A connection that is lost
        meanwhile is made again.

        Args:
            timeout_ms: How long to wait; a connection that has to be made has
                `RedisConfig.connect_timeout_ms` all the same.

        Returns:
            The message, lent until the next call; None if the time is over.

        Raises:
            RedisError: If the server refuses what is subscribed to, or there
                is no connection when the time is over.
        """
        var deadline = Deadline(timeout_ms)
        while True:
            try:
                if not self._receive(deadline):
                    return None
            except error:
                self._recover(error, deadline)
                continue
            var reply = self._link.connection.first()
            var first = _place_of_channel(reply)
            if first > 0:
                return RedisMessage[ImmOrigin(origin_of(self))](
                    reply.unsafe_lent_by[ImmOrigin(origin_of(self))](), first
                )
            self._note_answer(reply)

    def gap_count(self) -> Int:
        """Counts how often the connection was lost and made again, so that
        messages may have been missed."""
        return self._gap_count

    def is_connected(self) -> Bool:
        """Tells whether there is a connection, as far as this side knows."""
        return self._link.connection.is_open()

    def check_connection(mut self):
        """Asks the server for a sign of life now, and not after 15 s of
        silence: for whoever has a reason to think that it hears nothing. If
        none comes within the time for a command, `receive` connects again.
        Nothing is done without a connection, or if it is asked already.
        """
        if not self._link.connection.is_open() or self._is_asked:
            return
        try:
            self._ask()
        except:
            # It is closed: `receive` connects again.
            pass

    def close(mut self):
        """Closes the connection; what was subscribed to is kept, and listened
        to again by the next `receive`."""
        self._link.close()

    def _tell[
        name: StaticString
    ](mut self, names: List[String]) raises RedisError:
        """Sends a command that changes subscriptions; a new connection gets all
        of them."""
        if not self._link.connection.is_open():
            self._open()
            return
        var command = Command()
        _append[name](command, names)
        self._link.connection.send_only(command.octets.span())
        self._awaited.append(len(names))

    def _note_answer(mut self, reply: Reply[_]) raises RedisError:
        """Notes what answers a command; raises if that was a subscription, and
        is refused. A PING is answered by any error as well: a server that is
        loading, busy, or cannot write to its disk refuses it, and lives."""
        if reply.is_error():
            var answered = self._awaited.pop(0) if self._awaited else -1
            if answered != 0:
                raise self._link.refusal(reply.error())
            return
        # What nobody has asked for answers nothing.
        var is_pong = _is_pong(reply)
        if not self._awaited or not (is_pong or _confirms(reply)):
            return
        if is_pong == (self._awaited.at(0) == 0):
            self._awaited.at(0) -= 1
            if self._awaited.at(0) <= 0:
                _ = self._awaited.pop(0)

    def _open(mut self) raises RedisError:
        """Connects, and subscribes to all."""
        self._link.open()
        if self._link.connect_count > 1:
            self._gap_count += 1
        var command = Command()
        if len(self._channels) > 0:
            _append["SUBSCRIBE"](command, self._channels)
        if len(self._patterns) > 0:
            _append["PSUBSCRIBE"](command, self._patterns)
        self._awaited.clear()
        if command.count > 0:
            self._link.connection.send_only(command.octets.span())
        for count in [len(self._channels), len(self._patterns)]:
            if count > 0:
                self._awaited.append(count)
        self._heard_ms = coarse_monotonic_ms()
        self._is_asked = False

    def _receive(mut self, deadline: Deadline) raises RedisError -> Bool:
        """Receives one push; False if the time is over."""
        if unlikely(not self._link.connection.is_open()):
            self._open()
        while True:
            var now_ms = coarse_monotonic_ms()
            var until_ping_ms = self._heard_ms + PING_INTERVAL_MS - now_ms
            if self._is_asked:
                until_ping_ms = self._asked_ms + self._patience_ms() - now_ms
            until_ping_ms = max(until_ping_ms, 0)
            var left_ms = deadline.left_ms()
            var is_last = left_ms >= 0 and left_ms <= until_ping_ms
            var wait_ms = left_ms if is_last else until_ping_ms
            if self._link.connection.receive_push(Deadline(wait_ms)):
                self._heard_ms = coarse_monotonic_ms()
                self._is_asked = False
                self._failures = 0
                return True
            if is_last:
                return False
            if self._is_asked:
                self._link.connection.close()
                raise RedisError(
                    RedisErrorKind.ANSWER_LOST,
                    String("the server gives no sign of life"),
                )
            self._ask()

    def _ask(mut self) raises RedisError:
        """Asks for a sign of life."""
        var ping = Command()
        ping.begin_read["PING"](0)
        self._link.connection.send_only(ping.octets.span())
        self._awaited.append(0)
        self._is_asked = True
        self._asked_ms = coarse_monotonic_ms()

    def _patience_ms(self) -> Int:
        """How long the answer to that may take."""
        var timeout_ms = self._link.config.timeout_ms
        # Commands may wait for ever, but silence would then never be noticed.
        return timeout_ms if timeout_ms >= 0 else PING_INTERVAL_MS

    def _recover(
        mut self, error: RedisError, deadline: Deadline
    ) raises RedisError:
        """Waits before the next attempt to connect, or raises."""
        var kind = error.kind
        var is_passing = (
            kind == RedisErrorKind.CONNECT_FAILED
            or kind == RedisErrorKind.CONNECTION_LOST
            or kind == RedisErrorKind.ANSWER_LOST
            or kind == RedisErrorKind.TIMEOUT
            or kind == RedisErrorKind.NO_MASTER
            or kind == RedisErrorKind.LOADING
            or kind == RedisErrorKind.PROTOCOL
        )
        if not is_passing:
            raise error.copy()
        self._link.connection.close()
        self._failures += 1
        var wait_ms = self._link.config.backoff.wait_ms(
            self._failures, random_word()
        )
        var left_ms = deadline.left_ms()
        if left_ms >= 0 and left_ms <= wait_ms:
            pause(left_ms)
            raise error.copy()
        pause(wait_ms)


def _place_of_channel(reply: Reply[_]) raises RedisError -> Int:
    """Finds the channel in a message; 0 if it is another push, such as that a
    subscription has begun."""
    if len(reply) < 3:
        return 0
    var kind = reply[0].octets()
    if same_octets(kind, "message".as_bytes()):
        return 1
    # Another kind of eight letters, `smessage`, is nothing of ours.
    return 2 if same_octets(kind, "pmessage".as_bytes()) else 0


def _is_pong(reply: Reply[_]) raises RedisError -> Bool:
    """Tells whether a PING is answered: by a line, or, in RESP2 after a
    subscription, by a list of two texts."""
    return reply.kind() == ReplyKind.SIMPLE or (
        len(reply) == 2 and same_octets(reply[0].octets(), "pong".as_bytes())
    )


def _confirms(reply: Reply[_]) raises RedisError -> Bool:
    """Tells whether a subscription has begun or ended."""
    if len(reply) != 3:
        return False
    var kind = reply[0].octets()
    return (
        same_octets(kind, "subscribe".as_bytes())
        or same_octets(kind, "psubscribe".as_bytes())
        or same_octets(kind, "unsubscribe".as_bytes())
        or same_octets(kind, "punsubscribe".as_bytes())
    )


def _append[name: StaticString](mut command: Command, names: List[String]):
    command.begin[name](len(names))
    for index in range(len(names)):
        command.add(names.at(index))


def _keep(mut kept: List[String], *names: String) -> List[String]:
    """Keeps the names that are new, and gives all of them."""
    var all = List[String](capacity=len(names))
    for index in range(len(names)):
        if names[index] not in kept:
            kept.append(names[index])
        all.append(names[index])
    return all^


def _drop(mut names: List[String], name: String):
    for index in range(len(names)):
        if names[index] == name:
            _ = names.pop(index)
            return
