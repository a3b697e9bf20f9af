"""A request on its way to its handler and back, over either version: what the
handler said of it, who has it, and whose turn it is."""

from flare.http.handler.route_memo import RouteMemo
from flare.http.message.body import Body
from flare.http.message.body_reader import BodyError
from flare.http.message.request import CancelFlag
from flare.http.server.config import ServerConfig
from flare.http.server.connection.body_pipe import (
    BodyCharge,
    BodyPipe,
    NOBODY_WAITS,
)
from flare.http.server.connection.call_plan import CallPlan
from flare.http.server.connection.deadlines import Wait, deadline_of
from std.memory import ArcPointer, OwnedPointer
from std.reflection import reflect


@fieldwise_init
struct Refusal(TrivialRegisterPassable):
    """What a request is answered in place of its handler, whose reads of content
    fail with the same; the reason is fit for strangers."""

    var status: Int
    var reason: StaticString

    comptime LATE_REQUEST = Refusal(408, "the request did not arrive in time")
    comptime LATE_ANSWER = Refusal(503, "the answer could not be made in time")
    comptime BUSY = Refusal(503, "the server is busy")
    comptime CONTENT_FULL = Refusal(
        503, "the server holds too much unfinished content"
    )
    # Nobody is answered this, and reads of content alone fail.
    comptime NOT_WANTED = Refusal(503, NOBODY_WAITS)
    comptime ANSWERED = Refusal(503, "the handler has answered")
    comptime BROKEN_OFF = Refusal(400, "the client broke it off")


@fieldwise_init
struct Intake(Equatable, TrivialRegisterPassable):
    """What is still to come of a request after its head."""

    var _number: UInt8

    comptime HELD_BACK = Intake(0)
    """Content that the client keeps until it is asked for by 100 (Continue)."""
    comptime ARRIVING = Intake(1)
    """Content."""
    comptime WHOLE = Intake(2)
    """Nothing."""


struct TurnClock(TrivialRegisterPassable):
    """Times a request whose content arrives, also while a handler elsewhere has it.

    Time counts for the side that is waited for: the handler's turns have their
    time each, those of the client one in all. It is the client's turn while the
    handler waits for content, the handler's before it asks for any, while there is
    some that it could take (over HTTP/2), or the window is full (over HTTP/1.1),
    and after the end of the content.
    """

    var wait: Wait
    """What the side is waited for whose turn it is: CONTENT is the client's."""
    # Each connection has one: so small it takes two words.
    var client_ms: Int32
    """How long the client was waited for in its turns before."""
    var start_ms: Int

    def __init__(out self):
        self.wait = Wait.NOTHING
        self.client_ms = 0
        self.start_ms = 0

    def give(mut self, wait: Wait, now_ms: Int, *, begins: Bool = False):
        """Says what is waited for. It goes on if it was so before, unless another
        turn of the same side `begins`."""
        if wait == self.wait and not begins:
            return
        if self.wait == Wait.CONTENT:
            self.client_ms += Int32(now_ms - self.start_ms)
        self.wait = wait
        self.start_ms = now_ms

    def end_ms(
        self, config: ServerConfig, handler_ms: Int, received_len: Int
    ) -> Int:
        """Tells when the turn is over, if the handler has `handler_ms` for each,
        and so much content has come."""
        var end_ms = deadline_of(
            self.wait,
            self.start_ms,
            config,
            received_len=received_len,
            own_ms=handler_ms,
        )
        if self.wait != Wait.CONTENT:
            return end_ms
        return max(end_ms - Int(self.client_ms), self.start_ms)


struct RequestCall(Movable):
    """What is kept of a request that does not get its answer at once."""

    var plan: CallPlan
    """What was decided about it, if its handler was asked."""
    var memo: Optional[OwnedPointer[RouteMemo]]
    """The route that was found when the handler was asked."""
    var charge: Optional[BodyCharge]
    """The memory that its content takes here, if it is counted."""
    var job: Optional[ArcPointer[CancelFlag]]
    """The flag of a handler elsewhere that has it."""
    var pipe: Optional[BodyPipe]
    """Where its content goes, if that handler reads it while it arrives."""
    var intake: Intake
    var turns: TurnClock
    """Whose turn it is, and has been, while the content arrives."""
    var is_head: Bool
    """True if it is known to be a HEAD."""

    def __init__(out self):
        self.plan = CallPlan()
        self.memo = None
        self.charge = None
        self.job = None
        self.pipe = None
        self.intake = Intake.WHOLE
        self.turns = TurnClock()
        self.is_head = False

    @no_inline
    def __deinit__(deinit self):
        return

    @always_inline
    def renew(mut self):
        """Makes it as new. Most of it is, and is not moved to be dropped."""
        comptime assert (
            reflect[Self].field_count() == 8
        ), "a field stays as it was"
        self.plan = CallPlan()
        self.memo = None
        self.charge = None
        self.job = None
        self.pipe = None
        self.intake = Intake.WHOLE
        self.turns = TurnClock()
        self.is_head = False

    def begin(mut self, flag: ArcPointer[CancelFlag]):
        """Begins to wait for the handler that has a flag, and for nobody yet."""
        self.job = flag.copy()
        self.turns = TurnClock()

    def waits_for(self, flag: ArcPointer[CancelFlag]) -> Bool:
        """Tells whether it is the handler with a flag that has it."""
        return self.job.__bool__() and self.job.held() is flag

    def await_turn(
        mut self,
        wait: Wait,
        received_len: Int,
        now_ms: Int,
        config: ServerConfig,
        *,
        begins: Bool = False,
    ) -> Int:
        """Waits for content, of which so much has come, or for the handler, as
        `TurnClock.give` does. Returns until when."""
        self.turns.give(wait, now_ms, begins=begins)
        return self.turns.end_ms(config, self.plan.timeout_ms, received_len)

    def goes_on_behind(self, body: Body) -> Bool:
        """Tells whether content goes on arriving for somebody after the head of
        a response.

        A response that is complete ends the request (RFC 9112 section 9.3, RFC
        9113 section 8.1); so does one that the client has got in place of 100
        (RFC 9110 section 10.1.1).
        """
        if not self.pipe or self.intake != Intake.ARRIVING or self.is_head:
            return False
        return body.is_stream() and self.pipe.held().goes_on()

    def late_refusal(self) -> Refusal:
        """Tells what is answered if it has taken too long, by whose turn it is:
        that is the client's fault, or the server's (RFC 9110 sections 15.5.9 and
        15.6.4)."""
        if self.turns.wait == Wait.CONTENT:
            return Refusal.LATE_REQUEST
        return Refusal.LATE_ANSWER

    def end_content(mut self, why: Refusal):
        """Has reads of content fail: no more is handed on."""
        if self.pipe:
            self.pipe.take().fail(BodyError(why.status, String(why.reason)))

    def cancel(mut self, why: Refusal):
        """Tells a handler elsewhere, whose reads of content fail, that nobody
        waits for it, if there is one."""
        self.end_content(why)
        if self.job:
            self.job.take()[].set()
