"""Finds where the branches of a program lead, for traps: see cover_traps.c."""

import re
import struct
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

INSTRUCTION = re.compile(r"^ +([0-9a-f]+):\t(\S+)(?: +([0-9a-f]+) <)?")


def branches(lines: Iterable[str]) -> Iterator[int]:
    """Reads what objdump tells of x86-64: where each jump goes, and what stands
    behind a jump that may not be taken."""
    behind = False
    for line in lines:
        found = INSTRUCTION.match(line)
        if not found:
            continue
        address, name, target = found.groups()
        if behind:
            yield int(address, 16)
        behind = name.startswith("j") and name != "jmp"
        if name.startswith("j") and target:
            yield int(target, 16)


def write_branches(program: Path, path: Path) -> int:
    """Writes the addresses of a program's branches, sorted, 64 bits each; gives how
    many there are."""
    dump = subprocess.Popen(
        ["objdump", "-d", "-w", "-j", ".text", "--no-show-raw-insn", str(program)],
        stdout=subprocess.PIPE,
        text=True,
    )
    with dump.stdout:
        found = sorted(set(branches(dump.stdout)))
    if dump.wait():
        raise SystemExit(f"fuzz: objdump ends with {dump.returncode}")
    path.write_bytes(struct.pack(f"<{len(found)}Q", *found))
    return len(found)
