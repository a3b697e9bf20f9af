"""The upstreams that all workers share: what is done under their lock, and who is
told of it."""

from flare.http.proxy.group_config import GroupConfig
from flare.http.proxy.outcome import Outcome
from flare.http.proxy.upstream_group import Waiter
from flare.http.proxy.upstreams import Upstreams
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
