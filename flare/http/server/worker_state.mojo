"""What a worker keeps for all of its connections."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.bytes.text import Text
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.request_parser import RequestParser
from flare.http.h1.serialiser import DateLine
from flare.http.message.body import StreamWaker, WakeTarget
from flare.http.message.request import PathParams
from flare.http.message.response import Response
from flare.http.handler.ready_switch import ReadySwitch
from flare.http.handler.any_handler import SharedHandler
from flare.http.handler.route_memo import RouteMemo, erase_memo
from flare.http.server.config import (
    DescriptorBudget,
    ServerConfig,
    ServerContext,
)
from flare.http.server.connection.body_pipe import BodyCharge
from flare.http.server.connection.send_order import SendOrder
from flare.http.server.connection.stream_task import StreamPool
from flare.http.server.connection.tls import ServerTls
from flare.http.server.errors import report_crash
from flare.http.server.response_lengths import ResponseLengths
from flare.http.server.slow_handlers import SlowHandlers
from flare.runtime.prefork.config import Jitter
from flare.runtime.stats_board import (
    STAT_CONNECTIONS,
    STAT_OPEN,
    STAT_REQUESTS,
    SharedStats,
)
from flare.runtime.event import Waker
from flare.runtime.worker_loop import Woken
from flare.sys.clock import coarse_monotonic_ms, monotonic_ns, unix_seconds
from flare.sys.crash import report_crashes, set_crash_note
from flare.sys.errno import OsError
from flare.sys.log import log_line, tell_lost_lines
from flare.sys.mutex import Mutex
from std.atomic import Atomic
from std.memory import ArcPointer, OwnedPointer
from std.sys.intrinsics import unlikely


@fieldwise_init
struct _WakeSide(WakeTarget):
    """The side of a wake_queue that anybody reaches."""

    var woken: Mutex[List[Woken]]
    var waker: Waker
    var stream_id: Int

    def wake(self, token: UInt64):
        var woken = self.woken.lock()
        woken[].append(Woken(token, self.stream_id))
        var is_first = len(woken[]) == 1
        deinit(woken^)
        if is_first:
            self.waker.wake()


struct WakeQueue(Movable):
    """Whose sources have something, for one worker."""

    var _woken: Mutex[List[Woken]]
    var _waker: Waker

    def __init__(out self) raises OsError:
        """Makes an empty queue. Raises if the process has no more descriptors."""
        self._woken = Mutex(List[Woken]())
        self._waker = Waker()

    def fd(self) -> Int32:
        """Lends the descriptor that is readable when there are tokens, good
        while this value lives."""
        return self._waker.fd()

    def waker_for(self, token: UInt64, stream_id: Int = 0) -> StreamWaker:
        """Makes what a source rings, on a stream of HTTP/2; it may outlive the
        connection and this queue."""
        var side = _WakeSide(self._woken, self._waker.copy(), stream_id)
        return StreamWaker(side^, token, stream_id)

    def take(mut self) -> List[Woken]:
        """Takes what has come; some may be there twice, or of connections that
        are gone."""
        _ = self._waker.drain()
        var woken = List[Woken]()
        swap(woken, self._woken.lock()[])
        return woken^


struct StatsRow(Movable):
    """A worker's row on the board, written once a round of its loop."""

    var connection_count: Int
    var _board: ArcPointer[SharedStats]
    var _row: Int

    def __init__(out self, var board: ArcPointer[SharedStats], row: Int):
        self.connection_count = 0
        self._board = board^
        self._row = row

    @always_inline
    def publish(self, request_count: Int, open_count: Int):
        ref board = self._board[]
        board.set(self._row, STAT_REQUESTS, request_count)
        board.set(self._row, STAT_CONNECTIONS, self.connection_count)
        board.set(self._row, STAT_OPEN, open_count)


comptime READ_BUFFER_LEN = 128 * 1024
"""Size of a worker's own input buffer in bytes: most that one read takes. A
message of 64 KiB and its frame's header fit."""

comptime PARTIAL_BUFFER_LEN = 4_096
"""First room of a connection for part of a request, in bytes; a parser that has
no more goes back to the pool."""

