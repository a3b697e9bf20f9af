"""Messages out of the octets of a stream: prefixes, bounds, gzip."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.compress.decoder import Decoder
from flare.compress.error import CompressError, CompressErrorKind, Format
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.status import GrpcCode, GrpcStatus
from std.bit import byte_swap
from std.sys.intrinsics import unlikely

comptime PREFIX_LEN = 5
"""Octets before each message: a flag, and its length in four octets."""

comptime END_LEN_MAX = 65_536
"""Longest frame that ends a stream and is read, in bytes, unless messages may be
longer: as much as trailers of HTTP may have."""

comptime _ROOM_LEN = 65_536
# Room that is made at once for a message that is announced.

comptime MESSAGE_LEN_MAX_DEFAULT = 4 * 1024 * 1024
"""Longest message that is read unless the caller says otherwise, in bytes; as
other implementations have it."""


@fieldwise_init
struct MessagePrefix(TrivialRegisterPassable):
    """What stands before a message, checked before any octet of it is kept.

    Source: PROTOCOL-HTTP2.md of gRPC, "Length-Prefixed-Message".
    """

    var length: Int
    """How long the message is, in bytes as they were sent."""
    var length_max: Int
    """How long it may be, in bytes decompressed."""
    var is_packed: Bool
    """True if it is compressed."""
    var is_end: Bool
    """True if it is no message, but the frame that ends the stream."""


def read_prefix(
    octets: Span[UInt8, _],
    coding: MessageCoding,
    length_max: Int,
    *,
    end_flag: UInt8 = 0,
) raises GrpcStatus -> MessagePrefix:
    """Reads a prefix, of at least `PREFIX_LEN` octets. The coding is what
    `grpc-encoding`, or its like, says; `length_max` is in bytes; `end_flag` is
    that of the frame that ends the stream, 0 for none. Raises `INTERNAL` for a
    flag that does not exist, or a compressed message without a coding, and
    `RESOURCE_EXHAUSTED` for one that is too long."""
    var flag = octets.at(0)
    var prefix = MessagePrefix(_length(octets), length_max, False, False)
    if unlikely(flag > 1):
        # Whether it is compressed is told of an end, too.
        if end_flag == 0 or flag & ~1 != end_flag:
            raise GrpcStatus(
                GrpcCode.INTERNAL,
                String(
                    "message prefix: the first octet is ",
                    flag,
                    "; it must be 0, or 1 for a compressed message",
                ),
            )
        prefix.is_end = True
        prefix.length_max = max(length_max, END_LEN_MAX)
    prefix.is_packed = flag & 1 == 1
    if prefix.is_packed and coding == MessageCoding.IDENTITY:
        raise GrpcStatus(
            GrpcCode.INTERNAL,
            "message prefix: the message is said to be compressed, but the head"
            " of the call names no coding",
        )
    if prefix.length > prefix.length_max:
        raise too_long(prefix.length, prefix.length_max)
    return prefix


@always_inline
def is_one_plain(content: Span[UInt8, _], length_max: Int) -> Bool:
    """Tells whether some content is a prefix and its message, which is not
    compressed and at most so long."""
    return (
        len(content) >= PREFIX_LEN
        and content.at(0) == 0
        and _length(content) == len(content) - PREFIX_LEN
        and len(content) - PREFIX_LEN <= length_max
    )


@always_inline
def _length(octets: Span[UInt8, _]) -> Int:
    # SAFETY: what is read lies within the prefix.
    return Int(
        byte_swap(
            octets.between(1, PREFIX_LEN)
            .unsafe_ptr()
            .unsafe_bitcast[UInt32]()
            .unsafe_load[alignment=1]()
        )
    )


def has_compressed(octets: Span[UInt8, _]) -> Bool:
    """Tells whether one of some whole messages, with their prefixes, is
    compressed: False if each has the flag 0."""
    var start = 0
    while start < len(octets):
        if octets.at(start) == 1:
            return True
        start += PREFIX_LEN + _length(octets.after(start))
    return False


@no_inline
def too_long(length: Int, length_max: Int) -> GrpcStatus:
    """Says that a message is longer than those that are read."""
    return GrpcStatus(
        GrpcCode.RESOURCE_EXHAUSTED,
        String(
            "message of ",
            length,
            " bytes; the longest that is read has ",
            length_max,
        ),
    )


@no_inline
def cut_off(length: Int) -> GrpcStatus:
    """Says that a stream ends so many bytes after its last message."""
    return GrpcStatus(
        GrpcCode.INTERNAL,
        String("the stream ends ", length, " bytes into a message"),
    )


def inflate_message(
    octets: Span[UInt8, _], length_max: Int, mut plain: Buffer
) raises GrpcStatus:
    """Decompresses a message of gzip after what `plain` has, to `length_max`
    bytes at most. Raises `RESOURCE_EXHAUSTED` if it is longer, `INTERNAL` if it
    is no gzip."""
    try:
        var decoder = Decoder(Format.GZIP, length_max)
        decoder.receive(octets, plain)
        decoder.finish()
    except error:
        raise _refused(error)


@no_inline
def _refused(error: CompressError) -> GrpcStatus:
    if error.kind == CompressErrorKind.OUTPUT_LIMIT:
        return GrpcStatus(
            GrpcCode.RESOURCE_EXHAUSTED,
            String(
                "message of more than ",
                error.output_len_max,
                " bytes decompressed, the longest that is read",
            ),
        )
    if (
        error.kind == CompressErrorKind.UNAVAILABLE
        or error.kind == CompressErrorKind.NO_MEMORY
    ):
        return GrpcStatus(GrpcCode.UNAVAILABLE, note=String(error))
    return GrpcStatus(GrpcCode.INTERNAL, String("compressed message: ", error))


struct MessageReader(Movable):
    """Finds messages in octets that come in any pieces.

        reader.receive(octets)
        while reader.next():
            use(reader.message())

    No more is kept than what was received and not yet given out, and one
    message decompressed. A prefix that promises too much is refused when it is
    there, before its message. After an error the reader is of no more use.

    Where a frame ends the stream (gRPC-Web, Connect), `end_flag` says which one:
    `next` goes no further then.
    """

    # Passed by its address, not by its fields.
    var _padding: Padding[128]
    var coding: MessageCoding
    """What `grpc-encoding` says of the messages."""
    var length_max: Int
    """Longest message that is read, in bytes, as sent and decompressed."""
    var message_count: Int
    """How many messages `next` has found."""
    var end_flag: UInt8
    """The flag of the frame that ends the stream; 0 if there is none."""
    var has_end: Bool
    """True once `next` has found that frame: `message` lends what it says."""
    var _octets: Buffer
    # What comes after `_octets`, so that what is received need not be copied to
    # the rest of what came before: see `_has`.
    var _next: Buffer
    # What the message at the head takes of `_octets`, once it was given out.
    var _taken_len: Int
    var _plain: Buffer
    var _is_plain: Bool

    def __init__(
        out self,
        coding: MessageCoding = MessageCoding.IDENTITY,
        length_max: Int = MESSAGE_LEN_MAX_DEFAULT,
        *,
        end_flag: UInt8 = 0,
    ):
        """Makes a reader at the start of a stream; allocates little."""
        self._padding = {}
        self.coding = coding
        self.length_max = length_max
        self.message_count = 0
        self.end_flag = end_flag
        self.has_end = False
        self._octets = Buffer()
        self._next = Buffer()
        self._taken_len = 0
        self._plain = Buffer()
        self._is_plain = False

    def receive(mut self, octets: Span[UInt8, _]):
        """Takes the next octets, any piece of the stream; ends what `message`
        has lent."""
        if len(self._next) == 0:
            self._octets.append(octets)
        else:
            self._next.append(octets)

    def room(mut self) -> ref[self._next] Buffer:
        """Lends the buffer that octets are appended to, for what writes into
        one; ends what `message` has lent. Nothing else may be done to it. It is
        empty once `next` has found that more octets have to come."""
        return self._next

    def next(mut self) raises GrpcStatus -> Bool:
        """Goes to the next message. True if all of it is there: `message` lends
        it. False if more octets have to come, or the stream has ended:
        `has_end`. Raises as `read_prefix` and `inflate_message` do."""
        if self._taken_len > 0:
            if self.has_end:
                return False
            self._octets.consume(self._taken_len)
            self._taken_len = 0
        if not self._has(PREFIX_LEN):
            return False
        var prefix = read_prefix(
            self._octets.span(),
            self.coding,
            self.length_max,
            end_flag=self.end_flag,
        )
        if not self._has(PREFIX_LEN + prefix.length):
            # Octets come a frame at a time: the room of most messages is made
            # once, that of long ones with what has come, not what is announced.
            var missing = PREFIX_LEN + prefix.length - len(self._octets)
            self._octets.reserve(
                min(missing, max(len(self._octets), _ROOM_LEN))
            )
            return False
        self._taken_len = PREFIX_LEN + prefix.length
        self._is_plain = prefix.is_packed
        if self._is_plain:
            self._plain.clear()
            inflate_message(
                self._octets.span().between(PREFIX_LEN, self._taken_len),
                prefix.length_max,
                self._plain,
            )
        if prefix.is_end:
            self.has_end = True
            return False
        self.message_count += 1
        return True

    @always_inline
    def _has(mut self, count: Int) -> Bool:
        """Tells whether `_octets` begins with so many octets, once what has come
        after it was put there."""
        if len(self._octets) < count and len(self._next) > 0:
            self._join(count)
        return len(self._octets) >= count

    @no_inline
    def _join(mut self, count: Int):
        """Has `_octets` begin with so many octets, or all that are here."""
        if len(self._octets) == 0:
            swap(self._octets, self._next)
            return
        # The rest of a message: what is behind its end stays where it is.
        var moved = min(count - len(self._octets), len(self._next))
        self._octets.append(self._next.span().before(moved))
        self._next.consume(moved)

    def message(ref self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends the message that `next` has found, or what ends the stream,
        decompressed; good until the reader changes. Empty if there is none."""
        if self._taken_len == 0:
            return {}
        # SAFETY: both buffers are this reader's own, which is the origin.
        if self._is_plain:
            return rebind[Span[UInt8, ImmOrigin(origin_of(self))]](
                self._plain.span()
            )
        return rebind[Span[UInt8, ImmOrigin(origin_of(self))]](
            self._octets.span().between(PREFIX_LEN, self._taken_len)
        )

    def waiting_len(self) -> Int:
        """Counts the octets that were received and not given out, prefixes too;
        without the message that is lent."""
        return len(self._octets) - self._taken_len + len(self._next)

    def finish(self) raises GrpcStatus:
        """Says that there are no more octets, after the last message. Raises
        `INTERNAL` if they end within a prefix or a message."""
        if self.waiting_len() > 0:
            raise cut_off(self.waiting_len())
