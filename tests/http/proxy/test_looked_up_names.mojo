"""Names of upstreams: when they are looked up, which upstreams their addresses are,
and how those come and go."""

from flare.bytes.checked import *
from flare.http.proxy.upstreams.looked_up_names import (
    AGAIN_MS,
    LookedUpNames,
    pair_addresses,
)
from flare.http.proxy.upstreams.member_health import MemberState
from flare.http.proxy.upstreams.outcome import Outcome
from flare.http.proxy.upstreams.upstream_group import (
    MEMBERS_MAX,
    MemberId,
    UpstreamGroup,
)
from flare.net.ip import IpAddr
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.upstreams import group_of, quiet_config


@fieldwise_init
struct _Pairs(Copyable, Movable):
    var rule: String
    var addresses: String
    var wanted: String


def test_what_the_addresses_of_a_name_are() raises:
    var rows: List[_Pairs] = [
        _Pairs("one", "10.0.0.1", "10.0.0.1"),
        _Pairs(
            "sorted, each once",
            "10.0.0.2 10.0.0.1 10.0.0.2",
            "10.0.0.1 10.0.0.2",
        ),
        _Pairs(
            "RFC 8305: the other family is beside it",
            "::1 127.0.0.1",
            "::1/127.0.0.1",
        ),
        _Pairs("as many: the first family", "127.0.0.1 ::1", "127.0.0.1/::1"),
        _Pairs(
            "the family with more addresses",
            "2001:db8::1 10.0.0.1 10.0.0.2",
            "10.0.0.1/2001:db8::1 10.0.0.2/2001:db8::1",
        ),
        _Pairs(
            "in turn",
            "10.0.0.3 10.0.0.1 10.0.0.2 2001:db8::2 2001:db8::1",
            "10.0.0.1/2001:db8::1 10.0.0.2/2001:db8::2 10.0.0.3/2001:db8::1",
        ),
        _Pairs(
            "RFC 4291 section 2.5.5.2: one address",
            "::ffff:10.0.0.1 10.0.0.1",
            "10.0.0.1",
        ),
        _Pairs("none", "", ""),
    ]
    for row in rows:
        var addresses = List[IpAddr]()
        for text in row.addresses.split(" "):
            if text.byte_length() > 0:
                addresses.append(IpAddr.parse(text))
        var found = String()
        var pairs = pair_addresses(addresses)
        for index in range(len(pairs)):
            found.write(" " if index > 0 else "", pairs.at(index).at(0))
            if len(pairs.at(index)) > 1:
                found.write("/", pairs.at(index).at(1))
        assert_equal(found, row.wanted, row.rule)


def test_when_names_are_looked_up() raises:
    var names = LookedUpNames(30_000)
    names.add("a", 0)
    assert_equal(names.next(0).or_else("-"), "a")
    # By one at a time.
    assert_false(Bool(names.next(0)))
    assert_equal(names.next_ms(0), AGAIN_MS)
    assert_false(names.end("a", 1, 1, 100).fails)
    assert_equal(names.next_ms(100), 30_100)
    assert_false(Bool(names.next(30_099)))
    assert_equal(names.next(30_100).or_else("-"), "a")
    # What fails is tried again before, and told once.
    assert_true(names.end("a", 0, 0, 31_000).fails)
    assert_equal(names.next_ms(31_000), 31_000 + AGAIN_MS)
    assert_equal(names.next(31_000 + AGAIN_MS).or_else("-"), "a")
    assert_false(names.end("a", 0, 0, 37_000).fails)
    assert_false(names.end("a", 1, 1, 37_000).fails)
    assert_true(names.end("a", 0, 0, 37_000).fails)
    names.add("b", 37_000)
    assert_equal(names.next(37_000).or_else("-"), "b")
    names.remove("b")
    names.remove("a")
    assert_false(names.end("a", 0, 0, 37_000).fails)
    assert_false(Bool(names.next(99_000)))
    var never = LookedUpNames(0)
    never.add("a", 0)
    assert_false(Bool(never.next(0)))


