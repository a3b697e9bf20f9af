"""Orders that reach all worker processes of a server, whichever of them is asked."""

from flare.backplane.ring import HEADER_LEN, PushResult, RingCursor, SharedRing
from flare.backplane.worker_order import (
    ORDER_HEAD_LEN,
    OrderKind,
    OrderMessage,
    parse_order,
)
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.erased import Erased, ErasedBox
from flare.bytes.text import Text
from flare.runtime.prefork.program import PreforkHooks
from flare.runtime.worker_count import WORKER_COUNT_MAX
from flare.sys.clock import Deadline, coarse_monotonic_ms
from flare.sys.errno import OsError
from flare.sys.log import log_line
from flare.sys.mutex import Mutex
from flare.sys.random import random_word
from flare.sys.shared_memory import LOCK_ROOM_LEN, LockResult, SharedMemory
from flare.sys.signal import process_exists, process_id
from flare.sys.thread import Task, Thread
from std.collections import Set
from std.memory import ArcPointer

comptime ORDER_TIMEOUT_MS = 5_000
"""How long workers have to carry out an order, unless it is said, in
milliseconds."""

comptime _RING_LEN = 1 << 20
# Orders and answers on their way.
comptime _KEPT_LEN = 1 << 20
# Orders that later workers carry out, too.
comptime _DONE_MAX = 2 * _KEPT_LEN // (HEADER_LEN + ORDER_HEAD_LEN)
# Twice what can be kept: then it is looked what is still there.
comptime _ROW_COUNT = 2 * WORKER_COUNT_MAX
# While one worker replaces another, both are there.
comptime _LOCK_TIMEOUT_MS = 1_000
comptime _LOOK_MS = 50
# How often it is looked whether those who have not answered are alive.
comptime _WAIT_MS = 1_000
# Between two calls of `each_second`.


trait OrderReceiver(Deinitable, Movable):
    """Carries out the orders of one topic in its process."""

    def carry_out(mut self, order: String) raises -> String:
        """Carries an order out, and gives what it came to; may be empty.

        It is called by one thread at a time, which is not a worker's own, so
        what it changes is locked. It may wait a little, and gives no orders
        itself.

        Args:
            order: What is to be done.

        Raises:
            Error: Whoever gave the order is told.
        """
        ...

    def each_second(mut self):
        """Called about once a second in each worker process, by the same thread,
        from before it serves on; for what others are to know without asking. It
        does nothing unless replaced.
        """
        return


@fieldwise_init
struct OrderAnswer(Copyable, Movable):
    """What one worker process has answered."""

    var process_id: Int
    """The process."""
    var is_done: Bool
    """True if it has carried the order out."""
    var text: String
    """What that came to, or why not."""


