"""One request on its way through a reverse proxy, from the handler's call to
the last octet of its response.

    NEW --> CONNECTING --> SENDING --> AWAITING --head--> CONTENT --> OVER
              |              |  ^                  \\--all is here--> OVER
              |              v  | 100, or no answer
              |            ASKING
              +--> an idle connection goes straight to SENDING

Responses are read while the request is still being sent. What fails before
anything of a response has come may be sent again on another connection, if it
is safe. Functions take the counted pointer, since what they call may lead back
here by another copy.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.client.error import ClientError
from flare.http.h1.chunked import append_chunk, append_last_chunk
from flare.http.h1.framing import IS_CHUNKED, SWITCHING_PROTOCOLS
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from flare.http.message.body import Body, Poll, StreamWaker
from flare.http.message.body_reader import owned_fields
from flare.http.message.header_map import HeaderMap
from flare.http.message.method import Method
from flare.http.message.response import Response
from flare.http.message.trailers import Trailers
from flare.http.proxy.exchange_phase import ExchangePhase
from flare.http.proxy.outcome import Outcome
from flare.http.proxy.placement import (
    Placement,
    gateway_failure,
    log_failure,
    outcome_of_refusal,
    replace_text,
)
from flare.http.proxy.proxy_worker import ProxyWorker
from flare.http.proxy.response_reading import READ_LEN, advance_response
from flare.http.proxy.response_rewriting import UpstreamNames
from flare.http.proxy.tunnel import agree_on_protocol, begin_tunnel
from flare.http.proxy.upstream_content import (
    ContentSide,
    UpstreamContent,
    announce,
    has_events,
    trailers_of,
)
from flare.http.proxy.upstream_link import (
    LinkUser,
    UpstreamLink,
    open_link,
    reason_of,
    start_link,
)
from flare.http.routing.failure import refusal
from flare.http.routing.later import Completion, Errand, RequestContent
from flare.runtime.event import Event
from flare.runtime.worker_loop import WorkerLoop
from flare.sys.errno import EAGAIN
from std.memory import ArcPointer, OwnedPointer

comptime _STATUS_MAX = 599
comptime _CONTINUE_TIMEOUT_MS = 1_000


struct Exchange(ContentSide, Errand, LinkUser):
    """A request under way to an upstream."""

    var _padding: Padding[128]
    var worker: ArcPointer[ProxyWorker]
    """What its worker keeps."""
    var loop: ArcPointer[WorkerLoop]
    """The worker's."""
    var phase: ExchangePhase
    """What it waits for."""
    var method: Method
    """The request's method."""
    var place: Placement
    """The upstream that it is at."""
    var asks_upstreams_host: Bool
    """True if Host is the upstream's, whichever it is."""
    var host_offset: Int
    """Where the value of Host stands in the output."""
    var logs_errors: Bool
    """True to log what fails."""
    var host: String
    """The Host that the upstream is asked for."""
    var upgrade: String
    """The protocol that is asked for; empty if none is."""
    var output: Buffer
    """What is sent: the head, and content."""
    var content: Optional[RequestContent]
    """Content that goes on arriving."""
    var is_chunked: Bool
    """True if that is framed by chunks."""
    var asks: Bool
    """True to wait for 100 before that is sent."""
    var has_all: Bool
    """True once all of the request is in the output."""
    var waker: Optional[StreamWaker]
    """Rings for the client's connection, while content goes to it."""
    var parser: Optional[OwnedPointer[ResponseParser]]
    """The response, once something of it has come."""
    var trailers: Trailers
    """What followed its content."""
    var link: Optional[ArcPointer[UpstreamLink]]
    """The connection to the upstream."""
    var _completion: Optional[Completion]
    var _sent_len: Int
    # True while the output has the request from its start.
    var _is_kept: Bool
    var _was_sent: Bool
    var _was_reused: Bool
    # True for an attempt that trusts no connection which was idle.
    var _wants_new: Bool

    def __init__(
        out self,
        worker: ArcPointer[ProxyWorker],
        loop: ArcPointer[WorkerLoop],
        method_name: StringSpan,
    ):
        """Makes an exchange without a request.

        Args:
            worker: What its worker keeps.
            loop: The worker's.
            method_name: The request's method.
        """
        self._padding = {}
        self.worker = worker.copy()
        self.loop = loop.copy()
        self.phase = ExchangePhase.NEW
        self.method = Method(method_name)
        self.place = Placement(worker[].shared[].upstreams, method_name)
        self.asks_upstreams_host = False
        self.host_offset = 0
        self.logs_errors = True
        self.host = String()
        self.upgrade = String()
        self.output = worker[].take_output()
        self.content = None
        self.is_chunked = False
        self.asks = False
        self.has_all = True
        self.waker = None
        self.parser = None
        self.trailers = Trailers()
        self.link = None
        self._completion = None
        self._sent_len = 0
        self._is_kept = True
        self._was_sent = False
        self._was_reused = False
        self._wants_new = False

    @staticmethod
    def begin(errand: ArcPointer[Self], var completion: Completion):
        """Sends the request.

        Args:
            errand: The exchange.
            completion: Takes the response.
        """
        errand[]._completion = completion^
        _start(errand)

    @staticmethod
    def on_content(errand: ArcPointer[Self]):
        """Sends what has come of the request's content.

        Args:
            errand: The exchange.
        """
        if errand[].phase == ExchangePhase.SENDING:
            _send(errand)

    @staticmethod
    def cancel(errand: ArcPointer[Self]):
        """Gives the upstream up, since the client has gone.

        Args:
            errand: The exchange.
        """
        errand[]._completion = None
        _drop_link(errand)

    @staticmethod
    def on_open(user: ArcPointer[Self]):
        """Sends the request on the new connection.

        Args:
            user: The exchange.
        """
        user[].phase = ExchangePhase.SENDING
        _send(user)

    @staticmethod
    def on_refused(user: ArcPointer[Self], error: ClientError):
        """Answers in place of an upstream that cannot be reached.

        Args:
            user: The exchange.
            error: Why.
        """
        _fail(
            user,
            outcome_of_refusal(error),
            String("cannot connect: ", error.reason),
        )

    @staticmethod
    def on_ready(user: ArcPointer[Self], event: Event):
        """Goes on with a connection that is ready.

        Args:
            user: The exchange.
            event: For what.
        """
        if user[].phase == ExchangePhase.CONTENT:
            if user[].waker and event.is_readable:
                user[].loop[].woken.append(user[].waker.held().token())
            return
        if event.is_readable:
            _receive(user)
        if event.is_writable and user[].phase == ExchangePhase.SENDING:
            _send(user)

    @staticmethod
    def on_late(user: ArcPointer[Self]):
        """Ends what has waited too long.

        Args:
            user: The exchange.
        """
        ref config = user[].worker[].shared[].config
        if user[].phase == ExchangePhase.ASKING:
            user[].phase = ExchangePhase.SENDING
            _send(user)
        elif user[].phase == ExchangePhase.SENDING:
            _fail(
                user,
                Outcome.SEND_TIMEOUT,
                String("it took nothing for ", config.write_timeout_ms, " ms"),
            )
        elif user[].phase == ExchangePhase.AWAITING:
            _fail(
                user,
                Outcome.HEAD_TIMEOUT,
                String("no answer within ", config.head_timeout_ms, " ms"),
            )

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
        """Takes what has come of the content.

        Args:
            side: The exchange.
            out: Where to append it.
            length_max: How long that may become, about, in bytes.

        Returns:
            What follows.

        Raises:
            Error: If the upstream fails.
        """
        while len(out) < length_max:
            var progress = _advance(side)
            if progress == ResponseProgress.CONTENT:
                out.append(side[].parser.held()[].content())
            elif progress == ResponseProgress.END:
                _end_exchange(side)
                return Poll.DONE
            else:
                return Poll.PENDING
        return Poll.READY

    @staticmethod
    def break_off(side: ArcPointer[Self], is_late: Bool):
        """Takes note of content that has broken off, and closes the connection.

        Args:
            side: The exchange.
            is_late: True if the upstream was silent for too long.
        """
        side[].place.note_broken(
            Outcome.CONTENT_TIMEOUT if is_late else Outcome.CONTENT_FAILED
        )
        _drop_link(side)

    @staticmethod
    def give_up(side: ArcPointer[Self]):
        """Closes the connection, since nobody wants the rest.

        Args:
            side: The exchange.
        """
        _drop_link(side)

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
    def silence_ms(side: ArcPointer[Self]) -> Int:
        """Tells how long the upstream may be silent.

        Args:
            side: The exchange.

        Returns:
            Milliseconds.
        """
        return side[].worker[].shared[].config.idle_timeout_ms


