"""One request on its way through a reverse proxy, from the handler's call to the
last octet of its response.

What it waits for is a `RequestPhase`; what is sent and received is an
`UpstreamRequest`. Here it meets its upstream: one is chosen, connected to, asked,
and given back. Functions take the counted pointer, since what they call may lead
back here by another copy.

    _start --> _connect, or _join and _open --> _send --> _on_head --> _respond
     ^  ^                                         |           |
     |  |                               no answer |           | a status that asks
     |  |                                         v           | for another upstream
     |  +-- _start_at_same <-- SAME ------- _end_attempt      |
     |      _go_plain <-- OVER_HTTP_1_1 --------+ |           |
     +----- _start_at_chosen <-- CHOSEN ----------+-----------+

An attempt goes to one upstream. When it has ended, `next_attempt` says whether the
same one is asked once more, which counts nowhere; else the group chooses, and counts.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.client.connect.error import ClientError
from flare.http.client.exchange.http2_flight import (
    Http2Flight,
    StreamAnswer,
)
from flare.http.exchange.forwarded_request import reason_of
from flare.http.exchange.request_phase import (
    RequestEvent,
    RequestPhase,
    STATUS_MAX,
    phase_after,
)
from flare.http.exchange.retry_rules import AttemptEnd, EndedAttempt
from flare.http.exchange.outgoing_request import Supply
from flare.http.h1.framing import CONTINUE, SWITCHING_PROTOCOLS
from flare.http.h1.response_parser import ResponseProgress
from flare.http.handler.failure import refusal
from flare.http.handler.later import Completion, Errand
from flare.http.message.body import Body, BodySource, Poll, StreamWaker
from flare.http.message.fields import Fields
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.method import Method
from flare.http.message.response import Response
from flare.http.message.status import Status
from flare.http.message.trailers import Trailers
from flare.http.proxy.http2_upstream import (
    UpstreamState,
    open_upstream,
    settle,
    take_plain,
)
from flare.http.proxy.rules.response_rewriting import UpstreamNames
from flare.http.proxy.upstreams.lateness import (
    UNBOUNDED_MS,
    HeadTime,
    outcome_of_late,
    reason_of_late,
    wait_ms,
)
from flare.http.proxy.upstreams.outcome import Outcome
from flare.http.proxy.upstreams.next_attempt import (
    NextAttempt,
    end_of_failure,
    next_attempt,
    pause_ms,
    says_nothing,
)
from flare.http.proxy.upstreams.placement import (
    Placement,
    outcome_of_failure,
    outcome_of_refusal,
    reason_over_http1,
)
from flare.http.proxy.proxy_worker import ProxyWorker
from flare.http.proxy.stream_tunnel import (
    begin_stream_tunnel,
    end_unless_tunnel,
)
from flare.http.proxy.tunnel import agree_on_protocol, begin_tunnel
from flare.http.proxy.upstream_content import has_events
from flare.http.proxy.upstream_link import (
    LinkUser,
    UpstreamLink,
    connector_to,
    open_link,
    start_link,
)
from flare.http.proxy.upstream_request import UpstreamHead, UpstreamRequest
from flare.http.proxy.upstream_stream import UpstreamStream
from flare.http.proxy.upstreams.upstreams import Pick
from flare.runtime.event import Event
from flare.runtime.worker_loop import LoopTask, WorkerLoop
from flare.sys.clock import coarse_monotonic_ms
from std.memory import ArcPointer

comptime _BAD_REQUEST = 400
comptime _FIELDS_TOO_LARGE = 431

comptime _TAKES_NO_MORE = "its connections take no more requests"


struct Exchange(Errand, LinkUser, LoopTask):
    """A request under way to an upstream."""

    var _padding: Padding[128]
    var worker: ArcPointer[ProxyWorker]
    var loop: ArcPointer[WorkerLoop]
    var phase: RequestPhase
    var request: UpstreamRequest
    var place: Placement
    var asks_upstreams_host: Bool
    """True if Host is the upstream's, whichever it is."""
    var host: String
    """The Host that the upstream is asked for."""
    var same_count: Int
    """How often the upstream at hand was asked once more."""
    var upgrade: String
    """The protocol that is asked for; empty if none is."""
    var accept: String
    """What answers the key that the gateway has made for a WebSocket; empty if the
    client has one."""
    var response: Response
    var _completion: Optional[Completion]
    # Rings for the client's connection, while content goes to it.
    var _waker: Optional[StreamWaker]
    # What has followed the content of the response.
    var _trailers: Trailers
    var _head_time: HeadTime
    # By what the loop knows it; 0 if it does not.
    var _token: UInt64

    def __init__(
        out self,
        worker: ArcPointer[ProxyWorker],
        loop: ArcPointer[WorkerLoop],
        method_name: StringSpan,
    ):
        self._padding = {}
        self.worker = worker.copy()
        self.loop = loop.copy()
        self.phase = RequestPhase.NEW
        self.request = UpstreamRequest(method_name, worker[].take_output())
        self.place = Placement(
            worker[].shared, method_name, worker[].take_facts()
        )
        self.asks_upstreams_host = False
        self.host = String()
        self.same_count = 0
        self.upgrade = String()
        self.accept = String()
        self.response = Response(500)
        self._completion = None
        self._waker = None
        self._trailers = Trailers()
        self._head_time = HeadTime()
        self._token = 0

    def __deinit__(deinit self):
        """Gives back to the worker what the next request can use."""
        self.worker[].give_facts(self.place.facts)
        var output = Buffer(0)
        swap(output, self.request.http1.outgoing.output)
        self.worker[].give_output(output^)

    @staticmethod
    def begin(errand: ArcPointer[Self], var completion: Completion):
        """Sends the request, or waits for an upstream that has room."""
        errand[]._completion = completion^
        if errand[].place.upstream:
            _start(errand)
        else:
            _queue(errand)

    @staticmethod
    def on_content(errand: ArcPointer[Self]):
        """Sends what has come of the request's content, unless the upstream has
        yet to take what came before."""
        if errand[].phase == RequestPhase.FEEDING:
            _send(errand)
            _settle(errand)

    @staticmethod
    def cancel(errand: ArcPointer[Self]):
        """Gives the upstream up, since the client has gone."""
        errand[]._completion = None
        _drop(errand)

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        """Goes on with an upstream that has room, or with content that goes on
        after the response's head.
        """
        if task[].phase == RequestPhase.QUEUED:
            _arrive(task)
        elif task[].phase == RequestPhase.BOTH_WAYS:
            _send_behind_head(task)
            _settle(task)

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        """Ends what has waited too long, or begins what has waited for its time."""
        ref x = task[]
        if x.phase == RequestPhase.QUEUED:
            return _end_wait(task, x.place.end_wait())
        var waited_for = x._head_time.late_phase(x.phase, x.loop[].now_ms)
        if waited_for == RequestPhase.PAUSED:
            _start(task)
        elif waited_for == RequestPhase.ASKING:
            x._move(RequestEvent.CONTINUE)
            _send(task)
            _settle(task)
        elif waited_for.may_be_late():
            ref config = x.worker[].shared[].config
            var reason = reason_of_late(waited_for, config)
            _fail(task, outcome_of_late(waited_for), reason)

    @staticmethod
    def on_open(user: ArcPointer[Self]):
        """Sends the request on the new connection."""
        user[]._move(RequestEvent.OPEN)
        user[].place.note_connected()
        _send(user)

    @staticmethod
    def on_refused(user: ArcPointer[Self], error: ClientError):
        """Answers in place of an upstream that cannot be reached."""
        var reason = String("cannot connect: ", error.reason)
        _fail(user, outcome_of_refusal(error), reason)

    @staticmethod
    def on_ready(user: ArcPointer[Self], event: Event):
        if user[].request.http2:
            return _on_news(user)
        if user[].phase.has_head():
            if event.is_writable and user[].phase == RequestPhase.BOTH_WAYS:
                _send_behind_head(user)
            if event.is_readable:
                user[]._wake()
            return
        if event.is_readable:
            _receive(user)
        if event.is_writable and user[].phase == RequestPhase.SENDING:
            _send(user)

    @staticmethod
    def on_late(user: ArcPointer[Self]):
        Self.on_deadline(user)

    def _move(mut self, event: RequestEvent):
        var before = self.phase
        self.phase = phase_after(before, event)
        if self.phase == RequestPhase.SENDING and before != self.phase:
            # The upstream had all that was there, and has something to take.
            self.request.progress_ms = self.loop[].now_ms

    def _wake(mut self):
        """Lets the client's connection look for content of the response."""
        if self._waker:
            self.loop[].woken.append(self._waker.held().place())

    def _forward_fields(
        self, received: Fields, mut out: HeaderMap
    ) raises HeaderError:
        """Adds the fields of a response to the client. Raises if they are longer
        than a header block may be."""
        self.worker[].shared[].config.rules.forward_response(
            received,
            UpstreamNames(
                StringSpan(self.place.upstream.held()[].authority),
                StringSpan(self.host),
            ),
            out,
        )


