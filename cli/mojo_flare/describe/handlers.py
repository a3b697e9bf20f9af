"""Which function or struct a source registers for a route.

A router keeps the address of a function, not its name. What stands behind the
pattern in the sources is the next best; where two places could be meant, none
is named.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_CALL = re.compile(
    r"""\.(?P<method>get|post|put|patch|delete|head|options|all|any|ws|mount)\(\s*
        "(?P<pattern>/[^"]*)"\s*,\s*
        (?P<handler>[A-Za-z_][\w.]*(?:\[[^\]]*\])?)(?![\w.]*\s*=)""",
    re.VERBOSE,
)
# `Extracted[ShowPet]()` is shown by what is extracted.
_WRAPPED = re.compile(r"^(?:Extracted|Streamed)\[(?P<inner>[\w.]+)\]$")
_EVERY = {"all", "any"}
_SOCKET = "ws"
_MOUNT = "mount"


@dataclass(frozen=True)
class Registration:
    """One call that registers a route."""

    method: str
    pattern: str
    handler: str
    place: str


def registrations(files: Iterable[Path], root: Path) -> list[Registration]:
    """Finds the calls in sources. Comments do not count, and neither do tests,
    whose clients have methods of the same names."""
    found = []
    for path in files:
        if path.suffix != ".mojo" or _is_of_tests(path.relative_to(root)):
            continue
        text = path.read_text(errors="replace")
        code = re.sub(r"(?m)^\s*#.*$", lambda m: " " * len(m[0]), text)
        for match in _CALL.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            wrapped = _WRAPPED.match(match["handler"])
            found.append(
                Registration(
                    match["method"],
                    match["pattern"],
                    wrapped["inner"] if wrapped else match["handler"],
                    f"{path.relative_to(root)}:{line}",
                )
            )
    return found


def handler_of(
    method: str, pattern: str, known: list[Registration]
) -> Registration | None:
    """Finds the registration of a route, whose pattern may have a prefix of a
    mounted router in front."""
    fitting = [
        each
        for each in known
        if pattern.endswith(each.pattern) and _takes(each, method)
    ]
    if any(each.method == _MOUNT and pattern.endswith(each.pattern) for each in known):
        # The route "/" of a mounted router has the prefix alone for its pattern.
        fitting += [x for x in known if x.pattern == "/" and _takes(x, method)]
    if not fitting:
        return None
    longest = max(len(each.pattern) for each in fitting)
    best = [each for each in fitting if len(each.pattern) == longest]
    return best[0] if len(best) == 1 else None


def _is_of_tests(path: Path) -> bool:
    return "tests" in path.parts or path.name.startswith("test_")


def _takes(each: Registration, method: str) -> bool:
    if each.method == _SOCKET:
        return method == "GET"
    return each.method in _EVERY or each.method.upper() == method
