"""Finds what docstrings of internals say for nothing (S5).

What a package front offers has all sections. Inside of the library a parameter
or a result with three words or fewer says no more than its name and type do; and
a docstring of words that the signature has says nothing, nor does an entry of
words that signature and summary have.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mojo_source import Function, Problem, Source

WORDS_MAX = 3
SUMMARY = ""
SECTIONS = ("Args:", "Parameters:", "Returns:", "Raises:")
# Words that tell nothing by themselves.
GLUE = set(
    "a an the of to in on for with and or by at from as is are was be if this which"
    " true false".split()
)
# What a summary begins with, and goes on with, whatever it is about.
OPENING = set(
    "tells whether gives makes takes lends reads counts lets starts begins how what"
    " when where who there it its they them their many any every each that has have had"
    " does says one own new now here still called begun".split()
)


@dataclass(frozen=True)
class Part:
    """A piece of a docstring: the summary with all text, or an entry of a section."""

    section: str
    text: str
    line: int


def noise(root: Path, offered: set[tuple[Path, str]]) -> Iterator[Problem]:
    """Looks through the library; `offered` are names of fronts, with their files."""
    for path in sorted((root / "flare").rglob("*.mojo")):
        source = Source.read(root, path.relative_to(root))
        for function in source.functions:
            is_private = function.name.startswith("_") and function.name[1:2] != "_"
            name = source.definition_around(function.line)
            if is_private or (source.path, name) not in offered:
                yield from _noise_of(source, function, name)


def _noise_of(source: Source, function: Function, owner: str) -> Iterator[Problem]:
    start = _docstring_line(source, function)
    signature = "\n".join(source.code[function.line - 1 : start - 1])
    named = _words(f"{owner} {signature}")
    parts = list(_parts(source, function, start))
    told = _words(" ".join(part.text for part in parts if part.section == SUMMARY))
    for part in parts:
        message = ""
        if part.section == SUMMARY:
            if len(parts) == 1 and adds_nothing(part.text, named | OPENING):
                message = f"`{part.text}` says what the signature says"
        elif says_nothing(part.section, part.text):
            message = f"`{part.text}` says what the name says"
        elif adds_nothing(_without_name(part), named | told):
            message = f"`{part.text}` says what summary and signature say"
        if message:
            yield Problem(source.path, part.line, f"{message}; leave it out")


def _docstring_line(source: Source, function: Function) -> int:
    """Finds where a docstring begins; behind it if there is none."""
    for number in range(function.line, function.body_line):
        if source.code[number - 1].strip().startswith('"""'):
            return number
    return function.body_line


def _parts(source: Source, function: Function, start: int) -> Iterator[Part]:
    """Takes a docstring apart: all text that is in no section is one part."""
    section, entry, line = SUMMARY, "", 0
    indent = function.indent + 4
    prose: list[str] = []
    for number in range(start, function.body_line):
        text = source.lines[number - 1]
        words = text.strip().removeprefix('"""').removesuffix('"""')
        depth = len(text) - len(text.lstrip())
        goes_on = depth > indent + 4 or (section == "Returns:" and depth > indent)
        if entry and not (words and goes_on):
            yield Part(section, entry, line)
            entry = ""
        if words in SECTIONS and depth == indent:
            section = words
        elif depth <= indent and words:
            section = SUMMARY
            prose.append(words)
        elif section and words:
            line = line if entry else number
            entry = f"{entry} {words}".strip()
        else:
            prose.append(words)
    if text := " ".join(filter(None, prose)):
        yield Part(SUMMARY, text, start)


def _without_name(part: Part) -> str:
    if part.section == "Returns:":
        return part.text
    return re.sub(r"^\*{0,2}[\w.]+: ?", "", part.text)


def says_nothing(section: str, entry: str) -> bool:
    """Tells whether the text of an entry has too few words to say anything."""
    text = _without_name(Part(section, entry, 0))
    return not _has_facts(text) and len(text.split()) <= WORDS_MAX


def adds_nothing(text: str, known: set[str]) -> bool:
    """Tells whether a text has no word beside those that are known, in any form."""
    stems = {_stem(word) for word in known | GLUE}
    return not _has_facts(text) and all(_stem(word) in stems for word in _words(text))


def _has_facts(text: str) -> bool:
    """Numbers, texts and other names are facts."""
    return bool(re.search(r"""[`"\d]""", text))


def _words(text: str) -> set[str]:
    """Splits text and names, as `FieldLine` and `field_line`, into words."""
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text.replace("_", " "))
    return {word.lower() for word in re.findall(r"[A-Za-z]+", apart)}


def _stem(word: str) -> str:
    return word.rstrip("s")
