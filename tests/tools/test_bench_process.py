"""How the benchmark adds up a process tree, on written /proc files and a real one."""

import os
import subprocess
import sys

import pytest
from suite import process

TICK = 1 / process.TICKS


def stat(parent: int, session: int, own: int = 0, waited: int = 0, system: int = 0) -> str:
    """Writes a `stat`; a program's name may hold anything."""
    between = " ".join(["0"] * 7)
    return f"1 (a) b) S {parent} 1 {session} {between} {own} {system} {waited} 0 20 0"


@pytest.fixture
def proc(tree):
    """A server 10 with a worker 11 and its child 12, an orphan 13, a stranger 20."""
    return tree({
        "10/stat": stat(1, 10, own=100, waited=50),
        "10/task/10/schedstat": "1000000000 5 6",
        "10/task/15/schedstat": "500000000 5 6",
        "10/smaps_rollup": "Rss: 90 kB\nPss:      30 kB\nPss_Anon: 5 kB\n",
        "11/stat": stat(10, 10, own=300),
        "11/task/11/schedstat": "1000000000 5 6",
        "11/smaps_rollup": "Pss: 10 kB\n",
        "12/stat": stat(11, 99),
        "13/stat": stat(1, 10, own=7),
        "10/task/10/status": "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t2\n",
        "11/task/11/status": "voluntary_ctxt_switches:\t30\nnonvoluntary_ctxt_switches:\t1\n",
        "stat": "cpu  10 0 20 100 5 1 2 40 0 0\n",
        "20/stat": stat(1, 20, own=1000, waited=1000),
        "self/stat": stat(10, 10),
        "21/status": "gone between two looks",
    })


def test_the_tree_has_children_and_the_session(proc):
    assert process.tree(10, proc) == [10, 11, 12, 13]
    assert process.tree(77, proc) == [77]


def test_cpu_time_counts_threads_and_what_has_ended(proc):
    threads, ended_threads, orphan, waited = 1.5, 300 * TICK, 7 * TICK, 50 * TICK
    wanted = max(threads, 100 * TICK) + max(1.0, ended_threads) + orphan + waited
    assert process.cpu_s(10, proc) == pytest.approx(wanted)


def test_usage_tells_user_from_system_and_counts_switches(proc):
    before = process.usage(10, proc)
    assert before.cpu_s == process.cpu_s(10, proc)
    assert before.user_s == pytest.approx((100 + 50 + 300 + 7) * TICK)
    assert (before.system_s, before.switches) == (0, 40)
    (proc / "10" / "stat").write_text(stat(1, 10, own=110, waited=50, system=30))
    later = process.usage(10, proc).since(before)
    assert (later.user_s, later.system_s) == (pytest.approx(10 * TICK), pytest.approx(30 * TICK))


def test_the_hosts_share_is_known(proc):
    assert process.steal_s(proc) == 40 * TICK


def test_memory_is_the_share_of_each(proc):
    assert process.memory_len(10, proc) == 40 * 1024
    assert process.memory_len(10, proc, "Rss") == 90 * 1024


def test_a_child_that_ended_keeps_its_time():
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    code = (
        "import subprocess, sys\n"
        f"subprocess.run([sys.executable, '-c', {burn!r}])\n"
        "print('done', flush=True)\nsys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        assert child.stdout.readline() == b"done\n"
        assert process.tree(child.pid) == [child.pid]
        assert process.cpu_s(child.pid) >= 0.3 - 2 * TICK
        assert process.memory_len(child.pid) > 0


def test_the_machine_is_at_least_as_busy_as_its_parts():
    before, own = process.busy_s(), os.times().user
    while os.times().user < own + 5 * TICK:
        continue
    assert process.busy_s() > before
