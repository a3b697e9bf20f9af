"""Responses that are made later, on the worker's own loop and without a thread
for each.

    serve: later(req, errand) --> begin --> ... --> Completion.finish
                                    |  \\--> cancel, if the client has gone
                                    +--> on_content, as content arrives

A handler answers with an `Errand`, which the worker begins after the handler's
call. What it waits for are tasks of its `WorkerLoop`.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.erased import (
    ErasedBox,
    Erased,
    counted,
    destroy,
    drop_counted,
    erase,
    erase_counted,
    notify_counted,
)
from flare.http.message.body_reader import BodyError
from flare.http.message.early_hints import EARLY_HINTS
from flare.http.message.header_map import HeaderMap
from flare.http.message.outcome import ResponseOutcome
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.failure import add_fields, answer_failure
from flare.http.handler.handler import (
    Handler,
    HandlerClaims,
    HoldsHandler,
    RequestPolicy,
)
from flare.http.handler.any_handler import AnyHandler
from flare.http.handler.upstream_facts import UpstreamFacts
from flare.runtime.worker_loop import WorkerLoop
from std.builtin.globals import global_constant
from std.memory import ArcPointer
from std.reflection import reflect


trait Errand(Deinitable, Movable):
    """Makes a response on the worker's own loop, while the worker does other
    things. It must never wait.

    It owns what it needs: the request is gone when it begins. Its methods get
    the counted pointer, since what they call may reach it by another copy.
    """

    @staticmethod
    def begin(errand: ArcPointer[Self], var completion: Completion):
        """Begins; called once, after the handler that has made it.

        Args:
            errand: The errand.
            completion: Takes the response.
        """
        ...

    @staticmethod
    def on_content(errand: ArcPointer[Self]):
        """Goes on, since more of the request's content is there, or its end."""
        ...

    @staticmethod
    def cancel(errand: ArcPointer[Self]):
        """Ends, since nobody waits for the response any more."""
        ...


trait ArrivingContent(Deinitable, Movable):
    """Content of a request that goes on arriving."""

    def take(
        mut self, mut out: Buffer, mut failure: Optional[BodyError]
    ) -> Bool:
        """Appends what has arrived, without a wait, and tells whether that was
        all; more is received then. Sets `failure` if no more will come."""
        ...

    def trailers(self) -> HeaderMap:
        """Copies the trailer fields; none before the end."""
        ...

    def go_on(mut self, task: UInt64):
        """Goes on arriving when the response has begun; `task` is told of what
        comes from now on."""
        ...


def _take[
    C: ArrivingContent
](content: Erased, mut out: Buffer, mut failure: Optional[BodyError]) -> Bool:
    # SAFETY: `RequestContent` made the pointer from a C of its own.
    return content.unsafe_bitcast[C]()[].take(out, failure)


def _trailers[C: ArrivingContent](content: Erased) -> HeaderMap:
    # SAFETY: as for `_take`.
    return content.unsafe_bitcast[C]()[].trailers()


def _go_on[C: ArrivingContent](content: Erased, task: UInt64):
    # SAFETY: as for `_take`.
    content.unsafe_bitcast[C]()[].go_on(task)


@fieldwise_init
struct _ContentCalls(TrivialRegisterPassable):
    # SAFETY: for pointers that `erase` has made of the type given to `of`.
    var take: def(Erased, mut Buffer, mut Optional[BodyError]) thin -> Bool
    var trailers: def(Erased) thin -> HeaderMap
    var go_on: def(Erased, UInt64) thin -> None
    var drop: def(Erased) thin -> None

    @staticmethod
    def of[C: ArrivingContent]() -> Self:
        return Self(_take[C], _trailers[C], _go_on[C], destroy[C])


struct RequestContent(Movable):
    """The content of a request that goes on arriving, whatever brings it."""

    # SAFETY: the functions were made for its type.
    var _content: Erased
    var _calls: Pointer[_ContentCalls, ImmStaticOrigin]

    def __init__[C: ArrivingContent](out self, var content: C):
        """Takes what brings the content.

        Parameters:
            C: Its type.

        Args:
            content: Brings the content.
        """
        self._content = erase(content^)
        self._calls = Pointer(to=global_constant[_ContentCalls.of[C]()]())

    def __deinit__(deinit self):
        """Ends it: nobody takes any more."""
        self._calls[].drop(self._content)

    def take(mut self, mut out: Buffer) raises BodyError -> Bool:
        """Takes what has arrived, without a wait, and tells whether that was
        all: if not, `Errand.on_content` says when there is more, which is
        received now.

        Args:
            out: Where to append it.

        Raises:
            BodyError: If no more will come.
        """
        var failure = Optional[BodyError](None)
        var is_all = self._calls[].take(self._content, out, failure)
        if failure:
            raise failure.held().copy()
        return is_all

    def trailers(self) -> HeaderMap:
        """Copies the trailer fields; none before the end."""
        return self._calls[].trailers(self._content)

    def go_on(mut self, task: UInt64):
        """Goes on arriving when the response has begun, if its content comes
        from a source: both directions are open then, until one side ends its
        own (RFC 9110 section 7.5). Without this call, what has not come by the
        response's head is dropped.

        Call it before `Completion.finish`.

        Args:
            task: The token of a task of the worker's loop. Its `on_event` says
                from now on what `Errand.on_content` has said before: more is
                there, or the end.
        """
        self._calls[].go_on(self._content, task)


