"""The content of a message, freed of its framing where it lies.

There are two ways to have it. Whole: `decode` lets it pile up at the start of
the body's octets. In pieces:

    # 1. call advance(input) until it answers NEEDS_OCTETS or END
    # 2. CONTENT: take what content(input) lends, go to 1
    # 3. NEEDS_OCTETS: put octets into input, go to 1
    # 4. END: read trailers(input); leftover(input) belongs to the next message
"""

from flare.bytes.buffer import Buffer, TerminatedInput
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.http.h1.chunked import ChunkedDecoder
from flare.http.h1.error import NOWHERE, RemoteProtocolError, Rule
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.framing import ContentEnd
from flare.http.message.fields import FieldLine, Fields


@fieldwise_init
struct BodyProgress(Equatable, TrivialRegisterPassable):
    """What `BodyDecoder.advance` found."""

    var number: UInt8

    comptime NEEDS_OCTETS = BodyProgress(0)
    """Nothing; the content goes on."""
    comptime CONTENT = BodyProgress(1)
    """A piece of content."""
    comptime END = BodyProgress(2)
    """The content is complete, and so are its trailers."""


struct BodyDecoder(Movable):
    """Decodes one body, sized, chunked, or ended by the connection's close.

    Taken in pieces, memory stays within what one read brings and a trailer
    section. The octet after the body is where the next message starts,
    however the octets are cut.

    Source: RFC 9112 section 6.
    """

    var _padding: Padding[88]
    var max_body_size: Int
    var content_len: Int
    """Decoded octets that stand from the start of the body's octets."""
    var taken_len: Int
    """How much content `advance` has told of, the last piece included."""
    var chunked: ChunkedDecoder
    """Decodes the body if it is chunked."""
    var _end: ContentEnd
    var _length: Int
    var _is_complete: Bool
    # What `advance` told of, and what goes at its next call.
    var _piece_len: Int
    var _drop_len: Int
    # Chunked octets that went with earlier pieces.
    var _coded_offset: Int

    def __init__(out self):
        self._padding = {}
        self.max_body_size = 0
        self.content_len = 0
        self.taken_len = 0
        self.chunked = ChunkedDecoder()
        self._end = ContentEnd.NONE
        self._length = 0
        self._is_complete = False
        self._piece_len = 0
        self._drop_len = 0
        self._coded_offset = 0

    def begin(mut self, end: ContentEnd, length: Int):
        """Forgets the last body; what `advance` has not dropped yet stays."""
        self._end = end
        self._length = length
        self._is_complete = False
        self.content_len = 0
        self.taken_len = 0
        if end == ContentEnd.CHUNKED:
            self.chunked.begin()
            self._coded_offset = 0

    @always_inline
    def is_complete(self) -> Bool:
        """Tells whether `advance` has told of the end."""
        return self._is_complete

    @always_inline
    def is_chunked(self) -> Bool:
        return self._end == ContentEnd.CHUNKED

    def decode(
        mut self,
        input: TerminatedInput,
        limits: HeadLimits,
        is_closed: Bool = False,
    ) raises RemoteProtocolError -> Bool:
        """Decodes what has arrived; the content piles up where the body starts.
        The input is the same at each call but for what `close_gap` moved; no
        octet follows if `is_closed`. Returns True if the body is complete. If
        it breaks a rule, `content_len` counts what stands before the offence.
        """
        if self._end == ContentEnd.SIZED:
            if self._length > self.max_body_size:
                raise RemoteProtocolError(materialize[Rule.BODY_LEN](), NOWHERE)
            var missing_len = self._length - self.taken_len
            self.content_len = min(len(input), missing_len)
            return self.content_len == missing_len
        if self._end == ContentEnd.CHUNKED:
            return self._decode_chunked(input, limits)
        if self._end == ContentEnd.CLOSE:
            var room = self.max_body_size - self.taken_len
            self.content_len = min(len(input), room)
            if len(input) > room:
                raise RemoteProtocolError(materialize[Rule.BODY_LEN](), NOWHERE)
            return is_closed
        return True

    def _decode_chunked(
        mut self, input: TerminatedInput, limits: HeadLimits
    ) raises RemoteProtocolError -> Bool:
        var room = self.max_body_size - self.taken_len
        try:
            var is_complete = self.chunked.decode(input, room, limits)
            self.content_len = self.chunked.content_len
            return is_complete
        except error:
            self.content_len = self.chunked.content_len
            # Pieces that were dropped count for the place of an offence, so
            # that nothing depends on how the octets are cut.
            if not self.chunked.is_in_trailers():
                error.offset += self._coded_offset
            raise error^

    def close_gap(mut self, input: TerminatedInput) -> Int:
        """Moves what is not decoded down to the content, and tells how many
        octets fewer are there now."""
        if self._end != ContentEnd.CHUNKED:
            return 0
        return self.chunked.close_gap(input)

    @always_inline
    def consumed_len(self) -> Int:
        """Counts the octets of the body that were read, less those dropped."""
        if self._end == ContentEnd.CHUNKED:
            return self.chunked.consumed_len
        return self.content_len

    def advance(
        mut self, mut input: Buffer, limits: HeadLimits, is_closed: Bool = False
    ) raises RemoteProtocolError -> BodyProgress:
        """Looks for the next piece, and drops the last one. The input begins
        with what is not dropped of the body; no octet follows if `is_closed`.
        Content is handed out before an error after it, after which the
        connection cannot be used any further."""
        if self._is_complete:
            return BodyProgress.END
        self.drop(input)
        var is_whole = False
        try:
            is_whole = self.decode(input.terminate(), limits, is_closed)
        except error:
            # The next call meets it again.
            if self.content_len == 0:
                raise error^
        var count = self.content_len
        debug_assert(count <= len(input), "content beyond the input")
        if count == 0 and is_whole:
            self._drop_len = self.consumed_len()
            self._is_complete = True
            return BodyProgress.END
        self._piece_len = count
        self._drop_len = self._release()
        self.taken_len += count
        if count > 0:
            return BodyProgress.CONTENT
        # What lies before a chunk must not add up.
        self.drop(input)
        return BodyProgress.NEEDS_OCTETS

    def _release(mut self) -> Int:
        """Forgets the content decoded so far; gives how many octets go."""
        var count = self.content_len
        if self._end == ContentEnd.CHUNKED:
            count = self.chunked.release()
            self._coded_offset += count
        self.content_len = 0
        return count

    def drop(mut self, mut input: Buffer):
        """Drops what `advance` told of last."""
        debug_assert(self._piece_len <= self._drop_len, "a piece that stays")
        input.consume(self._drop_len)
        self._drop_len = 0
        self._piece_len = 0

    def forget(mut self):
        """Forgets a body whose input is no more."""
        self.begin(ContentEnd.NONE, 0)
        self._drop_len = 0
        self._piece_len = 0

    @always_inline
    def content[
        o: Origin
    ](self, ref[o] input: Buffer) -> Span[UInt8, ImmOrigin(o)]:
        """Lends the piece that `advance` told of, until its next call."""
        return input.span().before(self._piece_len)

    def trailers[o: ImmOrigin](self, body: Span[UInt8, o]) -> Fields[o]:
        """Lends the trailer fields of a body that is complete, given the octets
        from the start of the body, or of what is not dropped of it. None before
        the end or without chunks."""
        if (
            self._end != ContentEnd.CHUNKED
            or not self.chunked.is_complete()
            or self._piece_len > 0
        ):
            return Fields(body.before(0), Span[FieldLine, o](), True)
        return self.chunked.trailers.fields(
            body.between(
                self.chunked.trailers_offset, self.chunked.consumed_len
            )
        )

    def trailers_end(self) -> Int:
        """Where the octets after the body start, once `advance` told of END; 0
        without chunks."""
        return self._drop_len if self._is_complete else 0


