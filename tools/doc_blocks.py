"""Compiles the Mojo code of the documents, and runs what shows its output.

A block is checked as it stands, as a module of its own. What stands behind the
word `mojo` of its fence says what else it is:

- `continues`: it builds upon the block before it, which is put in front;
- `prints`: a program, whose output is the fence that follows it.

Statements outside of a function are put into one.
"""

import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import examples
from mojo_source import Problem
from programs import MAIN, build_together
from report import Report
from toolchain import BUILD, ROOT, interface_options, mojo

FENCE = re.compile(r"^(?P<indent>\s*)(?P<mark>```+|~~~+)\s*(?P<info>.*)$")
DECLARATION = re.compile(r"@|(?:from|import|def|struct|trait|comptime|__extension)\b")
CLOSING = (")", "]", "}")
WORDS = {"continues", "prints"}
# Programs that are built as one: a few minutes of a busy machine.
BATCH_LEN = 12
FOLDER = BUILD / "docs"


@dataclass(frozen=True)
class Block:
    """One fenced code block; `line` is that of its first line of code."""

    path: Path
    line: int
    info: str
    text: str

    @property
    def language(self) -> str:
        """The first word behind the fence."""
        return self.info.split(" ")[0]

    @property
    def words(self) -> set[str]:
        """The further words behind the fence."""
        return set(self.info.split(" ")[1:])

    @property
    def name(self) -> str:
        """A name for a module, which tells the place."""
        return re.sub(r"\W", "_", f"{self.path.with_suffix('')}_{self.line}")


@dataclass(frozen=True)
class Page:
    """One Markdown file: its prose with code blanked, and its code."""

    path: Path
    prose: list[str]
    blocks: list[Block]

    @classmethod
    def read(cls, root: Path, path: Path) -> "Page":
        """Reads a file, named by its path below `root`."""
        lines = (root / path).read_text().splitlines()
        return cls(path, *split_fences(path, lines, 1))

    @cached_property
    def snippets(self) -> list["Snippet"]:
        """The Mojo blocks, each with what it builds upon."""
        return make_snippets(self.blocks)


def split_fences(
    path: Path, lines: list[str], first_line: int
) -> tuple[list[str], list[Block]]:
    """Takes fenced code out of lines, the first of which has a number."""
    prose: list[str] = []
    blocks: list[Block] = []
    mark = info = indent = ""
    code: list[str] = []
    for number, line in enumerate(lines, first_line):
        found = FENCE.match(line)
        if not mark and found:
            mark, info, code = found["mark"], found["info"].strip(), []
            indent = found["indent"]
        elif mark and line.strip() == mark:
            text = "\n".join(code) + "\n"
            blocks.append(Block(path, number - len(code), info, text))
            mark = ""
        elif mark:
            code.append(line.removeprefix(indent))
        else:
            prose.append(line)
            continue
        prose.append("")
    return prose, blocks


@dataclass(frozen=True)
class Snippet:
    """A Mojo block with what it builds upon, and what it shall print."""

    block: Block
    before: str
    output: str | None

    @property
    def module(self) -> str:
        """The text of a module that says what the block says."""
        return wrap_statements(self.before + self.block.text)

    @property
    def is_program(self) -> bool:
        """Tells whether it has a `main`."""
        return bool(MAIN.search(self.block.text))


def make_snippets(blocks: list[Block]) -> list[Snippet]:
    """Puts in front of each Mojo block what it builds upon."""
    found: list[Snippet] = []
    for index, block in enumerate(blocks):
        if block.language != "mojo":
            continue
        before = ""
        if "continues" in block.words and found:
            before = found[-1].before + found[-1].block.text + "\n"
        output = None
        if "prints" in block.words and index + 1 < len(blocks):
            output = blocks[index + 1].text
        found.append(Snippet(block, before, output))
    return found


def is_declaration(line: str) -> bool:
    """Tells whether a line begins what may stand outside of a function."""
    return bool(DECLARATION.match(line)) or line.startswith(('"""', "#"))


