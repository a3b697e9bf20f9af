"""The backplane of many machines: Redis or Valkey."""

from flare.backplane.backplane import Backplane, BackplaneCounts, Handover
from flare.backplane.message import MESSAGE_HEAD_LEN
from flare.backplane.outbox import Outbox, SenderPhase
from flare.backplane.redis_way import (
    TURN_MAX,
    RedisWay,
    id_of_time,
    is_before,
    last_id,
)
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.bytes.text import Text
from flare.redis.client import RedisClient
from flare.redis.config import RedisConfig
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.reply import Reply, ReplyKind
from flare.redis.pipeline import Pipeline
from flare.redis.subscriber import RedisSubscriber
from flare.sys.backoff import Backoff
from flare.sys.clock import Deadline, coarse_monotonic_ms, monotonic_ms
from flare.sys.log import log_line
from flare.sys.mutex import Condvar, Mutex
from flare.sys.poll import pause
from flare.sys.thread import Task, Thread
from std.memory import ArcPointer

comptime _MESSAGE_LEN_MAX = 1024 * 1024
comptime _QUEUE_LEN_DEFAULT = 4 * 1024 * 1024

# Longest time for one exchange: a server that is stopped shows itself by it.
comptime _TIMEOUT_MS = 2_000
comptime _CONNECT_TIMEOUT_MS = 1_000
comptime _BATCH_COUNT = 256
comptime _READ_COUNT = 128
comptime _PAUSE_MIN_MS = 100
comptime _PAUSE_MAX_MS = 1_000


