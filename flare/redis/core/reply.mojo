"""Replies of a server: lent from the octets that came, or kept."""

from flare.bytes.buffer import unsafe_lend
from flare.bytes.checked import *
from flare.bytes.utf8 import is_valid_utf8
from flare.redis.core.error import RedisError, RedisErrorKind


@fieldwise_init
struct ReplyKind(Equatable, ImplicitlyCopyable, TrivialRegisterPassable):
    """What a reply is (RESP3 specification; RESP2 has the first six)."""

    var octet: UInt8
    """The octet that it begins with; `_` for all three kinds of null."""

    comptime SIMPLE = Self(0x2B)
    """A short text, such as OK (`+`)."""
    comptime ERROR = Self(0x2D)
    """An error (`-`, `!`)."""
    comptime INTEGER = Self(0x3A)
    """A whole number (`:`)."""
    comptime BULK = Self(0x24)
    """Octets (`$`)."""
    comptime ARRAY = Self(0x2A)
    """Replies in order (`*`)."""
    comptime NULL = Self(0x5F)
    """Nothing (`_`, `$-1`, `*-1`)."""
    comptime DOUBLE = Self(0x2C)
    """A number with a fraction (`,`)."""
    comptime BOOLEAN = Self(0x23)
    """True or false (`#`)."""
    comptime BIG_NUMBER = Self(0x28)
    """A whole number of any length, as digits (`(`)."""
    comptime VERBATIM = Self(0x3D)
    """Text for people (`=`), without the three letters of its format."""
    comptime MAP = Self(0x25)
    """Names and values in turn (`%`)."""
    comptime SET = Self(0x7E)
    """Replies in no order (`~`)."""
    comptime PUSH = Self(0x3E)
    """What nobody asked for, such as a message (`>`)."""
    comptime ATTRIBUTE = Self(0x7C)
    """What is said about the next reply (`|`); never seen by programs."""

    @always_inline
    def is_aggregate(self) -> Bool:
        """Tells whether it holds other replies: arrays, maps, sets and pushes
        do."""
        return (
            self.octet == 0x2A
            or self.octet == 0x25
            or self.octet == 0x7E
            or self.octet == 0x3E
            or self.octet == 0x7C
        )


@fieldwise_init
struct ReplyNode(TrivialRegisterPassable):
    """A reply, or one within it, by places in the octets."""

    var start: Int
    """Where its octets begin; the value of a number or truth."""
    var length: Int
    """How many octets, or how many replies it holds."""
    var end: UInt32
    """The place of the node after it and all that it holds."""
    var kind: ReplyKind


