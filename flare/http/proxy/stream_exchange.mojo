"""One request on its way to an upstream that speaks HTTP/2, on a stream of its own.

    NEW --> CONNECTING --> SENDING --> AWAITING --head--> CONTENT --> OVER
              |  ^           |  ^                  \\--all is here--> OVER
              |  |           v  | 100, or no answer
              |  untouched  ASKING
              +--> the upstream speaks HTTP/1.1: its `Exchange` goes on

What is to be sent goes as far as windows and connection allow; what has come
stays within the stream's window until the client takes it. A response that begins
before all of the request is sent does not end that: both go on. Functions take the
counted pointer, since what they call may lead back here by another copy.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.client.http2_flight import Http2Flight, StreamFate
from flare.http.h1.framing import SWITCHING_PROTOCOLS
from flare.http.h1.serialiser import RequestFraming
from flare.http.message.body import Body, Poll, StreamWaker
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.message.trailers import Trailers
from flare.http.proxy.exchange import Exchange
from flare.http.proxy.exchange_phase import (
    CONTINUE_TIMEOUT_MS,
    ExchangePhase,
    STATUS_MAX,
)
from flare.http.proxy.forwarding import ForwardedRequest
from flare.http.proxy.http2_pool import http2_connector
from flare.http.proxy.http2_upstream import (
    Http2Upstream,
    StreamUser,
    open_upstream,
    part,
    settle,
    take_content,
    take_plain,
)
from flare.http.proxy.lateness import (
    HeadTime,
    outcome_of_late,
    reason_of_late,
)
from flare.http.proxy.outcome import Outcome
from flare.http.proxy.placement import (
    outcome_of_failure,
    outcome_of_refusal,
    reason_of_refusal,
)
from flare.http.proxy.stream_request import SendState, StreamRequest
from flare.http.proxy.stream_tunnel import (
    StreamHandshake,
    begin_stream_tunnel,
    opens_tunnel,
)
from flare.http.proxy.upstream_content import (
    ContentSide,
    ContentTimes,
    UpstreamContent,
    announce,
    has_events,
    trailers_of,
)
from flare.http.handler.failure import refusal
from flare.http.handler.later import Completion, Errand
from flare.runtime.event import Event
from flare.runtime.worker_loop import LoopTask
from std.memory import ArcPointer

comptime _BAD_REQUEST = 400
comptime _FIELDS_TOO_LARGE = 431

comptime _AGAIN_COUNT_MAX = 5
"""How often a request goes again that an upstream has left untouched (RFC 9113
section 8.7), before that counts as a failure."""

comptime _AGAIN_PAUSE_MS = 10
"""The pause before the second time; the next one is twice as long."""


struct StreamExchange(ContentSide, Errand, LoopTask, StreamUser):
    """A request under way on a stream."""

    var _padding: Padding[128]
    var plain: ArcPointer[Exchange]
    """The same request for an upstream that speaks HTTP/1.1: it has the upstream
    that was chosen, and the content that goes on arriving."""
    var phase: ExchangePhase
    """What it waits for."""
    var request: StreamRequest
    """What is sent."""
    var handshake: Optional[StreamHandshake]
    """Of a WebSocket, if the request asks for one."""
    var flight: Optional[ArcPointer[Http2Flight]]
    """The stream."""
    var upstream: Optional[ArcPointer[Http2Upstream]]
    """The connection."""
    var waker: Optional[StreamWaker]
    """Rings for the client's connection, while content goes to it."""
    var trailers: Trailers
    """What has followed the content of the response."""
    var _completion: Optional[Completion]
    var _number: Int
    var _token: UInt64
    var _is_plain: Bool
    var _was_reused: Bool
    var _again_count: Int
    # When something was sent behind the response's head.
    var _taken_ms: Int
    var _head_time: HeadTime

    def __init__(
        out self,
        plain: ArcPointer[Exchange],
        req: Request,
        forwarded: ForwardedRequest,
        framing: RequestFraming,
    ):
        """Takes a request.

        Args:
            plain: The request as an upstream of HTTP/1.1 would get it.
            req: The request as it was received.
            forwarded: What is sent of it.
            framing: How its content is framed.
        """
        self._padding = {}
        self.plain = plain.copy()
        self.phase = ExchangePhase.NEW
        self.request = StreamRequest(
            req, forwarded, framing, has_all=plain[].has_all
        )
        self.trailers = Trailers()
        self.handshake = None
        if plain[].upgrade.byte_length() > 0:
            self.handshake = StreamHandshake(req)
            self.request.become_tunnel()
        self.flight = None
        self.upstream = None
        self.waker = None
        self._completion = None
        self._number = 0
        self._token = 0
        self._is_plain = False
        self._was_reused = False
        self._again_count = 0
        self._taken_ms = 0
        self._head_time = HeadTime()

    @staticmethod
    def begin(errand: ArcPointer[Self], var completion: Completion):
        """Sends the request.

        Args:
            errand: The exchange.
            completion: Takes the response.
        """
        errand[]._completion = completion^
        var loop = errand[].plain[].loop.copy()
        errand[]._token = loop[].add(errand)
        _start(errand)

    @staticmethod
    def on_content(errand: ArcPointer[Self]):
        """Sends what has come of the request's content.

        Args:
            errand: The exchange.
        """
        if errand[]._is_plain:
            Exchange.on_content(errand[].plain)
        elif errand[].phase == ExchangePhase.SENDING:
            _send(errand)
            _settle(errand)

    @staticmethod
    def cancel(errand: ArcPointer[Self]):
        """Gives the upstream up, since the client has gone.

        Args:
            errand: The exchange.
        """
        errand[]._completion = None
        if errand[]._is_plain:
            Exchange.cancel(errand[].plain)
        else:
            _drop(errand)

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        """Sends what has come of content that goes on behind the response's head.

        Args:
            task: The exchange.
            event: Of no socket: the connection has that.
        """
        if task[].phase == ExchangePhase.CONTENT:
            _send_on(task)
            _settle(task)

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        """Ends what has waited too long, or begins anew behind a pause.

        Args:
            task: The exchange.
        """
        ref config = task[].plain[].worker[].shared[].config
        if task[]._head_time.is_over(task[].plain[].loop[].now_ms):
            task[].phase = ExchangePhase.AWAITING
        if task[].phase == ExchangePhase.NEW:
            _start(task)
        elif task[].phase == ExchangePhase.ASKING:
            task[].phase = ExchangePhase.SENDING
            _send(task)
            _settle(task)
        elif task[].phase.may_be_late():
            var reason = reason_of_late(task[].phase, config)
            _fail(task, outcome_of_late(task[].phase), reason)

    @staticmethod
    def on_news(user: ArcPointer[Self]):
        """Goes on with what has come.

        Args:
            user: The exchange.
        """
        if user[].phase == ExchangePhase.CONNECTING:
            _on_connection(user)
        elif user[].flight:
            _go_on(user)

    @staticmethod
    def set_waker(side: ArcPointer[Self], var waker: StreamWaker):
        """Hears how to say that there is more content.

        Args:
            side: The exchange.
            waker: The connection's.
        """
        side[].waker = waker^

    @staticmethod
    def is_over(side: ArcPointer[Self]) -> Bool:
        """Tells whether no more content will come.

        Args:
            side: The exchange.

        Returns:
            True behind the end, or a failure.
        """
        return side[].phase == ExchangePhase.OVER

    @staticmethod
    def pull(
        side: ArcPointer[Self], mut out: Buffer, length_max: Int
    ) raises -> Poll:
        """Takes what has come of the content, and lets the upstream send more.

        Args:
            side: The exchange.
            out: Where to append it.
            length_max: How long that may become, in bytes.

        Returns:
            What follows.

        Raises:
            Error: If the upstream fails.
        """
        var flight = side[].flight.held().copy()
        var upstream = side[].upstream.held().copy()
        var poll = take_content(upstream, flight[], out, length_max)
        if poll == Poll.DONE:
            _end(side)
        return poll

    @staticmethod
    def break_off(side: ArcPointer[Self], is_late: Bool):
        """Takes note of content that has broken off, and ends the stream.

        Args:
            side: The exchange.
            is_late: True if the upstream was silent for too long.
        """
        side[].plain[].place.note_broken(
            Outcome.CONTENT_TIMEOUT if is_late else Outcome.CONTENT_FAILED
        )
        _drop(side)

    @staticmethod
    def give_up(side: ArcPointer[Self]):
        """Ends the stream, since nobody wants the rest.

        Args:
            side: The exchange.
        """
        _drop(side)

    @staticmethod
    def trailers_behind(side: ArcPointer[Self]) -> Trailers:
        """Gives what has followed the content.

        Args:
            side: The exchange.

        Returns:
            The fields.
        """
        return side[].trailers.copy()

    @staticmethod
    def times(side: ArcPointer[Self]) -> ContentTimes:
        """Tells what counts for how long the upstream may be silent.

        Args:
            side: The exchange.

        Returns:
            The times.
        """
        ref config = side[].plain[].worker[].shared[].config
        return ContentTimes(config.idle_timeout_ms, side[]._taken_ms)


