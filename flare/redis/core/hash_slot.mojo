"""Hash slots of a cluster: which key is in which, and which node has it."""

from flare.bytes.ascii import find_octet
from flare.bytes.checked import *
from flare.bytes.digits import read_digits
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.reply import Reply, ReplyKind
from std.builtin.globals import global_constant

comptime SLOT_COUNT = 16_384
"""How many slots a cluster has (Redis Cluster specification)."""

comptime _NO_HOST_NAME = StaticString("?")
# What nodes say for a host name that they do not know, where names are preferred
# (cluster-preferred-endpoint-type).


def _table() -> Array[UInt16, 256]:
    var table = Array[UInt16, 256](fill=0)
    for octet in range(256):
        var remainder = UInt16(octet) << 8
        for _ in range(8):
            var is_high = (remainder & 0x8000) != 0
            remainder = remainder << 1
            if is_high:
                remainder ^= 0x1021
        table[octet] = remainder
    return table^


comptime _TABLE = _table()


def crc16(octets: Span[UInt8, _]) -> UInt16:
    """Computes the checksum that slots are made of: CRC16 of XMODEM, `0x31C3`
    for "123456789"."""
    var remainder = UInt16(0)
    for octet in octets:
        var place = Int((remainder >> 8) ^ UInt16(octet))
        remainder = (remainder << 8) ^ global_constant[_TABLE]().at(place)
    return remainder


def hash_tag[o: ImmOrigin](key: Span[UInt8, o]) -> Span[UInt8, o]:
    """Gives the part of a key that says where it is: what is between the first
    `{` and the next `}` if that is not empty, else all of it.

    Keys with the same tag are on the same node: `{user1}.name`.
    """
    for start in range(len(key)):
        if key.at(start) == 0x7B:
            for end in range(start + 1, len(key)):
                if key.at(end) == 0x7D:
                    if end == start + 1:
                        return key
                    return key.between(start + 1, end)
            return key
    return key


def key_slot(key: Span[UInt8, _]) -> Int:
    """Tells in which slot a key is.

    Args:
        key: The key.

    Returns:
        The slot, from 0 to 16383.
    """
    return Int(crc16(hash_tag(key.as_imm()))) % SLOT_COUNT


@fieldwise_init
struct Redirection(Copyable, Movable):
    """Where a node of a cluster says that a key is (MOVED, ASK)."""

    var slot: Int
    var host: String
    """The other node's host; empty if it is the one that was asked."""
    var port: UInt16


def read_redirection(message: StringSpan) raises RedisError -> Redirection:
    """Reads where a key is from an error of a node: `MOVED 3999
    127.0.0.1:6381`. Raises if it names no slot or no node (`PROTOCOL`)."""
    var octets = message.as_bytes()
    var first = find_octet(octets, 0x20, 0)
    var second = find_octet(octets, 0x20, first + 1)
    var slot = _number(octets, first + 1, second)
    # The last colon: an IPv6 address has others.
    var colon = second
    for index in range(second, len(octets)):
        if octets.at(index) == 0x3A:
            colon = index
    var port = _number(octets, colon + 1, len(octets))
    if slot < 0 or slot >= SLOT_COUNT or port < 1 or port > 65_535:
        raise RedisError(
            RedisErrorKind.PROTOCOL,
            String("a redirection names no slot and node: ", message),
        )
    var host = String(
        StringSpan(
            unsafe_from_utf8=octets.between(min(second + 1, colon), colon)
        )
    )
    if host == _NO_HOST_NAME:
        host = String()
    return Redirection(slot, host^, UInt16(port))


def _number(octets: Span[UInt8, _], start: Int, end: Int) -> Int:
    """Reads a small number; -1 if there is none."""
    if start >= end:
        return -1
    return read_digits(octets.between(start, end), 5)


struct SlotMap(Movable):
    """Which node has which slot."""

    var nodes: List[String]
    """The masters, as `host:port`."""
    # The place of the slot's node; -1 if nobody has it.
    var _owners: List[Int16]

    def __init__(out self):
        self.nodes = []
        self._owners = List[Int16](length=SLOT_COUNT, fill=Int16(-1))

    def owner(self, slot: Int) -> Optional[String]:
        """Names the node of a slot; None if it is not known."""
        if slot < 0 or slot >= SLOT_COUNT or self._owners.at(slot) < 0:
            return None
        return self.nodes.at(Int(self._owners.at(slot)))

    def set_owner(mut self, first: Int, last: Int, node: String):
        """Gives slots to a node, as `host:port`."""
        var place = -1
        for index in range(len(self.nodes)):
            if self.nodes.at(index) == node:
                place = index
        if place < 0:
            place = len(self.nodes)
            self.nodes.append(node)
        for slot in range(max(first, 0), min(last + 1, SLOT_COUNT)):
            self._owners.at(slot) = Int16(place)


def read_slots(
    reply: Reply[_], asked_host: StringSpan
) raises RedisError -> SlotMap:
    """Reads the answer to `CLUSTER SLOTS` of a host: a node that does not know
    its own address gives none."""
    var map = SlotMap()
    var ranges = reply.__iter__()
    reply.check()
    while ranges.has_next():
        var slots = ranges.next()
        var master = slots[2]
        var host = _host_of(master, asked_host)
        var port = master[1].integer()
        if port < 1 or port > 65_535:
            # Nobody can connect there; who asks for such a slot is told so.
            continue
        var node = node_name(host, UInt16(port))
        map.set_owner(slots[0].integer(), slots[1].integer(), node)
    return map^


def _host_of(
    node: Reply[_], asked_host: StringSpan
) raises RedisError -> String:
    """Reads where a node is: its name or address; the address behind its id if
    host names are preferred and it has none; else the host that was asked."""
    if not node[0].is_null() and len(node[0].octets()) > 0:
        var name = node[0].text()
        if not (name == _NO_HOST_NAME):
            return String(name)
        if len(node) > 3:
            var address = node[3].find("ip")
            if address and address.held().kind() == ReplyKind.BULK:
                if len(address.held().octets()) > 0:
                    return String(address.held().text())
    return String(asked_host)


def node_name(host: StringSpan, port: UInt16) -> String:
    return String(host, ":", port)
