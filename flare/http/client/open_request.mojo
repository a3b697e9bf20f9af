"""A request whose caller writes its content, and reads its response, in turn."""

from flare.bytes.checked import *
from flare.bytes.erased import Erased, ErasedBox
from flare.http.client.exchange.attempt import PIECE_LEN
from flare.http.client.exchange.driver import (
    check_cancelled,
    feed_from,
    wait_for,
)
from flare.http.client.connect.error import (
    BadRequest,
    ClientError,
    Phase,
    ResponseTooLarge,
)
from flare.http.client.connect.exchange_facts import ExchangeFacts
from flare.http.client.exchange.prepared_request import PreparedRequest
from flare.http.client.message.response import (
    ClientResponse,
    url_without_credentials,
)
from flare.http.client.exchange.state import ClientState
from flare.http.client.exchange.task import RequestTask
from flare.http.client.exchange.task_phase import TaskEvent, TaskProgress
from flare.http.message.header_map import HeaderMap
from flare.http.message.request import Version
from flare.http.message.status import Status
from flare.io.stream import Readable
from flare.bytes.buffer import Buffer
from std.memory import ArcPointer, OwnedPointer

comptime UNREAD_LEN_MAX = 1 << 20
"""Most content of a response over HTTP/1.1 that is kept while its request is
written, in bytes; over HTTP/2 it waits in the stream's window."""


