"""Events for many clients at once, whichever worker serves them."""

from flare.bytes.buffer import Buffer
from flare.http.message.body import Body, BodySource, StreamWaker, Poll
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.sse.server_sent_event import (
    HEARTBEAT,
    ServerSentEvent,
    TEXT_EVENT_STREAM,
)
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.errno import OsError
from flare.sys.monitor import Monitor
from std.memory import ArcPointer

comptime _PIECE_LEN = 65_536


struct _Message(Movable):
    """An event as octets, shared by all who get it."""

    var id: String
    var octets: Buffer

    def __init__(out self, event: ServerSentEvent):
        self.id = event.id
        self.octets = Buffer(64)
        event.append_to(self.octets)


struct _Subscriber(Movable):
    """What waits for one client; under the hub's lock."""

    var waiting: List[ArcPointer[_Message]]
    # What was taken stands before it until the list is shortened.
    var taken_count: Int
    var waiting_len: Int
    # Where it stands among the hub's subscribers.
    var place: Int
    var is_cut: Bool
    var waker: Optional[StreamWaker]

    def __init__(out self):
        self.waiting = []
        self.taken_count = 0
        self.waiting_len = 0
        self.place = 0
        self.is_cut = False
        self.waker = None

    def put(mut self, message: ArcPointer[_Message], len_max: Int):
        """Adds a message, or cuts the client off if it has too many. One for
        whom nothing waits gets any message, however long."""
        if self.is_cut:
            return
        var message_len = len(message[].octets)
        if self.waiting_len > 0 and self.waiting_len + message_len > len_max:
            self.is_cut = True
            self.waiting = []
            self.taken_count = 0
            self.waiting_len = 0
        else:
            self.waiting.append(message.copy())
            self.waiting_len += message_len
        if self.waker:
            self.waker.value().wake()

    def take(mut self, mut out: Buffer):
        """Takes about a piece, in time that depends on the piece alone."""
        while self.taken_count < len(self.waiting) and len(out) < _PIECE_LEN:
            ref octets = self.waiting[self.taken_count][].octets
            out.append(octets.span())
            self.waiting_len -= len(octets)
            self.taken_count += 1
        # Shortened when half of it is gone, so that each message moves once.
        if 2 * self.taken_count >= len(self.waiting):
            var rest = List[ArcPointer[_Message]]()
            for index in range(self.taken_count, len(self.waiting)):
                rest.append(self.waiting[index].copy())
            self.waiting = rest^
            self.taken_count = 0


struct _Shared(Movable):
    """All of a hub, under the monitor's lock."""

    var monitor: Monitor
    var subscribers: List[ArcPointer[_Subscriber]]
    var history: List[ArcPointer[_Message]]
    var history_max: Int
    var waiting_len_max: Int
    var heartbeat_ms: Int
    var is_closed: Bool

    def __init__(
        out self, history_max: Int, waiting_len_max: Int, heartbeat_ms: Int
    ) raises OsError:
        self.monitor = Monitor()
        self.subscribers = []
        self.history = []
        self.history_max = history_max
        self.waiting_len_max = waiting_len_max
        self.heartbeat_ms = heartbeat_ms
        self.is_closed = False


# These take what is shared by its counted pointer: in a method the compiler
# takes it for granted that nothing changes `mut self` while a lock is awaited.


def _publish(shared: ArcPointer[_Shared], message: ArcPointer[_Message]):
    shared[].monitor.lock()
    for index in range(len(shared[].subscribers)):
        var subscriber = shared[].subscribers[index].copy()
        subscriber[].put(message, shared[].waiting_len_max)
    if shared[].history_max > 0:
        if len(shared[].history) == shared[].history_max:
            _ = shared[].history.pop(0)
        shared[].history.append(message.copy())
    shared[].monitor.unlock()


def _subscribe(
    shared: ArcPointer[_Shared], last_id: StringSpan
) -> ArcPointer[_Subscriber]:
    var subscriber = ArcPointer(_Subscriber())
    shared[].monitor.lock()
    var start = len(shared[].history)
    if last_id.byte_length() > 0:
        # A client that names an event which is forgotten gets what there is.
        start = 0
        for index in range(len(shared[].history)):
            if shared[].history[index][].id == last_id:
                start = index + 1
    for index in range(start, len(shared[].history)):
        # Kept in any case, and bounded by its count: were it to count, a client
        # with more to catch up on than may wait would be cut off each time.
        subscriber[].put(shared[].history[index], Int.MAX)
    subscriber[].place = len(shared[].subscribers)
    shared[].subscribers.append(subscriber.copy())
    shared[].monitor.unlock()
    return subscriber^


def _leave(shared: ArcPointer[_Shared], subscriber: ArcPointer[_Subscriber]):
    shared[].monitor.lock()
    # The last one takes the free place, so that nobody else is looked at.
    var place = subscriber[].place
    var last = len(shared[].subscribers) - 1
    shared[].subscribers.swap_elements(place, last)
    shared[].subscribers[place][].place = place
    _ = shared[].subscribers.pop()
    shared[].monitor.unlock()