def _start(e: ArcPointer[Exchange]):
    """Begins an attempt, on an idle connection if there is one."""
    ref x = e[]
    x._sent_len = 0
    x._was_sent = False
    var idle = Optional[ArcPointer[UpstreamLink]](None)
    if not x._wants_new:
        idle = x.worker[].take_idle(x.place.member)
    x._was_reused = idle.__bool__()
    if idle:
        idle.held()[].lend(e)
        x.link = idle.take()
        x.phase = ExchangePhase.SENDING
        _send(e)
        return
    x.phase = ExchangePhase.CONNECTING
    var connector = x.worker[].connector(x.place.upstream.held()[])
    var link = open_link(x.loop, x.worker[].context, connector^, e)
    x.link = link.copy()
    start_link(link)


def _send(e: ArcPointer[Exchange]):
    """Sends what is there of the request, and takes more of its content."""
    ref x = e[]
    var link = x.link.held().copy()
    ref config = x.worker[].shared[].config
    while True:
        while x._sent_len < len(x.output):
            var count = link[].send(x.output.span().after(x._sent_len))
            if count == -EAGAIN:
                link[].set_deadline(config.write_timeout_ms)
                return
            if count < 0:
                return _on_write_failed(e, count)
            x._was_sent = True
            x._sent_len += count
        var flushed = link[].flush()
        if flushed == -EAGAIN:
            link[].set_deadline(config.write_timeout_ms)
            return
        if flushed < 0:
            return _on_write_failed(e, flushed)
        if x.has_all:
            x.phase = ExchangePhase.AWAITING
            link[].set_deadline(config.head_timeout_ms)
            return
        if x.asks:
            x.asks = False
            x.phase = ExchangePhase.ASKING
            link[].set_deadline(
                min(_CONTINUE_TIMEOUT_MS, config.head_timeout_ms)
            )
            return
        if not _take_content(e):
            return


