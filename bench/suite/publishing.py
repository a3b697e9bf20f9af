"""Writes the tables of README and docs/benchmarks.md from result folders.

The record behind each table is kept in bench/recorded, and a test holds the
pages to it.
"""

import json
import shutil
from pathlib import Path

from suite.figures import error_count
from suite.markers import replace_in
from suite.record import read_record, rounded
from suite.summary import TITLES, summary
from suite.tables import headline_table
from toolchain import ROOT

RECORDED = ROOT / "bench" / "recorded"
PAGE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"
PICTURES = ROOT / "docs" / "benchmarks"
HEADLINE = "headline"
CHARTS = {"single": "plaintext", "sweep": "sweep"}  # one picture of a run goes along


def section_text(record: dict) -> str:
    """Writes what stands between the markers of a record's kind."""
    kind = record["origin"]["run"]
    chart = CHARTS.get(kind)
    picture = f"![{chart}](benchmarks/{chart}.svg)\n\n" if chart else ""
    return f"## {TITLES[kind]}\n\n{picture}{summary(record)}"


def headline_text(record: dict) -> str:
    """Writes the README's table with its origin."""
    about = record["origin"]
    table = "\n".join(headline_table(record))
    return (
        f"{table}\n\n{about['cpu']}, one core for the server, {about['connections']} connections,"
        f" median of {about['rounds']} rounds, {about['date']}, commit {about['commit'][:10]}.\n"
    )


def check_publishable(folder: Path, record: dict) -> None:
    """Raises ValueError for figures that nobody could come to again."""
    rounds = [
        row
        for names in record.get("rounds", {}).values()
        for rows in names.values()
        for row in rows
    ]
    if record["origin"]["tree"] == "dirty":
        raise ValueError(f"{folder}: figures of a dirty tree are not published; commit first")
    if "interrupted" in record["origin"]:
        raise ValueError(f"{folder}: an interrupted run is not published; measure again")
    if error_count(rounds):
        raise ValueError(f"{folder}: a failed response is not published; see its summary.md")
    chart = CHARTS.get(record["origin"]["run"])
    if chart and not (folder / "charts" / f"{chart}.svg").exists():
        raise ValueError(f"{folder}: there is no chart of {chart}; measure that as well")


def publish(folders: list[Path]) -> None:
    """Writes pages and records; of two folders of a kind, the last counts."""
    for folder in folders:
        record = read_record(folder)
        check_publishable(folder, record)
        kind = record["origin"]["run"]
        RECORDED.mkdir(exist_ok=True)
        (RECORDED / f"{kind}.json").write_text(json.dumps(rounded(record), indent=1) + "\n")
        replace_in(PAGE, kind, section_text(record))
        if kind in CHARTS:
            PICTURES.mkdir(exist_ok=True)
            name = f"{CHARTS[kind]}.svg"
            shutil.copyfile(folder / "charts" / name, PICTURES / name)
        if kind == "single":
            replace_in(README, HEADLINE, headline_text(record))
