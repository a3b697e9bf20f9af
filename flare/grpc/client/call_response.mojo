"""What a server says on a call: metadata, messages, and how it ended."""

from flare.bytes.checked import *
from flare.grpc.core.coding import ENCODING_FIELD, parse_coding
from flare.grpc.core.message_reader import (
    MESSAGE_LEN_MAX_DEFAULT,
    MessageReader,
)
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.protocol import (
    CallProtocol,
    MessageCodec,
    ProtocolFamily,
)
from flare.grpc.core.status import (
    STATUS_FIELD,
    GrpcCode,
    GrpcStatus,
    find_status,
)
from flare.http.message.header_map import HeaderMap

comptime CONTENT_TYPE = StaticString("application/grpc")
"""The media type of calls; of responses it may have `+proto` behind it."""

comptime PUSHBACK_FIELD = StaticString("grpc-retry-pushback-ms")
"""The field by which a server says when to come again (A6)."""

comptime NO_PUSHBACK = -1
"""The server has not said when to come again."""
comptime NEVER_AGAIN = -2
"""The server has said not to."""

comptime _OK = 200


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
    """The metadata behind them, or of a response that has nothing else."""
    var status: Optional[GrpcStatus]
    """How the call has ended; nothing while it goes on."""
    var is_committed: Bool
    """True once a head was read that is not the whole response: the call cannot
    begin anew (A6)."""
    var pushback_ms: Int
    """When to come again, in milliseconds; or `NO_PUSHBACK`, `NEVER_AGAIN`."""
    var _reader: MessageReader
    # How many messages there have to be; negative for any number.
    var _wanted_count: Int
    # The status of a head that has one: of the whole response, if nothing follows.
    var _early: Optional[GrpcStatus]
    # True while the message that was found last is lent, or was not asked for.
    var _has_message: Bool

    def __init__(
        out self,
        *,
        has_one_message: Bool,
        length_max: Int = MESSAGE_LEN_MAX_DEFAULT,
    ):
        """Makes one of which nothing has come.

        Args:
            has_one_message: True if a call that succeeds has exactly one
                message: unary, or a stream of the client's alone.
            length_max: Longest message that is read, in bytes.
        """
        self.headers = Metadata()
        self.trailers = Metadata()
        self.status = None
        self.is_committed = False
        self.pushback_ms = NO_PUSHBACK
        self._reader = MessageReader(length_max=length_max)
        self._wanted_count = 1 if has_one_message else -1
        self._early = None
        self._has_message = False

    @no_inline
    def __deinit__(deinit self):
        """Drops all of it, out of line."""
        return

    def take_head(mut self, http_status: Int, headers: HeaderMap):
        """Takes the head of the response.

        Source: PROTOCOL-HTTP2.md of gRPC, "Responses", and
        http-grpc-status-mapping.md: the status of HTTP counts only where there
        is no `grpc-status`.

        Args:
            http_status: The status code of HTTP.
        """
        if self.status:
            return
        if STATUS_FIELD in headers:
            # It is the whole response, unless something follows.
            self._early = find_status(headers.lines_fields())
            self.trailers.take_fields(headers.lines_fields())
            self.pushback_ms = read_pushback(headers)
            return
        self.is_committed = True
        var content_type = String()
        var found = headers.get("content-type")
        if found:
            content_type = String(found.value())
        if http_status != _OK or not is_grpc_content(content_type.as_bytes()):
            self.fail(_not_grpc(http_status, content_type))
            return
        self.headers.take_fields(headers.lines_fields())
        var coding = headers.get(ENCODING_FIELD)
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
                    _shown(coding.value()),
                    "', which was not offered; identity and gzip are",
                ),
            )
        )

    def receive(mut self, octets: Span[UInt8, _]):
        """Takes content of the response; ends what `message` has lent."""
        if self.status:
            return
        if self._early:
            self.fail(
                GrpcStatus(
                    GrpcCode.INTERNAL,
                    "the server has sent content behind a head with a status",
                )
            )
            return
        self._reader.receive(octets)

    def next(mut self) -> Bool:
        """Goes to the next message.

        Returns:
            True if it is there. False if more has to come, or there is a
            status.
        """
        if self.status:
            return False
        try:
            if not self._reader.next():
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

    def message(ref self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends the message that `next` has found.

        Returns:
            The message, decompressed; good until this changes.
        """
        # SAFETY: the reader is this response's own, which is the origin.
        return rebind[Span[UInt8, ImmOrigin(origin_of(self))]](
            self._reader.message()
        )

    def take_end(mut self, trailers: HeaderMap):
        """Takes the end of the response, behind all messages that have come.

        Args:
            trailers: The trailers; empty if there were none.
        """
        if self.status:
            return
        if self._early and len(trailers) == 0:
            self._end(self._early.take())
            return
        self.is_committed = True
        self.trailers.take_fields(trailers.lines_fields())
        self.pushback_ms = read_pushback(trailers)
        var status = find_status(trailers.lines_fields())
        if status:
            self._end(status.take())
        elif len(trailers) > 0:
            self.fail(
                GrpcStatus(
                    GrpcCode.UNKNOWN,
                    "the server's trailers have no grpc-status",
                )
            )
        else:
            self.fail(
                GrpcStatus(
                    GrpcCode.INTERNAL,
                    "the server has ended the call without a status",
                )
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


def is_grpc_content(content_type: Span[UInt8, _]) -> Bool:
    """Tells whether content is that of a call that was asked for here.

    Source: PROTOCOL-HTTP2.md of gRPC, "Content-Type".

    Returns:
        True for `application/grpc` and `application/grpc+proto`; parameters
        are not looked at. False for messages that are written otherwise.
    """
    var protocol = CallProtocol.of_content_type(content_type)
    return (
        protocol
        and protocol.held().family() == ProtocolFamily.GRPC
        and protocol.held().codec() == MessageCodec.PROTO
    )


def read_pushback(fields: HeaderMap) -> Int:
    """Reads `grpc-retry-pushback-ms`.

    Source: A6 of gRPC: what is no number, or negative, means never again.

    Args:
        fields: Trailers, or the head of a response that has nothing else.

    Returns:
        Milliseconds, `NO_PUSHBACK` without the field, or `NEVER_AGAIN`.
    """
    var text = fields.get(PUSHBACK_FIELD)
    if not text:
        return NO_PUSHBACK
    var digits = text.value().as_bytes()
    # Nine digits are eleven days.
    if len(digits) == 0 or len(digits) > 9:
        return NEVER_AGAIN
    var number = 0
    for digit in digits:
        if digit < 48 or digit > 57:
            return NEVER_AGAIN
        number = number * 10 + Int(digit) - 48
    return number


def _not_grpc(http_status: Int, content_type: StringSpan) -> GrpcStatus:
    var code = GrpcCode.from_http_status(http_status)
    if content_type.byte_length() == 0:
        return GrpcStatus(
            code,
            String(
                "HTTP status ",
                http_status,
                " without grpc-status and content type: what answered is"
                " no gRPC server",
            ),
        )
    if is_grpc_content(content_type.as_bytes()):
        return GrpcStatus(
            code, String("HTTP status ", http_status, " without grpc-status")
        )
    return GrpcStatus(
        code,
        String(
            "HTTP status ",
            http_status,
            " with content of the type '",
            _shown(content_type),
            "': what answered is no gRPC server",
        ),
    )


def _shown(text: StringSpan) -> String:
    """Shortens what a server has sent, for messages."""
    comptime SHOWN_LEN = 64
    var octets = text.as_bytes()
    var shown = List[UInt8]()
    for index in range(min(len(octets), SHOWN_LEN)):
        var octet = octets.at(index)
        shown.append(octet if octet >= 32 and octet < 127 else UInt8(63))
    return String(unsafe_from_utf8=shown)
