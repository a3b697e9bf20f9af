"""One request on its way through a reverse proxy, from the handler's call to
the last octet of its response.

    NEW --> CONNECTING --> SENDING --> AWAITING --head--> CONTENT --> OVER
              |              |  ^                  \\--all is here--> OVER
              |              v  | 100, or no answer
              |            ASKING
              +--> an idle connection goes straight to SENDING

Responses are read while the request is still being sent, and one that begins
before that is done does not end it: both go on. What fails before
anything of a response has come may be sent again on another connection, if it
is safe. Functions take the counted pointer, since what they call may lead back
here by another copy.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.client.error import ClientError
from flare.http.h1.framing import CONTINUE, SWITCHING_PROTOCOLS
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from flare.http.message.body import Body, Poll, StreamWaker
from flare.http.message.body_reader import BodyError, owned_fields
from flare.http.message.fields import Fields
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.method import Method
from flare.http.message.response import Response
from flare.http.message.trailers import Trailers
from flare.http.proxy.exchange_phase import (
    CONTINUE_TIMEOUT_MS,
    ExchangePhase,
    STATUS_MAX,
)
from flare.http.exchange.lent_content import LentContent, send_output
from flare.http.proxy.lateness import outcome_of_late, reason_of_late
from flare.http.proxy.outcome import Outcome
from flare.http.proxy.placement import (
    Placement,
    outcome_of_refusal,
    reason_of_refusal,
    reason_over_http1,
    replace_text,
)
from flare.http.proxy.proxy_worker import ProxyWorker
from flare.http.proxy.request_sending import take_content
from flare.http.proxy.response_reading import (
    advance_response,
    announced_len,
    wants_rest,
)
from flare.http.proxy.stream_request import SendState
from flare.http.proxy.tunnel import agree_on_protocol, begin_tunnel
from flare.http.proxy.upstream_content import (
    ContentSide,
    ContentTimes,
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
from flare.http.handler.failure import refusal
from flare.http.handler.later import Completion, Errand, RequestContent
from flare.runtime.event import Event
from flare.runtime.worker_loop import WorkerLoop
from flare.sys.errno import EAGAIN
from std.memory import ArcPointer, OwnedPointer


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
    var host: String
    """The Host that the upstream is asked for."""
    var upgrade: String
    """The protocol that is asked for; empty if none is."""
    var output: Buffer
    """What is sent: the head, and content."""
    var lent: LentContent
    """What is sent behind it."""
    var content: Optional[RequestContent]
    """Content that goes on arriving."""
    var is_chunked: Bool
    """True if that is framed by chunks."""
    var asks: Bool
    """True to wait for 100 before that is sent."""
    var has_all: Bool
    """True once all of the request is in the output."""
    var sends_on: Bool
    """True while the request goes on behind the head of its response."""
    var waker: Optional[StreamWaker]
    """Rings for the client's connection, while content goes to it."""
    var parser: Optional[OwnedPointer[ResponseParser]]
    """The response, once something of it has come."""
    var trailers: Trailers
    """What followed its content."""
    var link: Optional[ArcPointer[UpstreamLink]]
    """The connection to the upstream."""
    var response: Response
    """Room for the response."""
    var _completion: Optional[Completion]
    var _sent_len: Int
    # True while the output has the request from its start.
    var _is_kept: Bool
    var _was_reused: Bool
    # True for an attempt that trusts no connection which was idle.
    var _wants_new: Bool
    # When something of the request was sent; 0 if nothing was.
    var _taken_ms: Int
    var _write_error: Int

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
        self.place = Placement(worker[].shared, method_name)
        self.asks_upstreams_host = False
        self.host_offset = 0
        self.host = String()
        self.upgrade = String()
        self.output = worker[].take_output()
        self.lent = LentContent()
        self.content = None
        self.is_chunked = False
        self.asks = False
        self.has_all = True
        self.sends_on = False
        self.waker = None
        self.parser = None
        self.trailers = Trailers()
        self.link = None
        self.response = Response(500)
        self._completion = None
        self._sent_len = 0
        self._is_kept = True
        self._was_reused = False
        self._wants_new = False
        self._taken_ms = 0
        self._write_error = 0

    def __deinit__(deinit self):
        """Gives the output back to the worker."""
        self.worker[].give_output(self.output^)

    def give_output(mut self):
        """Does so before, since the rest may take long."""
        var output = Buffer(0)
        swap(output, self.output)
        # All of the empty one has been sent if all of this one has.
        self._sent_len -= len(output)
        self.worker[].give_output(output^)

    def forward_fields(
        self, received: Fields, mut out: HeaderMap
    ) raises HeaderError:
        """Makes the fields of a response to the client.

        Args:
            received: The upstream's fields.
            out: Where to; the fields are added.

        Raises:
            HeaderError: If they are longer than a header block may be.
        """
        self.worker[].forward_fields(received, self.place, self.host, out)

    def write_upstreams_host(mut self):
        """Asks another upstream for its own Host, if that is to be."""
        if self.asks_upstreams_host:
            var host = self.place.authority()
            var old_len = self.host.byte_length()
            replace_text(self.output, self.host_offset, old_len, host)
            self.host = host^

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
        user[].place.note_connected()
        _send(user)

    @staticmethod
    def on_refused(user: ArcPointer[Self], error: ClientError):
        """Answers in place of an upstream that cannot be reached.

        Args:
            user: The exchange.
            error: Why.
        """
        _fail(user, outcome_of_refusal(error), reason_of_refusal(error))

    @staticmethod
    def on_ready(user: ArcPointer[Self], event: Event):
        """Goes on with a connection that is ready.

        Args:
            user: The exchange.
            event: For what.
        """
        if user[].phase == ExchangePhase.CONTENT:
            if user[].sends_on and event.is_writable:
                _send_on(user)
            if event.is_readable:
                user[].wake()
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
        elif user[].phase.may_be_late():
            var reason = reason_of_late(user[].phase, config)
            _fail(user, outcome_of_late(user[].phase), reason)

    def wake(mut self):
        """Lets the client's connection look for content of the response."""
        if self.waker:
            self.loop[].woken.append(self.waker.held().place())

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
    def times(side: ArcPointer[Self]) -> ContentTimes:
        """Tells what counts for how long the upstream may be silent.

        Args:
            side: The exchange.

        Returns:
            The times.
        """
        ref config = side[].worker[].shared[].config
        return ContentTimes(config.idle_timeout_ms, side[]._taken_ms)


