"""From a hub to its backplane and back: what numbers messages, delivers each
once, and has a thread in each process that waits for them."""

from flare.backplane.backplane import Backplane, BackplaneCounts, Handover
from flare.backplane.message import (
    MESSAGE_HEAD_LEN,
    NAME_LEN_MAX,
    BackplaneMessage,
    MessageKind,
    parse_message,
    write_message,
)
from flare.backplane.origins import OriginTable
from flare.backplane.totals import BackplaneTotals
from flare.bytes.buffer import Buffer
from flare.bytes.erased import Erased, destroy, erase
from flare.bytes.text import Text
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.errno import OsError
from flare.sys.log import log_line
from flare.sys.memory_map import ProcessWord
from flare.sys.mutex import Mutex
from flare.sys.random import random_word
from flare.sys.signal import process_id
from flare.sys.thread import Task, Thread
from std.memory import ArcPointer

comptime _Send = def[r: ImmOrigin, i: ImmOrigin, p: ImmOrigin](
    Erased, MessageKind, StringSpan[r], StringSpan[i], Span[UInt8, p], UInt64
) thin -> Int
comptime _Open = def(Erased) thin -> None
comptime _Counts = def(Erased) thin -> BackplaneCounts

comptime _WAIT_MS = 1_000
comptime _RETRY_MS = 1_000


struct OutgoingMessage(Movable):
    """A message that a listener wants to be sent."""

    var kind: MessageKind
    var room: String
    var payload: Buffer

    def __init__(out self, kind: MessageKind):
        """Makes one without room and payload."""
        self.kind = kind
        self.room = String()
        self.payload = Buffer()


trait BackplaneListener(Deinitable, Movable):
    """What a hub keeps under its lock."""

    comptime TICKS: Bool = False
    """True if `on_tick` is to be called."""
    comptime TELLS: Bool = False
    """True if `tell` is to be called."""

    @staticmethod
    def tell(state: Mutex[Self]):
        """Called after all that has come to the thread that waits, with no
        lock held."""
        return

    def on_tick(
        mut self,
        now_ms: Int,
        origin: UInt64,
        mut outgoing: List[OutgoingMessage],
    ):
        """Called at least once a second, and after all that has come;
        `outgoing` is empty at first."""
        return

    def on_message(mut self, message: BackplaneMessage, *, is_own: Bool) -> Int:
        """Delivers a message to the clients of this process, and tells to how
        many."""
        ...


struct HubChannel(Movable):
    """A hub's way to the hubs of other processes. A hub without one is its
    process's own, and nothing of this is in its program."""

    # SAFETY: owned; the functions were made for its type.
    var _link: Erased
    var _send: _Send
    var _open: _Open
    var _catch_up: _Open
    var _counts: _Counts
    var _totals: _Counts
    var _drop: _Open

    def __init__[
        B: Backplane, S: BackplaneListener
    ](out self, var plane: B, state: Mutex[S], *, wants_order: Bool) raises:
        """Makes it; nothing is connected before `open`. With `wants_order`, all
        processes get all messages in one order, and earlier ones, too."""
        self._link = erase(_Link(plane^, state, wants_order))
        self._send = _send[B, S, ...]
        self._open = _open[B, S]
        self._catch_up = _catch_up[B, S]
        self._counts = _counts[B, S]
        self._totals = _totals[B, S]
        self._drop = _drop[B, S]

    def __deinit__(deinit self):
        """Ends the thread that waits."""
        self._drop(self._link)

    def open(self):
        """Joins in this process, if that is not done. Each call for a client
        does so, since only then it is known which processes serve."""
        self._open(self._link)

    def catch_up(self):
        """Delivers what has come by now, and joins first if that is not done:
        the thread that waits may be behind."""
        self._catch_up(self._link)

    def send(
        self,
        kind: MessageKind,
        room: StringSpan,
        id: StringSpan,
        payload: Span[UInt8, _],
        all_but: UInt64 = 0,
    ) -> Int:
        """Sends a message to all processes, this one included, but not to the
        connection `all_but` of this one. Returns to how many clients of this
        process it went: 0 also if it comes back later."""
        return self._send(self._link, kind, room, id, payload, all_but)

    def counts(self) -> BackplaneCounts:
        """Tells the figures of this process."""
        return self._counts(self._link)

    def totals(self) -> BackplaneCounts:
        """Tells the figures of all processes of this server: those of others as
        they were at most a second ago."""
        return self._totals(self._link)


