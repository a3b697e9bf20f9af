"""The count of the memory that content takes."""

from flare.http.server.body_charge import BodyCharge
from flare.http.server.config import ServerConfig
from flare.http.server.terms import ServerTerms
from flare.http.server.worker_state import WorkerState
from std.atomic import Atomic
from std.memory import ArcPointer
from std.testing import assert_equal, assert_false, assert_true


def _drop(var charge: BodyCharge):
    _ = charge^


def test_sum_follows_each_charge_and_its_end() raises:
    var sum = ArcPointer(Atomic[Int64](0))
    var first = BodyCharge(sum)
    var second = BodyCharge(sum)
    first.set(100)
    second.set(20)
    assert_equal(sum[].load(), 120)
    first.set(30)
    assert_equal(sum[].load(), 50)
    _drop(first^)
    assert_equal(sum[].load(), 20)
    _drop(second^)
    assert_equal(sum[].load(), 0)


def test_bound_is_kept_and_what_ends_makes_room() raises:
    var config = ServerConfig(
        max_body_size=10_000, max_buffered_bodies_size=10_000
    )
    var state = WorkerState(ServerTerms(config^))
    var first = Optional[BodyCharge](None)
    var second = Optional[BodyCharge](None)
    assert_true(state.charge(first, 10_000))
    assert_false(state.charge(second, 1))
    assert_true(state.charge(first, 6_000), "it may always shrink")
    assert_true(state.charge(second, 4_000))
    assert_false(state.charge(second, 4_001))
    assert_equal(second.value().length, 4_000, "a refusal changes nothing")
    # Used here, or else it would have ended behind its last use above.
    assert_equal(first.value().length, 6_000)
    first = None
    assert_true(state.charge(second, 10_000))