def _start(e: ArcPointer[Exchange]):
    """Begins an attempt, on an idle connection if there is one."""
    ref x = e[]
    x._sent_len = 0
    x._taken_ms = 0
    var idle = Optional[ArcPointer[UpstreamLink]](None)
    if not x._wants_new:
        idle = x.worker[].take_idle(x.place.member)
    x._was_reused = idle.__bool__()
    if idle:
        idle.held()[].lend(e)
        x.link = idle.take()
        x.phase = ExchangePhase.SENDING
        return _send(e)
    x.phase = ExchangePhase.CONNECTING
    var connector = x.worker[].connector(x.place.upstream.held()[])
    var link = open_link(x.loop, x.worker[].context, connector^, e)
    x.link = link.copy()
    start_link(link)


def _send(e: ArcPointer[Exchange]):
    """Sends what is there of the request, and sets the time for what follows."""
    ref x = e[]
    ref config = x.worker[].shared[].config
    var wait_ms = config.head_timeout_ms
    try:
        var state = _push(e)
        if state == SendState.FAILED:
            return _on_write_failed(e)
        if state == SendState.WINDOW:
            wait_ms = config.write_timeout_ms
        elif state == SendState.CONTENT:
            # It is the client's turn, who has a time of his own.
            wait_ms = -1
        elif state == SendState.ANSWER:
            x.phase = ExchangePhase.ASKING
            wait_ms = min(CONTINUE_TIMEOUT_MS, wait_ms)
        else:
            x.phase = ExchangePhase.AWAITING
    except error:
        # The client has broken a rule or gone, and was told so.
        return _finish(e, refusal(error.status, String(error.reason)))
    x.link.held()[].set_deadline(wait_ms)