def _settle(e: ArcPointer[StreamExchange]):
    """Sends what was written, unless the connection does so itself."""
    if e[].upstream:
        var upstream = e[].upstream.held().copy()
        settle(upstream)


def _set_deadline(e: ArcPointer[StreamExchange], wait_ms: Int):
    """Sets the time for what is waited for, within that of the response's head."""
    var deadline_ms = e[]._head_time.deadline_ms(wait_ms)
    e[].plain[].loop[].set_deadline(e[]._token, deadline_ms)


def _start(e: ArcPointer[StreamExchange]):
    """Begins an attempt, on a connection that is there or a new one."""
    ref x = e[]
    var worker = x.plain[].worker.copy()
    x.phase = ExchangePhase.CONNECTING
    _set_deadline(e, -1)
    var member = x.plain[].place.member
    if not worker[].http2.may_ask(member, is_tunnel=x.request.is_tunnel):
        return _go_plain(e)
    var found = worker[].http2.find(member)
    if found:
        x.upstream = found.held().copy()
        x._number = found.held()[].join(e)
        if not found.held()[].is_opening():
            _open(e)
            _settle(e)
        return
    ref config = worker[].shared[].config
    var made = worker[].http2.add(member, config)
    x.upstream = made.copy()
    x._number = made[].join(e)
    var connector = http2_connector(x.plain[].place.upstream.held()[], config)
    var loop = x.plain[].loop.copy()
    open_upstream(made, loop, worker[].context, connector^)


