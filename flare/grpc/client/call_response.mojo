"""What a server says on a call: metadata, messages, and how it ended."""

from flare.bytes.ascii import printable
from flare.bytes.checked import *
from flare.bytes.digits import read_digits
from flare.grpc.core.coding import MessageCoding, parse_coding
from flare.grpc.core.connect import TRAILER_PREFIX, read_end, read_error
from flare.grpc.core.message_reader import (
    END_LEN_MAX,
    MESSAGE_LEN_MAX_DEFAULT,
    PREFIX_LEN,
    MessageReader,
    too_long,
)
from flare.grpc.core.message_writer import begin_message, set_prefix
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.protocol import CallProtocol
from flare.grpc.core.status import (
    STATUS_FIELD,
    GrpcCode,
    GrpcStatus,
    find_status,
)
from flare.grpc.core.web import read_trailers
from flare.http.message.header_map import HeaderMap

comptime PUSHBACK_FIELD = StaticString("grpc-retry-pushback-ms")
"""The field by which a server says when to come again (A6)."""

comptime NO_PUSHBACK = -1
"""The server has not said when to come again."""
comptime NEVER_AGAIN = -2
"""The server has said not to."""

comptime _OK = 200


@fieldwise_init
struct ContentForm(Equatable, TrivialRegisterPassable):
    """What the content of a response is, and how much of it has to be there."""

    var number: UInt8

    comptime MESSAGES = ContentForm(0)
    """Messages with prefixes: each is found as soon as it is there."""
    comptime MESSAGE = ContentForm(1)
    """One message, which is found when all of it is there."""
    comptime ERROR = ContentForm(2)
    """An error of Connect, likewise."""
    comptime WHOLE = ContentForm(3)
    """One message, all of which is there."""

    comptime COUNT = 4

    def note_error(mut self):
        """The head says that the call has failed, and why is in the content."""
        if self == Self.MESSAGE:
            self = Self.ERROR

    def end(mut self):
        """All of the content is there."""
        if self == Self.MESSAGE:
            self = Self.WHOLE

    def waits_for_end(self) -> Bool:
        """Tells whether nothing can be made of it before all is there."""
        return self == Self.MESSAGE or self == Self.ERROR


