"""What is written between markers, and that the pages hold nothing else."""

import json

import pytest
from suite import publishing
from suite.markers import replaced, section
from suite.publishing import headline_text, section_text
from suite.record import neutral, read_record, rounded
from test_bench_figures import record, rows
from toolchain import BUILD, ROOT

PAGE = "before\n<!-- bench: begin {0} -->\nold\n<!-- bench: end {0} -->\nafter\n"


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """Gives pages with markers, and a function that writes result folders."""
    page, readme = tmp_path / "page.md", tmp_path / "readme.md"
    page.write_text(PAGE.format("single") + PAGE.format("multi"))
    readme.write_text(PAGE.format("headline"))
    for name, value in {
        "PAGE": page, "README": readme, "RECORDED": tmp_path / "recorded",
        "PICTURES": tmp_path / "pictures",
    }.items():
        monkeypatch.setattr(publishing, name, value)

    def folder(found: dict):
        path = tmp_path / found["origin"]["run"]
        (path / "charts").mkdir(parents=True)
        (path / "charts" / "plaintext.svg").write_text("<svg/>")
        (path / "results.json").write_text(json.dumps(found))
        return path

    return page, readme, folder


def run(kind: str, **rounds: list[dict]) -> dict:
    """Makes a record that can be published."""
    found = record(kind, **rounds)
    found["origin"] |= {"connections": 64, "rounds": 5}
    found["left_out"] = {}
    found["workloads"]["plaintext"] = found["workloads"]["w"]
    for server in found["rounds"].values():
        server["plaintext"] = server["w"]
    return found


def test_only_what_is_between_the_markers_changes():
    assert replaced(PAGE.format("x"), "x", "new\n") == PAGE.format("x").replace("old", "new")
    with pytest.raises(ValueError, match="no markers `bench: begin y`"):
        replaced(PAGE.format("x"), "y", "new\n")


def test_a_run_is_published_with_its_record(pages):
    page, readme, folder = pages
    publishing.publish([folder(run("single", limit=rows(1.0), flare=rows(1.0)))])
    found = json.loads((publishing.RECORDED / "single.json").read_text())
    assert section(page.read_text(), "single") == section_text(found)
    assert section(page.read_text(), "multi") == "old\n"
    assert section(readme.read_text(), "headline") == headline_text(found)
    assert (publishing.PICTURES / "plaintext.svg").exists()


def test_a_dirty_tree_or_a_failed_response_is_not_published(pages, tmp_path):
    page, _, folder = pages
    dirty, failed = run("single", flare=rows(1.0)), run("multi", flare=rows(1.0))
    dirty["origin"]["tree"] = "dirty"
    failed["rounds"]["flare"]["w"][0]["errors"] = {"read": 1}
    for found in (dirty, failed):
        with pytest.raises(ValueError, match="not published"):
            publishing.publish([folder(found)])
    assert page.read_text().count("old") == 2
    with pytest.raises(ValueError, match="holds no results.json"):
        read_record(tmp_path / "none")


def test_an_interrupted_run_is_not_published(pages):
    found = run("single", flare=rows(1.0))
    found["origin"]["interrupted"] = "after 1 of 2 workloads"
    with pytest.raises(ValueError, match="an interrupted run is not published"):
        publishing.publish([pages[2](found)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"origin": {', "is damaged: Expecting"),
        ("", "is damaged: Expecting"),
        ("[]", "there is no origin"),
        ('{"origin": 1}', "there is no origin"),
        ('{"origin": {"run": "x"}}', "there is no run of a known kind: single"),
        ('{"origin": {"run": "sweep", "date": "d"}}', "there is no commit"),
        (json.dumps({"origin": record()["origin"], "servers": {}}), "there is no workloads"),
    ],
)
def test_a_damaged_record_is_named(tmp_path, text, message):
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(ValueError, match=f"{tmp_path}/results.json .*{message}"):
        read_record(tmp_path)


def test_a_run_without_the_chart_that_goes_along_is_not_published(pages):
    _, _, folder = pages
    path = folder(run("single", flare=rows(1.0)))
    (path / "charts" / "plaintext.svg").unlink()
    with pytest.raises(ValueError, match="there is no chart of plaintext"):
        publishing.publish([path])


def test_figures_are_cut_to_five_digits():
    assert rounded({"a": [1.23456789, 7], "b": "x"}) == {"a": [1.2346, 7], "b": "x"}


def test_the_pages_hold_what_was_recorded():
    for path in sorted(publishing.RECORDED.glob("*.json")):
        found = json.loads(path.read_text())
        page = section(publishing.PAGE.read_text(), found["origin"]["run"])
        assert page == section_text(found), f"{path.name}: run `bench.py report --publish` again"
        if path.stem == "single":
            readme = section(publishing.README.read_text(), publishing.HEADLINE)
            assert readme == headline_text(found)


def test_a_record_has_no_path_of_the_machine():
    command = [f"{BUILD}/x", "-I", str(ROOT), f"{ROOT}/bench/a.c", "/tmp/b-1"]
    assert neutral(command) == "build/x -I . bench/a.c TEMPORARY/b-1"
