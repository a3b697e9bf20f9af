"""That a whole run does each part once, and in which order what needs another."""

import threading

import pytest
import test as runner
from report import Report


@pytest.fixture
def ended(monkeypatch):
    """The names of the parts that have run, in order of their ends."""
    names: list[str] = []
    lock = threading.Lock()

    def part(name: str):
        def run(report: Report) -> None:
            report.passed(name)
            with lock:
                names.append(name)

        return run

    parts = {name: part(name) for name in runner.PARTS}
    monkeypatch.setattr(runner, "PARTS", parts)
    return names


def test_each_part_runs_once(ended):
    report = Report()
    runner.run_all(report)
    usual = set(runner.PARTS) - set(runner.SELDOM)
    assert sorted(ended) == sorted(usual)
    assert report.pass_count == len(usual)


def test_servers_wait_for_their_programs(ended):
    runner.run_all(Report())
    assert ended.index("wire-programs") < ended.index("wire")


def test_servers_are_tried_though_their_programs_break(ended, monkeypatch):
    def breaks(_: Report) -> None:
        raise OSError("no room")

    monkeypatch.setitem(runner.PARTS, "wire-programs", breaks)
    with pytest.raises(OSError, match="no room"):
        runner.run_all(Report())
    assert "wire" in ended