def _queue(e: ArcPointer[Exchange]):
    """Waits until an upstream has room, if it may."""
    ref x = e[]
    x._move(RequestEvent.QUEUE)
    _join_loop(e)
    ref line = x.worker[].line
    if not line or not x.place.wait(line.held()[].number, x._token):
        return _finish(e, x.place.no_upstream())
    x.loop[].set_deadline(
        x._token,
        coarse_monotonic_ms() + x.worker[].shared[].group.queue_timeout_ms,
    )


def _arrive(e: ArcPointer[Exchange]):
    """Goes on with the upstream that the wait has brought, if there is one."""
    ref x = e[]
    var pick = Optional[Pick](None)
    swap(pick, x.worker[].line.held()[].handed)
    if pick:
        _end_wait(e, x.place.take(pick.take()))


def _end_wait(e: ArcPointer[Exchange], has_upstream: Bool):
    ref x = e[]
    if not has_upstream:
        return _finish(e, x.place.no_upstream())
    _leave_loop(e)
    _write_upstreams_host(e)
    _start(e)


def _join_loop(e: ArcPointer[Exchange]):
    """Has the loop know it, for its time and for content that goes on."""
    if e[]._token == 0:
        var loop = e[].loop.copy()
        e[]._token = loop[].add(e)


def _leave_loop(e: ArcPointer[Exchange]):
    if e[]._token != 0:
        e[].loop[].remove(e[]._token)
        e[]._token = 0