struct LaterInbox(Defaultable, Movable):
    """What errands of one worker have to say; the worker takes it."""

    var finished: List[FinishedErrand]
    """Those that have a response."""
    var failed: List[FailedErrand]
    """Those that have none."""
    var interim: List[FinishedErrand]
    """What is to be sent before a response (1xx)."""
    var rung: List[UInt64]
    """Those whose requests have more content, by number."""
    var rung_tasks: List[UInt64]
    """Tasks of the loop that go on with content after a response's head."""


@fieldwise_init
struct FinishedErrand(Movable):

    var number: UInt64
    var response: Response

    def take(deinit self) -> Response:
        return self.response^


@fieldwise_init
struct FailedErrand(Movable):

    var number: UInt64
    var error: Error


struct LaterBell(Copyable, Movable):
    """Tells an errand that more of its request's content is there."""

    var inbox: ArcPointer[LaterInbox]
    var number: UInt64
    var task: UInt64
    """The task that is told in its place once the response has begun; 0 before.
    """

    def __init__(out self, inbox: ArcPointer[LaterInbox], number: UInt64):
        self.inbox = inbox.copy()
        self.number = number
        self.task = 0

    def ring(self):
        """Tells it, soon; on the worker's own thread alone."""
        if self.task == 0:
            _note(self.inbox[].rung, self.number)
        else:
            _note(self.inbox[].rung_tasks, self.task)


def _note(mut rung: List[UInt64], number: UInt64):
    """Notes who is to be told, once for what comes in a row."""
    if len(rung) == 0 or rung.at(len(rung) - 1) != number:
        rung.append(number)


@fieldwise_init
struct Completion(Movable):
    """Takes the response of one errand.

    It belongs to the worker's own thread, as the errand does.
    """

    var _inbox: ArcPointer[LaterInbox]
    var _number: UInt64

    def finish(deinit self, var response: Response):
        """Hands the response over; it is sent when the errand returns.

        Args:
            response: The response, as a handler would give it.
        """
        self._inbox[].finished.append(FinishedErrand(self._number, response^))

    def fail(deinit self, var error: Error):
        """Ends without a response: the request is answered, and the error
        logged, as if the handler had raised it.

        Args:
            error: What went wrong; the client is not told.
        """
        self._inbox[].failed.append(FailedErrand(self._number, error^))

    def send_hints(self, var fields: HeaderMap):
        """Sends a 103 (Early Hints, RFC 8297) before the response.

        Args:
            fields: Its fields.
        """
        self.send_interim(EARLY_HINTS, fields^)

    def send_interim(self, status: Int, var fields: HeaderMap):
        """Sends an interim response before the response (RFC 9110 section
        15.2). A client of HTTP/1.0 is told nothing.

        Args:
            status: Its status, 100 to 199, but 101.
        """
        var response = Response(status)
        response.headers = fields^
        self._inbox[].interim.append(FinishedErrand(self._number, response^))


comptime _Begin = def(Erased, var Completion) thin -> None
comptime _Notice = def(Erased) thin -> None


def _begin[E: Errand](errand: Erased, var completion: Completion):
    # SAFETY: `AnyErrand` has it from such a counted pointer. The copy outlives the
    # call, in which the first may go.
    var held = counted[E](errand)
    E.begin(held, completion^)
    _ = held^


def _begin_nothing(errand: Erased, var completion: Completion):
    # SAFETY: nobody looks at it.
    return


def _notice_nothing(errand: Erased):
    # SAFETY: nobody looks at it.
    return


