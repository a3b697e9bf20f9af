"""Upstreams of one kind: which of them a request goes to, without clock and socket."""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.http.exchange.retry_rules import (
    DECISION_COUNT,
    EndedAttempt,
    RetryBudget,
    RetryDecision,
    RetryRules,
    decide_retry,
)
from flare.http.proxy.upstreams.group_config import Balance, GroupConfig
from flare.http.proxy.upstreams.member import Member, MemberFigures, MemberPhase
from flare.http.proxy.upstreams.member_health import MemberHealth
from flare.http.proxy.upstreams.outcome import OUTCOME_COUNT, Outcome
from std.bit import count_trailing_zeros, pop_count
from std.math import log

comptime MEMBERS_MAX = 64
"""Most upstreams of a group: sets of them are the bits of one word."""

comptime REMOVED_MAX = 64
"""How many upstreams that were removed are known to have been there."""

comptime WEIGHT_MAX = 1_000

comptime _PERCENT = 100


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
        """Gives the set of this upstream alone, one bit, for
        `UpstreamGroup.choose`."""
        return UInt64(1) << UInt64(self.slot)


@fieldwise_init
struct Choice(TrivialRegisterPassable):
    """Where a request goes."""

    var member: MemberId
    """The upstream, if there is one."""
    var refusal: Outcome
    """ANSWERED if there is one; else NONE_AVAILABLE or FULL."""

    def is_member(self) -> Bool:
        """Tells whether there is an upstream; then `UpstreamGroup.finish` is
        owed."""
        return self.refusal == Outcome.ANSWERED


@fieldwise_init
struct Repetition(TrivialRegisterPassable):
    """What follows on an attempt without a good end."""

    var decision: RetryDecision
    """AGAIN, or why not."""
    var choice: Choice
    """Where the request goes again; an upstream if the decision is AGAIN, and
    none else."""


@fieldwise_init
struct Waiter(TrivialRegisterPassable):
    """A request that waits until an upstream has room."""

    var line: Int
    """Of which worker it is."""
    var token: UInt64
    """By what that knows it."""
    var key: UInt64
    """Of `hash_key`."""


@fieldwise_init
struct Placed(TrivialRegisterPassable):
    """A request that waits no longer."""

    var waiter: Waiter
    """The request."""
    var choice: Choice
    """Where it goes, or why it goes nowhere."""


@fieldwise_init
struct _Candidates(TrivialRegisterPassable):
    """Sets of members that a request may go to."""

    # All that are not draining.
    var usable: UInt64
    # Those that are asked now.
    var free: UInt64
    # Those that would be, had they fewer requests.
    var full: UInt64