def _set_deadline(e: ArcPointer[Exchange], wait_ms: Int):
    """Sets the time for what is waited for, within that of the response's head."""
    ref x = e[]
    var token = x._token if x.request.http2 else x.request.link.held()[].token
    x.loop[].set_deadline(token, x._head_time.deadline_ms(wait_ms))


def _settle(e: ArcPointer[Exchange]):
    """Sends what was written on a connection that others share, unless that does
    so itself."""
    if e[].request.http2 and e[].request.http2.held()[].stream:
        var upstream = e[].request.http2.held()[].stream.held().upstream.copy()
        settle(upstream)


def _write_upstreams_host(e: ArcPointer[Exchange]):
    """Asks another upstream for its own Host, if that is to be."""
    ref x = e[]
    if not x.asks_upstreams_host:
        return
    x.host = x.place.authority()
    if not x.request.http2:
        x.request.http1.replace_host(x.host)


def _start(e: ArcPointer[Exchange]):
    """Begins an attempt at the upstream that was chosen."""
    ref x = e[]
    x._move(RequestEvent.BEGIN)
    if not x.request.http2:
        return _connect(e, trusts_idle=True)
    ref config = x.worker[].shared[].config
    var is_tls = x.place.upstream.held()[].endpoint.is_tls
    var is_tunnel = x.request.http2.held()[].handshake.__bool__()
    if config.offers_http2(is_tls) and x.worker[].http2.may_ask(
        x.place.member, is_tunnel=is_tunnel
    ):
        _join(e)
    else:
        _go_plain(e)


def _connect(e: ArcPointer[Exchange], *, trusts_idle: Bool):
    """Sends the request over HTTP/1.1, on an idle connection if there is one."""
    ref x = e[]
    x.request.http1.outgoing.begin_attempt()
    var idle = Optional[ArcPointer[UpstreamLink]](None)
    if trusts_idle:
        idle = x.worker[].take_idle(x.place.member)
    if idle:
        return _send_on(e, idle.take(), is_new=False)
    x.request.take_connection(is_new=True, now_ms=x.loop[].now_ms)
    var connector = connector_to(
        x.place.upstream.held()[],
        x.worker[].shared[].config.connect_timeout_ms,
        offers_http2=False,
    )
    var link = open_link(x.loop, x.worker[].context, connector^, e)
    x.request.link = link.copy()
    start_link(link)


def _send_on(
    e: ArcPointer[Exchange], var link: ArcPointer[UpstreamLink], *, is_new: Bool
):
    """Sends the request over HTTP/1.1, on a connection that is open."""
    ref x = e[]
    x.request.take_connection(is_new=is_new, now_ms=x.loop[].now_ms)
    link[].lend(e)
    x.request.link = link^
    x._move(RequestEvent.OPEN)
    _send(e)


def _join(e: ArcPointer[Exchange]):
    """Takes a part in a connection that speaks HTTP/2: one that is there, or a new
    one."""
    ref x = e[]
    ref side = x.request.http2.held()[]
    var worker = x.worker.copy()
    _join_loop(e)
    _set_deadline(e, UNBOUNDED_MS)
    var found = worker[].http2.find(x.place.member)
    if found:
        var upstream = found.take()
        side.stream = UpstreamStream(upstream, upstream[].join(e))
        if not upstream[].is_opening():
            _open(e)
            _settle(e)
        return
    ref config = worker[].shared[].config
    var made = worker[].http2.add(x.place.member, config)
    side.stream = UpstreamStream(made, made[].join(e))
    ref to = x.place.upstream.held()[]
    var connector = connector_to(
        to,
        config.connect_timeout_ms,
        offers_http2=config.offers_http2(to.endpoint.is_tls),
    )
    var loop = x.loop.copy()
    open_upstream(made, loop, worker[].context, connector^)