struct Reply[o: ImmOrigin](ImplicitlyCopyable, Sized):
    """A reply, lent from the connection's octets.

    It is good until the next call of what lent it; `keep` copies it. Each method
    raises `RedisError` if it is an error of the server, or not what is asked for.

        var reply = redis.command("LRANGE", "queue", 0, -1)
        for item in reply:
            print(item.text())

    Parameters:
        o: The origin of what owns the octets.
    """

    # SAFETY: parser and buffer of the connection own both; the origin keeps
    # them, and the loan ends with the connection's next call.
    var _nodes: Pointer[ReplyNode, Self.o]
    var _octets: Pointer[UInt8, Self.o]
    var _place: Int

    @always_inline
    def __init__(
        out self,
        *,
        unsafe_nodes: Pointer[ReplyNode, Self.o],
        unsafe_octets: Pointer[UInt8, Self.o],
        place: Int,
    ):
        """Lends a reply; a `ReplyParser` does that.

        Args:
            unsafe_nodes: The parser's nodes.
            unsafe_octets: The first octet of what was parsed.
            place: The node.
        """
        self._nodes = unsafe_nodes
        self._octets = unsafe_octets
        self._place = place

    def __init__(
        out self, *, unsafe_nodes: List[ReplyNode], unsafe_octets: List[UInt8]
    ):
        """Lends a reply that was copied; who owns both lists does that.

        Args:
            unsafe_nodes: What `append_to` has made; the first is the reply.
            unsafe_octets: Its texts.
        """
        # SAFETY: the owner names itself by the origin, and keeps both.
        self._nodes = (
            unsafe_nodes.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[Self.o]()
        )
        self._octets = (
            unsafe_octets.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[Self.o]()
        )
        self._place = 0

    @always_inline
    def _node(self) -> ReplyNode:
        return self._nodes[unsafe_offset=self._place]

    @always_inline
    def _at(self, place: Int) -> Self:
        return Self(
            unsafe_nodes=self._nodes, unsafe_octets=self._octets, place=place
        )

    @always_inline
    def unsafe_lent_by[p: ImmOrigin](self) -> Reply[p]:
        """Says who lends the reply.

        Parameters:
            p: The origin of what owns parser and octets.

        Returns:
            The same reply.
        """
        # SAFETY: the caller names the owner, which keeps both.
        return Reply[p](
            unsafe_nodes=self._nodes.unsafe_origin_cast[p](),
            unsafe_octets=self._octets.unsafe_origin_cast[p](),
            place=self._place,
        )

    @always_inline
    def kind(self) -> ReplyKind:
        """Tells what it is."""
        return self._node().kind

    @always_inline
    def is_null(self) -> Bool:
        """Tells whether there is nothing: null of any kind."""
        return self.kind() == ReplyKind.NULL

    @always_inline
    def is_error(self) -> Bool:
        """Tells whether the server refused; `error` says why."""
        return self.kind() == ReplyKind.ERROR

    def error(self) -> RedisError:
        """Gives the server's error; one without words if this is none."""
        var node = self._node()
        if node.kind != ReplyKind.ERROR:
            return RedisError(RedisErrorKind.REFUSED, String())
        return RedisError.of_reply(self._lend(node))

    @always_inline
    def check(self) raises RedisError:
        """Raises what the server refused.

        Raises:
            RedisError: If this is an error.
        """
        if self.is_error():
            raise self.error()

    @always_inline
    def _lend(self, node: ReplyNode) -> Span[UInt8, Self.o]:
        # SAFETY: the parser has seen all these octets; the origin owns them.
        return unsafe_lend[Self.o](
            self._octets.unsafe_offset(node.start), node.length
        )

    @always_inline
    def octets(self) raises RedisError -> Span[UInt8, Self.o]:
        """Lends the octets of a text, short or long, for as long as the reply
        is lent."""
        var node = self._node()
        if (
            node.kind == ReplyKind.BULK
            or node.kind == ReplyKind.SIMPLE
            or node.kind == ReplyKind.VERBATIM
            or node.kind == ReplyKind.BIG_NUMBER
            or node.kind == ReplyKind.DOUBLE
        ):
            return self._lend(node)
        raise self._unexpected("a text")

    def text(self) raises RedisError -> StringSpan[Self.o]:
        """Lends a text, short or long, for as long as the reply is lent.

        Raises:
            RedisError: If it is an error, no text, or no UTF-8 (`NOT_TEXT`).
        """
        var octets = self.octets()
        if not is_valid_utf8(octets):
            raise RedisError(
                RedisErrorKind.NOT_TEXT, String("the value is no UTF-8")
            )
        return StringSpan(unsafe_from_utf8=octets)

    def integer(self) raises RedisError -> Int:
        """Gives a whole number, or one that is written as text."""
        var node = self._node()
        if node.kind == ReplyKind.INTEGER or node.kind == ReplyKind.BOOLEAN:
            return node.start
        if node.kind == ReplyKind.BULK or node.kind == ReplyKind.SIMPLE:
            var number = 0
            if read_integer(self._lend(node), number):
                return number
        raise self._unexpected("a whole number")

    def number(self) raises RedisError -> Float64:
        """Gives a number, also one that is written as text; `inf`, `-inf` and
        `nan` are known."""
        var node = self._node()
        if node.kind == ReplyKind.INTEGER:
            return Float64(node.start)
        if (
            node.kind == ReplyKind.DOUBLE
            or node.kind == ReplyKind.BULK
            or node.kind == ReplyKind.SIMPLE
        ):
            var octets = self._lend(node)
            var is_ascii = len(octets) <= 64
            for octet in octets:
                is_ascii = is_ascii and octet > 0x20 and octet < 0x7F
            if is_ascii and len(octets) > 0:
                try:
                    return atof(StringSpan(unsafe_from_utf8=octets))
                except:
                    # It is no number; what it is is said below.
                    pass
        raise self._unexpected("a number")

    def boolean(self) raises RedisError -> Bool:
        """Gives a truth; RESP2 says 1 and 0."""
        var node = self._node()
        if node.kind == ReplyKind.INTEGER or node.kind == ReplyKind.BOOLEAN:
            return node.start != 0
        raise self._unexpected("true or false")

    @always_inline
    def __len__(self) -> Int:
        """Counts the replies that it holds; names and values of a map count
        each, and what holds none has 0."""
        var node = self._node()
        return node.length if node.kind.is_aggregate() else 0

    def __getitem__(self, index: Int) raises RedisError -> Self:
        """Lends one of the replies that it holds.

        Args:
            index: Counted from 0. All before it are passed over: to take one
                after the other, iterate.
        """
        self.check()
        if index < 0 or index >= len(self):
            raise RedisError(
                RedisErrorKind.UNEXPECTED_REPLY,
                String("the reply holds ", len(self), ", and not ", index + 1),
            )
        var place = self._first(self._place + 1)
        for _ in range(index):
            place = self._first(Int(self._nodes[unsafe_offset=place].end))
        return self._at(place)

    @always_inline
    def _first(self, place: Int) -> Int:
        """Passes over what is no element: attributes, and pushes in between."""
        var there = place
        while True:
            var node = self._nodes[unsafe_offset=there]
            if node.kind != ReplyKind.ATTRIBUTE:
                return there
            there = Int(node.end)

    def find(self, name: StringSpan) raises RedisError -> Optional[Self]:
        """Finds the value of a name, in a map or in RESP2's array of pairs;
        None if it is not there.

        Args:
            name: The name.
        """
        self.check()
        var items = self.__iter__()
        for _ in range(len(self) // 2):
            var key = items.next()
            var value = items.next()
            if key.kind() == ReplyKind.BULK or key.kind() == ReplyKind.SIMPLE:
                if StringSpan(unsafe_from_utf8=key.octets()) == name:
                    return value
        return None

    @always_inline
    def __iter__(self) -> ReplyItems[Self.o]:
        """Goes through the replies that it holds.

        Returns:
            The iterator.
        """
        return ReplyItems[Self.o](self)

    def append_to(self, mut nodes: List[ReplyNode], mut octets: List[UInt8]):
        """Copies the reply and all that it holds.

        Args:
            nodes: Gets the nodes; their ends are counted from the reply's own
                start.
            octets: Gets the texts, where those nodes begin.
        """
        for place in range(self._place, Int(self._node().end)):
            # SAFETY: the parser made all nodes up to the reply's end.
            var node = self._nodes[unsafe_offset=place]
            node.end -= UInt32(self._place)
            if not node.kind.is_aggregate() and _has_octets(node.kind):
                var text = self._lend(node)
                node.start = len(octets)
                octets.extend(text)
            nodes.append(node)

    def keep(self) -> RedisReply:
        """Copies the reply out of the connection; the copy is good for as long
        as it lives."""
        return RedisReply(self)

    @no_inline
    def _unexpected(self, wanted: StaticString) -> RedisError:
        if self.is_error():
            return self.error()
        var found = StaticString("null")
        var kind = self.kind()
        if kind == ReplyKind.INTEGER:
            found = "a whole number"
        elif kind.is_aggregate():
            found = "a list of replies"
        elif kind == ReplyKind.BOOLEAN:
            found = "true or false"
        elif kind != ReplyKind.NULL:
            found = "a text"
        return RedisError(
            RedisErrorKind.UNEXPECTED_REPLY,
            String("the reply is ", found, ", and not ", wanted),
        )


struct ReplyItems[o: ImmOrigin](ImplicitlyCopyable, Iterator):
    """Goes through the replies that one holds.

    Parameters:
        o: The origin of what owns the octets.
    """

    comptime Element = Reply[Self.o]

    var _reply: Reply[Self.o]
    var _place: Int
    var _left: Int

    @always_inline
    def __init__(out self, reply: Reply[Self.o]):
        self._reply = reply
        self._place = reply._place + 1
        self._left = len(reply)

    @always_inline
    def __iter__(self) -> Self:
        """Goes through what is left."""
        return self

    @always_inline
    def has_next(self) -> Bool:
        return self._left > 0

    @always_inline
    def next(mut self) -> Reply[Self.o]:
        """Gives the next one, which must be there."""
        debug_assert[assert_mode="safe"](self._left > 0, "no more replies")
        self._left -= 1
        # SAFETY: the origin keeps the nodes, and an element is left.
        var place = self._reply._first(self._place)
        self._place = Int(self._reply._nodes[unsafe_offset=place].end)
        return self._reply._at(place)

    @always_inline
    def __next__(mut self) raises StopIteration -> Reply[Self.o]:
        if self._left == 0:
            raise StopIteration()
        return self.next()


struct RedisReply(Copyable, Movable):
    """A reply that was copied out of its connection."""

    var _nodes: List[ReplyNode]
    var _octets: List[UInt8]

    def __init__(out self, reply: Reply[_]):
        """Copies a reply.

        Args:
            reply: What is lent.
        """
        self._nodes = []
        self._octets = []
        reply.append_to(self._nodes, self._octets)

    def view(self) -> Reply[ImmOrigin(origin_of(self))]:
        """Lends the reply, as the connection lent it."""
        # SAFETY: both lists are this value's own, which the origin names.
        return Reply[ImmOrigin(origin_of(self))](
            unsafe_nodes=self._nodes, unsafe_octets=self._octets
        )


@always_inline
def _has_octets(kind: ReplyKind) -> Bool:
    """False for numbers, truths and null, which are in the node itself."""
    return (
        kind != ReplyKind.INTEGER
        and kind != ReplyKind.BOOLEAN
        and kind != ReplyKind.NULL
    )


comptime _DIGITS_MAX = 19
# Of a number of 64 bits.


def read_integer(octets: Span[UInt8, _], mut number: Int) -> Bool:
    """Reads a whole number of 64 bits: digits, with a sign or not. False if it
    is none, or too large."""
    var start = 0
    var is_negative = False
    if len(octets) > 0 and (octets.at(0) == 0x2D or octets.at(0) == 0x2B):
        is_negative = octets.at(0) == 0x2D
        start = 1
    var count = len(octets) - start
    if count < 1 or count > _DIGITS_MAX:
        return False
    var value = UInt64(0)
    for index in range(start, len(octets)):
        var digit = octets.at(index) - 48
        if digit > 9:
            return False
        value = value * 10 + UInt64(digit)
    var limit = UInt64(1) << 63
    if value > limit or (value == limit and not is_negative):
        return False
    number = Int(~value + 1) if is_negative else Int(value)
    return True