def _take_content(e: ArcPointer[Exchange]) -> Bool:
    """Takes content of the request into the output; False if there is none
    now, or the request is over."""
    ref x = e[]
    ref scratch = x.worker[].scratch
    var is_all: Bool
    try:
        is_all = x.content.held().take(scratch)
    except error:
        scratch.clear()
        # The client has broken a rule or gone, and was told so.
        _finish(e, refusal(error.status, String(error.reason)))
        return False
    if len(scratch) == 0 and not is_all:
        # It is the client's turn, who has a time of his own.
        x.link.held()[].set_deadline(-1)
        return False
    x._is_kept = False
    x.output.clear()
    x._sent_len = 0
    if x.is_chunked:
        append_chunk(x.output, scratch.span())
    else:
        x.output.append(scratch.span())
    scratch.clear()
    if scratch.capacity() > 4 * READ_LEN:
        scratch = Buffer(0)
    if is_all:
        x.has_all = True
        if x.is_chunked:
            append_last_chunk(
                x.output, trailers_of(x.content.held().trailers())
            )
    return True


def _on_write_failed(e: ArcPointer[Exchange], number: Int):
    """Looks for a response before giving up (RFC 9112 section 9.5)."""
    ref x = e[]
    x.phase = ExchangePhase.AWAITING
    x.link.held()[].is_readable = True
    x.link.held()[].may_have_more = True
    _receive(e)
    if x.phase == ExchangePhase.AWAITING:
        _fail(e, Outcome.RESET, String("cannot send: ", reason_of(number)))


def _advance(e: ArcPointer[Exchange]) raises -> ResponseProgress:
    """Goes on with the response, receiving what is there."""
    ref x = e[]
    ref limits = x.worker[].shared[].config.head_limits
    return advance_response(x.parser.held()[], x.link.held(), limits)


