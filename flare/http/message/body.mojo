"""The content of a response."""

from flare.bytes.lend import lend
from flare.http.message.body_source import BodySource, Conversation
from flare.http.message.body_stream import BodyStream
from std.memory import ArcPointer


struct Body(Copyable, Defaultable, Movable, Sized, Writable):
    """Content held in memory, text or octets; or a source that makes it.

    Text is kept as a `String`: a literal costs no copy, text of up to 23 bytes
    no allocation, and a copy of longer text shares its memory. So one `String`
    can be the content of any number of responses. A copy of a body with a source
    shares the source, which can be sent once.
    """

    var _text: String
    var _octets: List[UInt8]
    var _stream: Optional[ArcPointer[BodyStream]]

    def __init__(out self):
        """Makes empty content; allocates nothing."""
        self._text = String()
        self._octets = []
        self._stream = None

    @implicit
    def __init__(out self, var text: String):
        """Takes text.

        Args:
            text: The content.
        """
        self._text = text^
        self._octets = []
        self._stream = None

    @implicit
    def __init__(out self, text: StringLiteral):
        """Takes a literal.

        Args:
            text: The content.
        """
        self._text = String(text)
        self._octets = []
        self._stream = None

    @implicit
    def __init__(out self, var octets: List[UInt8]):
        """Takes octets.

        Args:
            octets: The content, of any kind.
        """
        self._text = String()
        self._octets = octets^
        self._stream = None

    def __init__[
        S: BodySource
    ](out self, var source: S, *, length: Optional[Int] = None):
        """Takes a source, which makes the content while it is sent.

        Without a length the content is sent in chunks (RFC 9112 section 7.1),
        or to a client of HTTP/1.0 until the connection closes.

        Parameters:
            S: The source's type.

        Args:
            source: Makes the content.
            length: How much that will be in bytes, if it is known; a source
                that makes more or less breaks the connection.
        """
        self._text = String()
        self._octets = []
        self._stream = ArcPointer(BodyStream(source^, length))

    @staticmethod
    def conversing[C: Conversation](var conversation: C) -> Self:
        """Takes a conversation, for a response with status 101.

        Parameters:
            C: The conversation's type.

        Args:
            conversation: Goes on where HTTP ends.

        Returns:
            The body.
        """
        var body = Self()
        body._stream = ArcPointer(BodyStream.conversing(conversation^))
        return body^

    @always_inline
    def is_stream(self) -> Bool:
        """Tells whether a source makes the content.

        Returns:
            True if so; then nothing of it is in memory.
        """
        return self._stream.__bool__()

    def listens(self) -> Bool:
        """Tells whether this is a conversation.

        Returns:
            True if it takes what the client sends.
        """
        return self._stream.__bool__() and self._stream.value()[].listens()

    def stream(self) -> ArcPointer[BodyStream]:
        """Gives the source of a body that has one.

        Returns:
            The source, shared with this body.
        """
        return self._stream.value()

    @always_inline
    def __len__(self) -> Int:
        """Counts the octets of content that are in memory.

        Returns:
            Bytes; 0 if a source makes them.
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
