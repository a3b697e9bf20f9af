"""Tests of the number of workers that suits the machine."""

from flare.runtime.worker_count import WORKER_COUNT_MAX, default_worker_count
from flare.sys.affinity import restrict_thread, usable_cpus
from std.testing import assert_equal, assert_true


def test_default_is_within_the_affinity_mask() raises:
    var cpus = usable_cpus()
    var count = default_worker_count()
    assert_true(count >= 1 and count <= WORKER_COUNT_MAX)
    assert_true(count <= len(cpus))
    restrict_thread([cpus[0]])
    assert_equal(default_worker_count(), 1)
    restrict_thread(cpus)
    assert_equal(default_worker_count(), count)