def _on_news(e: ArcPointer[Exchange]):
    """Goes on with what has come of a connection that others share."""
    if e[].phase == RequestPhase.CONNECTING:
        _on_connection(e)
    elif e[].request.has_stream():
        _on_stream(e)


def _on_connection(e: ArcPointer[Exchange]):
    ref x = e[]
    ref upstream = x.request.http2.held()[].stream.held().upstream[]
    if upstream.state == UpstreamState.REFUSED:
        Exchange.on_refused(e, upstream.failure.held().copy())
    elif upstream.state == UpstreamState.HTTP1:
        x.worker[].http2.note_http1(x.place.member)
        _go_plain(e)
    elif upstream.state == UpstreamState.HTTP2:
        x.place.note_connected()
        _open(e)


def _go_plain(e: ArcPointer[Exchange]):
    """Goes on over HTTP/1.1, on the connection that has been opened if nobody was
    first."""
    ref x = e[]
    x.same_count = 0
    var side = x.request.http2.take()
    var link = Optional[ArcPointer[UpstreamLink]](None)
    if side[].stream:
        var stream = side[].stream.take()
        link = take_plain(stream.upstream)
        stream^.give_back()
    _leave_loop(e)
    try:
        side[].request.write_to(
            x.request.http1, StringSpan(x.place.method_name), StringSpan(x.host)
        )
    except error:
        if link:
            x.worker[].put_idle(x.place.member, link.held())
        return _finish(e, refusal(_BAD_REQUEST, String(error, "\n")))
    if x.phase != RequestPhase.CONNECTING:
        x._move(RequestEvent.BEGIN)
    if not link:
        return _connect(e, trusts_idle=True)
    x.place.note_connected()
    x.request.http1.outgoing.begin_attempt()
    _send_on(e, link.take(), is_new=True)


def _open(e: ArcPointer[Exchange]):
    """Sends the head as soon as there is a stream for it."""
    ref x = e[]
    ref side = x.request.http2.held()[]
    var upstream = side.stream.held().upstream.copy()
    ref link = upstream[].http2.held()[]
    ref config = x.worker[].shared[].config
    var is_tunnel = side.handshake.__bool__()
    if is_tunnel and not _ensure_tunnel(e):
        return
    if link.is_closing():
        return _end_attempt(
            e, AttemptEnd.LEFT_BEHIND, Outcome.RESET, _TAKES_NO_MORE
        )
    if upstream[].knows_streams_max() and link.room() == 0:
        if upstream[].streams_max() > 0:
            return _start_at_same(e, pause_ms=0)
        link.wait(side.stream.held().number)
        return _set_deadline(e, config.connect_timeout_ms)
    var is_doubtful = link.awaits_pong() and not x.place.is_idempotent()
    try:
        side.stream.held().collect(
            side.request,
            StringSpan(x.place.method_name),
            StringSpan(x.host),
            is_tunnel=is_tunnel,
        )
    except error:
        return _finish(
            e, refusal(_FIELDS_TOO_LARGE, String(error.reason, "\n"))
        )
    if is_doubtful or not link.has_room():
        link.wait(side.stream.held().number)
        return _set_deadline(e, config.connect_timeout_ms)
    side.request.outgoing.begin_attempt()
    if not side.stream.held().open(
        x.request.method == Method.HEAD,
        ends=side.request.is_empty() and not is_tunnel,
        is_tunnel=is_tunnel,
    ):
        return _end_attempt(
            e, AttemptEnd.LEFT_BEHIND, Outcome.RESET, _TAKES_NO_MORE
        )
    x.request.take_connection(
        is_new=upstream[].request_count == 0, now_ms=x.loop[].now_ms
    )
    upstream[].request_count += 1
    x._move(RequestEvent.OPEN)
    if is_tunnel:
        return _await_head(e)
    _send(e)


def _ensure_tunnel(e: ArcPointer[Exchange]) -> Bool:
    """Tells whether the upstream takes a WebSocket on a stream; where it does not,
    or has not said so yet (RFC 8441 section 3), the request goes on by itself.
    """
    ref x = e[]
    ref side = x.request.http2.held()[]
    var upstream = side.stream.held().upstream.copy()
    ref link = upstream[].http2.held()[]
    if not link.session.state.has_settings:
        if link.failure:
            # Whoever fails last closes the connection.
            var failure = link.failure.held().copy()
            _fail(e, outcome_of_failure(failure, False), failure.reason)
        else:
            link.wait(side.stream.held().number)
            _set_deadline(e, x.worker[].shared[].config.connect_timeout_ms)
    elif not link.session.state.remote.enable_connect_protocol:
        x.worker[].http2.note_no_tunnels(x.place.member)
        _go_plain(e)
    elif side.handshake.held().fault.byte_length() > 0:
        # Nobody behind sees the key.
        _finish(e, refusal(_BAD_REQUEST, side.handshake.held().fault))
    else:
        return True
    return False


