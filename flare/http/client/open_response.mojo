"""A response that its caller reads while it arrives."""

from flare.bytes.checked import *
from flare.bytes.scan import find_octet_within
from flare.http.client.exchange.prepared_request import (
    ClientBase,
    prepare_request,
    PreparedRequest,
    Upload,
)
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import (
    BadContent,
    ClientError,
    Phase,
    ResponseTooLarge,
    check_problem,
)
from flare.http.client.message.error_status import status_error
from flare.http.client.open_request import OpenRequest, UploadSource
from flare.http.client.message.request import (
    ClientRequest,
    own_time_problem,
    request_url,
)
from flare.http.client.message.response import (
    ClientResponse,
    ContentUse,
    RedirectStep,
    ResponseStory,
    url_without_credentials,
)
from flare.http.client.connect.exchange_facts import ExchangeFacts
from flare.http.client.exchange.state import ClientState
from flare.http.client.exchange.task_phase import TaskEvent
from flare.http.message.body import Body
from flare.http.message.header_map import HeaderMap
from flare.http.message.request import Version
from flare.http.message.status import Status
from flare.http.sse.event_hub import ServerSentEvent
from flare.http.sse.event_parser import EVENT_LEN_MAX, EventParser
from flare.io.stream import Readable
from flare.json.struct_reader import read_json
from flare.json.value import JsonValue, parse
from flare.url.url import Url
from std.memory import ArcPointer

comptime CONTENT_LEN_MAX = 64 << 20
"""Most content that `OpenResponse.read_all` keeps unless it is told otherwise,
in bytes."""

comptime LINE_LEN_MAX = 1 << 20
"""Longest line that is read unless a call allows more, in bytes."""

comptime _LF = UInt8(10)
comptime _CR = UInt8(13)


