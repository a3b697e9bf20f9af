"""One WebSocket connection of a server: the core, fed by the worker's loop."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.bytes.text import Text
from flare.bytes.utf8 import lossy_text
from flare.http.message.body import Poll, StreamWaker, UpgradedProtocol
from flare.http.websocket.any_handler import SharedWsHandler
from flare.http.websocket.handler import WsConfig, WsIncoming
from flare.http.websocket.outbox import (
    WsOutbox,
    WsSender,
    advance,
    must_pause,
    send,
)
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.mutex import Mutex
from flare.ws.core.error import CloseCode, WsProtocolError
from flare.ws.core.frame import FrameHeader, MaskingKey, Opcode, write_frame
from flare.ws.core.receiver import WsProgress
from std.memory import ArcPointer, OwnedPointer
from std.sys.intrinsics import likely, unlikely

comptime _TURN_MS = 2
# How long one client's messages are answered while others wait; the clock of
# the system has steps of 1 to 10 ms.

comptime _TURN_EVENT_COUNT_MAX = 256
# Messages and control frames of one turn. What they send to other clients waits
# until the turn is over.


struct WsSession(UpgradedProtocol):
    """What goes on after the 101 of a WebSocket route.

    A client's messages are answered in turns, which end when enough was made,
    heard, or time has passed. What is left of a batch waits here until the
    client has taken the answers, and other clients had theirs.
    """

    var _handler: SharedWsHandler
    var _box: Mutex[WsOutbox]
    # Lent to the handler with each message: a copy would be counted.
    var _sender: WsSender
    var _config: ArcPointer[WsConfig]
    var _close_code: Int
    var _close_reason: String
    var _failure: String
    var _heard_ms: Int
    var _pinged_ms: Int
    # Whether the client has more to take before the ping is there.
    var _is_ping_behind: Bool
    var _close_end_ms: Int
    # What has come, but has to wait for the next turn.
    var _unheard: Optional[OwnedPointer[Buffer]]
    var _is_paused: Bool
    var _handler_has_failed: Bool

    def __init__(
        out self,
        handler: SharedWsHandler,
        box: Mutex[WsOutbox],
        config: ArcPointer[WsConfig],
    ):
        self._handler = handler.copy()
        self._box = box
        self._sender = WsSender(box)
        self._config = config.copy()
        self._close_code = CloseCode.ABNORMAL
        self._close_reason = String()
        self._failure = String()
        self._heard_ms = coarse_monotonic_ms()
        self._pinged_ms = NEVER
        self._is_ping_behind = False
        self._close_end_ms = NEVER
        self._unheard = None
        self._is_paused = False
        self._handler_has_failed = False

    def __deinit__(deinit self):
        """Tells the handler of the end."""
        self._close_outbox()
        self._handler[].on_close(
            self._close_code, self._close_reason, self._sender
        )

    def _close_outbox(self):
        """Ends it for all who might still send."""
        self._box.lock()[].close()

    def begin(mut self, var waker: StreamWaker):
        """Lets senders wake the connection."""
        self._box.lock()[].waker = waker^

    def fill(mut self, mut out: Buffer) raises -> Poll:
        """Goes on with a batch of messages; else writes what waits, pings a
        silent client, and looks at the time. Returns READY to be asked when the
        client has taken it, PENDING, or DONE when the time is over. Raises if the
        client is too far behind."""
        var now_ms = coarse_monotonic_ms()
        if now_ms >= self._close_end_ms:
            return Poll.DONE
        if self._unheard:
            return self._go_on(out, now_ms)
        if self._is_ping_behind:
            # It has been taken, with what came before: its time begins.
            self._is_ping_behind = False
            self._pinged_ms = now_ms
        var pings = False
        if self._pinged_ms != NEVER:
            if now_ms - self._pinged_ms >= self._config[].pong_timeout_ms:
                return Poll.DONE
        elif now_ms - self._heard_ms >= self._config[].ping_interval_ms:
            pings = True
        var box = self._box.lock()
        box[].take(out)
        if pings:
            self._heard_ms = now_ms
            # A connection that is being closed has a time of its own.
            pings = box[].core.state.may_send()
            if pings:
                write_frame(out, FrameHeader(Opcode.PING, 0), "".as_bytes())
                self._pinged_ms = now_ms
        var supply = _what_follows(
            box[], len(out) > 0, self._close_end_ms, self._config[]
        )
        self._is_ping_behind = pings and supply == Poll.READY
        return supply

    def receive(mut self, mut input: Buffer, mut out: Buffer) raises -> Poll:
        """Lets the handler answer what has come, or the beginning of it.
        Returns READY to be asked when the client has taken the answers, PENDING,
        or DONE when the connection is closed. Raises if the client is too far
        behind; one that breaks a rule gets a close frame."""
        var now_ms = coarse_monotonic_ms()
        self._heard_ms = now_ms
        self._pinged_ms = NEVER
        self._is_ping_behind = False
        var supply = Self._take_turn(
            Pointer(to=self), Pointer(to=input), Pointer(to=out), now_ms
        )
        if unlikely(self._is_paused):
            var unheard = Buffer(len(input))
            unheard.append(input.span())
            self._unheard = OwnedPointer(unheard^)
        return supply

    def take_failure(mut self) -> String:
        """Tells what the handler raised for the messages received last, for the
        log; empty if nothing."""
        var failure = String()
        swap(failure, self._failure)
        return failure^

    def end_early(mut self, mut out: Buffer) -> Poll:
        """Tells the client that the server goes away, after answers to all
        that it has said so far, and waits for its answer: READY, PENDING, or DONE
        when the time is over."""
        var now_ms = coarse_monotonic_ms()
        if self._unheard:
            try:
                var supply = self._go_on(out, now_ms)
                # There is still the close frame to be sent.
                return Poll.DONE if supply == Poll.DONE else Poll.READY
            except:
                # It is too far behind to hear of anything.
                return Poll.DONE
        self._close(CloseCode.GOING_AWAY, "the server stops".as_bytes())
        var box = self._box.lock()
        box[].take(out)
        var supply = _what_follows(
            box[], len(out) > 0, self._close_end_ms, self._config[]
        )
        deinit(box^)
        if now_ms >= self._close_end_ms:
            return Poll.DONE
        return supply

    def is_endless(self) -> Bool:
        """Tells that the connection goes on until someone closes it."""
        return True

    def poll_interval_ms(self) -> Int:
        """Tells when to look at the time again."""
        var now_ms = coarse_monotonic_ms()
        if self._close_end_ms != NEVER:
            return self._close_end_ms - now_ms
        if self._pinged_ms != NEVER:
            return self._pinged_ms + self._config[].pong_timeout_ms - now_ms
        return self._heard_ms + self._config[].ping_interval_ms - now_ms

    def has_given_up(self) -> Bool:
        """Tells whether the client is too far behind, and is to be cut off."""
        return self._box.lock()[].is_cut

    def stall_timeout_ms(self) -> Int:
        """Tells how long the client may take nothing while messages of its own
        wait to be answered; without end if nothing waits, or slow clients are
        not cut off."""
        if not self._unheard or not self._config[].cuts_slow_clients:
            return NEVER
        return self._config[].stall_timeout_ms

    def _go_on(mut self, mut out: Buffer, now_ms: Int) raises -> Poll:
        """Answers what had to wait, or the beginning of it."""
        # Its client is there: it has taken all answers so far.
        self._heard_ms = now_ms
        var unheard = self._unheard.take()
        var supply = Self._take_turn(
            Pointer(to=self), Pointer(to=unheard[]), Pointer(to=out), now_ms
        )
        if self._is_paused:
            self._unheard = unheard^
        return supply

    # These take the session by its address: a struct given as `self` to a
    # function that is not inlined is passed by its fields, both ways.

    @staticmethod
    @no_inline
    def _take_turn(
        session_at: MutPointer[Self, _],
        input_at: MutPointer[Buffer, _],
        out_at: MutPointer[Buffer, _],
        now_ms: Int,
    ) raises -> Poll:
        """Answers messages until the turn ends; raises if the client is too far
        behind."""
        ref session = session_at[]
        session._box.lock()[].lend_room(out_at[])
        session._is_paused = False
        var failed = Self._process(session_at, input_at, now_ms)
        var box = session._box.lock()
        box[].settle()
        if unlikely(Bool(failed)):
            box[].core.fail(failed.held(), MaskingKey.none())
        elif unlikely(box[].core.owes_answer()):
            box[].core.answer(MaskingKey.none())
        box[].take_back(out_at[], session._is_paused)
        var supply = Poll.DONE
        if likely(not failed):
            supply = _what_follows(
                box[],
                len(out_at[]) > 0,
                session._close_end_ms,
                session._config[],
            )
        var is_cut = box[].is_cut
        deinit(box^)
        if unlikely(is_cut):
            raise Error("a WebSocket client is too far behind")
        return Poll.READY if session._is_paused else supply

    @staticmethod
    @always_inline
    def _process(
        session_at: MutPointer[Self, _],
        input_at: MutPointer[Buffer, _],
        start_ms: Int,
    ) -> Optional[WsProtocolError]:
        """Answers what has come; gives the rule that the client broke."""
        ref session = session_at[]
        var event_count = 0
        while True:
            var progress: WsProgress
            try:
                progress = advance(session._box, input_at[])
            except error:
                return error^
            if progress == WsProgress.NEEDS_OCTETS:
                return None
            event_count += 1
            # SAFETY: only this thread receives, so what came in needs no lock.
            ref receiver = session._box.unsafe_unlocked().core.receiver[]
            if likely(progress == WsProgress.MESSAGE):
                Self._answer(session_at, input_at[])
            elif progress == WsProgress.CLOSE:
                session._close_code = receiver.close_code
                session._close_reason = lossy_text(receiver.payload(input_at[]))
                return None
            receiver.let_go(input_at[])
            if likely(len(input_at[]) == 0):
                return None
            # Each turn processes one message, however much others send.
            if _ends(event_count, start_ms) or must_pause(session._box):
                session._is_paused = True
                return None

    @staticmethod
    @always_inline
    def _answer(session_at: MutPointer[Self, _], ref input: Buffer):
        """Lets the handler answer a message."""
        ref session = session_at[]
        if unlikely(session._handler_has_failed):
            # RFC 6455 section 7.1.7: what follows is not processed.
            return
        # SAFETY: only this thread receives, so what came in needs no lock.
        ref receiver = session._box.unsafe_unlocked().core.receiver[]
        var message = WsIncoming(
            receiver.opcode == Opcode.TEXT, receiver.payload(input)
        )
        try:
            session._handler[].on_message(message, session._sender)
        except error:
            session._note_failure(String(error))

    @no_inline
    def _note_failure(mut self, failure: String):
        """Closes a connection whose handler has failed."""
        self._handler_has_failed = True
        # A client that is too far behind is cut off by other means.
        if not self.has_given_up():
            self._failure = (
                Text().add("a WebSocket handler failed: ").add(failure).end()
            )
            self._close(CloseCode.INTERNAL_ERROR, "".as_bytes())

    def _close(mut self, code: Int, reason: Span[UInt8, _]):
        try:
            send(self._box, Opcode.CLOSE, reason, code)
        except:
            # It is being closed already, or cut off.
            pass


@always_inline
def _what_follows(
    box: WsOutbox, has_output: Bool, mut close_end_ms: Int, config: WsConfig
) -> Poll:
    """Tells what follows; begins the time for the end of a connection that is
    being closed, when the client has taken all up to the close frame: one that is
    slow to take what comes before has its time all the same."""
    var state = box.core.state
    if not state.may_send():
        if not state.may_receive():
            return Poll.DONE
        if close_end_ms == NEVER:
            if has_output:
                return Poll.READY
            close_end_ms = coarse_monotonic_ms() + config.close_timeout_ms
    return Poll.READY if box.wants_word() else Poll.PENDING


@always_inline
def _ends(event_count: Int, start_ms: Int) -> Bool:
    """Tells whether a turn has taken long enough. One message costs no look at
    the clock."""
    if event_count < 2:
        return False
    return (
        event_count >= _TURN_EVENT_COUNT_MAX
        or coarse_monotonic_ms() - start_ms >= _TURN_MS
    )
