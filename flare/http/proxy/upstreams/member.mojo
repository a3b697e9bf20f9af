"""One upstream of a group, and what is to be told of it."""

from flare.bytes.siphash import SipHash, SipKey
from flare.http.proxy.upstreams.durations import Durations
from flare.http.proxy.upstreams.group_config import GroupConfig
from flare.http.proxy.upstreams.member_health import MemberHealth, MemberState
from flare.http.proxy.upstreams.outcome import OUTCOME_COUNT

# All gateways map a key to the same upstream, so the hash has no secret.
comptime _KEY = SipKey(0x666C6172652E7570, 0x73747265616D7331)


def hash_key(octets: Span[UInt8, _]) -> UInt64:
    """Makes a key for `Balance.CONSISTENT_HASH`, the same in every gateway.

    Args:
        octets: What requests that belong together have in common.

    Returns:
        The key.
    """
    var hash = SipHash[1, 3](materialize[_KEY]())
    hash.update(octets)
    return hash.finish()


struct MemberFigures(Copyable, Movable):
    """What is to be told of one upstream."""

    var address: String
    """Where it is, in the words of the configuration."""
    var ip: String
    """The IP address that its name has; empty if it is not named, or the name
    has not been looked up yet."""
    var weight: Int
    """Its weight."""
    var state: MemberState
    """Whether it is asked."""
    var active_count: Int
    """How many requests it has."""
    var outcome_counts: List[Int]
    """How many attempts have ended in each way, by `Outcome.code`."""
    var ejection_count: Int
    """How often it was ejected."""
    var durations: Durations
    """How long attempts have taken, but for those that the client broke off."""

    def __init__(out self, member: Member, now_ms: Int):
        """Copies the figures.

        Args:
            member: The upstream.
            now_ms: The time.
        """
        self.address = member.address
        self.ip = member.ip
        self.weight = member.weight
        self.state = member.health.state(now_ms)
        if member.phase.is_draining():
            self.state = MemberState.DRAINING
        self.active_count = member.active_count
        self.outcome_counts = member.outcome_counts.copy()
        self.ejection_count = member.health.ejection_count
        self.durations = member.durations.copy()


@fieldwise_init
struct MemberPhase(Equatable, TrivialRegisterPassable):
    """How an upstream stands to its group."""

    var number: UInt8

    comptime SERVING = MemberPhase(0)
    """It is given requests, as far as its health allows."""
    comptime DRAINING = MemberPhase(1)
    """It is given no more, and stays."""
    comptime LEAVING = MemberPhase(2)
    """It is given no more, and goes when it has answered those that it has."""
    comptime GONE = MemberPhase(3)
    """Its place is free."""

    comptime COUNT = 4

    def is_there(self) -> Bool:
        return self != Self.GONE

    def is_draining(self) -> Bool:
        """Tells whether it is there, and is given no more."""
        return self == Self.DRAINING or self == Self.LEAVING

    def drain(mut self):
        """It is to be given no more; one that leaves does so all the same."""
        if self == Self.SERVING:
            self = Self.DRAINING

    def leave(mut self, active_count: Int):
        """It is to go, with so many requests that it has to answer."""
        if self.is_there():
            self = Self.LEAVING
        self.note_active(active_count)

    def note_active(mut self, active_count: Int):
        """It has so many requests to answer."""
        if self == Self.LEAVING and active_count == 0:
            self = Self.GONE


struct Member(Copyable, Movable):

    var address: String
    # One of those that the address stands for; empty if it stands for itself.
    var ip: String
    # True if it stands for that no more.
    var is_gone: Bool
    var weight: Int
    var generation: UInt32
    var phase: MemberPhase
    var active_count: Int
    var turn: Int
    var seed: UInt64
    var health: MemberHealth
    var outcome_counts: List[Int]
    var durations: Durations

    def __init__(
        out self,
        var address: String,
        var ip: String,
        generation: UInt32,
        var health: MemberHealth,
    ):
        self.seed = hash_key(address.as_bytes())
        self.address = address^
        self.ip = String()
        self.is_gone = False
        self.weight = 1
        self.generation = generation
        self.phase = MemberPhase.SERVING
        self.active_count = 0
        self.turn = 0
        self.health = health^
        self.outcome_counts = List[Int](length=OUTCOME_COUNT, fill=0)
        self.durations = Durations()
        if ip.byte_length() > 0:
            self.take_ip(ip^)

    def take_ip(mut self, var ip: String):
        """Says which address its name has."""
        self.seed = hash_key(String(self.address, " ", ip).as_bytes())
        self.ip = ip^

    def is_of(self, address: StringSpan) -> Bool:
        return self.phase.is_there() and StringSpan(self.address) == address

    def leave(mut self):
        self.phase.leave(self.active_count)

    def is_full(self, config: GroupConfig) -> Bool:
        return config.max_requests > 0 and (
            self.active_count >= config.max_requests
        )
