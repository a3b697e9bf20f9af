"""Streams whose code may block: a conversation on a thread, and the machine that
stands for it on the loop."""

from flare.bytes.checked import *
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.grpc.server.call import GrpcCall, late, left_until_ms
from flare.grpc.server.stream import GrpcStream, Replies
from flare.http.message.body import StreamWaker
from flare.protobuf.message import Message
from flare.sys.clock import monotonic_ns
from flare.sys.mutex import Condvar, Mutex
from flare.sys.thread import Task

comptime _WAITING_COUNT_MAX = 16
# Messages that wait in either direction, beside the windows of HTTP/2.

comptime _WAITING_LEN_MAX = 65_536
# Behind a request that is longer, in bytes, none waits.

comptime _WAIT_MS = 500
# The loop ends every wait; this is for a clock that has stood still.


struct _Talk[Request: Message, Reply: Message](Movable):
    """What loop and thread share."""

    var requests: List[Self.Request]
    var replies: List[Self.Reply]
    var has_all: Bool
    # Whether the caller is not read until a request is taken.
    var is_full: Bool
    var is_cancelled: Bool
    # What goes before the first reply, once that is known.
    var headers: Optional[Metadata]
    # What goes beside the status.
    var trailers: Metadata
    var status: Optional[GrpcStatus]
    var waker: Optional[StreamWaker]

    def __init__(out self):
        self.requests = []
        self.replies = []
        self.has_all = False
        self.is_full = False
        self.is_cancelled = False
        self.headers = None
        self.trailers = Metadata()
        self.status = None
        self.waker = None

    def ring(self):
        if self.waker:
            self.waker.held().wake()


struct Conversation[Request: Message, Reply: Message](Movable):
    """What code on a thread reads requests from and writes replies to.

    Parameters:
        Request: What the caller sends.
        Reply: What it gets.
    """

    var path: String
    """The method."""
    var metadata: Metadata
    """What the caller has sent beside messages."""
    var headers: Metadata
    """What is sent before the replies: with the first one, or the end."""
    var trailers: Metadata
    """What is sent beside the status."""
    var _has_headers: Bool
    var _deadline_ns: Int
    var _talk: Mutex[_Talk[Self.Request, Self.Reply]]
    var _changed: Condvar

    def __init__(
        out self,
        mut call: GrpcCall,
        talk: Mutex[_Talk[Self.Request, Self.Reply]],
        changed: Condvar,
    ):
        """Makes the side of a call that runs on a thread.

        Args:
            call: The call.
            talk: What goes between it and the loop.
            changed: What tells either of a change.
        """
        self.path = call.path
        self.metadata = call.metadata().copy()
        self.headers = call.headers.copy()
        self.trailers = call.trailers.copy()
        self._has_headers = False
        self._deadline_ns = call._deadline_ns
        self._talk = talk
        self._changed = changed

    def read(mut self) raises GrpcStatus -> Optional[Self.Request]:
        """Waits for a request, and gives the next one; nothing after the last.

        Raises:
            GrpcStatus: `CANCELLED` if the caller has gone or its deadline is over.
        """
        while True:
            var talk = self._talk.lock()
            if not self._waits(talk[]):
                raise _gone()
            if len(talk[].requests) > 0:
                var request = talk[].requests.pop(0)
                if talk[].is_full:
                    talk[].is_full = False
                    talk[].ring()
                return request^
            if talk[].has_all:
                return None
            _ = self._changed.wait_for(talk, _WAIT_MS)

    def write(mut self, var reply: Self.Reply) raises GrpcStatus:
        """Sends a reply; waits while the caller is far behind.

        Args:
            reply: The reply.

        Raises:
            GrpcStatus: `CANCELLED` if the caller has gone or its deadline is over.
        """
        self.send_headers()
        while True:
            var talk = self._talk.lock()
            if not self._waits(talk[]):
                raise _gone()
            if len(talk[].replies) < _WAITING_COUNT_MAX:
                talk[].replies.append(reply^)
                talk[].ring()
                return
            _ = self._changed.wait_for(talk, _WAIT_MS)

    def send_headers(mut self):
        """Has `headers` sent now, before any reply; nothing happens at a second
        call."""
        if self._has_headers:
            return
        self._has_headers = True
        var talk = self._talk.lock()
        talk[].headers = self.headers.copy()
        talk[].ring()

    def time_left_ms(self) -> Optional[Int]:
        """Tells how many milliseconds the caller still waits, 0 if its time is
        over; nothing if it has named no deadline."""
        return left_until_ms(self._deadline_ns)

    def is_wanted(self) -> Bool:
        """Tells whether anybody waits for replies: the caller has not gone, and
        its deadline is not over."""
        return self._waits(self._talk.lock()[])

    def _waits(self, talk: _Talk[Self.Request, Self.Reply]) -> Bool:
        """Tells whether the caller waits, for all that asks: the loop hears of a
        deadline later than the clock has it."""
        return not talk.is_cancelled and monotonic_ns() < self._deadline_ns

    def _end_of(self, status: GrpcStatus) -> GrpcStatus:
        """Tells how the call ends whose code has failed so. Code may hear of the
        deadline before the loop does: its caller is told of that, not of code that
        was given up."""
        if (
            status.code == GrpcCode.CANCELLED
            and monotonic_ns() >= self._deadline_ns
        ):
            return late()
        return status.copy()

    def _finish(self, var status: GrpcStatus):
        var talk = self._talk.lock()
        if not self._has_headers:
            talk[].headers = self.headers.copy()
        talk[].trailers = self.trailers.copy()
        talk[].status = status^
        talk[].ring()