def _on_connection(e: ArcPointer[StreamExchange]):
    """Looks what has become of the connection."""
    ref x = e[]
    ref upstream = x.upstream.held()[]
    if upstream.failure:
        var error = upstream.failure.held().copy()
        return _fail(e, outcome_of_refusal(error), reason_of_refusal(error))
    if upstream.speaks_http1:
        x.plain[].worker[].http2.note_http1(x.plain[].place.member)
        return _go_plain(e)
    if upstream.http2:
        x.plain[].place.note_connected()
        _open(e)


def _go_plain(e: ArcPointer[StreamExchange]):
    """Goes on over HTTP/1.1, on the connection that has been opened if nobody
    was first."""
    ref x = e[]
    var plain = x.plain.copy()
    if x.upstream:
        var upstream = x.upstream.held().copy()
        var link = take_plain(upstream)
        part(x.upstream, x.flight, x._number)
        if link:
            plain[].worker[].put_idle(plain[].place.member, link.held())
    x.plain[].loop[].remove(x._token)
    x._is_plain = True
    x.phase = ExchangePhase.OVER
    x.request.write_plain(plain[].output, plain[].is_chunked)
    plain[].has_all = x.request.has_all
    x.request.content = Buffer(0)
    Exchange.begin(plain, x._completion.take())


