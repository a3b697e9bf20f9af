"""Pipelines over a cluster: the slot of each command, and replies of several
nodes in the order of the commands."""

from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.redis.core.any_command import GivenKey
from flare.redis.core.command import KeyPlace, is_read, key_place
from flare.redis.core.error import OWN_ERROR_MARK, RedisError, RedisErrorKind
from flare.redis.core.hash_slot import key_slot
from flare.redis.core.reply import Reply, ReplyKind, ReplyNode

comptime _KEPT_LEN_MAX = 1 << 20
# Octets of replies whose memory is kept for the next pipeline.
comptime _WORD_LEN_MAX = 32
# Longer than any command.


@fieldwise_init
struct RoutedCommand(Copyable, Movable):
    """One command of a pipeline, and where it belongs."""

    var start: Int
    """Where it begins in the octets of the pipeline."""
    var end: Int
    var slot: Int
    """The slot of its first key, or of the channel it publishes to."""
    var is_repeatable: Bool
    """True if nothing changes when it is carried out twice."""


def route_commands(
    octets: Span[UInt8, _], given: List[GivenKey] = List[GivenKey]()
) raises RedisError -> List[RoutedCommand]:
    """Finds the commands of a pipeline, and the slot of each, in order; `given`
    says where callers know keys to be, in the same order.

    A message that is published reaches the whole cluster from any node (Redis
    Cluster specification); its channel serves as a key, so that all of one
    channel take one way, in order. Raises if a command has no key to tell its
    node by (`BAD_ARGUMENT`); it names the command and its place.
    """
    var routed = List[RoutedCommand]()
    var reader = _CommandReader(0)
    var given_count = 0
    while reader.offset < len(octets):
        var start = reader.offset
        var count = reader.header(octets, 0x2A)
        var name = _upper(octets, reader.bulk(octets))
        var is_given = given_count < len(given) and (
            given.at(given_count).command == len(routed)
        )
        # All messages of one channel take one way.
        var place = KeyPlace(0 if name == "PUBLISH" else key_place(name))
        var has_count = not is_given and place.index > 0 and _has_count(name)
        if is_given:
            place = KeyPlace(given.at(given_count).index)
            given_count += 1
        var key = _Range(-1, -1)
        var has_keys = True
        for index in range(count - 1):
            var argument = reader.bulk(octets)
            var text = octets.between(argument.start, argument.end)
            if place.is_key(index, text):
                key = argument
            elif has_count and index == place.index - 1:
                # With none what follows is an argument.
                has_keys = not same_octets(text, "0".as_bytes())
        if key.start < 0 or not has_keys:
            raise _unroutable(name, len(routed) + 1)
        var slot = key_slot(octets.between(key.start, key.end))
        var is_repeatable = is_read(name.as_bytes())
        routed.append(RoutedCommand(start, reader.offset, slot, is_repeatable))
    return routed^


def _has_count(name: String) -> Bool:
    """Tells whether the argument before the first key, if there is one, says
    how many keys there are."""
    return not (
        name == "OBJECT"
        or name == "XGROUP"
        or name == "XINFO"
        or name == "BITOP"
    )


@no_inline
def _unroutable(name: String, place: Int) -> RedisError:
    return RedisError(
        RedisErrorKind.BAD_ARGUMENT,
        String(
            "command ",
            place,
            " of the pipeline, ",
            name,
            (
                ", names no key, so no node of the cluster can be chosen for"
                " it; send it to each node that is meant with a RedisClient"
            ),
        ),
    )


@fieldwise_init
struct _Range(TrivialRegisterPassable):
    var start: Int
    var end: Int