struct DetachedBody(Movable):
    """A body that was taken out of its request, to be taken in pieces."""

    var input: Buffer
    """Octets that were received and not yet handed on."""
    var decoder: BodyDecoder
    """Takes the framing off."""

    def __init__(out self, var decoder: BodyDecoder, octets: Span[UInt8, _]):
        """Goes on with a body of which a part has arrived."""
        self.input = Buffer(len(octets))
        self.input.append(octets)
        self.decoder = decoder^

    def advance(
        mut self, limits: HeadLimits
    ) raises RemoteProtocolError -> BodyProgress:
        """Looks for the next piece, as `BodyDecoder.advance` does."""
        return self.decoder.advance(self.input, limits)

    def content(ref self) -> Span[UInt8, ImmOrigin(origin_of(self.input))]:
        """Lends the piece that `advance` told of, until its next call."""
        return self.decoder.content(self.input)

    def trailers(ref self) -> Fields[ImmOrigin(origin_of(self.input))]:
        """Lends the trailer fields; none before END or without chunks."""
        return self.decoder.trailers(self.input.span())

    def leftover(ref self) -> Span[UInt8, ImmOrigin(origin_of(self.input))]:
        """Lends what stands after the body: octets of the next request."""
        if not self.decoder.is_complete():
            return self.input.span().before(0)
        return self.input.span().after(self.decoder.trailers_end())

    def is_complete(self) -> Bool:
        """Tells whether `advance` has found the end."""
        return self.decoder.is_complete()
