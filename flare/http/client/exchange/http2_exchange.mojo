"""A request's part in a connection that speaks HTTP/2.

Other threads may have parts in it, too. What reaches the connection, or what has
come on the stream, does so under a `LinkHold` then.
"""

from flare.bytes.checked import *
from flare.http.client.exchange.attempt import PIECE_LEN, Attempt, Step
from flare.http.client.exchange.timeout_policy import (
    TimeoutPolicy,
    shorter,
    total_error,
)
from flare.http.client.connect.cancel import CancelToken
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import ClientError, NoResponse, Phase
from flare.http.client.connect.exchange_facts import ConnectionInfo
from flare.http.client.exchange.exchange import (
    append_own_content,
    begin_content,
)
from flare.http.client.exchange.http2_flight import (
    Http2Flight,
    StreamAnswer,
    StreamUse,
)
from flare.http.exchange.retry_rules import AttemptEnd
from flare.http.client.exchange.http2_link import Http2Link, LinkHold
from flare.http.client.exchange.prepared_request import PreparedRequest
from flare.http.client.message.response import ContentUse, ResponseBuilder
from flare.http.client.exchange.shared_connections import SharedPlace
from flare.http.client.exchange.state import ClientState
from flare.http.client.exchange.task_phase import TaskEvent
from flare.http.exchange.request_phase import RequestEvent
from flare.http.exchange.outgoing_request import RequestStream
from flare.http.h1.error import NOWHERE, RemoteProtocolError, Rule
from flare.http.h1.serialiser import RequestFraming
from flare.http.message.header_map import HeaderMap
from flare.http.message.request import Version
from flare.http.message.status import Status
from flare.http.message.trailers import Trailers
from flare.net.error import NetworkError, Timeout
from flare.runtime.event import Waker
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.errno import EINTR, OsError
from flare.sys.poll import POLL_READ, POLL_WRITE, PollEntry, poll_descriptors
from std.memory import ArcPointer, OwnedPointer


