"""Holds the pages that newcomers read first to what the library has.

`doc_features.toml` has a row for each public package: a name that its front
exports, which proves that it is there, and the word by which each of those pages
must speak of it. A public package without a row fails, and so does a comparison
that denies what there is.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from check_layers import Layers
from doc_blocks import Page
from mojo_source import Problem, Source

TABLE = Path("tools/doc_features.toml")
DENIALS = {"", "-", "no"}
# Where a link leads is no word of its page.
LINK_TARGET = re.compile(r"\]\([^)]*\)")


@dataclass(frozen=True)
class Features:
    """The table: pages, features by their package, and packages without one."""

    pages: list[str]
    comparison: str
    features: dict[str, dict[str, str]]
    parts: dict[str, str]

    @classmethod
    def read(cls, root: Path) -> "Features":
        """Reads the table of a tree."""
        return cls(**tomllib.loads((root / TABLE).read_text()))


def check_features(root: Path) -> Iterator[Problem]:
    """Looks for each public package in the table, and for its word in the pages."""
    if not (root / TABLE).exists():
        return
    table = Features.read(root)
    yield from _check_rows(root, table)
    for name in table.pages:
        if not (root / name).exists():
            yield Problem(TABLE, 1, f"no page {name}")
            continue
        page = Page.read(root, Path(name))
        for row in table.features.values():
            yield from _check_word(page, row["word"])
            if name == table.comparison:
                yield from _check_cells(page, row["word"])


def _check_rows(root: Path, table: Features) -> Iterator[Problem]:
    """Holds the table to the public packages that there are."""
    public = set(Layers.read(root / "tools" / "layers.toml").fronts)
    rows = {*table.features, *table.parts}
    for package in sorted(public - rows):
        yield Problem(TABLE, 1, f"{package} has no row; say what pages call it")
    for package in sorted(rows - public):
        yield Problem(TABLE, 1, f"{package} is no public package")
    for package, row in table.features.items():
        front = Path(package) / "__init__.mojo"
        if package in public:
            source = Source.read(root, front)
            if row["name"] not in source.imported | source.defined:
                yield Problem(TABLE, 1, f"{package} has no {row['name']}")


def _names(text: str, word: str) -> bool:
    text = LINK_TARGET.sub("]", text)
    return bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE))


def _check_word(page: Page, word: str) -> Iterator[Problem]:
    if not _names("\n".join(page.prose), word):
        yield Problem(page.path, 1, f"does not name `{word}`, which the library has")


def _check_cells(page: Page, word: str) -> Iterator[Problem]:
    """Looks for rows that say of our column, the second, that there is none."""
    for number, line in enumerate(page.prose, 1):
        cells = [cell.strip(" *").lower() for cell in line.split("|")]
        if len(cells) > 3 and _names(cells[1], word) and cells[2] in DENIALS:
            yield Problem(page.path, number, f"denies `{word}`, which the library has")