struct OpenRequest(Readable):
    """A request that is under way, in both directions (RFC 9110 section 7.5).

        var request = ClientRequest("POST", "/echo")
        var call = client.open_request(request^)
        _ = call.write("one".as_bytes())
        call.wait_for_head()
        var room = List[UInt8](length=1024, fill=0)
        var count = call.read(room)
        call.finish()

    The response may begin before the request has ended, and each direction goes
    on as fast as its receiver takes it; whoever holds it chooses when to write
    and when to read. A request without content of its own in memory is written
    by its caller, and ends with `finish`.

    It belongs to one thread, has its connection, or its stream of one, until it
    is read to its end or closed, and may outlive its client.
    """

    comptime ReadError = ClientError
    """What a failed read raises."""
    var has_head: Bool
    """True once the head of the response is there: `status` and `headers`."""
    var status: Status
    """The status code; 0 before."""
    var version: Version
    """The server's protocol version."""
    var headers: HeaderMap
    """The response's header fields."""
    var trailers: HeaderMap
    """Fields after the content; empty until its end was read."""
    var exchange: ExchangeFacts
    """Over which connection it goes, once the head is there."""
    var _state: ArcPointer[ClientState]
    # None once the response is complete, or the request has failed.
    var _task: Optional[OwnedPointer[RequestTask]]
    var _failure: Optional[ClientError]
    # What the task has left of the response, once that is complete.
    var _complete: Optional[ClientResponse]
    # How much content of it had come when the task was over, in bytes.
    var _received_len: Int
    # Of the response; `ahead` has what was taken before it is read.
    var _pieces: PieceReader
    # Where the content of the request comes from, if not from `write`.
    var _source: Optional[UploadSource]
    # With what the task goes on when the response is waited for.
    var _first_event: TaskEvent
    var _has_ended: Bool
    # The URL, for errors.
    var _url: String

    def __init__(
        out self,
        state: ArcPointer[ClientState],
        var request: PreparedRequest,
        var source: Optional[UploadSource] = None,
        *,
        first_event: TaskEvent = TaskEvent.READABLE,
    ):
        """Begins with a request, whose `content_use` is lent; nothing is sent
        before the first call.

        Args:
            state: The client.
            request: The request.
            source: Where its content comes from, if it is not written.
            first_event: With what each wait for the response begins. By default
                what has come while nobody asked is looked for first.
        """
        self.has_head = False
        self.status = 0
        self.version = Version.HTTP_1_1
        self.headers = HeaderMap()
        self.trailers = HeaderMap()
        self.exchange = ExchangeFacts()
        self._state = state
        self._failure = None
        self._complete = None
        self._received_len = 0
        self._pieces = PieceReader()
        self._source = source^
        self._first_event = first_event
        self._has_ended = not request.upload.is_streamed
        self._url = url_without_credentials(request.url)
        self._task = OwnedPointer(RequestTask(request^, state[]))

    def __deinit__(deinit self):
        """Closes it, if the response was not read to its end."""
        if self._task:
            self._task.take().into_inner().abandon(self._state[])

    def into_state(deinit self) -> ArcPointer[ClientState]:
        """Gives what it had of its client, buffers for another request, and
        closes it."""
        if self._task:
            self._task.take().into_inner().abandon(self._state[])
        return self._state^

    def close(mut self):
        """Gives up what was not sent and not read: over HTTP/2 with RST_STREAM
        (CANCEL). Does nothing after the end."""
        self._close("the request was closed by its caller")

    def _close(mut self, var reason: String):
        if not self._task:
            return
        self._take_task().abandon(self._state[])
        self._pieces.ahead.clear()
        self._failure = self._own_error(reason^)

    def _take_task(mut self) -> RequestTask:
        self._received_len = self._task.value()[].received_len()
        return self._task.take().into_inner()

    def _own_error(self, var reason: String) -> ClientError:
        var error = ClientError(Phase.READ_BODY, BadRequest, reason^)
        error.url = self._url
        return error^

    def is_complete(self) -> Bool:
        """Tells whether the end of the response was read: there is nothing
        more, and `trailers` are there."""
        return (
            not self._task
            and not self._failure
            and (len(self._pieces.ahead) == 0)
        )

    def _check(self) raises ClientError:
        if self._failure:
            raise self._failure.value().copy()

    def write(
        mut self, octets: Span[UInt8, _], *, ends: Bool = False
    ) raises ClientError -> Bool:
        """Sends content, waits until the connection has taken all of it, and
        gives False if the server wants no more of the request: its response is
        on its way, or complete.

        Content of the response that comes meanwhile is kept for `read`. While
        the server takes nothing, this waits: for `write_timeout_ms` at most, as
        long as the time of the request is not over. A server that waits for its
        own content to be read before it takes more is waited for in vain.

        Args:
            octets: The content; none of it is kept.
            ends: True if nothing follows, as `finish` says.

        Raises:
            ClientError: If the request fails, its content was in memory or has
                ended, or more than `UNREAD_LEN_MAX` octets of a response over
                HTTP/1.1 have come meanwhile.
        """
        self._check()
        if self._has_ended:
            raise self._own_error("the content of the request has ended")
        if not self._get_ready():
            return False
        var start = 0
        while start < len(octets):
            var end = min(start + PIECE_LEN, len(octets))
            self._feed(octets.between(start, end))
            start = end
            if start == len(octets) and ends:
                break
            if not self._get_ready():
                return False
        if ends:
            self._end()
        return True

    def send(mut self) raises ClientError:
        """Sends a request whose content is in memory, and waits until the
        connection has taken it, or a response comes before; the response goes
        on. Without this it is sent when that is waited for.

        Raises:
            ClientError: If the request fails.
        """
        self._check()
        var event = TaskEvent.NONE
        while self._advance(event) == TaskProgress.WAIT:
            if self._task.value()[].phase() == Phase.READ_HEAD:
                _ = self._task.value()[].flush()
                return
            event = self._wait()

    def finish(mut self) raises ClientError:
        """Ends the content of the request; the response goes on. Does nothing
        if it has ended, or nobody wants more of it.

        Raises:
            ClientError: If the request fails.
        """
        self._check()
        if not self._has_ended and self._get_ready():
            self._end()

    def _end(mut self) raises ClientError:
        self._has_ended = True
        self._feed(List[UInt8]())
        # The end goes out now, if it can; what cannot goes with the next call.
        _ = self._advance(TaskEvent.NONE)
        if self._task:
            _ = self._task.value()[].flush()

    def _feed(mut self, octets: Span[UInt8, _]) raises ClientError:
        ref task = self._task.value()[]
        try:
            task.feed(octets)
        except error:
            raise self._failed(task.named(self._state[], error^))

    def _get_ready(mut self) raises ClientError -> Bool:
        """Waits until all that was written is gone, and more may be; False if no
        more is wanted."""
        if not self._task:
            return False
        self._task.value()[].send_first(True)
        var is_ready = self._send_all()
        if self._task:
            self._task.value()[].send_first(False)
        return is_ready

    def _send_all(mut self) raises ClientError -> Bool:
        var event = TaskEvent.NONE
        while self._task:
            if self._task.value()[].is_held():
                return True
            if not self._task.value()[].takes_content():
                return False
            var found = self._advance(event)
            event = TaskEvent.NONE
            if found == TaskProgress.WANTS_CONTENT:
                return True
            if found == TaskProgress.HAS_CONTENT:
                self._keep_content()
            elif found == TaskProgress.WAIT:
                event = self._wait()
        return False

    def _keep_content(mut self) raises ClientError:
        """Takes the piece that is there, so that the task can go on sending."""
        self._pieces.take_ahead(self._task.value()[].content())
        if len(self._pieces.ahead) <= UNREAD_LEN_MAX:
            return
        var error = ClientError(
            Phase.WRITE,
            ResponseTooLarge,
            String(
                "more than ",
                UNREAD_LEN_MAX,
                " bytes of the response have come while the request was"
                " written; read between two writes",
            ),
        )
        raise self._failed(self._task.value()[].named(self._state[], error^))

    def wait_for_head(mut self) raises ClientError:
        """Waits until the head of the response is there. What was written goes
        on being sent meanwhile.

        Raises:
            ClientError: If there is none.
        """
        if self.has_head:
            return
        self._check()
        _ = self._go_on()

    def read(mut self, room: MutSpan[UInt8, _]) raises ClientError -> Int:
        """Reads what is there, waiting for the first octet, and gives how many
        octets that is; 0 at the end.

        Raises:
            ClientError: If the content cannot be had: the connection fails or
                is silent for too long, the content is cut short or cannot be
                decoded, or the request's source fails. The same again if it is
                read once more.
        """
        var count = self._pieces.read_ahead(room)
        if count > 0 or len(room) == 0 or not self._has_piece():
            return count
        return self._pieces.read(self._task.value()[].content(), room)

    def _has_piece(mut self) raises ClientError -> Bool:
        """Waits for content; False at the end."""
        self._check()
        while self._task:
            if self._pieces.has_more_of(self._task.value()[].content()):
                return True
            if self._go_on() == TaskProgress.HAS_CONTENT:
                return True
        return False

    def _go_on(mut self) raises ClientError -> TaskProgress:
        """Waits for what comes next of the response."""
        var event = self._first_event
        self._task.value()[].go_on_reading()
        while True:
            var found = self._advance(event)
            if found == TaskProgress.WAIT:
                event = self._wait()
            elif found != TaskProgress.WANTS_CONTENT:
                return found
            else:
                # A response may be on its way while content still goes out.
                event = TaskEvent.READABLE if self._source else TaskEvent.NONE

    def _advance(mut self, event: TaskEvent) raises ClientError -> TaskProgress:
        """Goes on without waiting, and takes note of what has come."""
        ref task = self._task.value()[]
        var found: TaskProgress
        try:
            check_cancelled(task, self._state[])
            found = task.advance(self._state[], event)
        except error:
            raise self._failed(error^)
        if found == TaskProgress.WAIT:
            return found
        if found == TaskProgress.WANTS_CONTENT:
            self._give_content()
        elif found == TaskProgress.HAS_HEAD:
            self._note_head()
        elif found == TaskProgress.DONE:
            self._complete = self._take_task().finish(self._state[])
            swap(self.trailers, self._complete.value().trailers)
            return found
        # The caller may take its time.
        _ = self._task.value()[].flush()
        return found

    def _give_content(mut self) raises ClientError:
        """Gives the task what the source has, or the end, or nothing yet."""
        ref task = self._task.value()[]
        if self._source:
            # It may take its time.
            _ = task.flush()
            try:
                feed_from(task, self._source.value())
            except error:
                raise self._failed(task.named(self._state[], error^))
        elif self._has_ended:
            # It goes anew, and had nothing but its end.
            self._feed(List[UInt8]())
        else:
            task.hold_content()

    def _note_head(mut self):
        ref head = self._task.value()[].head()
        self.has_head = True
        self.status = head.status
        self.version = head.version
        self.headers = head.headers.copy()
        self.exchange = head.exchange.copy()
        if head.redirect_count > 0:
            self._url = url_without_credentials(head.url)

    def _wait(mut self) raises ClientError -> TaskEvent:
        ref task = self._task.value()[]
        try:
            return wait_for(task)
        except error:
            raise self._failed(task.named(self._state[], error^))

    def _failed(mut self, var error: ClientError) -> ClientError:
        """Ends it with an error of its task."""
        _ = self._take_task()
        self._failure = error.copy()
        return error^


