"""How unit tests are shared out, and what a batch's output is read as."""

import unit
from programs import shares
from report import Report


class Recorder(Report):
    """Keeps the names of what passed, too."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def passed(self, name: str, count: int = 1) -> None:
        super().passed(name, count)
        self.names.append(name)


def test_reads_results():
    report = Recorder()
    output = (
        "RUN a\nPASS a\nRUN b\nFAIL b\ntwo\nlines\nRUN c\nnoise\nPASS c\nEND\n"
    )
    assert unit.read_output(output, report) is None
    assert report.names == ["a", "c"]
    assert report.failures == [("b", "two\nlines")]


def test_names_the_test_that_killed_the_program():
    report = Recorder()
    output = "RUN a\nPASS a\nRUN b\nabort at x.mojo:3\n"
    assert unit.read_output(output, report) == "b"
    assert report.names == ["a"]


def test_goes_on_behind_the_culprit(tmp_path):
    # A batch that dies in its second test, written as a shell script.
    binary = tmp_path / "batch"
    binary.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = 0 ]; then echo RUN a; echo PASS a; echo RUN b; kill -4 $$; fi\n'
        "echo RUN c; echo PASS c; echo END\n"
    )
    binary.chmod(0o755)
    report = Recorder()
    unit.run_batch(binary, ["a", "b", "c"], report)
    assert report.names == ["a", "c"]
    [(name, message)] = report.failures
    assert name == "b"
    assert "killed the program (-4)" in message


def test_sees_a_failure_at_exit(tmp_path):
    binary = tmp_path / "batch"
    binary.write_text("#!/bin/sh\necho RUN a; echo PASS a; echo END; exit 1\n")
    binary.chmod(0o755)
    report = Recorder()
    unit.run_batch(binary, ["a"], report)
    assert len(report.failures) == 1


def test_batches_are_of_about_one_length(tmp_path):
    files = {}
    for number, length in enumerate([900, 500, 400, 100]):
        path = tmp_path / f"test_{number}.mojo"
        path.write_text("x" * length)
        files[path] = ["test_a"]
    sizes = sorted(
        sum(path.stat().st_size for path in share)
        for share in shares(files, 2)
    )
    assert sizes == [900, 1000]


def test_the_last_line_counts(capsys):
    report = Report()
    report.passed("a", 3)
    report.fail("b", "broken")
    report.skipped("c", "not here", 2)
    assert report.close() == 1
    assert capsys.readouterr().out.endswith("\n3 passed, 1 failed, 2 skipped\n")


def test_a_part_that_breaks_is_a_failure():
    report = Report()

    def broken(report: Report) -> None:
        raise ValueError("no")

    report.step("part", broken)
    assert report.close() == 1
