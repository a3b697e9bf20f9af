"""What one worker keeps for a reverse proxy: connections that wait, buffers,
and what TLS needs."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.client.exchange.connect_context import ConnectContext
from flare.http.exchange.idle_pool import IdleConnections, PoolLimits
from flare.http.h1.response_parser import ResponseParser
from flare.http.proxy.rules.forwarding import ForwardedRequest
from flare.http.proxy.health_check import begin_health_checks
from flare.http.proxy.http2_pool import Http2Pool
from flare.http.proxy.name_lookups import begin_name_lookups
from flare.http.proxy.upstreams.proxy_config import ProxyShared
from flare.http.proxy.upstreams.upstream_group import MemberId
from flare.http.proxy.upstream_link import UpstreamLink
from flare.http.proxy.upstreams.waiting_line import WaitingLine, open_line
from flare.http.handler.upstream_facts import UpstreamFacts
from flare.runtime.event import Event
from flare.runtime.worker_loop import LoopTask, WorkerLoop
from flare.sys.clock import coarse_monotonic_ms
from std.memory import ArcPointer, OwnedPointer

comptime PARSER_LEN = 16_384
"""First room for a response, in bytes; it grows for one that comes fast."""

comptime _PARSER_KEEP_LEN_MAX = 131_072
comptime _OUTPUT_LEN = 1_024
comptime _OUTPUT_KEEP_LEN_MAX = 65_536
comptime _SMALL_LEN_MAX = 4_096
comptime _KEPT_COUNT_MAX = 64
comptime _KEPT_SMALL_COUNT_MAX = 1_024
comptime _LOOK_INTERVAL_MS = 1_000


struct _IdleLinks(Movable):
    """Connections to one upstream that wait for a request; the loop closes them
    when they have waited too long."""

    var generation: UInt32
    var idle: IdleConnections[ArcPointer[UpstreamLink]]
    # When closed ones may be looked for again: each look is at all of them.
    var next_look_ms: Int

    def __init__(out self):
        self.generation = 0
        self.idle = IdleConnections[ArcPointer[UpstreamLink]]()
        self.next_look_ms = 0


def _is_closed(link: ArcPointer[UpstreamLink]) -> Bool:
    return not link[].is_open()


def _close_all(links: List[ArcPointer[UpstreamLink]]):
    for link in links:
        if not _is_closed(link):
            link[].close()


struct ProxyWorker(Movable):
    """A worker's own side of a reverse proxy."""

    var _padding: Padding[200]
    var shared: ArcPointer[ProxyShared]
    var context: ArcPointer[ConnectContext]
    var forwarded: ForwardedRequest
    var scratch: Buffer
    """Content on its way from one buffer to another; empty between calls."""
    var http2: Http2Pool
    """Connections on which HTTP/2 is spoken."""
    var line: Optional[ArcPointer[WaitingLine]]
    """Requests that wait for an upstream; nothing if none does."""
    # By the slots of the upstreams.
    var _idle: List[_IdleLinks]
    var _parsers: List[OwnedPointer[ResponseParser]]
    var _outputs: List[Buffer]
    var _facts: List[ArcPointer[UpstreamFacts]]

    def __init__(out self, shared: ArcPointer[ProxyShared]):
        self._padding = {}
        self.shared = shared.copy()
        self.context = ArcPointer(
            ConnectContext(
                shared[].config.tls.copy(), shared[].config.head_limits
            )
        )
        self.context[].addresses = shared[].config.addresses.copy()
        self.forwarded = ForwardedRequest()
        self.scratch = Buffer(0)
        self.http2 = Http2Pool()
        self.line = None
        self._idle = []
        self._parsers = []
        self._outputs = []
        self._facts = []

    def take_idle(
        mut self, member: MemberId
    ) -> Optional[ArcPointer[UpstreamLink]]:
        """Takes out the connection that waited least."""
        var slot = Int(member.slot)
        if slot >= len(self._idle):
            return None
        ref links = self._idle.at(slot)
        if links.generation != member.generation:
            return None
        var old = List[ArcPointer[UpstreamLink]]()
        links.idle.expire(coarse_monotonic_ms(), old)
        _close_all(old)
        var found = links.idle.take()
        while found and _is_closed(found.held()):
            found = links.idle.take()
        return found^

    def put_idle(
        mut self,
        member: MemberId,
        link: ArcPointer[UpstreamLink],
        server_ms: Int = -1,
    ):
        """Keeps a connection for the next request; `server_ms` is as in
        `PoolLimits.wait_ms`."""
        ref config = self.shared[].config
        var now_ms = coarse_monotonic_ms()
        var end_ms = link[].ends_ms(self.shared[].group.max_connection_age_ms)
        var most = config.max_idle_connections
        var wait_ms = PoolLimits(most, most, config.keep_idle_ms).wait_ms(
            server_ms
        )
        if now_ms >= end_ms or wait_ms < 1:
            return link[].close()
        var slot = Int(member.slot)
        while len(self._idle) <= slot:
            self._idle.append(_IdleLinks())
        ref links = self._idle.at(slot)
        if links.generation != member.generation:
            # Another upstream was there before.
            var old = List[ArcPointer[UpstreamLink]]()
            links.idle.clear(old)
            _close_all(old)
            links.generation = member.generation
        if len(links.idle) >= most and now_ms >= links.next_look_ms:
            links.next_look_ms = now_ms + _LOOK_INTERVAL_MS
            links.idle.forget[_is_closed]()
        if len(links.idle) >= most:
            link[].close()
            return
        link[].set_deadline(wait_ms)
        links.idle.put(link.copy(), end_ms)

    def take_parser(mut self) -> OwnedPointer[ResponseParser]:
        """Takes a parser without octets."""
        if len(self._parsers) > 0:
            return self._parsers.pop()
        return OwnedPointer(ResponseParser(PARSER_LEN))

    def give_parser(mut self, var parser: OwnedPointer[ResponseParser]):
        if (
            len(self._parsers) < _KEPT_COUNT_MAX
            and parser[].input.capacity() <= _PARSER_KEEP_LEN_MAX
        ):
            parser[].reset()
            self._parsers.append(parser^)

    def take_output(mut self) -> Buffer:
        """Takes an empty buffer for a request."""
        if len(self._outputs) > 0:
            return self._outputs.pop()
        return Buffer(_OUTPUT_LEN)

    def give_output(mut self, var output: Buffer):
        """Takes such a buffer back."""
        var length_max = (
            _OUTPUT_KEEP_LEN_MAX if len(self._outputs)
            < _KEPT_COUNT_MAX else _SMALL_LEN_MAX
        )
        if (
            len(self._outputs) < _KEPT_SMALL_COUNT_MAX
            and output.capacity() > 0
            and output.capacity() <= length_max
        ):
            output.clear()
            self._outputs.append(output^)

    def take_facts(mut self) -> ArcPointer[UpstreamFacts]:
        """Takes facts that tell of nothing yet."""
        if len(self._facts) > 0:
            return self._facts.pop()
        return ArcPointer(UpstreamFacts())

    def give_facts(mut self, facts: ArcPointer[UpstreamFacts]):
        """Takes such facts back, unless somebody keeps them."""
        if facts.count() == 1 and len(self._facts) < _KEPT_COUNT_MAX:
            facts[] = UpstreamFacts()
            self._facts.append(facts.copy())


