"""Health checks: a worker asks an upstream now and then whether it works."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.bytes.padding import Padding
from flare.http.client.message.config import ClientConfig
from flare.http.client.exchange.connect_context import ConnectContext
from flare.http.client.connect.error import ClientError
from flare.http.client.exchange.http2_flight import Http2Flight
from flare.http.client.exchange.http2_link import Http2Link
from flare.http.exchange.forwarded_request import Http1Request
from flare.http.exchange.request_phase import RequestEvent
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from flare.http.h1.serialiser import RequestFraming, RequestStart
from flare.http.message.header_map import HeaderMap
from flare.http.message.method import Method
from flare.http.proxy.rules.forwarding import HostRule
from flare.http.proxy.upstreams.proxy_config import ProxyShared
from flare.http.proxy.upstreams.upstream_group import MemberId
from flare.http.proxy.upstream_link import (
    LinkUser,
    UpstreamLink,
    connector_to,
    open_link,
    start_link,
)
from flare.http.proxy.upstreams.upstreams import Pick
from flare.runtime.event import Event
from flare.runtime.worker_loop import WorkerLoop
from flare.sys.clock import coarse_monotonic_ms
from std.memory import ArcPointer, OwnedPointer

comptime _TICKS_PER_INTERVAL = 4
comptime _TICK_MS_MIN = 10
comptime _TICK_MS_MAX = 1_000
comptime _RESPONSE_LEN = 4_096


def begin_health_checks(
    loop: ArcPointer[WorkerLoop],
    context: ArcPointer[ConnectContext],
    shared: ArcPointer[ProxyShared],
) -> Int:
    """Begins the checks that are due. Returns when to do so again; `NEVER` if none
    are wanted."""
    ref group = shared[].group
    if group.health_path.byte_length() == 0:
        return NEVER
    while True:
        var pick = shared[].upstreams.next_check()
        if not pick:
            break
        _check(loop, context, shared, pick.take())
    var tick_ms = group.health_interval_ms // _TICKS_PER_INTERVAL
    return coarse_monotonic_ms() + min(max(tick_ms, _TICK_MS_MIN), _TICK_MS_MAX)


struct _Check(LinkUser):
    """One question to one upstream, on a connection of its own."""

    var _padding: Padding[128]
    var shared: ArcPointer[ProxyShared]
    var member: MemberId
    var authority: String
    var request: Http1Request
    var link: Optional[ArcPointer[UpstreamLink]]
    # For an upstream that speaks HTTP/2.
    var http2: Optional[OwnedPointer[Http2Link]]
    var flight: Optional[ArcPointer[Http2Flight]]

    def __init__(out self, shared: ArcPointer[ProxyShared], pick: Pick):
        self._padding = {}
        self.shared = shared.copy()
        self.member = pick.choice.member
        ref config = shared[].config
        self.authority = pick.upstream.held()[].authority
        if config.rules.host == HostRule.FIXED:
            # What it answers others by says nothing of what requests ask for.
            self.authority = config.rules.fixed_host
        self.request = Http1Request(Buffer(0))
        self.link = None
        self.http2 = None
        self.flight = None

    @staticmethod
    def on_open(user: ArcPointer[Self]):
        user[].link.held()[].set_deadline(
            user[].shared[].group.health_timeout_ms
        )
        if user[].link.held()[].connection.held()[].is_http2:
            _begin_http2(user)
        else:
            _go_on(user)

    @staticmethod
    def on_refused(user: ArcPointer[Self], error: ClientError):
        _end(user, False)

    @staticmethod
    def on_ready(user: ArcPointer[Self], event: Event):
        if user[].http2:
            _go_on_http2(user)
        else:
            _go_on(user)

    @staticmethod
    def on_late(user: ArcPointer[Self]):
        _end(user, False)


def _check(
    loop: ArcPointer[WorkerLoop],
    context: ArcPointer[ConnectContext],
    shared: ArcPointer[ProxyShared],
    pick: Pick,
):
    ref upstream = pick.upstream.held()[]
    ref group = shared[].group
    var check = ArcPointer(_Check(shared, pick))
    try:
        _ask(check[].request, group.health_path, check[].authority)
    except error:
        return _end(check, False)
    var connector = connector_to(
        upstream,
        group.health_timeout_ms,
        offers_http2=shared[].config.offers_http2(upstream.endpoint.is_tls),
    )
    var link = open_link(loop, context, connector^, check)
    check[].link = link.copy()
    start_link(link)


def _ask(mut request: Http1Request, path: String, authority: String) raises:
    """Writes the question, and makes ready for the answer."""
    request.write_head(
        RequestStart(
            StaticString("GET"), StringSpan(path), StringSpan(authority), 1
        ),
        HeaderMap(),
        RequestFraming.none(),
    )
    request.begin_response(
        OwnedPointer(ResponseParser(_RESPONSE_LEN)), Method.GET
    )


def _go_on(check: ArcPointer[_Check]):
    """Sends what is left of the question, and reads the head of the answer."""
    ref self = check[]
    if not self.link:
        return
    var link = self.link.held().copy()
    if self.request.outgoing.push(link[]) == RequestEvent.BROKEN:
        return _end(check, False)
    ref limits = self.shared[].config.head_limits
    try:
        while True:
            var progress = self.request.receive(link[], limits)
            if progress == ResponseProgress.HEAD_READY:
                var status = self.request.parser.held()[].head.status
                return _end(check, status >= 200 and status < 400)
            if progress == ResponseProgress.NEEDS_OCTETS:
                return
    except:
        _end(check, False)


def _begin_http2(check: ArcPointer[_Check]):
    """Sends the question on a stream of the connection."""
    ref self = check[]
    var connection = self.link.held()[].connection.take()
    var is_tls = connection[].endpoint.is_tls
    var http2 = Http2Link(connection^, ClientConfig())
    http2.reads_to_end = True
    try:
        http2.fields.collect_forwarded(
            RequestStart(
                StaticString("GET"),
                StringSpan(self.shared[].group.health_path),
                StringSpan(self.authority),
                1,
            ),
            is_tls,
            HeaderMap(),
            RequestFraming.none(),
        )
    except:
        return _end(check, False)
    self.flight = http2.open(0, False, True)
    self.http2 = OwnedPointer(http2^)
    _go_on_http2(check)


def _go_on_http2(check: ArcPointer[_Check]):
    """Sends what is left of the question, and looks for the head of the answer."""
    ref self = check[]
    var flight = self.flight.held().copy()
    self.http2.held()[].flush()
    self.http2.held()[].pump()
    if flight[].status > 0:
        return _end(check, flight[].status < 400)
    if flight[].failure:
        return _end(check, False)
    self.http2.held()[].flush()


def _end(check: ArcPointer[_Check], is_good: Bool):
    """Tells the upstreams, once, and closes the connection."""
    ref self = check[]
    self.shared[].upstreams.end_check(self.member, is_good)
    self.flight = None
    self.http2 = None
    if self.link:
        var link = self.link.take()
        link[].close()
