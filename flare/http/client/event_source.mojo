"""Server-sent events that go on when their connection breaks."""

from flare.bytes.checked import *
from flare.http.client.connect.cancel import pause_unless_cancelled
from flare.http.client.connect.error import (
    BadRequest,
    BadUrl,
    Cancelled,
    ClientError,
    HookFailed,
    Phase,
    RedirectRefused,
    ResponseTooLarge,
    TlsFailed,
    TooManyRedirects,
    UnexpectedResponse,
    bad_request,
)
from flare.http.client.open_response import (
    AfterHead,
    OpenResponse,
    OpenTimes,
    ResponseOpener,
)
from flare.http.client.message.request import CLIENTS_OWN, ClientRequest
from flare.http.client.message.response import url_without_credentials
from flare.http.client.message.retry_policy import retry_after_ms
from flare.http.message.header_map import check_field
from flare.http.message.media_type import has_essence
from flare.http.sse.event_hub import TEXT_EVENT_STREAM, ServerSentEvent
from flare.http.sse.event_parser import EVENT_LEN_MAX
from flare.sys.backoff import Backoff
from flare.sys.clock import unix_seconds
from flare.sys.random import random_word

comptime EVENT_IDLE_MS = 60_000
"""Longest silence of a stream of events unless it is said otherwise, in
milliseconds: four heartbeats of most servers."""

comptime EVENT_ATTEMPT_COUNT = 10
"""How often in turn a stream may go wrong unless it is said otherwise: with the
pauses below, some four minutes."""

comptime EVENT_RETRY_MS = 3_000
"""How long to wait before coming back unless the server says, in milliseconds
(WHATWG HTML section 9.2.2: a few seconds)."""

comptime EVENT_RETRY_MAX_MS = 30_000
"""Longest wait after several failures in turn, in milliseconds, unless the
server asks for more."""

comptime EVENT_ASKED_MIN_MS = 100
"""Shortest wait that a server may ask for, in milliseconds: one that says
`retry: 0`, and ends each response, would be asked without a pause."""

comptime EVENT_ASKED_MAX_MS = 600_000
"""Longest wait that a server may ask for, in milliseconds."""

comptime _DOUBLING_COUNT_MAX = 8
# So that one who asks for short waits is not made to wait for long.


