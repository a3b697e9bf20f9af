"""All that is simulated around a server: the kernel, and the actors."""

from flare.bytes.checked import *
from flare.http import ShutdownHandle
from tests.simulate.actor import Actor, Answering, Asking
from tests.simulate.http1_client import Http1Client
from tests.simulate.http2_client import Http2Client
from tests.simulate.http2_upstream import Http2Upstream
from tests.simulate.kernel import (
    FIRST_NUMBER,
    FileKind,
    HTTP2_PORT,
    Kernel,
    START_NS,
)
from tests.simulate.requests import Asked, AskedKind
from tests.simulate.upstream import Upstream
from tests.simulate.ws_client import WsClient
from tests.simulate.ws_talk import WsTold
from std.bit import pop_count
from std.memory import ArcPointer
from std.os import abort

comptime _ROUND_COUNT_MAX = 200_000
# No scenario takes a hundredth of that: one that does goes round in circles.

comptime _CLIENT_COUNT_MAX = 6

comptime _LOOK_COUNT_MAX = 1_000_000

comptime _SILENCE_NS_MAX = 600_000_000_000
# How long a server may hold a connection when nobody does anything any more.


@fieldwise_init
struct Cast(TrivialRegisterPassable):
    """Who of a seed's clients is there: all, or some of them to find out who is needed
    for something to go wrong."""

    var members: Int
    """A bit for each."""
    var asked_max: Int
    """How many requests each has at most."""

    comptime ALL = Cast((1 << _CLIENT_COUNT_MAX) - 1, 12)

    def has(self, index: Int) -> Bool:
        return (self.members >> index) & 1 == 1

    def size(self) -> Int:
        """Tells how large it is, to compare casts: clients count most."""
        return pop_count(self.members) * 100 + self.asked_max


