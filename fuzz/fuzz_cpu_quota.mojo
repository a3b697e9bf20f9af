"""Fuzzes the files of control groups: no text makes a count out of range."""

from flare.runtime.worker_count import (
    group_path,
    parse_cpu_max,
    quota_of,
    with_ancestors,
)
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct CpuQuotaTarget(Target):
    """A quota is at least one CPU or none; groups end at the root."""

    def seeds(self) -> List[String]:
        """Lists files."""
        return ["max 100000", "150000 100000\n", "0::/a/b\n4:cpu,cpuacct:/c\n"]

    def tokens(self) -> List[String]:
        """Lists words."""
        return ["max", "0::", ":cpu", "/", ",", "-1", "999999999999999999"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input as each of the files."""
        var text = String(from_utf8_lossy=input)
        var count = parse_cpu_max(text).cpu_count()
        if count != -1 and count < 1:
            raise Error("count ", count)
        if quota_of(text, text).cpu_count() not in [-1, 1]:
            raise Error("as much as the period is one CPU")
        for controller in ["", "cpu"]:
            var groups = with_ancestors(group_path(text, controller))
            if groups[len(groups) - 1].find("/") >= 0:
                raise Error("does not end at the root")


def main() raises:
    """Runs the target."""
    fuzz_main("cpu_quota", CpuQuotaTarget())