def _push(e: ArcPointer[Exchange]) raises BodyError -> SendState:
    """Sends what is there of the request, and takes more of its content."""
    ref x = e[]
    var link = x.link.held().copy()
    while True:
        var sent_len = x._sent_len
        var count = send_output(link[], x.output, x.lent.span(), x._sent_len)
        if x._sent_len > sent_len:
            x._taken_ms = x.loop[].now_ms
        if count < 0:
            x._write_error = count
            return SendState.WINDOW if count == -EAGAIN else SendState.FAILED
        if x.has_all:
            return SendState.DONE
        if x.asks:
            x.asks = False
            return SendState.ANSWER
        ref scratch = x.worker[].scratch
        if not take_content(
            x.content.held(), scratch, x.output, x.is_chunked, x.has_all
        ):
            return SendState.CONTENT
        x._is_kept = False
        x._sent_len = 0


def _send_on(e: ArcPointer[Exchange]):
    """Sends what there is of the request behind the head of its response. What
    goes wrong with it is said by what follows: the client's connection or the
    response ends."""
    ref x = e[]
    var state = SendState.FAILED
    try:
        state = _push(e)
    except:
        # The client has broken it off.
        pass
    if state == SendState.WINDOW or state == SendState.CONTENT:
        return
    x.sends_on = False
    x.content = None
    if state == SendState.FAILED:
        # It may have answered before it closed (RFC 9112 section 9.5).
        x.has_all = False
        x.link.held()[].look_again()
        x.wake()


def _on_write_failed(e: ArcPointer[Exchange]):
    """Looks for a response before giving up (RFC 9112 section 9.5)."""
    ref x = e[]
    x.phase = ExchangePhase.AWAITING
    var token = x.link.held()[].token()
    x.link.held()[].look_again()
    _receive(e)
    # Another attempt may wait by now, which has not failed.
    if x.phase == ExchangePhase.AWAITING and x.link.held()[].token() == token:
        var reason = String("cannot send: ", reason_of(x._write_error))
        _fail(e, Outcome.RESET, reason)


def _advance(e: ArcPointer[Exchange]) raises -> ResponseProgress:
    """Goes on with the response, receiving what is there."""
    ref x = e[]
    ref limits = x.worker[].shared[].config.head_limits
    return advance_response(x.parser.held()[], x.link.held(), limits)


def _receive(e: ArcPointer[Exchange]):
    """Receives up to the end of the response's head."""
    ref x = e[]
    if not x.phase.may_have_head():
        return
    var was_asking = x.phase == ExchangePhase.ASKING
    try:
        _receive_head(e)
    except error:
        var has_begun = x.parser.__bool__() and x.parser.held()[].has_begun()
        var outcome = Outcome.BAD_RESPONSE if has_begun else Outcome.RESET
        return _fail(e, outcome, String(error))
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
    """Goes on behind 100 (Continue), and passes interim responses on."""
    ref x = e[]
    var status = x.parser.held()[].head.status
    if status == CONTINUE and x.phase == ExchangePhase.ASKING:
        x.phase = ExchangePhase.SENDING
    if x._completion:
        var fields = HeaderMap()
        x.forward_fields(x.parser.held()[].fields(), fields)
        x._completion.held().send_interim(Int(status), fields^)


def _respond(e: ArcPointer[Exchange]) raises:
    """Makes the response of a head that is complete, with its content if that
    is here, too."""
    ref x = e[]
    ref parser = x.parser.held()[]
    parser.body.max_body_size = Int.MAX
    if parser.head.status > STATUS_MAX:
        # RFC 9110 section 15: there is no such class.
        raise Error("it answers with status ", parser.head.status)
    x.place.note_head(Int(parser.head.status))
    if _is_retried(e, Int(parser.head.status)):
        return
    var response = Response(500)
    swap(response, x.response)
    response.status = parser.head.status
    x.forward_fields(parser.fields(), response.headers)
    if response.status == SWITCHING_PROTOCOLS:
        return _switch(e, response^)
    if not parser.has_content():
        if x.method == Method.HEAD:
            announce(response, announced_len(parser))
        if _advance(e) != ResponseProgress.END:
            raise Error("content where there is none")
        _end_exchange(e)
        return _finish(e, response^)
    var length = announced_len(parser)
    var content = response.body.take_octets()
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
        x.sends_on = x.phase == ExchangePhase.SENDING and wants_rest(parser)
        x.phase = ExchangePhase.CONTENT
        x.link.held()[].set_deadline(-1)
        if x.sends_on:
            if x.content:
                x.content.held().go_on(x.link.held()[].token())
            # What has come by now nobody tells once more.
            _send_on(e)
        else:
            x.content = None
            # The content may go on for long.
            x.give_output()
    # What is lent goes with the request.
    if x.sends_on:
        x.lent.move_to(x.output)
    x.lent.end(x._sent_len)
    x._completion.take().finish(response^)


