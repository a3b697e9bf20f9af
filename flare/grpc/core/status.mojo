"""How a call ended: codes, messages, details, and their fields in trailers."""

from flare.bytes.ascii import hex_digit_value
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.bytes.digits import read_digits
from flare.grpc.core.binary import decode_binary, encode_binary
from flare.grpc.core.metadata import MetadataError
from flare.grpc.core.method_path import name_offset
from flare.http.message.fields import Fields
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.protobuf.error import ProtobufError
from flare.protobuf.kind import FieldKind
from flare.protobuf.known import Any
from flare.protobuf.message import FieldRow, Message
from flare.protobuf.reader import decode
from flare.protobuf.writer import encode
from std.builtin.globals import global_constant

comptime STATUS_FIELD = StaticString("grpc-status")
"""The field with the number of the code."""
comptime MESSAGE_FIELD = StaticString("grpc-message")
"""The field with the message, percent-encoded."""
comptime DETAILS_FIELD = StaticString("grpc-status-details-bin")
"""The field with a `google.rpc.Status` in base64."""

comptime TYPE_URL_PREFIX = StaticString("type.googleapis.com/")
"""What stands before the name of a type in an `Any`."""

comptime CODE_MAX = 16
"""The highest code that has a name."""

comptime _NAMES: Array[StaticString, CODE_MAX + 1] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
]


