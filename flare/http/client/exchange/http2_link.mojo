"""A connection that speaks HTTP/2, lent to many requests at once.

    has_room --> open --> sendable_len, send_content ---+
                 ^  |                                   |--> release
       wait -----+  +--> Http2Flight: head, content ----+

It never waits. Who drives it waits for `fd`, no longer than `wait_ms`, and calls
`pump`, `check_time` and `flush`; `woken` then names the requests that have news.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import (
    ClientError,
    NoResponse,
    Phase,
    ResponseTooLarge,
)
from flare.http.client.exchange.http2_fields import Http2RequestFields
from flare.http.client.exchange.http2_flight import (
    Http2Flight,
    KeptFields,
    reset_error,
    StreamUse,
    end_of_reset,
)
from flare.http.exchange.retry_rules import AttemptEnd
from flare.http.client.exchange.link_crowd import Crowd
from flare.http.client.connect.connection import ClientConnection
from flare.http.client.message.response import copy_fields
from flare.http.h1.response_parser import INTERIM_COUNT_MAX
from flare.http.h2.connection_state import (
    EventKind,
    Http2Event,
    Http2Limits,
    Http2Role,
)
from flare.http.h2.error import ErrorCode, Http2Error
from flare.http.h2.frame import write_ping
from flare.http.h2.message_fields import add_fields
from flare.http.h2.session import Http2Session
from flare.http.h2.stream import StreamContent
from flare.http.message.header_map import HeaderMap
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.errno import EAGAIN
from flare.sys.mutex import Mutex, MutexGuard
from flare.http.h2.field_section import SectionLimits
from flare.http.h2.hpack_table import ENTRY_OVERHEAD
from flare.http.h2.priority import AbuseLimits
from std.memory import ArcPointer, OwnedPointer

comptime STREAM_WINDOW_LEN = 1 << 20
"""How much content of a response may wait here, in bytes: 80 Mbit/s over 100 ms.
"""

comptime OUTPUT_LEN_MAX = 128 << 10
"""Most octets that wait to be sent before uploads have to wait, in bytes."""

comptime FEW_STREAMS = 10
"""A server that allows fewer streams gets another connection when all of them
are in use, as it would over HTTP/1.1; one that allows more is waited for."""

comptime STREAM_COUNT_MAX = 500
"""Most requests at once on a connection, whatever a server allows: each frame is
looked up among them."""

comptime UNSETTLED_SIZE_MAX = 8_192
"""Largest field section that is sent before the server has said what it takes,
in bytes."""

comptime _READ_LEN = 65_536
comptime _ROOM_LEN_MIN = 16_384
comptime _ROUND_COUNT_MAX = 16
# Most reads before others have their turn.


struct Http2Link(Movable):
    """A connection, what both ends know of it, and its requests."""

    var connection: OwnedPointer[ClientConnection]
    var session: Http2Session
    var fields: Http2RequestFields
    """The fields of the request that is about to be opened."""
    var end: LinkEnd
    var user_count: Int
    """How many requests have a part in it."""
    var has_served: Bool
    """True once the server has begun with a request, for all that is known."""
    var has_more: Bool
    """True if there is more to read at once, though the descriptor may stay
    silent."""
    var reads_to_end: Bool
    """True to read until nothing is there, whatever came: for who is told of
    octets once, or of an end that stands after them."""
    var woken: List[Int]
    """The owners of requests that have news; the driver empties it."""
    var failure: Optional[ClientError]
    var crowd: Optional[Mutex[Crowd]]
    """The lock on all this while threads share it, set before they do. None if
    they never will."""
    var _input: Buffer
    var _output: Buffer
    var _name: Buffer
    var _flights: List[ArcPointer[Http2Flight]]
    # Owners that wait for a stream, the first one first.
    var _waiting: List[Int]
    var _goaway_code: Optional[ErrorCode]
    var _heard_ms: Int
    # When PING was sent that is not answered; -1 for none.
    var _ping_ms: Int
    var _ping_after_ms: Int
    var _ping_timeout_ms: Int

    def __init__(
        out self,
        var connection: OwnedPointer[ClientConnection],
        config: ClientConfig,
        *,
        stream_window: Int = STREAM_WINDOW_LEN,
    ):
        """Begins to speak HTTP/2; `stream_window` octets of a response's
        content may wait here."""
        var now_ms = coarse_monotonic_ms()
        self.connection = connection^
        var limits = client_limits(config)
        limits.stream_window = stream_window
        self.session = Http2Session(Http2Role.CLIENT, limits, now_ms)
        self.fields = Http2RequestFields()
        self.end = LinkEnd.OPEN
        self.user_count = 0
        self.has_served = False
        self.has_more = False
        self.reads_to_end = False
        self.woken = []
        self.failure = None
        self.crowd = None
        self._input = Buffer(0)
        self._output = Buffer(0)
        self._name = Buffer(0)
        self._flights = []
        self._waiting = []
        self._goaway_code = None
        self._heard_ms = now_ms
        self._ping_ms = -1
        self._ping_after_ms = config.http2_ping_after_ms
        self._ping_timeout_ms = config.http2_ping_timeout_ms
        self.session.begin(self._output)

    def __deinit__(deinit self):
        """Says goodbye, as far as the connection takes it at once, and closes
        (RFC 9113 section 6.8). A process that was forked since says nothing:
        the connection goes on without it."""
        if not self.end.has_failed() and self.connection[].is_own():
            self.session.end_drain(self._output)
            _ = self.connection[].transport.send(self._output.span())
            _ = self.connection[].transport.flush()

    def fd(self) -> Int32:
        return self.connection[].transport.fd()

    def is_closing(self) -> Bool:
        """Tells whether it takes no more requests; those under way may go on."""
        return self.end != LinkEnd.OPEN

    def is_in_use(self) -> Bool:
        """Tells whether requests have a part in it: they are under way, or wait
        for a stream. If not, it may go into the pool."""
        return self.user_count > 0

    def is_lent(self) -> Bool:
        """Tells whether requests are under way, each with a stream."""
        return len(self._flights) > 0

    def room(self) -> Int:
        """Tells how many more streams there may be now; until the server's
        SETTINGS have come, one."""
        if self.is_closing():
            return 0
        var most = self.seat_count() if self.session.state.has_settings else 1
        return max(most - len(self._flights), 0)

    def has_room(self) -> Bool:
        """Tells whether the fields that were collected may be sent now; if not,
        `wait`."""
        if not self.session.state.has_settings and (
            self.fields.size > UNSETTLED_SIZE_MAX
        ):
            return False
        return self.room() > 0

    def stall_reason(self) -> String:
        """Says why a request has no stream: what the server allows, in
        words."""
        ref state = self.session.state
        if not state.has_settings:
            return "the server has not said what it takes (SETTINGS)"
        if self.seat_count() == 0:
            return (
                "the server allows no requests now (its"
                " SETTINGS_MAX_CONCURRENT_STREAMS is 0)"
            )
        if self.room() > 0:
            return "it is not known if the server is still there (PING)"
        return String(
            "the server allows ",
            self.seat_count(),
            " at once (SETTINGS_MAX_CONCURRENT_STREAMS), which are under way",
        )

    def wants_another(self) -> Bool:
        """Tells whether the next request is better off on a connection of its
        own, if it may have one: all of few streams are in use."""
        ref state = self.session.state
        var most = state.remote.max_concurrent_streams
        return state.has_settings and (
            most > 0 and most < FEW_STREAMS and len(self._flights) >= most
        )

    def seat_count(self) -> Int:
        """Tells how many requests at once have a stream each; 0 if that is not
        known, or the server allows none now."""
        ref state = self.session.state
        if not state.has_settings:
            return 0
        return min(state.remote.max_concurrent_streams, STREAM_COUNT_MAX)

    def is_full(self) -> Bool:
        """Tells whether all streams that the server allows are in use, so that
        who may goes elsewhere; False if it allows none at all."""
        var most = self.seat_count()
        return most > 0 and len(self._flights) >= most

    def awaits_pong(self) -> Bool:
        """Tells whether it is not known if the server is still there, so that
        what must not be sent twice had better wait."""
        return self._ping_ms >= 0

    def wait(mut self, owner: Int):
        """Queues for a stream. The owner is woken when it is worth asking
        again; negative for who looks by itself."""
        if owner >= 0 and owner not in self._waiting:
            self._waiting.append(owner)

    def leave(mut self, owner: Int):
        for index in range(len(self._waiting)):
            if self._waiting.at(index) == owner:
                _ = self._waiting.pop(index)
                return

    def has_waiting(self) -> Bool:
        """Tells whether requests that a driver wakes wait for a stream."""
        return len(self._waiting) > 0

    def wake_first(mut self):
        """Wakes the request that has waited longest: it may go elsewhere."""
        if len(self._waiting) > 0:
            self.woken.append(self._waiting.pop(0))

    def wake_waiting(mut self):
        """Wakes all requests that wait for a stream: they may go elsewhere."""
        self.woken.extend(self._waiting.copy())
        self._waiting.clear()

    def forget_buffers(mut self):
        """Gives the memory back that only requests under way need."""
        if len(self._input) == 0:
            self._input = Buffer(0)
        if len(self._output) == 0:
            self._output = Buffer(0)

    def open(
        mut self,
        owner: Int,
        is_head: Bool,
        ends: Bool,
        *,
        is_tunnel: Bool = False,
    ) -> Optional[ArcPointer[Http2Flight]]:
        """Begins a request with the fields that were collected; its owner is
        woken when there is news. `is_head` and `is_tunnel` are for the methods
        HEAD and CONNECT; no content follows if it `ends`. Returns nothing if
        the connection has no more numbers for streams."""
        self.leave(owner)
        var id = self.session.open_stream()
        if id == 0:
            self.end.close()
            return None
        if is_head or is_tunnel:
            ref table = self.session.state.table
            table.at(
                table.find(id)
            ).expects = StreamContent.NONE if is_head else StreamContent.TUNNEL
        self.fields.encode(self.session)
        self.session.end_block(self._output, id, ends)
        var flight = ArcPointer(Http2Flight(id, owner, coarse_monotonic_ms()))
        flight[].has_sent_end = ends
        self._flights.append(flight)
        return flight^

    def sendable_len(self, flight: Http2Flight) -> Int:
        return max(self.session.sendable_len(flight.stream_id), 0)

    def send_content(
        mut self, mut flight: Http2Flight, octets: Span[UInt8, _], ends: Bool
    ):
        self.session.write_data(self._output, flight.stream_id, octets, ends)
        flight.has_sent_end = ends
        flight.progress_ms = coarse_monotonic_ms()

    def send_trailers(mut self, mut flight: Http2Flight, fields: HeaderMap):
        """Ends a request, whose content has all been sent, with trailer fields
        (RFC 9113 section 8.1). Those of HTTP/1.1 connections are not sent."""
        self.session.begin_block()
        add_fields(self.session, fields, self._name)
        self.session.end_block(self._output, flight.stream_id, True)
        flight.has_sent_end = True
        flight.progress_ms = coarse_monotonic_ms()

    def take_content(mut self, mut flight: Http2Flight, count: Int):
        """Drops so many bytes of content that were taken, and opens the windows
        for more."""
        flight.content.consume(count)
        ref state = self.session.state
        if flight.use.is_lent():
            state.release(self._output, flight.stream_id, count)
        else:
            state.consume(self._output, flight.stream_id, count)

    def release(mut self, mut flight: Http2Flight):
        for index in range(len(self._flights)):
            if self._flights.at(index)[].stream_id == flight.stream_id:
                _ = self._flights.pop(index)
                break
        var is_complete = flight.has_ended() and flight.has_sent_end
        if not is_complete and not flight.failure:
            self.session.state.reset(
                self._output, flight.stream_id, ErrorCode.CANCEL
            )
            self._ping_if_silent(flight.progress_ms)
        if len(flight.content) > 0 and not flight.use.is_lent():
            self.session.state.owe(len(flight.content), self._output)
        self.wake_for_room()

    def is_congested(self) -> Bool:
        """Tells whether uploads have to wait until the server takes more, as
        much waits to be sent."""
        return len(self._output) >= OUTPUT_LEN_MAX

    def stays_congested(mut self) -> Bool:
        """Tells the same, after it has sent what can be sent if it was so."""
        if self.is_congested():
            self.flush()
        return self.is_congested()

    def wants_write(self) -> Bool:
        """Tells whether to wait until the connection takes octets, or has some,
        and not only until it has some."""
        return (
            len(self._output) > 0 or self.connection[].transport.wants_write()
        )

    def wake_up(mut self) -> Bool:
        """Looks what became of a connection that was idle; False if it is
        over, though octets stand before its end."""
        self._read(reads_to_end=True)
        if self.is_closing():
            self.flush()
            return False
        var silent_ms = coarse_monotonic_ms() - self._heard_ms
        if self._ping_after_ms >= 0 and silent_ms >= self._ping_after_ms:
            self._ping()
        return True

    def _ping_if_silent(mut self, progress_ms: Int):
        """Asks whether the server is there if nothing has come for most of the
        time that a request has waited: what follows must not wait as long."""
        var now_ms = coarse_monotonic_ms()
        var silent_ms = now_ms - self._heard_ms
        if self._ping_after_ms >= 0 and (
            silent_ms > 0 and 2 * silent_ms >= now_ms - progress_ms
        ):
            self._ping()

    def _ping(mut self):
        if self._ping_ms >= 0:
            return
        self._ping_ms = coarse_monotonic_ms()
        write_ping(self._output, 0, "flarelib".as_bytes())

    def wait_ms(self) -> Int:
        """Tells for how many milliseconds it may be left alone; negative for
        ever."""
        if self.has_more:
            return 0
        if self.end.has_failed():
            # Those who have a part in it have heard of it.
            return -1
        var now_ms = coarse_monotonic_ms()
        if self._ping_ms >= 0:
            return max(self._ping_ms + self._ping_timeout_ms - now_ms, 0)
        if self._ping_after_ms < 0 or not self.is_in_use():
            return -1
        return max(self._heard_ms + self._ping_after_ms - now_ms, 0)

    def check_time(mut self):
        """Asks a silent server whether it is there, and gives up one that does
        not answer."""
        if self.has_more or self.wait_ms() != 0:
            return
        if self._ping_ms < 0:
            self._ping()
            return
        # The answer may be here, and nobody has looked for it.
        self.pump()
        if self._ping_ms < 0 or self.end.has_failed():
            return
        self.fail(
            ClientError(
                Phase.READ_HEAD,
                NoResponse,
                String(
                    "the server has not answered PING within ",
                    self._ping_timeout_ms,
                    " ms; http2_ping_timeout_ms allows more",
                ),
            ),
            is_silent=True,
        )

    def flush(mut self):
        """Sends what waits, as far as the connection takes it."""
        ref transport = self.connection[].transport
        var was_congested = self.is_congested()
        while len(self._output) > 0:
            var count = transport.send(self._output.span())
            if count >= 0:
                self._output.consume(count)
            elif count == -EAGAIN:
                break
            else:
                self._fail_write(count)
                return
        var flushed = transport.flush()
        if flushed < 0 and flushed != -EAGAIN:
            self._fail_write(flushed)
            return
        if was_congested and not self.is_congested():
            self._wake_senders(0)

    def _fail_write(mut self, number: Int):
        """Looks for what the server has said before it closed."""
        self._output.clear()
        self.end.close()
        if self.end.has_failed():
            return
        var error = self._failure_of(number, "write")
        self._read(reads_to_end=True)
        self.fail(error)

    def _failure_of(self, number: Int, operation: StaticString) -> ClientError:
        ref connection = self.connection[]
        return connection.transport.failure(
            Phase.READ_HEAD, number, operation, connection.endpoint.host
        )

    def pump(mut self):
        self._read(self.reads_to_end)

    def _read(mut self, reads_to_end: Bool):
        self.has_more = False
        for _ in range(_ROUND_COUNT_MAX):
            if self.end.has_failed():
                return
            if len(self._input.spare()) < _ROOM_LEN_MIN:
                self._input.reserve(_READ_LEN)
            var room = self._input.spare()
            var count = self.connection[].transport.receive(room)
            if count > 0:
                self._input.commit(count)
                self._heard_ms = coarse_monotonic_ms()
                self._take_events()
                var is_short = count < len(room) and not reads_to_end
                if is_short and not self._has_buffered():
                    return
            elif count == 0:
                self._end()
                return
            elif count == -EAGAIN:
                # TLS within TLS may have given up with octets left.
                self.has_more = self._has_buffered()
                return
            else:
                self.fail(self._failure_of(count, "read"))
                return
        self.has_more = True

    def _has_buffered(self) -> Bool:
        return self.connection[].transport.has_buffered()

    def _end(mut self):
        var reason = String("the connection was closed before the response")
        if self._goaway_code:
            reason.write(" (GOAWAY: ", self._goaway_code.value(), ")")
        self.fail(ClientError(Phase.READ_HEAD, NoResponse, reason^))

    def fail(mut self, error: ClientError, *, is_silent: Bool = False):
        """Ends the connection, and all its requests that are not complete."""
        if self.end.has_failed():
            return
        self.end.fail(is_silent)
        self.failure = error.copy()
        for index in range(len(self._flights)):
            var flight = self._flights.at(index)
            flight[].fail(error.copy(), AttemptEnd.LOST)
            self._wake(flight[])
        self.wake_for_room()

    def _take_events(mut self):
        var now_ms = self._heard_ms
        try:
            while True:
                var event = self.session.next_event(
                    self._input, self._output, now_ms
                )
                if event.kind == EventKind.NEEDS_OCTETS:
                    return
                self._take(event)
        except error:
            self._break_off(error)

    def _break_off(mut self, error: Http2Error):
        """Ends the connection because the server broke a rule."""
        var failure = ClientError(Phase.READ_HEAD, error)
        if not self.session.state.has_settings and (
            not self.connection[].endpoint.is_tls
        ):
            failure.reason.write(
                "; the server may not speak HTTP/2 without TLS:"
                " http2_prior_knowledge is for those that do"
            )
        self.session.fail(self._output, error)
        self.fail(failure)
        self.flush()

    def _take(mut self, event: Http2Event):
        if event.kind == EventKind.GOAWAY:
            self._take_goaway(event)
        elif event.kind == EventKind.PONG:
            self._ping_ms = -1
            self.wake_for_room()
        elif event.kind == EventKind.WINDOW:
            self._wake_senders(event.stream_id)
            if event.stream_id == 0:
                # SETTINGS may have come.
                self.wake_for_room()
        else:
            self._take_of_stream(event)

    def _take_of_stream(mut self, event: Http2Event):
        for index in range(len(self._flights)):
            var flight = self._flights.at(index)
            if flight[].stream_id == event.stream_id:
                flight[].progress_ms = self._heard_ms
                self._note(flight[], event)
                self._wake(flight[])
                return
        if event.kind == EventKind.DATA:
            # Of a request that is over.
            var count = len(self.session.data(self._input))
            self.session.state.owe(count, self._output)

    def _note(mut self, mut flight: Http2Flight, event: Http2Event):
        if event.kind == EventKind.RESET:
            self._note_reset(flight, event.code)
            return
        if event.kind == EventKind.DATA:
            var octets = self.session.data(self._input)
            flight.content.append(octets)
            if flight.use.is_lent():
                # Its own window holds back what nobody reads.
                self.session.state.owe(len(octets), self._output)
        elif event.kind == EventKind.TRAILERS:
            self._copy_fields(flight.trailers)
        else:
            self._note_head(flight)
            flight.is_bare = event.ends
        if event.ends:
            flight.answer.end()

    def _copy_fields(self, mut headers: HeaderMap):
        # SAFETY: the section is not changed before they are copied.
        copy_fields(
            self.session.section[].unsafe_fields[ImmUntrackedOrigin](), headers
        )

    def _kept_fields(self) -> KeptFields:
        # SAFETY: as in `_copy_fields`.
        return KeptFields(
            self.session.section[].unsafe_fields[ImmUntrackedOrigin]()
        )

    def _note_head(mut self, mut flight: Http2Flight):
        ref facts = self.session.section[].facts
        self.has_served = True
        if facts.response_status >= 200:
            flight.answer.note_head()
            flight.status = facts.response_status
            flight.content_length = facts.content_length
            if flight.use == StreamUse.PASSED_ON:
                flight.kept = self._kept_fields()
            else:
                self._copy_fields(flight.headers)
            return
        flight.note_interim(facts.response_status, self._kept_fields())
        if flight.interim_count > INTERIM_COUNT_MAX:
            flight.fail(
                ClientError(
                    Phase.READ_HEAD,
                    ResponseTooLarge,
                    "too many interim responses before the final one",
                ),
                AttemptEnd.SPOILED,
            )
            self.session.state.reset(
                self._output, flight.stream_id, ErrorCode.ENHANCE_YOUR_CALM
            )

    def _note_reset(mut self, mut flight: Http2Flight, code: ErrorCode):
        # After a whole response it says that the rest of the request is not
        # wanted (section 8.1).
        flight.has_sent_end = True
        if self.session.broken_rule:
            var rule = self.session.broken_rule.value()
            ref limits = self.session.state.limits.section
            flight.fail(
                ClientError(
                    Phase.READ_HEAD,
                    Http2Error(rule, flight.stream_id),
                    # A section that is cut has kept all that it may have.
                    has_all_fields=self.session.section[].__len__()
                    >= limits.field_count_max,
                ),
                AttemptEnd.SPOILED,
            )
            return
        flight.fail(reset_error(code), end_of_reset(code))

    def _take_goaway(mut self, event: Http2Event):
        """Ends the requests that the server has not begun with, and will not
        (section 6.8)."""
        self.end.close()
        self._goaway_code = event.code
        var fate = AttemptEnd.UNTOUCHED
        if event.code == ErrorCode.HTTP_1_1_REQUIRED:
            fate = AttemptEnd.NEEDS_HTTP_1_1
        for index in range(len(self._flights)):
            var flight = self._flights.at(index)
            if flight[].stream_id > event.stream_id:
                flight[].fail(reset_error(event.code), fate)
                self._wake(flight[])
            else:
                self.has_served = True
        self.wake_for_room()

    def _wake(mut self, mut flight: Http2Flight):
        if flight.has_news:
            return
        flight.has_news = True
        if flight.owner >= 0:
            self.woken.append(flight.owner)

    def _wake_senders(mut self, stream_id: Int):
        """Wakes those that have more to send; all of them for stream 0."""
        for index in range(len(self._flights)):
            var flight = self._flights.at(index)
            if not flight[].has_sent_end and (
                stream_id == 0 or stream_id == flight[].stream_id
            ):
                self._wake(flight[])

    def wake_for_room(mut self):
        """Wakes as many of those that wait as there are streams for."""
        var count = len(self._waiting)
        if not self.is_closing() and not self.wants_another():
            count = min(count, self.room())
        for _ in range(count):
            self.woken.append(self._waiting.pop(0))


comptime CONNECTION_WINDOW_LEN = 4 << 20
"""How much content of all responses of a connection together may wait here, in
bytes: one that nobody takes does not stop the others."""

comptime ABUSE_COUNT_MAX = 10_000
"""Frames of no use that a server may send at once. Those of a few octets are no
attack on a client, but what a program behind a server has written so."""

comptime ABUSE_PER_SECOND = 1_000
"""How many more it may send each second."""


def client_limits(config: ClientConfig) -> Http2Limits:
    """Makes the limits of a client's end of a connection; those of a stream's
    window are the caller's."""
    ref head = config.head_limits
    var limits = Http2Limits()
    # As many fields, and as long ones, as over HTTP/1.1.
    limits.section = SectionLimits(
        head.max_header_size + ENTRY_OVERHEAD * head.max_fields,
        head.max_fields,
        head.max_target_size,
    )
    # Nothing is pushed.
    limits.stream_count_max = 0
    limits.abuse = AbuseLimits(ABUSE_COUNT_MAX, ABUSE_PER_SECOND)
    limits.connection_window = CONNECTION_WINDOW_LEN
    return limits