struct CallResponse(Movable):
    """A call as its client hears of it, without any I/O.

        take_head --> receive --> next, message --> take_end
                                                 +-> fail

    Once there is a `status`, the call is over, and nothing more is taken:
    whatever is known first stays.
    """

    var headers: Metadata
    """The metadata before the messages."""
    var trailers: Metadata
    """The metadata after them, or of a response that has nothing else."""
    var status: Optional[GrpcStatus]
    """How the call has ended; nothing while it goes on."""
    var is_committed: Bool
    """True once a head was read that is not the whole response, nor an error of
    Connect without a stream: the call cannot begin anew (A6)."""
    var pushback_ms: Int
    """When to come again, in milliseconds; or `NO_PUSHBACK`, `NEVER_AGAIN`."""
    var _protocol: CallProtocol
    var _reader: MessageReader
    # How many messages there have to be; negative for any number.
    var _wanted_count: Int
    # What a head says, of the whole response if nothing follows; or the frame
    # that ends the content, which the reader has found then.
    var _said: Optional[GrpcStatus]
    var _form: ContentForm
    # The status of HTTP, where the content is an error.
    var _error_status: Int

    def __init__(
        out self,
        *,
        has_one_message: Bool,
        length_max: Int = MESSAGE_LEN_MAX_DEFAULT,
        protocol: CallProtocol = CallProtocol.GRPC,
    ):
        """Makes one of which nothing has come.

        Args:
            has_one_message: True if a call that succeeds has exactly one
                message: unary, or a stream of the client's alone.
            length_max: Longest message that is read, in bytes.
            protocol: How the call was made.
        """
        self.headers = Metadata()
        self.trailers = Metadata()
        self.status = None
        self.is_committed = False
        self.pushback_ms = NO_PUSHBACK
        self._protocol = protocol
        self._reader = MessageReader(
            length_max=length_max, end_flag=protocol.end_flag()
        )
        self._wanted_count = 1 if has_one_message else -1
        self._said = None
        self._form = (
            ContentForm.MESSAGES if protocol.is_framed() else ContentForm.MESSAGE
        )
        self._error_status = 0

    @no_inline
    def __deinit__(deinit self):
        return

    def take_head(mut self, http_status: Int, headers: HeaderMap):
        """Takes the head of the response.

        Source: PROTOCOL-HTTP2.md of gRPC, "Responses", and
        http-grpc-status-mapping.md: the status of HTTP counts only where there
        is no `grpc-status`. "Unary-Response" and "Streaming-Response" of
        Connect.

        Args:
            http_status: The status code of HTTP.
        """
        if self.status:
            return
        if STATUS_FIELD in headers and not self._protocol.is_connect():
            # It is the whole response, unless something follows.
            self._said = find_status(headers.lines_fields())
            self.trailers.take_fields(headers.lines_fields())
            if not self._protocol.has_trailers():
                # Proxies put what is before messages there, too, of a call that
                # has none: which is which cannot be told.
                self.headers.take_fields(headers.lines_fields())
            self.pushback_ms = read_pushback(headers)
            return
        var content_type = String()
        var found = headers.get("content-type")
        if found:
            content_type = String(found.value())
        if self._protocol.is_framed():
            self.is_committed = True
        elif not self._take_plain_head(http_status, content_type):
            return
        if self._form != ContentForm.ERROR and (
            http_status != _OK
            or not is_answer(content_type.as_bytes(), self._protocol)
        ):
            self.fail(_not_answered(http_status, content_type, self._protocol))
            return
        self.headers.take_fields(headers.lines_fields())
        if not self._protocol.is_framed():
            self.trailers.take_prefixed(headers.lines_fields(), TRAILER_PREFIX)
        self._take_coding(headers)

    def _take_plain_head(
        mut self, http_status: Int, content_type: StringSpan
    ) -> Bool:
        """Takes the head before content without prefixes; False if the call is
        over."""
        # The prefix that the reader finds is written when all is there.
        _ = begin_message(self._reader.room())
        if http_status == _OK:
            self.is_committed = True
            return True
        var type = CallProtocol.of_content_type(content_type.as_bytes())
        if not type or type.held() != CallProtocol.CONNECT_JSON:
            self.fail(_not_answered(http_status, content_type, self._protocol))
            return False
        self._form.note_error()
        self._error_status = http_status
        self._reader.length_max = max(self._reader.length_max, END_LEN_MAX)
        return True

    def _take_coding(mut self, headers: HeaderMap):
        var coding = headers.get(self._protocol.encoding_field())
        if not coding:
            return
        var known = parse_coding(coding.value().as_bytes())
        if known:
            self._reader.coding = known.value()
            return
        self.fail(
            GrpcStatus(
                GrpcCode.INTERNAL,
                String(
                    "the server compresses its messages with '",
                    printable(coding.value()),
                    "', which was not offered; identity and gzip are",
                ),
            )
        )

    def receive(mut self, octets: Span[UInt8, _]):
        """Takes content of the response; ends what `message` has lent."""
        if self.status:
            return
        if self._said and len(octets) > 0 and not self._goes_on_behind_status():
            return
        self._reader.receive(octets)
        if not self._form.waits_for_end():
            return
        var length = self._reader.waiting_len() - PREFIX_LEN
        if length > self._reader.length_max:
            self.fail(too_long(length, self._reader.length_max))

    def _goes_on_behind_status(mut self) -> Bool:
        """Takes note of content after a status: where it is that of a head of
        gRPC-Web, it says nothing then; else there may be none."""
        if self._reader.has_end:
            self.fail(_content_behind_end())
            return False
        if self._protocol.has_trailers():
            self.fail(
                GrpcStatus(
                    GrpcCode.INTERNAL,
                    "the server has sent content behind a head with a status",
                )
            )
            return False
        self._said = None
        self.is_committed = True
        self.pushback_ms = NO_PUSHBACK
        self.trailers = Metadata()
        return True

    def next(mut self) -> Bool:
        """Goes to the next message. False if more has to come, or there is a
        status."""
        if self.status or self._form.waits_for_end():
            return False
        try:
            if not self._reader.next():
                if self._form == ContentForm.WHOLE or self._reader.has_end:
                    self._note_no_message()
                return False
        except error:
            self.fail(error^)
            return False
        if self._wanted_count < 0 or self._reader.message_count == 1:
            return True
        # Source: as for `_end`.
        self.fail(
            GrpcStatus(
                GrpcCode.UNIMPLEMENTED,
                "the server has sent more than the one message of this call",
            )
        )
        return False

    def _note_no_message(mut self) raises GrpcStatus:
        """Takes note of the end of the messages."""
        if self._form == ContentForm.WHOLE:
            self._end(GrpcStatus())
        elif not self._said:
            self._read_end()
            if self._reader.waiting_len() > 0:
                raise _content_behind_end()

    def _read_end(mut self) raises GrpcStatus:
        """Reads the frame that ends the content; the call ends with the content
        itself."""
        if self._protocol.is_connect():
            var end = read_end(self._reader.message())
            swap(self.trailers, end.trailers)
            self._said = end.status.copy()
            return
        var fields = read_trailers(self._reader.message())
        self._said = self._take_trailers(fields)

    def message(ref self) -> Span[UInt8, ImmOrigin(origin_of(self._reader))]:
        """Lends the message that `next` has found, decompressed; good until
        this changes."""
        return self._reader.message()

    def take_end(mut self, trailers: HeaderMap):
        """Takes the end of the response, after all messages that have come,
        with its trailers, if it has any. A message without a prefix is there
        only then: `next` finds it."""
        if self.status:
            return
        if self._said and (
            len(trailers) == 0 or not self._protocol.has_trailers()
        ):
            self._end(self._said.take())
            return
        if not self._protocol.is_framed():
            self._take_plain_end()
            return
        self.is_committed = True
        if self._protocol.has_trailers():
            self._end(self._take_trailers(trailers))
        else:
            self.fail(_no_status())

    def _take_trailers(mut self, fields: HeaderMap) -> GrpcStatus:
        """Takes the fields that end a call of gRPC; gives the status."""
        self.trailers.take_fields(fields.lines_fields())
        self.pushback_ms = read_pushback(fields)
        var status = find_status(fields.lines_fields())
        if status:
            return status.take()
        if len(fields) == 0:
            return _no_status()
        return GrpcStatus(
            GrpcCode.UNKNOWN, "the server's trailers have no grpc-status"
        )

    def _take_plain_end(mut self):
        """Takes the end of content without prefixes."""
        var is_packed = (
            self._reader.coding == MessageCoding.GZIP
            # A message of no octets is not compressed, whatever is said of it.
            and self._reader.waiting_len() > PREFIX_LEN
        )
        set_prefix(self._reader.room(), 0, UInt8(1) if is_packed else UInt8(0))
        self._form.end()
        if self._form == ContentForm.WHOLE:
            return
        var otherwise = GrpcCode.from_http_status(self._error_status)
        try:
            if self._reader.next():
                self.status = read_error(self._reader.message(), otherwise)
        except:
            # The status of HTTP says enough.
            self.status = None
        if not self.status:
            self.status = GrpcStatus(
                otherwise,
                String(
                    "HTTP status ",
                    self._error_status,
                    " with content that is no error of Connect",
                ),
            )

    def _end(mut self, var status: GrpcStatus):
        """Takes the server's status; a success has to be one."""
        if not status.is_ok():
            self.status = status^
            return
        try:
            self._reader.finish()
        except error:
            self.status = error^
            return
        if self._wanted_count > self._reader.message_count:
            # Source: statuscodes.md of gRPC, "Response cardinality violation".
            self.status = GrpcStatus(
                GrpcCode.UNIMPLEMENTED,
                "the server has ended the call as a success, without the"
                " message that it has to have",
            )
            return
        self.status = status^

    def fail(mut self, var status: GrpcStatus):
        """Ends the call from here, with a status that is not OK, unless it has
        ended."""
        if not self.status:
            self.status = status^