struct AnyErrand(Boolable, Defaultable, Movable):
    """An errand of any type, or none, which does nothing. No `Optional` of it: that
    would be put together octet by octet."""

    # SAFETY: this owns the counted pointer; the functions were made for it.
    var _errand: OptionalPointer[NoneType, MutUntrackedOrigin]
    var _begin: _Begin
    var _on_content: _Notice
    var _cancel: _Notice
    var _drop: _Notice

    def __init__(out self):
        """Makes none."""
        self._errand = None
        self._begin = _begin_nothing
        self._on_content = _notice_nothing
        self._cancel = _notice_nothing
        self._drop = _notice_nothing

    def __init__[E: Errand](out self, errand: ArcPointer[E]):
        self._errand = erase_counted(errand.copy())
        self._begin = _begin[E]
        self._on_content = notify_counted[E, E.on_content]
        self._cancel = notify_counted[E, E.cancel]
        self._drop = drop_counted[E]

    def __deinit__(deinit self):
        if self._errand:
            self._drop(self._errand.held())

    def __bool__(self) -> Bool:
        return self._errand.__bool__()

    def begin(self, var completion: Completion):
        if self._errand:
            self._begin(self._errand.held(), completion^)

    def on_content(self):
        if self._errand:
            self._on_content(self._errand.held())

    def cancel(self):
        """Tells that nobody waits."""
        if self._errand:
            self._cancel(self._errand.held())


trait LaterStep(Deinitable, Movable):
    """What middleware does with a response that its inner handler makes later."""

    def finish(mut self, var response: Response) raises -> Response:
        """Gives the response of the middleware; called once, on the worker's
        own thread, unless nobody waits any more.

        Args:
            response: What the errand, or a step further in, has made.

        Raises:
            Error: It is answered with 500.
        """
        ...


def _finish[
    S: LaterStep
](step: Erased, var response: Response) raises -> Response:
    # SAFETY: `AnyStep` made the pointer from an S of its own.
    return step.unsafe_bitcast[S]()[].finish(response^)


struct AnyStep(Movable):

    # SAFETY: the functions were made for its type.
    var _step: ErasedBox
    var _finish: def(Erased, var Response) raises thin -> Response

    def __init__[S: LaterStep](out self, var step: S):
        self._step = ErasedBox(step^)
        self._finish = _finish[S]

    def finish(self, var response: Response) raises -> Response:
        return self._finish(self._step.at, response^)


@fieldwise_init
struct _PlacedStep(Movable):
    # What was set further in on what stands for the response.
    var fields: HeaderMap
    var step: AnyStep


struct LaterSteps(Defaultable, Movable, Sized):
    """What middleware does with a response that its inner handler makes later,
    from the inside out: each step finds what was set further in, as it would
    on a response that is made at once."""

    var _placed: List[_PlacedStep]

    def __len__(self) -> Int:
        return len(self._placed)

    def append(mut self, mut response: Response, var step: AnyStep):
        """Adds a step further out; it takes the fields of what stands for the
        response."""
        var fields = HeaderMap()
        if len(response.headers) > 0:
            swap(fields, response.headers)
        self._placed.append(_PlacedStep(fields^, step^))

    def clear(mut self):
        """Drops all steps: nobody waits for the response."""
        self._placed.clear()

    def finish(self, req: Request, var response: Response) -> Response:
        """Makes what the outermost middleware gives of what an errand has
        made."""
        for index in range(len(self._placed)):
            ref placed = self._placed.at(index)
            add_fields(response.headers, placed.fields)
            try:
                response = placed.step.finish(response^)
            except error:
                # Those around it see what a client will.
                response = answer_failure(req, error)
        return response^


struct DeferredCall(Movable):
    """What a worker lends to a handler that may answer later; a note of its
    request."""

    var loop: ArcPointer[WorkerLoop]
    """The worker's."""
    var content: Optional[RequestContent]
    """The content, if it goes on arriving."""
    var errand: AnyErrand
    """What the handler has answered with, if it has."""
    var steps: LaterSteps
    """What middleware does with the response, the innermost first."""
    var spare: Response
    """An empty response with room, which an errand may take for its own."""
    var upstream: Optional[ArcPointer[UpstreamFacts]]
    """What is to be told of the server that an errand asks, for logs and figures:
    known when the response is there. Nothing if it asks none."""
    # SAFETY: octets of the request that the worker keeps; see `keeps`.
    var _kept: Span[UInt8, ImmUntrackedOrigin]

    def __init__(
        out self,
        loop: ArcPointer[WorkerLoop],
        var content: Optional[RequestContent] = None,
    ):
        """Makes the note of one call."""
        self.loop = loop.copy()
        self.content = content^
        self.errand = AnyErrand()
        self.steps = LaterSteps()
        self.spare = Response(500)
        self.upstream = None
        self._kept = {}

    @no_inline
    def __deinit__(deinit self):
        """Drops what was not taken."""
        return

    def unsafe_lend(
        mut self,
        content: Span[UInt8, ImmUntrackedOrigin],
        mut spare: Response,
    ):
        """Says which octets stay as long as the errand needs them, and lends
        room for a response.

        Args:
            content: The request's content; it must stay where it is until the
                errand has given its response or was cancelled.
            spare: An empty response; gets another one in its place.
        """
        self._kept = content
        swap(self.spare, spare)

    def keeps(self, content: Span[UInt8, _]) -> Bool:
        """Tells whether content stays where it is until the errand has given
        its response or was cancelled, so that it need not be copied; else it
        may go when the handler returns.

        Args:
            content: The content of a request, which may be another one than the
                worker has: middleware can have made it.
        """
        return len(content) == len(self._kept) and Int(
            content.unsafe_ptr()
        ) == Int(self._kept.unsafe_ptr())


