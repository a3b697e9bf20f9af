"""Checks the documents: links, the map, code blocks, docstrings (H6, H9).

Every relative link and anchor leads somewhere; every `file: symbol` of
ARCHITECTURE.md and of a page for users exists; the pages for newcomers name all that there is
(`doc_features.py`); every name that a code block imports from flare is there; every
block of Mojo code compiles (`doc_blocks.py`), and so does every example of a
docstring (`doc_examples.py`); every name in prose is there, and every page is in the
navigation (`doc_names.py`); no public name is without a docstring, and what one says
of a default is so (`doc_defaults.py`).
"""

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from check_layers import Layers
from doc_blocks import (
    Block,
    Page,
    Snippet,
    check_fences,
    compile_snippets,
)
from doc_blocks import run_programs as build_programs
from doc_defaults import check_defaults
from doc_examples import docstring_snippets, unmarked_code
from doc_features import check_features
from doc_names import check_names, check_navigation
from doc_noise import noise
from docs_reference import Reference
from mojo_source import Problem, Source, conclude
from report import Report
from toolchain import BUILD, ROOT, mojo

MAP = Path("ARCHITECTURE.md")
LIBRARY = BUILD / "docs" / "api.json"
SKIPPED = {".git", ".venv", "build", "node_modules", ".venv-docs", ".pytest_cache"}
LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
PACKAGES = re.compile(r"^\| ((?:`flare/[\w/]+`(?:, )?)+) \|")
SYMBOL = re.compile(r"`([\w./-]+\.(?:mojo|py)):\s*([\w.]+)`")


