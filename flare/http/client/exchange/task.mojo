"""A request under way, from its first attempt to its final response, without
ever waiting. What it is at, and what follows, is a `TaskPhase`.
"""

from flare.http.client.exchange.attempt import Attempt, Feeding, Step
from flare.http.client.exchange.connector import Connector, connector_for
from flare.http.client.connect.error import ClientError, Phase
from flare.http.client.exchange.exchange import (
    append_content,
    apply_step,
    begin_attempt,
    drain,
)
from flare.http.client.exchange.http2_exchange import Http2Exchange
from flare.http.exchange.retry_rules import AttemptEnd
from flare.http.client.exchange.http2_link import Http2Link
from flare.http.client.exchange.shared_connections import (
    ConnectionClaim,
    IdleConnection,
    SharedPlace,
)
from flare.http.client.connect.connection import ClientConnection
from flare.http.client.exchange.prepared_request import PreparedRequest
from flare.http.client.exchange.repetition import plan_repetition
from flare.http.client.message.response import (
    ClientResponse,
    ContentUse,
    ResponseBuilder,
    url_without_credentials,
)
from flare.http.client.exchange.state import ClientState
from flare.http.client.exchange.task_phase import (
    TaskEvent,
    TaskPhase,
    TaskProgress,
    TurnEnd,
)
from flare.http.h1.serialiser import asks_for_close
from flare.sys.clock import Deadline
from flare.sys.poll import PollEntry
from std.memory import ArcPointer, Layout, OwnedPointer, alloc

comptime TURN_COUNT_MAX = 16
"""Most steps of one request before others have their turn: a fast server must
not keep them waiting."""


