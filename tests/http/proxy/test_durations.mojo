"""How long attempts take, by classes."""

from flare.bytes.checked import *
from flare.http.proxy.upstreams.durations import (
    DURATION_CLASS_COUNT,
    Durations,
    bound_text,
)
from flare.http.proxy.upstreams.outcome import Outcome
from tests.support.assertions import assert_equal
from tests.support.upstreams import group_of, quiet_config


def test_classes() raises:
    var durations = Durations()
    for elapsed_us in [0, 1_000, 1_001, 60_000_000, 60_000_001]:
        durations.add(elapsed_us)
    assert_equal(durations.counts.at(0), 2)
    assert_equal(durations.counts.at(1), 1)
    assert_equal(durations.counts.at(DURATION_CLASS_COUNT - 2), 1)
    assert_equal(durations.counts.at(DURATION_CLASS_COUNT - 1), 1)
    assert_equal(durations.sum_us, 120_002_002)
    assert_equal(bound_text(0), "0.001")
    assert_equal(bound_text(DURATION_CLASS_COUNT - 1), "+Inf")


def test_what_the_client_breaks_off_has_no_duration() raises:
    var group = group_of(quiet_config(), [1])
    for outcome in [
        Outcome.answered(200),
        Outcome.RESET,
        Outcome.CANCELLED,
    ]:
        var member = group.choose(0, 0, 0).member
        group.finish(member, outcome, 0, elapsed_us=7)
    assert_equal(group.figures(0).at(0).durations.sum_us, 14)