struct OpenResponse(Readable):
    """A response whose content is still on its way (RFC 9110 section 3.4).

        var response = client.open("POST", "/v1/chat", json={"stream": True})
        response.raise_for_status()
        while True:
            var line = response.next_line()
            if not line:
                break
            print(line.value())

    It is there as soon as its head is, after all redirections; the content
    comes as it is read, and no faster: what nobody reads waits at the server.
    Content that the request still sends goes on being sent while this is read.

    It keeps what it needs of its client, which may be closed or gone. To stop
    early, `close` it or let it go: if the rest is short and here already, the
    connection is kept, else it is closed; over HTTP/2 only the stream ends.
    Every wait has a deadline: see `HttpClient.open`.
    """

    comptime ReadError = ClientError
    """What a failed read raises."""
    var status: Status
    """The status code."""
    var reason: String
    """The reason phrase as sent, or the registered one if none was."""
    var version: Version
    """The server's protocol version."""
    var headers: HeaderMap
    """The header fields. Content-Encoding and Content-Length still tell of
    the content as transferred."""
    var trailers: HeaderMap
    """Fields after the content; empty until its end was read."""
    var url: Url
    """The URL that answered, after redirections."""
    var redirect_count: Int
    """How many redirections led to it."""
    var exchange: ExchangeFacts
    """Over which connection it comes, and when its head was there."""
    var _story: ResponseStory
    # What was looked at and not yet taken, of lines and events, is ahead there.
    var _call: OpenRequest
    # Once events are read.
    var _events: Optional[EventParser]
    var _content_len: Int

    def __init__(
        out self,
        state: ArcPointer[ClientState],
        var request: PreparedRequest,
        var source: Optional[UploadSource],
    ) raises ClientError:
        """Sends a request, and waits for the head of its final response; the
        rest is as for `OpenRequest.__init__`.

        Raises:
            ClientError: If it fails for good.
        """
        var call = OpenRequest(
            state, request^, source^, first_event=TaskEvent.NONE
        )
        call.wait_for_head()
        ref task = call._task.value()[]
        ref head = task.head()
        self.status = head.status
        self.reason = head.reason
        self.version = head.version
        self.headers = HeaderMap()
        self.trailers = HeaderMap()
        self.url = head.url.copy()
        self.redirect_count = head.redirect_count
        self.exchange = head.exchange.copy()
        self._story = head.story()
        self._events = None
        self._content_len = task.content_len()
        swap(self.headers, call.headers)
        self._call = call^

    def close(mut self):
        """Gives up what was not read; does nothing after the end.

        A connection of HTTP/1.1 is kept only if the rest of the content is
        short and here already: it is not waited for.
        """
        self._call._close(
            "the response was closed; read it before, or open another"
        )

    def story(self) -> ResponseStory:
        """Tells how it came to the response, as `ClientResponse.story` does."""
        return self._story.copy()

    def history(self) -> List[RedirectStep]:
        """Tells which redirections led to the response, as
        `ClientResponse.history` does."""
        return self._story.history.copy()

    def ok(self) -> Bool:
        """Tells whether the request succeeded: the status is below 400."""
        return self.status < 400

    def raise_for_status(self) raises ClientError:
        """Does nothing if the request succeeded.

        Raises:
            ClientError: If the status is 400 or more (`ErrorStatus`): it has
                the status, but not what the content says, which is not read.
        """
        if self.ok():
            return
        var error = status_error(
            self.status,
            self.reason,
            url_without_credentials(self.url),
            self.headers,
            self._story.note(),
            List[UInt8](),
        )
        error.attempt_count = self._story.attempt_count
        raise error^

    def content_len(self) -> Int:
        """Tells how many bytes of content were announced, as transferred, and
        so those of `received_len`; -1 if the server does not say."""
        return self._content_len

    def received_len(self) -> Int:
        """Counts the bytes of content that have come, as transferred, before a
        content coding is undone."""
        ref call = self._call
        if call._task:
            return call._task.value()[].received_len()
        return call._received_len

    def is_complete(self) -> Bool:
        """Tells whether the end of the content was read: there is nothing more,
        and `trailers` are there."""
        return self._call.is_complete()

    def _note_end(mut self):
        """Takes the fields after the content, if that has ended."""
        if len(self.trailers) == 0:
            swap(self.trailers, self._call.trailers)

    def read(mut self, room: MutSpan[UInt8, _]) raises ClientError -> Int:
        """Reads what is there, waiting for the first octet; the rest is as for
        `OpenRequest.read`."""
        var count = self._call.read(room)
        if count == 0:
            self._note_end()
        return count

    def _look_ahead(mut self) raises ClientError -> Bool:
        """Has more content ahead; False at the end."""
        ref call = self._call
        if not call._has_piece():
            self._note_end()
            return False
        call._pieces.take_ahead(call._task.value()[].content())
        return True

    def read_all(
        mut self, limit: Int = CONTENT_LEN_MAX
    ) raises ClientError -> List[UInt8]:
        """Reads to the end, all that was left.

        Args:
            limit: Most octets.

        Raises:
            ClientError: As `read`, or if there is more than the limit.
        """
        ref call = self._call
        var octets = List[UInt8]()
        octets.extend(call._pieces.ahead.span())
        call._pieces.ahead.clear()
        while True:
            if len(octets) > limit:
                raise self._too_long("content", limit)
            if not call._has_piece():
                self._note_end()
                return octets^
            call._pieces.move_all(call._task.value()[].content(), octets)

    def to_response(
        var self, limit: Int = CONTENT_LEN_MAX
    ) raises ClientError -> ClientResponse:
        """Reads to the end, and gives what `HttpClient.send` would have given;
        the body is what was not read before.

            var opened = client.open("GET", "/items")
            var items = opened^.to_response().json()

        Args:
            limit: Most content in bytes.

        Raises:
            ClientError: As `read_all`.
        """
        var octets = self.read_all(limit)
        self._call._check()
        var response = self._call._complete.take()
        swap(response.trailers, self.trailers)
        response.body = Body(octets^)
        return response^

    def next_line(
        mut self, limit: Int = LINE_LEN_MAX
    ) raises ClientError -> Optional[String]:
        """Reads a line that ends with LF or CRLF, without that; nothing at the
        end of the content. A last line without an end is a line.

        Args:
            limit: Longest line in bytes, without its end.

        Raises:
            ClientError: As `read`; if the line is longer than the limit
                (`ResponseTooLarge`, and nothing of it is taken), or no UTF-8
                (`BadContent`, and the next call goes on after it).
        """
        var looked_at = 0
        while True:
            ref ahead = self._call._pieces.ahead
            # SAFETY: the search ends within what the buffer holds.
            var end = find_octet_within(
                ahead.unsafe_base(), looked_at, len(ahead), _LF
            )
            var is_whole = end < len(ahead)
            # Its last octet may be the CR of its end.
            if end > limit + 1:
                raise self._too_long("line", limit)
            if is_whole:
                return self._take_line(end, end + 1, limit)
            looked_at = len(ahead)
            if not self._look_ahead():
                if looked_at == 0:
                    return None
                return self._take_line(looked_at, looked_at, limit)

    def _take_line(
        mut self, length: Int, used: Int, limit: Int
    ) raises ClientError -> String:
        """Takes a line; its end is behind `used` octets."""
        ref ahead = self._call._pieces.ahead
        var count = length
        if used > length and count > 0 and ahead.span().at(count - 1) == _CR:
            count -= 1
        if count > limit:
            raise self._too_long("line", limit)
        try:
            var line = String(from_utf8=ahead.span().before(count))
            ahead.consume(used)
            return line^
        except error:
            ahead.consume(used)
            raise self._bad_content(String("a line is no UTF-8: ", error))

    def next_json(
        mut self, limit: Int = LINE_LEN_MAX
    ) raises ClientError -> Optional[JsonValue]:
        """Reads a value of JSON lines, of which each is one (RFC 8259); nothing
        at the end. Empty lines are passed over.

        Args:
            limit: Longest line in bytes.

        Raises:
            ClientError: As `next_line`; `BadContent` if the line is no JSON,
                and the next call goes on after it.
        """
        while True:
            var line = self.next_line(limit)
            if not line:
                return None
            if _is_blank(line.value()):
                continue
            try:
                return parse(line.value().as_bytes())
            except error:
                raise self._bad_content(String("a line is no JSON: ", error))

    def next_json[
        T: Movable & Deinitable
    ](mut self, limit: Int = LINE_LEN_MAX) raises ClientError -> Optional[T]:
        """Reads such a line into a plain struct.

            var opened = client.open("GET", "/items")
            var item = opened.next_json[Item]()

        Parameters:
            T: The struct, as for `read_json`.

        Raises:
            ClientError: As `next_line`; `BadContent` if the line is no such
                struct, and the next call goes on after it.
        """
        var value = self.next_json(limit)
        if not value:
            return None
        try:
            return read_json[T](value.value().view())
        except error:
            raise self._bad_content(String("a line is no such value: ", error))

    def next_event(
        mut self, limit: Int = EVENT_LEN_MAX
    ) raises ClientError -> Optional[ServerSentEvent]:
        """Reads a server-sent event (WHATWG HTML section 9.2); nothing at the
        end of the content. An event that the end cuts off is none.

        For streams that end, such as the answer of a language model. What is to
        be had again when the connection breaks is an `EventSource`'s.

        Args:
            limit: Longest event in bytes; that of the first call counts.

        Raises:
            ClientError: As `read`, or if the event is longer than the limit
                (`ResponseTooLarge`); events cannot be read any further then.
        """
        if not self._events:
            self._events = EventParser(limit)
        while True:
            try:
                if self._events.held().advance(self._call._pieces.ahead):
                    return self._events.held().take_event()
            except error:
                raise self._too_long("event", error.limit)
            if not self._look_ahead():
                self._call._pieces.ahead.clear()
                return None

    def resume_events(mut self, var last_id: String, limit: Int):
        """Makes the events go on after those of another response.

        Args:
            last_id: The last id of that one.
            limit: Longest event in bytes.
        """
        self._events = EventParser(limit, last_id^)

    def last_event_id(self) -> String:
        """Tells what a request that goes on names as `Last-Event-ID`: the id of
        the last event, or of one before; empty if none had one."""
        return self._events.value().last_id if self._events else String()

    def retry_ms(self) -> Int:
        """Tells how many milliseconds the server wants clients to wait before
        they return; -1 if it has not said."""
        return self._events.value().retry_ms if self._events else -1

    def _too_long(self, what: StaticString, limit: Int) -> ClientError:
        var error = ClientError(
            Phase.READ_BODY,
            ResponseTooLarge,
            String(
                "the ",
                what,
                " is longer than ",
                limit,
                " bytes; pass a higher limit to read it",
            ),
        )
        error.url = url_without_credentials(self.url)
        return error^

    def _bad_content(self, var reason: String) -> ClientError:
        var error = ClientError(Phase.DECODE, BadContent, reason^)
        error.url = url_without_credentials(self.url)
        return error^


