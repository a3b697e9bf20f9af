"""Counts functions of the library, and says how long they are."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mojo_source import Source
from walks.debug_info import Function

# A function is short with so many lines of code in its body: an accessor.
SHORT_LINES = 3


def functions_of(
    addresses: Iterable[int], stacks: dict[int, list[Function]]
) -> dict[Function, None]:
    """Lists the functions that addresses are in, in their order, each once;
    callers stand before what is inlined into them."""
    return dict.fromkeys(x for at in addresses for x in stacks.get(at, ()))


def in_all(passes: list[dict[Function, None]]) -> list[Function]:
    """Lists what all passes have found, in the order of the first."""
    return [x for x in passes[0] if all(x in found for found in passes)]


@cache
def _source(root: Path, file: str) -> Source:
    return Source.read(root, Path(file))


def body_len(source: Source, line: int) -> int:
    """Counts the lines of a function's body that hold code; its `def` is at a line.

    Its docstring, comments and blank lines are none.
    """
    for function in source.functions:
        if function.line == line:
            body = source.code[function.body_line - 1 : function.end_line]
            # A body on the line of its `def` is one.
            return max(1, sum(1 for text in body if text.strip()))
    raise ValueError(f"{source.path}:{line}: there is no function")


@dataclass(frozen=True)
class Count:
    """How many functions, in how many files."""

    functions: int
    files: int

    @classmethod
    def of(cls, functions: list[Function]) -> "Count":
        return cls(len(functions), len({x.file for x in functions}))

    def __str__(self) -> str:
        return f"{self.functions} / {self.files}"


def longer(root: Path, functions: list[Function]) -> list[Function]:
    """Leaves out functions that are short."""
    return [
        function
        for function in functions
        if body_len(_source(root, function.file), function.line) > SHORT_LINES
    ]
