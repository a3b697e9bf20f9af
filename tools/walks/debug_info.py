"""What a program's debug information says of its addresses.

It is read by LLVM's own programs, whose output is text: line tables by
`llvm-dwarfdump`, functions by `llvm-symbolizer`, which knows what stands inlined
where.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from toolchain import ROOT

PACKAGE = "llvm"
VERSION = 14
OWN = "flare/"


class Missing(Exception):
    """Something that the machine or the program does not have."""


@dataclass(frozen=True, order=True)
class Function:
    """A function by the place of its `def`: all that the compiler makes of a
    generic one are the same."""

    file: str
    line: int
    name: str


def own(file: str) -> str:
    """Gives a file's path from the library on; nothing for files of others."""
    name = file.removeprefix(f"{ROOT}/").removeprefix("./")
    return name if name.startswith(OWN) else ""


def row_addresses(lines: Iterable[str]) -> Iterator[int]:
    """Reads where lines begin from what `llvm-dwarfdump --debug-line` prints.

    A row that ends a sequence is left out: it stands behind the last instruction.
    """
    for line in lines:
        if line.startswith("0x") and not line.rstrip().endswith("end_sequence"):
            yield int(line.split(None, 1)[0], 16)


def stacks(lines: Iterable[str]) -> Iterator[tuple[int, list[Function]]]:
    """Reads addresses, and the functions of the library that each is in, the
    outermost first, from what `llvm-symbolizer --output-style=JSON` prints."""
    for line in lines:
        answer = json.loads(line)
        found = []
        for frame in reversed(answer.get("Symbol", [])):
            if file := own(frame.get("StartFileName", "")):
                found.append(
                    Function(file, frame["StartLine"], frame["FunctionName"])
                )
        yield int(answer["Address"], 16), found


def _program(name: str) -> str:
    """Finds a program of LLVM, or says what to install."""
    found = shutil.which(name)
    if found is None:
        raise Missing(f"{name} is needed: apt-get install {PACKAGE}")
    return found


def addresses_of(binary: Path) -> list[int]:
    """Lists where the lines of a program begin, without the base it is loaded at."""
    command = [_program("llvm-dwarfdump"), "--debug-line", str(binary)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        found = sorted(set(row_addresses(process.stdout)))
    if not found:
        raise Missing(f"{binary} has no debug information: build it with -g")
    return found


def functions_at(
    binary: Path, addresses: Iterable[int]
) -> dict[int, list[Function]]:
    """Says which functions of the library addresses are in, by way of what is
    inlined there, too."""
    result = subprocess.run(
        [
            _program("llvm-symbolizer"),
            f"--obj={binary}",
            "--inlines",
            "--functions=short",
            "--output-style=JSON",
        ],
        input="".join(f"{address:#x}\n" for address in sorted(addresses)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    found = dict(stacks(result.stdout.splitlines()))
    if not any(found.values()):
        # Older ones do not say where functions begin, or do not write JSON.
        raise Missing(
            f"llvm-symbolizer finds no function of the library; of LLVM {VERSION}"
            f" or newer? {result.stderr}"
        )
    return found
