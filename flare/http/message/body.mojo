"""The content of a response."""

from flare.bytes.lend import lend


struct Body(Copyable, Defaultable, Movable, Sized, Writable):
    """Content held in memory: text or octets.

    Text is kept as a `String`: a literal costs no copy, text of up to 23 bytes
    no allocation, and a copy of longer text shares its memory. So one `String`
    can be the content of any number of responses.
    """

    var _text: String
    var _octets: List[UInt8]

    def __init__(out self):
        """Makes empty content; allocates nothing."""
        self._text = String()
        self._octets = []

    @implicit
    def __init__(out self, var text: String):
        """Takes text.

        Args:
            text: The content.
        """
        self._text = text^
        self._octets = []

    @implicit
    def __init__(out self, text: StringLiteral):
        """Takes a literal.

        Args:
            text: The content.
        """
        self._text = String(text)
        self._octets = []

    @implicit
    def __init__(out self, var octets: List[UInt8]):
        """Takes octets.

        Args:
            octets: The content, of any kind.
        """
        self._text = String()
        self._octets = octets^

    @always_inline
    def __len__(self) -> Int:
        """Counts the octets of content.

        Returns:
            Bytes.
        """
        return self._text.byte_length() + len(self._octets)

    @always_inline
    def as_bytes(self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends the content.

        Returns:
            All octets of it.
        """
        # SAFETY: text or octets belong to this body, which is the span's
        # origin; one of the two is empty.
        comptime o = ImmOrigin(origin_of(self))
        if len(self._octets) == 0:
            return lend[o](self._text.unsafe_ptr(), self._text.byte_length())
        return lend[o](self._octets.unsafe_ptr(), len(self._octets))

    def text(self) raises -> String:
        """Copies the content as text.

        Returns:
            The content.

        Raises:
            Error: If it is not UTF-8.
        """
        return String(from_utf8=self.as_bytes())

    def write_to(self, mut writer: Some[Writer]):
        """Writes the content as text, with octets that are not UTF-8 replaced.

        Args:
            writer: Where to.
        """
        writer.write(String(from_utf8_lossy=self.as_bytes()))