def is_answer(content_type: Span[UInt8, _], protocol: CallProtocol) -> Bool:
    """Tells whether content is that of a call that was made in a protocol. True
    for the protocol's own type, of which `+proto` may be left out; parameters
    are not looked at. False for messages that are written otherwise.

    Source: PROTOCOL-HTTP2.md of gRPC, "Content-Type", and its like of the
    others.
    """
    var found = CallProtocol.of_content_type(content_type)
    return (
        found
        and found.held().family() == protocol.family()
        and found.held().codec() == protocol.codec()
    )


def read_pushback(fields: HeaderMap) -> Int:
    """Reads `grpc-retry-pushback-ms` in trailers, or in the head of a response
    that has nothing else: milliseconds, `NO_PUSHBACK` without the field, or
    `NEVER_AGAIN`.

    Source: A6 of gRPC: what is no number, or negative, means never again.
    """
    var text = fields.get(PUSHBACK_FIELD)
    if not text:
        return NO_PUSHBACK
    var digits = text.value().as_bytes()
    # Nine digits are eleven days.
    var number = read_digits(digits, 9)
    return number if number >= 0 else NEVER_AGAIN


def _no_status() -> GrpcStatus:
    return GrpcStatus(
        GrpcCode.INTERNAL, "the server has ended the call without a status"
    )


def _content_behind_end() -> GrpcStatus:
    return GrpcStatus(
        GrpcCode.INTERNAL,
        "the server has sent content behind the frame that ends it",
    )


def _not_answered(
    http_status: Int, content_type: StringSpan, protocol: CallProtocol
) -> GrpcStatus:
    """Says what a response is that is none of the protocol."""
    var code = GrpcCode.from_http_status(http_status)
    var said = String("HTTP status ", http_status)
    if not protocol.is_connect():
        said.write(" without grpc-status")
    if content_type.byte_length() == 0:
        var glue = " without" if protocol.is_connect() else " and"
        said.write(glue, " content type: what answered is no ")
        said.write(protocol.name(), " server")
        return GrpcStatus(code, said^)
    if is_answer(content_type.as_bytes(), protocol):
        return GrpcStatus(code, said^)
    said = String("HTTP status ", http_status, " with content of the type '")
    said.write(printable(content_type), "': ")
    var found = CallProtocol.of_content_type(content_type.as_bytes())
    if (
        http_status == _OK
        and found
        and found.held().family() == protocol.family()
    ):
        said.write("messages were asked for as ", protocol.codec().name())
        return GrpcStatus(GrpcCode.INTERNAL, said^)
    said.write("what answered is no ", protocol.name(), " server")
    return GrpcStatus(code, said^)
