"""The charts and the static page of result folders."""

import json

import pytest
from suite.charts import draw, file_name
from suite.page import as_html, build_page
from suite.summary import summary
from test_bench_figures import record, rows

PNG = b"\x89PNG\r\n\x1a\n"


def run() -> dict:
    """Makes a record of two servers."""
    found = record(**{"C & limit": rows(1.0, 1.1), "flare": rows(1.2, 1.3)})
    found["origin"] |= {"connections": 64, "rounds": 2}
    found["left_out"] = {"may": "HEAD: <no> answer\nand more"}
    return found


def sweep() -> dict:
    """Makes a record of a sweep, whose second point was not reached."""
    point = {f"{name}_ms": 1.0 for name in ("p50", "p99", "p999", "max")} | {"cpu_us": 5.0}
    points = [
        {**point, "rate": 100, "rps": 100.0, "is_met": True},
        {**point, "rate": 200, "rps": 150.0, "is_met": False},
    ]
    return {"origin": {**run()["origin"], "run": "sweep"}, "left_out": {}, "sweep": {"flare": points}}


@pytest.mark.parametrize("made", [run, sweep])
def test_charts_are_drawn_as_png_and_svg_and_the_same_each_time(made, tmp_path):
    names = draw(made(), tmp_path / "one")
    assert names == ["w"] if made is run else names == ["sweep"]
    for name in names:
        assert (tmp_path / "one" / f"{name}.png").read_bytes().startswith(PNG)
        assert draw(made(), tmp_path / "two") == names
        svg = (tmp_path / "one" / f"{name}.svg").read_text()
        assert "<svg" in svg and svg == (tmp_path / "two" / f"{name}.svg").read_text()


def test_a_files_name_has_letters_and_digits():
    assert file_name("64 KiB, x16") == "64_kib__x16"


def test_a_sweep_says_where_a_rate_was_not_reached():
    text = summary(sweep())
    assert "| flare | 100 | 100 | 1.000 |" in text
    assert "| flare | 200 | 150 (not met) |" in text


def test_markdown_becomes_html():
    text = as_html("a: b\nc\n\n### w\n\n| x | y |\n| --- | --- |\n| 1 < 2 | **no** |", {"w": "<svg/>"})
    assert '<p class="origin">a: b<br>c</p>' in text
    assert "<h3>w</h3>\n<svg/>" in text
    assert "<td>1 &lt; 2</td><td><b>no</b></td>" in text


def test_a_page_has_all_runs_and_needs_nothing_from_elsewhere(tmp_path):
    folders = []
    for name, found in {"one": run(), "two": sweep()}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(json.dumps(found))
        folders.append(tmp_path / name)
    page = build_page(folders, tmp_path / "page").read_text()
    assert page.count("<svg") == 2 and "C &amp; limit" in page
    assert "A single-core run" in page and "Latency against load" in page
    assert "may has no row: HEAD: &lt;no&gt; answer" in page
    assert 'src="' not in page and 'href="http' not in page.replace("xlink:href", "")
