"""Names of upstreams looked up again and again, beside the requests: a worker asks,
and all of them know the answer."""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.dns.resolve import RESOLVE_TIMEOUT_MS, Resolving
from flare.http.proxy.upstreams.proxy_config import ProxyShared
from flare.http.proxy.upstreams.upstream_group import MEMBERS_MAX
from flare.http.proxy.upstreams.upstreams import Upstream
from flare.net.ip import IpAddr
from flare.runtime.event import Event, Interest
from flare.runtime.worker_loop import LoopTask, WorkerLoop
from flare.sys.clock import Deadline, coarse_monotonic_ms
from flare.sys.log import log_line
from std.memory import ArcPointer

comptime _TICK_MS_MIN = 10


def begin_name_lookups(
    loop: ArcPointer[WorkerLoop], shared: ArcPointer[ProxyShared]
) -> Int:
    """Begins the look-ups that are due. Returns when to do so again; `NEVER` if
    none are wanted."""
    if shared[].group.lookup_interval_ms == 0:
        return NEVER
    while True:
        var url = shared[].upstreams.next_lookup()
        if not url:
            break
        _begin(loop, shared, url.take())
    var soonest_ms = coarse_monotonic_ms() + _TICK_MS_MIN
    return max(shared[].upstreams.next_lookup_ms(), soonest_ms)


struct _Lookup(LoopTask):
    """One question to the resolver."""

    var loop: ArcPointer[WorkerLoop]
    var shared: ArcPointer[ProxyShared]
    var url: String
    var resolving: Optional[Resolving]
    var token: UInt64
    var is_over: Bool

    def __init__(
        out self,
        loop: ArcPointer[WorkerLoop],
        shared: ArcPointer[ProxyShared],
        var url: String,
    ):
        self.loop = loop.copy()
        self.shared = shared.copy()
        self.url = url^
        self.resolving = None
        self.token = 0
        self.is_over = False

    def __deinit__(deinit self):
        if not self.is_over:
            # The worker has ended; another one asks.
            _ = self.shared[].upstreams.end_lookup(self.url, List[IpAddr]())

    def end(mut self, addresses: List[IpAddr], reason: StringSpan):
        """Tells the upstreams, and the log what is news."""
        self.is_over = True
        var news = self.shared[].upstreams.end_lookup(self.url, addresses)
        if news.exceeds:
            log_line(
                String(
                    "proxy: ",
                    self.url,
                    " has ",
                    news.found_count,
                    " addresses, of which ",
                    news.used_count,
                    " get requests: a group has at most ",
                    MEMBERS_MAX,
                    " upstreams",
                )
            )
        if news.fails:
            log_line(
                String(
                    "proxy: ",
                    self.url,
                    " cannot be looked up, and keeps the addresses it has: ",
                    reason,
                )
            )

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        _go_on(task)

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        """Gives up, if its own clock says so, too."""
        task[].loop[].set_deadline(
            task[].token, coarse_monotonic_ms() + _TICK_MS_MIN
        )
        _go_on(task)


def _begin(
    loop: ArcPointer[WorkerLoop],
    shared: ArcPointer[ProxyShared],
    var url: String,
):
    var lookup = ArcPointer(_Lookup(loop, shared, url^))
    try:
        if _ask(lookup):
            return
    except error:
        return lookup[].end([], String(error))
    lookup[].token = loop[].add(lookup)
    try:
        loop[].watch(
            lookup[].resolving.held().fd(), lookup[].token, Interest.READ
        )
    except error:
        lookup[].end([], String(error))
        return loop[].remove(lookup[].token)
    loop[].set_deadline(
        lookup[].token, coarse_monotonic_ms() + RESOLVE_TIMEOUT_MS
    )


def _ask(lookup: ArcPointer[_Lookup]) raises -> Bool:
    """Asks the program's own resolver, or begins to ask the system; True if the
    answer is there."""
    ref self = lookup[]
    var endpoint = Upstream(self.url).endpoint.copy()
    var own = self.shared[].config.addresses.find(endpoint.host, endpoint.port)
    if len(own) > 0:
        self.end(own, "")
        return True
    var resolving = Resolving(endpoint.host, 0, Deadline(RESOLVE_TIMEOUT_MS))
    if resolving.fd() < 0:
        # Such as of `localhost`, for which nobody is asked.
        self.end(resolving^.take(), "")
        return True
    self.resolving = resolving^
    return False


def _go_on(lookup: ArcPointer[_Lookup]):
    ref self = lookup[]
    if not self.resolving:
        return
    try:
        if not self.resolving.held().advance():
            return
        _end_watch(lookup)
        var addresses = self.resolving.take().take()
        self.end(addresses, "")
    except error:
        _end_watch(lookup)
        self.resolving = None
        self.end([], String(error))
    self.loop[].remove(self.token)


def _end_watch(lookup: ArcPointer[_Lookup]):
    if lookup[].resolving:
        lookup[].loop[].unwatch(lookup[].resolving.held().fd())