@no_inline
def _gone() -> GrpcStatus:
    return GrpcStatus(GrpcCode.CANCELLED, "nobody waits for replies")


@no_inline
def busy() -> GrpcStatus:
    """Says that there is no thread for a call."""
    return GrpcStatus(GrpcCode.UNAVAILABLE, "the server is busy")


trait BlockingCall(Deinitable, Movable):
    """A call with a stream, as code that may block, on a thread of its own for as
    long as it runs."""

    comptime Request: Message
    """What the caller sends."""
    comptime Reply: Message
    """What it gets."""

    def run(
        mut self, mut conversation: Conversation[Self.Request, Self.Reply]
    ) raises GrpcStatus:
        """Talks; the call ends when this returns.

        Args:
            conversation: Where requests are read, and replies are written.

        Raises:
            GrpcStatus: It ends the call.
        """
        ...


struct _Run[C: BlockingCall](Task):
    var call: Self.C
    var conversation: Conversation[Self.C.Request, Self.C.Reply]
    var has_begun: Bool

    def __init__(
        out self,
        var call: Self.C,
        var conversation: Conversation[Self.C.Request, Self.C.Reply],
    ):
        self.call = call^
        self.conversation = conversation^
        self.has_begun = False

    def __deinit__(deinit self):
        """Ends a call for which there was no thread."""
        if not self.has_begun:
            self.conversation._finish(busy())

    def run(mut self) raises:
        self.has_begun = True
        try:
            self.call.run(self.conversation)
        except status:
            self.conversation._finish(self.conversation._end_of(status))
            return
        self.conversation._finish(GrpcStatus())


struct Blocking[C: BlockingCall](GrpcStream):
    """The machine of a call whose code runs on a thread.

    A method answers with it in place of a machine of its own:
    `Blocking(Chat())` for code of the type Chat. The threads are those of the `GrpcServices`, at most
    `GrpcConfig.stream_threads`; a call that finds none free waits for one.

    Parameters:
        C: The code.
    """

    comptime Request = Self.C.Request
    """What the caller sends."""
    comptime Reply = Self.C.Reply
    """What it gets."""
    # Until it is given to a thread.
    var _call: Optional[Self.C]
    var _talk: Mutex[_Talk[Self.C.Request, Self.C.Reply]]
    var _changed: Condvar

    def __init__(out self, var call: Self.C) raises GrpcStatus:
        """Makes the machine of some code.

        Args:
            call: The code.

        Raises:
            GrpcStatus: If the system has no more locks.
        """
        self._call = call^
        try:
            self._talk = Mutex(_Talk[Self.C.Request, Self.C.Reply]())
            self._changed = Condvar()
        except error:
            raise GrpcStatus(GrpcCode.UNAVAILABLE, note=String(error))

    def __deinit__(deinit self):
        """Tells the code that nobody waits, however the call has ended: its thread
        is for others, too."""
        # The lock is there until it has been given away, which it would not here.
        self._give_up()

    def _give_up(self):
        self._talk.lock()[].is_cancelled = True
        self._changed.notify_one()

    def on_message(
        mut self,
        var request: Self.C.Request,
        mut replies: Replies[Self.C.Reply],
    ) raises GrpcStatus:
        """Hands a request over.

        Args:
            request: The request.

        Raises:
            GrpcStatus: If no thread can be had.
        """
        self._begin(replies)
        self._talk.lock()[].requests.append(request^)
        self._changed.notify_one()

    def is_full(self, last_len: Int) -> Bool:
        """Tells whether so much waits that the caller is not read: few octets
        may be long messages that are compressed."""
        var talk = self._talk.lock()
        var count_max = 1 if last_len > _WAITING_LEN_MAX else _WAITING_COUNT_MAX
        talk[].is_full = len(talk[].requests) >= count_max
        return talk[].is_full

    def replies_later(self) -> Bool:
        """Tells that a reply is there when the code has written it."""
        return True

    def on_end(mut self, mut replies: Replies[Self.C.Reply]) raises GrpcStatus:
        """Tells that there are no more requests.

        Raises:
            GrpcStatus: What ends the call: no thread can be had, or the code
                has failed.
        """
        self._begin(replies)
        self._talk.lock()[].has_all = True
        self._changed.notify_one()

    def on_room(mut self, mut replies: Replies[Self.C.Reply]) raises GrpcStatus:
        """Sends what was written, and the status after it; the rest is as for
        `on_end`."""
        self._begin(replies)
        var written = List[Self.C.Reply]()
        var talk = self._talk.lock()
        swap(written, talk[].replies)
        var headers = Optional[Metadata](None)
        swap(headers, talk[].headers)
        var trailers = Metadata()
        swap(trailers, talk[].trailers)
        var status = talk[].status.copy()
        deinit(talk^)
        if headers:
            replies.call().headers = headers.take()
            replies.call().send_headers()
        if len(written) > 0:
            self._changed.notify_one()
        for index in range(len(written)):
            replies.send(written.at(index))
        if status and not replies.call().status:
            replies.call().trailers = trailers^
            replies.call().end(status.take())

    def on_cancel(mut self):
        """Tells the code that nobody waits."""
        self._give_up()

    def _begin(mut self, mut replies: Replies[Self.C.Reply]) raises GrpcStatus:
        """Gives the code to a thread, once."""
        if not self._call:
            return
        ref call = replies.call()
        self._talk.lock()[].waker = call.waker()
        var run = _Run(
            self._call.take(), Conversation(call, self._talk, self._changed)
        )
        if not call._threads or not call._threads.held().submit(run^):
            raise busy()
