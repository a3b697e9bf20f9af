"""Groups of upstreams for tests, and attempts at one of them."""

from flare.http.proxy.upstreams.group_config import GroupConfig
from flare.http.proxy.upstreams.outcome import Outcome
from flare.http.proxy.upstreams.upstream_group import UpstreamGroup
from tests.support.assertions import assert_equal


def quiet_config() -> GroupConfig:
    """Rules by which nothing is left out."""
    var config = GroupConfig()
    config.failures_to_eject = 0
    config.failure_share_percent = 0
    return config^


def group_of(
    var config: GroupConfig, weights: List[Int]
) raises -> UpstreamGroup:
    """Upstreams a, b, c ... of these weights, at time 0."""
    var group = UpstreamGroup(config^, seed=7, now_ms=0)
    for index in range(len(weights)):
        _ = group.add(member_name(index), weights[index], now_ms=0)
    return group^


def member_name(index: Int) -> String:
    return chr(97 + index) if index < 26 else String("m", index)


def next_slot(
    mut group: UpstreamGroup, key: UInt64 = 0, now_ms: Int = 0
) -> Int:
    """Chooses, and ends at once with a good answer; the slot, or -1."""
    var choice = group.choose(key, 0, now_ms)
    if not choice.is_member():
        return -1
    group.finish(choice.member, Outcome.answered(200), now_ms)
    return Int(choice.member.slot)


def fail_at(
    mut group: UpstreamGroup, slot: Int, count: Int, now_ms: Int = 0
) raises:
    """Has attempts at one upstream fail: all others count as tried."""
    for _ in range(count):
        var choice = group.choose(0, ~(UInt64(1) << UInt64(slot)), now_ms)
        assert_equal(Int(choice.member.slot), slot)
        group.finish(choice.member, Outcome.RESET, now_ms)