def _receive(e: ArcPointer[Exchange]):
    """Receives up to the end of the response's head."""
    ref x = e[]
    if (
        x.phase == ExchangePhase.CONNECTING
        or x.phase == ExchangePhase.CONTENT
        or x.phase == ExchangePhase.OVER
    ):
        return
    var was_asking = x.phase == ExchangePhase.ASKING
    try:
        _receive_head(e)
    except error:
        var has_begun = x.parser.__bool__() and x.parser.held()[].has_begun()
        var outcome = Outcome.BAD_RESPONSE if has_begun else Outcome.RESET
        _fail(e, outcome, String(error))
        return
    if was_asking and x.phase == ExchangePhase.SENDING:
        # 100 has come.
        _send(e)


def _receive_head(e: ArcPointer[Exchange]) raises:
    ref x = e[]
    if not x.parser:
        x.parser = x.worker[].take_parser()
        var upgrades = x.upgrade.byte_length() > 0
        x.parser.held()[].begin(x.method, expects_switching=upgrades)
    while True:
        var progress = _advance(e)
        if progress == ResponseProgress.INTERIM:
            _on_interim(e)
        elif progress == ResponseProgress.HEAD_READY:
            return _respond(e)
        else:
            return


def _on_interim(e: ArcPointer[Exchange]) raises:
    """Takes 100 (Continue), and passes 103 (Early Hints) on."""
    ref x = e[]
    var status = x.parser.held()[].head.status
    if status == 100 and x.phase == ExchangePhase.ASKING:
        x.phase = ExchangePhase.SENDING
    elif status == 103 and x._completion:
        var fields = HeaderMap()
        _forward_fields(e, fields)
        x._completion.held().send_hints(fields^)


def _forward_fields(e: ArcPointer[Exchange], mut out: HeaderMap) raises:
    ref x = e[]
    x.worker[].shared[].config.rules.forward_response(
        x.parser.held()[].fields(),
        UpstreamNames(
            StringSpan(x.place.upstream.held()[].authority),
            StringSpan(x.host),
        ),
        out,
    )


def _respond(e: ArcPointer[Exchange]) raises:
    """Makes the response of a head that is complete, with its content if that
    is here, too."""
    ref x = e[]
    ref parser = x.parser.held()[]
    parser.body.max_body_size = Int.MAX
    if parser.head.status > _STATUS_MAX:
        # RFC 9110 section 15: there is no such class.
        raise Error("it answers with status ", parser.head.status)
    if _is_retried(e, Int(parser.head.status)):
        return
    var response = Response(parser.head.status)
    _forward_fields(e, response.headers)
    if response.status == SWITCHING_PROTOCOLS:
        return _switch(e, response^)
    var length = Optional[Int](None)
    var announced = parser.fields().get("content-length")
    if announced:
        length = parser.head.framing.content_length
    if not parser.has_content():
        if x.method == Method.HEAD:
            announce(response, length)
        if _advance(e) != ResponseProgress.END:
            raise Error("content where there is none")
        _end_exchange(e)
        return _finish(e, response^)
    if parser.head.framing.has(IS_CHUNKED):
        length = None
    var content = List[UInt8]()
    while True:
        var progress = parser.advance(x.worker[].shared[].config.head_limits)
        if progress == ResponseProgress.CONTENT:
            content.extend(parser.content())
            continue
        if progress == ResponseProgress.NEEDS_OCTETS:
            break
        _end_exchange(e)
        if not x.trailers:
            response.body = Body(content^)
            return _finish(e, response^)
        break
    var source = UpstreamContent(e, content^, has_events(response))
    response.body = Body(source^, length=length)
    if x.phase != ExchangePhase.OVER:
        x.phase = ExchangePhase.CONTENT
        x.link.held()[].set_deadline(-1)
        x.content = None
    var completion = x._completion.take()
    completion^.finish(response^)


def _switch(e: ArcPointer[Exchange], var response: Response) raises:
    """Leaves the connection to a tunnel, since both sides have changed their
    protocol."""
    ref x = e[]
    ref parser = x.parser.held()[]
    agree_on_protocol(parser, x.upgrade, response)
    if _advance(e) != ResponseProgress.END:
        raise Error("101 has content")
    var first = List[UInt8](capacity=len(parser.input))
    first.extend(parser.input.span())
    response.body = begin_tunnel(
        x.link.held(),
        x.loop,
        first^,
        x.worker[].shared[].config.idle_timeout_ms,
    )
    _leave_link(e)
    _finish(e, response^)