def _open(e: ArcPointer[StreamExchange]):
    """Sends the head as soon as there is a stream for it."""
    ref x = e[]
    var upstream = x.upstream.held().copy()
    ref link = upstream[].http2.held()[]
    ref place = x.plain[].place
    ref config = x.plain[].worker[].shared[].config
    if x.handshake and not _may_tunnel(e):
        return
    if link.is_closing:
        return _again(e)
    if upstream[].knows_streams_max() and link.room() == 0:
        if upstream[].streams_max() > 0:
            return _start_anew(e, 0)
        link.wait(x._number)
        return _set_deadline(e, config.connect_timeout_ms)
    var is_doubtful = link.awaits_pong() and not place.is_idempotent()
    try:
        x.request.collect(
            link, StringSpan(place.method_name), StringSpan(x.plain[].host)
        )
    except error:
        return _finish(
            e, refusal(_FIELDS_TOO_LARGE, String(error.reason, "\n"))
        )
    if is_doubtful or not link.has_room():
        link.wait(x._number)
        return _set_deadline(e, config.connect_timeout_ms)
    var is_head = x.plain[].method == Method.HEAD
    var flight = x.request.open(link, x._number, is_head)
    if not flight:
        return _again(e)
    x.flight = flight.take()
    x._was_reused = upstream[].request_count > 0
    upstream[].request_count += 1
    if x.handshake:
        return _await_head(e)
    x.phase = ExchangePhase.SENDING
    _send(e)


def _may_tunnel(e: ArcPointer[StreamExchange]) -> Bool:
    """Tells whether the upstream takes a WebSocket on a stream; where it does not,
    or has not said so yet (RFC 8441 section 3), the request goes on by itself.
    """
    ref x = e[]
    var upstream = x.upstream.held().copy()
    ref link = upstream[].http2.held()[]
    ref worker = x.plain[].worker[]
    if not link.session.state.has_settings:
        if link.failure:
            ref failure = link.failure.held()
            _fail(e, outcome_of_failure(failure, False), failure.reason)
        else:
            link.wait(x._number)
            _set_deadline(e, worker.shared[].config.connect_timeout_ms)
    elif not link.session.state.remote.enable_connect_protocol:
        worker.http2.note_no_tunnels(x.plain[].place.member)
        _go_plain(e)
    elif x.handshake.held().fault.byte_length() > 0:
        # Nobody behind sees the key.
        _finish(e, refusal(_BAD_REQUEST, x.handshake.held().fault))
    else:
        return True
    return False


def _again(e: ArcPointer[StreamExchange]):
    """Begins anew with a request that the upstream has left untouched."""
    ref x = e[]
    x._again_count += 1
    if x._again_count > _AGAIN_COUNT_MAX:
        return _fail(
            e, Outcome.RESET, String("it has left the request untouched")
        )
    var pause_ms = 0
    if x._again_count > 1:
        pause_ms = _AGAIN_PAUSE_MS << (x._again_count - 2)
    _start_anew(e, pause_ms)


def _start_anew(e: ArcPointer[StreamExchange], pause_ms: Int):
    """Goes to another connection of the same upstream, in a moment."""
    part(e[].upstream, e[].flight, e[]._number)
    e[].phase = ExchangePhase.NEW
    _set_deadline(e, pause_ms)


def _send(e: ArcPointer[StreamExchange]):
    """Sends what is there of the request, and takes more of its content."""
    ref x = e[]
    ref config = x.plain[].worker[].shared[].config
    ref link = x.upstream.held()[].http2.held()[]
    ref flight = x.flight.held()[]
    var wait_ms = config.head_timeout_ms
    try:
        var state = x.request.push(link, flight, x.plain[].content)
        if state == SendState.CONTENT:
            # It is the client's turn, who has a time of his own.
            wait_ms = -1
        elif state == SendState.WINDOW:
            wait_ms = config.write_timeout_ms
        elif state == SendState.ANSWER:
            x.phase = ExchangePhase.ASKING
            wait_ms = min(CONTINUE_TIMEOUT_MS, wait_ms)
        else:
            return _await_head(e)
    except error:
        # The client has broken a rule or gone, and was told so.
        return _finish(e, refusal(error.status, String(error.reason)))
    _set_deadline(e, wait_ms)


