"""Which node of Redis a hub speaks to, and where in a stream it begins."""

from flare.bytes.ascii import find_octet
from flare.bytes.checked import *
from flare.redis.client import RedisClient
from flare.redis.config import RedisConfig
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.hash_slot import read_redirection
from flare.sys.clock import monotonic_ms

comptime TURN_MAX = 4
"""How often one exchange may go elsewhere."""


struct RedisWay(Copyable, Movable):
    """The node that has a hub's stream. In a cluster that may be another one
    than the program has named, and another one each time."""

    var config: RedisConfig
    """The node that is asked now."""
    var is_asking: Bool
    """True while the stream is only on its way to that node, which takes a
    command of it after ASKING alone."""
    var _first: RedisConfig

    def __init__(out self, config: RedisConfig):
        """Begins with the node that the program names."""
        self.config = config.copy()
        self.is_asking = False
        self._first = config.copy()

    def turns(mut self, error: RedisError) -> Bool:
        """Goes where a node says that the stream is; back to the first one if
        it has gone from there. Tells whether another node is to be asked."""
        if (
            error.kind == RedisErrorKind.MOVED
            or error.kind == RedisErrorKind.ASK
        ):
            return self._follow(error)
        var is_gone = (
            error.kind == RedisErrorKind.CONNECT_FAILED
            or error.kind == RedisErrorKind.CLUSTER_DOWN
        )
        if is_gone and self._is_elsewhere():
            self.config = self._first.copy()
            self.is_asking = False
            return True
        return False

    def announce(self, mut client: RedisClient) raises RedisError:
        """Says what the node has to hear before a command of the stream."""
        if self.is_asking:
            _ = client.command("ASKING")

    def _is_elsewhere(self) -> Bool:
        return (
            self.config.host != self._first.host
            or self.config.port != self._first.port
            or self.config.unix_path != self._first.unix_path
        )

    def _follow(mut self, error: RedisError) -> Bool:
        try:
            var there = read_redirection(error.message)
            # A node that does not know its own name leaves it out.
            if there.host.byte_length() > 0:
                self.config.host = there.host
            self.config.port = there.port
            self.config.unix_path = String()
            self.is_asking = error.kind == RedisErrorKind.ASK
            return True
        except:
            # It names no node: then it is an error as any other.
            return False


def last_id(
    way: RedisWay, mut client: RedisClient, key: String
) raises RedisError -> String:
    """Asks for the newest entry of a stream."""
    way.announce(client)
    var reply = client.command("XREVRANGE", key, "+", "-", "COUNT", 1)
    reply.check()
    if len(reply) == 0:
        return String("0-0")
    return String(reply[0][0].text())


def is_before(id: StringSpan, other: StringSpan) -> Bool:
    """Tells whether an entry stands before another in a stream, by their ids:
    milliseconds and a sequence number, decimal and without leading zeros."""
    var time = _before_dash(id)
    var other_time = _before_dash(other)
    if time != other_time:
        return _is_less(time.as_bytes(), other_time.as_bytes())
    # What follows has the same length before it.
    return _is_less(id.as_bytes(), other.as_bytes())


def _before_dash(id: StringSpan) -> String:
    var octets = id.as_bytes()
    var end = find_octet(octets, 0x2D)
    return String(StringSpan(unsafe_from_utf8=octets.before(end)))


def _is_less(digits: Span[UInt8, _], other: Span[UInt8, _]) -> Bool:
    if len(digits) != len(other):
        return len(digits) < len(other)
    for index in range(len(digits)):
        if digits.at(index) != other.at(index):
            return digits.at(index) < other.at(index)
    return False


def id_of_time(
    way: RedisWay, mut client: RedisClient, key: String, begun_ms: Int
) raises RedisError -> String:
    """Finds from where a process reads that began while Redis was away: what
    waited for Redis meanwhile comes after it. Returns the last entry's id if
    the user may not ask for the time."""
    try:
        var time = client.command("TIME")
        var now_ms = 1_000 * time[0].integer() + time[1].integer() // 1_000
        # Rather one that was said right before than one too few.
        var age_ms = monotonic_ms() - begun_ms + 1
        return String(max(now_ms - age_ms, 0), "-0")
    except error:
        if error.kind != RedisErrorKind.NO_PERMISSION:
            raise error.copy()
    return last_id(way, client, key)
