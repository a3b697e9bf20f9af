"""Server-sent events (WHATWG HTML section 9.2): one, and a hub that sends them to many."""

from flare.backplane.backplane import Backplane, BackplaneCounts
from flare.backplane.channel import BackplaneListener, HasBackplane, HubChannel
from flare.backplane.message import BackplaneMessage, MessageKind
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.message.body import Body, BodySource, Poll, StreamWaker
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.mutex import Mutex
from std.memory import ArcPointer

comptime _PIECE_LEN = 65_536


struct _Message(Movable):
    """An event as octets, shared by all who get it."""

    var id: String
    # Empty if all get it.
    var user: String
    var octets: Buffer

    def __init__(out self, event: ServerSentEvent, user: StringSpan = ""):
        self.id = event.id
        self.user = String(user)
        self.octets = Buffer(64)
        event.append_to(self.octets)

    def __init__(out self, message: BackplaneMessage):
        self.id = String(message.id())
        self.user = String(message.room())
        self.octets = Buffer(len(message.payload()))
        self.octets.append(message.payload())


struct _Subscriber(Movable):
    """What waits for one client; under the hub's lock."""

    var waiting: List[ArcPointer[_Message]]
    # What was taken stands before it until the list is shortened.
    var taken_count: Int
    var waiting_len: Int
    # Where it stands among the hub's subscribers.
    var place: Int
    # Whose it is; empty if nobody's.
    var user: String
    var is_cut: Bool
    # True if nothing more comes.
    var is_over: Bool
    var waker: Optional[StreamWaker]

    def __init__(out self, user: StringSpan):
        self.waiting = []
        self.taken_count = 0
        self.waiting_len = 0
        self.place = 0
        self.user = String(user)
        self.is_cut = False
        self.is_over = False
        self.waker = None

    def gets(self, message: ArcPointer[_Message]) -> Bool:
        return message[].user.byte_length() == 0 or (
            message[].user == self.user
        )

    def end(mut self):
        """Has nothing more come."""
        self.is_over = True
        if self.waker:
            self.waker.value().wake()

    def put(mut self, message: ArcPointer[_Message], len_max: Int):
        """Adds a message, or cuts the client off if it has too many. One for
        whom nothing waits gets any message, however long."""
        if self.is_cut or self.is_over:
            return
        var message_len = len(message[].octets)
        # Who has something waiting is asked again without being woken.
        var wakes = self.taken_count == len(self.waiting)
        if self.waiting_len > 0 and self.waiting_len + message_len > len_max:
            self.is_cut = True
            wakes = True
            self.waiting = []
            self.taken_count = 0
            self.waiting_len = 0
        else:
            self.waiting.append(message.copy())
            self.waiting_len += message_len
        if wakes and self.waker:
            self.waker.value().wake()

    def take(mut self, mut out: Buffer):
        """Takes about a piece, in time that depends on the piece alone."""
        while self.taken_count < len(self.waiting) and len(out) < _PIECE_LEN:
            ref octets = self.waiting.at(self.taken_count)[].octets
            out.append(octets.span())
            self.waiting_len -= len(octets)
            self.taken_count += 1
        # Shortened when half of it is gone, so that each message moves once.
        if 2 * self.taken_count >= len(self.waiting):
            var rest = List[ArcPointer[_Message]]()
            for index in range(self.taken_count, len(self.waiting)):
                rest.append(self.waiting.at(index).copy())
            self.waiting = rest^
            self.taken_count = 0


