from flare.runtime.prefork.config import Jitter, PreforkConfig
from flare.runtime.worker_count import default_worker_count
from tests.support.assertions import assert_equal, assert_true


def _expect(limit: Int, percent: Int, wanted: Int) raises:
    var jitter = Jitter(7)
    var least = Int.MAX
    var most = -1
    for _ in range(20_000):
        var extra = jitter.raised(limit, percent) - limit
        least = min(least, extra)
        most = max(most, extra)
    assert_equal(least, 0)
    assert_equal(most, wanted)


def test_limits_are_raised_by_up_to_a_part_of_them() raises:
    _expect(0, 10, 0)
    _expect(5, 10, 0)
    _expect(10, 10, 1)
    _expect(50, 10, 5)
    _expect(99, 50, 49)
    _expect(1_000, 10, 100)
    _expect(1_000, 0, 0)
    _expect(1_000, 100, 1_000)


def test_large_limits_do_not_overflow() raises:
    var jitter = Jitter(1)
    assert_true(jitter.raised(1 << 60, 100) >= 1 << 60)


def test_seeds_have_sequences_of_their_own() raises:
    var one = Jitter(1)
    var two = Jitter(2)
    var none = Jitter(0)
    assert_true(one.next() != two.next())
    assert_true(none.next() != 0)


def test_workers_are_as_many_as_usable_cpus_unless_told_otherwise() raises:
    assert_equal(PreforkConfig().workers, default_worker_count())
    var config = PreforkConfig(notifies_manager=True)
    assert_equal(config.workers, default_worker_count())
    config.check()
    assert_equal(PreforkConfig(workers=3).workers, 3)
