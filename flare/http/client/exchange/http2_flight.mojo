"""One request on one stream of HTTP/2, as its connection sees it."""

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.http.client.connect.error import (
    ClientError,
    NoResponse,
    Phase,
    StreamReset,
    TruncatedResponse,
)
from flare.http.exchange.retry_rules import AttemptEnd
from flare.http.h1.framing import CONTINUE
from flare.http.h2.error import ErrorCode
from flare.http.message.header_map import HeaderMap
from flare.bytes.checked import *
from flare.http.message.fields import FieldLine, Fields


def end_of_reset(code: ErrorCode) -> AttemptEnd:
    """Tells what the code of RST_STREAM says of a request (RFC 9113 section 7)."""
    if code == ErrorCode.REFUSED_STREAM:
        return AttemptEnd.UNTOUCHED
    if code == ErrorCode.HTTP_1_1_REQUIRED:
        return AttemptEnd.NEEDS_HTTP_1_1
    return AttemptEnd.SPOILED


@fieldwise_init
struct StreamAnswer(Equatable, TrivialRegisterPassable):

    var number: UInt8

    comptime NONE = StreamAnswer(0)
    """Nothing: it is not known if the server has begun with the request."""
    comptime INTERIM = StreamAnswer(1)
    """Interim responses, of which none asks for the content."""
    comptime CONTINUE = StreamAnswer(2)
    """The same, and 100 (Continue): the content of the request is wanted."""
    comptime HEAD = StreamAnswer(3)
    comptime WHOLE = StreamAnswer(4)
    """All of it."""

    comptime COUNT = 5

    def note_interim(mut self, status: Int):
        """An interim response has come; after the final head there is none."""
        if self.number >= Self.HEAD.number:
            return
        if status == CONTINUE:
            self = Self.CONTINUE
        elif self == Self.NONE:
            self = Self.INTERIM

    def note_head(mut self):
        if self.number < Self.HEAD.number:
            self = Self.HEAD

    def end(mut self):
        """The stream has ended after all of it."""
        self = Self.WHOLE


@fieldwise_init
struct StreamUse(Equatable, TrivialRegisterPassable):

    var number: UInt8

    comptime KEPT = StreamUse(0)
    """It is taken as it comes."""
    comptime LENT = StreamUse(1)
    """The caller reads the content when it likes: it does not hold back the
    connection's other responses."""
    comptime PASSED_ON = StreamUse(2)
    """The same for who passes it on: its header fields are `kept`, as those of
    interim ones are."""

    def is_lent(self) -> Bool:
        """Tells whether content may stay here for as long as somebody likes."""
        return self != Self.KEPT