def _send(e: ArcPointer[Exchange]):
    """Sends what is there of the request, and sets the time for what follows."""
    ref x = e[]
    var event: RequestEvent
    try:
        event = x.request.push(x.worker[].scratch, x.loop[].now_ms)
    except error:
        # The client has broken a rule or gone, and was told so.
        return _finish(e, refusal(error.status, String(error.reason)))
    if event == RequestEvent.BROKEN:
        return _on_broken(e)
    if x.request.has_failed():
        # The connection has broken meanwhile, and will say so.
        return
    if event == RequestEvent.SENT:
        return _await_head(e)
    x._move(event)
    var time_ms = wait_ms(x.phase, x.worker[].shared[].config)
    if x.phase == RequestPhase.SENDING:
        # More content of the client's is no sign of the upstream.
        var end_ms = x.request.progress_ms + time_ms
        time_ms = max(end_ms - coarse_monotonic_ms(), 0)
    _set_deadline(e, time_ms)


def _await_head(e: ArcPointer[Exchange]):
    """Waits for the head of the response, all of the request being sent."""
    ref x = e[]
    x._move(RequestEvent.SENT)
    x._head_time.begin(x.worker[].shared[].config.head_timeout_ms)
    _set_deadline(e, UNBOUNDED_MS)


def _on_broken(e: ArcPointer[Exchange]):
    """Looks for a response before giving up (RFC 9112 section 9.5)."""
    ref x = e[]
    x._move(RequestEvent.BROKEN)
    var token = x.request.link.held()[].token
    x.request.link.held()[].look_again()
    _receive(e)
    # Another attempt may wait by now, which has not failed.
    if (
        x.phase == RequestPhase.AWAITING
        and x.request.link.held()[].token == token
    ):
        var reason = String(
            "cannot send: ", reason_of(x.request.http1.outgoing.error_number)
        )
        _fail(e, Outcome.RESET, reason)


def _receive(e: ArcPointer[Exchange]):
    """Receives up to the head of the response."""
    ref x = e[]
    if not x.phase.may_have_head():
        return
    var was_asking = x.phase == RequestPhase.ASKING
    ref limits = x.worker[].shared[].config.head_limits
    try:
        if not x.request.http1.parser:
            x.request.http1.begin_response(
                x.worker[].take_parser(),
                x.request.method,
                expects_switching=x.upgrade.byte_length() > 0,
            )
        var progress = x.request.advance(limits)
        while progress == ResponseProgress.INTERIM:
            ref parser = x.request.http1.parser.held()[]
            if parser.head.status == CONTINUE:
                x._move(RequestEvent.CONTINUE)
            _pass_interim(e, parser.head.status, parser.fields())
            progress = x.request.advance(limits)
        if progress == ResponseProgress.HEAD_READY:
            _on_head(e)
    except error:
        var outcome = Outcome.RESET
        if x.request.http1.has_response():
            outcome = Outcome.BAD_RESPONSE
        return _fail(e, outcome, String(error))
    if was_asking and x.phase == RequestPhase.SENDING:
        # 100 has come.
        _send(e)


def _pass_interim(
    e: ArcPointer[Exchange], status: Int, received: Fields
) raises:
    """Passes an interim response on (RFC 9110 section 15.2), unless the client has
    gone."""
    ref x = e[]
    if x._completion:
        var fields = HeaderMap()
        x.worker[].shared[].config.rules.forward_interim(
            received,
            UpstreamNames(
                StringSpan(x.place.upstream.held()[].authority),
                StringSpan(x.host),
            ),
            fields,
        )
        x._completion.held().send_interim(status, fields^)


def _on_stream(e: ArcPointer[Exchange]):
    """Takes what has come on the stream, and sends what windows allow."""
    ref x = e[]
    if not x.request.http2.held()[].stream.held().flight:
        return
    var flight = x.request.flight()
    flight[].has_news = False
    if x.phase.has_head():
        if x.phase == RequestPhase.BOTH_WAYS:
            _send_behind_head(e)
        return x._wake()
    try:
        while len(flight[].interim) > 0:
            var received = flight[].interim.pop(0)
            _pass_interim(e, received.status, received.kept.fields())
        if flight[].status > 0:
            return _on_head(e)
    except error:
        return _fail(e, Outcome.BAD_RESPONSE, String(error))
    if flight[].failure:
        return _on_failure(e, flight)
    if flight[].answer == StreamAnswer.CONTINUE:
        x._move(RequestEvent.CONTINUE)
    if x.phase.is_sending():
        _send(e)


