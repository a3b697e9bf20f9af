"""What the compiler says of a type that the library refuses, put shortly.

Such a refusal is a sentence behind `constraint failed:`, at the end of a trace
through every generic function between the user's line and the library's check,
often a hundred lines.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from mojo_flare import project
from mojo_flare.toolchain import Toolchain

_HEAD = re.compile(
    r"^(?P<path>[^\s:][^:]*\.mojo):(?P<place>\d+:\d+): "
    r"(?P<kind>error|warning|note): (?P<text>.*)"
)
_ORIGIN = re.compile(r"^(Included|Imported) from ")
_COMPILER = re.compile(r"^\S*mojo: error: ")
_REFUSAL = "constraint failed: "
_TRACE = "function instantiation failed"
_STEP = "call expansion failed"


@dataclass
class _Item:
    """One thing that the compiler says: how its file is reached, what, where."""

    lines: list[str] = field(default_factory=list)
    path: str = ""
    place: str = ""
    kind: str = ""
    text: str = ""
    excerpt: list[str] = field(default_factory=list)


def shortened(said: str, toolchain: Toolchain) -> str:
    """Puts refusals of the library at the user's own lines, and leaves out the
    trace between; whatever else was said stays as it is.

    Args:
        said: What the compiler has written.
        toolchain: Whose files are not the user's.
    """
    if _REFUSAL not in said:
        return said
    library = toolchain.flare.resolve()
    packages = [folder.resolve() for folder in toolchain.packages]
    theirs = (library, toolchain.root.resolve(), *packages)
    lines = said.replace(f"{Path.cwd()}/", "").splitlines()
    told: list[str] = []
    is_short = False
    for trace in _traces(_items(lines)):
        if short := _short(trace, library, theirs):
            is_short = True
            # The same type is often refused on several ways.
            told += [] if short[0] in told else short
        else:
            told += [line for item in trace for line in item.lines]
    if not is_short:
        return said
    return "\n".join(line for line in told if not _COMPILER.match(line))


def _items(lines: list[str]) -> list[_Item]:
    items = [_Item()]
    for line in lines:
        head = _HEAD.match(line)
        is_origin = bool(_ORIGIN.match(line))
        is_begun = bool(items[-1].kind)
        if is_begun and (head or is_origin or _COMPILER.match(line)):
            items.append(_Item())
        item = items[-1]
        item.lines.append(line)
        if head:
            item.path, item.place = head["path"], head["place"]
            item.kind, item.text = head["kind"], head["text"]
        elif item.kind:
            item.excerpt.append(line)
    return items


def _traces(items: list[_Item]) -> list[list[_Item]]:
    """Puts the notes of a trace to the error that they explain."""
    traces: list[list[_Item]] = []
    for item in items:
        is_traced = bool(traces) and traces[-1][0].text == _TRACE
        if is_traced and item.kind == "note":
            traces[-1].append(item)
        else:
            traces.append([item])
    return traces


def _short(
    trace: list[_Item], library: Path, theirs: tuple[Path, ...]
) -> list[str]:
    """The refusal at the innermost of the user's lines, and how it is reached;
    empty if it is no refusal of the library, or none of the lines is the user's.
    """
    refusal = trace[-1]
    is_refusal = trace[0].text == _TRACE and refusal.text.startswith(_REFUSAL)
    if not is_refusal or not _is_in(refusal.path, (library,)):
        return []
    # A step without a line is one of a method that the compiler has written.
    steps = [
        item
        for item in reversed(trace)
        if item.text.startswith(_STEP)
        and item.excerpt
        and project.WORK_FOLDER not in Path(item.path).parts
        and not _is_in(item.path, theirs)
    ]
    if not steps:
        return []
    first = steps[0]
    sentence = refusal.text.removeprefix(_REFUSAL)
    told = [f"{first.path}:{first.place}: error: {sentence}", *first.excerpt]
    for step in steps[1:]:
        told += [f"{step.path}:{step.place}: note: called from here", *step.excerpt]
    return told


def _is_in(path: str, folders: tuple[Path, ...]) -> bool:
    # Of what was compiled before, the compiler knows names from the folder in
    # which the library's sources were then.
    if path.startswith("flare/") and not Path(path).exists():
        return any(folder.name == "flare" for folder in folders)
    resolved = Path(path).resolve()
    return any(folder in resolved.parents for folder in folders)
