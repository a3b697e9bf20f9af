"""The kinds of JSON value."""


@fieldwise_init
struct JsonKind(Equatable, TrivialRegisterPassable, Writable):
    """Which of the values of RFC 8259 section 3 a value is.

    The RFC's number is two kinds here: what fits 64 bits stays exact.
    """

    var code: UInt8
    """A small number, distinct for each kind."""

    comptime NULL = JsonKind(0)
    """The literal `null`."""
    comptime BOOL = JsonKind(1)
    """The literals `true` and `false`."""
    comptime INT = JsonKind(2)
    """A number without fraction and exponent that fits a signed 64 bits."""
    comptime FLOAT = JsonKind(3)
    """Any other number, as the nearest 64-bit float."""
    comptime STRING = JsonKind(4)
    """A string."""
    comptime ARRAY = JsonKind(5)
    """An array."""
    comptime OBJECT = JsonKind(6)
    """An object."""

    def name(self) -> StaticString:
        """Names the kind with its article, for messages.

        Returns:
            Such as "an array".
        """
        if self == Self.NULL:
            return "null"
        if self == Self.BOOL:
            return "a boolean"
        if self == Self.INT:
            return "an integer"
        if self == Self.FLOAT:
            return "a float"
        if self == Self.STRING:
            return "a string"
        if self == Self.ARRAY:
            return "an array"
        return "an object"

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name.

        Args:
            writer: Where to.
        """
        writer.write(self.name())