@fieldwise_init
struct _CommandReader(Movable):

    var offset: Int

    def header(
        mut self, octets: Span[UInt8, _], mark: UInt8
    ) raises RedisError -> Int:
        """Reads a mark and a count, which begin a line."""
        var at = self.offset
        if at >= len(octets) or octets.at(at) != mark:
            raise _no_command(at)
        at += 1
        var start = at
        var count = 0
        while at < len(octets) and octets.at(at) - 48 <= 9 and at - start < 10:
            count = count * 10 + Int(octets.at(at) - 48)
            at += 1
        if at == start or at + 2 > len(octets) or octets.at(at) != 0x0D:
            raise _no_command(at)
        self.offset = at + 2
        return count

    def bulk(mut self, octets: Span[UInt8, _]) raises RedisError -> _Range:
        """Reads one text; gives where it is."""
        var length = self.header(octets, 0x24)
        var start = self.offset
        if length + 2 > len(octets) - start:
            raise _no_command(start)
        self.offset = start + length + 2
        return _Range(start, start + length)


@no_inline
def _no_command(offset: Int) -> RedisError:
    return RedisError(
        RedisErrorKind.BAD_ARGUMENT,
        String("no command is at byte ", offset, " of the pipeline"),
    )


def _upper(octets: Span[UInt8, _], place: _Range) -> String:
    """Copies the start of a word in upper case; `?` for what no word has."""
    var word = String()
    for index in range(
        place.start, min(place.end, place.start + _WORD_LEN_MAX)
    ):
        var octet = octets.at(index)
        if octet - 97 < 26:
            octet -= 32
        word += chr(Int(octet)) if octet > 0x20 and octet < 0x7F else "?"
    return word^


struct GatheredReplies(Defaultable, Movable):
    """Replies that came from several nodes in any order, to be lent as the
    elements of one in the order of their commands."""

    # The replies as they came: ends are counted from a reply's own start.
    var _came: List[ReplyNode]
    var _octets: List[UInt8]
    # Where the reply of each command is in `_came`; -1 if it has none.
    var _places: List[Int]
    # The same in order, after the root.
    var _nodes: List[ReplyNode]

    def begin(mut self, count: Int):
        """Forgets the replies of before, and expects those to `count` commands."""
        if self._octets.capacity() > _KEPT_LEN_MAX:
            self._octets = []
            self._came = []
            self._nodes = []
        self._came.clear()
        self._octets.clear()
        self._places.clear()
        self._places.resize(count, -1)

    def put(mut self, index: Int, reply: Reply[_]):
        """Copies the reply of a command; the last one that is put counts."""
        self._places.at(index) = len(self._came)
        reply.append_to(self._came, self._octets)

    def put_failure(mut self, index: Int, error: RedisError):
        """Notes that a command has no reply, for `Reply.error` to say why."""
        self._places.at(index) = len(self._came)
        var start = len(self._octets)
        self._octets.append(OWN_ERROR_MARK)
        self._octets.extend(error.kind.name.as_bytes())
        self._octets.append(0x20)
        if error.server.byte_length() > 0:
            self._octets.extend(error.server.as_bytes())
            self._octets.extend(": ".as_bytes())
        self._octets.extend(error.message.as_bytes())
        var length = len(self._octets) - start
        self._came.append(ReplyNode(start, length, 1, ReplyKind.ERROR))

    def error(self, index: Int) -> RedisError:
        """Gives the error that a command must have as its reply."""
        var node = self._came.at(self._places.at(index))
        return RedisError.of_reply(
            Span(self._octets).between(node.start, node.start + node.length)
        )

    def arrange(mut self):
        """Puts the replies in the order of the commands; each has one."""
        self._nodes.clear()
        self._nodes.append(ReplyNode(0, len(self._places), 0, ReplyKind.ARRAY))
        for index in range(len(self._places)):
            var base = len(self._nodes)
            var place = self._places.at(index)
            for offset in range(Int(self._came.at(place).end)):
                var node = self._came.at(place + offset)
                node.end += UInt32(base)
                self._nodes.append(node)
        self._nodes.at(0).end = UInt32(len(self._nodes))

    def lend(self) -> Reply[ImmOrigin(origin_of(self))]:
        """Lends the replies as `arrange` has put them, as the elements of one,
        until the next `begin`."""
        # SAFETY: both lists are this value's own, which the origin names.
        return Reply[ImmOrigin(origin_of(self))](
            unsafe_nodes=self._nodes, unsafe_octets=self._octets
        )