struct Http2Flight(Movable):
    """What has come on a stream and is not taken yet."""

    var stream_id: Int
    var owner: Int
    """Whom to wake when there is news; negative for nobody."""
    var status: Int
    """The final response's status; 0 until it has come."""
    var headers: HeaderMap
    var use: StreamUse
    var kept: KeptFields
    """The header fields of a response that is passed on, in place of
    `headers`."""
    var interim: List[InterimResponse]
    """Interim responses that nobody has taken yet."""
    var trailers: HeaderMap
    var content: Buffer
    """Content; what stays here keeps the stream's window shut."""
    var content_length: Int
    """How much was announced, in bytes; -1 if that is not known."""
    var interim_count: Int
    var answer: StreamAnswer
    var is_bare: Bool
    """True if the stream has ended with the final head itself."""
    var has_sent_end: Bool
    """True once all of the request is sent, or not wanted any more."""
    var has_news: Bool
    """True if something has happened since this was last set to False."""
    var progress_ms: Int
    """When something of it went either way."""
    var fate: AttemptEnd
    """What is known of the request if it has failed; LOST for nothing."""
    var failure: Optional[ClientError]

    def __init__(out self, stream_id: Int, owner: Int, now_ms: Int):
        """Makes the state of a stream that begins, and that wakes the owner
        when there is news."""
        self.stream_id = stream_id
        self.owner = owner
        self.status = 0
        self.headers = HeaderMap()
        self.use = StreamUse.KEPT
        self.kept = KeptFields()
        self.interim = []
        self.trailers = HeaderMap()
        self.content = Buffer(0)
        self.content_length = -1
        self.interim_count = 0
        self.answer = StreamAnswer.NONE
        self.is_bare = False
        self.has_sent_end = False
        self.has_news = False
        self.progress_ms = now_ms
        self.fate = AttemptEnd.LOST
        self.failure = None

    def note_interim(mut self, status: Int, var fields: KeptFields):
        self.interim_count += 1
        self.answer.note_interim(status)
        if self.use == StreamUse.PASSED_ON:
            self.interim.append(InterimResponse(status, fields^))

    def has_answer(self) -> Bool:
        """Tells whether anything of an answer has come: the server has begun
        with the request for sure."""
        return self.answer != StreamAnswer.NONE

    def has_ended(self) -> Bool:
        return self.answer == StreamAnswer.WHOLE

    def needs_http1(self) -> Bool:
        """Tells whether the server wants the request over HTTP/1.1."""
        return self.fate == AttemptEnd.NEEDS_HTTP_1_1

    def announced_len(self) -> Optional[Int]:
        """Tells how many bytes the content has by Content-Length; nothing if
        that is not known."""
        if self.content_length < 0:
            return None
        return self.content_length

    def fail(mut self, var error: ClientError, fate: AttemptEnd):
        """Ends it without a response, unless that is complete. The error's
        phase is set here; the fate is what is known of the request."""
        if self.has_ended() or self.failure:
            return
        # What has begun to answer has not left the request untouched.
        self.fate = AttemptEnd.BEGUN if self.has_answer() else fate
        error.phase = Phase.READ_HEAD
        if self.status > 0:
            error.phase = Phase.READ_BODY
            if error.kind == NoResponse:
                error.kind = TruncatedResponse
                error.detail = error.kind
        self.failure = error^


def reset_error(code: ErrorCode) -> ClientError:
    """Makes the error for a stream that the server has reset."""
    var error = ClientError(
        Phase.READ_HEAD,
        StreamReset,
        String("the server has ended the request: ", code),
    )
    error.http2_code = Int(code.number)
    return error^


@fieldwise_init
struct InterimResponse(Movable):
    """A response that others follow, for who passes it on (RFC 9110 section
    15.2)."""

    var status: Int
    """100 to 199."""
    var kept: KeptFields


struct KeptFields(Defaultable, Movable):
    """A copy of a field section, for who passes it on."""

    var _octets: List[UInt8]
    var _lines: List[FieldLine]

    def __init__(out self, fields: Fields):
        """Copies a section, whose names and values have at most 65,535 octets
        together, as those of a parser or decoder have."""
        var count = len(fields)
        var length = 0
        for index in range(count):
            length += fields.name(index).byte_length()
            length += len(fields.value_bytes(index))
        self._octets = List[UInt8](capacity=length)
        self._lines = List[FieldLine](capacity=count)
        for index in range(count):
            var name = fields.name(index).as_bytes()
            var value = fields.value_bytes(index)
            var start = len(self._octets)
            self._octets.extend(name)
            self._octets.extend(value)
            self._lines.append(
                FieldLine(start, len(name), start + len(name), len(value))
            )

    def fields(self) -> Fields[ImmOrigin(origin_of(self))]:
        """Lends the section, until this goes."""
        # SAFETY: octets and lines belong to this, which is the origin.
        comptime o = ImmOrigin(origin_of(self))
        return Fields[o](
            unsafe_lend[o](self._octets.unsafe_ptr(), len(self._octets)),
            unsafe_lend[o](self._lines.unsafe_ptr(), len(self._lines)),
            False,
        )
