"""Which upstream a request goes to: shares, keys, drain, and walks beside a model."""

from flare.bytes.checked import *
from flare.http.proxy.upstreams.group_config import Balance
from flare.http.proxy.upstreams.member import hash_key
from flare.http.proxy.upstreams.outcome import Outcome
from flare.http.proxy.upstreams.upstream_group import (
    MEMBERS_MAX,
    REMOVED_MAX,
    MemberId,
    UpstreamGroup,
)
from std.bit import pop_count
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
from tests.support.upstreams import (
    group_of,
    member_name,
    next_slot,
    quiet_config,
)


def test_round_robin_is_smooth() raises:
    var group = group_of(quiet_config(), [5, 1, 1])
    var order = String()
    for _ in range(14):
        order += member_name(next_slot(group))
    assert_equal(order, "aabacaaaabacaa")


def test_shares_are_those_of_the_weights() raises:
    var cases: List[Balance] = [Balance.ROUND_ROBIN, Balance.CONSISTENT_HASH]
    for balance in cases:
        var config = quiet_config()
        config.balance = balance
        var weights: List[Int] = [1, 2, 3, 10]
        var group = group_of(config^, weights)
        var counts = List[Int](length=4, fill=0)
        comptime count = 16_000
        for index in range(count):
            counts.at(next_slot(group, hash_key(String(index).as_bytes()))) += 1
        for index in range(4):
            var wanted = count * weights.at(index) // 16
            assert_true(
                abs(counts.at(index) - wanted) * 10 <= wanted,
                String(balance.code, " ", index, " ", counts.at(index)),
            )


def test_least_requests_keeps_loads_even() raises:
    # Requests that never end: two draws keep the fullest within a few of the
    # emptiest, where one draw would not.
    var config = quiet_config()
    config.balance = Balance.LEAST_REQUESTS
    var group = group_of(config^, [1, 1, 1, 1, 1, 1, 1, 1])
    for _ in range(8_000):
        _ = group.choose(0, 0, 0)
    var least = 8_000
    var most = 0
    for member in group.figures(0):
        least = min(least, member.active_count)
        most = max(most, member.active_count)
    assert_true(most - least <= 12, String(least, " ", most))
    # By weight: three times as many.
    config = quiet_config()
    config.balance = Balance.LEAST_REQUESTS
    group = group_of(config^, [3, 1])
    for _ in range(4_000):
        _ = group.choose(0, 0, 0)
    assert_true(abs(group.figures(0).at(0).active_count - 3_000) <= 10)


def test_a_key_stays_and_few_move() raises:
    var config = quiet_config()
    config.balance = Balance.CONSISTENT_HASH
    var group = group_of(config^, [1, 1, 1, 1, 1])
    var before = List[Int]()
    for index in range(5_000):
        before.append(next_slot(group, hash_key(String(index).as_bytes())))
    for index in range(5_000):
        var again = next_slot(group, hash_key(String(index).as_bytes()))
        assert_equal(again, before.at(index))
    # Only the keys of the one that goes move.
    assert_true(group.drain("c", now_ms=0))
    for index in range(5_000):
        var after = next_slot(group, hash_key(String(index).as_bytes()))
        if before.at(index) == 2:
            assert_true(after != 2)
        else:
            assert_equal(after, before.at(index))
    # It comes back to its own keys, and one more gets a sixth of all.
    _ = group.add("c", now_ms=0)
    _ = group.add("f", now_ms=0)
    var moved = 0
    for index in range(5_000):
        var after = next_slot(group, hash_key(String(index).as_bytes()))
        if after != before.at(index):
            assert_equal(after, 5)
            moved += 1
    assert_true(abs(moved - 833) < 120, String(moved))


def test_keys_do_not_depend_on_order_or_process() raises:
    var config = quiet_config()
    config.balance = Balance.CONSISTENT_HASH
    var one = UpstreamGroup(config.copy(), seed=1, now_ms=0)
    var two = UpstreamGroup(config^, seed=2, now_ms=9)
    for name in ["a", "b", "c"]:
        _ = one.add(String(name), now_ms=0)
    for name in ["c", "a", "b"]:
        _ = two.add(String(name), now_ms=9)
    for index in range(300):
        var key = hash_key(String(index).as_bytes())
        var left = one.choose(key, 0, 0).member
        var right = two.choose(key, 0, 9).member
        assert_equal(one.address(left), two.address(right))