def _on_failure(e: ArcPointer[Exchange], flight: ArcPointer[Http2Flight]):
    """Looks what is known of a request that will not be answered."""
    ref x = e[]
    ref failure = flight[].failure.held()
    var end = x.request.http2.held()[].stream.held().end()
    var outcome = outcome_of_failure(failure, x.request.is_silent())
    if end == AttemptEnd.UNTOUCHED:
        outcome = Outcome.REFUSED
    _end_attempt(e, end, outcome, failure.reason)


def _on_head(e: ArcPointer[Exchange]) raises:
    """Looks what a head that is complete leads to: a tunnel, a wait for the
    stream's end, another attempt, or the response."""
    ref x = e[]
    var head = x.request.head()
    if head.status > STATUS_MAX:
        # RFC 9110 section 15: there is no such class.
        raise Error("it answers with status ", head.status)
    var is_stream = x.request.http2.__bool__()
    if not is_stream and x.request.http1.parser.held()[].is_late_close():
        if _ended(e, AttemptEnd.LOST, was_sent=True).goes_anew():
            return _end_attempt(
                e, AttemptEnd.LOST, Outcome.RESET, "it has closed, with 408"
            )
    x.place.note_head(head.status)
    if is_stream:
        ref side = x.request.http2.held()[]
        if side.handshake and end_unless_tunnel(side.stream.held()):
            return _open_tunnel(e)
    if is_stream and not head.has_content:
        var flight = x.request.flight()
        if not flight[].has_ended():
            return _await_end(e, flight)
    if x.place.choose_by_status(
        head.status, content_is_kept=x.request.supply().is_kept()
    ):
        x._head_time = HeadTime()
        return _start_at_chosen(e)
    _respond(e, head)


def _respond(e: ArcPointer[Exchange], head: UpstreamHead) raises:
    """Makes the response of a head: it changes the protocol, has no content, or
    content that is here, or to come."""
    ref x = e[]
    ref limits = x.worker[].shared[].config.head_limits
    var is_stream = x.request.http2.__bool__()
    var response = Response(500)
    swap(response, x.response)
    response.status = Status(head.status)
    if is_stream:
        var flight = x.request.flight()
        x._forward_fields(flight[].kept.fields(), response.headers)
    else:
        x._forward_fields(
            x.request.http1.parser.held()[].fields(), response.headers
        )
    if not is_stream and head.status == SWITCHING_PROTOCOLS:
        return _switch(e, response^)
    if not head.has_content:
        if x.request.method == Method.HEAD and head.length:
            response.headers.set("Content-Length", String(head.length.held()))
        if not is_stream and (
            x.request.advance(limits) != ResponseProgress.END
        ):
            raise Error("content where there is none")
        _end(e)
        return _finish(e, response^)
    var content = response.body.take_octets()
    if x.request.take_here(content, limits):
        _end(e)
        if not x._trailers:
            response.body = Body(content^)
            return _finish(e, response^)
    var source = _Content(e, content^, has_events(response))
    response.body = Body(source^, length=head.length)
    if x.phase != RequestPhase.OVER:
        _leave_rest(e)
    x._completion.take().finish(response^)


def _await_end(e: ArcPointer[Exchange], flight: ArcPointer[Http2Flight]):
    """Waits for the end of a response that has no content: it comes in a moment,
    and a reset before it would be told as a failure there."""
    if flight[].failure:
        _on_failure(e, flight)
    elif e[].phase.is_sending():
        _send(e)


def _leave_rest(e: ArcPointer[Exchange]):
    """Leaves the rest of the response to the client's connection, and goes on with
    the request if the upstream may still want it."""
    ref x = e[]
    var wants_rest = x.request.may_want_rest()
    x._move(RequestEvent.HEAD if wants_rest else RequestEvent.REFUSAL)
    x._head_time = HeadTime()
    _set_deadline(e, UNBOUNDED_MS)
    if x.phase == RequestPhase.BOTH_WAYS:
        if x.request.content:
            _join_loop(e)
            x.request.content.held().go_on(x._token)
        # Content that has come by now was told to the errand, which is over.
        _send_behind_head(e)
    if x.phase == RequestPhase.BOTH_WAYS:
        # What is lent goes with the request.
        x.request.http1.outgoing.copy_loan()
    else:
        x.worker[].give_output(x.request.end_sending())


def _send_behind_head(e: ArcPointer[Exchange]):
    """Sends what there is of the request after the head of its response. What
    goes wrong with it is said by what follows: the client's connection or the
    response ends."""
    ref x = e[]
    var event = RequestEvent.BROKEN
    try:
        event = x.request.push(x.worker[].scratch, x.loop[].now_ms)
    except:
        # The client has broken it off.
        pass
    x._move(event)
    if x.phase == RequestPhase.BOTH_WAYS:
        return
    if event == RequestEvent.BROKEN:
        x.request.http1.outgoing.supply = Supply.CUT
    x.worker[].give_output(x.request.end_sending())
    if event == RequestEvent.BROKEN and x.request.link:
        # It may have answered before it closed (RFC 9112 section 9.5).
        x.request.link.held()[].look_again()
        x._wake()


