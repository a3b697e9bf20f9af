"""Requests whose handlers answer later, on the worker's own loop.

They go back as the jobs of handler threads do, but no thread has them: a handler
is called when its worker settles, and what it answers with, an `Errand`, goes on
when its sockets are ready.
"""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.bytes.padding import Padding
from flare.http.h1.framing import CONTINUE
from flare.http.message.early_hints import EARLY_HINTS
from flare.http.message.header_map import HeaderMap
from flare.http.message.outcome import ResponseOutcome
from flare.http.message.request import Version
from flare.http.message.response import Response
from flare.http.handler.any_handler import AnyHandler
from flare.http.handler.failure import add_fields, answer_failure, refusal
from flare.http.handler.later import (
    AnyErrand,
    Completion,
    DeferredCall,
    FailedErrand,
    FinishedErrand,
    LaterBell,
    LaterInbox,
    LaterSteps,
    RequestContent,
)
from flare.http.server.connection.dispatch import status_problem
from flare.http.server.job import Job, SpareJobs
from flare.runtime.event import Event
from flare.runtime.selector import Selector
from flare.runtime.timer_wheel import TimerWheel
from flare.runtime.worker_loop import (
    TASK_TOKEN,
    WorkerLoop,
    Woken,
    run_event,
    run_expired,
)
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.log import log_line
from std.memory import ArcPointer, OwnedPointer

comptime _INDEX_BITS: UInt64 = 32
comptime _INDEX_MASK: UInt64 = 0xFFFFFFFF


struct _Waiting(Movable):
    """A request, and the errand that makes its response."""

    var job: Optional[OwnedPointer[Job]]
    var errand: AnyErrand
    # What middleware does with the response.
    var steps: LaterSteps
    # Fields that were set after the last step on what stands for the response.
    var headers: HeaderMap
    var generation: UInt64

    def __init__(out self):
        self.job = None
        self.errand = AnyErrand()
        self.steps = LaterSteps()
        self.headers = HeaderMap()
        self.generation = 0