def _leave_link(e: ArcPointer[Exchange]):
    """Ends the exchange, whose connection somebody else has now."""
    ref x = e[]
    _ = x.place.report(Outcome.answered(SWITCHING_PROTOCOLS))
    x.phase = ExchangePhase.OVER
    x.worker[].give_parser(x.parser.take())
    x.link = None
    _let_go(e)


def _end_exchange(e: ArcPointer[Exchange]):
    """Gives the connection back, since the response is complete."""
    ref x = e[]
    if len(x.parser.held()[].trailers()) > 0:
        x.trailers = trailers_of(owned_fields(x.parser.held()[].trailers()))
    if x.has_all and x._sent_len == len(x.output):
        x.parser.held()[].end_request()
    var is_reusable = x.parser.held()[].is_reusable()
    _ = x.place.report(Outcome.answered(Int(x.parser.held()[].head.status)))
    x.phase = ExchangePhase.OVER
    x.worker[].give_parser(x.parser.take())
    var link = x.link.take()
    # The upstream may have closed behind the response, which no other event
    # will say.
    if is_reusable and link[].is_open() and not link[].may_have_more:
        link[].release()
        x.worker[].put_idle(x.place.member, link)
    else:
        link[].close()
    _let_go(e)


def _drop_link(e: ArcPointer[Exchange]):
    """Closes the connection, whatever the exchange waits for."""
    ref x = e[]
    x.phase = ExchangePhase.OVER
    _ = x.place.report(Outcome.CANCELLED)
    _close_link(e)
    _let_go(e)


def _close_link(e: ArcPointer[Exchange]):
    ref x = e[]
    if x.parser:
        x.worker[].give_parser(x.parser.take())
    if x.link:
        var link = x.link.take()
        link[].close()


def _let_go(e: ArcPointer[Exchange]):
    """Gives back what only the request has needed."""
    ref x = e[]
    x.content = None
    var output = Buffer(0)
    swap(output, x.output)
    x.worker[].give_output(output^)


def _finish(e: ArcPointer[Exchange], var response: Response):
    """Answers, and ends what is left."""
    ref x = e[]
    if x.phase != ExchangePhase.OVER:
        _drop_link(e)
    if x._completion:
        var completion = x._completion.take()
        completion^.finish(response^)


def _is_retried(e: ArcPointer[Exchange], status: Int) -> Bool:
    """Sends the request again if its status says so, and that is safe."""
    ref x = e[]
    if len(x.worker[].shared[].group.retried_statuses) == 0:
        return False
    var outcome = Outcome.answered(status)
    if not x.place.decide(
        outcome, was_sent=True, content_is_kept=x._is_kept
    ).is_again():
        return False
    _ = x.place.report(outcome)
    _close_link(e)
    if not _start_elsewhere(e):
        _finish(e, x.place.no_upstream(x.worker[].shared[].config.rules.via))
    return True


def _start_elsewhere(e: ArcPointer[Exchange]) -> Bool:
    """Begins another attempt; False if there is no upstream for it."""
    ref x = e[]
    if not x.place.choose():
        return False
    x._wants_new = False
    if x.asks_upstreams_host:
        var host = x.place.authority()
        replace_text(x.output, x.host_offset, x.host.byte_length(), host)
        x.host = host^
    _start(e)
    return True


def _fail(e: ArcPointer[Exchange], outcome: Outcome, reason: String):
    """Sends the request again if that is safe, or answers in place of the
    upstream."""
    ref x = e[]
    if x.phase == ExchangePhase.OVER:
        return
    var has_response = x.parser.__bool__() and x.parser.held()[].has_begun()
    _close_link(e)
    # That a connection ends which was idle says nothing of the upstream.
    var was_stale = (
        x._was_reused and not has_response and outcome == Outcome.RESET
    )
    if was_stale and x._is_kept:
        if x.place.is_idempotent() or not x._was_sent:
            x._wants_new = True
            _start(e)
            return
    _ = x.place.report(Outcome.CANCELLED if was_stale else outcome)
    var decision = x.place.decide(
        outcome, was_sent=x._was_sent, content_is_kept=x._is_kept
    )
    if decision.is_again() and _start_elsewhere(e):
        return
    if x.logs_errors:
        log_failure(x.place.authority(), outcome, decision, reason)
    _finish(e, gateway_failure(outcome, x.worker[].shared[].config.rules.via))