def _await_head(e: ArcPointer[StreamExchange]):
    """Waits for the head of the response, all of the request being sent."""
    ref x = e[]
    x.phase = ExchangePhase.AWAITING
    x._head_time.begin(x.plain[].worker[].shared[].config.head_timeout_ms)
    _set_deadline(e, -1)


def _go_on(e: ArcPointer[StreamExchange]):
    """Takes what has come, and sends what windows allow."""
    ref x = e[]
    var flight = x.flight.held().copy()
    flight[].has_news = False
    if x.phase == ExchangePhase.CONTENT:
        _send_on(e)
        if x.waker:
            x.plain[].loop[].woken.append(x.waker.held().place())
        return
    try:
        ref plain = x.plain[]
        plain.worker[].pass_interim(
            flight[].interim, plain.place, plain.host, x._completion
        )
        if flight[].status > 0:
            return _respond(e)
    except error:
        return _fail(e, Outcome.BAD_RESPONSE, String(error))
    if flight[].failure:
        return _on_failure(e, flight)
    if x.phase == ExchangePhase.ASKING and flight[].has_continue:
        x.phase = ExchangePhase.SENDING
    if x.phase == ExchangePhase.SENDING:
        _send(e)


def _on_failure(e: ArcPointer[StreamExchange], flight: ArcPointer[Http2Flight]):
    """Looks what is known of a request that will not be answered."""
    ref x = e[]
    var fate = flight[].fate
    if fate == StreamFate.UNTOUCHED and x.request.is_kept:
        return _again(e)
    if fate == StreamFate.NEEDS_HTTP_1_1 and x.request.is_kept:
        if not x.handshake:
            x.plain[].worker[].http2.note_http1(x.plain[].place.member)
        return _go_plain(e)
    var is_new = not x._was_reused or flight[].has_answer()
    var is_silent = x.upstream.held()[].is_silent()
    if fate == StreamFate.OPEN and not is_new:
        # That a connection ends which was there says nothing of the upstream.
        if x.request.is_kept and x.plain[].place.is_idempotent():
            return _again(e)
        if not is_silent:
            _ = x.plain[].place.report(Outcome.CANCELLED)
    ref failure = flight[].failure.held()
    _fail(e, outcome_of_failure(failure, is_silent), failure.reason)


def _respond(e: ArcPointer[StreamExchange]) raises:
    """Makes the response of a head that has come, with its content if that is
    here, too."""
    ref x = e[]
    var flight = x.flight.held().copy()
    if flight[].status > STATUS_MAX:
        # RFC 9110 section 15: there is no such class.
        raise Error("it answers with status ", flight[].status)
    x.plain[].place.note_head(flight[].status)
    if x.handshake and opens_tunnel(x.upstream.held(), flight[]):
        return _open_tunnel(e)
    var response = Response(flight[].status)
    var is_head = x.plain[].method == Method.HEAD
    var is_empty = is_head or not response.status.allows_content()
    if is_empty and not flight[].has_ended:
        # It says so in a moment; a reset would be told as a failure there.
        return
    if _is_retried(e, flight[].status):
        return
    x.plain[].forward_fields(flight[].kept.fields(), response.headers)
    var length = flight[].announced_len()
    var is_sending = x.phase == ExchangePhase.SENDING
    if not is_sending or is_empty or flight[].has_ended:
        x.plain[].content = None
    x._head_time = HeadTime()
    _set_deadline(e, -1)
    if is_empty:
        if is_head:
            announce(response, length)
        _end(e)
        return _finish(e, response^)
    if flight[].has_ended and len(flight[].trailers) == 0:
        response.body = Body(List[UInt8](flight[].content.span()))
        _end(e)
        return _finish(e, response^)
    var source = UpstreamContent(e, List[UInt8](), has_events(response))
    response.body = Body(source^, length=length)
    x.phase = ExchangePhase.CONTENT
    if x.plain[].content:
        x.plain[].content.held().go_on(x._token)
    if is_sending:
        # What has come by now nobody tells once more.
        _send_on(e)
    var completion = x._completion.take()
    completion^.finish(response^)


