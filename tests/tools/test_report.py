"""How results are counted, those of work that is done at once, too."""

import threading

from report import Report


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