struct PieceReader(Movable):
    """Reads what was taken out of the pieces first, and then the piece that is
    there.

    Who asks for the next piece when this one is read lends it to each call, and
    has it back empty.
    """

    var ahead: Buffer
    """Content that was taken out of pieces and is not read yet."""
    # How much of the piece was read, in bytes.
    var _offset: Int

    def __init__(out self):
        self.ahead = Buffer(0)
        self._offset = 0

    def has_more_of(self, piece: List[UInt8]) -> Bool:
        """Tells whether something of the piece is not read."""
        return self._offset < len(piece)

    def read_ahead(mut self, room: MutSpan[UInt8, _]) -> Int:
        """Reads what was taken out before; tells how many octets."""
        var count = min(len(room), len(self.ahead))
        room.before(count).copy_from(self.ahead.span().before(count))
        self.ahead.consume(count)
        return count

    def read(mut self, mut piece: List[UInt8], room: MutSpan[UInt8, _]) -> Int:
        var count = min(len(room), len(piece) - self._offset)
        room.before(count).copy_from(piece[self._offset : self._offset + count])
        self._offset += count
        if self._offset == len(piece):
            self._drop(piece)
        return count

    def take_ahead(mut self, mut piece: List[UInt8]):
        """Takes all that is left of the piece out of it."""
        self.ahead.append(piece[self._offset :])
        self._drop(piece)

    def move_all(mut self, mut piece: List[UInt8], mut octets: List[UInt8]):
        """Appends all that is left of the piece, behind which nothing was taken
        out, to some octets."""
        octets.extend(piece[self._offset :])
        self._drop(piece)

    def _drop(mut self, mut piece: List[UInt8]):
        piece.clear()
        self._offset = 0


comptime _Read = def(Erased, Span[UInt8, MutUntrackedOrigin]) raises thin -> Int


def _read[
    R: Readable
](source: Erased, room: Span[UInt8, MutUntrackedOrigin]) raises -> Int:
    # SAFETY: `UploadSource` was made of an R, and keeps it; the room is the
    # caller's of `read`, for the time of that call.
    ref reader = source.unsafe_bitcast[R]()[]
    try:
        return reader.read(room)
    except error:
        raise Error(String(error))


struct UploadSource(Readable):
    """A source whose type its users do not see; it owns the source."""

    # SAFETY: the function was made for the type of the source.
    var _source: ErasedBox
    var _read: _Read

    def __init__[R: Readable](out self, var source: R):
        self._source = ErasedBox(source^)
        self._read = _read[R]

    def read(mut self, room: MutSpan[UInt8, _]) raises -> Int:
        """Reads the next piece. Returns how many octets, 0 at the end; raises
        if the source fails."""
        # SAFETY: the room outlives the call, and is not kept.
        var lent = Span[UInt8, MutUntrackedOrigin](
            unsafe_ptr=room.unsafe_ptr().unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
            length=len(room),
        )
        return self._read(self._source.at, lent)