def _pull(e: ArcPointer[Exchange], mut out: Buffer) raises -> Poll:
    """Takes what has come of the content, and lets the upstream send more."""
    ref x = e[]
    var poll = x.request.pull(out, x.worker[].shared[].config.head_limits)
    if poll == Poll.DONE:
        _end(e)
    else:
        _settle(e)
    return poll


def _open_tunnel(e: ArcPointer[Exchange]) raises:
    """Leaves the stream to a tunnel."""
    ref x = e[]
    ref side = x.request.http2.held()[]
    var response = Response(SWITCHING_PROTOCOLS)
    var flight = x.request.flight()
    x._forward_fields(flight[].kept.fields(), response.headers)
    side.handshake.held().answer(response.headers)
    response.body = begin_stream_tunnel(
        side.stream.take(),
        x.loop,
        x.worker[].shared[].config.idle_timeout_ms,
    )
    _ = x.place.report(Outcome.answered(SWITCHING_PROTOCOLS))
    _finish(e, response^)


def _switch(e: ArcPointer[Exchange], var response: Response) raises:
    """Leaves the connection to a tunnel, since both sides have changed their
    protocol."""
    ref x = e[]
    if x.phase != RequestPhase.AWAITING:
        # RFC 9110 section 7.8: what is left of the request is of no protocol.
        raise Error("it changes the protocol before it has the whole request")
    agree_on_protocol(
        x.request.http1.parser.held()[], x.upgrade, x.accept, response
    )
    ref config = x.worker[].shared[].config
    if x.request.advance(config.head_limits) != ResponseProgress.END:
        raise Error("101 has content")
    response.body = begin_tunnel(
        x.request.link.take(),
        x.loop,
        x.request.http1.parser.held()[].input.span(),
        config.idle_timeout_ms,
    )
    _ = x.place.report(Outcome.answered(SWITCHING_PROTOCOLS))
    _finish(e, response^)


def _end(e: ArcPointer[Exchange]):
    """Gives connection or stream back, since the response is complete."""
    ref x = e[]
    x._trailers = x.request.trailers()
    # A connection on which the request is still sent is of no use.
    var was_sent = (
        x.phase == RequestPhase.AWAITING or x.phase == RequestPhase.CONTENT
    )
    if was_sent:
        var kept = x.request.keep_link()
        if kept:
            x.worker[].put_idle(x.place.member, kept.held(), x.request.keep_ms)
    _ = x.place.report(Outcome.answered(x.place.facts[].status))
    x._move(RequestEvent.END)
    _let_go(e)


def _drop(e: ArcPointer[Exchange]):
    """Ends it, whatever it waits for."""
    ref x = e[]
    if x.phase == RequestPhase.OVER:
        return
    x._move(RequestEvent.END)
    x.place.stop_waiting()
    _ = x.place.report(Outcome.CANCELLED)
    _let_go(e)


def _let_go(e: ArcPointer[Exchange]):
    """Gives back what it has needed."""
    ref x = e[]
    _leave_loop(e)
    x.request.give_up(x.worker[])
    x.request.content = None
    x.request.http1.outgoing.end_loan()


def _finish(e: ArcPointer[Exchange], var response: Response):
    """Answers, and ends what is left."""
    ref x = e[]
    _drop(e)
    if x._completion:
        x._completion.take().finish(response^)


def _fail(e: ArcPointer[Exchange], outcome: Outcome, reason: String):
    """Ends an attempt that has failed."""
    var end = end_of_failure(outcome, _was_sent(e, outcome))
    if end == AttemptEnd.LOST and e[].request.http1.has_response():
        # Its beginning has come, so the upstream has had the request.
        end = AttemptEnd.SPOILED
    _end_attempt(e, end, outcome, reason)


def _was_sent(e: ArcPointer[Exchange], outcome: Outcome) -> Bool:
    """Tells whether any octet may have reached the upstream. The time for the head
    runs from the first complete sending, even if not on the connection at hand.
    """
    return e[].request.may_have_been_sent() or outcome == Outcome.HEAD_TIMEOUT


def _ended(
    e: ArcPointer[Exchange], end: AttemptEnd, was_sent: Bool
) -> EndedAttempt:
    """Says of an attempt at the upstream at hand what the rules ask for."""
    ref x = e[]
    return EndedAttempt(
        end,
        was_sent,
        x.place.is_idempotent(),
        x.request.supply().is_kept(),
        x.request.was_idle(x.loop[].now_ms),
        x.same_count + 1,
    )