def _set_waker(
    shared: ArcPointer[_Shared],
    subscriber: ArcPointer[_Subscriber],
    var waker: StreamWaker,
):
    shared[].monitor.lock()
    subscriber[].waker = waker^
    shared[].monitor.unlock()


def _is_cut(
    shared: ArcPointer[_Shared], subscriber: ArcPointer[_Subscriber]
) -> Bool:
    shared[].monitor.lock()
    var is_cut = subscriber[].is_cut
    shared[].monitor.unlock()
    return is_cut


def _take(
    shared: ArcPointer[_Shared],
    subscriber: ArcPointer[_Subscriber],
    mut out: Buffer,
) raises -> Poll:
    shared[].monitor.lock()
    var is_cut = subscriber[].is_cut
    var is_closed = shared[].is_closed
    subscriber[].take(out)
    var is_empty = len(subscriber[].waiting) == 0
    shared[].monitor.unlock()
    if is_cut:
        raise Error("a client did not take its events in time")
    if not is_empty:
        return Poll.READY
    return Poll.DONE if is_closed else Poll.PENDING


def _close(shared: ArcPointer[_Shared]):
    shared[].monitor.lock()
    shared[].is_closed = True
    for index in range(len(shared[].subscribers)):
        var subscriber = shared[].subscribers[index].copy()
        if subscriber[].waker:
            subscriber[].waker.value().wake()
    shared[].monitor.unlock()


struct _EventStream(BodySource):
    """What one client gets."""

    var _shared: ArcPointer[_Shared]
    var _subscriber: ArcPointer[_Subscriber]
    var _last_ms: Int

    def __init__(
        out self,
        var shared: ArcPointer[_Shared],
        var subscriber: ArcPointer[_Subscriber],
    ):
        self._shared = shared^
        self._subscriber = subscriber^
        self._last_ms = coarse_monotonic_ms()

    def __deinit__(deinit self):
        _leave(self._shared, self._subscriber)

    def begin(mut self, var waker: StreamWaker):
        _set_waker(self._shared, self._subscriber, waker^)

    def fill(mut self, mut out: Buffer) raises -> Poll:
        var supply = _take(self._shared, self._subscriber, out)
        var now_ms = coarse_monotonic_ms()
        # The clock is coarse; a heartbeat may be a little early.
        var quiet_ms = now_ms - self._last_ms + 20
        if len(out) == 0 and quiet_ms >= self.patience_ms():
            out.append_literal[HEARTBEAT]()
        if len(out) > 0:
            self._last_ms = now_ms
        return supply

    def is_endless(self) -> Bool:
        return True

    def end_early(mut self, mut out: Buffer) -> Poll:
        # What was published before the server stops is still sent.
        try:
            var supply = _take(self._shared, self._subscriber, out)
            return supply if supply == Poll.READY else Poll.DONE
        except:
            return Poll.DONE

    def patience_ms(self) -> Int:
        return self._shared[].heartbeat_ms

    def has_given_up(self) -> Bool:
        return _is_cut(self._shared, self._subscriber)


struct EventHub(Copyable, Movable):
    """Sends events to all who subscribed, from any thread.

    Copies are the same hub: one goes to the handler that subscribes clients,
    others to whoever publishes. An event is written once, however many get it.
    A worker process has a hub of its own: what one publishes the others'
    clients do not get.

        var hub = EventHub()
        # In a handler: return hub.subscribe(req)
        # Anywhere: hub.publish(ServerSentEvent("news"))
    """

    var _shared: ArcPointer[_Shared]

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
        self._shared = ArcPointer(_Shared(history, buffer_max, heartbeat_ms))

    def publish(self, event: ServerSentEvent):
        """Sends an event to all who are subscribed now.

        Args:
            event: The event.
        """
        _publish(self._shared, ArcPointer(_Message(event)))

    def subscribe(self, req: Request) raises -> Response:
        """Makes the response that is an event stream.

        Args:
            req: The request; its `Last-Event-ID` says where to go on, if the
                hub keeps a history.

        Returns:
            A response that ends when the client leaves, the hub is closed, or
            the server stops.

        Raises:
            Error: Never with a sound request.
        """
        var last_id = req.headers.get("last-event-id")
        var subscriber = _subscribe(
            self._shared, last_id.value()
        ) if last_id else _subscribe(self._shared, StringSpan(""))
        var response = Response(
            200,
            Body(_EventStream(self._shared.copy(), subscriber^)),
            content_type=TEXT_EVENT_STREAM,
        )
        response.headers.set("Cache-Control", "no-cache")
        return response^

    def subscriber_count(self) -> Int:
        """Counts the clients that are subscribed.

        Returns:
            How many there are.
        """
        self._shared[].monitor.lock()
        var count = len(self._shared[].subscribers)
        self._shared[].monitor.unlock()
        return count

    def close(self):
        """Ends all streams, in good order."""
        _close(self._shared)