trait HasBackplane:
    """A hub, or what else has a way to other processes."""

    def backplane_channel(self) -> Optional[ArcPointer[HubChannel]]:
        """Tells of that way, for figures; None if it is the process's own."""
        ...


def _send[
    B: Backplane,
    S: BackplaneListener,
    r: ImmOrigin,
    i: ImmOrigin,
    p: ImmOrigin,
](
    link: Erased,
    kind: MessageKind,
    room: StringSpan[r],
    id: StringSpan[i],
    payload: Span[UInt8, p],
    all_but: UInt64,
) -> Int:
    # SAFETY: the channel owns the link, and made it of these types.
    return link.unsafe_bitcast[_Link[B, S]]()[].send(
        kind, room, id, payload, all_but
    )


def _open[B: Backplane, S: BackplaneListener](link: Erased):
    # SAFETY: the channel owns the link, and made it of these types.
    link.unsafe_bitcast[_Link[B, S]]()[].open()


def _catch_up[B: Backplane, S: BackplaneListener](link: Erased):
    # SAFETY: the channel owns the link, and made it of these types.
    link.unsafe_bitcast[_Link[B, S]]()[].catch_up()


def _counts[
    B: Backplane, S: BackplaneListener
](link: Erased) -> BackplaneCounts:
    # SAFETY: the channel owns the link, and made it of these types.
    return link.unsafe_bitcast[_Link[B, S]]()[].counts()


def _totals[
    B: Backplane, S: BackplaneListener
](link: Erased) -> BackplaneCounts:
    # SAFETY: the channel owns the link, and made it of these types.
    return link.unsafe_bitcast[_Link[B, S]]()[].totals()


def _drop[B: Backplane, S: BackplaneListener](link: Erased):
    # SAFETY: the channel ends with this call.
    link.unsafe_bitcast[_Link[B, S]]()[].end()
    destroy[_Link[B, S]](link)


@fieldwise_init
struct _Exception(ImplicitlyCopyable):
    """A connection that does not get an own message."""

    var sequence: Int
    var connection: UInt64


def _take_exception(mut exceptions: List[_Exception], sequence: Int) -> UInt64:
    """Takes the exception of a message, and drops those of earlier ones, which
    never came back; 0 if there is none."""
    var kept = List[_Exception]()
    var connection = UInt64(0)
    for exception in exceptions:
        if exception.sequence > sequence:
            kept.append(exception)
        elif exception.sequence == sequence:
            connection = exception.connection
    exceptions = kept^
    return connection