struct RequestTask(Movable):

    var request: PreparedRequest
    """What is sent; at the end, as it was sent last."""
    var attempt_number: Int
    """Counts the attempts, each of which may have another connection."""
    var _builder: ResponseBuilder
    var _attempt: OwnedPointer[Attempt]
    # In boxes, which are moved as one word each.
    var _connector: Optional[OwnedPointer[Connector]]
    var _connection: Optional[OwnedPointer[ClientConnection]]
    var _stream: Optional[OwnedPointer[Http2Exchange]]
    # Before it has a connection of a pool that threads share.
    var _claim: Optional[OwnedPointer[ConnectionClaim]]
    var _owner: Int
    var _phase: TaskPhase
    var _pause: Deadline
    var _turn_end: TurnEnd
    # What was used before may be given to it all the same, where others take
    # part in it.
    var _may_reuse: Bool

    def __init__(
        out self,
        var request: PreparedRequest,
        mut state: ClientState,
        owner: Int = -1,
    ):
        """Makes ready to send a request. The owner is what its driver calls it:
        connections that are shared wake it by that number. Negative if the
        driver waits for this one alone."""
        self.attempt_number = 0
        self._builder = ResponseBuilder(request.url.copy(), 0)
        self.request = request^
        self.request.begin_trace()
        self._attempt = state.take_attempt()
        self._connector = None
        self._connection = None
        self._stream = None
        self._claim = None
        self._owner = owner
        self._phase = TaskPhase.STARTING
        self._pause = Deadline(-1)
        self._turn_end = TurnEnd.NOTHING
        self._may_reuse = True

    def advance(
        mut self, mut state: ClientState, event: TaskEvent
    ) raises ClientError -> TaskProgress:
        """Goes on with what is there, and tells what to do next. Raises, with
        the URL, if the request fails for good."""
        var cause = event
        while True:
            try:
                return self._advance(state, cause)
            except error:
                if not self._plan_again(state, error):
                    raise self.named(state, error^)
            cause = TaskEvent.NONE

    def named(
        mut self, mut state: ClientState, var error: ClientError
    ) -> ClientError:
        """Completes an error with the URL, and the request's span with it; the
        request is over."""
        _ = self._let_go(state)
        self.request.tell_failure(error)
        if self.attempt_number > 0:
            self.request.note_attempts(error)
        self.request.fail_trace(error)
        error.url = url_without_credentials(self.request.url)
        return error^

    def _advance(
        mut self, mut state: ClientState, event: TaskEvent
    ) raises ClientError -> TaskProgress:
        self._check_time(event)
        self._turn_end.begin_turn()
        var may_read = event == TaskEvent.READABLE
        # What has come to a full connection once waits there.
        var may_leave = True
        while True:
            if self._phase == TaskPhase.PAUSING:
                if self._pause.left_ms() > 0:
                    return TaskProgress.WAIT
                self._phase = TaskPhase.STARTING
            elif self._phase == TaskPhase.QUEUED:
                # It was woken; it does not wait for others again.
                self._phase = TaskPhase.ALONE
            elif self._phase.begins():
                self._start(state)
                if self._phase == TaskPhase.QUEUED:
                    return TaskProgress.WAIT
            elif self._phase == TaskPhase.AWAITING:
                may_read = False
                if not self._end_waiting(state):
                    return TaskProgress.WAIT
            elif self._phase == TaskPhase.CONNECTING:
                if not self._connector.value()[].advance(state.context):
                    return TaskProgress.WAIT
                self._take_connection(state)
            elif self._phase == TaskPhase.OPENING:
                if not self._open(state, may_leave):
                    if not self._phase.begins():
                        return TaskProgress.WAIT
                    may_leave = False
            else:
                var progress = self._exchange(state, may_read)
                if progress != TaskProgress.DONE:
                    return progress
                may_read = False
                self._end_exchange(state)
                if not self._goes_on(state):
                    return TaskProgress.DONE

    def _check_time(mut self, event: TaskEvent) raises ClientError:
        """Ends what may wait no longer."""
        if self._stream:
            ref exchange = self._stream.value()[]
            if self._turn_end == TurnEnd.PIECE:
                # The sink has just had its turn.
                exchange.note_progress()
            exchange.check_time(
                self._attempt[],
                self.request.timeouts,
                may_read=event == TaskEvent.READABLE,
            )
            return
        if self._phase == TaskPhase.QUEUED or self._phase == TaskPhase.AWAITING:
            self.request.timeouts.check_queue()
        if self._phase != TaskPhase.EXCHANGING:
            return
        var gives_way = self.gives_way()
        var is_late = event == TaskEvent.TIMEOUT and not gives_way
        if is_late or (
            gives_way and self.request.timeouts.total.left_ms() == 0
        ):
            self.request.timeouts.check(
                self._attempt[], self._connection.value()[]
            )

    def _start(mut self, mut state: ClientState) raises ClientError:
        """Begins an attempt, on an idle connection if there is one."""
        self.attempt_number += 1
        state.add_cookies(self.request)
        if self.request.has_turn():
            state.context.challenges.answer_request(self.request)
        self.request.run_hooks()
        self.request.timeouts.begin_attempt()
        self._builder.response.exchange.was_reused = False
        self._connection = None
        ref endpoint = self.request.endpoint
        if endpoint.offers_http2:
            var found = state.find_shared(
                self._claim, endpoint, self._may_reuse, waits=self._owner >= 0
            )
            if found:
                self._use(state, found.value())
            if self._stream:
                return
        begin_attempt(self._attempt[], self.request, state.config)
        var waiter = self._owner if self._phase == TaskPhase.STARTING else -1
        self._phase = TaskPhase.EXCHANGING
        if not self._connection:
            self._take_idle(state)
        if self._connection or self._stream:
            return
        if endpoint.offers_http2 and state.joins_dial(endpoint, waiter):
            self._claim = None
            self._phase = TaskPhase.QUEUED
            return
        if self._claim and not self._claim.value()[].slot:
            self._phase = TaskPhase.AWAITING
            return
        self._dial(state)

    def _dial(mut self, state: ClientState):
        var connector = connector_for(self.request, state.config)
        self._connector = OwnedPointer(connector^)
        self._phase = TaskPhase.CONNECTING

    def _take_idle(mut self, mut state: ClientState) raises ClientError:
        var idle = state.take_any(
            self._claim,
            self.request.endpoint,
            self._may_reuse,
            # With requests of other threads, if its client is one of theirs.
            joins=self._owner < 0 and self.request.endpoint.offers_http2,
        )
        if idle:
            self._use(state, idle.value())

    def _use(mut self, mut state: ClientState, mut found: IdleConnection):
        var was_used = found.was_used()
        if state.place:
            was_used = state.place.value()[].was_used
        self._builder.response.exchange.was_reused = was_used
        if found.link:
            self._join(state, found.link.value())
        else:
            self._connection = found.connection.take()

    def _end_waiting(
        mut self, mut state: ClientState
    ) raises ClientError -> Bool:
        """Goes on with a connection of others, or opens one; False to wait."""
        self._take_idle(state)
        if self._claim:
            if not self._claim.value()[].slot:
                return False
            self._dial(state)
            return True
        state.end_dial(self.request.endpoint, False)
        if not self._stream:
            self._phase = TaskPhase.EXCHANGING
        return True

    def _join(mut self, mut state: ClientState, link: ArcPointer[Http2Link]):
        self._attempt[].forget()
        self.request.timeouts.begin_stream_wait()
        self._claim = None
        var place = Optional[OwnedPointer[SharedPlace]](None)
        swap(place, state.place)
        self._stream = OwnedPointer(
            Http2Exchange(link, self._owner, place^, state.bell())
        )
        self._phase = TaskPhase.OPENING

    def _take_connection(mut self, mut state: ClientState):
        var connection = self._connector.value()[].take()
        self._connector = None
        ref endpoint = self.request.endpoint
        if connection[].is_http2:
            var link = state.add_link(connection^, self._claim)
            self._join(state, link)
            state.end_dial(endpoint, False)
            return
        if self._claim:
            connection[].slot = self._claim.value()[].take_slot(is_http1=True)
            self._claim = None
        self._connection = connection^
        self._phase = TaskPhase.EXCHANGING
        if endpoint.offers_http2:
            state.end_dial(endpoint, True)

    def _open(
        mut self, mut state: ClientState, may_leave: Bool
    ) raises ClientError -> Bool:
        """Sends the head on a stream of its own; False if there is none yet."""
        ref exchange = self._stream.value()[]
        if exchange.open(self._attempt[], self.request, state.config):
            self._phase = TaskPhase.STREAMING
            return True
        # Who does not wait with others would wait for itself here: for a response
        # that its caller still reads.
        if exchange.wants_another() and (
            self._owner < 0
            or (may_leave and state.offers_another(self.request.endpoint))
        ):
            # It goes on with a connection of its own.
            _ = self._let_go(state)
            self._phase = TaskPhase.ALONE
        return False

    def _let_go(mut self, mut state: ClientState) -> AttemptEnd:
        """Gives back what the attempt has; tells what is known of its stream."""
        # Once: after this there is neither connector nor claim.
        var dials = Bool(self._connector) or (
            Bool(self._claim) and self._phase == TaskPhase.AWAITING
        )
        if dials and self.request.endpoint.offers_http2:
            state.end_dial(self.request.endpoint, False)
        self._connector = None
        self._claim = None
        self._connection = None
        if not self._stream:
            return AttemptEnd.LOST
        var exchange = self._stream.take()
        var fate = exchange[].fate()
        var is_shared = exchange[].is_shared()
        exchange[].end()
        if is_shared:
            return fate
        exchange[].link[].flush()
        state.settle_link(exchange[].link)
        return fate

    def _exchange(
        mut self, mut state: ClientState, may_read: Bool
    ) raises ClientError -> TaskProgress:
        """Goes on with the request and its response, over a connection of its
        own, or a stream."""
        if may_read and not self._stream:
            _ = self._attempt[].receive(self._connection.value())
        if self._turn_end == TurnEnd.PIECE and self._has_more_content():
            return TaskProgress.HAS_CONTENT
        for _ in range(TURN_COUNT_MAX):
            var step: Step
            if self._stream:
                step = self._stream.value()[].step(self._attempt[])
            else:
                step = self._attempt[].step(
                    self._connection.value(), state.config.head_limits
                )
            if step == Step.WAIT:
                if self._stream or not self._attempt[].may_have_more(
                    self._connection.value()[]
                ):
                    return TaskProgress.WAIT
                _ = self._attempt[].receive(self._connection.value())
                continue
            if step == Step.NEEDS_CONTENT and self.request.upload.is_streamed:
                return TaskProgress.WANTS_CONTENT
            var is_over: Bool
            if self._stream:
                is_over = self._stream.value()[].apply(
                    step,
                    self._attempt[],
                    self.request,
                    self._builder,
                    state.config,
                )
            else:
                is_over = apply_step(
                    step,
                    self._attempt[],
                    self.request,
                    self._builder,
                    state.config,
                )
            if is_over:
                return TaskProgress.DONE
            if step == Step.HEAD and self._builder.use.is_lent():
                return self._tell(state)
            if step == Step.CONTENT and self._builder.use.goes_out():
                if self._has_more_content():
                    return TaskProgress.HAS_CONTENT
        self._turn_end = TurnEnd.GIVES_WAY
        return TaskProgress.WAIT

    def _has_more_content(mut self) raises ClientError -> Bool:
        """Makes content for the sink of the piece that is here; False if that
        is used up."""
        var has_more: Bool
        if self._stream:
            has_more = self._stream.value()[].decode_more(self._builder)
        else:
            has_more = self._builder.decode_more(
                self._attempt[].parser.content()
            )
        self._turn_end.note_piece(has_more)
        return has_more

    def _note_exchange(mut self):
        """Says in the response over which connection it came."""
        ref facts = self._builder.response.exchange
        if self._stream:
            facts.note_connection(self._stream.value()[].info())
        else:
            facts.note_connection(self._connection.value()[].info)

    def _tell(mut self, mut state: ClientState) -> TaskProgress:
        """Lets the caller know the head: from now on it is this response or
        none."""
        self._builder.is_told = True
        self._note_exchange()
        self.request.tell_story(self._builder.response)
        state.keep_cookies(self._builder.response)
        self.request.timeouts.begin_content()
        return TaskProgress.HAS_HEAD

    def head(ref self) -> ref[self._builder.response] ClientResponse:
        """Lends what is known of the final response, after HAS_HEAD."""
        return self._builder.response

    def content_len(self) -> Int:
        """Tells how many bytes of content were announced, as transferred; -1 if
        that is not known."""
        if self._stream:
            return self._stream.value()[].content_length()
        return self._attempt[].parser.content_len()

    def received_len(self) -> Int:
        """Tells how much content has come, as transferred, in bytes."""
        return self._attempt[].parser.body.taken_len

    def sent_len(self) -> Int:
        """Tells how much of the request's content has gone to the connection,
        in bytes."""
        ref attempt = self._attempt[]
        return max(attempt.content_len - attempt.outgoing.left_len(), 0)

    def go_on_reading(mut self):
        """Notes that the caller wants more: what it did in between is not the
        server's time."""
        if self._stream:
            self._stream.value()[].note_progress()

    def hold_content(mut self):
        """Notes, after WANTS_CONTENT, that the caller has no content now: the
        response is waited for until `feed`."""
        self._attempt[].feeding.hold()

    def is_held(self) -> Bool:
        """Tells whether `feed` may be called at once, after `hold_content`."""
        return self._attempt[].feeding == Feeding.HELD

    def takes_content(self) -> Bool:
        """Tells whether content may still go; not once a response has come that
        does without it. After one that is not the final one it may be wanted
        again."""
        if not self.is_exchanging() and self._phase != TaskPhase.STREAMING:
            return not self._builder.is_told
        if self._builder.use == ContentUse.DISCARD:
            return True
        ref attempt = self._attempt[]
        return attempt.takes_content() or attempt.is_asking()

    def send_first(mut self, sends_first: Bool):
        """Leaves content of a response over HTTP/2 where it is, or no longer,
        while more of the request may go."""
        self._attempt[].sends_first = sends_first

    def feed(mut self, octets: Span[UInt8, _]) raises ClientError:
        """Takes the next piece of content from the caller's source, empty at
        its end. Raises if the content is not as long as it was said to be."""
        self._attempt[].feeding.feed()
        append_content(self._attempt[], self.request, octets)
        if self._stream:
            self._stream.value()[].note_progress()

    def content(ref self) -> ref[self._builder.content] List[UInt8]:
        """Lends the content for the caller's sink, which empties it."""
        return self._builder.content

    def phase(self) -> Phase:
        if self._connector:
            return self._connector.value()[].phase()
        if self._phase.has_begun():
            return self._attempt[].phase()
        if self._phase.begins() or self._phase == TaskPhase.PAUSING:
            return Phase.CONNECT
        return Phase.QUEUE

    def _end_exchange(mut self, mut state: ClientState):
        if not self._builder.is_told:
            state.keep_cookies(self._builder.response)
            self._note_exchange()
        if self._stream and self._stream.value()[].is_shared():
            self._stream.value()[].note_served(state)
            self._stream = None
            return
        if self._stream:
            var link = self._stream.value()[].link
            self._stream.value()[].end()
            if state.shared:
                # Other threads may have the connection from then on.
                link[].flush()
                self._stream = None
            state.count_request(link[].connection[])
            state.settle_link(link)
            return
        var connection = self._connection.take()
        # RFC 9112 sections 9.3 and 9.6: nothing more is sent behind a request that
        # has said so, or has not asked for more.
        var is_reusable = self._attempt[].parser.is_reusable() and not (
            self.request.minor_version == 0
            or asks_for_close(self.request.headers)
            or asks_for_close(state.config.headers)
        )
        state.end_exchange(connection^, is_reusable, self._builder.response)

    def _goes_on(mut self, mut state: ClientState) raises ClientError -> Bool:
        """Prepares the next attempt after a response that is not final."""
        if self._builder.use != ContentUse.DISCARD:
            # It is, as its head has said; but it may tell of answers.
            _ = self._takes_challenge(state)
            return False
        var pause_ms = 0
        var is_anew = self.request.goes_anew(
            self._attempt[], self._builder.response.exchange.was_reused
        )
        if self.request.will_stop_expecting(
            self._builder.response, self._attempt[].content_len
        ):
            self.request.expects_continue = False
        elif self.request.will_follow(
            self._builder.response.status, self._builder.response.headers
        ):
            self.request.follow(
                self._builder.response,
                state.config,
                self._attempt[].content_len,
            )
        elif self.request.is_retry_planned():
            pause_ms = self.request.begin_retry()
        elif not is_anew and not self._takes_challenge(state):
            return False
        self.request.undo_hooks()
        if self._stream:
            # What it has left, such as a reset, does not wait for others.
            self._stream.value()[].link[].flush()
            self._stream = None
        self._may_reuse = not is_anew
        self._begin_again(pause_ms)
        return True

    def _takes_challenge(
        mut self, mut state: ClientState
    ) raises ClientError -> Bool:
        """Keeps what the response says of answers to challenges, and tells
        whether the request goes out again with one."""
        return self.request.has_turn() and state.context.challenges.take(
            self.request, self._builder.response, self._attempt[].content_len
        )

    def _begin_again(mut self, pause_ms: Int):
        """Starts the next attempt, after a pause if there is one. Nothing is left
        of a response to the last one, whole or not."""
        self._builder = ResponseBuilder(
            self.request.url.copy(), self.request.redirect_count
        )
        self._turn_end = TurnEnd.NOTHING
        self._phase = TaskPhase.STARTING
        if pause_ms > 0:
            self._pause = Deadline(pause_ms)
            self._phase = TaskPhase.PAUSING

    def _plan_again(
        mut self, mut state: ClientState, mut error: ClientError
    ) -> Bool:
        """Decides whether the request goes on although the attempt has failed; if
        not, the error says why."""
        if self._builder.is_told:
            return False
        var is_final = self._builder.use != ContentUse.DISCARD
        if not is_final and self.request.timeouts.total.left_ms() != 0:
            # Nobody wants the content of a response that is not the final one.
            state.keep_cookies(self._builder.response)
            _ = self._let_go(state)
            try:
                return self._goes_on(state)
            except failure:
                error = failure^
                return False
        self.request.tell_failure(error)
        self.request.undo_hooks()
        var fate = self._let_go(state)
        var next = plan_repetition(
            self.request,
            self._attempt[],
            fate,
            error,
            state.config,
            # Once: what it is given then may have served others, too.
            was_reused=self._builder.response.exchange.was_reused
            and self._may_reuse,
        )
        if next.is_fresh:
            self._may_reuse = False
        if next.is_planned():
            self._begin_again(next.pause_ms)
        return next.is_planned()

    def wait_ms(self) -> Int:
        """Tells for how many milliseconds it may be left alone; negative for
        ever."""
        if self._phase.begins() or self.gives_way():
            return 0
        if self._phase == TaskPhase.PAUSING:
            return self._pause.left_ms()
        if self._phase == TaskPhase.CONNECTING:
            return self._connector.value()[].wait_ms()
        if self._phase == TaskPhase.QUEUED:
            return self.request.timeouts.total.left_ms()
        if self._phase == TaskPhase.AWAITING:
            return self._claim.value()[].wait_ms(self.request.timeouts.total)
        if self._stream:
            return self._stream.value()[].wait_ms(
                self._attempt[], self.request.timeouts
            )
        return self.request.timeouts.wait_ms(self._attempt[])

    def gives_way(self) -> Bool:
        """Tells whether it could go on at once, but lets others have a turn."""
        return self._turn_end == TurnEnd.GIVES_WAY

    def is_exchanging(self) -> Bool:
        """Tells whether it has one connection, the one of `watch`, and keeps
        it until the attempt is over."""
        return self._phase == TaskPhase.EXCHANGING and Bool(self._connection)

    def is_shared(self) -> Bool:
        """Tells whether it has a part in a connection that threads share: the
        driver waits with `wait_with_others`."""
        return Bool(self._stream) and self._stream.value()[].is_shared()

    def wait_with_others(mut self) raises ClientError -> TaskEvent:
        """Waits until it is worth another step, for who drives it alone.
        Returns why it goes on; raises if the system cannot wait."""
        if self.gives_way():
            return TaskEvent.TIMEOUT
        return self._stream.value()[].wait(
            self._attempt[], self.request.timeouts, self.request.cancel
        )

    def is_streaming(self) -> Bool:
        """Tells whether it has a part in a connection that others share: the
        driver waits for that, and flushes it."""
        return Bool(self._stream)

    def flush(mut self) -> Bool:
        """Sends what waits on the connection that it shares; True if it can go
        on at once."""
        if not self._stream:
            return False
        return self._stream.value()[].flush()

    def watch(self) -> PollEntry:
        """Tells what to wait for while it `is_exchanging` or `is_streaming`."""
        if self._stream:
            return self._stream.value()[].watch()
        return self._attempt[].watch(self._connection.value()[])

    def watches(self) -> List[PollEntry]:
        """Tells which descriptors to wait for, until the next `advance`."""
        if self._phase == TaskPhase.CONNECTING:
            return self._connector.value()[].watches()
        if self._phase == TaskPhase.AWAITING:
            return [self._claim.value()[].watch()]
        if self.is_exchanging():
            return [self.watch()]
        return []

    def abandon(deinit self, mut state: ClientState):
        """Ends it although there is more: over HTTP/1.1 the connection is kept
        only if the rest is short and here, over HTTP/2 it stays. That of a
        process which this one was forked from is left to it."""
        if self._is_of_parent():
            self._leave_to_parent()
        elif self.is_exchanging() and drain(
            self._attempt[], self._connection.value(), state.config.head_limits
        ):
            self._end_exchange(state)
        else:
            _ = self._let_go(state)
        self.request.end_trace(self._builder.response.status.code)
        state.give_attempt(self._attempt^)

    def _is_of_parent(self) -> Bool:
        if self._stream:
            return not self._stream.value()[].link[].connection[].is_own()
        return Bool(self._connection) and (
            not self._connection.value()[].is_own()
        )

    def _leave_to_parent(mut self):
        """Forgets the connection, which hears nothing of it, and is not read."""
        self._connection = None
        if self._stream:
            # SAFETY: the exchange stays in memory that nobody frees: at its end it
            # would reset the stream, or wait for a lock that nobody opens here.
            alloc(
                Layout[OwnedPointer[Http2Exchange]](count=1)
            ).unsafe_leak().unsafe_write(self._stream.take())

    def finish(deinit self, mut state: ClientState) -> ClientResponse:
        """Gives the response; `advance` must have answered DONE."""
        self.request.tell_story(self._builder.response)
        state.give_attempt(self._attempt^)
        var response = self._builder^.take_response()
        self.request.end_trace(response.status.code)
        return response^