struct EventSource(Movable):
    """A stream of server-sent events (WHATWG HTML section 9.2).

        var events = client.events(ClientRequest("GET", "/prices"))
        while True:
            var event = events.next()
            if not event:
                break
            print(event.value().name, event.value().data)

    When the connection ends, is silent for too long or cannot be had, it comes
    back, says which event was the last (`Last-Event-ID`), and goes on after it.
    It waits as long as the server has asked for (`retry`), but at least 100 ms,
    and longer from failure to failure, with a random part. So it does when the
    server answers 429, 500, 502, 503 or 504, which browsers take for the end, and
    no less than Retry-After says then.
    204 ends the stream; any other answer but 200 with `text/event-stream` is an
    error.
    """

    var last_id: String
    """The id of the last event, for a later `client.events(..., last_id)`."""
    var max_attempts: Int
    """How often in turn it may go wrong, without an event in between. Default
    10."""
    var idle_timeout_ms: Int
    """Longest silence of a connection, in milliseconds. Default 60 s."""
    var event_len_max: Int
    """Longest event, in bytes; `EVENT_LEN_MAX` by default."""
    var connect_count: Int
    """How many requests were sent."""
    var _opener: ResponseOpener
    var _request: ClientRequest
    var _response: Optional[OpenResponse]
    var _retry_ms: Int
    # What the last answer has asked for by Retry-After; -1 for nothing.
    var _after_ms: Int
    # Attempts in turn that have ended without an event.
    var _failure_count: Int
    var _last_error: Optional[ClientError]
    var _is_over: Bool
    # Where the last response has come from, for errors.
    var _url: String

    def __init__(
        out self,
        var opener: ResponseOpener,
        var request: ClientRequest,
        var last_id: String,
    ):
        """Gets ready; nothing is sent before the first `next`.

        Args:
            opener: The client.
            request: What asks for the events.
        """
        self.last_id = last_id^
        self.max_attempts = EVENT_ATTEMPT_COUNT
        self.idle_timeout_ms = EVENT_IDLE_MS
        self.event_len_max = EVENT_LEN_MAX
        self.connect_count = 0
        self._opener = opener^
        self._request = request^
        self._response = None
        self._retry_ms = EVENT_RETRY_MS
        self._after_ms = -1
        self._failure_count = 0
        self._last_error = None
        self._is_over = False
        self._url = String()

    def next(mut self) raises ClientError -> Optional[ServerSentEvent]:
        """Waits for the next event, over as many connections as it takes.

        Returns:
            The event; nothing once the server has ended the stream (204), or
            after `stop`.

        Raises:
            ClientError: If it has gone wrong `max_attempts` times in turn, or
                in a way that does not pass: no such stream, an event longer
                than `event_len_max`, a token of the request that was cancelled,
                a hook that refuses. The stream is over then.
        """
        while not self._is_over:
            if not self._response:
                self._pause()
                self._connect()
                continue
            try:
                var event = self._response.value().next_event(
                    self.event_len_max
                )
                self._note()
                if event:
                    self._failure_count = 0
                    self._last_error = None
                    return event^
            except error:
                self._note()
                self._fail(error^)
            self._part()
        return None

    def stop(mut self):
        """Ends the stream; `next` gives nothing from now on."""
        self._is_over = True
        self._response = None

    def _note(mut self):
        """Keeps what the stream has said for the time after it."""
        ref response = self._response.value()
        self.last_id = response.last_event_id()
        if response.retry_ms() >= 0:
            self._retry_ms = max(
                EVENT_ASKED_MIN_MS, min(response.retry_ms(), EVENT_ASKED_MAX_MS)
            )

    def _part(mut self):
        """Lets go of a connection that brings no more."""
        self._response = None
        self._failure_count += 1

    def _fail(mut self, var error: ClientError) raises ClientError:
        """Keeps an error for when it has come too often, or gives up."""
        if not _may_pass(error) or self._failure_count + 1 >= self.max_attempts:
            self.stop()
            raise error^
        self._last_error = error^

    def _pause(mut self) raises ClientError:
        """Waits before another connection, except the first."""
        if self._failure_count == 0 and self.connect_count == 0:
            return
        if self._failure_count >= self.max_attempts:
            self.stop()
            if self._last_error:
                raise self._last_error.value().copy()
            raise self._error(
                String(
                    "the stream has ended ",
                    self._failure_count,
                    " times in turn, with no event in between; max_attempts",
                    " allows more",
                )
            )
        # No sooner than the server wants, and a random part more.
        var longest = max(EVENT_RETRY_MAX_MS, self._retry_ms)
        var backoff = Backoff(
            self._retry_ms, min(self._retry_ms << _DOUBLING_COUNT_MAX, longest)
        )
        var base = max(backoff.longest_ms(self._failure_count), self._after_ms)
        self._after_ms = -1
        var more = Int(random_word() % UInt64(base // 2 + 1))
        try:
            pause_unless_cancelled(self._request.cancel, base + more)
        except error:
            self.stop()
            error.url = self._url
            raise error^

    def _connect(mut self) raises ClientError:
        """Asks for the events, and keeps an answer that has some."""
        self.connect_count += 1
        var request = self._request.copy()
        try:
            if "accept" not in request.headers:
                request.headers.set("Accept", TEXT_EVENT_STREAM)
            request.headers.set("Cache-Control", "no-store")
            if self._may_say_last_id():
                request.headers.set("Last-Event-ID", self.last_id)
        except error:
            self.stop()
            raise bad_request(String(error))
        var response: OpenResponse
        try:
            response = self._opener.open(
                request^,
                OpenTimes(CLIENTS_OWN, self.idle_timeout_ms, AfterHead.SILENCE),
            )
        except error:
            self._fail(error^)
            self._part()
            return
        self._url = url_without_credentials(response.url)
        if response.status == 204:
            self.stop()
        elif _is_stream(response):
            response.resume_events(self.last_id, self.event_len_max)
            self._response = response^
        else:
            self._refuse(response)

    def _may_say_last_id(self) -> Bool:
        """Tells whether there is an id that the next request can name. One that a
        server has chosen may hold control octets, all but NUL (WHATWG HTML
        section 9.2.6), which no field may (RFC 9110 section 5.5)."""
        if self.last_id.byte_length() == 0:
            return False
        if self.connect_count == 1:
            # It is the program's own, which hears what is wrong with it.
            return True
        try:
            check_field("Last-Event-ID", self.last_id)
            return True
        except:
            return False

    def _refuse(mut self, response: OpenResponse) raises ClientError:
        """Comes back later if the server is only busy."""
        var error = self._error(
            String(
                "the server answered ",
                response.status,
                " ",
                response.reason,
                " with the type '",
                response.headers.content_type(),
                "'; a stream of events is 200 with ",
                TEXT_EVENT_STREAM,
            )
        )
        if not is_busy(response.status.code):
            self.stop()
            raise error^
        # RFC 9110 section 10.2.3.
        self._after_ms = min(
            retry_after_ms(response.headers, unix_seconds()), EVENT_ASKED_MAX_MS
        )
        self._fail(error^)
        self._part()

    def _error(self, var reason: String) -> ClientError:
        var error = ClientError(Phase.READ_HEAD, UnexpectedResponse, reason^)
        error.url = self._url
        return error^


def is_busy(status: Int) -> Bool:
    """Tells whether a status says that the same request may succeed later: 429,
    500, 502, 503 and 504 do."""
    return status == 429 or status == 500 or 502 <= status <= 504


def _may_pass(error: ClientError) -> Bool:
    return (
        error.kind != Cancelled
        and error.kind != HookFailed
        and error.kind != BadUrl
        and error.kind != BadRequest
        and error.kind != ResponseTooLarge
        and error.kind != TooManyRedirects
        and error.kind != RedirectRefused
        and error.kind != TlsFailed
    )


def _is_stream(response: OpenResponse) -> Bool:
    if response.status != 200:
        return False
    var index = response.headers.find("content-type")
    if index < 0:
        return False
    return has_essence(
        response.headers.value(index).as_bytes(), TEXT_EVENT_STREAM
    )