def test_addresses_that_have_no_place_are_told_once() raises:
    var names = LookedUpNames(30_000)
    names.add("a", 0)
    for row in [
        (64, 64, False),
        (70, 64, True),
        (70, 64, False),
        # What fails in between changes nothing.
        (0, 0, False),
        (70, 64, False),
        (71, 64, True),
        (71, 63, True),
        (3, 3, False),
        (71, 63, True),
        (1, 0, True),
    ]:
        var news = names.end("a", row[0], row[1], 0)
        assert_equal(news.exceeds, row[2], String(row[0], " ", row[1]))
        assert_equal(news.found_count, row[0])
        assert_equal(news.used_count, row[1])
    assert_false(names.end("b", 70, 64, 0).exceeds)


def _members(group: UpstreamGroup) -> String:
    """The members: `!` behind one that gets no requests."""
    var text = String()
    for member in group.figures(0):
        if text.byte_length() > 0:
            text.write(" ")
        text.write(member.address, "=", member.ip)
        if member.state == MemberState.DRAINING:
            text.write("!")
    return text^


def test_addresses_come_and_go() raises:
    var group = group_of(quiet_config(), [1, 3])
    var first: List[String] = ["10.0.0.1", "10.0.0.2"]
    var slots = group.set_addresses("b", first, now_ms=0)
    # The name itself is asked no more; what it had no request of leaves at once.
    assert_equal(_members(group), "a= b=10.0.0.1 b=10.0.0.2")
    assert_equal(len(slots), 2)
    for member in group.figures(0):
        assert_equal(member.weight, 3 if member.address == "b" else 1)
    # One has a request, and leaves behind it; it may come back before.
    var held = _hold(group, slots.at(0))
    var second: List[String] = ["10.0.0.2", "10.0.0.3"]
    _ = group.set_addresses("b", second, now_ms=0)
    assert_equal(_members(group), "a= b=10.0.0.3 b=10.0.0.1! b=10.0.0.2")
    _ = group.set_addresses("b", first, now_ms=0)
    assert_equal(_members(group), "a= b=10.0.0.1 b=10.0.0.2")
    _ = group.set_addresses("b", second, now_ms=0)
    group.finish(held, Outcome.answered(200), 0)
    assert_equal(_members(group), "a= b=10.0.0.3 b=10.0.0.2")
    # A name without an address keeps what it had.
    _ = group.set_addresses("b", List[String](), now_ms=0)
    assert_equal(_members(group), "a= b=10.0.0.3 b=10.0.0.2")
    assert_equal(len(group.set_addresses("c", first, now_ms=0)), 2)
    assert_equal(_members(group), "a= b=10.0.0.3 b=10.0.0.2")


def test_one_address_is_the_name_itself() raises:
    # What it has and what is known of it goes on.
    var config = quiet_config()
    config.failures_to_eject = 1
    var group = group_of(config^, [1, 1])
    var held = _hold(group, 1)
    group.finish(_hold(group, 1), Outcome.CONNECT_FAILED, 0)
    var one: List[String] = ["10.0.0.1"]
    var slots = group.set_addresses("b", one, now_ms=0)
    assert_equal(slots.at(0), 1)
    assert_equal(_members(group), "a= b=10.0.0.1")
    assert_equal(group.figures(0).at(1).active_count, 1)
    assert_true(group.figures(0).at(1).state == MemberState.EJECTED)
    # From then on it is an address like any other.
    group.finish(held, Outcome.answered(200), 0)
    var other: List[String] = ["10.0.0.2"]
    _ = group.set_addresses("b", other, now_ms=0)
    assert_equal(_members(group), "a= b=10.0.0.2")


def _hold(mut group: UpstreamGroup, slot: Int) raises -> MemberId:
    """Begins a request at one of the members."""
    var choice = group.choose(0, ~(UInt64(1) << UInt64(slot)), 0)
    assert_equal(Int(choice.member.slot), slot)
    return choice.member


def test_a_program_speaks_of_all_addresses() raises:
    var group = group_of(quiet_config(), [1])
    var ips: List[String] = ["10.0.0.1", "10.0.0.2"]
    var slots = group.set_addresses("a", ips, now_ms=0)
    var held = _hold(group, slots.at(1))
    group.set_weight("a", 5)
    assert_true(group.drain("a", now_ms=0))
    assert_equal(_members(group), "a=10.0.0.1! a=10.0.0.2!")
    assert_equal(group.figures(0).at(1).weight, 5)
    assert_false(group.is_drained("a"))
    # What the name gets meanwhile is drained as well.
    ips.append("10.0.0.3")
    _ = group.set_addresses("a", ips, now_ms=0)
    assert_equal(_members(group), "a=10.0.0.3! a=10.0.0.1! a=10.0.0.2!")
    group.finish(held, Outcome.answered(200), 0)
    assert_true(group.is_drained("a"))
    _ = group.add("a", 2, now_ms=0)
    assert_equal(_members(group), "a=10.0.0.3 a=10.0.0.1 a=10.0.0.2")
    assert_equal(group.figures(0).at(0).weight, 2)
    assert_true(group.remove("a", now_ms=0))
    assert_equal(_members(group), "")
    assert_false(group.remove("a", now_ms=0))


