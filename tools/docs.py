"""Builds the documents as a site, to build/docs/site; search works offline.

Pages come from `docs/`; the reference, the command, the coverage of the RFCs, the
lists of examples and decisions, and the pages of source that links lead to are made
here. MkDocs then makes HTML of all, by `mkdocs.yml`, and no warning of its is
accepted.
"""

import os
import posixpath
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import docs_command
import docs_rfcs
import yaml
from doc_blocks import FENCE
from doc_names import site_settings
from docs_reference import Reference, read_library
from toolchain import BUILD, ROOT

OUTPUT = BUILD / "docs"
STAGED = OUTPUT / "pages"
SITE = OUTPUT / "site"
SETTINGS = OUTPUT / "mkdocs.yml"
# Pages at the root of the repository, and what they are on the site.
ROOT_PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security-policy.md",
    "CHANGELOG.md": "project/changelog.md",
}
# What readers of guides look for less often comes later among what is found.
SELDOM = ("decisions/", "project/", "mojo-notes", "where", "api-changes")
LANGUAGES = {".mojo": "mojo", ".py": "python", ".toml": "toml", ".sh": "sh"}
LINK = re.compile(r"(?P<text>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(<?(?P<target>[^)\s>]+)>?\)")
SPAN = re.compile(r"(?<![\[`])`([A-Z]\w*)`(?![\]`])")
WORDS = re.compile(r"^(\s*(?:```+|~~~+)\s*mojo)\s.*$")


