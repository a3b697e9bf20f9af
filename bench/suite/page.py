"""Builds a static page of result folders: tables, charts, nothing from elsewhere."""

import html
import re
from pathlib import Path

from suite.charts import draw
from suite.record import read_record
from suite.summary import TITLES, summary

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem;
  color: #212529; background: #fff }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #dee2e6; text-align: right; white-space: nowrap }
th { border-bottom: 2px solid #868e96 } td:nth-child(-n+2), th:nth-child(-n+2) { text-align: left }
.wide { overflow-x: auto } svg { max-width: 100%; height: auto } b { color: #c92a2a }
nav a { margin-right: 1.2rem } p.origin { color: #495057; font-size: 13px }
"""


def inline(text: str) -> str:
    """Writes a piece of a line: what is bold in Markdown is bold here."""
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text, quote=False))


def table(lines: list[str]) -> str:
    """Writes the lines of a Markdown table."""
    rows = [[inline(cell.strip()) for cell in line.strip().strip("|").split("|")] for line in lines]
    head = "".join(f"<th>{cell}</th>" for cell in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows[2:]
    )
    return f'<div class="wide"><table><tr>{head}</tr>\n{body}</table></div>\n'


def as_html(text: str, charts: dict[str, str]) -> str:
    """Turns our own Markdown into HTML; a chart goes below the heading of its name."""
    written: list[str] = []
    for block in re.split(r"\n{2,}", text.strip()):
        lines = block.splitlines()
        if lines[0].startswith("|"):
            written.append(table(lines))
        elif found := re.match(r"(#+) (.*)", lines[0]):
            level, title = len(found[1]), found[2]
            written.append(f"<h{level}>{inline(title)}</h{level}>\n{charts.pop(title, '')}")
        else:
            written.append('<p class="origin">' + "<br>".join(map(inline, lines)) + "</p>\n")
    return "".join(written) + "".join(charts.values())


def drawn(record: dict, folder: Path) -> dict[str, str]:
    """Draws the charts of a record into a folder; gives them by workload."""
    made = draw(record, folder)
    pictures = {}
    for name, title in zip(made, ["sweep"] * ("sweep" in made) + list(_workloads(record))):
        svg = (folder / f"{name}.svg").read_text()
        pictures[title] = svg[svg.index("<svg") :]
    return pictures


def _workloads(record: dict) -> list[str]:
    return [
        name
        for name in record.get("workloads", {})
        if any(rounds.get(name) for rounds in record["rounds"].values())
    ] if "servers" in record else []


def build_page(folders: list[Path], target: Path) -> Path:
    """Writes index.html and its charts into a folder; gives the page's path."""
    target.mkdir(parents=True, exist_ok=True)
    parts, links = [], []
    for number, folder in enumerate(folders):
        record = read_record(folder)
        title = TITLES[record["origin"]["run"]]
        links.append(f'<a href="#run{number}">{title}, {record["origin"]["date"]}</a>')
        charts = drawn(record, target / f"charts{number}")
        parts.append(f'<h2 id="run{number}">{title}</h2>\n{as_html(summary(record), charts)}')
    page = target / "index.html"
    page.write_text(
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>HTTP servers compared</title>'
        f"<style>{STYLE}</style>\n<h1>HTTP servers compared</h1>\n<nav>{''.join(links)}</nav>\n"
        + "".join(parts)
        + "</html>\n"
    )
    return page