struct Http2Exchange(Movable):
    """The connection that a request is lent, and its stream once there is one."""

    var link: ArcPointer[Http2Link]
    var flight: Optional[ArcPointer[Http2Flight]]
    """The stream; none while the request waits for one."""
    var owner: Int
    # If the connection may be other threads', too.
    var _place: Optional[OwnedPointer[SharedPlace]]
    # What ends the waits of such a request.
    var _bell: Optional[Waker]
    # How long the content may be, as transferred, in bytes.
    var _length_max: Int
    # How much of the content the builder is at, in bytes.
    var _piece_len: Int

    def __init__(
        out self,
        link: ArcPointer[Http2Link],
        owner: Int,
        var place: Optional[OwnedPointer[SharedPlace]] = None,
        bell: Optional[Waker] = None,
    ):
        """Joins a connection, which wakes the owner when there is news. If
        threads share it, the place is what the pool counts, and the bell ends
        the waits of this request, and of no other one meanwhile."""
        self.link = link
        self.flight = None
        self.owner = owner
        self._place = place^
        self._bell = bell.copy()
        self._length_max = 0
        self._piece_len = 0
        var hold = self._hold()
        link[].user_count += 1
        if self._place:
            self.owner = hold.crowd().join(bell.value().copy())
        deinit(hold^)

    def __deinit__(deinit self):
        if self._place:
            self.end()

    def is_shared(self) -> Bool:
        """Tells whether other threads may have a part in the connection; if so,
        `wait` here, and not for the descriptor."""
        return Bool(self._place)

    @always_inline
    def _hold(self) -> LinkHold:
        return LinkHold(self.link, Bool(self._place))

    def wants_another(self) -> Bool:
        """Tells whether a request without a stream is better off on another
        connection, if it may have one: all of few streams are in use, or of any
        number for who shares with other threads, since it is the pool that
        bounds them and in which they wait."""
        with self._hold():
            if self._place:
                return self.link[].is_full()
            return self.link[].wants_another()

    def open(
        mut self,
        mut attempt: Attempt,
        request: PreparedRequest,
        config: ClientConfig,
    ) raises ClientError -> Bool:
        """Sends the head as soon as there is a stream for it, with the attempt
        begun anew; False to wait for the connection. Raises if a part of the
        request must not be sent, the server does not take as many fields, or
        the connection is over."""
        with self._hold():
            ref link = self.link[]
            if link.is_closing():
                raise _closing_error(link)
            var is_doubtful = link.awaits_pong() and not request.may_be_twice()
            if link.room() == 0 or is_doubtful:
                self._wait(request)
                return False
            link.fields.collect(request, config)
            if not link.has_room():
                self._wait(request)
                return False
            link.fields.check_size(
                link.session.state.remote.max_header_list_size
            )
            var asks = request.expects_continue and request.has_content()
            attempt.begin(request.method, RequestFraming(0, asks))
            # Reading a file may take long, and others wait for the lock.
            var may_append = not self.is_shared() or request.body.is_in_memory()
            if not request.upload.is_streamed and not asks and may_append:
                append_own_content(attempt, request)
            var ends = attempt.outgoing.has_sent_all()
            self.flight = link.open(self.owner, request.method == "HEAD", ends)
            if not self.flight:
                raise _closing_error(link)
            # What one thread does not take must not hold back the others.
            if request.content_use.is_lent() or self.is_shared():
                self.flight.held()[].use = StreamUse.LENT
            if self._place and link.is_full():
                link.wake_waiting()
            attempt.outgoing.sent_count = 1
            if ends:
                attempt.note(RequestEvent.SENT)
            return True

    def _wait(mut self, request: PreparedRequest) raises ClientError:
        """Queues for a stream, but not for ever if nobody has one."""
        ref link = self.link[]
        link.wait(self.owner)
        ref time = request.timeouts.stream_wait
        if link.is_lent() or time.left_ms() != 0:
            return
        raise ClientError(
            Phase.QUEUE,
            Timeout,
            String(
                "no stream within ",
                time.timeout_ms,
                " ms: ",
                link.stall_reason(),
                "; ClientConfig.write_timeout_ms allows more time",
            ),
        )

    def step(mut self, mut attempt: Attempt) raises ClientError -> Step:
        """Goes on with what is there, as `Attempt.step` does. Raises if the
        stream or its connection has failed."""
        with self._hold():
            ref flight = self.flight.held()[]
            flight.has_news = False
            if flight.failure and flight.status == 0:
                raise flight.failure.value().copy()
            if flight.status > 0 and not attempt.has_head():
                attempt.note_head(flight.status)
                return Step.HEAD
            var sends_first = (
                attempt.sends_first
                and attempt.wants_write()
                and not flight.failure
                and not flight.has_ended()
            )
            if len(flight.content) > 0 and not sends_first:
                return Step.CONTENT
            # What has come before it is the caller's.
            if flight.failure:
                raise flight.failure.value().copy()
            if flight.has_ended():
                return Step.END
            if flight.answer == StreamAnswer.CONTINUE and attempt.is_asking():
                attempt.note(RequestEvent.CONTINUE)
            if attempt.wants_write():
                return self._send(attempt)
            return Step.WAIT

    def _send(mut self, mut attempt: Attempt) -> Step:
        var stream = _LentStream(self.link, self.flight.held())
        var event = attempt.outgoing.push_content(stream, Trailers())
        if event == RequestEvent.BLOCKED and self.link[].is_congested():
            attempt.delivery.note(self.link[].connection[])
        attempt.note(event)
        if event == RequestEvent.DRY:
            return Step.NEEDS_CONTENT
        return Step.WAIT

    def apply(
        mut self,
        step: Step,
        mut attempt: Attempt,
        mut request: PreparedRequest,
        mut builder: ResponseBuilder,
        config: ClientConfig,
    ) raises ClientError -> Bool:
        """Does on a stream what `apply_step` does. Raises, too, if the content
        is too long."""
        if step == Step.NEEDS_CONTENT:
            append_own_content(attempt, request)
        elif step == Step.HEAD:
            var hold = self._hold()
            ref flight = self.flight.held()[]
            _take_head(flight, builder)
            var content_length = flight.content_length
            # Content-Length may tell of content that there is none of (RFC
            # 9110 section 8.6), and the end stand in a frame of its own.
            var has_content = (
                request.method != "HEAD"
                and builder.response.status.allows_content()
                and (len(flight.content) > 0 or not flight.has_ended())
            )
            deinit(hold^)
            # Without the lock: hooks of the program run.
            self._length_max = begin_content(
                attempt,
                request,
                builder,
                config,
                has_content=has_content,
                content_len=content_length,
            )
            if has_content:
                self._check_len(attempt, builder, content_length)
        elif step == Step.CONTENT:
            with self._hold():
                self._take_content(attempt, builder)
            return not builder.is_worth_reading(attempt.parser.body.taken_len)
        else:
            builder.take_end()
            with self._hold():
                swap(builder.response.trailers, self.flight.held()[].trailers)
            return True
        return False

    def _take_content(
        mut self, mut attempt: Attempt, mut builder: ResponseBuilder
    ) raises ClientError:
        ref flight = self.flight.held()[]
        self._piece_len = min(len(flight.content), PIECE_LEN)
        attempt.parser.body.taken_len += self._piece_len
        self._check_len(attempt, builder, attempt.parser.body.taken_len)
        builder.take_content(_piece(flight, self._piece_len))
        if not builder.use.goes_out():
            self._drop_piece()

    def _check_len(
        self, attempt: Attempt, builder: ResponseBuilder, length: Int
    ) raises ClientError:
        if length <= self._length_max or builder.use == ContentUse.DISCARD:
            return
        var error = ClientError(
            Phase.READ_BODY,
            RemoteProtocolError(materialize[Rule.BODY_LEN](), NOWHERE),
        )
        error.name_setting(attempt.size_setting)
        raise error^

    def decode_more(
        mut self, mut builder: ResponseBuilder
    ) raises ClientError -> Bool:
        """Makes more of the piece that was taken last, as
        `ResponseBuilder.decode_more` does."""
        with self._hold():
            ref flight = self.flight.held()[]
            if builder.decode_more(_piece(flight, self._piece_len)):
                return True
            self._drop_piece()
        return False

    def _drop_piece(mut self):
        """Lets the server send as much again as the piece was long."""
        ref flight = self.flight.held()[]
        self.link[].take_content(flight, self._piece_len)
        flight.progress_ms = coarse_monotonic_ms()
        self._piece_len = 0

    def content_length(self) -> Int:
        """Tells how many bytes of content were announced; -1 if that is not
        known, or there is no stream yet."""
        with self._hold():
            return self.flight.value()[].content_length if self.flight else -1

    def note_progress(mut self):
        """Counts the server's silence from now on: what the caller's source or
        sink has taken is not the server's time."""
        with self._hold():
            self.flight.held()[].progress_ms = coarse_monotonic_ms()

    def fate(self) -> AttemptEnd:
        """Tells what is known of a request that has failed, as its end says."""
        with self._hold():
            ref link = self.link[]
            var fate = AttemptEnd.UNTOUCHED
            if self.flight:
                ref flight = self.flight.held()[]
                fate = AttemptEnd.BEGUN if flight.has_answer() else flight.fate
            elif not link.is_closing() or not link.session.state.has_settings:
                # It was not the connection that failed, or a server that has
                # never begun to speak HTTP/2, which is not asked again.
                return AttemptEnd.LOST
            if (
                fate == AttemptEnd.UNTOUCHED
                and link.is_closing()
                and link.has_served
            ):
                return AttemptEnd.LEFT_BEHIND
            return fate

    def end(mut self):
        """Gives the stream back, complete or not; the request has no part in the
        connection any more."""
        var hold = self._hold()
        ref link = self.link[]
        link.user_count -= 1
        if self.flight:
            link.release(self.flight.held()[])
        else:
            # It may have been woken for a stream that others can use.
            link.leave(self.owner)
            link.wake_for_room()
        if self._place:
            link.flush()
            if not link.is_in_use():
                link.forget_buffers()
            ref place = self._place.value()[]
            place.is_closing = link.is_closing()
            place.seat_count = link.seat_count()
            hold.crowd().leave(self.owner)
        deinit(hold^)
        # Others may have the connection to themselves from then on.
        self._place = None

    def note_served(mut self, state: ClientState):
        """Ends it on a connection that threads share, which has carried the
        request."""
        with self._hold():
            state.count_request(self.link[].connection[])
        self.end()

    def flush(mut self) -> Bool:
        """Sends what waits on the connection, and tells whether the request can
        go on at once."""
        with self._hold():
            ref link = self.link[]
            if not link.wants_write():
                return False
            link.flush()
            if self.flight:
                return self.flight.value()[].has_news
            return link.is_closing()

    def wait(
        mut self,
        attempt: Attempt,
        timeouts: TimeoutPolicy,
        cancel: Optional[CancelToken],
    ) raises ClientError -> TaskEvent:
        """Waits for news on a connection that threads share: for the connection
        itself if nobody else does. The token ends the wait, too. Returns
        TIMEOUT if the time is over, else NONE: what has come was read. Raises
        if the system cannot wait."""
        var event = TaskEvent.NONE
        var hold = self._hold()
        while not self._has_news(hold):
            var wait_ms = self._wait_ms(attempt, timeouts)
            if wait_ms == 0:
                event = TaskEvent.TIMEOUT
                break
            var watched = self.watch()
            var wants_write = (watched.wanted & POLL_WRITE) != 0
            if not hold.crowd().begin_wait(self.owner, wants_write):
                watched.number = -1
            # The descriptor may be silent then.
            var has_more = self.link[].has_more
            deinit(hold^)
            var entries = Array[PollEntry, 3](fill=watched)
            entries[1] = PollEntry(self._bell.value().fd(), POLL_READ, 0)
            entries[2] = PollEntry(-1, POLL_READ, 0)
            if cancel:
                entries[2].number = cancel.value().fd()
            var result = poll_descriptors(
                Span(entries), 0 if has_more else wait_ms
            )
            hold = self._hold()
            hold.crowd().end_wait(self.owner)
            if result < 0 and result != -EINTR:
                hold.crowd().hand_over()
                raise ClientError(
                    attempt.phase(), NetworkError(OsError("poll", -result))
                )
            # Errors and the end of the stream are met by reading.
            if entries[0].found != 0 and entries[0].found != POLL_WRITE:
                self.link[].pump()
            if result == 0 and not has_more:
                event = TaskEvent.TIMEOUT
                break
            if entries[2].found != 0:
                break
        hold.crowd().hand_over()
        deinit(hold^)
        return event

    def _has_news(self, mut hold: LinkHold) -> Bool:
        """Tells whether the request can go on; sends what waits, and takes what is
        here already."""
        ref link = self.link[]
        if link.has_more:
            link.pump()
        if link.wants_write():
            link.flush()
        hold.settle()
        if hold.crowd().take_news(self.owner):
            return True
        if self.flight:
            return self.flight.value()[].has_news
        return link.is_closing()

    def info(self) -> Optional[ArcPointer[ConnectionInfo]]:
        return self.link[].connection[].info

    def watch(self) -> PollEntry:
        ref link = self.link[]
        var wanted = POLL_READ
        if link.wants_write():
            wanted |= POLL_WRITE
        return PollEntry(link.fd(), wanted, 0)

    def wait_ms(self, attempt: Attempt, timeouts: TimeoutPolicy) -> Int:
        """Tells for how many milliseconds it may be left alone; negative for
        ever."""
        with self._hold():
            return self._wait_ms(attempt, timeouts)

    def _wait_ms(self, attempt: Attempt, timeouts: TimeoutPolicy) -> Int:
        var wait_ms = shorter(timeouts.total.left_ms(), self.link[].wait_ms())
        if not self.flight:
            var left_ms = timeouts.stream_wait.left_ms()
            if left_ms == 0 and self.link[].is_lent():
                # It waits for others, which have times of their own.
                return wait_ms
            return shorter(wait_ms, left_ms)
        var phase_ms = timeouts.phase_ms(attempt)
        if phase_ms < 0:
            return wait_ms
        if attempt.delivery.is_going_on():
            wait_ms = shorter(wait_ms, attempt.delivery.look_again_ms(phase_ms))
        var end_ms = self.flight.held()[].progress_ms + phase_ms
        return shorter(wait_ms, max(end_ms - coarse_monotonic_ms(), 0))

    def check_time(
        mut self,
        mut attempt: Attempt,
        mut timeouts: TimeoutPolicy,
        *,
        may_read: Bool = False,
    ) raises ClientError:
        """Raises if it may wait no longer; if it `may_read`, what has arrived
        is taken first."""
        with self._hold():
            if may_read or self.link[].has_more:
                self.link[].pump()
            self.link[].check_time()
            if not self.flight:
                if timeouts.total.left_ms() == 0:
                    var error = total_error(timeouts.total, Phase.QUEUE)
                    error.reason.write("; ", self.link[].stall_reason())
                    raise error^
                return
            ref flight = self.flight.held()[]
            if flight.has_news:
                return
            var now_ms = coarse_monotonic_ms()
            if attempt.delivery.is_going_on():
                _ = attempt.delivery.look(self.link[].connection[])
                flight.progress_ms = max(
                    flight.progress_ms, now_ms - attempt.delivery.stalled_ms()
                )
            var phase_ms = timeouts.phase_ms(attempt)
            var is_silent = (
                phase_ms >= 0 and now_ms - flight.progress_ms >= phase_ms
            )
            if is_silent or timeouts.total.left_ms() == 0:
                timeouts.check(attempt, self.link[].connection[])
                flight.progress_ms = now_ms