struct _Subscribers(BackplaneListener):
    """Who gets the events of a hub, and what of them is kept."""

    var list: List[ArcPointer[_Subscriber]]
    var history: List[ArcPointer[_Message]]
    var history_max: Int
    var waiting_len_max: Int
    var is_closed: Bool

    def __init__(out self, history_max: Int, waiting_len_max: Int):
        self.list = []
        self.history = []
        self.history_max = history_max
        self.waiting_len_max = waiting_len_max
        self.is_closed = False

    def on_message(mut self, message: BackplaneMessage, *, is_own: Bool) -> Int:
        if message.kind == MessageKind.USER_CLOSE:
            return self.close_user(message.room())
        if message.kind != MessageKind.EVENT:
            return 0
        return self.publish(ArcPointer(_Message(message)))

    def publish(mut self, message: ArcPointer[_Message]) -> Int:
        var count = 0
        for index in range(len(self.list)):
            var subscriber = self.list.at(index).copy()
            if subscriber[].gets(message):
                count += 1
                subscriber[].put(message, self.waiting_len_max)
        if self.history_max > 0:
            if len(self.history) == self.history_max:
                _ = self.history.pop(0)
            self.history.append(message.copy())
        return count

    def close_user(mut self, user: StringSpan) -> Int:
        var count = 0
        for index in range(len(self.list)):
            var subscriber = self.list.at(index).copy()
            if subscriber[].user == user:
                count += 1
                subscriber[].end()
        return count

    def add(
        mut self, last_id: StringSpan, sends_history: Bool, user: StringSpan
    ) -> ArcPointer[_Subscriber]:
        var subscriber = ArcPointer(_Subscriber(user))
        var start = 0 if sends_history else len(self.history)
        if last_id.byte_length() > 0:
            # A client that names an event which is forgotten gets what there
            # is.
            start = 0
            for index in range(len(self.history)):
                if self.history.at(index)[].id == last_id:
                    start = index + 1
        for index in range(start, len(self.history)):
            # Kept in any case, and bounded by its count: were it to count, a
            # client with more to catch up on than may wait would be cut off
            # each time.
            if subscriber[].gets(self.history.at(index)):
                subscriber[].put(self.history.at(index), Int.MAX)
        subscriber[].place = len(self.list)
        self.list.append(subscriber.copy())
        return subscriber^

    def leave(mut self, subscriber: ArcPointer[_Subscriber]):
        # The last one takes the free place, so that nobody else is looked at.
        var place = subscriber[].place
        debug_assert(self.list.at(place) is subscriber, "a place is wrong")
        self.list.swap_elements(place, len(self.list) - 1)
        self.list.at(place)[].place = place
        _ = self.list.pop()

    def set_waker(
        mut self, subscriber: ArcPointer[_Subscriber], var waker: StreamWaker
    ):
        subscriber[].waker = waker^

    def is_cut(self, subscriber: ArcPointer[_Subscriber]) -> Bool:
        return subscriber[].is_cut

    def take(
        mut self, subscriber: ArcPointer[_Subscriber], mut out: Buffer
    ) raises -> Poll:
        var is_cut = subscriber[].is_cut
        subscriber[].take(out)
        if is_cut:
            raise Error("a client did not take its events in time")
        if len(subscriber[].waiting) > 0:
            return Poll.READY
        var is_over = self.is_closed or subscriber[].is_over
        return Poll.DONE if is_over else Poll.PENDING

    def close(mut self):
        self.is_closed = True
        for index in range(len(self.list)):
            var subscriber = self.list[index].copy()
            if subscriber[].waker:
                subscriber[].waker.value().wake()


struct _EventStream(BodySource):
    """What one client gets."""

    var _subscribers: Mutex[_Subscribers]
    # Reached under the lock of the subscribers alone.
    var _subscriber: ArcPointer[_Subscriber]
    var _heartbeat_ms: Int
    var _last_ms: Int

    def __init__(
        out self,
        subscribers: Mutex[_Subscribers],
        var subscriber: ArcPointer[_Subscriber],
        heartbeat_ms: Int,
    ):
        self._subscribers = subscribers
        self._subscriber = subscriber^
        self._heartbeat_ms = heartbeat_ms
        self._last_ms = coarse_monotonic_ms()

    def __deinit__(deinit self):
        # The lock is there until it has been given away, which it would not here.
        self._leave()

    def _leave(self):
        self._subscribers.lock()[].leave(self._subscriber)

    def begin(mut self, var waker: StreamWaker):
        self._subscribers.lock()[].set_waker(self._subscriber, waker^)

    def fill(mut self, mut out: Buffer) raises -> Poll:
        var supply = self._subscribers.lock()[].take(self._subscriber, out)
        var now_ms = coarse_monotonic_ms()
        # The clock is coarse; a heartbeat may be a little early.
        var quiet_ms = now_ms - self._last_ms + 20
        if len(out) == 0 and quiet_ms >= self.poll_interval_ms():
            out.append_literal[HEARTBEAT]()
        if len(out) > 0:
            self._last_ms = now_ms
        return supply

    def is_endless(self) -> Bool:
        return True

    def end_early(mut self, mut out: Buffer) -> Poll:
        # What was published before the server stops is still sent.
        try:
            var supply = self._subscribers.lock()[].take(self._subscriber, out)
            return supply if supply == Poll.READY else Poll.DONE
        except:
            return Poll.DONE

    def poll_interval_ms(self) -> Int:
        return self._heartbeat_ms

    def has_given_up(self) -> Bool:
        return self._subscribers.lock()[].is_cut(self._subscriber)