def _switch(e: ArcPointer[Exchange], var response: Response) raises:
    """Leaves the connection to a tunnel, since both sides have changed their
    protocol."""
    ref x = e[]
    ref parser = x.parser.held()[]
    agree_on_protocol(parser, x.upgrade, response)
    if _advance(e) != ResponseProgress.END:
        raise Error("101 has content")
    response.body = begin_tunnel(
        x.link.held(),
        x.loop,
        parser.input.span(),
        x.worker[].shared[].config.idle_timeout_ms,
    )
    _ = x.place.report(Outcome.answered(SWITCHING_PROTOCOLS))
    # Somebody else has the connection now.
    x.phase = ExchangePhase.OVER
    x.worker[].give_parser(x.parser.take())
    x.link = None
    x.content = None
    _finish(e, response^)


def _end_exchange(e: ArcPointer[Exchange]):
    """Gives the connection back, since the response is complete."""
    ref x = e[]
    if len(x.parser.held()[].trailers()) > 0:
        x.trailers = trailers_of(owned_fields(x.parser.held()[].trailers()))
    x.lent.end(x._sent_len)
    if x.has_all and not x.sends_on and x._sent_len == len(x.output):
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
    x.content = None


def _drop_link(e: ArcPointer[Exchange]):
    """Closes the connection, whatever the exchange waits for."""
    ref x = e[]
    x.phase = ExchangePhase.OVER
    _ = x.place.report(Outcome.CANCELLED)
    _close_link(e)
    x.content = None
    x.lent.end(x._sent_len)


def _close_link(e: ArcPointer[Exchange]):
    ref x = e[]
    if x.parser:
        x.worker[].give_parser(x.parser.take())
    if x.link:
        var link = x.link.take()
        link[].close()


def _finish(e: ArcPointer[Exchange], var response: Response):
    """Answers, and ends what is left."""
    ref x = e[]
    if x.phase != ExchangePhase.OVER:
        _drop_link(e)
    x.lent.end(x._sent_len)
    if x._completion:
        x._completion.take().finish(response^)


def _is_retried(e: ArcPointer[Exchange], status: Int) -> Bool:
    """Sends the request again if its status says so, and that is safe."""
    ref x = e[]
    if not x.place.asks_again(status, content_is_kept=x._is_kept):
        return False
    _close_link(e)
    _start_elsewhere(e)
    return True


def _start_elsewhere(e: ArcPointer[Exchange]):
    """Begins another attempt, at the upstream that was chosen for it."""
    ref x = e[]
    x._wants_new = False
    x.write_upstreams_host()
    _start(e)


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
        if x.place.is_idempotent() or x._taken_ms == 0:
            x._wants_new = True
            _start(e)
            return
    # Nor does an answer of HTTP/2 to what the client alone has wished for.
    var is_strange = x._taken_ms > 0 and x.place.may_lack(x.upgrade)
    var is_own = not was_stale and not is_strange
    _ = x.place.report(outcome if is_own else Outcome.CANCELLED)
    var decision = x.place.goes_again(
        outcome, was_sent=x._taken_ms > 0, content_is_kept=x._is_kept
    )
    if decision.is_again():
        return _start_elsewhere(e)
    var told = reason_over_http1(reason) if is_strange else reason
    _finish(e, x.place.failed(outcome, decision, told))