struct UpstreamGroup(Movable):
    """Upstreams that are alike, and what is known of each.

    Pure: times are given, in milliseconds of a clock that does not go back, and
    random numbers come from a seed. Several threads share one behind a `Mutex`.

    An upstream that is ejected or down is never chosen while another works; if
    none does, all are tried, since nothing would be answered otherwise.
    """

    var config: GroupConfig
    """The rules."""
    var _members: List[Member]
    var _generation: UInt32
    var _random: UInt64
    var _budget: RetryBudget
    # How many requests had no good end, by outcome and by why they were not
    # repeated.
    var _failed: List[Int]
    var _retry_count: Int
    # The one that came first stands first.
    var _waiting: List[Waiter]
    var _placed: List[Placed]
    # Addresses that have left, for `is_drained`; the last one stands last.
    var _removed: List[String]

    def __init__(
        out self, var config: GroupConfig, *, seed: UInt64, now_ms: Int
    ) raises:
        """Makes a group without upstreams.

        Args:
            seed: What random numbers begin with.
            now_ms: The time.

        Raises:
            Error: If the rules contradict themselves.
        """
        config.check()
        self._budget = RetryBudget.in_window(
            config.retry_share_percent,
            config.retry_min,
            config.failure_window_ms,
            now_ms,
        )
        self.config = config^
        self._members = []
        self._generation = 0
        self._random = seed
        self._failed = List[Int](length=OUTCOME_COUNT * DECISION_COUNT, fill=0)
        self._retry_count = 0
        self._waiting = []
        self._placed = []
        self._removed = []

    @no_inline
    def __deinit__(deinit self):
        return

    def add(
        mut self, var address: String, weight: Int = 1, *, now_ms: Int
    ) raises -> MemberId:
        """Adds an upstream, and gives it; one of the address that is draining
        comes back.

        Args:
            address: Where it is, in the words of the configuration.
            weight: Its share, beside those of others; from 1 to `WEIGHT_MAX`.

        Raises:
            Error: If there are too many, the weight is none, or the address is
                there.
        """
        _check_weight(address, weight)
        var found = self._find(address)
        if found < 0:
            var health = MemberHealth(now_ms, len(self._members) > 0)
            var slot = self._make(address, String(), health)
            if slot < 0:
                raise Error(
                    "upstream ", address, ": a group has at most ", MEMBERS_MAX
                )
            self._members.at(slot).weight = weight
            self.place_waiting(now_ms)
            return self._id(slot, False)
        if not self._members.at(found).phase.is_draining():
            raise Error("upstream ", address, ": it is in the group")
        for ref old in self._members:
            if old.is_of(address) and not old.is_gone:
                old.phase = MemberPhase.SERVING
                old.weight = weight
        self.place_waiting(now_ms)
        return self._id(found, False)

    def _make(
        mut self, address: String, ip: String, health: MemberHealth
    ) -> Int:
        """Makes a member; its place, or -1 if there is none for it."""
        var slot = 0
        while (
            slot < len(self._members)
            and self._members.at(slot).phase.is_there()
        ):
            slot += 1
        if slot == MEMBERS_MAX:
            return -1
        self._generation += 1
        var member = Member(address, ip, self._generation, health.copy())
        if slot == len(self._members):
            self._members.append(member^)
        else:
            self._members.at(slot) = member^
        return slot

    def set_addresses(
        mut self, address: StringSpan, ips: Span[String, _], *, now_ms: Int
    ) -> List[Int]:
        """Says which IP addresses the name of an upstream has. Each of them is
        an upstream from now on, with a health of its own and the weight of all.
        New ones join, and those that the name has no more leave when their last
        request has ended.

        Args:
            ips: The addresses, each once. Without any nothing changes, nor for
                an upstream that is being removed: the look-up has begun before.

        Returns:
            The place of each; -1 for one for which there is none.
        """
        var slots = List[Int](length=len(ips), fill=-1)
        var first = self._find(address)
        if first < 0 or self._members.at(first).phase == MemberPhase.LEAVING:
            return slots^
        var like = self._members.at(first).copy()
        if len(ips) == 1 and like.ip.byte_length() == 0:
            # Its connections lead there already.
            self._members.at(first).take_ip(ips.at(0))
        self._make_room(address, ips)
        # Those of the first look-up have nobody to lean on.
        var health = MemberHealth(now_ms, like.ip.byte_length() > 0)
        var kept: UInt64 = 0
        for index in range(len(ips)):
            var slot = self._find_ip(address, ips.at(index))
            if slot < 0:
                slot = self._make(like.address, ips.at(index), health)
            if slot < 0:
                continue
            slots.at(index) = slot
            kept |= UInt64(1) << UInt64(slot)
            ref member = self._members.at(slot)
            member.is_gone = False
            member.weight = like.weight
            member.phase = like.phase
        if kept == 0:
            return slots^
        for slot in range(len(self._members)):
            ref member = self._members.at(slot)
            if member.is_of(address) and (kept >> UInt64(slot)) & 1 == 0:
                member.is_gone = True
                member.leave()
        self.place_waiting(now_ms)
        return slots^

    def _make_room(mut self, address: StringSpan, ips: Span[String, _]):
        """Lets addresses go that a name has no more and that have no request, as
        far as new ones need their places."""
        var missing = 0
        for index in range(len(ips)):
            missing += 1 if self._find_ip(address, ips.at(index)) < 0 else 0
        var free = MEMBERS_MAX
        for ref member in self._members:
            free -= Int(member.phase.is_there())
        for ref member in self._members:
            if free >= missing:
                return
            if (
                member.is_of(address)
                and member.active_count == 0
                and not _is_among(member.ip, ips)
            ):
                member.is_gone = True
                member.leave()
                free += 1

    def set_weight(mut self, address: StringSpan, weight: Int) raises:
        """Changes the share of an upstream.

        Raises:
            Error: If there is no such upstream, or the weight is none.
        """
        _check_weight(address, weight)
        if self._find(address) < 0:
            raise Error("upstream ", address, ": it is not in the group")
        for ref member in self._members:
            if member.is_of(address):
                member.weight = weight

    def drain(mut self, address: StringSpan, *, now_ms: Int) -> Bool:
        """Sends an upstream no more requests, and gives False if there is no
        such upstream; those it has go on. Those that wait are refused if it was
        the last."""
        for ref member in self._members:
            if member.is_of(address):
                member.phase.drain()
        self.place_waiting(now_ms)
        return self._find(address) >= 0

    def remove(mut self, address: StringSpan, *, now_ms: Int) -> Bool:
        """Drains an upstream, and forgets it when its last request has ended;
        gives False if there is none."""
        var is_there = self._find(address) >= 0
        if is_there:
            var index = self._find_removed(address)
            if index >= 0:
                _ = self._removed.pop(index)
            self._removed.append(String(address))
            if len(self._removed) > REMOVED_MAX:
                _ = self._removed.pop(0)
        for ref member in self._members:
            if member.is_of(address):
                member.leave()
        self.place_waiting(now_ms)
        return is_there

    def is_drained(self, address: StringSpan) raises -> Bool:
        """Tells whether an upstream may be stopped: it has no request, and gets
        none; so of one that was removed, as long as fewer than `REMOVED_MAX`
        others were since.

        Raises:
            Error: If there is and was no such upstream; it names those of the
                group.
        """
        var is_there = False
        for ref member in self._members:
            if member.is_of(address):
                is_there = True
                if not member.phase.is_draining() or member.active_count > 0:
                    return False
        if not is_there and self._find_removed(address) < 0:
            raise Error(
                "upstream ",
                address,
                ": it is not in the group, which has ",
                self._told(),
            )
        return True

    def _find_removed(self, address: StringSpan) -> Int:
        for index in range(len(self._removed)):
            if StringSpan(self._removed.at(index)) == address:
                return index
        return -1

    def _told(self) -> String:
        """Names the members, each address once."""
        var text = String()
        for slot in range(len(self._members)):
            ref address = self._members.at(slot).address
            if self._find(address) != slot:
                continue
            text.write(", " if text.byte_length() > 0 else "", address)
        return text^ if text.byte_length() > 0 else String("none")

    def has(self, address: StringSpan) -> Bool:
        """Tells whether an upstream is there, if only draining."""
        return self._find(address) >= 0

    def _find(self, address: StringSpan) -> Int:
        """Finds the first member of an address that it still stands for."""
        for slot in range(len(self._members)):
            ref member = self._members.at(slot)
            if member.is_of(address) and not member.is_gone:
                return slot
        return -1

    def _find_ip(self, address: StringSpan, ip: StringSpan) -> Int:
        for slot in range(len(self._members)):
            ref member = self._members.at(slot)
            if member.is_of(address) and StringSpan(member.ip) == ip:
                return slot
        return -1

    def _id(self, slot: Int, is_trial: Bool) -> MemberId:
        return MemberId(
            UInt16(slot), is_trial, self._members.at(slot).generation
        )

    def address(self, member: MemberId) -> String:
        """Tells the address of an upstream; empty if it has left.

        Args:
            member: One of this group.
        """
        if not self._is_there(member):
            return String()
        return self._members.at(Int(member.slot)).address

    def _is_there(self, member: MemberId) -> Bool:
        var slot = Int(member.slot)
        if slot >= len(self._members):
            return False
        ref found = self._members.at(slot)
        return found.phase.is_there() and found.generation == member.generation

    def choose(mut self, key: UInt64, tried: UInt64, now_ms: Int) -> Choice:
        """Chooses an upstream for a request, and counts it there; gives it, or
        why there is none.

        Args:
            key: Of `hash_key`; only `Balance.CONSISTENT_HASH` looks at it.
            tried: The bits of those that have failed this request; they are
                asked again only if there is no other.
        """
        if tried == 0:
            self._budget.note_request(now_ms)
        return self._choose(key, tried, now_ms)

    def _choose(mut self, key: UInt64, tried: UInt64, now_ms: Int) -> Choice:
        if len(self._waiting) > 0:
            # Nobody overtakes.
            self.place_waiting(now_ms)
            if len(self._waiting) > 0:
                return self._no_choice(Outcome.FULL)
        return self._choose_of(self._candidates(now_ms), key, tried, now_ms)

    def _candidates(mut self, now_ms: Int) -> _Candidates:
        var working: UInt64 = 0
        var usable: UInt64 = 0
        var admitted: UInt64 = 0
        var full: UInt64 = 0
        for slot in range(len(self._members)):
            ref member = self._members.at(slot)
            if member.phase != MemberPhase.SERVING:
                continue
            var bit = UInt64(1) << UInt64(slot)
            usable |= bit
            if member.health.is_well(now_ms):
                working |= bit
            if member.health.circuit.admits(now_ms):
                admitted |= bit
            if member.is_full(self.config):
                full |= bit
        admitted &= working if working != 0 else usable
        return _Candidates(usable, admitted & ~full, admitted & full)

    def _choose_of(
        mut self, found: _Candidates, key: UInt64, tried: UInt64, now_ms: Int
    ) -> Choice:
        if found.usable == 0:
            return self._no_choice(Outcome.NONE_AVAILABLE)
        var candidates = found.free
        if candidates == 0:
            return self._no_choice(Outcome.FULL)
        if (candidates & ~tried) != 0:
            candidates &= ~tried
        var slot = self._pick(candidates, key, now_ms)
        ref chosen = self._members.at(slot)
        chosen.active_count += 1
        var is_trial = chosen.health.circuit.begin()
        return Choice(self._id(slot, is_trial), Outcome.ANSWERED)

    def wait(mut self, waiter: Waiter, now_ms: Int) -> Bool:
        """Has a request wait that `choose` has refused with FULL, after those
        that wait already, and gives False if it may not: too many do, or no
        upstream lacks but room. If True, `take_placed` tells of it some time,
        unless it leaves.

        Args:
            waiter: The request.
        """
        var may_wait = self.config.queue_timeout_ms > 0
        if not may_wait or (
            len(self._waiting) >= self.config.max_queued_requests
        ):
            return False
        var found = self._candidates(now_ms)
        if (found.full | found.free) == 0:
            return False
        self._waiting.append(waiter)
        self.place_waiting(now_ms)
        return True

    def stop_waiting(mut self, line: Int, token: UInt64) -> Bool:
        """Takes out a request that waits no longer; gives False if it does not
        wait.

        Args:
            line: Of which worker it is.
            token: By what that knows it.
        """
        for index in range(len(self._waiting)):
            ref waiter = self._waiting.at(index)
            if waiter.line == line and waiter.token == token:
                _ = self._waiting.pop(index)
                return True
        return False

    def first_line(self) -> Int:
        """Tells whose turn is next: the worker of the request that has waited
        longest; -1 if none waits."""
        return self._waiting.at(0).line if len(self._waiting) > 0 else -1

    def next_place_ms(self, now_ms: Int) -> Int:
        """Tells when `place_waiting` is to be called though nothing has
        happened: an ejection ends, or a circuit lets a request try. `NEVER` if
        nobody waits, or time alone changes nothing."""
        var next_ms = NEVER
        if len(self._waiting) == 0:
            return next_ms
        for ref member in self._members:
            if member.phase == MemberPhase.SERVING:
                next_ms = min(next_ms, member.health.next_change_ms(now_ms))
        return next_ms

    def stop_line(mut self, line: Int):
        """Takes out all requests of a worker."""
        for index in range(len(self._waiting) - 1, -1, -1):
            if self._waiting.at(index).line == line:
                _ = self._waiting.pop(index)

    def waiting_count(self) -> Int:
        """Counts the requests that wait."""
        return len(self._waiting)

    @always_inline
    def has_placed(self) -> Bool:
        """Tells whether `take_placed` has something to tell."""
        return len(self._placed) > 0

    def take_placed(mut self) -> List[Placed]:
        """Takes the requests that have left the queue since the last call, the
        first one first; `finish` is owed for each that has an upstream."""
        var placed = List[Placed]()
        swap(placed, self._placed)
        return placed^

    def place_waiting(mut self, now_ms: Int):
        """Gives what room there is to those that came first. If there is none to
        come, since no upstream works, nobody is left waiting.

        Whatever changes the group does so by itself; but for time, see
        `next_place_ms`."""
        while len(self._waiting) > 0:
            var found = self._candidates(now_ms)
            if found.free == 0 and found.full != 0:
                return
            var waiter = self._waiting.pop(0)
            var choice = self._choose_of(found, waiter.key, 0, now_ms)
            self._placed.append(Placed(waiter, choice))

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

    def finish(
        mut self,
        member: MemberId,
        outcome: Outcome,
        now_ms: Int,
        *,
        elapsed_us: Int = 0,
    ):
        """Takes note of how an attempt ended; once for each choice.

        Args:
            member: Which upstream was chosen.
            outcome: How it ended.
            elapsed_us: How long it took, in microseconds; not counted of what
                the client has broken off.
        """
        if self._is_there(member):
            self._end(member, outcome, now_ms, elapsed_us)
            self.place_waiting(now_ms)

    def _end(
        mut self,
        member: MemberId,
        outcome: Outcome,
        now_ms: Int,
        elapsed_us: Int,
    ):
        """Changes but the one member."""
        ref found = self._members.at(Int(member.slot))
        found.active_count -= 1
        found.outcome_counts.at(Int(outcome.code)) += 1
        if outcome != Outcome.CANCELLED:
            found.durations.add(elapsed_us)
        var is_bad = found.health.end_request(
            outcome, self.config, member.is_trial, now_ms
        )
        found.phase.note_active(found.active_count)
        if not found.phase.is_there():
            return
        if is_bad and self._may_eject(now_ms):
            self._members.at(Int(member.slot)).health.eject(self.config, now_ms)

    def _may_eject(self, now_ms: Int) -> Bool:
        """Bounds the share of upstreams that are ejected: what all of them fail
        at is no one's fault."""
        var count = 0
        var ejected_count = 0
        for ref member in self._members:
            if member.phase == MemberPhase.SERVING:
                count += 1
                if member.health.is_ejected(now_ms):
                    ejected_count += 1
        var share = self.config.ejected_share_max_percent
        if count < 2 or share == 0:
            return False
        return ejected_count + 1 <= max(count * share // _PERCENT, 1)

    def repeat(
        mut self,
        outcome: Outcome,
        ended: EndedAttempt,
        key: UInt64,
        tried: UInt64,
        now_ms: Int,
    ) -> Repetition:
        """Sends a request once more whose attempt has ended, by `finish`, without
        an answer: if that may be, and there is an upstream for it. What is not
        sent once more counts as a request that failed, and why. An attempt of
        which nothing has left was no load, and takes nothing of the budget.

        Args:
            outcome: How it ended, for the figures.
            ended: What is known of it, for the rules.

        Returns:
            Where it goes, or why it goes nowhere.
        """
        var decision = self._may_repeat(ended, now_ms)
        var choice = self._no_choice(Outcome.FULL)
        if decision.is_again():
            choice = self._choose(key, tried, now_ms)
        return self._repetition(outcome, ended, decision, choice, now_ms)

    def replace(
        mut self,
        member: MemberId,
        outcome: Outcome,
        ended: EndedAttempt,
        key: UInt64,
        tried: UInt64,
        now_ms: Int,
        *,
        elapsed_us: Int = 0,
    ) -> Repetition:
        """Sends a request once more whose attempt has an answer, which may be
        passed on: that ends only if there is an upstream for another one. Else
        nothing has changed, and `finish` is still owed for it.

        Args:
            member: Which upstream has answered. Where no other one has room, it
                may be asked again.
            outcome: What it has answered.
            ended: What is known of the attempt.
            tried: The bits of the upstreams that have failed this request, and of
                this one.

        Returns:
            Where it goes, or why the answer is to be passed on.
        """
        var decision = self._may_repeat(ended, now_ms)
        var choice = self._no_choice(Outcome.FULL)
        # Who waits takes what is free now, or what the attempt leaves behind.
        self.place_waiting(now_ms)
        if (
            decision.is_again()
            and len(self._waiting) == 0
            and self._is_there(member)
        ):
            var slot = Int(member.slot)
            var before = self._members.at(slot).copy()
            self._end(member, outcome, now_ms, elapsed_us)
            choice = self._choose(key, tried, now_ms)
            if not choice.is_member():
                self._members.at(slot) = before^
        return self._repetition(outcome, ended, decision, choice, now_ms)

    def _may_repeat(
        mut self, ended: EndedAttempt, now_ms: Int
    ) -> RetryDecision:
        ref config = self.config
        var decision = decide_retry(
            ended,
            RetryRules(
                config.max_attempts, True, True, config.retries_timeouts
            ),
        )
        if (
            decision.is_again()
            and ended.was_sent
            and not self._budget.has_left(now_ms)
        ):
            return RetryDecision.NO_BUDGET
        return decision

    def _repetition(
        mut self,
        outcome: Outcome,
        ended: EndedAttempt,
        decision: RetryDecision,
        choice: Choice,
        now_ms: Int,
    ) -> Repetition:
        """Counts what is made, or why not."""
        if choice.is_member():
            self._retry_count += 1
            if ended.was_sent:
                _ = self._budget.take(now_ms)
            return Repetition(decision, choice)
        var why = decision
        if why.is_again():
            why = RetryDecision.NO_UPSTREAM
        self.count_failed(outcome, why)
        return Repetition(why, choice)

    def count_failed(mut self, outcome: Outcome, decision: RetryDecision):
        """Counts a request that has failed.

        Args:
            decision: Why there is no other. NOT_NEEDED is no failure.
        """
        if decision != RetryDecision.NOT_NEEDED:
            var place = Int(outcome.code) * DECISION_COUNT
            self._failed.at(place + Int(decision.code)) += 1

    def retry_count(self) -> Int:
        """Counts the attempts beyond the first of a request."""
        return self._retry_count

    def failed_count(self, outcome: Outcome, decision: RetryDecision) -> Int:
        """Counts requests that failed."""
        return self._failed.at(
            Int(outcome.code) * DECISION_COUNT + Int(decision.code)
        )

    def next_check(mut self, now_ms: Int) -> Optional[MemberId]:
        """Finds an upstream that is to be checked now, and takes note of it:
        `end_check` is owed for it; nothing if none is due."""
        if self.config.health_path.byte_length() == 0:
            return None
        for slot in range(len(self._members)):
            ref member = self._members.at(slot)
            if member.phase.is_there() and member.health.wants_check(now_ms):
                member.health.begin_check()
                return self._id(slot, False)
        return None

    def end_check(mut self, member: MemberId, is_good: Bool, now_ms: Int):
        """Takes note of a check.

        Args:
            member: Which upstream was checked.
            is_good: True if it answered in time, with a status from 200 to 399.
        """
        if self._is_there(member):
            self._members.at(Int(member.slot)).health.end_check(
                is_good, self.config, now_ms
            )
            self.place_waiting(now_ms)

    def figures(self, now_ms: Int) -> List[MemberFigures]:
        """Copies what is to be told of each upstream that is there, in order of
        their places."""
        var found = List[MemberFigures]()
        for ref member in self._members:
            if member.phase.is_there():
                found.append(MemberFigures(member, now_ms))
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


def _is_among(ip: String, ips: Span[String, _]) -> Bool:
    for index in range(len(ips)):
        if ips.at(index) == ip:
            return True
    return False