struct _LinkState[B: Backplane](Movable):
    """What the sending threads and the one that waits share."""

    var plane: Self.B
    var wants_order: Bool
    var is_over: Bool
    # The process that has joined, and its thread; others after a fork.
    var process: Int
    var thread: Optional[Thread]
    var retry_ms: Int
    var origin: UInt64
    var sequence: Int
    # Of own messages that were not delivered here yet, oldest first. Here and
    # not on the way: only this process has the connections.
    var exceptions: List[_Exception]
    var origins: OriginTable
    var counts: BackplaneCounts
    # What is in the figures of all processes.
    var told: BackplaneCounts
    var totals: BackplaneTotals
    var outgoing: Buffer
    var incoming: Buffer

    def __init__(out self, var plane: Self.B, wants_order: Bool) raises OsError:
        self.plane = plane^
        self.wants_order = wants_order
        self.is_over = False
        self.process = 0
        self.thread = None
        self.retry_ms = 0
        self.origin = 0
        self.sequence = 0
        self.exceptions = []
        self.origins = OriginTable()
        self.counts = BackplaneCounts()
        self.told = BackplaneCounts()
        self.totals = BackplaneTotals()
        self.outgoing = Buffer()
        self.incoming = Buffer()

    def begin(mut self, process: Int) raises:
        """Becomes a process of its own, and joins."""
        if self.process != process:
            self.forget_thread()
            self.process = process
            self.origin = random_word()
            self.sequence = 0
            self.exceptions.clear()
            self.origins = OriginTable()
            self.counts = BackplaneCounts()
            self.told = BackplaneCounts()
            self.retry_ms = 0
        self.plane.connect(wants_past=self.wants_order)

    def figures(self) -> BackplaneCounts:
        """What this process has counted."""
        var counts = self.counts.copy()
        counts.lost = self.origins.lost_count
        counts.repeated = self.origins.repeated_count
        self.plane.add_counts(counts)
        return counts^

    def tell(mut self):
        """Brings the figures of all processes up to date."""
        self.totals.tell(self.figures(), self.told)

    def forget_thread(mut self):
        """Lets go of the thread of a parent: a fork does not copy threads."""
        if self.thread:
            self.thread.take().forget()

    def write[
        S: BackplaneListener
    ](
        mut self,
        kind: MessageKind,
        room: StringSpan,
        id: StringSpan,
        payload: Span[UInt8, _],
        state: Mutex[S],
        all_but: UInt64,
    ) -> Int:
        """Writes a message, and sends it if it is not too long."""
        var length = (
            MESSAGE_HEAD_LEN
            + room.byte_length()
            + id.byte_length()
            + len(payload)
        )
        var length_max = self.plane.message_len_max()
        if (
            length > length_max
            or room.byte_length() > NAME_LEN_MAX
            or id.byte_length() > NAME_LEN_MAX
        ):
            self.counts.refused += 1
            if self.counts.refused == 1:
                _tell_refusal(length, length_max)
            return 0
        self.sequence += 1
        if all_but != 0:
            self.exceptions.append(_Exception(self.sequence, all_but))
        self.outgoing.clear()
        write_message(
            self.outgoing, kind, self.origin, self.sequence, room, id, payload
        )
        return self.send(state)

    def tick[S: BackplaneListener](mut self, state: Mutex[S]):
        var outgoing = List[OutgoingMessage]()
        state.lock()[].on_tick(coarse_monotonic_ms(), self.origin, outgoing)
        for index in range(len(outgoing)):
            ref message = outgoing[index]
            _ = self.write(
                message.kind, message.room, "", message.payload.span(), state, 0
            )

    def send[S: BackplaneListener](mut self, state: Mutex[S]) -> Int:
        """Sends what is written into `outgoing`."""
        self.counts.sent += 1
        var handover = self.plane.publish(
            self.outgoing.span(), wants_order=self.wants_order
        )
        if handover == Handover.COMES_BACK:
            return self.pump(state, self.sequence)
        # What came before it goes to the clients before it.
        _ = self.pump(state, 0)
        return _deliver(
            self.origins,
            self.counts,
            self.exceptions,
            self.origin,
            self.outgoing.span(),
            state,
        )

    def pump[
        S: BackplaneListener
    ](mut self, state: Mutex[S], awaited: Int) -> Int:
        """Delivers all that has come, and counts to how many clients the own
        message with a number went."""
        var count = 0
        while True:
            self.incoming.clear()
            if not self.plane.receive(self.incoming):
                return count
            var before = self.sequence_of_own()
            var reached = _deliver(
                self.origins,
                self.counts,
                self.exceptions,
                self.origin,
                self.incoming.span(),
                state,
            )
            if before < awaited and self.sequence_of_own() == awaited:
                count = reached

    def sequence_of_own(self) -> Int:
        """The number of the last own message that was delivered here."""
        return self.origins.last(self.origin)


