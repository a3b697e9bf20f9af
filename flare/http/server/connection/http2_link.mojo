"""What a connection has beside its socket if it speaks HTTP/2: the session, and
what is under way on each of its streams.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.http.h2.connection_state import Http2Limits, Http2Role
from flare.http.h2.session import Http2Session
from flare.http.server.config import ServerConfig
from flare.http.server.connection.link_times import LinkTimes
from flare.http.server.connection.phase import StreamPhase
from flare.http.server.connection.request_call import Refusal
from flare.http.server.connection.sides import Shutdown
from flare.http.server.connection.stream_task import StreamPool, StreamTask
from flare.http.server.worker_state import WorkerState
from std.memory import OwnedPointer


@fieldwise_init
struct _LostCall(TrivialRegisterPassable):
    """A call of a handler that outlives its stream."""

    var stream_id: Int
    var length: Int


struct Http2Link(Movable):

    var session: Http2Session
    var input: Buffer
    """A part of a frame, or more while the client does not take what it is
    sent."""
    var tasks: List[OwnedPointer[StreamTask]]
    """What is under way, by the numbers of the streams."""
    var turn_count: Int
    """How often it was said whose turn it is to send content."""
    var woken: List[Int]
    """Streams of sources, or of handlers that read content, which have news,
    each once."""
    var times: LinkTimes
    var deadline_ms: Int
    """The earliest of those and the streams'."""
    var shutdown: Shutdown
    """Whether more streams are taken."""
    var has_cancelled: Bool
    """True if the pool is to look for requests that nobody waits for."""
    var lost_len: Int
    """How much content handlers are expected to make whose streams are over, in
    bytes: it is dropped when it is there, and takes memory until then."""
    var sent_len: Int
    """Content of responses that did not go at once and was sent since, in
    bytes."""
    var is_quiet: Bool
    """True if it is known that no task has a response, or a handler elsewhere
    that makes one: there is no content to be sent, and none to come."""
    var has_parked: Bool
    """True if requests may be there that wait for responses to leave."""
    var completed: List[Int]
    """Streams whose content is complete, which the pool does not know yet."""
    var name: Buffer
    """Room for the name of a field."""
    var _lost_calls: List[_LostCall]

    def __init__(
        out self, limits: Http2Limits, config: ServerConfig, now_ms: Int
    ):
        self.session = Http2Session(Http2Role.SERVER, limits, now_ms)
        self.input = Buffer(0)
        self.tasks = []
        self.turn_count = 0
        self.woken = []
        self.times = LinkTimes(config)
        self.deadline_ms = NEVER
        self.shutdown = Shutdown.NONE
        self.has_cancelled = False
        self.lost_len = 0
        self.sent_len = 0
        self.is_quiet = True
        self.has_parked = False
        self.completed = []
        self.name = Buffer(0)
        self._lost_calls = []

    @staticmethod
    def begin(mut state: WorkerState) -> OwnedPointer[Self]:
        """Makes the link of a connection that begins, and writes our SETTINGS."""
        ref config = state.config
        var link = OwnedPointer(
            Self(
                config.http2_limits.session_limits(
                    config.max_header_size,
                    config.max_fields,
                    config.max_target_size,
                ),
                config,
                state.now_ms,
            )
        )
        link[].session.state.local.enable_connect_protocol = (
            state.takes_upgrades
        )
        link[].session.begin(state.out)
        link[].times.begin(state.now_ms, config)
        return link^

    def cancel(mut self):
        """Tells all handlers that nobody waits for them."""
        for index in range(len(self.tasks)):
            self.tasks.at(index)[].call.cancel(Refusal.NOT_WANTED)

    def find(self, id: Int) -> Int:
        """Finds the index of the task of a stream, or -1."""
        var index = self._place_of(id)
        if index < len(self.tasks) and self.tasks.at(index)[].id == id:
            return index
        return -1

    def _place_of(self, id: Int) -> Int:
        """Counts the tasks of lower streams."""
        var start = 0
        var end = len(self.tasks)
        if end == 0 or self.tasks.at(end - 1)[].id < id:
            return end
        # Numbers go up by two, and often none is gone between.
        var place = (id - self.tasks.at(0)[].id) >> 1
        if place >= 0 and place < end and self.tasks.at(place)[].id == id:
            return place
        while start < end:
            var middle = (start + end) // 2
            if self.tasks.at(middle)[].id < id:
                start = middle + 1
            else:
                end = middle
        return start

    def add(mut self, var task: OwnedPointer[StreamTask]) -> Int:
        """Adds the task of a stream that has none, and gives its index."""
        var index = self._place_of(task[].id)
        if task[].has_response() or task[].call.job:
            self.is_quiet = False
        self.tasks.insert(index, task^)
        return index

    def next_turn(mut self) -> Int:
        """Makes the number of a turn to send content, higher than all before."""
        self.turn_count += 1
        return self.turn_count

    def note_woken(mut self, id: Int):
        """Takes note that the source of a stream, which may be over, or the
        handler that reads its content, has news."""
        if self.find(id) >= 0 and id not in self.woken:
            self.woken.append(id)

    def sweep(mut self, mut pool: StreamPool):
        """Drops the tasks of streams that have sent all, or failed."""
        var count = 0
        for index in range(len(self.tasks)):
            if self.tasks.at(index)[].phase == StreamPhase.OVER:
                continue
            if count < index:
                self.tasks.swap_elements(count, index)
            count += 1
        while len(self.tasks) > count:
            pool.give(self.tasks.pop())

    def drop_all(mut self):
        """Gives up all that is under way."""
        self.cancel()
        self.tasks.clear()
        self.has_cancelled = True

    def drop(mut self, index: Int, mut out: Buffer) -> OwnedPointer[StreamTask]:
        """Takes a task out; a handler that has it counts until it has answered.
        What nobody will read of its content is the connection's room again."""
        var task = self.tasks.pop(index)
        self.session.state.owe(task[].piped_len, out)
        if task[].has_content():
            self.times.total.note_drop()
        if task[].call.job:
            self.session.foreign_count += 1
            self.has_cancelled = True
            self.lost_len += task[].expected_len
            self._lost_calls.append(_LostCall(task[].id, task[].expected_len))
        return task^

    def end_lost_call(mut self, id: Int):
        """Counts no more what a handler has answered whose stream is over."""
        self.session.foreign_count -= 1
        for index in range(len(self._lost_calls)):
            if self._lost_calls.at(index).stream_id == id:
                self.lost_len -= self._lost_calls.pop(index).length
                return