def worker_of(
    loop: ArcPointer[WorkerLoop], shared: ArcPointer[ProxyShared]
) -> ArcPointer[ProxyWorker]:
    """Finds what a worker keeps for a proxy, or makes it."""
    # Nobody else has that address while the proxy lives.
    var key = Int(Pointer(to=shared[]))
    # SAFETY: kept below, under the same key, with the same type.
    var kept = loop[].unsafe_local[ProxyWorker](key)
    if kept:
        return kept.held().copy()
    var made = ArcPointer(ProxyWorker(shared))
    ref group = shared[].group
    if group.max_requests > 0 and group.queue_timeout_ms > 0:
        made[].line = open_line(loop, shared[].upstreams)
    loop[].keep_local(key, made)
    if group.health_path.byte_length() > 0 or group.lookup_interval_ms > 0:
        var chores = ArcPointer(_Chores(loop, made[].context, shared, 0))
        chores[].token = loop[].add(chores)
        _Chores.on_deadline(chores)
    return made^


@fieldwise_init
struct _Chores(LoopTask):
    """Begins health checks and look-ups of names that are due; each worker has one,
    and each check and look-up is made by one of them."""

    var loop: ArcPointer[WorkerLoop]
    var context: ArcPointer[ConnectContext]
    var shared: ArcPointer[ProxyShared]
    var token: UInt64

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        """Never comes: nothing is watched."""
        return

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        ref self = task[]
        var next_ms = min(
            begin_health_checks(self.loop, self.context, self.shared),
            begin_name_lookups(self.loop, self.shared),
        )
        self.loop[].set_deadline(self.token, next_ms)
