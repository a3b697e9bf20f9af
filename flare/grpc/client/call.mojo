"""One call of any kind, in octets: what is sent, what comes, how it ends, and
when it begins anew.

    begin --> send --> finish_sending --+--> next --> status
      ^                                 |
      +-- another attempt, or address --+ until the server has begun to answer
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import list_of
from flare.bytes.text import Text
from flare.grpc.client.call_options import (
    CHANNELS_OWN,
    AnyCredentials,
    GrpcCallOptions,
)
from flare.grpc.client.call_phase import CallPhase
from flare.grpc.client.call_response import CallResponse
from flare.grpc.client.channel_core import (
    CONNECT_USER_AGENT,
    REPLAY_LEN_MAX,
    USER_AGENT,
    ChannelCore,
)
from flare.grpc.client.failure import is_unreached, status_of
from flare.grpc.client.retries import ATTEMPTS_FIELD, RetryTurn
from flare.grpc.client.service_config import NOT_SET
from flare.grpc.core.coding import ACCEPTED_CODINGS, MessageCoding
from flare.grpc.core.connect import VERSION, VERSION_FIELD
from flare.grpc.core.connect_query import write_query
from flare.grpc.core.kind import GrpcKind
from flare.grpc.core.message_reader import PREFIX_LEN
from flare.grpc.core.message_writer import append_message
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.method_path import is_method_path, name_offset
from flare.grpc.core.protocol import CallProtocol, ProtocolFamily
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.http.client.message.config import TIME_MAX_MS
from flare.http.client.connect.error import ClientError
from flare.http.client.open_request import OpenRequest
from flare.http.client.message.request import ClientRequest, RequestBody
from flare.http.message.body import Body
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.protobuf.json_settings import ProtobufJson
from flare.sys.backoff import Backoff
from flare.sys.clock import NO_TIMEOUT_MS, Deadline
from flare.sys.poll import POLL_READ, pause, wait_for
from flare.sys.random import random_word
from std.memory import ArcPointer

comptime READY_TIMEOUT_MS = 300_000
"""How long a call without a deadline waits for a server that cannot be reached,
in milliseconds."""

comptime GET_URL_LEN_MAX = 8_000
"""Longest URL of a call by GET, in bytes; a longer message is sent by POST. All
servers and caches should take as much (RFC 9110 section 4.1)."""

comptime _READY_PAUSE_MS = 50
comptime _READY_PAUSE_MS_MAX = 2_000
comptime _READ_LEN = 65_536
comptime _NS = 1_000_000


struct ChannelCall(Movable):
    """A call that is under way, whose messages are octets.

        var call = channel.call("/demo.Log/Tail", GrpcKind.SERVER_STREAM)
        _ = call.send("all".as_bytes())
        while call.next():
            print(len(call.message()))

    `ChannelStream` is the same with messages of Protocol Buffers. It belongs to one
    thread, may outlive its channel, and ends when it is dropped: a server that
    has not ended it is told (RST_STREAM). Nothing is sent before the first
    `send`, `finish_sending` or `next`.
    """

    var response: CallResponse
    """What has come."""
    var _core: ArcPointer[ChannelCore]
    var _path: String
    var _kind: GrpcKind
    var _protocol: CallProtocol
    # Whether it may be a GET.
    var _may_get: Bool
    var _options: GrpcCallOptions
    var _max_send_len: Int
    var _max_receive_len: Int
    var _deadline: Deadline
    # How long to wait for a server that cannot be reached, if at all.
    var _ready_deadline: Optional[Deadline]
    var _turn: RetryTurn
    var _request: Optional[OpenRequest]
    var _phase: CallPhase
    # What was sent, with prefixes, for the next attempt; None if it is not all
    # there.
    var _kept: Optional[Buffer]
    var _has_finished: Bool
    var _address: Int
    # How many addresses in turn could not be reached.
    var _miss_count: Int
    var _room: List[UInt8]

    def __init__(
        out self,
        core: ArcPointer[ChannelCore],
        var path: String,
        kind: GrpcKind,
        var options: GrpcCallOptions,
        *,
        is_safe: Bool,
    ):
        """Makes a call of which nothing is sent; its time begins now. The rest
        is as for `GrpcChannel.call`.

        Args:
            core: The channel.
        """
        ref config = core[].config
        self._protocol = config.protocol.for_kind(kind)
        self._may_get = (
            is_safe and config.uses_get and not self._protocol.is_framed()
        )
        var timeout_ms = options.timeout_ms
        self._max_send_len = options.max_send_len
        self._max_receive_len = options.max_receive_len
        if self._max_send_len == CHANNELS_OWN:
            self._max_send_len = config.max_send_len
        if self._max_receive_len == CHANNELS_OWN:
            self._max_receive_len = config.max_receive_len
        var own_ms = NO_TIMEOUT_MS
        if kind == GrpcKind.UNARY:
            own_ms = config.timeout_ms
        var waits_for_ready = False
        self._turn = RetryTurn(None)
        var found = config.service.find(path)
        if found >= 0:
            ref method = config.service.methods.at(found)
            if method.timeout_ms != NOT_SET:
                own_ms = method.timeout_ms
                # The shorter of both counts (service_config.md).
                if timeout_ms >= 0:
                    timeout_ms = min(timeout_ms, own_ms)
            if method.max_send_len != NOT_SET:
                self._max_send_len = min(
                    self._max_send_len, method.max_send_len
                )
            if method.max_receive_len != NOT_SET:
                self._max_receive_len = min(
                    self._max_receive_len, method.max_receive_len
                )
            waits_for_ready = method.wait_for_ready.or_else(False)
            self._turn = RetryTurn(method.retries.copy())
        if timeout_ms < NO_TIMEOUT_MS:
            timeout_ms = own_ms
        self._deadline = Deadline(timeout_ms)
        self._ready_deadline = None
        if options.wait_for_ready.or_else(waits_for_ready):
            self._ready_deadline = self._deadline
            if timeout_ms < 0:
                self._ready_deadline = Deadline(READY_TIMEOUT_MS)
        self.response = CallResponse(
            has_one_message=not kind.gives_stream(),
            length_max=self._max_receive_len,
            protocol=self._protocol,
        )
        if not is_method_path(path.as_bytes()):
            self.response.fail(_no_path(path))
        self._path = path^
        self._kind = kind
        self._options = options^
        self._request = None
        self._phase = CallPhase.IDLE
        self._kept = Buffer(0)
        self._has_finished = False
        self._address = core[].first_address()
        self._miss_count = 0
        self._room = []
        self._core = core

    def __deinit__(deinit self):
        """Ends the call, if it has not ended."""
        if self._request:
            self._core[].client.take_back(self._request.take())

    # What is sent.

    def send(mut self, message: Span[UInt8, _]) -> Bool:
        """Sends a message, and waits until the connection has taken it.

        A call of a kind with one message ends what it sends with that.

        Args:
            message: The message.

        Returns:
            True if it is on its way. False if the call is over: `next` raises
            why, or tells of messages that have come before. So it is, too, if
            the message is longer than allowed, or sending was finished.
        """
        if self.response.status:
            return False
        if self._has_finished:
            self._fail(
                GrpcCode.INTERNAL,
                "a message was sent behind the end of what is sent",
            )
            return False
        var out = Buffer(0)
        try:
            append_message(
                message,
                out,
                self._options.coding,
                self._max_send_len,
                # Content as a whole is compressed, or it is not.
                always=not self._protocol.is_framed(),
            )
        except error:
            self.fail(error^)
            return False
        if not self._kind.takes_stream():
            self._has_finished = True
            self._kept = out^
            return self._begin()
        return self._send(out.span())

    def finish_sending(mut self):
        """Says that no more messages come; the answer goes on."""
        if self._has_finished or self.response.status:
            return
        if not self._kind.takes_stream():
            self._fail(
                GrpcCode.INTERNAL,
                "nothing was sent on a call that has one message",
            )
            return
        self._has_finished = True
        _ = self._send(Span(List[UInt8]()))

    def _send(mut self, octets: Span[UInt8, _]) -> Bool:
        """Sends what is written, and its end if it has one."""
        # For another attempt; before anything was written in any case, since an
        # address may not be reached.
        if self._kept and not self.response.is_committed:
            self._kept.held().append(octets)
        if not self._request:
            # It sends what is kept.
            return self._begin()
        try:
            if self._request.value().write(octets, ends=self._has_finished):
                self._note_written()
                return True
        except error:
            return self._recover(error)
        return self._is_going_on()

    def _note_written(mut self):
        """Drops what no other attempt needs any more."""
        var keeps = Bool(self._turn.policy) and (
            len(_octets_of(self._kept)) <= REPLAY_LEN_MAX
        )
        if self.response.is_committed or not keeps:
            self._kept = None

    def _is_going_on(mut self) -> Bool:
        """Looks what has become of a call of which the server wants no more."""
        if self.response.is_committed:
            return False
        self._take_head()
        if not self.response.status and not self.response.is_committed:
            # A head with a status: the rest is its end.
            self._read()
        # Another attempt has sent all there is.
        return not self.response.status and self._phase == CallPhase.SENT

    # Attempts.

    def _begin(mut self) -> Bool:
        """Begins an attempt with what is kept; False if the call is over."""
        while self._start():
            try:
                if self._replay():
                    return True
                return self._is_going_on()
            except error:
                var status = status_of(error, is_late=self._is_late())
                if not self._plan(status, self._has_missed(error)):
                    self.response.fail(status^)
                    return False
        return False

    def _replay(mut self) raises ClientError -> Bool:
        """Sends what is kept; False if the server wants no more."""
        if not self._kind.takes_stream():
            self._request.value().send()
            return True
        if len(_octets_of(self._kept)) == 0 and not self._has_finished:
            return True
        var wants_more = self._request.value().write(
            _octets_of(self._kept), ends=self._has_finished
        )
        if wants_more:
            self._note_written()
        return wants_more

    def _start(mut self) -> Bool:
        """Makes the request of an attempt; False if the call is over."""
        if self._is_cancelled():
            self._fail(GrpcCode.CANCELLED, "the call was cancelled")
            return False
        if self._is_late():
            self._fail(
                GrpcCode.DEADLINE_EXCEEDED,
                "the time of the call is over before it was sent",
            )
            return False
        try:
            var credentials = self._credentials()
            self._open(credentials)
            return True
        except error:
            self.fail(error^)
            return False

    def _credentials(self) raises GrpcStatus -> List[Metadata]:
        """Asks who calls."""
        var found = List[Metadata]()
        ref core = self._core[]
        self._ask(core.config.credentials, found)
        self._ask(self._options.credentials, found)
        return found^

    def _ask(
        self, credentials: Optional[AnyCredentials], mut found: List[Metadata]
    ) raises GrpcStatus:
        if not credentials:
            return
        ref address = self._core[].addresses.at(self._address)
        if not address.startswith("https:"):
            raise GrpcStatus(
                GrpcCode.UNAUTHENTICATED,
                String(
                    "credentials are sent over TLS alone; ",
                    address,
                    " has none",
                ),
            )
        var octets = self._path.as_bytes()
        var service = StringSpan(
            unsafe_from_utf8=octets.before(max(name_offset(octets) - 1, 0))
        )
        found.append(
            credentials.value().metadata(String(address, service), self._path)
        )

    def _open(mut self, credentials: List[Metadata]) raises GrpcStatus:
        ref core = self._core[]
        var request = self._request_of_call()
        request.cancel = self._options.cancel
        var left_ms = self._deadline.left_ms()
        request.total_timeout_ms = NO_TIMEOUT_MS
        if left_ms >= 0 and left_ms <= TIME_MAX_MS:
            request.total_timeout_ms = left_ms
        try:
            self._write_fields(request, credentials, left_ms)
        except error:
            raise GrpcStatus(GrpcCode.INTERNAL, String(error))
        try:
            self._request = core.client.open_request(request^, raw=True)
            self._phase.begin()
        except error:
            raise status_of(error, is_late=False)

    def _request_of_call(self) -> ClientRequest:
        """Makes the request with the message, if there is one alone."""
        var url = String(self._core[].addresses.at(self._address), self._path)
        if self._kind.takes_stream():
            return ClientRequest("POST", url^)
        if self._protocol.is_framed():
            return ClientRequest("POST", url^, _body(_octets_of(self._kept)))
        if self._may_get:
            var query = write_query(
                self._plain_message(), self._protocol.codec(), self._coding()
            )
            if url.byte_length() + query.byte_length() < GET_URL_LEN_MAX:
                # Content that is given, and none: nothing is written later.
                return ClientRequest(
                    "GET", String(url, "?", query), RequestBody(Body(), "")
                )
        return ClientRequest("POST", url^, _body(self._plain_message()))

    def _plain_message(
        ref self,
    ) -> Span[UInt8, ImmOrigin(origin_of(self._kept))]:
        """Lends the one message without its prefix."""
        var kept = _octets_of(self._kept)
        # None was sent if the call was read at once.
        return kept.after(min(PREFIX_LEN, len(kept)))

    def _coding(self) -> MessageCoding:
        """Tells how messages are compressed; the one without a prefix may not
        be."""
        var kept = _octets_of(self._kept)
        var is_plain = not self._protocol.is_framed() and (
            len(kept) == 0 or kept.at(0) == 0
        )
        return MessageCoding.IDENTITY if is_plain else self._options.coding

    def _write_fields(
        self,
        mut request: ClientRequest,
        credentials: List[Metadata],
        left_ms: Int,
    ) raises HeaderError:
        ref headers = request.headers
        ref protocol = self._protocol
        if left_ms >= 0:
            headers.append(
                protocol.timeout_field(),
                protocol.format_timeout(left_ms * _NS),
            )
        if protocol.has_trailers():
            headers.append("te", "trailers")
        if request.method == "POST":
            self._write_content_fields(headers)
        var user_agent = String(USER_AGENT)
        if protocol.is_connect():
            user_agent = String(CONNECT_USER_AGENT)
        ref prefix = self._core[].config.user_agent
        if prefix.byte_length() > 0:
            user_agent = String(prefix, " ", user_agent)
        # PROTOCOL-WEB.md leaves the other one to browsers.
        var is_web = protocol.family() == ProtocolFamily.WEB
        headers.append("x-user-agent" if is_web else "user-agent", user_agent)
        headers.append(protocol.accept_field(), ACCEPTED_CODINGS)
        if self._turn.attempt_count > 1 and not protocol.is_connect():
            headers.append(ATTEMPTS_FIELD, String(self._turn.attempt_count - 1))
        self._options.metadata.append_to(headers)
        for index in range(len(credentials)):
            credentials.at(index).append_to(headers)

    def _write_content_fields(self, mut headers: HeaderMap) raises HeaderError:
        """Writes what a query says of a call by GET."""
        headers.append("content-type", self._protocol.content_type())
        if self._protocol.is_connect():
            headers.append(VERSION_FIELD, VERSION)
        var coding = self._coding()
        if coding != MessageCoding.IDENTITY:
            headers.append(self._protocol.encoding_field(), coding.name())

    def _recover(mut self, error: ClientError) -> Bool:
        """Begins anew after a failure, if that may be; False if the call is
        over."""
        var status = status_of(error, is_late=self._is_late())
        if self._plan(status, self._has_missed(error)):
            return self._begin()
        self.response.fail(status^)
        self._drop_request()
        return False

    def _has_missed(self, error: ClientError) -> Bool:
        """Tells whether the address was not reached, and takes note of it for the
        calls that follow."""
        var unreached = is_unreached(error)
        if unreached:
            self._core[].note_missed(self._address)
        return unreached

    def _plan(mut self, status: GrpcStatus, unreached: Bool) -> Bool:
        """Decides whether the call begins anew, and waits until then."""
        if self.response.is_committed or not self._kept:
            return False
        if status.code == GrpcCode.CANCELLED and self._is_cancelled():
            return False
        if status.code == GrpcCode.DEADLINE_EXCEEDED and self._is_late():
            return False
        if unreached and self._finds_another():
            self._reset()
            return True
        var pause_ms = self._turn.plan(
            status.code,
            self.response.pushback_ms,
            random_word(),
            self._core[].throttle,
        )
        if not pause_ms:
            return False
        var left_ms = self._deadline.left_ms()
        if left_ms >= 0 and pause_ms.held() >= left_ms:
            return False
        if not unreached:
            self._miss_count = 0
            self._address = self._core[].address_again(self._address)
        self._pause(pause_ms.held())
        self._reset()
        return True

    def _finds_another(mut self) -> Bool:
        """Goes to the next address; after the last one to the first again, after
        a pause, if the call waits."""
        var count = len(self._core[].addresses)
        self._miss_count += 1
        self._address = (self._address + 1) % count
        if self._miss_count % count != 0:
            return True
        if not self._ready_deadline:
            return False
        var backoff = Backoff(_READY_PAUSE_MS, _READY_PAUSE_MS_MAX)
        var pause_ms = backoff.wait_ms(self._miss_count // count, random_word())
        var left_ms = self._ready_deadline.held().left_ms()
        if left_ms == 0:
            return False
        self._pause(min(pause_ms, left_ms))
        return True

    def _reset(mut self):
        """Forgets the last attempt."""
        self._drop_request()
        self.response = CallResponse(
            has_one_message=not self._kind.gives_stream(),
            length_max=self._max_receive_len,
            protocol=self._protocol,
        )

    def _pause(self, pause_ms: Int):
        """Waits, or until the call is cancelled."""
        if self._options.cancel:
            ref token = self._options.cancel.value()
            _ = wait_for(token.fd(), POLL_READ, Deadline(pause_ms))
        else:
            pause(pause_ms)

    def _is_late(self) -> Bool:
        return self._deadline.left_ms() == 0

    def _is_cancelled(self) -> Bool:
        return (
            Bool(self._options.cancel)
            and self._options.cancel.value().is_cancelled()
        )

    # What comes.

    def wait_for_headers(mut self):
        """Waits until the metadata before the messages is there, or the call is
        over: `response.headers`. What was sent is sent meanwhile."""
        while not self.response.status and not self.response.is_committed:
            self._advance()

    def next(mut self) raises GrpcStatus -> Bool:
        """Waits for the next message.

        Returns:
            True if it is there: `message` lends it. False if the call has ended
            with OK, after all messages.

        Raises:
            GrpcStatus: How the call has ended, if not so; the same again if it
                is asked once more.
        """
        while True:
            if self.response.next():
                return True
            if self.response.status:
                break
            self._advance()
        self._note_end()
        ref status = self.response.status.value()
        if status.is_ok():
            return False
        raise status.copy()

    def protocol(self) -> CallProtocol:
        """Tells how the call goes over HTTP: the form of the channel's protocol
        that calls of this kind have; its `codec` says how messages are written.
        """
        return self._protocol

    def json(
        ref self,
    ) -> ref[self._core[].json] Optional[ArcPointer[ProtobufJson]]:
        """Lends what the channel has chosen about messages in JSON."""
        return self._core[].json

    def message(ref self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends the message that `next` has found; good until the call is used
        again."""
        # SAFETY: the response is this call's own, which is the origin.
        return rebind[Span[UInt8, ImmOrigin(origin_of(self))]](
            self.response.message()
        )

    def status(mut self) -> GrpcStatus:
        """Waits until the call is over; messages that still come are dropped.

        Returns:
            How it has ended.
        """
        while not self.response.status:
            if not self.response.next() and not self.response.status:
                self._advance()
        self._note_end()
        return self.response.status.value().copy()

    def cancel(mut self):
        """Ends the call with CANCELLED, if it has not ended."""
        self._fail(GrpcCode.CANCELLED, "the caller has cancelled the call")

    def fail(mut self, var status: GrpcStatus):
        """Ends the call, if it has not ended, and tells the server to.

        Args:
            status: Why; not OK.
        """
        self.response.fail(status^)
        self._drop_request()

    def _fail(mut self, code: GrpcCode, message: StaticString):
        self.fail(GrpcStatus(code, String(message)))

    def _advance(mut self):
        """Waits for the next of what the server says."""
        if not self._request and not self._begin():
            return
        if self._phase == CallPhase.SENT:
            self._take_head()
        else:
            self._read()

    def _take_head(mut self):
        if self._phase != CallPhase.SENT:
            return
        try:
            self._request.value().wait_for_head()
        except error:
            _ = self._recover(error)
            return
        self._phase.take_head()
        self._core[].note_reached(self._address)
        ref request = self._request.value()
        if request.version.major < 2 and self._protocol.has_trailers():
            self._fail(
                GrpcCode.UNAVAILABLE,
                "the server does not speak HTTP/2, which gRPC needs",
            )
            return
        self.response.take_head(request.status.code, request.headers)
        if self.response.status:
            # What follows is of no use.
            self._drop_request()

    def _read(mut self):
        if len(self._room) == 0:
            self._room = List[UInt8](length=_READ_LEN, fill=0)
        var count: Int
        try:
            count = self._request.value().read(self._room)
        except error:
            _ = self._recover(error)
            return
        if count > 0:
            self.response.receive(Span(self._room).before(count))
            if self.response.status:
                self._drop_request()
            return
        self.response.take_end(self._request.value().trailers)
        self._drop_request()
        if not self.response.status or self.response.is_committed:
            return
        var status = self.response.status.value().copy()
        if not status.is_ok() and self._plan(status, False):
            _ = self._begin()

    def _note_end(mut self):
        """Tells what bounds repetitions of a success, once, and lets go of the
        request."""
        if self._phase == CallPhase.OVER:
            return
        self._drop_request()
        self._phase.end()
        if self.response.status.value().is_ok():
            self._core[].throttle.note_success()

    def _drop_request(mut self):
        self._phase.end_attempt()
        if self._request:
            self._core[].client.take_back(self._request.take())


@no_inline
def _no_path(path: String) -> GrpcStatus:
    return GrpcStatus(
        GrpcCode.INTERNAL,
        Text()
        .add("'")
        .add_escaped(path.as_bytes())
        .add("' is no path of a method; it is '/package.Service/Method'")
        .end(),
    )


def _octets_of(
    ref kept: Optional[Buffer],
) -> Span[UInt8, ImmOrigin(origin_of(kept))]:
    """Lends what is kept for another attempt."""
    if not kept:
        return Span[UInt8, ImmOrigin(origin_of(kept))]()
    # SAFETY: the buffer is the argument's own, which is the origin.
    return rebind[Span[UInt8, ImmOrigin(origin_of(kept))]](kept.held().span())


def _body(octets: Span[UInt8, _]) -> RequestBody:
    return RequestBody(list_of(octets))
