"""Finds what docstrings of internals say for nothing (S5).

What a package front offers has all sections; inside of the library a parameter
or a result with three words or fewer says no more than its name and type do.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from mojo_source import Function, Problem, Source

WORDS_MAX = 3
SECTIONS = ("Args:", "Parameters:", "Returns:", "Raises:")


def noise(root: Path, offered: set[tuple[Path, str]]) -> Iterator[Problem]:
    """Looks through the library; `offered` are names of fronts, with their files."""
    for path in sorted((root / "flare").rglob("*.mojo")):
        source = Source.read(root, path.relative_to(root))
        for function in source.functions:
            is_private = function.name.startswith("_") and function.name[1:2] != "_"
            name = source.definition_around(function.line)
            if is_private or (source.path, name) not in offered:
                yield from _noise_of(source, function)


def _noise_of(source: Source, function: Function) -> Iterator[Problem]:
    section, entry, line = "", "", 0
    indent = function.indent + 4
    for number in range(function.line, function.body_line):
        text = source.lines[number - 1]
        depth = len(text) - len(text.lstrip())
        goes_on = depth > indent + 4 or (section == "Returns:" and depth > indent)
        if entry and not (text.strip() and goes_on):
            if says_nothing(section, entry):
                message = f"`{entry}` says what the name says; leave it out"
                yield Problem(source.path, line, message)
            entry = ""
        if text.strip() in SECTIONS and depth == indent:
            section = text.strip()
        elif depth <= indent and text.strip():
            section = ""
        elif section and text.strip():
            line = line if entry else number
            entry = f"{entry} {text.strip()}".strip()


def says_nothing(section: str, entry: str) -> bool:
    """Tells whether the text of an entry has too few words to say anything."""
    text = entry if section == "Returns:" else re.sub(r"^\*{0,2}[\w.]+: ?", "", entry)
    if re.search(r"""[`"\d]""", text):
        return False
    return len(text.split()) <= WORDS_MAX
