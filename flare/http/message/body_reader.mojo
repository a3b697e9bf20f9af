"""A request's content as a stream that a handler reads."""

from flare.bytes.checked import *
from flare.bytes.erased import Erased
from flare.http.message.fields import Fields
from flare.http.message.header_map import HeaderMap
from flare.io.stream import Readable


struct BodyError(Copyable, Movable, Writable):
    """A request's content cannot be read to its end.

    If the client or the network is at fault, the server has answered already,
    or there is nobody left to answer; what the handler answers is dropped.
    """

    var status: Int
    """What suits as an answer: 400, 408 or 413 if the client is at fault, 503
    if nobody waits for an answer any more."""
    var reason: String
    """What is wrong, fit for strangers."""

    def __init__(out self, status: Int, var reason: String):
        """Describes a failure."""
        self.status = status
        self.reason = reason^

    def write_to(self, mut writer: Some[Writer]):
        """Writes the reason."""
        writer.write("the request's content: ", self.reason)


trait BodyFeed(Deinitable, Movable):
    """Where content comes from while a handler reads it."""

    def read(mut self, room: MutSpan[UInt8, _]) raises BodyError -> Int:
        """Waits for content and copies what is there into room that is not
        empty. Returns how many octets, 0 at the end. Raises if the rest cannot
        be had."""
        ...

    def trailers(self) -> HeaderMap:
        """Copies the trailer fields; none before the end."""
        ...


comptime _Read = def[r: MutOrigin](
    Erased, MutSpan[UInt8, r], mut Optional[BodyError]
) thin -> Int
comptime _Trailers = def(Erased) thin -> HeaderMap


def _read[
    F: BodyFeed, r: MutOrigin
](
    feed: Erased, room: MutSpan[UInt8, r], mut failure: Optional[BodyError]
) -> Int:
    # SAFETY: `LentFeed` made the pointer from an F.
    try:
        return feed.unsafe_bitcast[F]()[].read(room)
    except error:
        failure = error^
        return 0


def _trailers[F: BodyFeed](feed: Erased) -> HeaderMap:
    # SAFETY: `LentFeed` made the pointer from an F.
    return feed.unsafe_bitcast[F]()[].trailers()


struct LentFeed(Movable):
    """A feed of any type, lent to a handler as a note of its request."""

    # SAFETY: who lends the feed keeps it alive for longer than this value.
    var _feed: Erased
    var _read: _Read
    var _trailers: _Trailers

    def __init__[F: BodyFeed](out self, mut feed: F):
        """Lends a feed, which outlives this value, and does not move meanwhile."""
        self._feed = (
            Pointer(to=feed)
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_bitcast[NoneType]()
        )
        self._read = _read[F, ...]
        self._trailers = _trailers[F]


struct BodyReader[o: ImmOrigin](Readable):
    """Reads a request's content, from memory or while it arrives.

    Parameters:
        o: Where the request's octets live.
    """

    comptime ReadError = BodyError
    """What a failed read raises."""
    var _rest: Span[UInt8, Self.o]
    var _fields: Fields[Self.o]
    var _feed: OptionalPointer[LentFeed, Self.o]

    def __init__(
        out self,
        content: Span[UInt8, Self.o],
        trailers: Fields[Self.o],
        feed: OptionalPointer[LentFeed, Self.o],
    ):
        """Starts to read.

        Args:
            content: What is in memory.
            trailers: The trailer fields after it.
            feed: Where content comes from, in place of both.
        """
        self._rest = content
        self._fields = trailers.copy()
        self._feed = feed

    def read(mut self, room: MutSpan[UInt8, _]) raises BodyError -> Int:
        """Reads what is there, waiting for the first octet, and gives how many
        octets that was, at most `len(room)`; 0 at the end.

        The server sees to it that the wait ends: `body_timeout_ms` of its
        configuration counts for all waits together.

        Args:
            room: Where to; not empty. 64 KiB are right.

        Raises:
            BodyError: If the client hangs up, breaks a rule, sends too much or
                too slowly, or nobody waits for the response any more.
        """
        if self._feed:
            # SAFETY: the feed outlives this call.
            ref lent = self._feed.held()[]
            var failure = Optional[BodyError](None)
            var count = lent._read(lent._feed, room, failure)
            if failure:
                raise failure.take()
            return count
        var count = min(len(room), len(self._rest))
        room.before(count).copy_from(self._rest.before(count))
        self._rest = self._rest.after(count)
        return count

    def read_all(mut self, length_max: Int) raises BodyError -> List[UInt8]:
        """Reads what was not read yet, to the end.

        Args:
            length_max: Most octets.

        Raises:
            BodyError: As `read` does; with status 413 if there is more.
        """
        var content = List[UInt8]()
        var piece = List[UInt8](length=16_384, fill=0)
        while True:
            var count = self.read(Span(piece))
            if count == 0:
                return content^
            if len(content) + count > length_max:
                raise BodyError(
                    413, String("it is longer than ", length_max, " octets")
                )
            content.extend(Span(piece).before(count))

    def trailers(self) -> HeaderMap:
        """Copies the trailer fields after chunked content; none before `read`
        has given 0.

        They are kept apart from the header fields (RFC 9110 section 6.5.1).
        """
        # SAFETY: the feed outlives this call.
        if self._feed:
            ref lent = self._feed.held()[]
            return lent._trailers(lent._feed)
        if len(self._rest) > 0:
            return HeaderMap()
        return owned_fields(self._fields)


def owned_fields(fields: Fields) -> HeaderMap:
    var copy = HeaderMap()
    for index in range(len(fields)):
        try:
            copy.append(fields.name(index), fields.value(index))
        except error:
            # What was parsed is fit to be sent, but for obsolete text.
            continue
    return copy^
