"""The method of a request."""

from flare.http.message.method_registry import method_name, method_number

comptime METHOD_LEN_MAX = 32
"""Longest method name in bytes; the longest registered one has 17."""


struct Method(Equatable, Hashable, ImplicitlyCopyable, Writable):
    """A request method of the IANA registry, or `OTHER`.

    Source: RFC 9110 section 9. Compares with text: `req.method == "GET"`.
    A request whose method is not registered has `Method.OTHER`; its name is in
    `Request.method_name`.
    """

    var number: UInt8
    """The method's number in this library; 0 for `OTHER`."""

    comptime OTHER = Method(number=0)
    """Any method that is not registered."""
    comptime GET = Method(number=1)
    """Transfers a representation of the target."""
    comptime HEAD = Method(number=2)
    """Like GET, without the content."""
    comptime POST = Method(number=3)
    """Lets the target process the content."""
    comptime PUT = Method(number=4)
    """Replaces the target."""
    comptime DELETE = Method(number=5)
    """Removes the target."""
    comptime CONNECT = Method(number=6)
    """Asks for a tunnel."""
    comptime OPTIONS = Method(number=7)
    """Asks what is allowed."""
    comptime TRACE = Method(number=8)
    """Asks for the request as received."""
    comptime PATCH = Method(number=9)
    """Changes the target in part (RFC 5789)."""

    @always_inline
    def __init__(out self, *, number: UInt8):
        """Makes a method from its number."""
        self.number = number

    @implicit
    def __init__(out self, name: StringSpan):
        """Looks up a method by name.

        Args:
            name: The name, case-sensitive; an unregistered one gives `OTHER`.
        """
        self.number = UInt8(method_number(name))

    @implicit
    def __init__(out self, name: StringLiteral):
        """Looks up a method by name."""
        self.number = UInt8(method_number(StaticString(name)))

    @always_inline
    def __eq__(self, other: Self) -> Bool:
        """Tells whether both are the same registered method, or both are not
        registered.

        Args:
            other: A method or its name.
        """
        return self.number == other.number

    def name(self) -> StaticString:
        """Gives the registered name; "OTHER" for an unregistered method."""
        return "OTHER" if self.number == 0 else method_name(Int(self.number))

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name."""
        writer.write(self.name())