def _end_attempt(
    e: ArcPointer[Exchange], end: AttemptEnd, outcome: Outcome, reason: String
):
    """Ends an attempt without an answer, and does what `next_attempt` says. Where
    the group chooses and there is no other upstream, the client is answered."""
    ref x = e[]
    if x.phase == RequestPhase.OVER:
        return
    var ended = _ended(e, end, _was_sent(e, outcome))
    var next = next_attempt(ended)
    if next == NextAttempt.OVER_HTTP_1_1:
        if not x.request.http2.held()[].handshake:
            x.worker[].http2.note_http1(x.place.member)
        return _go_plain(e)
    if next == NextAttempt.SAME:
        x.same_count += 1
        return _start_at_same(e, pause_ms(ended.count))
    # An answer of HTTP/2 to what the client alone has wished for says nothing of
    # the upstream.
    var is_strange = (
        not x.request.http2 and ended.was_sent and x.place.may_lack(x.upgrade)
    )
    var is_own = not is_strange and (
        x.request.is_silent() or not says_nothing(ended)
    )
    x.request.give_up(x.worker[])
    _ = x.place.report(outcome if is_own else Outcome.CANCELLED)
    var member = x.place.member
    var decision = x.place.choose_next(outcome, ended)
    if decision.is_again():
        # Another connection of the same upstream has no more time for its head.
        if x.place.member != member or outcome == Outcome.HEAD_TIMEOUT:
            x._head_time = HeadTime()
        return _start_at_chosen(e)
    var told = reason_over_http1(reason) if is_strange else reason
    _finish(e, x.place.failed(outcome, decision, told))


def _start_at_same(e: ArcPointer[Exchange], pause_ms: Int):
    """Asks the same upstream on another connection: on a new one over HTTP/1.1,
    and over HTTP/2 behind a pause, in which there may be one."""
    ref x = e[]
    var is_stream = x.request.http2.__bool__()
    x._move(RequestEvent.PAUSE if is_stream else RequestEvent.BEGIN)
    x.request.give_up(x.worker[])
    if is_stream:
        return _set_deadline(e, pause_ms)
    _connect(e, trusts_idle=False)


def _start_at_chosen(e: ArcPointer[Exchange]):
    """Asks the upstream that the group has chosen for another attempt."""
    ref x = e[]
    x.request.give_up(x.worker[])
    x.same_count = 0
    _write_upstreams_host(e)
    _start(e)


struct _Content(BodySource):
    """The content of a response, as the upstream sends it."""

    var _exchange: ArcPointer[Exchange]
    # What came with the head.
    var _first: List[UInt8]
    var _is_endless: Bool
    var _last_ms: Int
    var _failure: String

    def __init__(
        out self,
        exchange: ArcPointer[Exchange],
        var first: List[UInt8],
        is_endless: Bool,
    ):
        self._exchange = exchange.copy()
        self._first = first^
        self._is_endless = is_endless
        self._last_ms = coarse_monotonic_ms()
        self._failure = String()

    def __deinit__(deinit self):
        """Gives the upstream up, unless the response is complete."""
        _drop(self._exchange)

    def begin(mut self, var waker: StreamWaker):
        self._exchange[]._waker = waker^

    def fill(mut self, mut out: Buffer) raises -> Poll:
        if len(self._first) > 0:
            out.append(self._first)
            self._first = []
        if self._failure.byte_length() > 0:
            raise Error(self._failure)
        if self._exchange[].phase == RequestPhase.OVER:
            return Poll.DONE
        var poll: Poll
        try:
            poll = _pull(self._exchange, out)
        except error:
            self._break_off(Outcome.CONTENT_FAILED)
            if len(out) == 0:
                raise error^
            # What has come goes to the client before it ends.
            self._failure = String(error)
            return Poll.READY
        if poll != Poll.PENDING or len(out) > 0:
            self._last_ms = coarse_monotonic_ms()
        elif self._left_ms() <= 0:
            if self._exchange[].request.is_dry():
                # It may wait for the rest of the request, as we do.
                _drop(self._exchange)
            else:
                self._break_off(Outcome.CONTENT_TIMEOUT)
            raise Error(
                "the upstream has sent nothing for ", self._silence_ms(), " ms"
            )
        return poll

    def _break_off(self, outcome: Outcome):
        self._exchange[].place.note_broken(outcome)
        _drop(self._exchange)

    def _silence_ms(self) -> Int:
        return self._exchange[].worker[].shared[].config.idle_timeout_ms

    def _left_ms(self) -> Int:
        """Tells how long the upstream may still be silent: it may while it takes
        content of the request."""
        var last_ms = max(self._last_ms, self._exchange[].request.progress_ms)
        return last_ms + self._silence_ms() - coarse_monotonic_ms()

    def trailers(mut self) raises -> Trailers:
        return self._exchange[]._trailers.copy()

    def is_endless(self) -> Bool:
        return self._is_endless

    def poll_interval_ms(self) -> Int:
        return max(self._left_ms(), 0) + 1
