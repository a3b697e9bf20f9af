"""Tests of the number of workers that suits the machine."""

from flare.runtime.worker_count import (
    CpuQuota,
    WORKER_COUNT_MAX,
    default_worker_count,
    group_path,
    parse_cpu_max,
    quota_of,
    with_ancestors,
)
from flare.sys.process import restrict_thread, usable_cpus
from tests.support.assertions import assert_equal, assert_true


def test_default_is_within_the_affinity_mask() raises:
    var cpus = usable_cpus()
    var count = default_worker_count()
    assert_true(count >= 1 and count <= WORKER_COUNT_MAX)
    assert_true(count <= len(cpus))
    restrict_thread([cpus[0]])
    assert_equal(default_worker_count(), 1)
    restrict_thread(cpus)
    assert_equal(default_worker_count(), count)


@fieldwise_init
struct _Row(Copyable):
    var rule: String
    var text: String
    var cpus: Int


def test_cpu_max_in_cpus() raises:
    var rows = [
        _Row("no bound", "max 100000\n", -1),
        _Row("two CPUs", "200000 100000\n", 2),
        _Row("one and a half is two", "150000 100000\n", 2),
        _Row("less than one is one", "1000 100000\n", 1),
        _Row("an odd period", "100 33\n", 4),
        _Row("empty file", "", -1),
        _Row("one word", "200000\n", -1),
        _Row("three words", "1 2 3\n", -1),
        _Row("no period", "200000 0\n", -1),
        _Row("negative", "-1 100000\n", -1),
        _Row("no number", "2e5 100000\n", -1),
        _Row("too long", "9999999999999999999999 1\n", -1),
    ]
    for row in rows:
        assert_equal(parse_cpu_max(row.text).cpu_count(), row.cpus, row.rule)


def test_quota_of_version_1() raises:
    assert_equal(quota_of("-1\n", "100000\n").cpu_count(), -1)
    assert_equal(quota_of("250000\n", "100000\n").cpu_count(), 3)
    assert_equal(quota_of("", "").cpu_count(), -1)
    assert_equal(CpuQuota.UNBOUNDED.cpu_count(), -1)


def test_group_path() raises:
    var text = "9:name=systemd:/x\n4:cpu,cpuacct:/a/b\n0::/user.slice/c:d\n"
    assert_equal(group_path(text, ""), "/user.slice/c:d")
    assert_equal(group_path(text, "cpu"), "/a/b")
    assert_equal(group_path(text, "cpuacct"), "/a/b")
    assert_equal(group_path(text, "memory"), "")
    assert_equal(group_path("", ""), "")
    assert_equal(group_path("nonsense\n:\n", "cpu"), "")


def test_groups_around_a_group() raises:
    var around = with_ancestors("/a/b/")
    assert_equal(len(around), 3)
    assert_equal(around[0], "/a/b")
    assert_equal(around[1], "/a")
    assert_equal(around[2], "")
    assert_equal(len(with_ancestors("")), 1)
    assert_equal(len(with_ancestors("/")), 1)