struct GrpcCode(Equatable, TrivialRegisterPassable, Writable):
    """How a call ended (statuscodes.md of gRPC)."""

    var number: UInt8
    """The number on the wire, 0 to 16."""

    comptime OK = GrpcCode(0)
    """It succeeded."""
    comptime CANCELLED = GrpcCode(1)
    """It was cancelled, mostly by the caller."""
    comptime UNKNOWN = GrpcCode(2)
    """It failed, and no more is known."""
    comptime INVALID_ARGUMENT = GrpcCode(3)
    """The request is wrong, whatever the state of the server."""
    comptime DEADLINE_EXCEEDED = GrpcCode(4)
    """Its time was over before it ended; it may have been carried out."""
    comptime NOT_FOUND = GrpcCode(5)
    """What is asked for is not there."""
    comptime ALREADY_EXISTS = GrpcCode(6)
    """What is to be made is there."""
    comptime PERMISSION_DENIED = GrpcCode(7)
    """The caller is known and may not do this."""
    comptime RESOURCE_EXHAUSTED = GrpcCode(8)
    """Something is used up: a quota, or the most that a message may have."""
    comptime FAILED_PRECONDITION = GrpcCode(9)
    """The server is not in the state that the call needs."""
    comptime ABORTED = GrpcCode(10)
    """It met another change; begin again from a level above."""
    comptime OUT_OF_RANGE = GrpcCode(11)
    """Beyond the end of what is there."""
    comptime UNIMPLEMENTED = GrpcCode(12)
    """The server has no such method, or cannot do this."""
    comptime INTERNAL = GrpcCode(13)
    """Something is broken that should not be."""
    comptime UNAVAILABLE = GrpcCode(14)
    """The server cannot answer now; try again, with pauses."""
    comptime DATA_LOSS = GrpcCode(15)
    """Data are lost or broken for good."""
    comptime UNAUTHENTICATED = GrpcCode(16)
    """The caller is not known."""

    def __init__(out self, number: UInt8):
        """Makes a code of a number.

        Args:
            number: 0 to 16; others have no name, and are UNKNOWN.
        """
        self.number = number if number <= CODE_MAX else 2

    def name(self) -> StaticString:
        """Names the code, such as `NOT_FOUND`."""
        return global_constant[_NAMES]().at(Int(self.number))

    @staticmethod
    def from_number(number: Int) -> Self:
        """Gives the code of a number; `UNKNOWN` if there is none with it.

        Args:
            number: What `grpc-status` says.
        """
        if number < 0 or number > CODE_MAX:
            return Self.UNKNOWN
        return Self(UInt8(number))

    @staticmethod
    def from_http_status(status: Int) -> Self:
        """Gives what a response without `grpc-status` means; one of 200 is
        `UNKNOWN`, too.

        Source: http-grpc-status-mapping.md of gRPC.

        Args:
            status: The status of HTTP.
        """
        if status == 400:
            return Self.INTERNAL
        if status == 401:
            return Self.UNAUTHENTICATED
        if status == 403:
            return Self.PERMISSION_DENIED
        if status == 404:
            return Self.UNIMPLEMENTED
        if status == 429 or status == 502 or status == 503 or status == 504:
            return Self.UNAVAILABLE
        return Self.UNKNOWN

    @staticmethod
    def from_stream_error(code: Int) -> Self:
        """Gives what a stream that was reset means: INTERNAL for most, UNKNOWN
        for numbers without a name.

        Source: PROTOCOL-HTTP2.md of gRPC, "Errors".

        Args:
            code: The error code of HTTP/2 (RFC 9113 section 7).
        """
        if code == 7:
            return Self.UNAVAILABLE
        if code == 8:
            return Self.CANCELLED
        if code == 11:
            return Self.RESOURCE_EXHAUSTED
        if code == 12:
            return Self.PERMISSION_DENIED
        if code == 5 or code > 12 or code < 0:
            return Self.UNKNOWN
        return Self.INTERNAL

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name."""
        writer.write_string(self.name())


struct GrpcStatus(Copyable, Movable, Writable):
    """How a call ended, as a value and as an error.

    A method that fails raises one. An `Error` that it lets through becomes
    `UNKNOWN`, and its text a note that is not sent.
    """

    var code: GrpcCode
    """What it is."""
    var message: String
    """What it is in words, for the people at the other side."""
    var details: List[Any]
    """Messages that say more, each with the name of its type."""
    var note: String
    """What is for the own log and is never sent."""

    def __init__(
        out self,
        code: GrpcCode = GrpcCode.OK,
        var message: String = "",
        *,
        var note: String = "",
    ):
        """Makes a status without details.

        Args:
            code: `OK` unless it failed.
        """
        self.code = code
        self.message = message^
        self.details = []
        self.note = note^

    @implicit
    @no_inline
    def __init__(out self, error: Error):
        """Makes a status of an error of another kind.

        Args:
            error: The error, whose text is not sent.
        """
        self = Self(GrpcCode.UNKNOWN, note=String(error))

    @implicit
    @no_inline
    def __init__(out self, error: MetadataError):
        """Makes a status of metadata that a method cannot send."""
        self = Self(GrpcCode.INTERNAL, note=String(error))

    @implicit
    @no_inline
    def __init__(out self, error: ProtobufError):
        """Makes a status of a message that a method cannot read or write."""
        self = Self(GrpcCode.INTERNAL, note=String(error))

    @no_inline
    def __deinit__(deinit self):
        return

    def is_ok(self) -> Bool:
        """Tells whether the call succeeded."""
        return self.code == GrpcCode.OK

    def add_detail[M: Message](mut self, detail: M) raises ProtobufError:
        """Adds a message that says more.

        Parameters:
            M: Its type, such as one of `google.rpc`.

        Args:
            detail: The message.

        Raises:
            ProtobufError: If it cannot be written.
        """
        self.details.append(
            Any(
                type_url=String(TYPE_URL_PREFIX) + M.NAME,
                value=encode(detail),
            )
        )

    def detail[M: Message](self) raises ProtobufError -> Optional[M]:
        """Finds the first message of a type that says more; nothing if there is
        none.

        Parameters:
            M: Its type.

        Raises:
            ProtobufError: If it is not well-formed.
        """
        for index in range(len(self.details)):
            ref detail = self.details.at(index)
            var url = detail.type_url.as_bytes()
            var name = url.after(name_offset(url))
            if StringSpan(unsafe_from_utf8=name) == M.NAME:
                return decode[M](detail.value)
        return None

    def write_to(self, mut writer: Some[Writer]):
        """Writes code, message and note."""
        writer.write_string(self._text())

    @no_inline
    def _text(self) -> String:
        var text = String("grpc: ", self.code.name())
        if self.message.byte_length() > 0:
            text.write(": ", self.message)
        if self.note.byte_length() > 0:
            text.write(" (", self.note, ")")
        return text^


struct RpcStatus(Message):
    """What `grpc-status-details-bin` holds: `google.rpc.Status`."""

    comptime NAME = "google.rpc.Status"
    """The full name."""
    comptime FIELD_COUNT = 3
    """How many there are."""
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.INT32, "code"),
        FieldRow(2, FieldKind.STRING, "message"),
        FieldRow(3, FieldKind.MESSAGE, "details"),
    ]
    """One row for each."""

    var code: Int32
    """The number of the code."""
    var message: String
    """What it is in words."""
    var details: List[Any]
    """Messages that say more."""
    var unknown_fields: List[UInt8]
    """Fields that are not known, as they were read."""


def append_status(status: GrpcStatus, mut fields: HeaderMap) raises HeaderError:
    """Adds the fields of a status.

    Args:
        status: What to send. Details that cannot be written are left out.
        fields: The trailers, or the header section of a response that has
            nothing but a status.

    Raises:
        HeaderError: If they are too long for a field section.
    """
    # Literal text, and digits.
    fields.unsafe_append_judged(STATUS_FIELD, _number_text(status.code))
    if status.message.byte_length() > 0:
        fields.append(MESSAGE_FIELD, encode_message(status.message))
    if len(status.details) > 0:
        var details = encode_details(status)
        if details.byte_length() > 0:
            fields.append(DETAILS_FIELD, details)


@no_inline
def _number_text(code: GrpcCode) -> StaticString:
    comptime DIGITS = StaticString("012345678910111213141516")
    var digits = DIGITS.as_bytes()
    var number = Int(code.number)
    if number < 10:
        return StaticString(unsafe_from_utf8=digits.between(number, number + 1))
    var start = 10 + 2 * (number - 10)
    return StaticString(unsafe_from_utf8=digits.between(start, start + 2))


def find_status(fields: Fields) -> Optional[GrpcStatus]:
    """Reads the status in trailers, or in the head of a response that has
    nothing else. Gives the status; nothing if there is no `grpc-status`. One
    that is no number is `UNKNOWN`. Details that are not well-formed, or belong
    to another code, are left out."""
    var number = fields.get(STATUS_FIELD)
    if not number:
        return None
    var status = GrpcStatus(parse_code(number.held().as_bytes()))
    var message = fields.get(MESSAGE_FIELD)
    if message:
        status.message = decode_message(message.held().as_bytes())
    var details = fields.get(DETAILS_FIELD)
    if details:
        _take_details(status, details.held().as_bytes())
    return status^


def _take_details(mut status: GrpcStatus, text: Span[UInt8, _]):
    var octets = decode_binary(text)
    if not octets:
        return
    try:
        var read = decode[RpcStatus](octets.held())
        if read.code == Int32(status.code.number):
            swap(status.details, read.details)
    except:
        return


def parse_code(text: Span[UInt8, _]) -> GrpcCode:
    """Reads `grpc-status`. Gives the code; `UNKNOWN` if it is no number, or one
    without a name. PROTOCOL-HTTP2.md of gRPC: it is `1*DIGIT`, so that zeros may
    lead."""
    var start = 0
    while start < len(text) - 1 and text.at(start) == UInt8(ord("0")):
        start += 1
    var number = read_digits(text.after(start), 2)
    if number < 0:
        return GrpcCode.UNKNOWN
    return GrpcCode.from_number(number)


def encode_details(status: GrpcStatus) -> String:
    """Writes a status for `grpc-status-details-bin`: base64 without padding;
    empty if a detail cannot be written."""
    var rpc_status = RpcStatus()
    rpc_status.code = Int32(status.code.number)
    rpc_status.message = status.message
    rpc_status.details = status.details.copy()
    try:
        return encode_binary(encode(rpc_status))
    except:
        return String()


def encode_message(message: StringSpan) -> String:
    """Percent-encodes a message for `grpc-message`.

    Source: PROTOCOL-HTTP2.md of gRPC: what is not visible ASCII or a space, and
    `%` itself, goes as `%` with two hex digits.
    """
    comptime DIGITS = StaticString("0123456789ABCDEF")
    var digits = DIGITS.as_bytes()
    var octets = message.as_bytes()
    var text = List[UInt8](capacity=len(octets) + 8)
    for index in range(len(octets)):
        var octet = octets.at(index)
        # A field value begins and ends with what is visible (RFC 9110 section
        # 5.5): a space at either end would be lost.
        var is_end = index == 0 or index == len(octets) - 1
        if octet < 32 or octet > 126 or octet == 37 or (octet == 32 and is_end):
            text.append(37)
            text.append(digits.at(Int(octet >> 4)))
            text.append(digits.at(Int(octet & 15)))
        else:
            text.append(octet)
    return text_of(text)


def decode_message(text: Span[UInt8, _]) -> String:
    """Gives the text of `grpc-message`; what is not UTF-8 in it is replaced by
    U+FFFD.

    Args:
        text: The field's value. A `%` without two hex digits after it stands
            for itself: a receiver must not fail for it.
    """
    var octets = List[UInt8](capacity=len(text))
    var index = 0
    while index < len(text):
        var octet = text.at(index)
        index += 1
        if octet == 37 and index + 2 <= len(text):
            var high = hex_digit_value(text.at(index))
            var low = hex_digit_value(text.at(index + 1))
            if high >= 0 and low >= 0:
                octet = UInt8(high * 16 + low)
                index += 2
        octets.append(octet)
    return String(from_utf8_lossy=octets)