def wrap_statements(text: str) -> str:
    """Puts the statements that stand outside of a function into one."""
    declared: list[str] = []
    statements: list[str] = []
    here = declared
    for line in text.splitlines():
        if line and not line[0].isspace() and not line.startswith(CLOSING):
            here = declared if is_declaration(line) else statements
        here.append(line)
    if not any(line.strip() for line in statements):
        return text
    body = [f"    {line}" if line.strip() else "" for line in statements]
    return "\n".join([*declared, "", "", "def statements() raises:", *body]) + "\n"


def check_fences(blocks: Iterable[Block]) -> Iterator[Problem]:
    """Looks at the words behind the fences of Mojo code."""
    blocks = list(blocks)
    for index, block in enumerate(blocks):
        if block.language != "mojo":
            continue
        for word in sorted(block.words - WORDS):
            known = ", ".join(sorted(WORDS))
            message = f"a block of mojo is not '{word}'; write one of {known}"
            yield Problem(block.path, block.line - 1, message)
        if "prints" in block.words and (
            index + 1 == len(blocks) or blocks[index + 1].language != "text"
        ):
            message = "a block that prints needs its output in a fence `text` behind it"
            yield Problem(block.path, block.line - 1, message)


def write_modules(folder: Path, snippets: Iterable[Snippet]) -> int:
    """Writes each block as a module of a package; gives their number."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "__init__.mojo").touch()
    count = 0
    for snippet in snippets:
        text = snippet.module
        if not snippet.before and text.startswith(snippet.block.text[:40]):
            # Lines keep their numbers, so that an error points into the page.
            text = "\n" * (snippet.block.line - 1) + text
        text = MAIN.sub("def run_main(", text)
        (folder / f"{snippet.block.name}.mojo").write_text(text)
        count += 1
    return count


def compile_snippets(snippets: list[Snippet]) -> tuple[int, str]:
    """Has the compiler check all blocks in one run.

    Bodies are checked, and generic code is not generated: see `run_programs`. The
    library is its interface, as it is for users, which is read in a quarter of the time
    that its sources take.
    Returns their number and the compiler's errors.
    """
    folder = FOLDER / "code_blocks"
    count = write_modules(folder, snippets)
    if not count:
        return 0, ""
    target = FOLDER / "code_blocks.mojoc"
    result = mojo("precompile", *interface_options(), str(folder), "-o", str(target))
    return count, errors_of(result.stdout) if result.returncode else ""


def errors_of(output: str) -> str:
    """Keeps the errors of what the compiler says, with what belongs to them."""
    kept: list[str] = []
    keeps = False
    for line in output.splitlines():
        if re.match(r"\S+:\d+:\d+: ", line):
            keeps = ": error: " in line or (keeps and ": note: " in line)
        if keeps:
            kept.append(line.replace(f"{FOLDER}/code_blocks/", ""))
    return "\n".join(kept) or output


def run_programs(snippets: list[Snippet], report: Report, is_all: bool) -> None:
    """Builds programs among the blocks, a few at a time: those that print, or all.

    This generates what is generic, which takes seconds for each. Those that
    print are run.
    """
    shutil.rmtree(FOLDER / "programs", ignore_errors=True)
    (FOLDER / "programs" / "sources").mkdir(parents=True)
    found = [
        snippet
        for snippet in snippets
        if snippet.is_program and (is_all or snippet.output is not None)
    ]
    for first in range(0, len(found), BATCH_LEN):
        run_batch(found[first : first + BATCH_LEN], report)


def run_batch(snippets: list[Snippet], report: Report) -> None:
    """Builds some programs as one, and runs those that print."""
    folder = FOLDER / "programs"
    programs = {}
    for snippet in snippets:
        source = folder / "sources" / f"{snippet.block.name}.mojo"
        source.write_text(snippet.module)
        programs[folder / source.stem] = source
    together = folder / f"batch_{snippets[0].block.name}"
    result = build_together(programs, together, whole=False)
    if result.returncode:
        report.fail(f"programs from {snippets[0].block.path} on", result.stdout[-4000:])
        return
    report.passed("programs of pages", len(snippets))
    for snippet in snippets:
        if snippet.output is None:
            continue
        wanted = snippet.output.rstrip("\n").splitlines()
        name = f"{snippet.block.path}:{snippet.block.line}"
        if trouble := examples.run_one(folder / snippet.block.name, wanted):
            report.fail(name, trouble)
        else:
            report.passed(name)