def is_later(req: Request, response: Response) -> Bool:
    """Tells whether a response of the inner handler stands for one that is made
    later, which `finish_later` then tells, and a server has called the handler
    as it must be.

    Args:
        req: The request.
        response: What the inner handler has answered.
    """
    return response.outcome() == ResponseOutcome.LATER and Bool(
        req.extension[DeferredCall]()
    )


def finish_later[
    S: LaterStep
](req: Request, mut response: Response, var step: S) raises:
    """Has a step done with the response that an inner handler makes later.

    Parameters:
        S: The step's type.

    Args:
        req: The request.
        response: What the inner handler has answered. Its fields are taken:
            the step finds them on the response.
        step: What middleware would do with a response that is there.

    Raises:
        Error: If the inner handler does not answer later.
    """
    deferred_call(req)[].steps.append(response, AnyStep(step^))


def deferred_call[
    o: ImmOrigin
](req: Request[o]) raises -> MutPointer[DeferredCall, MutUntrackedOrigin]:
    """Finds what the worker lends to a handler that may answer later; good
    until the handler returns.

    Parameters:
        o: Where the request lives.

    Args:
        req: The request.

    Raises:
        Error: If the handler was not called so.
    """
    var found = req.extension[DeferredCall]()
    if not found:
        raise Error(
            "later() answers on the worker's own loop, and this handler was not"
            " called there: put it into Deferred(...), and serve it with an"
            " HttpServer"
        )
    # SAFETY: the worker's own variable, lent for the length of the handler's
    # call to be changed here.
    return (
        found.held()
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )


def later[E: Errand](req: Request, errand: ArcPointer[E]) raises -> Response:
    """Answers with a response that an errand makes.

    Parameters:
        E: The errand's type. It owns what it holds: one that borrows, from the
            request or anything else, does not compile.

    Args:
        req: The request.
        errand: Begins when the handler has returned this response.

    Returns:
        What stands for the response meanwhile. Header fields that are set on it
        are added to the response, unless the errand has set them; Vary and
        Set-Cookie in any case.

    Raises:
        Error: If the handler is not `Deferred`, or has answered so already.
    """
    comptime assert owns_all[E](), (
        "an errand outlives the request, so it must own what it holds: copy what"
        " it needs into fields of its own, in place of a Span, a StringSpan, a"
        " Request or anything else with an origin"
    )
    ref call = deferred_call(req)[]
    if call.errand:
        raise Error("later() was called twice for one request")
    call.errand = AnyErrand(errand)
    return Response.made_later()


def owns_all[T: AnyType]() -> Bool:
    """Tells whether a type can outlive a request, run by the compiler: not if
    it has an origin for a parameter, so that it borrows."""
    comptime NAME = reflect[T].name()
    # That is how an origin is written there.
    return not ("{}" in materialize[NAME]())


struct Deferred(Handler, HoldsHandler):
    """Lets a handler answer with `later`.

    It is called on the worker's own thread, so it must not wait: when a
    request's head is there, and what content has not arrived by then is the
    `content` of its `deferred_call`; or when all content is there.
    """

    comptime Inner = AnyHandler
    var handler: AnyHandler
    """What answers: a plain function or any `Handler`."""
    var waits_for_content: Bool
    """Whether it is called when all content is there, as other handlers are; if
    not, when the head is."""

    def __init__(
        out self, var handler: AnyHandler, *, waits_for_content: Bool = False
    ):
        """Makes a handler of one that uses `later`."""
        self.handler = handler^
        self.waits_for_content = waits_for_content

    def serve(self, req: Request) raises -> Response:
        return self.handler.serve(req)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives what the handler says, and that it defers."""
        var policy = self.handler.policy_for(req)
        policy.defers = True
        policy.streams = not self.waits_for_content
        return policy

    def claims(self) -> HandlerClaims:
        """Gives what the handler says, and that it defers."""
        return self.handler.claims() | HandlerClaims(defers=True)
