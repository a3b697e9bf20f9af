"""Holds what docstrings say of defaults to what initializers do (S5, S14).

A field of a configuration that a front offers says what it is by default, and what
it says is what `__init__` has: a number, with its unit, True or False.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mojo_source import Problem

SETTINGS = re.compile(r"(Config|Policy|Limits)$")
FIELD = re.compile(r'^    var (\w+): [^\n]+\n    """(.*?)"""', re.MULTILINE | re.DOTALL)
SAID = re.compile(
    r"\bDefault:? (?:an? (?=minute|day)|two (?=weeks))?"
    r"(?P<number>-?\d[\d,]*)? ?(?P<unit>KiB|MiB|GiB|ms|s|min|minute|day|weeks)?"
    r"(?P<truth>True|False)?(?=[.,;: \n]|$)"
)
CONSTANT = re.compile(r"^comptime (\w+)(?:: \w+)? = ([^\n]+)$", re.MULTILINE)
ARITHMETIC = re.compile(r"[\d \-*<]+")
OCTETS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
SECONDS = {"s": 1, "min": 60, "minute": 60, "day": 86_400, "weeks": 14 * 86_400}


def check_defaults(root: Path, offered: set[tuple[Path, str]]) -> Iterator[Problem]:
    """Looks through the configurations; `offered` are names of fronts, with files."""
    for path, name in sorted(offered):
        if SETTINGS.search(name):
            yield from _defaults_of(root, path, name)


def _defaults_of(root: Path, path: Path, name: str) -> Iterator[Problem]:
    text = (root / path).read_text()
    begin = text.find(f"\nstruct {name}(")
    end = re.compile(r"^\S", re.MULTILINE).search(text, text.find("\n", begin + 1) + 1)
    struct = text[begin : end.start() if end else len(text)] if begin >= 0 else ""
    for match in FIELD.finditer(struct):
        field, said = match[1], " ".join(match[2].split())
        made = _made(root, struct, field)
        if made is None:
            continue
        line = text.count("\n", 0, begin + match.start()) + 1
        if not re.search(r"\bdefault\b", said, re.IGNORECASE):
            message = f"{name}.{field} is {made} by default, and does not say so"
            yield Problem(path, line, message)
        elif (told := _told(said, field)) not in (None, made):
            message = f"{name}.{field} says that {told} is its default; it is {made}"
            yield Problem(path, line, message)


def _made(root: Path, struct: str, field: str) -> int | None:
    """The number or truth that an initializer gives a field that nobody names."""
    given = re.search(rf"^        {field}: \w+ = ([^\n]+?),?$", struct, re.MULTILINE)
    made = re.search(rf"^        self\.{field} = ([^\n]+)$", struct, re.MULTILINE)
    found = given or made
    return _value(root, found[1]) if found else None


def _value(root: Path, expression: str) -> int | None:
    text = constants(root).get(expression, expression).replace("_", "")
    if text in ("True", "False"):
        return text == "True"
    return eval(text) if ARITHMETIC.fullmatch(text) else None


@cache
def constants(root: Path) -> dict[str, str]:
    """The constants of the library whose names are their own, with their texts."""
    found: dict[str, set[str]] = {}
    for path in (root / "flare").rglob("*.mojo"):
        for name, text in CONSTANT.findall(path.read_text()):
            found.setdefault(name, set()).add(text)
    return {name: texts.pop() for name, texts in found.items() if len(texts) == 1}


def _told(said: str, field: str) -> int | None:
    """The number or truth that a docstring names, in the unit of the field."""
    match = SAID.search(said)
    if not match or not any(match.groups()):
        return None
    if match["truth"]:
        return match["truth"] == "True"
    number = int((match["number"] or "1").replace(",", ""))
    unit = match["unit"]
    if unit in OCTETS:
        return number * OCTETS[unit]
    if unit in SECONDS:
        return number * SECONDS[unit] * (1_000 if field.endswith("_ms") else 1)
    return number