class Staging:
    """Lays the pages out as the site wants them."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        self._staged: set[str] = set()

    def place_of(self, path: str) -> str | None:
        """Where a file of the repository stands on the site, if it does."""
        if path in ROOT_PAGES:
            return ROOT_PAGES[path]
        if path.startswith("docs/"):
            return path.removeprefix("docs/")
        full = ROOT / path
        if full.is_dir():
            inner = posixpath.join(path, "README.md")
            return self.place_of(inner) if (ROOT / inner).exists() else None
        if full.suffix == ".md":
            return f"project/{path.lower()}"
        if full.suffix in LANGUAGES:
            return f"source/{path}.md"
        return None

    def stage(self, path: str) -> None:
        """Writes a page, and those outside of `docs/` that it leads to."""
        waiting = [path]
        while waiting:
            path = waiting.pop()
            place = self.place_of(path)
            if place is None or path in self._staged:
                continue
            if not (ROOT / path).exists():
                continue  # one of those that are made here
            self._staged.add(path)
            if path.endswith(".md"):
                waiting += self._stage_page(path, place)
            elif place.startswith("source/"):
                write(place, source_page(path))

    def _stage_page(self, path: str, place: str) -> list[str]:
        """Writes one page, with its links as they are on the site.

        Returns the files that it leads to.
        """
        out: list[str] = []
        wanted: list[str] = []
        mark = ""
        linked: set[str] = set()
        for line in (ROOT / path).read_text().splitlines():
            if found := FENCE.match(line):
                if not mark:
                    mark = found["mark"]
                    line = WORDS.sub(r"\1", line)
                elif line.strip() == mark:
                    mark = ""
            elif not mark:
                line = self._relink(line, path, place, wanted)
                if path.startswith("docs/") and not line.startswith("#"):
                    line = self._link_names(line, place, linked)
            out.append(line)
        if place.startswith(SELDOM):
            out = ["---", "search:", "  boost: 0.3", "---", "", *out]
        write(place, "\n".join(out) + "\n")
        return wanted

    def _relink(self, line: str, path: str, place: str, wanted: list[str]) -> str:
        """Turns links between files into links between pages."""

        def one(found: re.Match[str]) -> str:
            target = found["target"]
            if re.match(r"[a-z][a-z0-9+.-]*:|#", target):
                return found[0]
            name, _, anchor = target.partition("#")
            file = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
            other = self.place_of(file)
            if other is None:
                return found["text"].strip("![]")
            if (ROOT / file).is_dir():
                file = posixpath.join(file, "README.md")
            wanted.append(file)
            link = relative(other, place) + (f"#{anchor}" if anchor else "")
            return f"{found['text']}({link})"

        return LINK.sub(one, line)

    def _link_names(self, line: str, place: str, linked: set[str]) -> str:
        """Links the first mention of each public name to the reference."""

        def one(found: re.Match[str]) -> str:
            name = found[1]
            if name not in self.reference.homes or name in linked:
                return found[0]
            linked.add(name)
            link = relative(f"reference/{self.reference.link(name)}", place)
            return f"[`{name}`]({link})"

        parts = re.split(r"(\[(?:[^\[\]]|\[[^\]]*\])*\]\([^)]*\))", line)
        return "".join(
            part if index % 2 else SPAN.sub(one, part)
            for index, part in enumerate(parts)
        )


def relative(place: str, base: str) -> str:
    """Writes a link from one page to another."""
    return posixpath.relpath(place, posixpath.dirname(base) or ".")


def write(place: str, text: str) -> None:
    """Writes a file of the staged pages."""
    target = STAGED / place
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def source_page(path: str) -> str:
    """Makes a page of a source file, with an anchor for each line."""
    text = (ROOT / path).read_text().rstrip()
    fence = "`" * 6
    return (
        "---\nsearch:\n  exclude: true\nhide:\n  - navigation\n  - toc\n---\n\n"
        f"# {path}\n\n{fence} {{.{LANGUAGES[Path(path).suffix]} linenums=1}}\n"
        f"{text}\n{fence}\n"
    )


def stage_reference(staging: Staging) -> list[dict[str, str]]:
    """Writes the pages of the fronts; gives their entries in the navigation."""
    reference = staging.reference
    entries = []
    index = ["# Reference", "", "A page for each package that programs import from."]
    index += ["", "| package | what it has |", "| --- | --- |"]
    for front in sorted(reference.fronts, key=lambda front: front.package):
        write(f"reference/{front.page}", reference.page(front))
        entries.append({front.package: f"reference/{front.page}"})
        summary = " ".join(front.summary.split())
        index.append(f"| [`{front.package}`]({front.page}) | {summary} |")
        for entry in front.entries:
            staging.stage(str(entry.path))
    write("reference/index.md", "\n".join(index) + "\n")
    return entries


def stage_examples(staging: Staging) -> None:
    """Lists the examples, each with the sentence that it begins with."""
    out = ["# Examples", "", "Each is a whole program, and each is run by the tests."]
    out += ["", "| example | shows |", "| --- | --- |"]
    for path in sorted((ROOT / "examples").glob("[0-9]*.mojo")):
        comment: list[str] = []
        for line in path.read_text().splitlines():
            if line.strip("# ") == "":
                break
            comment.append(line.strip("# "))
        number, _, text = " ".join(comment).partition(" ")
        title, _, shows = text.partition(": ")
        name = f"examples/{path.name}"
        staging.stage(name)
        out.append(f"| [{number} {title}](source/{name}.md) | {shows} |")
    write("examples.md", "\n".join(out) + "\n")


def stage_decisions() -> None:
    """Lists the decisions by number."""
    out = ["# Decisions", "", "What was chosen, why, and what it costs.", ""]
    for path in sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md")):
        title = path.read_text().splitlines()[0].lstrip("# ")
        out.append(f"- {path.name[:4]} [{title}]({path.name})")
    write("decisions/index.md", "\n".join(out) + "\n")


def expand(nav: list[Any], packages: list[dict[str, str]]) -> list[Any]:
    """Replaces patterns by the pages that they match."""
    out: list[Any] = []
    for entry in nav:
        if isinstance(entry, dict):
            [(title, value)] = entry.items()
            if isinstance(value, list):
                out.append({title: expand(value, packages)})
            elif value.endswith("/"):
                out.append({title: packages})
            else:
                out.append(entry)
        elif "*" in entry:
            found = sorted(STAGED.glob(entry))
            out += [str(path.relative_to(STAGED)) for path in found]
        else:
            out.append(entry)
    return out


def stage_all() -> None:
    """Lays out everything that MkDocs reads."""
    shutil.rmtree(STAGED, ignore_errors=True)
    STAGED.mkdir(parents=True)
    staging = Staging(Reference(ROOT, read_library()))
    for path in sorted((ROOT / "docs").rglob("*")):
        name = str(path.relative_to(ROOT))
        if path.suffix == ".md":
            staging.stage(name)
        elif path.is_file():
            target = STAGED / path.relative_to(ROOT / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    for path in ROOT_PAGES:
        if path != "README.md":
            staging.stage(path)
    packages = stage_reference(staging)
    stage_examples(staging)
    stage_decisions()
    write("reference/rfcs.md", docs_rfcs.page(ROOT))
    write("reference/command.md", docs_command.page(ROOT))
    settings = {
        "INHERIT": "../../mkdocs.yml",
        "docs_dir": str(STAGED),
        "site_dir": str(SITE),
        "nav": expand(site_settings(ROOT)["nav"], packages),
    }
    SETTINGS.write_text(yaml.safe_dump(settings, sort_keys=False))


def run_mkdocs() -> None:
    """Runs MkDocs; its notice about another program is no warning of ours."""
    command = [sys.executable, "-m", "mkdocs", "-q", "build", "--strict"]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    result = subprocess.run([*command, "-f", str(SETTINGS)], cwd=ROOT, env=env)
    if result.returncode:
        raise SystemExit(f"docs: mkdocs ended with {result.returncode}; see above")


def main() -> None:
    """Builds the site, and says where it is."""
    began = time.monotonic()
    stage_all()
    run_mkdocs()
    count = sum(1 for _ in SITE.rglob("*.html"))
    took = round(time.monotonic() - began)
    print(f"docs: {count} pages in {SITE.relative_to(ROOT)}/index.html ({took} s)")


if __name__ == "__main__":
    main()
