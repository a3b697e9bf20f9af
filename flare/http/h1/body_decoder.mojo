"""Content of one request, handed on in pieces while it arrives.

    var intake = exchange.detach_content()
    # 1. call advance() until it answers NEEDS_OCTETS or END
    # 2. CONTENT: take what `content` lends, go to 1
    # 3. NEEDS_OCTETS: put octets into intake.input, go to 1
    # 4. END: read `trailers`; what `leftover` lends belongs to the next request
"""

from flare.bytes.buffer import Buffer
from flare.bytes.lend import lend
from flare.http.h1.chunked import ChunkedDecoder
from flare.http.h1.error import RemoteProtocolError, Rule
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.framing import IS_CHUNKED, Framing
from flare.http.message.fields import FieldLine, Fields


struct BodyProgress(Equatable, ImplicitlyCopyable):
    """What `BodyDecoder.advance` found."""

    var number: UInt8
    """The case."""

    comptime NEEDS_OCTETS = BodyProgress(0)
    """Nothing; the content goes on."""
    comptime CONTENT = BodyProgress(1)
    """A piece of content."""
    comptime END = BodyProgress(2)
    """The content is complete, and so are its trailers."""

    def __init__(out self, number: UInt8):
        """Makes a case.

        Args:
            number: The case.
        """
        self.number = number

    def __eq__(self, other: Self) -> Bool:
        """Compares two cases.

        Args:
            other: A case.

        Returns:
            True if they are the same.
        """
        return self.number == other.number


struct BodyDecoder(Movable):
    """Takes the framing off one request's content, as fast as it is taken.

    Memory stays within what one read brings and a trailer section. The octet
    behind the content is where the next request starts, however the octets
    are cut.

    Source: RFC 9112 section 6.
    """

    var input: Buffer
    """Octets that were received and not yet handed on."""
    var content_len: Int
    """How much content was handed on, in bytes."""
    var _framing: Framing
    var _max_body_size: Int
    var _chunked: ChunkedDecoder
    var _piece_len: Int
    # Octets that go at the next call.
    var _drop_len: Int
    var _is_complete: Bool

    def __init__(
        out self,
        framing: Framing,
        max_body_size: Int,
        mut chunked: ChunkedDecoder,
        octets: Span[UInt8, _],
    ):
        """Goes on with content of which a part has arrived.

        Args:
            framing: How the content is framed; it has some.
            max_body_size: Most octets of content.
            chunked: How far it is decoded, if it is chunked; a new one
                afterwards.
            octets: What has arrived behind the head, decoded so far.
        """
        self.input = Buffer(len(octets))
        self.input.append(octets)
        self.content_len = 0
        self._framing = framing
        self._max_body_size = max_body_size
        self._chunked = ChunkedDecoder()
        swap(self._chunked, chunked)
        self._piece_len = 0
        self._drop_len = 0
        self._is_complete = False

    def is_complete(self) -> Bool:
        """Tells whether `advance` has found the end.

        Returns:
            True from then on.
        """
        return self._is_complete

    def advance(
        mut self, limits: HeadLimits
    ) raises RemoteProtocolError -> BodyProgress:
        """Looks for the next piece.

        Args:
            limits: Bounds of the trailers.

        Returns:
            What was found; content is handed out before an error behind it.

        Raises:
            RemoteProtocolError: If the content breaks a rule; the connection
                cannot be used any further.
        """
        if self._is_complete:
            return BodyProgress.END
        self.input.consume(self._drop_len)
        self._drop_len = 0
        self._piece_len = 0
        if self._framing.has(IS_CHUNKED):
            return self._advance_chunked(limits)
        var missing_len = self._framing.content_length - self.content_len
        if missing_len == 0:
            self._is_complete = True
            return BodyProgress.END
        var count = min(len(self.input), missing_len)
        return self._give(count, count)

    def _advance_chunked(
        mut self, limits: HeadLimits
    ) raises RemoteProtocolError -> BodyProgress:
        self.input.seal()
        if self._decode(limits) and self._chunked.content_len == 0:
            self._drop_len = self._chunked.consumed_len
            self._is_complete = True
            return BodyProgress.END
        var count = self._chunked.content_len
        return self._give(count, self._chunked.release())

    def _decode(
        mut self, limits: HeadLimits
    ) raises RemoteProtocolError -> Bool:
        try:
            return self._chunked.decode(
                self.input.base(),
                len(self.input),
                self._max_body_size - self.content_len,
                limits,
            )
        except error:
            # The next call meets it again.
            if self._chunked.content_len > 0:
                return False
            raise error^

    def _give(mut self, count: Int, drop_len: Int) -> BodyProgress:
        self._piece_len = count
        self._drop_len = drop_len
        self.content_len += count
        if count > 0:
            return BodyProgress.CONTENT
        # What lies before a chunk must not add up.
        self.input.consume(drop_len)
        self._drop_len = 0
        return BodyProgress.NEEDS_OCTETS

    def content(ref self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends the piece that `advance` told of, until the next call.

        Returns:
            The octets; empty unless it told of some.
        """
        # SAFETY: the piece lies within the input, which is the span's origin.
        return lend[ImmOrigin(origin_of(self))](
            self.input.base(), self._piece_len
        )

    def trailers(ref self) -> Fields[ImmOrigin(origin_of(self))]:
        """Lends the trailer fields of chunked content that is complete.

        Returns:
            Names and values; none before `END` or without chunks.
        """
        # SAFETY: the section was parsed within the input.
        comptime o = ImmOrigin(origin_of(self))
        if not self._is_complete or not self._framing.has(IS_CHUNKED):
            return Fields(
                lend[o](self.input.base(), 0), Span[FieldLine, o](), True
            )
        var start = self._chunked.trailers_offset
        return self._chunked.trailers.fields(
            lend[o](
                self.input.base().unsafe_offset(start), self._drop_len - start
            )
        )

    def leftover(ref self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends what stands behind complete content.

        Returns:
            Octets of the next request; none before `END`.
        """
        # SAFETY: the part lies within the input, which is the span's origin.
        comptime o = ImmOrigin(origin_of(self))
        if not self._is_complete:
            return lend[o](self.input.base(), 0)
        return lend[o](
            self.input.base().unsafe_offset(self._drop_len),
            len(self.input) - self._drop_len,
        )
