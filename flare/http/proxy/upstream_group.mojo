"""Upstreams of one kind: which of them a request goes to, without clock and socket."""

from flare.bytes.checked import *
from flare.bytes.siphash import SipHash, SipKey
from flare.http.proxy.group_config import Balance, GroupConfig
from flare.http.proxy.member_health import MemberHealth, MemberState
from flare.http.proxy.outcome import OUTCOME_COUNT, Outcome
from flare.http.proxy.retry_rules import (
    DECISION_COUNT,
    Attempt,
    RetryBudget,
    RetryDecision,
    decide_retry,
)
from std.bit import count_trailing_zeros, pop_count
from std.math import log

comptime MEMBERS_MAX = 64
"""Most upstreams of a group: sets of them are the bits of one word."""

comptime WEIGHT_MAX = 1_000
"""The highest weight of an upstream."""

# All gateways map a key to the same upstream, so the hash has no secret.
comptime _KEY = SipKey(0x666C6172652E7570, 0x73747265616D7331)
comptime _PERCENT = 100


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


@fieldwise_init
struct MemberId(Equatable, TrivialRegisterPassable):
    """One upstream of a group, for as long as it is there."""

    var slot: UInt16
    """Its place among the members, below `MEMBERS_MAX`."""
    var is_trial: Bool
    """True for a request that tries whether a circuit may close."""
    var generation: UInt32
    """Distinct for each upstream that has had the place."""

    def bit(self) -> UInt64:
        """Makes the set of this upstream alone.

        Returns:
            One bit, for `UpstreamGroup.choose`.
        """
        return UInt64(1) << UInt64(self.slot)


@fieldwise_init
struct Choice(TrivialRegisterPassable):
    """Where a request goes."""

    var member: MemberId
    """The upstream, if there is one."""
    var refusal: Outcome
    """ANSWERED if there is one; else NONE_AVAILABLE or FULL."""

    def is_member(self) -> Bool:
        """Tells whether there is an upstream.

        Returns:
            True if so; then `UpstreamGroup.finish` is owed.
        """
        return self.refusal == Outcome.ANSWERED


struct MemberFigures(Copyable, Movable):
    """What is to be told of one upstream."""

    var address: String
    """Where it is."""
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

    def __init__(out self, member: _Member, now_ms: Int):
        """Copies the figures.

        Args:
            member: The upstream.
            now_ms: The time.
        """
        self.address = member.address
        self.weight = member.weight
        self.state = member.health.state(now_ms)
        if member.is_draining:
            self.state = MemberState.DRAINING
        self.active_count = member.active_count
        self.outcome_counts = member.outcome_counts.copy()
        self.ejection_count = member.health.ejection_count


struct _Member(Copyable, Movable):
    var address: String
    var weight: Int
    var generation: UInt32
    var is_there: Bool
    var is_draining: Bool
    # Leaves its place when its last request has ended.
    var is_leaving: Bool
    var active_count: Int
    var turn: Int
    var seed: UInt64
    var health: MemberHealth
    var outcome_counts: List[Int]

    def __init__(
        out self,
        var address: String,
        weight: Int,
        generation: UInt32,
        var health: MemberHealth,
    ):
        self.seed = hash_key(address.as_bytes())
        self.address = address^
        self.weight = weight
        self.generation = generation
        self.is_there = True
        self.is_draining = False
        self.is_leaving = False
        self.active_count = 0
        self.turn = 0
        self.health = health^
        self.outcome_counts = List[Int](length=OUTCOME_COUNT, fill=0)

    def has_room(self, config: GroupConfig, now_ms: Int) -> Bool:
        if config.max_requests > 0 and self.active_count >= config.max_requests:
            return False
        return self.health.circuit_admits(now_ms)


