"""How results are counted, those of work that is done at once, too."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest
from report import APART_NICENESS, Report

TOOLS = Path(__file__).parents[2] / "tools"
COUNTS = f"""
import os, sys
sys.path.insert(0, {str(TOOLS)!r})
from pathlib import Path
from report import Report
report = Report()
report.step("part", lambda r: (r.passed("a", 3), r.fail("b", f"why {{os.nice(0)}}")))
report.skipped("c", "there is none")
report.save(Path(sys.argv[-1]))
"""


def test_work_at_once_counts_as_one(capsys):
    report, first, second = Report(), threading.Event(), threading.Event()

    def one(own: Report) -> None:
        first.set()
        assert second.wait(10)
        own.step("one", lambda r: r.passed("a", 2))

    def other(own: Report) -> None:
        assert first.wait(10)
        second.set()
        own.step("other", lambda r: r.fail("b", "why"))
        own.skipped("c", "there is none")

    report.beside(one, other)
    assert (report.pass_count, report.skip_count) == (2, 1)
    assert report.failures == [("b", "why")]
    assert sorted(name for _, name in report.times) == ["one", "other"]
    told = capsys.readouterr().out
    assert "== one: 2 passed, 0 failed" in told
    assert "== other: 0 passed, 1 failed" in told
    assert report.close() == 1


def test_what_is_counted_apart_counts():
    report = Report()
    with report.apart("apart", sys.executable, "-c", COUNTS):
        report.passed("d")
    assert (report.pass_count, report.skip_count) == (4, 1)
    assert report.failures == [("b", f"why {os.nice(0) + APART_NICENESS}")]
    assert [name for _, name in report.times] == ["part"]


def test_what_counts_nothing_apart_has_failed():
    report = Report()
    with report.apart("apart", sys.executable, "-c", "raise SystemExit(3)"):
        pass
    [(name, message)] = report.failures
    assert name == "apart" and "ended with 3" in message


def test_what_runs_apart_ends_with_the_rest(tmp_path):
    sign = tmp_path / "sign"
    waits = (
        "import os, sys, time; from pathlib import Path;"
        f" Path({str(sign)!r}).write_text(str(os.getpid())); time.sleep(600)"
    )
    with pytest.raises(KeyboardInterrupt):
        with Report().apart("apart", sys.executable, "-c", waits):
            end = time.monotonic() + 10
            while not (sign.exists() and sign.read_text()):
                assert time.monotonic() < end
                time.sleep(0.01)
            raise KeyboardInterrupt
    with pytest.raises(ProcessLookupError):
        os.kill(int(sign.read_text()), 0)