def anchors(page: Page) -> set[str]:
    """The anchors that a browser finds on a page."""
    seen: dict[str, int] = {}
    found = set()
    for line in page.prose:
        if match := HEADING.match(line):
            name = slug(match[1])
            count = seen.get(name, 0)
            seen[name] = count + 1
            found.add(f"{name}-{count}" if count else name)
        found.update(re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", line))
    return found


def slug(heading: str) -> str:
    """Makes the anchor of a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def pages(root: Path) -> Iterator[Page]:
    """Reads every Markdown file of the repository."""
    for path in sorted(root.rglob("*.md")):
        relative = path.relative_to(root)
        if not SKIPPED.intersection(relative.parts):
            yield Page.read(root, relative)


def check_links(root: Path, page: Page) -> Iterator[Problem]:
    """Follows the links that stay in the repository.

    A page that is made when the site is (`reference/...`) is no place to lead to:
    who reads the files of the repository would not find it.
    """
    for number, line in enumerate(page.prose, 1):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            name, _, anchor = target.partition("#")
            place = root / page.path.parent / name if name else root / page.path
            if not place.exists():
                yield Problem(page.path, number, f"broken link: no {target}")
            elif anchor and place.suffix == ".md" and place.exists():
                other = place.resolve().relative_to(root.resolve())
                if anchor not in anchors(Page.read(root, other)):
                    message = f"broken link: no heading #{anchor} in {other}"
                    yield Problem(page.path, number, message)


def check_map(root: Path) -> Iterator[Problem]:
    """Looks for every `file: symbol` of the map."""
    if not (root / MAP).exists():
        yield Problem(MAP, 1, "missing; write the map of the library")
        return
    page = Page.read(root, MAP)
    yield from check_symbols(root, page)
    yield from check_packages(root, page)


def check_packages(root: Path, page: Page) -> Iterator[Problem]:
    """Holds the map's table of packages to the list of layers: all, in its order."""
    order = list(Layers.read(root / "tools" / "layers.toml").allowed)
    seen: set[str] = set()
    last = 0
    for number, line in enumerate(page.prose, 1):
        if not (row := PACKAGES.match(line)):
            continue
        names = re.findall(r"`([^`]+)`", row[1])
        listed = [name for name in names if name in order]
        seen.update(names)
        # A row may tell of a part of a layer: its place is that of the layer.
        place = max((order.index(name) for name in listed), default=last)
        if place < last:
            message = f"{listed[-1]} is below {order[last]} in layers.toml"
            yield Problem(page.path, number, message)
        last = max(last, place)
    for name in order if seen else []:
        if not any(name == row or name.startswith(f"{row}/") for row in seen):
            yield Problem(page.path, 1, f"no row for the package {name}")


def check_symbols(root: Path, page: Page) -> Iterator[Problem]:
    """Looks for every `file: symbol` that a page names: of the library, or a test."""
    for number, line in enumerate(page.prose, 1):
        for name, symbol in SYMBOL.findall(line):
            if not (root / name).exists():
                yield Problem(page.path, number, f"no file {name}")
            elif not _is_defined(root, name, symbol):
                yield Problem(page.path, number, f"{name} defines no {symbol}")


def _is_defined(root: Path, name: str, symbol: str) -> bool:
    """Looks for `Type`, `function` or `Type.member` in a file."""
    source = Source.read(root, Path(name))
    top, _, member = symbol.partition(".")
    code = "\n".join(source.code)
    if name.endswith(".py"):
        pattern = rf"^\s*(def|class)\s+{top}\b"
        return bool(re.search(pattern, code, re.MULTILINE))
    if top not in source.defined:
        return False
    pattern = rf"^\s+(def|var|comptime)\s+{member}\b"
    return not member or bool(re.search(pattern, code, re.MULTILINE))


@cache
def _names_of(root: Path, module: str) -> set[str] | None:
    """The names that a program can import from a module, if there is one."""
    base = Path(*module.split("."))
    for path in (base.with_suffix(".mojo"), base / "__init__.mojo"):
        if (root / path).exists():
            source = Source.read(root, path)
            return source.defined | source.imported
    return None


def check_imports(root: Path, block: Block) -> Iterator[Problem]:
    """Looks for the names that a code block takes from flare."""
    for entry in Source(block.path, block.text).imports:
        if entry.module.split(".")[0] != "flare":
            continue
        line = block.line + entry.line - 1
        names = _names_of(root, entry.module)
        if names is None:
            yield Problem(block.path, line, f"no module {entry.module}")
            continue
        for name in entry.names:
            if name not in names:
                message = f"{entry.module} has no {name}"
                yield Problem(block.path, line, message)


def is_for_users(page: Page) -> bool:
    """Tells whether a page has code that is meant to be copied."""
    return len(page.path.parts) == 1 or page.path.parts[0] == "docs"


def problems(root: Path) -> list[str]:
    """Checks all that needs no compiler."""
    found = list(check_map(root))
    found += check_navigation(root)
    found += check_features(root)
    offered = offered_names(root)
    found += noise(root, offered)
    found += check_defaults(root, offered)
    for page in pages(root):
        found += check_links(root, page)
        if is_for_users(page):
            found += check_fences(page.blocks)
            found += check_names(root, page)
            if page.path != MAP:
                found += check_symbols(root, page)
        for snippet in page.snippets if is_for_users(page) else []:
            found += check_imports(root, snippet.block)
    return [str(problem) for problem in found]


def page_snippets(root: Path) -> list[Snippet]:
    """The Mojo code of the pages for users."""
    return [
        snippet
        for page in pages(root)
        if is_for_users(page)
        for snippet in page.snippets
    ]


DIAGNOSTIC = re.compile(r"^(?P<path>/\S+?):(?P<line>\d+):\d+: (?:error|warning): ")


def offered_names(root: Path) -> set[tuple[Path, str]]:
    """What users import: names re-exported by a front, each with its file."""
    found = set()
    for package in Layers.read(root / "tools" / "layers.toml").fronts:
        front = Path(package) / "__init__.mojo"
        if (root / front).exists():
            for entry in Source.read(root, front).imports:
                path = Path(*entry.module.split(".")).with_suffix(".mojo")
                found.update((path, name) for name in entry.names)
    return found


def gaps_of_fronts(root: Path, output: str, reference: Reference | None = None) -> str:
    """Keeps those of the compiler's lines that are about what a front offers.

    Inside of the library a docstring stands where name and types leave
    something open; what a package front exports has all of it, or the reference
    takes the rest from where it stands once (`docs_reference.completed`).
    """
    offered = offered_names(root)
    kept: list[str] = []
    keeps = True
    for line in output.splitlines():
        if match := DIAGNOSTIC.match(line):
            path = Path(match["path"]).relative_to(root)
            source, number = Source.read(root, path), int(match["line"])
            name = source.definition_around(number)
            keeps = (path, name) in offered
            if keeps and reference:
                keeps = not reference.is_told(path, name, source.member_around(number))
        elif re.match(r"\S*mojo: error: ", line):
            keeps = True
        if keeps:
            kept.append(line)
    return "\n".join(kept)


def check_docstrings() -> tuple[str, Reference]:
    """Lets the compiler look for public names without a docstring; gives the gaps.

    What it reads goes to `LIBRARY`, for the examples and the site.
    """
    LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    result = mojo(
        "doc",
        "flare",
        "--diagnose-missing-doc-strings",
        "-o",
        str(LIBRARY),
    )
    reference = Reference(ROOT, json.loads(LIBRARY.read_text())["decl"])
    return gaps_of_fronts(ROOT, result.stdout, reference), reference


def run(report: Report) -> None:
    """Checks the documents and counts the results."""
    found = problems(ROOT)
    if found:
        report.fail("documents", "\n".join(found))
    else:
        report.passed("documents")
    gaps, reference = check_docstrings()
    if gaps:
        report.fail("docstrings", gaps)
    else:
        report.passed("docstrings")
    unmarked = [str(problem) for problem in unmarked_code(ROOT, reference)]
    if unmarked:
        report.fail("examples of docstrings", "\n".join(unmarked))
    snippets = [*page_snippets(ROOT), *docstring_snippets(ROOT, reference)]
    count, errors = compile_snippets(snippets)
    if errors:
        report.fail("code of documents", errors[-4000:])
    else:
        report.passed("code of documents", count)


def run_programs(report: Report, is_all: bool = False) -> None:
    """Runs the programs of documents that show their output, or builds all."""
    build_programs(page_snippets(ROOT), report, is_all)


if __name__ == "__main__":
    sys.exit(conclude("documents", problems(ROOT)))