struct LinkHold(Movable):
    """The lock on a connection that threads share; nothing on one of a single
    thread. At its end those are woken for whom there is news.

    It is held for what never waits, and while no code of the program runs.
    """

    var _link: Optional[ArcPointer[Http2Link]]
    var _guard: Optional[MutexGuard[Crowd, ImmUntrackedOrigin]]

    @always_inline
    def __init__(out self, link: ArcPointer[Http2Link], is_shared: Bool):
        """Waits for the lock if the connection `is_shared`; else this does
        nothing."""
        self._link = None
        self._guard = None
        if is_shared:
            self._begin(link)

    @always_inline
    def __deinit__(deinit self):
        if self._guard:
            self._end()

    @always_inline
    def __enter__(self):
        return

    @always_inline
    def __exit__(mut self):
        if self._guard:
            self._end()

    @no_inline
    def _begin(mut self, link: ArcPointer[Http2Link]):
        self._link = link
        # SAFETY: the lock is the link's, which `_link` keeps.
        self._guard = (
            Pointer(to=link[].crowd.value())
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin]()[]
            .lock()
        )

    @no_inline
    def _end(mut self):
        var link = self._link.take()
        var guard = self._guard.take()
        guard[].tell(link[].woken)
        link[].woken.clear()
        if link[].wants_write():
            guard[].watch_writing()
        if link[].has_more:
            guard[].ring_leader()
        deinit(guard^)
        _ = link^

    def settle(mut self):
        ref link = self._link.value()[]
        self._guard.value()[].tell(link.woken)
        link.woken.clear()

    def crowd(mut self) -> ref[self._guard.value()[]] Crowd:
        return self._guard.value()[]


@fieldwise_init
struct LinkEnd(Equatable, TrivialRegisterPassable):
    """Whether and why a connection takes no more requests; it never does again."""

    var _number: UInt8

    comptime OPEN = LinkEnd(0)
    comptime CLOSING = LinkEnd(1)
    """Those under way may go on."""
    comptime FAILED = LinkEnd(2)
    """None goes on."""
    comptime SILENT = LinkEnd(3)
    """The same, since the server has not answered PING in time."""

    comptime COUNT = 4

    def close(mut self):
        if self == Self.OPEN:
            self = Self.CLOSING

    def fail(mut self, is_silent: Bool):
        if self._number < Self.FAILED._number:
            self = Self.SILENT if is_silent else Self.FAILED

    def has_failed(self) -> Bool:
        return self._number >= Self.FAILED._number