struct EventHub(Copyable, HasBackplane):
    """Sends events to all who subscribed, from any thread.

    Copies are the same hub: one goes to the handler that subscribes clients,
    others to whoever publishes. An event is written once, however many get it.
    A worker process has a hub of its own: what one publishes the others'
    clients do not get, unless a backplane carries it.

        var hub = EventHub()
        # In a handler: return hub.subscribe(req)
        # Anywhere: hub.publish(ServerSentEvent("news"))
    """

    var _subscribers: Mutex[_Subscribers]
    var _heartbeat_ms: Int
    # None if it is the process's own.
    var _channel: Optional[ArcPointer[HubChannel]]

    def __init__(
        out self,
        *,
        history: Int = 0,
        buffer_max: Int = 1024 * 1024,
        heartbeat_ms: Int = 15_000,
    ) raises:
        """Makes a hub without subscribers.

        Args:
            history: Events that are kept for clients that come back and name
                the last event they had.
            buffer_max: Bytes that may wait for one client; one that is further
                behind is cut off. It may come back. One for whom nothing waits
                gets longer events, too, and what it missed of the history.
            heartbeat_ms: A comment is sent when nothing else was for so long,
                so that clients that have gone are noticed.

        Raises:
            Error: If a number is out of range.
        """
        if history < 0 or buffer_max < 1 or heartbeat_ms < 1:
            raise Error(
                "EventHub: history is ",
                history,
                ", buffer_max ",
                buffer_max,
                ", heartbeat_ms ",
                heartbeat_ms,
                "; the first must be at least 0, the others at least 1",
            )
        self._subscribers = Mutex(_Subscribers(history, buffer_max))
        self._heartbeat_ms = heartbeat_ms
        self._channel = None

    def __init__[
        B: Backplane
    ](
        out self,
        var backplane: B,
        *,
        history: Int = 0,
        buffer_max: Int = 1024 * 1024,
        heartbeat_ms: Int = 15_000,
    ) raises:
        """Makes a hub that shares its events with those of other processes.

        All of them have the events in one order, and with what the backplane
        keeps of earlier ones a worker that is new begins its history.

        Parameters:
            B: The backplane's type.

        Args:
            backplane: What carries events; a hub has one of its own. Make both
                before worker processes are forked.
        """
        self = Self(
            history=history, buffer_max=buffer_max, heartbeat_ms=heartbeat_ms
        )
        comptime if not B.IS_LOCAL:
            self._channel = ArcPointer(
                HubChannel(backplane^, self._subscribers, wants_order=True)
            )

    def publish(self, event: ServerSentEvent):
        """Sends an event to all who are subscribed now.

        Args:
            event: The event.
        """
        # Written before the lock is taken.
        var message = ArcPointer(_Message(event))
        if self._channel:
            _ = self._channel.held()[].send(
                MessageKind.EVENT, "", event.id, message[].octets.span()
            )
            return
        _ = self._subscribers.lock()[].publish(message)

    def publish_to_user(self, user: StringSpan, event: ServerSentEvent) -> Int:
        """Sends an event to all streams that a user is subscribed by now, in
        all processes, and gives to how many of this process; 0 also if it comes
        back from the backplane later. A history keeps it for him alone.

        Args:
            user: The user; not empty.
        """
        if user.byte_length() == 0:
            return 0
        var message = ArcPointer(_Message(event, user))
        if self._channel:
            return self._channel.held()[].send(
                MessageKind.EVENT, user, event.id, message[].octets.span()
            )
        return self._subscribers.lock()[].publish(message)

    def close_user(self, user: StringSpan) -> Int:
        """Ends the streams of a user, in all processes, after what was sent to
        him before, and gives how many of this process were ended; 0 also if
        that comes back from the backplane later. Browsers come back: answer
        them with 204 then."""
        if user.byte_length() == 0:
            return 0
        if self._channel:
            return self._channel.held()[].send(
                MessageKind.USER_CLOSE, user, "", "".as_bytes()
            )
        return self._subscribers.lock()[].close_user(user)

    def subscribe(
        self,
        req: Request,
        *,
        sends_history: Bool = False,
        user: StringSpan = "",
    ) raises -> Response:
        """Gives the response that is an event stream, which ends when the
        client leaves, the hub or the user's streams are closed, or the server
        stops.

        Args:
            req: The request; its `Last-Event-ID` says where to go on, if the
                hub keeps a history.
            sends_history: True to begin with the whole history for a client
                that names no event.
            user: Whose stream it is, for `publish_to_user` and `close_user`;
                empty if nobody's.

        Raises:
            Error: Never with a sound request.
        """
        var last_id = req.headers.get("last-event-id")
        if self._channel:
            # Another process may have published what the client names a moment
            # ago.
            self._channel.held()[].catch_up()
        var subscribers = self._subscribers.lock()
        var subscriber = (
            subscribers[]
            .add(
                last_id.value(), sends_history, user
            ) if last_id else subscribers[]
            .add(StringSpan(""), sends_history, user)
        )
        deinit(subscribers^)
        var response = Response(
            200,
            Body(
                _EventStream(self._subscribers, subscriber^, self._heartbeat_ms)
            ),
            content_type=TEXT_EVENT_STREAM,
        )
        response.headers.set("Cache-Control", "no-cache")
        return response^

    def subscriber_count(self) -> Int:
        """Counts the clients that are subscribed."""
        return len(self._subscribers.lock()[].list)

    def backplane_counts(self) -> BackplaneCounts:
        """Tells what went to other processes and came from them: the figures of
        this process; zeros without a backplane."""
        if self._channel:
            return self._channel.held()[].counts()
        return BackplaneCounts()

    def backplane_channel(self) -> Optional[ArcPointer[HubChannel]]:
        """Gives its way to other processes, for `BackplaneMetrics`; None
        without a backplane."""
        return self._channel.copy()

    def close(self):
        """Ends all streams of this process, in good order."""
        self._subscribers.lock()[].close()