struct UpstreamGroup(Movable):
    """Upstreams that are alike, and what is known of each.

    Pure: times are given, in milliseconds of a clock that does not go back, and
    random numbers come from a seed. Several threads share one behind a `Mutex`.

    An upstream that is ejected or down is never chosen while another works; if
    none does, all are tried, since nothing would be answered otherwise.
    """

    var config: GroupConfig
    """The rules."""
    var _members: List[_Member]
    var _generation: UInt32
    var _random: UInt64
    var _budget: RetryBudget
    # How many requests had no good end, by outcome and by why they were not
    # repeated.
    var _failed: List[Int]
    var _retry_count: Int

    def __init__(
        out self, var config: GroupConfig, *, seed: UInt64, now_ms: Int
    ) raises:
        """Makes a group without upstreams.

        Args:
            config: The rules.
            seed: What random numbers begin with.
            now_ms: The time.

        Raises:
            Error: If the rules contradict themselves.
        """
        config.check()
        self.config = config^
        self._members = []
        self._generation = 0
        self._random = seed
        self._budget = RetryBudget(now_ms)
        self._failed = List[Int](length=OUTCOME_COUNT * DECISION_COUNT, fill=0)
        self._retry_count = 0

    def add(
        mut self, var address: String, weight: Int = 1, *, now_ms: Int
    ) raises -> MemberId:
        """Adds an upstream; one of the address that is draining comes back.

        Args:
            address: Where it is, in the words of the configuration.
            weight: Its share, beside those of others; from 1 to `WEIGHT_MAX`.
            now_ms: The time.

        Returns:
            The upstream.

        Raises:
            Error: If there are too many, the weight is none, or the address is
                there.
        """
        _check_weight(address, weight)
        var found = self._find(address)
        if found >= 0:
            ref old = self._members.at(found)
            if not old.is_draining:
                raise Error("upstream ", address, ": it is in the group")
            old.is_draining = False
            old.is_leaving = False
            old.weight = weight
            return self._id(found, False)
        var slot = 0
        while slot < len(self._members) and self._members.at(slot).is_there:
            slot += 1
        if slot == MEMBERS_MAX:
            raise Error(
                "upstream ", address, ": a group has at most ", MEMBERS_MAX
            )
        self._generation += 1
        var health = MemberHealth(now_ms, len(self._members) > 0)
        var member = _Member(address^, weight, self._generation, health^)
        if slot == len(self._members):
            self._members.append(member^)
        else:
            self._members.at(slot) = member^
        return self._id(slot, False)

    def set_weight(mut self, address: StringSpan, weight: Int) raises:
        """Changes the share of an upstream.

        Args:
            address: Where it is.
            weight: Its share, beside those of others.

        Raises:
            Error: If there is no such upstream, or the weight is none.
        """
        _check_weight(address, weight)
        var slot = self._find(address)
        if slot < 0:
            raise Error("upstream ", address, ": it is not in the group")
        self._members.at(slot).weight = weight

    def drain(mut self, address: StringSpan) -> Bool:
        """Sends an upstream no more requests; those it has go on.

        Args:
            address: Where it is.

        Returns:
            False if there is no such upstream.
        """
        var slot = self._find(address)
        if slot < 0:
            return False
        self._members.at(slot).is_draining = True
        return True

    def remove(mut self, address: StringSpan) -> Bool:
        """Drains an upstream, and forgets it when its last request has ended.

        Args:
            address: Where it is.

        Returns:
            False if there is no such upstream.
        """
        if not self.drain(address):
            return False
        ref member = self._members.at(self._find(address))
        member.is_leaving = True
        if member.active_count == 0:
            member.is_there = False
        return True

    def is_drained(self, address: StringSpan) -> Bool:
        """Tells whether an upstream may be stopped.

        Args:
            address: Where it is.

        Returns:
            True if it has no request, and gets none.
        """
        var slot = self._find(address)
        if slot < 0:
            return True
        ref member = self._members.at(slot)
        return member.is_draining and member.active_count == 0

    def _find(self, address: StringSpan) -> Int:
        for slot in range(len(self._members)):
            ref member = self._members.at(slot)
            if member.is_there and StringSpan(member.address) == address:
                return slot
        return -1

    def _id(self, slot: Int, is_trial: Bool) -> MemberId:
        return MemberId(
            UInt16(slot), is_trial, self._members.at(slot).generation
        )

    def address(self, member: MemberId) -> String:
        """Tells where an upstream is.

        Args:
            member: One of this group.

        Returns:
            Its address; empty if it has left.
        """
        if not self._is_there(member):
            return String()
        return self._members.at(Int(member.slot)).address

    def _is_there(self, member: MemberId) -> Bool:
        var slot = Int(member.slot)
        if slot >= len(self._members):
            return False
        ref found = self._members.at(slot)
        return found.is_there and found.generation == member.generation

    def choose(mut self, key: UInt64, tried: UInt64, now_ms: Int) -> Choice:
        """Chooses an upstream for a request, and counts it there.

        Args:
            key: Of `hash_key`; only `Balance.CONSISTENT_HASH` looks at it.
            tried: The bits of those that have failed this request; they are
                asked again only if there is no other.
            now_ms: The time.

        Returns:
            The upstream, or why there is none.
        """
        var working: UInt64 = 0
        var usable: UInt64 = 0
        var has_room: UInt64 = 0
        for slot in range(len(self._members)):
            ref member = self._members.at(slot)
            if not member.is_there or member.is_draining:
                continue
            var bit = UInt64(1) << UInt64(slot)
            usable |= bit
            if member.health.is_well(now_ms):
                working |= bit
            if member.has_room(self.config, now_ms):
                has_room |= bit
        if tried == 0:
            self._budget.note_request(self.config, now_ms)
        if usable == 0:
            return self._no_choice(Outcome.NONE_AVAILABLE)
        var candidates = (working if working != 0 else usable) & has_room
        if candidates == 0:
            return self._no_choice(Outcome.FULL)
        if (candidates & ~tried) != 0:
            candidates &= ~tried
        var slot = self._pick(candidates, key, now_ms)
        ref chosen = self._members.at(slot)
        chosen.active_count += 1
        var is_trial = chosen.health.begin_request()
        return Choice(self._id(slot, is_trial), Outcome.ANSWERED)

    def _no_choice(self, refusal: Outcome) -> Choice:
        return Choice(MemberId(0, False, 0), refusal)

    def _pick(mut self, candidates: UInt64, key: UInt64, now_ms: Int) -> Int:
        if (candidates & (candidates - 1)) == 0:
            return Int(count_trailing_zeros(candidates))
        if self.config.balance == Balance.CONSISTENT_HASH:
            return self._pick_by_key(candidates, key)
        if self.config.balance == Balance.LEAST_REQUESTS:
            return self._pick_least(candidates, now_ms)
        return self._pick_next(candidates, now_ms)

    def _weight(self, slot: Int, now_ms: Int) -> Int:
        ref member = self._members.at(slot)
        return member.weight * member.health.ramp_percent(self.config, now_ms)

    def _pick_next(mut self, candidates: UInt64, now_ms: Int) -> Int:
        """Smooth weighted round robin: each gains its weight, and who has most
        pays the sum of all. So nobody's turns come in a row while another has
        some left."""
        var total = 0
        var best = -1
        var best_turn = 0
        var rest = candidates
        while rest != 0:
            var slot = Int(count_trailing_zeros(rest))
            rest &= rest - 1
            var weight = self._weight(slot, now_ms)
            total += weight
            var turn = self._members.at(slot).turn + weight
            self._members.at(slot).turn = turn
            if best < 0 or turn > best_turn:
                best = slot
                best_turn = turn
        self._members.at(best).turn -= total
        return best

    def _pick_least(mut self, candidates: UInt64, now_ms: Int) -> Int:
        """Draws two, and takes the one with fewer requests for its weight: the
        crowd of all gateways does not run to one that has just become free."""
        var count = Int(pop_count(candidates))
        var first = Int(self._next_random() % UInt64(count))
        var second = Int(self._next_random() % UInt64(count - 1))
        if second >= first:
            second += 1
        var left = _nth_bit(candidates, first)
        var right = _nth_bit(candidates, second)
        var left_load = (
            self._members.at(left).active_count + 1
        ) * self._weight(right, now_ms)
        var right_load = (
            self._members.at(right).active_count + 1
        ) * self._weight(left, now_ms)
        return left if left_load <= right_load else right

    def _pick_by_key(self, candidates: UInt64, key: UInt64) -> Int:
        """Rendezvous hashing: each upstream draws a number for the key, and the
        highest has it. What one upstream draws does not depend on the others,
        so only its own keys move when it goes."""
        var best = -1
        var best_score = Float64(0)
        var rest = candidates
        while rest != 0:
            var slot = Int(count_trailing_zeros(rest))
            rest &= rest - 1
            ref member = self._members.at(slot)
            # Above 0 and below 1; the weight is the exponent's inverse.
            var draw = (
                Float64(Int(_mix(key ^ member.seed) >> 11)) + 0.5
            ) / Float64(1 << 53)
            var score = -Float64(member.weight) / log(draw)
            if best < 0 or score > best_score:
                best = slot
                best_score = score
        return best

    def _next_random(mut self) -> UInt64:
        self._random += 0x9E3779B97F4A7C15
        return _mix(self._random)

    def finish(mut self, member: MemberId, outcome: Outcome, now_ms: Int):
        """Takes note of how an attempt ended; once for each choice.

        Args:
            member: Which upstream was chosen.
            outcome: How it ended.
            now_ms: The time.
        """
        if not self._is_there(member):
            return
        ref found = self._members.at(Int(member.slot))
        found.active_count -= 1
        found.outcome_counts.at(Int(outcome.code)) += 1
        var is_bad = found.health.end_request(
            outcome, self.config, member.is_trial, now_ms
        )
        if found.is_leaving and found.active_count == 0:
            found.is_there = False
            return
        if is_bad and self._may_eject(now_ms):
            self._members.at(Int(member.slot)).health.eject(self.config, now_ms)

    def _may_eject(self, now_ms: Int) -> Bool:
        """Bounds the share of upstreams that are ejected: what all of them fail
        at is no one's fault."""
        var count = 0
        var ejected_count = 0
        for slot in range(len(self._members)):
            ref member = self._members.at(slot)
            if member.is_there and not member.is_draining:
                count += 1
                if member.health.is_ejected(now_ms):
                    ejected_count += 1
        var share = self.config.ejected_share_max_percent
        if count < 2 or share == 0:
            return False
        return ejected_count + 1 <= max(count * share // _PERCENT, 1)

    def may_retry(mut self, attempt: Attempt, now_ms: Int) -> RetryDecision:
        """Decides what follows on an attempt without a good end. What is not
        sent once more counts as a request that failed, and why. An attempt of
        which nothing has left was no load, and takes nothing of the budget.

        Args:
            attempt: How it ended.
            now_ms: The time.

        Returns:
            AGAIN, or why not.
        """
        var decision = decide_retry(attempt, self.config)
        if decision.is_again():
            if not attempt.was_sent or self._budget.take(self.config, now_ms):
                self._retry_count += 1
                return decision
            decision = RetryDecision.NO_BUDGET
        if decision != RetryDecision.NOT_NEEDED:
            var place = Int(attempt.outcome.code) * DECISION_COUNT
            self._failed.at(place + Int(decision.code)) += 1
        return decision

    def retry_count(self) -> Int:
        """Counts the repetitions.

        Returns:
            Attempts beyond the first of a request.
        """
        return self._retry_count

    def failed_count(self, outcome: Outcome, decision: RetryDecision) -> Int:
        """Counts requests that failed.

        Args:
            outcome: How the last attempt ended.
            decision: Why there was no other.

        Returns:
            So many.
        """
        return self._failed.at(
            Int(outcome.code) * DECISION_COUNT + Int(decision.code)
        )

    def next_check(mut self, now_ms: Int) -> Optional[MemberId]:
        """Finds an upstream that is to be checked now, and takes note of it.

        Args:
            now_ms: The time.

        Returns:
            The upstream, for which `end_check` is owed; nothing if none is due.
        """
        if self.config.health_path.byte_length() == 0:
            return None
        for slot in range(len(self._members)):
            ref member = self._members.at(slot)
            if member.is_there and member.health.wants_check(now_ms):
                member.health.begin_check()
                return self._id(slot, False)
        return None

    def end_check(mut self, member: MemberId, is_good: Bool, now_ms: Int):
        """Takes note of a check.

        Args:
            member: Which upstream was checked.
            is_good: True if it answered in time, with a status from 200 to 399.
            now_ms: The time.
        """
        if self._is_there(member):
            self._members.at(Int(member.slot)).health.end_check(
                is_good, self.config, now_ms
            )

    def figures(self, now_ms: Int) -> List[MemberFigures]:
        """Copies what is to be told of each upstream.

        Args:
            now_ms: The time.

        Returns:
            Those that are there, in order of their places.
        """
        var found = List[MemberFigures]()
        for slot in range(len(self._members)):
            if self._members.at(slot).is_there:
                found.append(MemberFigures(self._members.at(slot), now_ms))
        return found^


def _check_weight(address: StringSpan, weight: Int) raises:
    if weight < 1 or weight > WEIGHT_MAX:
        raise Error(
            "upstream ",
            address,
            ": the weight is ",
            weight,
            "; it may be from 1 to ",
            WEIGHT_MAX,
        )


def _nth_bit(bits: UInt64, index: Int) -> Int:
    """Gives the place of a bit that is set, of so many before it."""
    var rest = bits
    for _ in range(index):
        rest &= rest - 1
    return Int(count_trailing_zeros(rest))


def _mix(number: UInt64) -> UInt64:
    """Spreads all bits of a number (the finalizer of SplitMix64)."""
    var mixed = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB
    return mixed ^ (mixed >> 31)