struct OrderOutcome(Copyable, Movable, Writable):
    """What became of an order."""

    var asked_count: Int
    """How many worker processes it was for."""
    var answers: List[OrderAnswer]
    """What came of them in time, in that order."""

    def __init__(out self):
        """Makes the outcome of an order that nobody has had yet."""
        self.asked_count = 0
        self.answers = []

    def done_count(self) -> Int:
        """Counts the workers that have carried it out."""
        var count = 0
        for ref answer in self.answers:
            count += Int(answer.is_done)
        return count

    def is_complete(self) -> Bool:
        """Tells whether all have carried it out: none has failed, or not
        answered in time."""
        return self.done_count() == self.asked_count

    def is_refused(self) -> Bool:
        """Tells whether nobody has carried it out, or will: all have answered,
        each that it has failed."""
        return (
            len(self.answers) > 0
            and len(self.answers) == self.asked_count
            and self.done_count() == 0
        )

    def total(self) -> Int:
        """Gives the sum of what it came to, where that is a number."""
        var sum = 0
        for ref answer in self.answers:
            try:
                sum += Int(answer.text) if answer.is_done else 0
            except:
                # It is a text.
                pass
        return sum

    def problem(self) -> String:
        """Tells what went wrong, in a sentence for the log, or for who gave the
        order; empty if all have carried it out."""
        if self.is_complete():
            return String()
        for ref answer in self.answers:
            if not answer.is_done:
                return String("worker ", answer.process_id, ": ", answer.text)
        return String(
            self.asked_count - len(self.answers), " workers did not answer"
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes how many have carried it out."""
        writer.write(self.done_count(), " of ", self.asked_count, " workers")


struct WorkerControl(ImplicitlyCopyable, PreforkHooks):
    """Has all worker processes of a server do something, whichever is asked.

        var control = WorkerControl()
        control.add("greeting", Greeting())
        server.serve_prefork(router^, PreforkConfig(workers=4), control)

    A handler of any worker, or the supervisor, calls `order`, which comes back
    when all workers have carried it out, or its time is over. Copies mean the
    same control. Make it, and add what receives orders, before
    the workers are forked, so in `main`; and give it to the server as its
    hooks. Hooks of your own call `begin` in `on_worker_started`.

    Orders go through shared memory, and are carried out by a thread of each
    worker. A worker that is started later, in place of one that has crashed or
    at SIGHUP, carries out what was given before with `keeps`, before it serves.
    As much of that is kept as fits into 1 MiB, the newest; a program that was
    upgraded by SIGUSR2 begins anew. Without worker processes an order is
    carried out at once, where it is given.
    """

    var _shared: ArcPointer[_Shared]

    def __init__(out self) raises:
        """Makes a control without receivers.

        Raises:
            Error: If the kernel has no memory, or no more locks.
        """
        self._shared = ArcPointer(_Shared())

    def add[R: OrderReceiver](self, topic: StringSpan, var receiver: R) raises:
        """Says who carries out the orders of a topic.

        Parameters:
            R: The receiver's type.

        Args:
            topic: The topic.
            receiver: Carries them out; each process has a copy, as it is when
                the workers are forked.

        Raises:
            Error: If the topic has a receiver.
        """
        var known = self._shared[].receivers.lock()
        for ref other in known[].topics:
            if StringSpan(other) == topic:
                raise Error(
                    "WorkerControl: the topic '", topic, "' has a receiver"
                )
        known[].topics.append(String(topic))
        known[].receivers.append(_AnyReceiver(receiver^))
        deinit(known^)

    def order(
        self,
        topic: StringSpan,
        text: StringSpan,
        *,
        keeps: Bool = False,
        timeout_ms: Int = ORDER_TIMEOUT_MS,
    ) raises -> OrderOutcome:
        """Gives an order to all workers, waits until they have carried it out,
        and gives what became of it. A worker that ends meanwhile is not
        counted; one that does not answer in time may carry it out later.
        Handlers that call it are better not called on the loop.

        Args:
            topic: Who carries it out in each worker.
            text: What is to be done.
            keeps: True if workers that are started later are to do it, too,
                unless all that are there refuse.
            timeout_ms: How long to wait for answers.

        Raises:
            Error: If the order is longer than 256 KiB, or cannot be given: a
                process that holds the lock does not go on.
        """
        ref shared = self._shared[]
        var own = process_id()
        var order = OrderMessage(
            OrderKind.ORDER, random_word(), own, topic, text
        )
        # What comes from here on has the answers.
        var cursor = RingCursor(shared.ring.published())
        var asked = shared.workers()
        if keeps:
            order.kind = OrderKind.KEPT
            shared.push_kept(order)
        elif len(asked) > 0:
            shared.push(order)
        var outcome = OrderOutcome()
        if len(asked) == 0:
            outcome.asked_count = 1
            outcome.answers.append(shared.carry_out(order))
        else:
            outcome = shared.gather(
                order.id, asked^, cursor, Deadline(timeout_ms)
            )
        if keeps and outcome.is_refused():
            shared.withdraw(order.id)
        return outcome^

    def begin(self) raises:
        """Begins to carry out orders in this process, after those that are
        kept. A server that was given the control as its hooks does so in each
        worker; a second call does nothing.

        Raises:
            Error: If there is no thread for it, or no room for a worker.
        """
        var joined = self._shared[].joined.lock()
        if joined[] == process_id():
            return
        ref shared = self._shared[]
        # Before anybody knows of this worker: no order is passed over.
        var cursor = shared.newest()
        shared.enter()
        var reader = _Reader(self._shared.copy(), cursor^)
        reader.catch_up()
        shared.each_second()
        _ = Thread(reader^)
        joined[] = process_id()
        deinit(joined^)

    def on_worker_started(mut self, worker: Int) raises:
        """Begins to carry out orders, as `begin` does."""
        self.begin()


def _carry_out[
    R: OrderReceiver
](receiver: Erased, order: String) raises -> String:
    # SAFETY: `_AnyReceiver` made the pointer from an R of its own.
    return receiver.unsafe_bitcast[R]()[].carry_out(order)


def _each_second[R: OrderReceiver](receiver: Erased):
    # SAFETY: as above.
    receiver.unsafe_bitcast[R]()[].each_second()


struct _AnyReceiver(Movable):
    """A receiver of any type."""

    # SAFETY: the functions were made for its type.
    var _receiver: ErasedBox
    var _carry_out: def(Erased, String) raises thin -> String
    var _each_second: def(Erased) thin -> None

    def __init__[R: OrderReceiver](out self, var receiver: R):
        self._receiver = ErasedBox(receiver^)
        self._carry_out = _carry_out[R]
        self._each_second = _each_second[R]

    def carry_out(self, order: String) raises -> String:
        return self._carry_out(self._receiver.at, order)

    def each_second(self):
        self._each_second(self._receiver.at)


struct _Receivers(Defaultable, Movable):
    var topics: List[String]
    var receivers: List[_AnyReceiver]

    def carry_out(self, topic: String, order: String) raises -> String:
        for index in range(len(self.topics)):
            if self.topics.at(index) == topic:
                return self.receivers.at(index).carry_out(order)
        raise Error("there is no receiver of '", topic, "'")

    def each_second(self):
        for index in range(len(self.receivers)):
            self.receivers.at(index).each_second()


struct _Shared(Movable):
    """What the threads of a process share, and the memory of all of them."""

    var ring: SharedRing
    var kept: SharedRing
    # A lock, and after it the process of each worker.
    var rows: SharedMemory
    var receivers: Mutex[_Receivers]
    # The process that has joined; a fork's child finds its parent's.
    var joined: Mutex[Int]

    def __init__(out self) raises OsError:
        self.ring = SharedRing(_RING_LEN)
        self.kept = SharedRing(_KEPT_LEN)
        self.rows = SharedMemory(LOCK_ROOM_LEN + 8 * _ROW_COUNT)
        self.rows.make_lock(0)
        self.receivers = Mutex(_Receivers())
        self.joined = Mutex(0)

    def push(self, message: OrderMessage) raises:
        var octets = Buffer()
        message.write_to(octets)
        var result = self.ring.push(octets.span(), _LOCK_TIMEOUT_MS)
        if result == PushResult.TOO_LONG:
            raise Error(
                "WorkerControl: an order of ", len(octets), " bytes is too long"
            )
        if result == PushResult.BUSY:
            raise _busy()

    def push_kept(self, order: OrderMessage) raises:
        """Gives an order to workers, and to those that begin later.

        The lock of what is kept is held around both, so that all that is kept
        has one sequence, and `newest` lies before both or behind both.
        """
        var octets = Buffer()
        order.write_to(octets)
        if not self.kept.begin_write(_LOCK_TIMEOUT_MS):
            raise _busy()
        var end = self.kept.published()
        try:
            self.push(order)
            end = self.kept.write_record(octets.span())
        finally:
            self.kept.end_write(end)

    def withdraw(self, id: UInt64):
        """Has later workers pass over an order that all have refused."""
        var octets = Buffer()
        OrderMessage(OrderKind.WITHDRAWN, id, process_id(), "", "").write_to(
            octets
        )
        if (
            self.kept.push(octets.span(), _LOCK_TIMEOUT_MS)
            != PushResult.PUBLISHED
        ):
            log_line(
                Text()
                .add("an order that all workers refuse stays for later ones: ")
                .add(_busy())
                .end()
            )

    def newest(self) raises -> RingCursor:
        """Makes the cursor of a worker that reads what is kept next."""
        if not self.kept.begin_write(_LOCK_TIMEOUT_MS):
            raise _busy()
        var cursor = RingCursor(self.ring.published())
        self.kept.end_write(self.kept.published())
        return cursor^

    def each_second(self):
        """Has all receivers do what they do without an order."""
        var known = self.receivers.lock()
        known[].each_second()
        deinit(known^)

    def list_kept(self) -> List[OrderMessage]:
        """Lists what later workers have to carry out."""
        var orders = List[OrderMessage]()
        var withdrawn = Set[UInt64]()
        var cursor = RingCursor(self.kept.tail())
        var octets = Buffer()
        while self.kept.read(cursor, octets):
            var message = parse_order(octets.span())
            octets.clear()
            if not message:
                continue
            if message.held().kind == OrderKind.WITHDRAWN:
                withdrawn.add(message.held().id)
            else:
                orders.append(message.take())
        var held = List[OrderMessage]()
        for ref order in orders:
            if order.id not in withdrawn:
                held.append(order.copy())
        return held^

    def enter(self) raises:
        """Takes a row for this process."""
        if self.rows.lock(0, _LOCK_TIMEOUT_MS) == LockResult.BUSY:
            raise Error(
                "WorkerControl: another process holds the workers' lock and"
                " does not go on"
            )
        var free = self._free_dead()
        if free > 0:
            self.rows.store(free, process_id())
        self.rows.unlock(0)
        if free == 0:
            raise Error("WorkerControl: there are too many workers")

    def _free_dead(self) -> Int:
        """Empties the rows of processes that are no more, before their numbers
        are given to others. Returns the offset of a free row; 0 if there is
        none. The lock is held."""
        var free = 0
        for index in reversed(range(_ROW_COUNT)):
            var offset = LOCK_ROOM_LEN + 8 * index
            var process = self.rows.load(offset)
            if process != 0 and not process_exists(process):
                self.rows.store(offset, 0)
                process = 0
            if process == 0:
                free = offset
        return free

    def workers(self) -> List[Int]:
        """Lists the processes that carry out orders, each once: the row of one
        that was killed may have the number of a later one."""
        var found = List[Int]()
        var has_dead = False
        for index in range(_ROW_COUNT):
            var process = self.rows.load(LOCK_ROOM_LEN + 8 * index)
            if process != 0 and process not in found:
                if process_exists(process):
                    found.append(process)
                else:
                    has_dead = True
        if has_dead and self.rows.lock(0, _LOCK_TIMEOUT_MS) != LockResult.BUSY:
            _ = self._free_dead()
            self.rows.unlock(0)
        return found^

    def carry_out(self, order: OrderMessage) -> OrderAnswer:
        """Carries an order out in this process."""
        var answer = OrderAnswer(process_id(), True, String())
        var known = self.receivers.lock()
        try:
            answer.text = known[].carry_out(order.topic, order.text)
        except error:
            answer.is_done = False
            answer.text = String(error)
        deinit(known^)
        return answer^

    def gather(
        self,
        id: UInt64,
        var asked: List[Int],
        mut cursor: RingCursor,
        deadline: Deadline,
    ) -> OrderOutcome:
        """Waits for the answers to an order."""
        var outcome = OrderOutcome()
        var octets = Buffer()
        while True:
            var seen = self.ring.bell()
            while self.ring.read(cursor, octets):
                var message = parse_order(octets.span())
                octets.clear()
                if (
                    message
                    and message.value().id == id
                    and not message.value().kind.is_order()
                ):
                    _take_answer(asked, outcome, message.value())
            for index in reversed(range(len(asked))):
                if not process_exists(asked.at(index)):
                    _ = asked.pop(index)
            outcome.asked_count = len(outcome.answers) + len(asked)
            var left_ms = deadline.left_ms()
            if len(asked) == 0 or left_ms == 0:
                return outcome^
            self.ring.wait(seen, min(left_ms, _LOOK_MS))


def _take_answer(
    mut asked: List[Int], mut outcome: OrderOutcome, message: OrderMessage
):
    for index in range(len(asked)):
        if asked.at(index) == message.process:
            _ = asked.pop(index)
            outcome.answers.append(
                OrderAnswer(
                    message.process,
                    message.kind == OrderKind.DONE,
                    message.text.copy(),
                )
            )
            return


struct _Reader(Task):
    """Carries out orders, for as long as the process lives."""

    var _shared: ArcPointer[_Shared]
    var _cursor: RingCursor
    # What was kept and carried out here, with what it came to; the newest.
    var _done: Dict[UInt64, OrderAnswer]

    def __init__(
        out self, var shared: ArcPointer[_Shared], var cursor: RingCursor
    ):
        self._shared = shared^
        self._cursor = cursor^
        self._done = {}

    def catch_up(mut self):
        """Carries out what is kept, but for what this process has done."""
        var done = Dict[UInt64, OrderAnswer]()
        for ref order in self._shared[].list_kept():
            var known = self._done.get(order.id)
            if known:
                # What is not kept any more is forgotten so.
                done[order.id] = known.take()
                continue
            var answer = self._shared[].carry_out(order)
            if not answer.is_done:
                log_line(
                    Text()
                    .add("this worker does not carry out an earlier order: ")
                    .add(answer.text)
                    .end()
                )
            done[order.id] = answer^
        self._done = done^

    def run(mut self) raises:
        var octets = Buffer()
        var due_ms = coarse_monotonic_ms() + _WAIT_MS
        while True:
            var seen = self._shared[].ring.bell()
            var lost_count = self._cursor.lost_count
            while self._shared[].ring.read(self._cursor, octets):
                var message = parse_order(octets.span())
                octets.clear()
                if self._cursor.lost_count > lost_count:
                    self._note_loss(self._cursor.lost_count - lost_count)
                    lost_count = self._cursor.lost_count
                if message and message.value().kind.is_order():
                    self._answer(message.value())
            var left_ms = due_ms - coarse_monotonic_ms()
            if left_ms <= 0:
                self._shared[].each_second()
                left_ms = _WAIT_MS
                due_ms = coarse_monotonic_ms() + _WAIT_MS
            self._shared[].ring.wait(seen, left_ms)

    def _note_loss(mut self, count: Int):
        """Goes on after orders and answers that were overwritten before this
        process has read them."""
        log_line(
            Text()
            .add("worker process ")
            .add(process_id())
            .add(" was too slow for ")
            .add(count)
            .add(
                " messages of a WorkerControl; it carries out what is kept, and"
                " other orders of them not at all"
            )
            .end()
        )
        self.catch_up()

    def _answer(mut self, order: OrderMessage):
        var answer: OrderAnswer
        var known = self._done.get(order.id)
        if known:
            answer = known.take()
        else:
            answer = self._shared[].carry_out(order)
            if order.kind == OrderKind.KEPT:
                self._remember(order.id, answer)
        var kind = OrderKind.DONE if answer.is_done else OrderKind.FAILED
        try:
            self._shared[].push(
                OrderMessage(kind, order.id, answer.process_id, "", answer.text)
            )
        except error:
            log_line(
                Text()
                .add("an order was carried out, and nobody was told: ")
                .add(error)
                .end()
            )

    def _remember(mut self, id: UInt64, answer: OrderAnswer):
        if len(self._done) >= _DONE_MAX:
            var done = Dict[UInt64, OrderAnswer]()
            for ref order in self._shared[].list_kept():
                var known = self._done.get(order.id)
                if known:
                    done[order.id] = known.take()
            self._done = done^
        self._done[id] = answer.copy()


def _busy() -> Error:
    return Error(
        "WorkerControl: another process holds the orders' lock and does not"
        " go on"
    )
