"""Writes the page of RFC coverage: which tests name which section.

Tests are tables, and the rows name the section they come from (`9112-7.1 ...`, or
`7.1 ...` in a file that begins with its RFC); other tests name it in words (`RFC
9112 section 7.1`). Of the RFCs in
`rfc_sections.toml` all sections with rules are listed, so that one without a
test shows.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROW = re.compile(r"[\"'](?:RFC )?(?P<rfc>\d{4})[- ](?P<section>\d+(?:\.\d+)*)\b")
WORDS = re.compile(
    r"RFC (?P<rfc>\d{4})(?:,)? sections? (?P<section>\d+(?:\.\d+)*)"
)
# A row or a comment of a file that is about one RFC.
BARE = re.compile(r"(?:[\"']|section )(?P<section>[1-9]\d?(?:\.\d\d?){1,2})(?= [a-z0-9])")
SUBJECT = re.compile(r"RFC (\d{4})")
HEAD_LEN = 600
TABLE = Path("tools/rfc_sections.toml")

# By RFC and section, how many rows and mentions each test file has.
Coverage = dict[str, dict[str, Counter[str]]]


def read_coverage(root: Path, known: set[str]) -> Coverage:
    """Looks through the tests for sections of the RFCs that are known."""
    found: Coverage = defaultdict(lambda: defaultdict(Counter))
    for path in sorted((root / "tests").rglob("*")):
        is_of_tools = path.is_relative_to(root / "tests" / "tools")
        if path.suffix not in (".mojo", ".py") or is_of_tools:
            continue
        text = path.read_text()
        name = str(path.relative_to(root))
        for rfc, section in sections_in(text):
            if rfc in known:
                found[rfc][section][name] += 1
    return found


def sections_in(text: str) -> Iterator[tuple[str, str]]:
    """Finds what sections a test file names, each with its RFC."""
    for pattern in (ROW, WORDS):
        for match in pattern.finditer(text):
            yield match["rfc"], match["section"]
    subject = SUBJECT.search(text[:HEAD_LEN])
    if subject:
        rest = WORDS.sub("", text)
        for match in BARE.finditer(rest):
            yield subject[1], match["section"]


def order(section: str) -> tuple[int, ...]:
    """Sorts sections as they stand in the RFC."""
    return tuple(int(part) for part in section.split("."))


def page(root: Path) -> str:
    """Writes the page."""
    table = tomllib.loads((root / TABLE).read_text())
    coverage = read_coverage(root, set(table))
    out = ["# RFC coverage", "", INTRODUCTION, ""]
    out += ["| RFC | subject | sections with tests | rows and mentions |"]
    out += ["| --- | --- | --- | --- |"]
    for rfc, entry in table.items():
        sections = coverage[rfc]
        count = sum(sum(files.values()) for files in sections.values())
        title = f"[RFC\u00a0{rfc}](#rfc-{rfc})"
        out.append(f"| {title} | {entry['title']} | {len(sections)} | {count} |")
    for rfc, entry in table.items():
        out += ["", f"## RFC {rfc} {{ #rfc-{rfc} }}", "", entry["title"], ""]
        out += section_rows(entry, coverage[rfc])
    return "\n".join(out) + "\n"


def section_rows(entry: dict, sections: dict[str, Counter[str]]) -> list[str]:
    """Writes the table of one RFC."""
    titles = entry.get("sections", {})
    without = entry.get("without", {})
    out = ["| section | | rows | where |", "| --- | --- | --- | --- |"]
    for section in sorted({*titles, *sections}, key=order):
        files = sections.get(section, Counter())
        title = titles.get(section, "")
        if files:
            named = [Path(name).stem.removeprefix("test_") for name, _ in files.most_common(4)]
            more = f" and {len(files) - 4} more" if len(files) > 4 else ""
            where = ", ".join(f"`{name}`" for name in named) + more
            count = str(sum(files.values()))
        else:
            count = "none"
            where = without.get(section, "**no test names it**")
        out.append(f"| {section} | {title} | {count} | {where} |")
    return out


INTRODUCTION = """\
Tests are tables whose rows name the section of the RFC that they come from. This
page counts them, and is made from the tests each time the site is built. A
section with rules that no test names stands here as such. What is taken or
refused where an RFC leaves room is on the page about [conformance](../conformance.md)."""
