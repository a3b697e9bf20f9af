"""How many workers a machine, or our share of it, can keep busy."""

from flare.runtime.cpu_quota import (
    CpuQuota,
    group_path,
    parse_cpu_max,
    quota_of,
    with_ancestors,
)
from flare.sys.affinity import usable_cpus

comptime WORKER_COUNT_MAX = 256
"""Most workers of one server: more than any machine serves well, and few
enough for all their counters to fit in a page or two."""

comptime _GROUPS = "/proc/self/cgroup"
comptime _VERSION_2 = "/sys/fs/cgroup"
comptime _VERSION_1 = "/sys/fs/cgroup/cpu"


def default_worker_count() -> Int:
    """Counts the CPUs that this process may use.

    It is the number of CPUs in the affinity mask (`taskset`, cpusets), or the
    CPU quota of the control group (containers) if that is less. A quota of
    one and a half CPUs counts as two.

    Returns:
        1 to `WORKER_COUNT_MAX`.
    """
    var count: Int
    try:
        count = len(usable_cpus())
    except:
        # A mask wider than we can read: over a thousand CPUs.
        count = WORKER_COUNT_MAX
    var granted = _quota_cpu_count()
    if granted > 0:
        count = min(count, granted)
    return max(1, min(count, WORKER_COUNT_MAX))


def _quota_cpu_count() -> Int:
    """Reads the tightest quota of the groups around us; -1 without any."""
    var groups = _read(_GROUPS)
    var least = -1
    for group in with_ancestors(group_path(groups, "")):
        var text = _read(String(_VERSION_2, group, "/cpu.max"))
        least = _tighter(least, parse_cpu_max(text))
    for group in with_ancestors(group_path(groups, "cpu")):
        var folder = String(_VERSION_1, group)
        least = _tighter(
            least,
            quota_of(
                _read(folder + "/cpu.cfs_quota_us"),
                _read(folder + "/cpu.cfs_period_us"),
            ),
        )
    return least


def _tighter(least: Int, quota: CpuQuota) -> Int:
    var count = quota.cpu_count()
    if least < 0 or count < 0:
        return max(least, count)
    return min(least, count)


def _read(path: String) -> String:
    """Reads a small file; empty if it is not there, as on macOS."""
    try:
        var file = open(path, "r")
        return file.read()
    except:
        return String()
