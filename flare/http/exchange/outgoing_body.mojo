"""Content of a response on its way out: what is left of it, what makes more of it,
and what is waited for.

Pure: no socket, no clock, no log. HTTP/1.1 and HTTP/2 frame the same content, the
one in chunks or as it is, the other in DATA; both ask by `fill` and go by the
state that it gives:

```
                      piece, woken
                        ┌─────┐            region sent
       a source ──────> READY <┘ <──────────────────────── FILE
                        │ │ │ └──── region found ──────────^
      nothing yet ┌─────┘ │ └─ all made ──> MADE <── content in memory
                  v       │
               WAITING    └─ raised, too much, too little ──> FAILED
                  └─ woken, heard, input ended ──> READY
```
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.bytes.padding import Padding
from flare.bytes.text import Text
from flare.http.message.body import Body, BodyStream, FileRegion, Poll
from flare.http.message.request import no_route
from flare.http.message.trailers import Trailers
from std.memory import ArcPointer
from std.sys.intrinsics import unlikely

comptime REGION_LEN_MAX = 256 * 1024
"""How much of a file is sent at a time, in bytes: others have their turn after
it."""


@fieldwise_init
struct BodyState(Equatable, TrivialRegisterPassable):
    """Where content is in its life, and so what is to be done next."""

    var number: UInt8

    comptime MADE = BodyState(0)
    """All is made. What is left is in memory: send it, and end the message."""
    comptime READY = BodyState(1)
    """The source can be asked, when the client has taken what is here."""
    comptime WAITING = BodyState(2)
    """The source has nothing yet: wait for its waker, or its time."""
    comptime FILE = BodyState(3)
    """What comes next lies in a file: send `region`."""
    comptime FAILED = BodyState(4)
    """The content breaks off: so must the message, for its recipient to see that
    it is incomplete (RFC 9112 section 8, RFC 9113 section 8.1.1)."""

    comptime COUNT = 5


@fieldwise_init
struct BodyEvent(Equatable, TrivialRegisterPassable):
    """What happens to content on its way out."""

    var number: UInt8

    comptime PIECE_MADE = BodyEvent(0)
    """The source has more, at once."""
    comptime NOTHING_YET = BodyEvent(1)
    """The source has nothing more now."""
    comptime ALL_MADE = BodyEvent(2)
    """The source has made all."""
    comptime RAISED = BodyEvent(3)
    """The source cannot go on."""
    comptime TOO_MUCH = BodyEvent(4)
    """The source has made more than was announced."""
    comptime TOO_LITTLE = BodyEvent(5)
    """The source has ended with less than was announced."""
    comptime REGION_FOUND = BodyEvent(6)
    """What comes next lies in a file."""
    comptime REGION_SENT = BodyEvent(7)
    """All of the region is sent."""
    comptime REGION_REFUSED = BodyEvent(8)
    """Regions of this file cannot be sent as they lie."""
    comptime FILE_CUT = BodyEvent(9)
    """The file ends within the region."""
    comptime WOKEN = BodyEvent(10)
    """The source's waker has rung, its time has come, or the server drains."""
    comptime GAVE_UP = BodyEvent(11)
    """The source gives the client up."""
    comptime INPUT_ENDED = BodyEvent(12)
    """The client of a conversation has ended its side, which goes on."""

    comptime COUNT = 13


@fieldwise_init
struct _Row(TrivialRegisterPassable):
    var state: BodyState
    var event: BodyEvent
    var next: BodyState


# What is not here does not happen. A conversation hears while it waits, so what
# it answers comes then, too; it has no length.
comptime _ROWS = [
    _Row(BodyState.MADE, BodyEvent.WOKEN, BodyState.MADE),
    _Row(BodyState.READY, BodyEvent.PIECE_MADE, BodyState.READY),
    _Row(BodyState.READY, BodyEvent.NOTHING_YET, BodyState.WAITING),
    _Row(BodyState.READY, BodyEvent.ALL_MADE, BodyState.MADE),
    _Row(BodyState.READY, BodyEvent.RAISED, BodyState.FAILED),
    _Row(BodyState.READY, BodyEvent.TOO_MUCH, BodyState.FAILED),
    _Row(BodyState.READY, BodyEvent.TOO_LITTLE, BodyState.FAILED),
    _Row(BodyState.READY, BodyEvent.REGION_FOUND, BodyState.FILE),
    _Row(BodyState.READY, BodyEvent.WOKEN, BodyState.READY),
    _Row(BodyState.READY, BodyEvent.GAVE_UP, BodyState.FAILED),
    _Row(BodyState.WAITING, BodyEvent.PIECE_MADE, BodyState.READY),
    _Row(BodyState.WAITING, BodyEvent.NOTHING_YET, BodyState.WAITING),
    _Row(BodyState.WAITING, BodyEvent.ALL_MADE, BodyState.MADE),
    _Row(BodyState.WAITING, BodyEvent.RAISED, BodyState.FAILED),
    _Row(BodyState.WAITING, BodyEvent.WOKEN, BodyState.READY),
    _Row(BodyState.WAITING, BodyEvent.GAVE_UP, BodyState.FAILED),
    _Row(BodyState.WAITING, BodyEvent.INPUT_ENDED, BodyState.READY),
    _Row(BodyState.FILE, BodyEvent.REGION_SENT, BodyState.READY),
    _Row(BodyState.FILE, BodyEvent.REGION_REFUSED, BodyState.READY),
    _Row(BodyState.FILE, BodyEvent.FILE_CUT, BodyState.FAILED),
    _Row(BodyState.FILE, BodyEvent.WOKEN, BodyState.FILE),
    _Row(BodyState.FILE, BodyEvent.GAVE_UP, BodyState.FAILED),
    _Row(BodyState.FAILED, BodyEvent.WOKEN, BodyState.FAILED),
]