def test_what_has_failed_a_request_comes_last() raises:
    var group = group_of(quiet_config(), [1, 1])
    for _ in range(6):
        assert_equal(Int(group.choose(0, 1, 0).member.slot), 1)
    # Unless there is nobody else.
    assert_true(group.choose(0, 3, 0).is_member())


def test_a_bound_of_requests() raises:
    var config = quiet_config()
    config.max_requests = 2
    var group = group_of(config^, [1, 1])
    var members = List[MemberId]()
    for _ in range(4):
        members.append(group.choose(0, 0, 0).member)
    var refused = group.choose(0, 0, 0)
    assert_false(refused.is_member())
    assert_true(refused.refusal == Outcome.FULL)
    group.finish(members.at(1), Outcome.answered(200), 0)
    var choice = group.choose(0, 0, 0)
    assert_equal(Int(choice.member.slot), Int(members.at(1).slot))


def test_what_is_no_upstream_is_not_drained() raises:
    """A word that is mistyped must not have anybody stop a server."""
    var group = group_of(quiet_config(), [1, 1])
    with assert_raises(
        contains="upstream x: it is not in the group, which has a, b"
    ):
        _ = group.is_drained("x")
    # One that was removed may be stopped behind its last request.
    var member = group.choose(0, 0, 0).member
    assert_true(group.remove("a", now_ms=0))
    assert_false(group.is_drained("a"))
    group.finish(member, Outcome.answered(200), 0)
    assert_true(group.is_drained("a"))
    _ = group.add("a", now_ms=0)
    assert_false(group.is_drained("a"))
    # It is known for so many removals.
    assert_true(group.remove("a", now_ms=0))
    for number in range(REMOVED_MAX):
        assert_true(group.is_drained("a"))
        _ = group.add(String("n", number), now_ms=0)
        assert_true(group.remove(String("n", number), now_ms=0))
    with assert_raises(contains="which has b"):
        _ = group.is_drained("a")
    assert_true(group.remove("b", now_ms=0))
    with assert_raises(contains="which has none"):
        _ = group.is_drained("x")


def test_slow_start() raises:
    var config = quiet_config()
    config.slow_start_ms = 1_000
    var group = group_of(config^, [1])
    # The first has nobody to lean on, and starts at once.
    _ = group.add("b", now_ms=0)
    var early = 0
    for _ in range(110):
        early += next_slot(group, 0, 100)
    assert_equal(early, 10)
    var late = 0
    for _ in range(100):
        late += next_slot(group, 0, 1_000)
    assert_true(abs(late - 50) <= 1)


def test_drain_and_removal() raises:
    var group = group_of(quiet_config(), [1, 1])
    var member = group.choose(0, 0, 0).member
    assert_equal(group.address(member), "a")
    assert_true(group.drain("a", now_ms=0))
    assert_false(group.is_drained("a"))
    for _ in range(4):
        assert_equal(next_slot(group), 1)
    group.finish(member, Outcome.answered(200), 0)
    assert_true(group.is_drained("a"))
    # It comes back.
    _ = group.add("a", now_ms=0)
    member = group.choose(0, 0, 0).member
    var other = group.choose(0, 0, 0).member
    assert_true(member.slot != other.slot)
    # One that leaves keeps its place until its last request has ended.
    assert_true(group.remove("a", now_ms=0))
    _ = group.add("c", now_ms=0)
    assert_equal(len(group.figures(0)), 3)
    group.finish(member, Outcome.answered(200), 0)
    group.finish(other, Outcome.answered(200), 0)
    assert_equal(len(group.figures(0)), 2)
    _ = group.add("d", now_ms=0)
    # A new one has the place, and the old one's number means nothing there.
    assert_equal(group.address(MemberId(0, False, 1)), "")
    group.finish(MemberId(0, False, 1), Outcome.RESET, 0)
    assert_equal(group.figures(0).at(0).active_count, 0)
    assert_false(group.remove("x", now_ms=0))
    assert_true(group.remove("b", now_ms=0))
    assert_true(group.remove("c", now_ms=0))
    assert_true(group.remove("d", now_ms=0))
    assert_true(group.choose(0, 0, 0).refusal == Outcome.NONE_AVAILABLE)


def test_bad_members() raises:
    var group = group_of(quiet_config(), [1])
    with assert_raises(contains="it is in the group"):
        _ = group.add("a", now_ms=0)
    with assert_raises(contains="from 1 to 1000"):
        _ = group.add("z", 0, now_ms=0)
    for index in range(1, MEMBERS_MAX):
        _ = group.add(String("m", index), now_ms=0)
    with assert_raises(contains="at most 64"):
        _ = group.add("one more", now_ms=0)
    # All 64 bits are in use.
    var seen: UInt64 = 0
    for _ in range(MEMBERS_MAX):
        seen |= UInt64(1) << UInt64(next_slot(group))
    assert_equal(Int(pop_count(seen)), MEMBERS_MAX)