struct World(Movable):
    """A scenario, and whether all has gone as it must."""

    var kernel: Kernel
    var http1_clients: List[Http1Client]
    var http2_clients: List[Http2Client]
    var ws_clients: List[WsClient]
    var ws_told: ArcPointer[WsTold]
    """What the handler of WebSocket has heard."""
    var upstreams: List[Upstream]
    """Connections to upstreams that were made."""
    var http2_upstreams: List[Http2Upstream]
    var _counts: Dict[Int, Int]
    # How often upstreams were asked, by id.
    var problem: String
    """What went wrong first; empty if nothing did."""
    var connection_window: Int
    """How much a client of HTTP/2 may have sent that was not taken, in bytes."""
    var stop: Optional[ShutdownHandle]
    var round_count: Int
    var _seed: UInt64
    var _look_count: Int
    # How often the program has looked at the clock since it waited last.
    var traces: Bool
    """True to print what the program is told."""
    var _is_stopping: Bool
    var _drain_ns: Int
    # When the server is told to stop though there may be work.
    var _quiet_since_ns: Int

    def __init__(out self, seed: UInt64, cast: Cast = Cast.ALL):
        self.kernel = Kernel(seed)
        self.http1_clients = []
        self.http2_clients = []
        self.ws_clients = []
        self.ws_told = ArcPointer(WsTold())
        self.upstreams = []
        self.http2_upstreams = []
        self._counts = {}
        self.problem = String()
        self.connection_window = 0
        self.stop = None
        self.round_count = 0
        self._seed = seed
        self._look_count = 0
        self.traces = False
        self._is_stopping = False
        self._drain_ns = Int.MAX
        self._quiet_since_ns = 0
        for index in range(self.kernel.dice.between(1, _CLIENT_COUNT_MAX)):
            var first_id = 1_000 * (index + 1)
            var is_http2 = self.kernel.dice.one_in(3)
            var is_ws = not is_http2 and self.kernel.dice.one_in(3)
            if not cast.has(index):
                continue
            if is_ws:
                self.ws_clients.append(
                    WsClient(self.kernel, first_id, cast.asked_max)
                )
            elif is_http2:
                self.http2_clients.append(
                    Http2Client(self.kernel, first_id, cast.asked_max)
                )
            else:
                self.http1_clients.append(
                    Http1Client(self.kernel, first_id, cast.asked_max)
                )
        if self.kernel.dice.one_in(4):
            self._drain_ns = self.kernel.now_ns + self.kernel.dice.below(
                500_000_000
            )

    def fail(mut self, what: String):
        if self.problem.byte_length() == 0:
            var micros = (self.kernel.now_ns - START_NS) // 1_000
            self.problem = String(what, ", at ", micros, " us")

    def note_look(mut self):
        """Takes note that the program has looked at the clock: one that does
        nothing else will not come back to be judged."""
        self._look_count += 1
        if self._look_count > _LOOK_COUNT_MAX:
            abort(String("seed ", self._seed, " failed: it never waits"))

    def wait(mut self, epoll: Int, capacity: Int, timeout_ms: Int) -> List[Int]:
        """Lets time pass and actors act until the program has something to do,
        or has waited for `timeout_ms`. Gives indices of files."""
        var end_ns = Int.MAX
        if timeout_ms >= 0:
            end_ns = self.kernel.now_ns + timeout_ms * 1_000_000
        self._look_count = 0
        # What the program has done took a moment, too.
        self.kernel.now_ns += self.kernel.dice.below(100_000)
        while True:
            self.round_count += 1
            if self._drain_ns <= self.kernel.now_ns:
                self._begin_drain()
            self.kernel.deliver()
            self._act()
            var found = self.kernel.ready(epoll, capacity)
            if len(found) > 0:
                # Who is sent octets is served, however slowly they come.
                self._quiet_since_ns = 0
                if self.traces:
                    self._trace(found)
                return found^
            if self.round_count > _ROUND_COUNT_MAX:
                self.fail("it goes round in circles")
                self._stop(2)
                continue
            var next_ns = min(self.kernel.next_ns(), self._next_ns())
            if next_ns == Int.MAX and not self._is_stopping:
                if self.kernel.stream_count() == 0:
                    self._stop(1)
                    continue
                if timeout_ms < 0:
                    self.fail("a connection is held without a deadline")
                    self._stop(2)
                    continue
                if self._quiet_since_ns == 0:
                    self._quiet_since_ns = self.kernel.now_ns
                if self.kernel.now_ns - self._quiet_since_ns > _SILENCE_NS_MAX:
                    self.fail("a connection is held for more than ten minutes")
                    self._stop(2)
                    continue
            if next_ns == Int.MAX and end_ns == Int.MAX:
                self.fail("it waits for ever")
                return []
            if next_ns > end_ns:
                self.kernel.now_ns = max(self.kernel.now_ns, end_ns)
                return []
            self.kernel.now_ns = max(self.kernel.now_ns, next_ns)

    def trace_call(self, name: StaticString, number: Int, result: Int):
        """Prints what a call gives, if that is wanted."""
        if self.traces:
            print("   ", name, number, "=", result)

    def _trace(self, found: List[Int]):
        """Prints what the program is told."""
        var line = String((self.kernel.now_ns - START_NS) // 1_000, " us:")
        for index in found:
            ref file = self.kernel.files.at(index)
            line += String(" ", FIRST_NUMBER + index, "=")
            line += String(self.kernel.mask(index))
            if file.kind == FileKind.STREAM:
                ref end = self.kernel.ends.at(file.index)
                line += String(
                    "(",
                    len(end.inbox),
                    "+",
                    len(end.wire),
                    " of ",
                    end.window,
                    ")",
                )
        print(line)

    def _stop(mut self, count: Int):
        """Asks the server to end, at once by a second time."""
        self._is_stopping = True
        for _ in range(count):
            self.stop.value().shutdown()

    def _begin_drain(mut self):
        """Tells the server to stop though there may be work."""
        self._drain_ns = Int.MAX
        if self._is_stopping:
            return
        # Who comes later is not answered.
        _excuse(self.http1_clients)
        _excuse(self.http2_clients)
        _excuse(self.ws_clients)
        self._stop(1)

    def _next_ns(self) -> Int:
        var earliest = min(
            _earliest(self.http1_clients), _earliest(self.http2_clients)
        )
        earliest = min(earliest, _earliest(self.ws_clients))
        earliest = min(earliest, _earliest(self.upstreams))
        earliest = min(earliest, _earliest(self.http2_upstreams))
        return min(earliest, self._drain_ns)

    def _act(mut self):
        """Has all act to whom something has happened, or whose time has come."""
        var first = _let_act(self.http1_clients, self.kernel)
        var second = _let_act(self.http2_clients, self.kernel)
        var said = _let_act(self.ws_clients, self.kernel)
        if first.byte_length() > 0:
            self.fail("client of HTTP/1.1: " + first)
        elif second.byte_length() > 0:
            self.fail("client of HTTP/2: " + second)
        elif said.byte_length() > 0:
            self.fail("client of WebSocket: " + said)
        for end in self.kernel.dialled:
            if self.kernel.dialled_port(end) == HTTP2_PORT:
                self.http2_upstreams.append(Http2Upstream(self.kernel, end))
            else:
                self.upstreams.append(Upstream(self.kernel.dice, end))
        self.kernel.dialled.clear()
        var begun = List[Int]()
        var third = _let_answer(self.upstreams, self.kernel, begun)
        var fourth = _let_answer(self.http2_upstreams, self.kernel, begun)
        if third.byte_length() > 0:
            self.fail("upstream: " + third)
        elif fourth.byte_length() > 0:
            self.fail("upstream of HTTP/2: " + fourth)
        self._note_begun(begun)
        self.kernel.news.clear()

    def _note_begun(mut self, begun: List[Int]):
        """Looks at what upstreams were asked: never twice for an upload."""
        for client in range(len(self.http1_clients)):
            if self.http1_clients.at(client).speaks_ill():
                # It may ask for anything.
                return
        for id in begun:
            var count = self._counts.get(id, 0) + 1
            self._counts[id] = count
            var asked = _find(self.http1_clients, id)
            if not asked:
                asked = _find(self.http2_clients, id)
            if not asked:
                asked = _find(self.ws_clients, id)
            if not asked:
                self.fail(String("an upstream was asked for ", id))
            elif count > 1 and asked.value().kind == AskedKind.UPLOAD:
                self.fail(String("upload ", id, " was sent ", count, " times"))

    def request_count(self) -> Int:
        return (
            _requests_of(self.http1_clients)
            + _requests_of(self.http2_clients)
            + _requests_of(self.ws_clients)
        )

    def answered_count(self) -> Int:
        return (
            _answers_of(self.http1_clients)
            + _answers_of(self.http2_clients)
            + _answers_of(self.ws_clients)
        )

    def judge(mut self):
        """Says what is wrong when the server has ended."""
        if (
            _is_left_waiting(self.http1_clients)
            or _is_left_waiting(self.http2_clients)
            or _is_left_waiting(self.ws_clients)
        ):
            self.fail("a client was left waiting")
        for index in range(len(self.ws_clients)):
            self.ws_clients.at(index).compare(self.ws_told[])
            ref problem = self.ws_clients.at(index).seat().problem
            if problem.byte_length() > 0:
                self.fail("client of WebSocket: " + problem)
        for index in range(len(self.http2_clients)):
            self.http2_clients.at(index).compare(
                self.ws_told[], self.connection_window
            )
            ref problem = self.http2_clients.at(index).seat().problem
            if problem.byte_length() > 0:
                self.fail("client of HTTP/2: " + problem)
        if self.ws_told[].open_count != self.ws_told[].close_count:
            self.fail("not each WebSocket that began has ended once")
        if self.kernel.open_count > 0:
            self.fail(
                String(self.kernel.open_count, " descriptors are still open")
            )


def _earliest[A: Actor](actors: List[A]) -> Int:
    var earliest = Int.MAX
    for index in range(len(actors)):
        earliest = min(earliest, actors.at(index).seat().next_ns)
    return earliest


def _let_answer[
    U: Answering
](mut upstreams: List[U], mut kernel: Kernel, mut begun: List[Int]) -> String:
    """Has those act who have something to do; says what they were asked, and what
    the last of them finds wrong."""
    var problem = _let_act(upstreams, kernel)
    for index in range(len(upstreams)):
        begun.extend(upstreams.at(index).take_begun())
    return problem^


def _let_act[A: Actor](mut actors: List[A], mut kernel: Kernel) -> String:
    """Has those act who have something to do, and says what the last of them finds
    wrong."""
    var problem = String()
    for index in range(len(actors)):
        ref actor = actors.at(index)
        if actor.seat().is_due(kernel):
            actor.act(kernel)
            if actor.seat().problem.byte_length() > 0:
                problem = actor.seat().problem.copy()
    return problem^


def _find[A: Asking](actors: List[A], id: Int) -> Optional[Asked]:
    for index in range(len(actors)):
        var asked = actors.at(index).asked(id)
        if asked:
            return asked^
    return None


def _is_left_waiting[A: Asking](actors: List[A]) -> Bool:
    for index in range(len(actors)):
        ref actor = actors.at(index)
        if actor.is_judged() and not actor.is_content():
            return True
    return False


def _requests_of[A: Asking](actors: List[A]) -> Int:
    var count = 0
    for index in range(len(actors)):
        count += actors.at(index).request_count()
    return count


def _answers_of[A: Asking](actors: List[A]) -> Int:
    var count = 0
    for index in range(len(actors)):
        count += actors.at(index).answered_count()
    return count


def _excuse[A: Asking](mut actors: List[A]):
    for index in range(len(actors)):
        actors.at(index).excuse()
