"""The upstreams that all workers share: what is done under their lock, and who is
told of it."""

from flare.http.proxy.group_config import GroupConfig
from flare.http.proxy.outcome import Outcome
from flare.http.proxy.upstream_group import MEMBERS_MAX, Waiter
from flare.http.proxy.upstreams import Upstreams
from flare.net.ip import IpAddr
from flare.runtime.event import Waker
from std.testing import assert_equal, assert_false, assert_true
from tests.support.upstreams import quiet_config

comptime ONE = "http://127.0.0.1:1"
comptime TWO = "http://127.0.0.1:2"


def _waiting_config() -> GroupConfig:
    var config = quiet_config()
    config.max_requests = 1
    config.queue_timeout_ms = 60_000
    return config^


def _arrived(upstreams: Upstreams, line: Int) -> String:
    """Who waits no longer, and where each goes."""
    var text = String()
    for ref arrived in upstreams.take_arrived(line):
        text.write(arrived.token, ":")
        if arrived.pick.upstream:
            text.write(arrived.pick.upstream.value()[].name, " ")
        else:
            text.write(arrived.pick.choice.refusal.name(), " ")
    return text^


def test_workers_hear_of_what_a_removal_does() raises:
    for removes in [False, True]:
        var upstreams = Upstreams(_waiting_config())
        upstreams.add(ONE)
        var waker = Waker()
        var line = upstreams.open_line(waker)
        assert_true(upstreams.choose(0, 0).choice.is_member())
        assert_true(upstreams.wait(Waiter(line, 7, 0)))
        assert_equal(_arrived(upstreams, line), "")
        _ = waker.drain()
        if removes:
            assert_true(upstreams.remove(ONE))
        else:
            assert_true(upstreams.drain(ONE))
        assert_equal(waker.drain(), 1)
        assert_equal(_arrived(upstreams, line), "7:none_available ")


def test_a_look_up_that_ends_behind_a_removal() raises:
    comptime NAMED = "http://app.test:1"
    var upstreams = Upstreams(quiet_config())
    upstreams.add(NAMED)
    assert_equal(upstreams.next_lookup().or_else("-"), NAMED)
    var member = upstreams.choose(0, 0).choice.member
    assert_true(upstreams.remove(NAMED))
    var addresses: List[IpAddr] = [
        IpAddr.parse("10.0.0.1"),
        IpAddr.parse("10.0.0.2"),
    ]
    _ = upstreams.end_lookup(NAMED, addresses)
    assert_false(upstreams.is_drained(NAMED))
    upstreams.finish(member, Outcome.answered(200), 0)
    assert_equal(len(upstreams.figures()), 0)
    assert_true(upstreams.is_drained(NAMED))
    assert_false(Bool(upstreams.next_lookup()))


def test_addresses_beyond_the_places_are_told_of() raises:
    comptime NAMED = "http://app.test:1"
    var upstreams = Upstreams(quiet_config())
    upstreams.add(ONE)
    upstreams.add(NAMED)
    var addresses = List[IpAddr]()
    for number in range(MEMBERS_MAX + 6):
        addresses.append(IpAddr.parse(String("10.0.0.", number)))
    var news = upstreams.end_lookup(NAMED, addresses)
    assert_true(news.exceeds)
    assert_equal(news.found_count, MEMBERS_MAX + 6)
    assert_equal(news.used_count, len(upstreams.figures()) - 1)
    assert_false(upstreams.end_lookup(NAMED, addresses).exceeds)
