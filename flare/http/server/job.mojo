"""A request on its way to a handler that does not answer here and now."""

from flare.bytes.checked import *
from flare.http.h1.request_parser import RequestParser
from flare.http.handler.any_handler import AnyHandler
from flare.http.handler.later import DeferredCall
from flare.http.handler.route_memo import RouteMemo, erase_memo
from flare.http.message.body_reader import LentFeed
from flare.http.message.extensions import ExtensionScope
from flare.http.message.header_map import HeaderMap
from flare.http.message.request import CancelFlag, PathParams, Request, TlsPeer
from flare.http.message.response import Response
from flare.http.message.status import Status
from flare.http.server.connection.body_pipe import BodyCharge, BodyOutlet
from flare.http.server.connection.dispatch import (
    call_rarely,
    call_while_arriving,
)
from flare.http.server.connection.request_call import RequestCall
from flare.http.server.connection.stream_task import ReceivedRequest
from flare.http.server.slow_handlers import HandlerTimer
from flare.http.server.worker_state import WorkerState
from flare.net.socket_addr import SocketAddr
from flare.sys.crash import set_crash_note
from std.memory import ArcPointer, OwnedPointer

comptime _SPARE_COUNT_MAX = 1_024
# About 1 KB each.


struct Job(Movable):
    """A request on its way to a handler and back."""

    var token: UInt64
    var box: Optional[OwnedPointer[RequestParser]]
    """Has the request, first; complete, but for content that is a stream."""
    var http2: Optional[OwnedPointer[ReceivedRequest]]
    """Has it instead, if it came over HTTP/2."""
    var stream_id: Int
    """The stream on which it came then, else 0."""
    var peer: SocketAddr
    var tls: Optional[ArcPointer[TlsPeer]]
    """What TLS tells about the client; nothing without TLS."""
    var cancel: ArcPointer[CancelFlag]
    """Set when the answer is no longer wanted."""
    var outlet: Optional[BodyOutlet]
    """Where its content is read from while it arrives."""
    var charge: Optional[BodyCharge]
    """The memory that its content takes, if it is here."""
    var number: UInt64
    """Counts the jobs of a pool."""
    var is_late: Bool
    """True if its content is still to arrive."""
    var defers: Bool
    """True if its handler runs on the worker's own thread, and may answer
    later."""
    var elapsed_ns: Int
    """How long the handler took, in nanoseconds; see `HandlerTimer`. -1 if none was
    called: the job was refused, or is an interim answer."""
    var had_to_wait: Bool
    """True if no thread was free for it."""
    var params: PathParams
    var memo: Optional[OwnedPointer[RouteMemo]]
    """The route that was found for it, if the handler was asked about it."""
    var response: Response
    """The answer, when there is one; or an interim one, of a job that only says
    so."""

    def __init__(
        out self,
        token: UInt64,
        peer: SocketAddr,
        cancel: ArcPointer[CancelFlag],
    ):
        self.token = token
        self.box = None
        self.http2 = None
        self.stream_id = 0
        self.peer = peer
        self.tls = None
        self.cancel = cancel.copy()
        self.outlet = None
        self.charge = None
        self.number = 0
        self.is_late = False
        self.defers = False
        self.elapsed_ns = -1
        self.had_to_wait = False
        self.params = PathParams()
        self.memo = None
        self.response = Response(500)

    def forget(mut self):
        """Makes a job that waits of one that is over: drops all that belongs to
        its request, and keeps what room of usual size it has."""
        if (
            self.cancel[].is_set()
            or self.cancel[].is_watched()
            or self.cancel.count() > 1
        ):
            # Somebody holds or watches the one of the old request.
            self.cancel = ArcPointer(CancelFlag())
        self.response.reuse()
        self.box = None
        self.http2 = None
        self.stream_id = 0
        self.tls = None
        self.outlet = None
        self.charge = None
        self.is_late = False
        self.defers = False
        self.elapsed_ns = -1
        self.had_to_wait = False
        self.params.clear()
        self.memo = None

    def is_interim(self) -> Bool:
        """Tells whether this is what a handler says before it answers, and the
        job itself is still to come."""
        return self.response.status.is_interim()

    def end(mut self, at: MutPointer[RequestCall, _], mut state: WorkerState):
        """Gives back what it had of a request that its handler has answered, but
        for the request itself; to its call, which comes by its address: `mut`
        would load and store all of it."""
        ref call = at[]
        call.job = None
        if self.charge:
            swap(call.charge, self.charge)
        state.params[].record.copy_from(self.params.record)
        state.give_memo(self.memo)

    def note(self, status: Status, var fields: HeaderMap) -> OwnedPointer[Self]:
        """Makes what tells the worker of an interim response, 100 to 199, but
        101: a job that only says so; this one is still to come."""
        var note = OwnedPointer(Self(self.token, self.peer, self.cancel))
        note[].stream_id = self.stream_id
        note[].response.status = status
        note[].response.headers = fields^
        return note^

    def run(mut self, handler: AnyHandler):
        if self.memo:
            self.params.route_memo = erase_memo(self.memo.held()[])
        # SAFETY: parser, storage and flag belong to this job, which does not
        # move and outlives the call; the handler's own signature keeps it from
        # holding on to a part of the request.
        var request = self.unsafe_request()
        var timer = HandlerTimer()
        set_crash_note(
            Pointer(to=self.params.record)
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_bitcast[NoneType]()
        )
        if self.outlet:
            self._run_streamed(handler, request)
        else:
            self.response = call_rarely(handler, request)
        self.elapsed_ns = timer.elapsed_ns()
        set_crash_note(None)

    def run_deferred(mut self, handler: AnyHandler, mut call: DeferredCall):
        """Lets a handler answer on the worker's own thread, or say that it will
        later."""
        if self.memo:
            self.params.route_memo = erase_memo(self.memo.held()[])
        # SAFETY: as in `run`.
        var request = self.unsafe_request()
        # SAFETY: this job is in its box until the errand has given its response
        # or was cancelled, and nobody changes the request meanwhile.
        call.unsafe_lend(request.body, self.response)
        var scope = ExtensionScope(request.extensions(), call)
        self.response = call_rarely(handler, request)
        scope^.end()

    def unsafe_request(mut self) -> Request[ImmUntrackedOrigin]:
        """Lends the request, as long as this job keeps its parser and stays
        where it is."""
        # SAFETY: as in `run`.
        comptime o = ImmUntrackedOrigin
        var params = Pointer(to=self.params).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
        var cancel = (
            Pointer(to=self.cancel[])
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[o]()
        )
        if self.http2:
            return self.http2.held()[].unsafe_request[o](
                self.peer, params, cancel, self._tls_pointer()
            )
        return self.box.held()[].unsafe_request[o](
            self.peer, params, cancel, self._tls_pointer()
        )

    def _run_streamed(
        mut self, handler: AnyHandler, request: Request[ImmUntrackedOrigin]
    ):
        # SAFETY: the outlet belongs to this job; the loan ends with the call.
        ref outlet = self.outlet.held()
        # Not on the stack: the request finds it by an address of no known origin.
        var feed = OwnedPointer(LentFeed(outlet))
        var scope = ExtensionScope(request.extensions(), feed[])
        self.response = call_while_arriving(handler, request, outlet)
        scope^.end()
        _ = feed^

    def _tls_pointer(self) -> OptionalPointer[TlsPeer, ImmUntrackedOrigin]:
        # SAFETY: as in `run`.
        if not self.tls:
            return None
        return (
            Pointer(to=self.tls.held()[])
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin]()
        )


struct SpareJobs(Defaultable, Movable):
    """Jobs that are over, for later requests of the same worker."""

    var _jobs: List[OwnedPointer[Job]]
    # A list's room.
    var _room: List[OwnedPointer[Job]]

    def take(mut self, token: UInt64, peer: SocketAddr) -> OwnedPointer[Job]:
        """Makes the job of a request, whose flag is not set."""
        if len(self._jobs) == 0:
            return OwnedPointer(Job(token, peer, ArcPointer(CancelFlag())))
        var job = self._jobs.pop()
        job[].token = token
        job[].peer = peer
        return job^

    def give(mut self, var done: List[OwnedPointer[Job]]):
        """Takes jobs that are over and their list back; those that no thread
        has had are used again."""
        while len(done) > 0:
            var job = done.pop()
            if job[].defers and len(self._jobs) < _SPARE_COUNT_MAX:
                job[].forget()
                self._jobs.append(job^)
        self._room = done^

    def take_list(mut self) -> List[OwnedPointer[Job]]:
        """Gives an empty list, with the room of the last one if it is there."""
        var room = List[OwnedPointer[Job]]()
        swap(room, self._room)
        return room^