@fieldwise_init
struct AfterHead(Equatable, TrivialRegisterPassable):
    """What becomes of the total time when the head of a response is there."""

    var number: UInt8

    comptime AS_SET = AfterHead(0)
    """It counts on if it was set; `WHILE_PROGRESSING` ends."""
    comptime PROGRESS = AfterHead(1)
    """`WHILE_PROGRESSING` counts on, too."""
    comptime SILENCE = AfterHead(2)
    """It ends: only silence counts."""


@fieldwise_init
struct OpenTimes(TrivialRegisterPassable):
    """The times of an open response, in milliseconds; `CLIENTS_OWN` for those
    of the client."""

    var head_ms: Int
    var idle_ms: Int
    """Longest silence after it."""
    var after_head: AfterHead


@fieldwise_init
struct ResponseOpener(Movable):
    """What it takes to open responses, whatever becomes of the client."""

    var _state: ArcPointer[ClientState]
    var _base: ClientBase

    def url_of(self, request: ClientRequest) raises ClientError -> String:
        """Writes the URL of a request, without user name and password. Raises
        if it is none."""
        return url_without_credentials(request_url(self._base.url, request))

    def config(ref self) -> ClientConfig:
        return self._state[].config.copy()

    def open(
        self,
        var request: ClientRequest,
        times: OpenTimes,
        upload: Upload = Upload(),
        var source: Optional[UploadSource] = None,
        *,
        raw: Bool = False,
    ) raises ClientError -> OpenResponse:
        """Sends a request with content from `upload`, or streamed from the
        source, and waits for the head of its response, which is read, decoded
        unless it is to be `raw`. Raises if there is none."""
        return OpenResponse(
            self._state, self._prepare(request^, times, upload, raw), source^
        )

    def begin(
        self,
        var request: ClientRequest,
        times: OpenTimes,
        upload: Upload,
        *,
        raw: Bool,
    ) raises ClientError -> OpenRequest:
        """Begins a request that its caller writes, if the upload is streamed,
        and whose response it reads. Raises if it cannot be sent."""
        return OpenRequest(
            self._state, self._prepare(request^, times, upload, raw)
        )

    def _prepare(
        self,
        var request: ClientRequest,
        times: OpenTimes,
        upload: Upload,
        raw: Bool,
    ) raises ClientError -> PreparedRequest:
        check_problem(own_time_problem("head_timeout_ms", times.head_ms))
        check_problem(own_time_problem("idle_timeout_ms", times.idle_ms))
        var prepared = prepare_request(
            request^, upload, self._base, Pointer(to=self._state[].config)
        )
        prepared.content_use = ContentUse.LEND_RAW if raw else ContentUse.LEND
        prepared.timeouts.limit_phases(times.head_ms, times.idle_ms)
        if times.after_head == AfterHead.PROGRESS:
            prepared.timeouts.keep_progress()
        elif times.after_head == AfterHead.SILENCE:
            prepared.timeouts.end_with_head()
        return prepared^


def _is_blank(line: StringSpan) -> Bool:
    for octet in line.as_bytes():
        if octet != 32 and octet != 9 and octet != _CR:
            return False
    return True