comptime TEXT_EVENT_STREAM = StaticString("text/event-stream")
"""Media type of an event stream; it is always UTF-8."""

comptime HEARTBEAT = StaticString(":\n\n")
"""A comment, which clients ignore: shows both sides that the other is there."""

comptime _CR = UInt8(0x0D)
comptime _LF = UInt8(0x0A)


struct ServerSentEvent(Copyable, Movable):
    """What a client gets in one piece."""

    var data: String
    """The text, of any number of lines; their ends arrive as LF."""
    var name: String
    """What listeners wait for, one line; empty for `message`."""
    var id: String
    """What a client that comes back names as `Last-Event-ID`; one line without
    NUL, which may be empty."""
    var retry_ms: Int
    """How long clients wait before they come back, 0 or more; 0 says nothing."""

    def __init__(
        out self,
        var data: String,
        *,
        var name: String = String(),
        var id: String = String(),
        retry_ms: Int = 0,
    ) raises:
        """Makes an event.

        Raises:
            Error: If name or id have more than one line, or the id has a NUL.
        """
        _check("name", name)
        _check("id", id)
        if "\0" in id:
            raise Error("the id of an event has a NUL; remove it")
        if retry_ms < 0:
            raise Error("retry_ms is ", retry_ms, "; it must not be negative")
        self.data = data^
        self.name = name^
        self.id = id^
        self.retry_ms = retry_ms

    @staticmethod
    def nothing() -> Self:
        """Gives an event without any text."""
        return Self(
            unchecked_data=String(), name=String(), id=String(), retry_ms=0
        )

    def __init__(
        out self,
        *,
        var unchecked_data: String,
        var name: String,
        var id: String,
        retry_ms: Int,
    ):
        """Makes an event of texts that are good.

        Args:
            unchecked_data: The text.
        """
        self.data = unchecked_data^
        self.name = name^
        self.id = id^
        self.retry_ms = retry_ms

    def append_to(self, mut out: Buffer):
        """Appends the event as a client reads it.

        Args:
            out: Where to.
        """
        if self.id.byte_length() > 0:
            _append_field(out, "id: ", self.id.as_bytes())
        if self.name.byte_length() > 0:
            _append_field(out, "event: ", self.name.as_bytes())
        if self.retry_ms > 0:
            out.append_literal["retry: "]()
            out.append_decimal(self.retry_ms)
            out.append_literal["\n"]()
        var octets = self.data.as_bytes()
        var start = 0
        while True:
            var end = start
            while (
                end < len(octets)
                and octets.at(end) != _LF
                and octets.at(end) != _CR
            ):
                end += 1
            _append_field(out, "data: ", octets.between(start, end))
            if end == len(octets):
                break
            var is_pair = (
                octets.at(end) == _CR
                and end + 1 < len(octets)
                and octets.at(end + 1) == _LF
            )
            start = end + (2 if is_pair else 1)
        out.append_literal["\n"]()


def _check(what: StaticString, text: String) raises:
    if "\n" in text or "\r" in text:
        raise Error(
            "the ", what, " of an event has a line end; it must be one line"
        )


def _append_field(mut out: Buffer, name: StaticString, value: Span[UInt8, _]):
    out.append(name.as_bytes())
    out.append(value)
    out.append_literal["\n"]()