def body_state_after(state: BodyState, event: BodyEvent) -> Optional[BodyState]:
    """Tells which state follows; nothing if the event does not happen in that
    state."""
    comptime for index in range(len(_ROWS)):
        comptime ROW = _ROWS[index]
        if state == ROW.state and event == ROW.event:
            return ROW.next
    return None


struct OutgoingBody(Movable):
    """What is left to send of a response's content."""

    # Passed by its address, not by its fields.
    var _padding: Padding[8]
    var state: BodyState
    """What is to be done next; events alone change it."""
    var sends_regions: Bool
    """True if parts of files are sent as they lie, not read."""
    var content: Body
    """The content in memory, kept without a copy."""
    var offset: Int
    """How much of that is sent, in bytes."""
    var source: Optional[ArcPointer[BodyStream]]
    """What makes more of it; dropped as soon as all is made."""
    var missing_len: Int
    """What the source has still to make, if its length is known, in bytes."""
    var region: FileRegion
    """What comes next, in the state FILE."""
    var trailers: Trailers
    """What follows the content, once all is made."""
    var failure: String
    """What is to be said in the server's log, mostly of a failure."""
    var route: StringSpan[ImmUntrackedOrigin]
    """The route whose handler made the source; empty if there is none. It is
    lent by the router, which outlives all connections."""
    var request_id: String
    """The id of the source's request, if anybody asked for it."""

    def __init__(out self):
        """Makes content of which nothing is left."""
        self._padding = {}
        self.state = BodyState.MADE
        self.sends_regions = False
        self.content = Body()
        self.offset = 0
        self.source = None
        self.missing_len = 0
        self.region = FileRegion.none()
        self.trailers = Trailers()
        self.failure = String()
        self.route = no_route()
        self.request_id = String()

    def __init__(out self, var content: Body, *, offset: Int = 0):
        """Takes content that is in memory, of which `offset` bytes are sent."""
        self = Self()
        self.content = content^
        self.offset = offset

    def __init__(
        out self, source: ArcPointer[BodyStream], *, sends_regions: Bool
    ):
        """Takes content that a source makes, which has begun. If it
        `sends_regions`, parts of files can be sent as they lie; only those of a
        source whose length is known are."""
        self = Self()
        self.state = BodyState.READY
        self.source = source.copy()
        if source[].length:
            self.missing_len = source[].length.held()
            self.sends_regions = sends_regions

    @no_inline
    def __deinit__(deinit self):
        return

    @always_inline
    def _on[event: BodyEvent](mut self) -> BodyState:
        """Goes where an event leads; nothing else changes the state."""
        comptime for number in range(BodyState.COUNT):
            comptime STATE = BodyState(UInt8(number))
            comptime NEXT = body_state_after(STATE, event)
            comptime if NEXT.__bool__():
                if self.state == STATE:
                    self.state = NEXT.value()
                    return self.state
        debug_assert(
            False, "event ", event.number, " in state ", self.state.number
        )
        return self.state

    @always_inline
    def rest(self) -> Span[UInt8, ImmOrigin(origin_of(self.content))]:
        """Lends what is left of the content in memory."""
        return self.content.as_bytes().after(self.offset)

    @always_inline
    def is_sent(self) -> Bool:
        """Tells whether nothing is left, but for what a source will make."""
        return self.offset == len(self.content) and self.region.length == 0

    @always_inline
    def listens(self) -> Bool:
        """Tells whether a conversation makes it."""
        return self.source.__bool__() and self.source.held()[].listens()

    def fill(mut self, mut out: Buffer, is_draining: Bool) -> BodyState:
        """Has the source append the next piece, in the state READY, and returns
        the state that follows; `out` is as it was if the content breaks off.
        `is_draining` if the server is to stop: what is endless ends."""
        debug_assert(self.state == BodyState.READY, "nobody is to be asked")
        ref source = self.source.held()[]
        if self.sends_regions:
            self.region = source.region().first(
                min(REGION_LEN_MAX, self.missing_len)
            )
            if self.region.length > 0:
                return self._on[BodyEvent.REGION_FOUND]()
        var start = len(out)
        var poll: Poll
        if is_draining and source.is_endless():
            poll = source.end_early(out)
        else:
            try:
                poll = source.fill(out)
                # Nothing but DATA belongs to a tunnel (RFC 9113 section 8.5).
                if poll == Poll.DONE and not source.listens():
                    self.trailers = source.trailers()
            except error:
                return self._note_raised(error, out, start)
        if source.length:
            self.missing_len -= len(out) - start
            if unlikely(self.missing_len < 0):
                self._note_length(out, start)
                return self._on[BodyEvent.TOO_MUCH]()
            if unlikely(self.missing_len > 0 and poll == Poll.DONE):
                self._note_length(out, start)
                return self._on[BodyEvent.TOO_LITTLE]()
        return self._note(poll)

    def hear(mut self, mut input: Buffer, mut out: Buffer) -> BodyState:
        """Hands what the client has sent to a conversation, which appends its
        answer; the input is empty afterwards, and `out` as it was if it breaks
        off. Returns the state that follows. There may be a `failure` to be
        logged though the conversation goes on."""
        var start = len(out)
        ref source = self.source.held()[]
        var poll: Poll
        try:
            poll = source.receive(input, out)
        except error:
            input.clear()
            return self._note_raised(error, out, start)
        input.clear()
        var failure = source.take_failure()
        if unlikely(failure.byte_length() > 0):
            self.failure = failure^
        return self._note(poll)

    @no_inline
    def end_input(mut self) -> BodyState:
        """Tells a conversation that waits that its client has ended its side.
        Returns READY if it goes on, MADE if it ends with that."""
        if self.source.held()[].end_input():
            return self._on[BodyEvent.INPUT_ENDED]()
        return self._note(Poll.DONE)

    @always_inline
    def _note(mut self, poll: Poll) -> BodyState:
        if poll == Poll.PENDING:
            return self._on[BodyEvent.NOTHING_YET]()
        if poll == Poll.DONE:
            self.source = None
            return self._on[BodyEvent.ALL_MADE]()
        return self._on[BodyEvent.PIECE_MADE]()

    def _note_raised(
        mut self, error: Error, mut out: Buffer, start: Int
    ) -> BodyState:
        out.truncate(start)
        return self.note_raised(error)

    @no_inline
    def note_raised(mut self, error: Error) -> BodyState:
        """Takes note that the source cannot go on, and returns the state that
        follows; `failure` says why."""
        var who = StaticString("a stream failed: ")
        if self.listens():
            who = StaticString("a conversation failed: ")
        self.failure = Text().add(who).add(error).end()
        return self._on[BodyEvent.RAISED]()

    @no_inline
    def _note_length(mut self, mut out: Buffer, start: Int):
        """A sender must not send more than it announced (RFC 9110 section 8.6),
        and less is an incomplete message."""
        out.truncate(start)
        var length = self.source.held()[].length.held()
        self.failure = (
            Text()
            .add("a stream of ")
            .add(length)
            .add(" octets made ")
            .add(length - self.missing_len)
            .end()
        )

    def note_region_sent(mut self, count: Int) -> BodyState:
        """Goes on after octets of the region that were sent, at most its
        length."""
        self.region = self.region.after(count)
        self.missing_len -= count
        self.source.held()[].advance(count)
        if self.region.length > 0:
            return self.state
        return self._on[BodyEvent.REGION_SENT]()

    @no_inline
    def note_region_refused(mut self):
        """Has the source read what cannot be sent as it lies."""
        self.region = FileRegion.none()
        self.sends_regions = False
        _ = self._on[BodyEvent.REGION_REFUSED]()

    @no_inline
    def note_file_cut(mut self):
        """Breaks the content off: the file has become shorter."""
        self.failure = (
            Text()
            .add("a file ends at byte ")
            .add(self.region.offset)
            .add("; it was longer when its response began")
            .end()
        )
        self.region = FileRegion.none()
        _ = self._on[BodyEvent.FILE_CUT]()

    def wake(mut self):
        """Lets the source be asked that had nothing: its waker has rung, its time
        has come, or the server drains."""
        _ = self._on[BodyEvent.WOKEN]()

    def has_given_up(mut self) -> Bool:
        """Tells whether the source gives the client up, so that the content
        breaks off; asked when its waker rings."""
        if not self.source or not self.source.held()[].has_given_up():
            return False
        _ = self._on[BodyEvent.GAVE_UP]()
        return True

    def next_ask_ms(self, now_ms: Int) -> Int:
        """Tells when, later than now, a source that has nothing is asked even
        if it does not ring; `NEVER` if it is not."""
        var interval_ms = max(1, self.source.held()[].poll_interval_ms())
        return now_ms + min(interval_ms, NEVER - now_ms)

    @no_inline
    def take_failure(mut self) -> String:
        """Takes what went wrong and is to be said in the server's log; empty if
        nothing did."""
        var what = String()
        swap(what, self.failure)
        return what^