comptime _HEAD_BUFFER_LEN = 1_024
# First size of a parser's that takes over what is there: most heads are smaller,
# and thousands may wait for their responses at once.

comptime FLUSH_LEN = 65_536
"""Output that is sent without waiting for the rest of a batch, in bytes."""

comptime READ_COUNT_MAX = 16
"""How often a connection is read before others have their turns."""

comptime TURN_MS = 5
"""How long one connection has the loop before others have their turns, in
milliseconds; what it has begun it ends, and the coarse clock may be some late."""

comptime AGE_JITTER_PERCENT = 20
"""By how much the ages of connections differ at most."""

comptime _POOLED_COUNT_MAX = 256
comptime _POOLED_LEN_MAX = 65_536
comptime _POOLED_SMALL_COUNT_MAX = 1_024


struct WorkerState(Movable):
    """Buffers, limits and the clock of one worker; no connection's own."""

    var config: ServerConfig
    var limits: HeadLimits
    var now_ms: Int
    """The time of this round of the loop."""
    var turn_start_ms: Int
    """When the turn of the connection at hand began, or that of one before."""
    var date: DateLine
    var out: Buffer
    """Responses of the connection at hand, not yet sent."""
    var params: OwnedPointer[PathParams]
    """Storage for the path parameters of the request at hand."""
    var request_count: Int
    var handler: SharedHandler
    """What answers; other workers may have it, too."""
    var takes_upgrades: Bool
    """True if that may answer with a conversation."""
    var asks_policies: Bool
    """True if handlers are asked about requests without content, too: they may
    run on a thread, or answer later."""
    var has_streamed: Bool
    """True if some handlers always do, since they read content while it arrives,
    or answer later."""
    var slow: SlowHandlers
    """Warns of handlers that hold the loop."""
    var lengths: ResponseLengths
    """What answers of threads, and of those that were moved there, take."""
    var piece: Buffer
    """What a source has just made."""
    var wake_queue: WakeQueue
    """Where sources say that they have something."""
    var is_draining: Bool
    """True if the server is to stop: no connection is kept alive."""
    var tls: Optional[ServerTls]
    """What TLS is spoken with; nothing for plain HTTP."""
    var tls_input: Buffer
    """Octets of TLS from the connection at hand; empty between calls."""
    var tls_output: Buffer
    """Octets of TLS for the connection at hand; empty between calls."""
    var descriptors: DescriptorBudget
    var streams: StreamPool
    """Boxes for streams of HTTP/2 that have more than a head."""
    var send_order: SendOrder
    """Those of the connection at hand that may send; empty between calls."""
    var abuse_lines: LinePace
    """Lines about clients of HTTP/2 that are cut off for what they do."""
    var _jitter: Jitter
    var _body_sum: ArcPointer[Atomic[Int64]]
    var _memos: List[OwnedPointer[RouteMemo]]
    var _pool: List[OwnedPointer[RequestParser]]
    var _ready: ReadySwitch

    def __init__(
        out self, context: ServerContext, var handler: SharedHandler
    ) raises OsError:
        """Makes the state of a worker that has not begun. Raises if the process
        has no more descriptors."""
        self.config = context.config.copy()
        self.limits = context.config.head_limits()
        self.now_ms = 0
        self.turn_start_ms = 0
        self.date = DateLine()
        self.out = Buffer(FLUSH_LEN)
        self.params = OwnedPointer(PathParams())
        self.params[].record.logs_errors = self.config.logs_errors
        self.takes_upgrades = handler[].claims().upgrades
        self.handler = handler^
        self.asks_policies = self.config.handler_threads > 0
        self.has_streamed = False
        self.slow = SlowHandlers(self.config)
        self.lengths = ResponseLengths()
        self.request_count = 0
        self.piece = Buffer(0)
        self.wake_queue = WakeQueue()
        self.is_draining = False
        self.tls = context.tls.copy()
        self.tls_input = Buffer(READ_BUFFER_LEN if self.tls else 0)
        self.tls_output = Buffer(READ_BUFFER_LEN if self.tls else 0)
        self.descriptors = context.descriptors
        self.streams = StreamPool()
        self.send_order = SendOrder()
        self.abuse_lines = LinePace()
        self._jitter = Jitter(UInt64(monotonic_ns()))
        self._body_sum = ArcPointer(Atomic[Int64](0))
        self._pool = []
        self._memos = []
        self._ready = context.ready

    @no_inline
    def __deinit__(deinit self):
        return

    @always_inline
    def begin_round(mut self):
        """Reads the clocks when events are there."""
        self.now_ms = coarse_monotonic_ms()
        self.turn_start_ms = self.now_ms
        self.date.refresh(unix_seconds())
        self.slow.begin_round(self.now_ms, self.request_count)

    @always_inline
    def begin_turn(mut self):
        """Looks at the clock between two connections: it is the next one's turn,
        and that of the last one may have been long."""
        var now_ms = coarse_monotonic_ms()
        if unlikely(now_ms - self.turn_start_ms >= TURN_MS):
            self.slow.note_long_turn(self.params[].record.route)
        self.turn_start_ms = now_ms

    @always_inline
    def is_turn_over(self) -> Bool:
        """Tells whether the connection at hand has had the loop for `TURN_MS`,
        and is to give way to others."""
        return coarse_monotonic_ms() - self.turn_start_ms >= TURN_MS

    def ask_claims(mut self):
        """Asks the handler whether it may read content while it arrives, or
        answer later."""
        var claims = self.handler[].claims()
        self.has_streamed = claims.defers or (
            claims.streams and self.config.handler_threads != 0
        )
        self._decide()

    @no_inline
    def end_handler(mut self, response: Response):
        """Looks at the clock after a handler that was timed."""
        var route = self.params[].record.route
        self.slow.end_handler(route)
        self._decide()
        if self.slow.is_moved(route):
            self.lengths.note(route, len(response.body), self.now_ms)

    @no_inline
    def end_late_round(mut self):
        """Finds out why a round took long, if it did."""
        self.slow.end_late_round(self.params[].record.route, self.request_count)
        self._decide()

    def note_elsewhere(
        mut self,
        job_route: StringSpan[ImmUntrackedOrigin],
        elapsed_ns: Int,
        response: Response,
    ):
        """Notes how long a handler on another thread took, and how much it has
        made. The route is as the router lends it; the time is negative if none
        was called."""
        if elapsed_ns >= 0:
            self.lengths.note(job_route, len(response.body), self.now_ms)
        if self.config.handler_threads < 0 and elapsed_ns >= 0:
            self.slow.note_elsewhere(job_route, elapsed_ns, self.now_ms)
            self._decide()

    def _decide(mut self):
        self.asks_policies = (
            self.config.handler_threads > 0
            or self.has_streamed
            or self.slow.has_moved_any()
        )

    def params_pointer(mut self) -> Pointer[PathParams, MutUntrackedOrigin]:
        """Gives the storage for path parameters, good while the worker lives."""
        # SAFETY: the box never moves, and the worker outlives every request.
        return Pointer(to=self.params[]).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def tell_lost_lines(self):
        """Tells at the end how many lines of logs nobody has read."""
        try:
            tell_lost_lines()
        except error:
            self.log(String(error))

    def note_for_crashes(mut self):
        """Lets a crash of this thread name the request at hand, unless
        `logs_errors` is off."""
        if not self.config.logs_errors:
            return
        try:
            report_crashes(report_crash)
        except error:
            self.log(
                Text()
                .add(error)
                .add("; crashes will not name their request")
                .end()
            )
        # SAFETY: the box never moves, and the worker ends the note.
        set_crash_note(
            Pointer(to=self.params[].record)
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_bitcast[NoneType]()
        )

    def begin_drain(mut self):
        """Keeps no connection alive from now on, and says so to readiness
        endpoints of this process."""
        self.is_draining = True
        self._ready.set(False)

    def log(self, what: StringSpan):
        """Writes what happened, and what follows, to standard error, unless
        `logs_errors` is off."""
        if self.config.logs_errors:
            log_line(what)

    def next_retire_ms(mut self) -> Int:
        """Chooses when a connection that begins now has grown old: somewhat
        before `max_connection_age_ms` is over, so that those which began
        together do not all end together."""
        var age_ms = self.config.max_connection_age_ms
        if age_ms == 0:
            return NEVER
        var spread = UInt64(age_ms * AGE_JITTER_PERCENT // 100 + 1)
        return self.now_ms + age_ms - Int(self._jitter.next() % spread)

    def charge(self, mut charge: Optional[BodyCharge], length: Int) -> Bool:
        """Counts the memory that a connection's content takes now, if the bound
        allows it to grow so far. False if it has grown and all together would
        be beyond `max_buffered_bodies_size`; nothing is changed then."""
        var growth = length - (charge.held().length if charge else 0)
        var sum = Int(self._body_sum[].load()) + growth
        if growth > 0 and sum > self.config.max_buffered_bodies_size:
            return False
        if not charge:
            charge = BodyCharge(self._body_sum)
        charge.held().set(length)
        return True

    def begin_memo(mut self):
        """Has a router keep the route of a request that it is about to be asked
        about in the storage that `take_memo` would give."""
        if len(self._memos) == 0:
            self._memos.append(OwnedPointer(RouteMemo()))
        self._memos.at(len(self._memos) - 1)[].forget()
        self.lend_memo()

    @always_inline
    def lend_memo(mut self):
        """Lends the storage of `begin_memo` again, behind which none was taken
        or given back."""
        # SAFETY: the box stays where it is, whoever has it.
        self.params[].route_memo = erase_memo(
            self._memos.at(len(self._memos) - 1)[]
        )

    def begin_memo_of(mut self, mut memo: Optional[OwnedPointer[RouteMemo]]):
        """Does what `begin_memo` does, with storage that a request keeps from
        now on."""
        if not memo:
            memo = self.take_memo()
        memo.held()[].forget()
        self.lend_memo_of(memo)

    def lend_memo_of(mut self, mut memo: Optional[OwnedPointer[RouteMemo]]):
        """Lets a router keep the route of the request at hand, or find it again,
        in storage that the request has."""
        # SAFETY: the box outlives the call of the handler, after which `params`
        # forgets it.
        self.params[].route_memo = erase_memo(memo.held()[])

    def take_memo(mut self) -> OwnedPointer[RouteMemo]:
        """Takes storage for the route of a request that a handler is asked
        about."""
        if len(self._memos) > 0:
            return self._memos.pop()
        return OwnedPointer(RouteMemo())

    def give_memo(mut self, mut memo: Optional[OwnedPointer[RouteMemo]]):
        """Takes such storage back, if there is some."""
        if not memo:
            return
        self.params[].route_memo = None
        if len(self._memos) < _POOLED_COUNT_MAX:
            self._memos.append(memo.take())
        else:
            memo = None

    def take_parser(mut self) -> OwnedPointer[RequestParser]:
        """Takes an empty parser, for a part of a request."""
        if len(self._pool) > 0:
            return self._pool.pop()
        return OwnedPointer(RequestParser(_HEAD_BUFFER_LEN))

    def give_parser(mut self, var parser: OwnedPointer[RequestParser]):
        """Takes a parser back; one that has grown large is freed."""
        var length_max = (
            _POOLED_LEN_MAX if len(self._pool)
            < _POOLED_COUNT_MAX else PARTIAL_BUFFER_LEN
        )
        if (
            len(self._pool) < _POOLED_SMALL_COUNT_MAX
            and parser[].input.capacity() <= length_max
        ):
            parser[].reset()
            self._pool.append(parser^)


comptime PACE_MS = 1_000
"""How long after a line of a kind no other one is written, in milliseconds."""


struct LinePace(Defaultable, Movable):
    """Lets one line of a kind through in a while, and counts those left out."""

    var _next_ms: Int
    var _left_out: Int

    def may_write(mut self, now_ms: Int) -> Bool:
        """Tells whether a line may be written now; it counts if not."""
        if now_ms < self._next_ms:
            self._left_out += 1
            return False
        self._next_ms = now_ms + PACE_MS
        return True

    def take_left_out(mut self) -> Int:
        """Tells how many lines were left out since the last one, and counts
        anew."""
        var count = self._left_out
        self._left_out = 0
        return count