def test_what_is_removed_does_not_come_back() raises:
    """By a look-up that had begun before."""
    var group = group_of(quiet_config(), [1])
    var ips: List[String] = ["10.0.0.1", "10.0.0.2"]
    var held = _hold(group, group.set_addresses("a", ips, now_ms=0).at(0))
    assert_true(group.remove("a", now_ms=0))
    assert_equal(_members(group), "a=10.0.0.1!")
    ips.append("10.0.0.3")
    for slot in group.set_addresses("a", ips, now_ms=0):
        assert_equal(slot, -1)
    assert_equal(_members(group), "a=10.0.0.1!")
    group.finish(held, Outcome.answered(200), 0)
    assert_equal(_members(group), "")
    _ = group.set_addresses("a", ips, now_ms=0)
    assert_equal(_members(group), "")
    # One that is added again does.
    _ = group.add("a", now_ms=0)
    _ = group.set_addresses("a", ips, now_ms=0)
    assert_equal(len(group.figures(0)), 3)


def test_each_address_has_its_own_health() raises:
    var config = quiet_config()
    config.failures_to_eject = 1
    var group = group_of(config^, [1])
    var ips: List[String] = ["10.0.0.1", "10.0.0.2"]
    var slots = group.set_addresses("a", ips, now_ms=0)
    group.finish(_hold(group, slots.at(0)), Outcome.CONNECT_FAILED, 0)
    for member in group.figures(0):
        var is_first = member.ip == "10.0.0.1"
        assert_true((member.state == MemberState.EJECTED) == is_first)
    # The health stays with the address from one look-up to the next.
    ips.append("10.0.0.3")
    _ = group.set_addresses("a", ips, now_ms=0)
    for member in group.figures(0):
        var is_first = member.ip == "10.0.0.1"
        assert_true((member.state == MemberState.EJECTED) == is_first)


def test_more_addresses_than_places() raises:
    var group = group_of(quiet_config(), [1])
    var ips = List[String]()
    for index in range(MEMBERS_MAX + 2):
        ips.append(String("10.0.0.", index))
    var slots = group.set_addresses("a", ips, now_ms=0)
    var placed = 0
    for index in range(len(slots)):
        placed += Int(slots.at(index) >= 0)
    # One has the name's own place.
    assert_equal(placed, MEMBERS_MAX)
    assert_equal(len(group.figures(0)), MEMBERS_MAX)
    # Without any place the name is still asked.
    group = group_of(quiet_config(), List[Int](length=MEMBERS_MAX, fill=1))
    _ = _hold(group, 0)
    _ = group.set_addresses("a", ips, now_ms=0)
    assert_equal(len(group.figures(0)), MEMBERS_MAX)
    assert_equal(group.figures(0).at(0).ip, "")


def test_a_full_group_follows_a_name_that_moves() raises:
    var group = group_of(quiet_config(), [1])
    var many = List[String]()
    for number in range(MEMBERS_MAX + 16):
        many.append(String("10.0.1.", number))
    _ = group.set_addresses("a", many, now_ms=0)
    assert_equal(len(group.figures(0)), MEMBERS_MAX)
    var moved: List[String] = ["10.0.2.1"]
    assert_true(group.set_addresses("a", moved, now_ms=0).at(0) >= 0)
    assert_equal(_members(group), "a=10.0.2.1")
    # One with a request stays for it, and a new one waits for no other.
    _ = group.set_addresses("a", many, now_ms=0)
    var held = _hold(group, 5)
    assert_true(group.set_addresses("a", moved, now_ms=0).at(0) >= 0)
    assert_equal(len(group.figures(0)), 2)
    group.finish(held, Outcome.answered(200), 0)
    assert_equal(_members(group), "a=10.0.2.1")