struct _Model(Movable):
    """Upstreams as simple as can be: failures in a row, a time, a count."""

    var in_row: List[Int]
    var until_ms: List[Int]
    var times: List[Int]
    var active: List[Int]
    var draining: List[Bool]

    def __init__(out self, count: Int):
        self.in_row = List[Int](length=count, fill=0)
        self.until_ms = List[Int](length=count, fill=0)
        self.times = List[Int](length=count, fill=0)
        self.active = List[Int](length=count, fill=0)
        self.draining = List[Bool](length=count, fill=False)

    def is_ejected(self, index: Int, now_ms: Int) -> Bool:
        return now_ms < self.until_ms.at(index)

    def may_be_chosen(self, index: Int, now_ms: Int) -> Bool:
        if self.draining.at(index) or self.active.at(index) >= 3:
            return False
        if not self.is_ejected(index, now_ms):
            return True
        for other in range(len(self.active)):
            if not (self.draining.at(other) or self.is_ejected(other, now_ms)):
                return False
        return True

    def fail(mut self, index: Int, now_ms: Int):
        if self.until_ms.at(index) > 0 and not self.is_ejected(index, now_ms):
            self.until_ms.at(index) = 0
            self.in_row.at(index) = 0
        self.in_row.at(index) += 1
        if self.in_row.at(index) < 2 or self.is_ejected(index, now_ms):
            return
        var ejected = 0
        var count = 0
        for other in range(len(self.active)):
            if not self.draining.at(other):
                count += 1
                if self.is_ejected(other, now_ms):
                    ejected += 1
        if count >= 2 and ejected + 1 <= max(count // 2, 1):
            self.times.at(index) += 1
            self.until_ms.at(index) = now_ms + 100 * self.times.at(index)


def _walk(seed: Int, balance: Balance) raises:
    comptime count = 5
    var config = quiet_config()
    config.balance = balance
    config.failures_to_eject = 2
    config.ejection_ms = 100
    config.ejection_max_ms = 1_000_000
    config.failure_window_ms = 80_000_000
    config.max_requests = 3
    var group = group_of(config^, [1, 2, 1, 3, 1])
    var model = _Model(count)
    var open = List[MemberId]()
    var state = UInt64(seed)
    var now_ms = 0
    for step in range(3_000):
        state = state * 6364136223846793005 + 1442695040888963407
        var draw = Int(state >> 40)
        var what = draw % 10
        var which = (draw // 10) % count
        if what < 4:
            var choice = group.choose(UInt64(draw), 0, now_ms)
            var possible = False
            for index in range(count):
                possible = possible or model.may_be_chosen(index, now_ms)
            assert_equal(choice.is_member(), possible, String(step))
            if possible:
                var slot = Int(choice.member.slot)
                assert_true(model.may_be_chosen(slot, now_ms), String(step))
                model.active.at(slot) += 1
                open.append(choice.member)
        elif what < 8 and len(open) > 0:
            var member = open.pop(draw % len(open))
            var slot = Int(member.slot)
            model.active.at(slot) -= 1
            if what < 6:
                group.finish(member, Outcome.RESET, now_ms)
                model.fail(slot, now_ms)
            else:
                group.finish(member, Outcome.answered(200), now_ms)
                model.in_row.at(slot) = 0
        elif what == 8:
            now_ms += draw % 300
        elif model.draining.at(which):
            _ = group.add(
                member_name(which), [1, 2, 1, 3, 1].at(which), now_ms=now_ms
            )
            model.draining.at(which) = False
        else:
            assert_true(group.drain(member_name(which), now_ms=now_ms))
            model.draining.at(which) = True
        var figures = group.figures(now_ms)
        for index in range(count):
            assert_equal(figures.at(index).active_count, model.active.at(index))
            assert_equal(
                figures.at(index).ejection_count,
                model.times.at(index),
                String(step, " ", index),
            )


def test_walks_beside_a_model() raises:
    for seed in range(1, 9):
        _walk(seed, Balance.ROUND_ROBIN)
        _walk(seed, Balance.LEAST_REQUESTS)
        _walk(seed, Balance.CONSISTENT_HASH)
