"""What is wrong with a message: kinds, places, limits."""

from flare.json.error import JsonError


@fieldwise_init
struct ProtobufErrorKind(Equatable, TrivialRegisterPassable, Writable):
    """What went wrong with a message."""

    var code: UInt8
    """A small number, distinct for each kind."""

    comptime TRUNCATED = ProtobufErrorKind(0)
    """The octets end within a field."""
    comptime VARINT = ProtobufErrorKind(1)
    """A varint of more than ten octets, or a tag of more than 32 bits."""
    comptime FIELD_NUMBER = ProtobufErrorKind(2)
    """A field number that is 0."""
    comptime WIRE_TYPE = ProtobufErrorKind(3)
    """A wire type that does not exist."""
    comptime GROUP = ProtobufErrorKind(4)
    """The end of a group that was not begun, or none of one that was."""
    comptime NOT_UTF8 = ProtobufErrorKind(5)
    """A string that is not UTF-8."""
    comptime TOO_LONG = ProtobufErrorKind(6)
    """More octets than the limit, or than a length can say."""
    comptime TOO_DEEP = ProtobufErrorKind(7)
    """More messages inside each other than the limit."""
    comptime REQUIRED = ProtobufErrorKind(8)
    """A required field without a value."""
    comptime JSON = ProtobufErrorKind(9)
    """A text that is not JSON (RFC 8259)."""
    comptime JSON_VALUE = ProtobufErrorKind(10)
    """A JSON value that does not fit a field."""
    comptime JSON_NAME = ProtobufErrorKind(11)
    """A JSON object with a name that no field has, or with a field twice."""
    comptime NOT_IN_JSON = ProtobufErrorKind(12)
    """A message that has no form in JSON, such as a time after the year 9999."""
    comptime UNKNOWN_TYPE = ProtobufErrorKind(13)
    """An `Any` with a type that the registry does not have."""


struct ProtobufError(Copyable, Movable, Writable):
    """Says where in a message, and at which field, something is wrong."""

    var kind: ProtobufErrorKind
    """What went wrong."""
    var offset: Int
    """Where in what was read, in octets from 0; -1 when a message is written."""
    var field: String
    """Full name of the field, such as `tutorial.Person.name`; of the message
    alone if no field of it is meant; empty if neither is known."""
    var number: Int
    """The field's number; 0 if no field is meant."""
    var expected: String
    """What would have been right."""
    var found: String
    """What there is instead, escaped; empty if that says no more."""

    @no_inline
    def __init__(
        out self,
        kind: ProtobufErrorKind,
        offset: Int,
        expected: StaticString,
        var found: String = "",
    ):
        """Makes an error whose field is not known yet.

        Args:
            offset: The place, counted from the start of what was read.
            found: What there is instead.
        """
        self.kind = kind
        self.offset = offset
        self.field = ""
        self.number = 0
        self.expected = String(expected)
        self.found = found^

    @no_inline
    def __deinit__(deinit self):
        return

    @implicit
    @no_inline
    def __init__(out self, error: JsonError):
        """Makes an error of one in a JSON text.

        Args:
            error: The text's error, whose place and reason are taken over.
        """
        self.kind = ProtobufErrorKind.JSON
        self.offset = error.offset
        self.field = ""
        self.number = 0
        self.expected = error.expected
        self.found = error.found

    @no_inline
    def name_field(
        mut self, message: StringSpan, field: StringSpan, number: Int
    ):
        """Says which field is meant; what was said first stays.

        Args:
            message: Full name of the message.
            field: The field's name; empty for one that is not known.
            number: The field's number; 0 if the message itself is meant.
        """
        if self.field.byte_length() > 0:
            return
        self.number = number
        self.field = String(message)
        if field.byte_length() > 0:
            self.field.write(".", field)

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message."""
        writer.write_string(self._message())

    @no_inline
    def _message(self) -> String:
        var text = String("protobuf")
        if self.field.byte_length() > 0:
            text.write(" ", self.field)
        if self.number > 0:
            text.write(" (field ", self.number, ")")
        if self.offset >= 0:
            text.write(", octet ", self.offset)
        text.write(": expected ", self.expected)
        if self.found.byte_length() > 0:
            text.write(", found ", self.found)
        return text^


@fieldwise_init
struct ProtobufLimits(TrivialRegisterPassable):
    """What a message may ask of who reads it."""

    var length_max: Int
    """Most octets of a whole message, and of a text of JSON.

    A message in a list takes two octets at least, and as many bytes of memory
    as its struct has: a list of messages can be a hundred times as large in
    memory as its octets.
    """
    var depth_max: Int
    """Most messages and groups inside each other; the outermost counts."""

    comptime DEFAULT = ProtobufLimits(
        length_max=64 * 1024 * 1024, depth_max=100
    )
    """As deep as other implementations go."""
