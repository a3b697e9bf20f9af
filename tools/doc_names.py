"""Checks what the documents name: the library's names, and the site's pages.

In a code span, `Type` and `Type.member` are looked for among what the fronts
export, and any other word of several parts (`max_body_size`) anywhere in the
sources. Code of the same page counts as well, so that a page may speak of its
own examples.
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from check_layers import Layers
from doc_blocks import Page
from mojo_source import Problem, Source, mojo_files

SITE = Path("mkdocs.yml")
DOCS = Path("docs")
# Pages for those who change the library speak of its insides, of other
# languages and of names that are gone.
MAINTAINERS = {
    "docs/mojo-notes.md",
    "docs/mojo-for-newcomers.md",
    "docs/where.md",
    "docs/api-changes.md",
    "docs/conformance.md",
    "docs/benchmarks.md",
    "docs/comparison.md",
}
SPAN = re.compile(r"`([^`]+)`")
TYPE = re.compile(r"\b([A-Z][a-z]\w*)(?:\.(\w+))?")
WORD = re.compile(r"(?<![-\w])[a-z]+(?:_[a-z0-9]+)+\b")
MEMBER = re.compile(r"^\s+(?:def|var|comptime)\s+(\w+)", re.MULTILINE)
# Names of Mojo's own library, and of files, that pages use in passing.
MOJO = {
    "Atomic", "Bool", "Copyable", "Defaultable", "Dict", "Error", "Float64", "Int", "Int64", "List",
    "Movable", "Mojo", "None", "Optional", "Self", "Set", "Span", "String",
    "StringSpan", "True", "False", "UInt8", "UInt64", "Variant", "Writable",
    "ArcPointer", "OwnedPointer", "Dockerfile", "Makefile",
}  # fmt: skip
# Header fields of one word.
FIELDS = {
    "Accept", "Allow", "Authorization", "Connection", "Cookie", "Date", "Expect",
    "Forwarded", "Host", "Location", "Origin", "Range", "Server", "Trailer",
    "Upgrade", "Vary",
}  # fmt: skip


@cache
def public_names(root: Path) -> dict[str, set[Path]]:
    """What fronts export: each name with the files that define it."""
    found: dict[str, set[Path]] = {}
    for package in Layers.read(root / "tools" / "layers.toml").fronts:
        front = Path(package) / "__init__.mojo"
        if (root / front).exists():
            for entry in Source.read(root, front).imports:
                path = Path(*entry.module.split(".")).with_suffix(".mojo")
                for name in entry.names:
                    found.setdefault(name, set()).add(path)
    return found


@cache
def source_words(root: Path) -> set[str]:
    """Every word of the sources, tools and configuration."""
    words: set[str] = set()
    for path in mojo_files(root, "flare"):
        words.update(re.findall(r"\w+", (root / path).read_text()))
    return words


@cache
def members(root: Path, paths: frozenset[Path]) -> set[str]:
    """Whatever is defined inside of something in these files.

    Members may come from a trait, and those of a trait from another file: its
    own imports are looked at, too.
    """
    found: set[str] = set()
    for path in paths:
        if not (root / path).exists():
            continue
        source = Source.read(root, path)
        found.update(MEMBER.findall("\n".join(source.code)))
        for entry in source.imports:
            other = root / Path(*entry.module.split(".")).with_suffix(".mojo")
            if other.exists():
                found.update(MEMBER.findall(other.read_text()))
    return found


def check_names(root: Path, page: Page) -> Iterator[Problem]:
    """Looks for what a page names in its code spans."""
    if page.path.parts[0] != "docs" or len(page.path.parts) != 2:
        return
    if str(page.path) in MAINTAINERS:
        return
    own = set(re.findall(r"\w+", " ".join(block.text for block in page.blocks)))
    for number, line in enumerate(page.prose, 1):
        if page.path.name.startswith("from-") and line.startswith("|"):
            # The first column is in the words of where the reader comes from.
            line = line.split(" | ", 1)[-1]
        for span in SPAN.findall(line):
            for message in _unknown(root, _bare(span), own):
                yield Problem(page.path, number, message)


def _bare(span: str) -> str:
    """Takes texts, paths and fields of messages out of a code span."""
    span = re.sub(r"\"[^\"]*\"|'[^']*'", "", span)
    return "" if re.search(r"[/:]\s?\S|^--?\w|^\w+=\w+$", span) else span


def _unknown(root: Path, span: str, own: set[str]) -> Iterator[str]:
    public = public_names(root)
    for name, member in TYPE.findall(span):
        if name in own or name in MOJO or name in FIELDS or "-" in span:
            continue
        if name not in public:
            yield f"`{span}`: no front exports {name}"
        elif member and member not in members(root, frozenset(public[name])):
            yield f"`{span}`: {name} has no {member}"
    for word in WORD.findall(span):
        if word not in own and word not in source_words(root):
            yield f"`{span}`: nothing in the library is called {word}"


class _Loader(yaml.SafeLoader):
    """Reads the site's settings, tags of Python included."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


@cache
def site_settings(root: Path) -> dict[str, Any]:
    """Reads mkdocs.yml."""
    return yaml.load((root / SITE).read_text(), _Loader)


def nav_entries(nav: list[Any]) -> Iterator[str]:
    """Gives the pages of the navigation, patterns included, in order."""
    for entry in nav:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if isinstance(value, list):
            yield from nav_entries(value)
        else:
            yield value


def check_navigation(root: Path) -> Iterator[Problem]:
    """Holds the navigation to the pages that there are."""
    if not (root / SITE).exists():
        return
    settings = site_settings(root)
    generated = tuple(settings["extra"]["generated"])
    entries = list(nav_entries(settings["nav"]))
    pages = {
        str(path.relative_to(root / DOCS))
        for path in (root / DOCS).rglob("*.md")
    }
    for entry in entries:
        if entry.endswith("/") or entry.startswith(generated):
            continue
        if "*" not in entry and entry not in pages:
            yield Problem(SITE, 1, f"the navigation has {entry}, which is no page")
    for page in sorted(pages):
        if not any(fnmatch(page, entry) for entry in entries):
            if not page.startswith(generated):
                yield Problem(
                    DOCS / page, 1, f"is not in the navigation; add it to {SITE}"
                )