struct DeferredJobs(Movable):
    """The requests of one worker that wait for errands."""

    var loop: ArcPointer[WorkerLoop]
    """What the errands go on with."""
    # Those whose handlers were not called yet.
    var _new: List[OwnedPointer[Job]]
    var _inbox: ArcPointer[LaterInbox]
    var _slots: List[_Waiting]
    var _free: List[Int]
    var _done: List[OwnedPointer[Job]]
    # The numbers of errands whose clients have gone.
    var _gone: ArcPointer[List[UInt64]]
    # Room that lists give to each other, so that none allocates in the long
    # run; empty between calls.
    var _fresh: List[OwnedPointer[Job]]
    var _finished: List[FinishedErrand]
    var _rung: List[UInt64]
    var _is_settling: Bool
    # When the worker's timer for the tasks expires.
    var _armed_ms: Int
    var _padding: Padding[200]

    def __init__(out self):
        self.loop = ArcPointer(WorkerLoop())
        self._new = []
        self._inbox = ArcPointer(LaterInbox())
        self._slots = []
        self._free = []
        self._done = []
        self._gone = ArcPointer(List[UInt64]())
        self._fresh = []
        self._finished = []
        self._rung = []
        self._is_settling = False
        self._armed_ms = NEVER
        self._padding = {}

    def unsafe_begin(mut self, mut selector: Selector):
        """Begins to watch sockets of tasks by the worker's selector, which does
        not move before `end`."""
        # SAFETY: the caller's promise.
        self.loop[].unsafe_attach(
            Pointer(to=selector).unsafe_origin_cast[MutUntrackedOrigin](),
            coarse_monotonic_ms(),
        )

    def on_event(self, event: Event, now_ms: Int):
        """Lets a task go on."""
        self.loop[].now_ms = now_ms
        run_event(self.loop, event)

    def on_timer(mut self, now_ms: Int):
        """Lets the tasks go on whose time is over."""
        self._armed_ms = NEVER
        self.loop[].now_ms = now_ms
        run_expired(self.loop)

    def put(mut self, var job: OwnedPointer[Job]):
        """Takes a request, whose handler is called when the worker settles."""
        job[].defers = True
        self._new.append(job^)

    def has_news(self) -> Bool:
        """Tells whether there is something to settle."""
        ref inbox = self._inbox[]
        return (
            len(self._new) > 0
            or len(self._gone[]) > 0
            or len(self._done) > 0
            or len(inbox.finished) > 0
            or len(inbox.failed) > 0
            or len(inbox.rung) > 0
            or len(inbox.rung_tasks) > 0
            or len(inbox.interim) > 0
            or len(self.loop[].woken) > 0
        )

    def is_unsettled(self) -> Bool:
        """Tells whether a connection has had a task do something that nobody has
        settled yet: content that goes to a client may be the last of it."""
        return self.loop[].was_used() and (
            self.has_news() or self.loop[].next_deadline_ms() < self._armed_ms
        )

    def begin_settling(mut self, now_ms: Int) -> Bool:
        """Begins to settle what there is; False if it has begun already,
        further up."""
        if self._is_settling:
            return False
        self._is_settling = True
        self.loop[].now_ms = now_ms
        return True

    def end_settling(mut self, mut wheel: TimerWheel):
        """Ends it, and sets the worker's timer for the tasks."""
        self._is_settling = False
        var next_ms = self.loop[].next_deadline_ms()
        if next_ms < self._armed_ms:
            self._armed_ms = next_ms
            _ = wheel.insert(next_ms, TASK_TOKEN)

    def take_woken(self) -> List[Woken]:
        """Takes the connections and streams whose content has news."""
        var woken = List[Woken]()
        swap(woken, self.loop[].woken)
        return woken^

    def _start(mut self, var job: OwnedPointer[Job], handler: AnyHandler):
        """Calls a handler, and begins its errand, unless the client has gone."""
        if job[].cancel[].is_set():
            job[].response = refusal(503, "nobody waits for the response\n")
            self._done.append(job^)
            return
        if len(self._free) == 0:
            self._free.append(len(self._slots))
            self._slots.append(_Waiting())
        var index = self._free.pop()
        var number = UInt64(index) | (
            self._slots.at(index).generation << _INDEX_BITS
        )
        var call = DeferredCall(self.loop)
        if job[].outlet:
            self._lend_content(job[], number, call)
        job[].run_deferred(handler, call)
        if job[].params.early_hints.fields:
            var hints = job[].params.early_hints.fields.take()
            self._done.append(job[].note(EARLY_HINTS, hints[].copy()))
        if not call.errand or job[].response.outcome() != ResponseOutcome.LATER:
            self._free.append(index)
            self._done.append(job^)
            return
        job[].cancel[].note_in(self._gone, number)
        ref slot = self._slots.at(index)
        if len(job[].response.headers) > 0:
            swap(slot.headers, job[].response.headers)
        slot.job = job^
        swap(slot.errand, call.errand)
        swap(slot.steps, call.steps)
        slot.errand.begin(Completion(self._inbox.copy(), number))

    @no_inline
    def _lend_content(
        self, mut job: Job, number: UInt64, mut call: DeferredCall
    ):
        """Lends a handler the content that goes on arriving. Out of line: few
        requests have any, and in line each round of a worker would prepare it."""
        var outlet = job.outlet.take()
        outlet.set_bell(LaterBell(self._inbox.copy(), number))
        call.content = RequestContent(outlet^)

    def _drop_gone(mut self):
        """Ends errands whose clients have gone."""
        var gone = List[UInt64]()
        swap(gone, self._gone[])
        for number in gone:
            var index = self._find(number)
            if index < 0:
                continue
            var errand = AnyErrand()
            swap(errand, self._slots.at(index).errand)
            errand.cancel()
            _ = errand^
            self._slots.at(index).steps.clear()
            self._end(index, refusal(503, "nobody waits for the response\n"))

    def _find(self, number: UInt64) -> Int:
        var index = Int(number & _INDEX_MASK)
        if index >= len(self._slots):
            return -1
        ref slot = self._slots.at(index)
        if slot.generation != number >> _INDEX_BITS or not slot.job:
            return -1
        return index

    def _end(mut self, index: Int, var response: Response):
        """Gives a request back with its response."""
        ref slot = self._slots.at(index)
        var job = slot.job.take()
        slot.errand = AnyErrand()
        slot.generation = (slot.generation + 1) & _INDEX_MASK
        if len(slot.steps) > 0:
            var steps = LaterSteps()
            swap(steps, slot.steps)
            # SAFETY: the job stays in its box for the length of this call.
            response = steps.finish(job[].unsafe_request(), response^)
        _make_final(response)
        swap(job[].response, response)
        if len(slot.headers) > 0:
            add_fields(job[].response.headers, slot.headers)
            slot.headers = HeaderMap()
        self._free.append(index)
        self._done.append(job^)

    def take_done(
        mut self, mut spare: SpareJobs, handler: AnyHandler
    ) -> List[OwnedPointer[Job]]:
        """Begins what is new, ends what nobody waits for, and takes the
        requests that have been answered, with notes of interim responses before
        them. `spare` has the room for a list."""
        swap(self._fresh, self._new)
        self._fresh.reverse()
        while len(self._fresh) > 0:
            self._start(self._fresh.pop(), handler)
        if len(self._gone[]) > 0:
            self._drop_gone()
        self._ring()
        if len(self._inbox[].interim) > 0:
            var interim = List[FinishedErrand]()
            swap(interim, self._inbox[].interim)
            while len(interim) > 0:
                self._note_interim(interim.pop(0))
        if len(self._inbox[].failed) > 0:
            self._end_failed()
        swap(self._finished, self._inbox[].finished)
        # Their order does not matter: each is a request of its own.
        while len(self._finished) > 0:
            var last = self._finished.pop()
            var index = self._find(last.number)
            if index >= 0:
                self._end(index, last^.take())
        var done = spare.take_list()
        swap(done, self._done)
        return done^

    def _end_failed(mut self):
        """Answers in place of errands that have no response."""
        var failed = List[FailedErrand]()
        swap(failed, self._inbox[].failed)
        for position in range(len(failed)):
            ref one = failed.at(position)
            var index = self._find(one.number)
            if index >= 0:
                ref job = self._slots.at(index).job.held()[]
                # SAFETY: the job stays in its slot for the length of this call.
                var response = answer_failure(job.unsafe_request(), one.error)
                self._end(index, response^)

    def _ring(mut self):
        """Tells errands of content that has come."""
        swap(self._rung, self._inbox[].rung)
        for position in range(len(self._rung)):
            var index = self._find(self._rung.at(position))
            if index >= 0:
                self._slots.at(index).errand.on_content()
        self._rung.clear()
        if len(self._inbox[].rung_tasks) > 0:
            var tasks = List[UInt64]()
            swap(tasks, self._inbox[].rung_tasks)
            for token in tasks:
                run_event(self.loop, Event.writable(token))

    def _note_interim(mut self, var interim: FinishedErrand):
        var index = self._find(interim.number)
        if index < 0:
            return
        ref job = self._slots.at(index).job.held()[]
        # SAFETY: the job stays in its slot for the length of this call.
        var request = job.unsafe_request()
        # RFC 9110 section 15.2: never to a client of HTTP/1.0; and 100 that it
        # has asked for comes when its content is taken.
        var is_owed = interim.response.status == CONTINUE and (
            "expect" in request.headers
        )
        if is_owed or request.version < Version.HTTP_1_1:
            return
        var response = interim^.take()
        var fields = HeaderMap()
        swap(fields, response.headers)
        self._done.append(job.note(response.status, fields^))

    def end(mut self):
        """Ends all errands, since the worker ends."""
        for index in range(len(self._slots)):
            if self._slots.at(index).job:
                self._slots.at(index).errand.cancel()
                self._slots.at(index).errand = AnyErrand()
                self._slots.at(index).steps.clear()
        self.loop[].detach()


def _make_final(mut response: Response):
    """Makes it what can be sent; an errand is held to what a handler is."""
    var problem = String("an errand finished with what `later` gave")
    if response.outcome() != ResponseOutcome.LATER:
        problem = status_problem(response.status.code, response.outcome())
    if problem.byte_length() > 0:
        log_line(problem)
        response = refusal(500, "internal server error\n")
