"""How many workers a machine, an affinity mask and a CPU quota allow."""

from flare.bytes.checked import *
from flare.bytes.digits import read_digits
from flare.sys.process import usable_cpus

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


comptime _MAX_DIGITS = 18


@fieldwise_init
struct CpuQuota(Equatable, ImplicitlyCopyable):
    """CPU time of a control group: so much in each period."""

    var quota_us: Int
    """Microseconds of CPU time; -1 for no bound."""
    var period_us: Int
    """Length of a period in microseconds; more than 0."""

    comptime UNBOUNDED = CpuQuota(-1, 100_000)

    def cpu_count(self) -> Int:
        """Tells how many CPUs can be kept busy: the quota, rounded up, at least
        1; -1 if there is no bound."""
        if self.quota_us < 0:
            return -1
        return max(1, (self.quota_us + self.period_us - 1) // self.period_us)


def parse_cpu_max(text: StringSpan) -> CpuQuota:
    """Reads `cpu.max` of version 2: quota and period, or `max` and period; no
    bound if the text has another form."""
    var words = text.split()
    if len(words) != 2:
        return CpuQuota.UNBOUNDED
    return quota_of(words[0], words[1])


def quota_of(quota: StringSpan, period: StringSpan) -> CpuQuota:
    """Joins quota and period in microseconds, which version 1 keeps in two
    files; no bound for -1, `max`, and what is not a number."""
    var quota_us = _number(quota)
    var period_us = _number(period)
    if quota_us < 0 or period_us <= 0:
        return CpuQuota.UNBOUNDED
    return CpuQuota(quota_us, period_us)


def _number(text: StringSpan) -> Int:
    """Reads decimal digits with white space around them; -1 for all else."""
    return read_digits(text.strip().as_bytes(), _MAX_DIGITS)


def group_path(text: StringSpan, controller: StringSpan) -> String:
    """Finds a process's control group, as in `/system.slice/web.service`, in
    the lines of `/proc/self/cgroup`: number, controllers and path. The
    controller is of version 1, or empty for version 2. Empty if there is none.
    """
    for line in text.split("\n"):
        var parts = line.split(":", 2)
        if len(parts) != 3:
            continue
        if controller.byte_length() == 0:
            if parts.at(1).byte_length() == 0 and parts.at(0) == "0":
                return String(parts.at(2))
            continue
        for name in parts.at(1).split(","):
            if name == controller:
                return String(parts.at(2))
    return String()


def with_ancestors(path: StringSpan) -> List[String]:
    """Lists a group and the groups around it, whose quotas hold for it too,
    without a slash at the end; the root is empty text."""
    var groups = List[String]()
    var group = String(path.removesuffix("/"))
    while True:
        var slash = group.rfind("/")
        groups.append(group)
        if slash < 0 or group.byte_length() == 0:
            return groups^
        var above = String(group[byte=0:slash])
        group = above^
