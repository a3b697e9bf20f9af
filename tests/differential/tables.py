"""The tables of docs/conformance.md that a run writes, and what must hold of them."""

import re
from collections.abc import Mapping
from pathlib import Path

import classes
from subjects import SUBJECTS, Subject

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"
BEGIN, END = "<!-- differential {} -->", "<!-- /differential -->"
HEAD = "| Class | Source | Follows it | Inputs | Why |\n| --- | --- | --- | --- | --- |\n"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def table(
    subject: Subject, inputs: int, seed: int, counts: Mapping[str, Mapping[str, int]]
) -> str:
    """Writes the section of a subject; the most frequent classes come first."""

    def total(row: classes.Class) -> int:
        return sum(counts.get(row.name, {}).values())

    names = {"Python": subject.package}
    lines = []
    for row in sorted(classes.of(subject.name), key=total, reverse=True):
        seen = sorted(counts.get(row.name, {}).items())
        found = ", ".join(f"{names.get(judge, judge)} {count:,}" for judge, count in seen)
        cells = (row.name, row.source, row.right, found or "none", row.why)
        lines.append("| " + " | ".join(map(cell, cells)) + " |\n")
    judges = ", ".join(names.get(judge, judge) for judge in subject.judges)
    return (
        f"### {subject.title}\n\n{inputs:,} inputs, seed {seed}, beside {judges}.\n\n"
        + HEAD
        + "".join(lines)
    )


def section(name: str) -> re.Pattern[str]:
    begin, end = re.escape(BEGIN.format(name)), re.escape(END)
    return re.compile(f"({begin}\n)(.*?)({end})", re.DOTALL)


def write(
    subject: Subject, inputs: int, seed: int, counts: Mapping[str, Mapping[str, int]]
) -> None:
    """Puts what a run has found in the place of the last run's."""
    page = PAGE.read_text()
    text = table(subject, inputs, seed, counts)
    written, count = section(subject.name).subn(
        lambda found: f"{found[1]}\n{text}\n{found[3]}", page
    )
    if count != 1:
        raise ValueError(f"docs/conformance.md has {count} places for {subject.name}")
    PAGE.write_text(written)


def problems() -> list[str]:
    """Names classes that the page has and the table of classes has not, or the
    other way round."""
    page = PAGE.read_text()
    found = []
    for subject in SUBJECTS:
        place = section(subject.name).search(page)
        if place is None:
            found.append(f"docs/conformance.md has no place for {subject.name}")
            continue
        rows = {row for row in place[2].splitlines() if row.startswith("| ")}
        shown = {re.split(r"(?<!\\)\|", row)[1].strip() for row in rows}
        shown -= {"Class", "---"}
        known = {cell(row.name) for row in classes.of(subject.name)}
        for name in sorted(shown ^ known):
            where = "only in docs/conformance.md" if name in shown else "only in classes.py"
            found.append(f"{subject.name}: '{name}' is {where}; make differential FLAGS=--write")
    return found