def _open_tunnel(e: ArcPointer[StreamExchange]) raises:
    """Leaves the stream to a tunnel."""
    ref x = e[]
    var response = Response(SWITCHING_PROTOCOLS)
    ref kept = x.flight.held()[].kept
    x.plain[].forward_fields(kept.fields(), response.headers)
    x.handshake.held().answer(response.headers)
    response.body = begin_stream_tunnel(
        x.upstream.take(),
        x.flight.take(),
        x._number,
        x.plain[].loop,
        x.plain[].worker[].shared[].config.idle_timeout_ms,
    )
    _ = x.plain[].place.report(Outcome.answered(SWITCHING_PROTOCOLS))
    _finish(e, response^)


def _send_on(e: ArcPointer[StreamExchange]):
    """Sends what there is of the request behind the head of its response."""
    ref x = e[]
    if not x.flight or not x.upstream or not x.upstream.held()[].http2:
        return
    ref link = x.upstream.held()[].http2.held()[]
    x.request.send_on(link, x.flight.held()[], x.plain[].content)
    x._taken_ms = x.flight.held()[].progress_ms


def _is_retried(e: ArcPointer[StreamExchange], status: Int) -> Bool:
    """Sends the request again if its status says so, and that is safe."""
    ref x = e[]
    var is_kept = x.request.is_kept
    if not x.plain[].place.asks_again(status, content_is_kept=is_kept):
        return False
    _start_elsewhere(e)
    return True


def _start_elsewhere(e: ArcPointer[StreamExchange]):
    """Begins another attempt, at the upstream that was chosen for it."""
    ref x = e[]
    part(x.upstream, x.flight, x._number)
    x._head_time = HeadTime()
    x.plain[].write_upstreams_host()
    _start(e)


def _end(e: ArcPointer[StreamExchange]):
    """Gives the stream back, since the response is complete."""
    ref x = e[]
    var status = x.flight.held()[].status
    if len(x.flight.held()[].trailers) > 0:
        x.trailers = trailers_of(x.flight.held()[].trailers)
    _ = x.plain[].place.report(Outcome.answered(status))
    _let_go(e)


def _drop(e: ArcPointer[StreamExchange]):
    """Ends the stream, whatever the exchange waits for."""
    if e[].phase == ExchangePhase.OVER:
        return
    _ = e[].plain[].place.report(Outcome.CANCELLED)
    _let_go(e)


def _let_go(e: ArcPointer[StreamExchange]):
    """Gives back what the request has needed."""
    ref x = e[]
    x.phase = ExchangePhase.OVER
    x.plain[].loop[].remove(x._token)
    part(x.upstream, x.flight, x._number)
    x.plain[].content = None
    x.request.content = Buffer(0)
    x.plain[].give_output()


def _finish(e: ArcPointer[StreamExchange], var response: Response):
    """Answers, and ends what is left."""
    ref x = e[]
    _drop(e)
    if x._completion:
        x._completion.take().finish(response^)


def _fail(e: ArcPointer[StreamExchange], outcome: Outcome, reason: String):
    """Sends the request again if that is safe, or answers in place of the
    upstream."""
    ref x = e[]
    if x.phase == ExchangePhase.OVER:
        return
    _ = x.plain[].place.report(outcome)
    # What is late has been sent, if not on the connection at hand.
    var was_sent = x.flight.__bool__() or outcome == Outcome.HEAD_TIMEOUT
    var decision = x.plain[].place.goes_again(
        outcome, was_sent=was_sent, content_is_kept=x.request.is_kept
    )
    if decision.is_again():
        return _start_elsewhere(e)
    _finish(e, x.plain[].place.failed(outcome, decision, reason))