@fieldwise_init
struct _LentStream(RequestStream):
    """The stream for as long as content is sent on it."""

    var link: ArcPointer[Http2Link]
    var flight: ArcPointer[Http2Flight]

    def is_congested(mut self) -> Bool:
        return self.link[].stays_congested()

    def has_sent_end(self) -> Bool:
        return self.flight[].has_sent_end

    def sendable_len(self) -> Int:
        return self.link[].sendable_len(self.flight[])

    def send_content(mut self, octets: Span[UInt8, _], ends: Bool):
        self.link[].send_content(self.flight[], octets, ends)

    def send_trailers(mut self, fields: HeaderMap):
        self.link[].send_trailers(self.flight[], fields)


def _piece(
    ref flight: Http2Flight, length: Int
) -> Span[UInt8, ImmOrigin(origin_of(flight.content))]:
    return flight.content.span().before(length)


def _take_head(mut flight: Http2Flight, mut builder: ResponseBuilder):
    builder.response.status = flight.status
    builder.response.version = Version(2, 0)
    builder.response.reason = String(Status(flight.status).reason())
    swap(builder.response.headers, flight.headers)


def _closing_error(link: Http2Link) -> ClientError:
    if link.failure:
        return link.failure.value().copy()
    return ClientError(
        Phase.WRITE,
        NoResponse,
        "the server takes no more requests on this connection",
    )
