"""Reads Mojo source well enough for the checks: imports, functions, names.

This is no parser. Comments and the insides of strings are blanked first, with
every line kept in its place; what is left is simple enough for indentation and
brackets to be counted.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)|(?P<quote>\"\"\"|'''|"|')""", re.VERBOSE
)
DEFINITION = re.compile(
    r"^(?:struct|trait|def|comptime|enum)\s+(?P<name>\w+)", re.MULTILINE
)
MEMBER = re.compile(r"^    (?:def|comptime)\s+(?P<name>\w+)")
DEF_LINE = re.compile(r"^(?P<indent>[ ]*)def\s+(?P<name>\w+)")
IMPORT_LINE = re.compile(r"^(?P<indent>[ ]*)(?P<word>from|import)\s+\S")


@dataclass(frozen=True)
class Problem:
    """One breach of a rule, with the place and what to do instead."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Import:
    """One import statement: a module, the names taken from it, and what they are
    called here (`as`)."""

    line: int
    end_line: int
    indent: int
    module: str
    names: tuple[str, ...]
    local_names: tuple[str, ...]


@dataclass(frozen=True)
class Function:
    """A function's place; all numbers are lines, counted from 1."""

    name: str
    indent: int
    line: int
    body_line: int
    end_line: int


def blank_strings(text: str) -> str:
    """Blanks comments and the insides of strings, keeping line and column."""
    out: list[str] = []
    at = 0
    while found := TOKEN.search(text, at):
        out.append(text[at : found.start()])
        if found["comment"]:
            out.append(" " * len(found["comment"]))
            at = found.end()
            continue
        quote = found["quote"]
        end = _string_end(text, found.end(), quote)
        inside = text[found.end() : end]
        out += [quote, re.sub(r"[^\n]", " ", inside), quote]
        at = end + len(quote)
    out.append(text[at:])
    return "".join(out)


def _string_end(text: str, at: int, quote: str) -> int:
    """Finds where a string's closing quote starts."""
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text.startswith(quote, at):
            return at
        elif len(quote) == 1 and text[at] == "\n":
            return at
        else:
            at += 1
    return len(text)


@dataclass
class Source:
    """One Mojo file, read once."""

    path: Path
    text: str
    lines: list[str] = field(init=False)
    code: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = self.text.splitlines()
        self.code = blank_strings(self.text).splitlines()

    @classmethod
    def read(cls, root: Path, path: Path) -> "Source":
        """Reads a file, named by its path below `root`."""
        return cls(path, (root / path).read_text())

    @cached_property
    def functions(self) -> list[Function]:
        """Every function and method, in order."""
        found = []
        for index, line in enumerate(self.code):
            if match := DEF_LINE.match(line):
                indent = len(match["indent"])
                found.append(self._function(match["name"], indent, index))
        return found

    def _function(self, name: str, indent: int, index: int) -> Function:
        last = self._signature_end(index)
        body = end = last + 1
        for at in range(last + 1, len(self.code)):
            line = self.code[at]
            if line.strip():
                if len(line) - len(line.lstrip()) <= indent:
                    break
                end = at + 1
        body = self._after_docstring(body, end)
        return Function(name, indent, index + 1, body + 1, max(end, last + 1))

    def _signature_end(self, index: int) -> int:
        """Finds the line on which a signature that starts here ends."""
        depth = 0
        for at in range(index, len(self.code)):
            for char in self.code[at]:
                depth += (char in "([{") - (char in ")]}")
            if depth == 0 and ":" in self.code[at]:
                return at
        return index

    def _after_docstring(self, body: int, end: int) -> int:
        """Skips a docstring that opens the lines from `body` to `end`."""
        at = body
        while at < end and not self.code[at].strip():
            at += 1
        if at >= end or not self.code[at].strip().startswith('"""'):
            return body
        if self.code[at].count('"""') == 2:
            return at + 1
        at += 1
        while at < end and '"""' not in self.code[at]:
            at += 1
        return at + 1

    @cached_property
    def imports(self) -> list[Import]:
        """Every import statement, wherever it stands."""
        found = []
        for index, line in enumerate(self.code):
            if match := IMPORT_LINE.match(line):
                text = line
                at = index
                while text.count("(") > text.count(")"):
                    at += 1
                    if at == len(self.code):
                        break
                    text += " " + self.code[at]
                indent = len(match["indent"])
                found += _read_import(index + 1, at + 1, indent, text)
        return found

    @cached_property
    def defined(self) -> set[str]:
        """The names that this file defines at its top level."""
        code = "\n".join(self.code)
        return {found["name"] for found in DEFINITION.finditer(code)}

    def definition_around(self, number: int) -> str:
        """Names what is defined at the top level around a line, if anything."""
        for index in range(number - 1, -1, -1):
            if match := DEFINITION.match(self.code[index]):
                return match["name"]
        return ""

    def member_around(self, number: int) -> str:
        """Names the method or compile-time member around a line, if there is one."""
        for index in range(number - 1, -1, -1):
            if match := MEMBER.match(self.code[index]):
                return match["name"]
            if self.code[index].startswith(("struct", "trait", "def", "comptime")):
                break
        return ""

    @cached_property
    def imported(self) -> set[str]:
        """The names that this file takes from others."""
        return {name for entry in self.imports for name in entry.names}


def _read_import(
    line: int, end_line: int, indent: int, text: str
) -> list[Import]:
    """Reads one statement; `import a, b` gives two entries."""
    words = text.split()
    if words[0] == "import":
        modules = re.findall(
            r"([\w.]+)(?:\s+as\s+\w+)?", text.split(None, 1)[1]
        )
        return [Import(line, end_line, indent, name, (), ()) for name in modules]
    match = re.match(r"\s*from\s+([\w.]+)\s+import\s+(.*)", text)
    if not match:
        return []
    listed = match[2].strip().strip("()")
    parts = [part.split() for part in listed.split(",") if part.strip()]
    names = tuple(part[0] for part in parts)
    local_names = tuple(part[-1] for part in parts)
    return [Import(line, end_line, indent, match[1], names, local_names)]


def mojo_files(root: Path, *folders: str) -> list[Path]:
    """Lists the Mojo files of some folders, as paths below `root`."""
    found = []
    for folder in folders:
        found += (root / folder).rglob("*.mojo")
    return sorted(path.relative_to(root) for path in found)


def conclude(name: str, problems: list[str]) -> int:
    """Prints what a check found and returns the process's exit status."""
    for problem in problems:
        print(problem)
    print(f"{name}: {len(problems)} problems" if problems else f"{name}: ok")
    return 1 if problems else 0