struct RedisBackplane(Backplane):
    """Carries messages between the processes of many machines.

        var hub = WsHub(RedisBackplane("redis://10.0.0.1", "chat"))
        var news = EventHub(
            RedisBackplane("redis://10.0.0.1", "news", history=1_000),
            history=1_000,
        )

    All hubs of one name share their messages. Without a history they go over a
    channel (PUBLISH), and what is sent while a process has no connection does
    not reach it. With one they are entries of a stream (XADD with MAXLEN),
    which every process reads on from where it was: nothing is lost that the
    stream still holds, and a program that starts finds what was there. In a
    cluster, name any node: a stream is found, and followed when it moves.

    While Redis is away, messages reach the clients of their own process, and
    wait in a bounded queue for the others. What does not fit is dropped and
    counted. Whoever can write to this Redis can write to all clients.
    """

    var _way: RedisWay
    var _key: String
    var _history: Int
    var _queue_size: Int
    var _outbox: Mutex[Outbox]
    var _changed: Condvar
    # After which entry of the stream to read on; empty if nobody knows yet.
    var _position: String
    # After which one this process began, and what the message of the last one
    # that it has read begins with.
    var _start: String
    var _head: List[UInt8]
    var _begun_ms: Int
    var _reader: Optional[ArcPointer[_Reader]]

    def __init__(
        out self,
        url: StringSpan,
        name: StringSpan,
        *,
        history: Int = 0,
        queue_size: Int = _QUEUE_LEN_DEFAULT,
    ) raises:
        """Takes an address; nothing is connected yet.

        Args:
            url: Where Redis is, as for `RedisClient.connect`.
            name: Hubs of this name are one.
            history: About how many messages the stream keeps; 0 for a channel,
                which keeps none.
            queue_size: Bytes that may wait while Redis is away.

        Raises:
            Error: If the URL cannot be read, or a number is out of range.
        """
        self = Self(
            RedisConfig.from_url(url),
            name,
            history=history,
            queue_size=queue_size,
        )

    def __init__(
        out self,
        var config: RedisConfig,
        name: StringSpan,
        *,
        history: Int = 0,
        queue_size: Int = _QUEUE_LEN_DEFAULT,
    ) raises:
        """Takes a configuration; nothing is connected yet.

        Args:
            config: Where Redis is, and how to log in. Times beyond 2 s for a
                command and 1 s for a connection are shortened to that.

        Raises:
            Error: If a number is out of range, or the configuration is.
        """
        if history < 0 or queue_size < 1 or name.byte_length() == 0:
            raise Error(
                "RedisBackplane: history is ",
                history,
                ", queue_size ",
                queue_size,
                ", name '",
                name,
                "'; the first must be at least 0, the second at least 1, and",
                " the name must not be empty",
            )
        config.check()
        config.timeout_ms = _shorter(config.timeout_ms, _TIMEOUT_MS)
        config.connect_timeout_ms = _shorter(
            config.connect_timeout_ms, _CONNECT_TIMEOUT_MS
        )
        # The queue repeats, and knows what may be repeated.
        config.retry_max = 0
        self._way = RedisWay(config)
        self._key = String("flare:", name)
        self._history = history
        self._queue_size = queue_size
        self._outbox = Mutex(Outbox(queue_size))
        self._changed = Condvar()
        self._position = String()
        self._start = String()
        self._head = []
        self._begun_ms = 0
        self._reader = None

    def __init__(out self, *, copy: Self):
        """Makes a copy, which has no connections of its own yet.

        Args:
            copy: What to copy.
        """
        self._way = copy._way.copy()
        self._key = copy._key
        self._history = copy._history
        self._queue_size = copy._queue_size
        self._outbox = copy._outbox
        self._changed = copy._changed
        self._position = copy._position
        self._start = copy._start
        self._head = copy._head.copy()
        self._begun_ms = copy._begun_ms
        self._reader = None

    @no_inline
    def __deinit__(deinit self):
        return

    def connect(mut self, *, wants_past: Bool) raises:
        """Starts the thread that sends, and reads what the stream holds. Where
        Redis does not answer, that is left to the thread that waits.

        Raises:
            Error: If the system has no more threads.
        """
        # Another one, with no lock that a parent may hold.
        self._outbox = Mutex(Outbox(self._queue_size))
        self._changed = Condvar()
        self._begin_behind(String("0-0") if wants_past else String())
        self._begun_ms = monotonic_ms()
        self._reader = None
        self._outbox.lock()[].sender = SenderPhase.SENDING
        try:
            _ = Thread(
                _Writer(
                    self._way.copy(),
                    self._key,
                    self._history,
                    self._outbox,
                    self._changed,
                )
            )
        except error:
            self._outbox.lock()[].sender = SenderPhase.GONE
            raise error.copy()
        if self._history == 0:
            return
        for _ in range(TURN_MAX):
            try:
                self._find_position(wants_past)
                return
            except error:
                if not self._way.turns(error):
                    _tell(error)
                    return

    def _find_position(mut self, wants_past: Bool) raises RedisError:
        var client = RedisClient(self._way.config.copy())
        if not wants_past:
            self._begin_behind(last_id(self._way, client, self._key))
        while wants_past and self._read_stream(client, 0) > 0:
            pass

    def _begin_behind(mut self, var id: String):
        self._start = id
        self._position = id^
        self._head.clear()

    def publish(
        mut self, octets: Span[UInt8, _], *, wants_order: Bool
    ) -> Handover:
        """Puts a message into the queue, which its thread sends, and gives that
        it comes back, if there is a stream and Redis answers."""
        var comes_back = wants_order and self._history > 0
        var handover = self._outbox.lock()[].put(octets, comes_back)
        self._changed.notify_one()
        return handover

    def receive(mut self, mut out: Buffer) -> Bool:
        """Takes a message that has come."""
        return self._outbox.lock()[].take_arrived(out)

    def wait(mut self, timeout_ms: Int):
        """Reads from Redis; pauses while it is away."""
        if not self._reader:
            self._reader = ArcPointer(_Reader())
        var reader = self._reader.value()
        try:
            if self._history > 0:
                self._wait_for_entries(reader[], timeout_ms)
            else:
                self._wait_for_messages(reader[], timeout_ms)
            reader[].failures = 0
        except error:
            if reader[].subscriber:
                # A subscription that was refused is asked for again.
                reader[].subscriber.value().close()
            reader[].failures += 1
            if self._history > 0 and self._way.turns(error):
                reader[].client = None
                # Again and again would be a cluster that disagrees.
                if reader[].failures == 1:
                    return
            if reader[].failures == 1:
                # The subscriber counts for itself when it is back.
                self._outbox.lock()[].gaps_count += Int(self._history > 0)
                _tell(error)
            var wait_ms = _pause_ms(reader[].failures)
            pause(min(wait_ms, timeout_ms))

    def _wait_for_entries(
        mut self, mut reader: _Reader, timeout_ms: Int
    ) raises RedisError:
        if not reader.client:
            reader.client = RedisClient(self._way.config.copy())
            reader.connect_count = -1
        ref client = reader.client.value()
        if self._position.byte_length() == 0:
            self._begin_behind(
                id_of_time(self._way, client, self._key, self._begun_ms)
            )
        # What is closed opens with the next command.
        if (
            not client.is_connected()
            or client.connect_count() != reader.connect_count
        ):
            self._step_back(client)
            reader.connect_count = client.connect_count()
        # Less than the time for one exchange, which holds for it, too.
        var wait_ms = min(timeout_ms, self._way.config.timeout_ms // 2)
        _ = self._read_stream(client, wait_ms)

    def _step_back(mut self, mut client: RedisClient) raises RedisError:
        """Begins anew, unless the stream has the entry that was read last.
        Another master may lack what the former one had, and what it adds gets
        the next ids, or those of its own clock: they may stand before the
        position, or be the same. Receivers know by the numbers of messages
        what they have had.
        """
        if self._position != self._start and self._has_last(client):
            return
        var last = last_id(self._way, client, self._key)
        if not is_before(last, self._start):
            last = self._start
        self._begin_behind(last^)

    def _has_last(self, mut client: RedisClient) raises RedisError -> Bool:
        self._way.announce(client)
        var reply = client.command(
            "XREVRANGE", self._key, self._position, self._position, "COUNT", 1
        )
        reply.check()
        if len(reply) == 0:
            return False
        var message = _message_of(reply[0][1])
        var head = _head_of(message.value()) if message else {}
        return same_octets(head, Span(self._head))

    def _wait_for_messages(
        mut self, mut reader: _Reader, timeout_ms: Int
    ) raises RedisError:
        if not reader.subscriber:
            reader.subscriber = RedisSubscriber(self._way.config.copy())
            reader.subscriber.value().subscribe(self._key)
        ref subscriber = reader.subscriber.value()
        var now_ms = coarse_monotonic_ms()
        if self._outbox.lock()[].take_doubt(now_ms):
            subscriber.check_connection()
        var wait_ms = min(timeout_ms, self._outbox.lock()[].doubt_in_ms(now_ms))
        for _ in range(_READ_COUNT):
            var message = subscriber.receive(timeout_ms=wait_ms)
            if not message:
                break
            self._outbox.lock()[].put_arrived(message.value().octets())
            wait_ms = 0
        # However often it took, nobody was heard in between.
        self._outbox.lock()[].gaps_count += Int(
            subscriber.gap_count() > reader.gap_count
        )
        reader.gap_count = subscriber.gap_count()

    def _read_stream(
        mut self, mut client: RedisClient, wait_ms: Int
    ) raises RedisError -> Int:
        """Reads entries after the position, and tells how many there were."""
        self._way.announce(client)
        var reply = client.command(
            "XREAD",
            "COUNT",
            _READ_COUNT,
            "BLOCK",
            # 0 would wait for ever.
            max(wait_ms, 1),
            "STREAMS",
            self._key,
            self._position,
        )
        reply.check()
        if reply.is_null() or len(reply) == 0:
            return 0
        var items = reply.__iter__()
        var first = items.next()
        var entries = (
            items.next() if reply.kind() == ReplyKind.MAP else first[1]
        )
        var count = 0
        var rest = entries.__iter__()
        while rest.has_next():
            var entry = rest.next()
            count += 1
            self._position = String(entry[0].text())
            var message = _message_of(entry[1])
            self._head.clear()
            if message:
                self._head.extend(_head_of(message.value()))
                self._outbox.lock()[].put_arrived(message.value())
        return count

    def interrupt(self):
        """Ends the thread that sends, and the wait of the other within the
        time of one exchange. What waits is sent before, as far as Redis takes
        it in that time."""
        var outbox = self._outbox.lock()
        if outbox[].sender == SenderPhase.SENDING:
            outbox[].sender = SenderPhase.ENDING
        self._changed.notify_all()
        var deadline = Deadline(_TIMEOUT_MS)
        while outbox[].sender == SenderPhase.ENDING and deadline.left_ms() > 0:
            _ = self._changed.wait_for(outbox, deadline.left_ms())

    def message_len_max(self) -> Int:
        """Tells how long a message may be: 1 MiB, or what may wait if that is
        less."""
        return min(_MESSAGE_LEN_MAX, self._queue_size)

    def has_order(self) -> Bool:
        """Tells whether all processes have one order of messages: it has a
        history, and so a stream."""
        return self._history > 0

    def add_counts(self, mut counts: BackplaneCounts):
        """Adds what waits, what was dropped, and how often Redis was away."""
        var outbox = self._outbox.lock()
        counts.dropped += outbox[].dropped_count
        counts.waiting += len(outbox[])
        counts.gaps += outbox[].gaps_count


struct _Reader(Movable):
    """The connection of the thread that waits."""

    var client: Optional[RedisClient]
    var subscriber: Optional[RedisSubscriber]
    var failures: Int
    var gap_count: Int
    # Of the client's connections, the one whose stream was looked at last.
    var connect_count: Int

    def __init__(out self):
        self.client = None
        self.subscriber = None
        self.failures = 0
        self.gap_count = 0
        self.connect_count = -1


struct _Writer(Task):
    """Sends what is in the queue, for as long as the hub is there."""

    var _way: RedisWay
    var _key: String
    var _history: Int
    var _outbox: Mutex[Outbox]
    var _changed: Condvar
    # False for a user who may not say MULTI.
    var _has_transactions: Bool

    def __init__(
        out self,
        var way: RedisWay,
        key: String,
        history: Int,
        outbox: Mutex[Outbox],
        changed: Condvar,
    ):
        self._way = way^
        self._key = key
        self._history = history
        self._outbox = outbox
        self._changed = changed
        self._has_transactions = True

    def run(mut self) raises:
        try:
            self._send_all()
        finally:
            self._outbox.lock()[].sender = SenderPhase.GONE
            self._changed.notify_all()

    def _send_all(mut self) raises:
        """Sends until the end."""
        var client = RedisClient(self._way.config.copy())
        var failures = 0
        while self._has_messages():
            var count = self._sends(client, failures == 0)
            if count > 0:
                self._outbox.lock()[].sent(count)
                failures = 0
                continue
            failures += 1
            self._outbox.lock()[].failed()
            if self._history == 0:
                self._outbox.lock()[].doubt()
            if not self._rests(_pause_ms(failures)):
                return

    def _rests(self, time_ms: Int) -> Bool:
        """Waits after a failure; False at the end."""
        var deadline = Deadline(time_ms)
        var guard = self._outbox.lock()
        while guard[].sender == SenderPhase.SENDING:
            if deadline.left_ms() == 0:
                return True
            _ = self._changed.wait_for(guard, deadline.left_ms())
        return False

    def _has_messages(self) -> Bool:
        """Waits for messages; False at the end."""
        var guard = self._outbox.lock()
        while len(guard[]) == 0:
            if guard[].sender != SenderPhase.SENDING:
                return False
            _ = self._changed.wait_for(guard, _PAUSE_MAX_MS)
        return True

    def _batch(self, mut pipe: Pipeline) raises RedisError -> Int:
        """Takes the next messages; tells how many."""
        var guard = self._outbox.lock()
        var count = min(len(guard[]), _BATCH_COUNT)
        if self._way.is_asking and not self._has_transactions:
            # ASKING is for one command alone, or for a transaction.
            count = 1
        for index in range(count):
            ref octets = guard[].waiting_at(index)
            if self._history > 0:
                pipe.command(
                    "XADD",
                    self._key,
                    "MAXLEN",
                    "~",
                    self._history,
                    "*",
                    "m",
                    octets.span(),
                )
            else:
                pipe.command("PUBLISH", self._key, octets.span())
        if self._history == 0:
            guard[].expect_echo(coarse_monotonic_ms())
        return count

    def _sends(mut self, mut client: RedisClient, is_first: Bool) -> Int:
        """Sends a batch; tells how many messages that were, 0 if it fails. One
        whose answer is lost goes once more: receivers know by its numbers what
        they have had."""
        for _ in range(TURN_MAX):
            var pipe = Pipeline()
            try:
                var count = self._batch(pipe)
                self._send(client, pipe)
                return count
            except error:
                client.close()
                if self._turns(client, error):
                    continue
                if error.kind == RedisErrorKind.NO_PERMISSION and (
                    "'multi'" in error.message or "'exec'" in error.message
                ):
                    self._has_transactions = False
                if is_first:
                    _tell(error)
                return 0
        return 0

    def _send(self, mut client: RedisClient, pipe: Pipeline) raises RedisError:
        self._way.announce(client)
        if len(pipe) > 1 and self._has_transactions:
            # All or none: a message that was refused could not follow those
            # after it.
            var replies = client.transaction(pipe)
            if replies:
                _check_all(replies.value())
        else:
            _check_all(client.execute(pipe))

    def _turns(mut self, mut client: RedisClient, error: RedisError) -> Bool:
        if self._history == 0 or not self._way.turns(error):
            return False
        try:
            client = RedisClient(self._way.config.copy())
            return True
        except:
            # It was checked when the hub was made.
            return False


def _message_of[
    o: ImmOrigin
](fields: Reply[o]) raises RedisError -> Optional[Span[UInt8, o]]:
    """Finds the message of an entry, by its fields; nothing if it was deleted."""
    if fields.is_null() or len(fields) < 2:
        return None
    return fields[1].octets()


def _head_of[o: ImmOrigin](message: Span[UInt8, o]) -> Span[UInt8, o]:
    """Takes what tells a message from all others."""
    return message.before(min(len(message), MESSAGE_HEAD_LEN))


def _check_all(replies: Reply[_]) raises RedisError:
    for reply in replies:
        reply.check()


def _shorter(time_ms: Int, longest_ms: Int) -> Int:
    return longest_ms if time_ms < 0 else min(time_ms, longest_ms)


@no_inline
def _tell(error: RedisError):
    log_line(
        Text()
        .add("Redis does not carry the messages of a hub for now: ")
        .add(error)
        .end()
    )


def _pause_ms(failure_count: Int) -> Int:
    return Backoff(_PAUSE_MIN_MS, _PAUSE_MAX_MS).longest_ms(failure_count)
