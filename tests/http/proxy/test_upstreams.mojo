"""The upstreams that all workers share: what is done under their lock, and who is
told of it."""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.http.proxy.upstreams.group_config import GroupConfig
from flare.http.proxy.upstreams.outcome import Outcome
from flare.http.proxy.upstreams.upstream_group import MEMBERS_MAX, Waiter
from flare.http.proxy.upstreams.upstreams import Upstreams
from flare.net.ip import IpAddr
from flare.runtime.event import Waker
from flare.sys.clock import coarse_monotonic_ms
from tests.support.assertions import assert_equal, assert_false, assert_true
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


def _with_one_ejected(ejection_ms: Int) raises -> Upstreams:
    """One upstream has the request that it may have, the other one has failed."""
    var config = _waiting_config()
    config.failures_to_eject = 1
    config.ejection_ms = ejection_ms
    var upstreams = Upstreams(config^)
    upstreams.add(ONE)
    upstreams.add(TWO)
    assert_equal(Int(upstreams.choose(0, 0).choice.member.slot), 0)
    var failed = upstreams.choose(0, 0).choice.member
    assert_equal(Int(failed.slot), 1)
    upstreams.finish(failed, Outcome.RESET, 0)
    return upstreams


def test_one_worker_has_the_time_for_all() raises:
    var upstreams = _with_one_ejected(60_000)
    var wakers: List[Waker] = [Waker(), Waker()]
    var lines = [upstreams.open_line(waker) for waker in wakers]
    for index in range(2):
        assert_equal(upstreams.alarm_ms(lines.at(index)), NEVER)
    for index in range(2):
        assert_true(upstreams.wait(Waiter(lines.at(index), 7, 0)))
    assert_equal(wakers.at(0).drain(), 1)
    assert_equal(wakers.at(1).drain(), 0)
    var alarm_ms = upstreams.alarm_ms(lines.at(0))
    var now_ms = coarse_monotonic_ms()
    assert_true(now_ms < alarm_ms and alarm_ms <= now_ms + 60_000)
    assert_equal(upstreams.alarm_ms(lines.at(1)), NEVER)
    # A worker that ends leaves that to another one.
    upstreams.close_line(lines.at(0))
    assert_equal(wakers.at(1).drain(), 1)
    assert_equal(upstreams.alarm_ms(lines.at(1)), alarm_ms)
    assert_equal(upstreams.alarm_ms(lines.at(0)), NEVER)


def test_an_ejection_that_begins_behind_the_wait() raises:
    var config = _waiting_config()
    config.failures_to_eject = 1
    config.ejection_ms = 20
    var upstreams = Upstreams(config^)
    upstreams.add(ONE)
    upstreams.add(TWO)
    var waker = Waker()
    var line = upstreams.open_line(waker)
    _ = upstreams.choose(0, 0)
    var failed = upstreams.choose(0, 0).choice.member
    assert_true(upstreams.wait(Waiter(line, 7, 0)))
    assert_equal(upstreams.alarm_ms(line), NEVER)
    assert_equal(waker.drain(), 0)
    upstreams.finish(failed, Outcome.RESET, 0)
    assert_equal(waker.drain(), 1)
    var alarm_ms = upstreams.alarm_ms(line)
    assert_true(alarm_ms < NEVER)
    _until(alarm_ms)
    upstreams.place_waiting()
    assert_equal(waker.drain(), 1)
    assert_equal(upstreams.alarm_ms(line), NEVER)
    assert_equal(_arrived(upstreams, line), String("7:", TWO, " "))


def _until(time_ms: Int):
    while coarse_monotonic_ms() < time_ms:
        pass


def test_a_last_try_at_the_end_of_the_wait() raises:
    var upstreams = _with_one_ejected(1_000)
    var ejected_ms = coarse_monotonic_ms()
    var line = upstreams.open_line(Waker())
    assert_true(upstreams.wait(Waiter(line, 7, 0)))
    # Nobody says so that its ejection is over.
    _until(ejected_ms + 1_001)
    var pick = upstreams.end_wait(line, 7)
    assert_equal(pick.upstream.value()[].name, TWO)
    assert_equal(_arrived(upstreams, line), "")
    # What has come meanwhile is taken, though the worker was not woken yet.
    assert_true(upstreams.wait(Waiter(line, 8, 0)))
    assert_true(upstreams.wait(Waiter(line, 9, 0)))
    upstreams.finish(pick.choice.member, Outcome.answered(200), 0)
    assert_true(upstreams.end_wait(line, 8).choice.is_member())
    assert_equal(_arrived(upstreams, line), "")
    # And else there is none.
    var last = upstreams.end_wait(line, 9)
    assert_true(last.choice.refusal == Outcome.FULL)
    assert_false(Bool(last.upstream))
    assert_equal(upstreams.waiting_count(), 0)


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