def _deliver[
    S: BackplaneListener
](
    mut origins: OriginTable,
    mut counts: BackplaneCounts,
    mut exceptions: List[_Exception],
    own: UInt64,
    octets: Span[UInt8, _],
    state: Mutex[S],
) -> Int:
    """Delivers a message, unless it has been delivered."""
    var message = parse_message(octets)
    if not message:
        counts.malformed += 1
        return 0
    ref found = message.value()
    if found.origin == own and found.sequence <= origins.last(own):
        # It came back, and was delivered when it was sent.
        return 0
    if not origins.note(found.origin, found.sequence, coarse_monotonic_ms()):
        return 0
    if found.origin != own:
        counts.received += 1
    elif len(exceptions) > 0:
        found.all_but = _take_exception(exceptions, found.sequence)
    return state.lock()[].on_message(found, is_own=found.origin == own)


struct _Link[B: Backplane, S: BackplaneListener](Movable):
    """A hub's state, and the way between it and the backplane."""

    var _shared: Mutex[_LinkState[Self.B]]
    var _state: Mutex[Self.S]
    # 1 in a process that has joined.
    var _ready: ProcessWord

    def __init__(
        out self, var plane: Self.B, state: Mutex[Self.S], wants_order: Bool
    ) raises:
        self._shared = Mutex(_LinkState[Self.B](plane^, wants_order))
        self._state = state
        self._ready = ProcessWord()

    def open(self):
        if self._ready.load() == 0:
            self._open()

    @no_inline
    def _open(self):
        var guard = self._shared.lock()
        var process = process_id()
        var now_ms = coarse_monotonic_ms()
        if guard[].process == process:
            if guard[].thread or now_ms < guard[].retry_ms:
                return
        try:
            guard[].begin(process)
            # Earlier messages are there before the first client asks.
            _ = guard[].pump(self._state, 0)
            comptime if Self.S.TICKS:
                guard[].tick(self._state)
            guard[].thread = Thread(
                _Reader(guard[].plane.copy(), self._shared, self._state)
            )
            self._ready.store(1)
        except error:
            guard[].retry_ms = now_ms + _RETRY_MS
            log_line(
                Text()
                .add("a hub reaches its own process alone for now: ")
                .add(error)
                .end()
            )

    def send(
        self,
        kind: MessageKind,
        room: StringSpan,
        id: StringSpan,
        payload: Span[UInt8, _],
        all_but: UInt64,
    ) -> Int:
        self.open()
        return self._shared.lock()[].write(
            kind, room, id, payload, self._state, all_but
        )

    def catch_up(self):
        self.open()
        _ = self._shared.lock()[].pump(self._state, 0)

    def counts(self) -> BackplaneCounts:
        return self._shared.lock()[].figures()

    def totals(self) -> BackplaneCounts:
        var guard = self._shared.lock()
        if guard[].process == process_id():
            guard[].tell()
        return guard[].totals.counts()

    def end(mut self):
        """Ends the thread, and waits for its end."""
        var guard = self._shared.lock()
        guard[].is_over = True
        var thread = Optional[Thread]()
        if guard[].process == process_id():
            guard[].tell()
            swap(thread, guard[].thread)
        else:
            guard[].forget_thread()
        var plane = guard[].plane.copy()
        deinit(guard^)
        if thread:
            plane.interrupt()
            thread.take().join()


@no_inline
def _tell_refusal(length: Int, length_max: Int):
    log_line(
        Text()
        .add("a message of a hub was delivered to nobody: it has ")
        .add(length)
        .add(" bytes with its room and id; at most ")
        .add(length_max)
        .add(" go through its backplane. The next ones are only counted.")
        .end()
    )


@fieldwise_init
struct _Reader[B: Backplane, S: BackplaneListener](Task):
    """Waits for messages of other processes."""

    var _plane: Self.B
    var _shared: Mutex[_LinkState[Self.B]]
    var _state: Mutex[Self.S]

    def run(mut self) raises:
        while True:
            self._plane.wait(_WAIT_MS)
            var guard = self._shared.lock()
            if guard[].is_over:
                return
            _ = guard[].pump(self._state, 0)
            comptime if Self.S.TICKS:
                guard[].tick(self._state)
            guard[].tell()
            deinit(guard^)
            comptime if Self.S.TELLS:
                Self.S.tell(self._state)
