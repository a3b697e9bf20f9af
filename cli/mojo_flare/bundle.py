"""Puts a binary together with the libraries it needs, so that it can be moved."""

import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from mojo_flare.outcome import CommandError, ExitCode

RUNPATH = "$ORIGIN/lib"
# Every Linux has these beside its loader, and they must fit to each other.
_OF_C_LIBRARY = re.compile(
    r"(ld-linux.*|linux-vdso|linux-gate|lib(c|m|dl|rt|pthread|resolv|util))\.so[.\d]*"
)
_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_STRTAB, _DT_RPATH, _DT_RUNPATH = 5, 15, 29


def new_folder(folder: Path) -> Path:
    """Makes the folder of a bundle; one that holds something is refused."""
    if sys.platform != "linux":
        raise CommandError(
            "--bundle is for Linux",
            "elsewhere, install mojo-flare on the machine that runs the program",
        )
    if folder.exists() and not folder.is_dir():
        raise CommandError(
            f"--bundle {folder} is a file",
            "name a new folder; the program stands before: flare build"
            " main.mojo --bundle dist",
        )
    if folder.exists() and any(folder.iterdir()):
        # A project or a home is not to be removed.
        is_bundle = any((folder / "lib").glob("libKGENCompilerRTShared.so"))
        raise CommandError(
            f"{folder} exists and is not an empty folder",
            f"remove it (rm -r {folder}) or name another"
            if is_bundle
            else "name another",
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def complete(binary: Path, runtime: Path) -> None:
    """Copies what a binary loads to `lib` beside it, and makes it look there.

    Args:
        binary: What was built, alone in its folder.
        runtime: The folder of the compiler's run-time libraries.
    """
    folder = binary.parent / "lib"
    folder.mkdir()
    for library in needed_libraries(binary):
        shutil.copy2(library, folder / library.name)
    set_runpath(binary, RUNPATH)
    missing = [x for x in needed_libraries(binary) if x.is_relative_to(runtime)]
    if missing:
        raise CommandError(
            f"{binary} still loads {missing[0]}, not the copy beside it",
            "this is a fault of flare; please report it",
            ExitCode.FAILED,
        )


def needed_libraries(binary: Path) -> list[Path]:
    """Lists the files that a binary loads when it starts, but the C library's."""
    listed = subprocess.run(
        ["ldd", str(binary)], text=True, capture_output=True
    )
    found = []
    for name, place in re.findall(r"^\s*(\S+) => (.+?)(?: \(0x\w+\))?$", listed.stdout, re.M):
        if _OF_C_LIBRARY.fullmatch(name):
            continue
        if not place.startswith("/"):
            raise CommandError(
                f"{binary} needs {name}, which is not on this system",
                "Debian and Ubuntu: apt-get install libstdc++6",
                ExitCode.NO_TOOLCHAIN,
            )
        found.append(Path(place))
    if listed.returncode:
        raise CommandError(
            f"ldd cannot read {binary}: {listed.stderr.strip()}",
            "a bundle can be made only on the platform it is for",
            ExitCode.FAILED,
        )
    return found


def set_runpath(binary: Path, runpath: str) -> None:
    """Writes where a binary looks for its libraries over what the linker wrote."""
    octets = bytearray(binary.read_bytes())
    offset = _runpath_offset(octets)
    end = octets.index(0, offset)
    if len(runpath) > end - offset:
        raise CommandError(
            f"the path of the Mojo libraries, {octets[offset:end].decode()!r}, leaves"
            f" no room for {runpath!r}",
            "move the Python environment to a folder with a longer path",
            ExitCode.FAILED,
        )
    octets[offset:end] = runpath.encode().ljust(end - offset, b"\0")
    binary.write_bytes(octets)


def _runpath_offset(octets: bytearray) -> int:
    """Finds the run path's text in a 64-bit little-endian ELF file.

    Source: System V ABI, chapters "Program Header" and "Dynamic Section".
    """
    table, size, count = (
        struct.unpack_from("<Q", octets, 32)[0],
        *struct.unpack_from("<HH", octets, 54),
    )
    segments = [
        struct.unpack_from("<IIQQQQ", octets, table + i * size) for i in range(count)
    ]
    dynamic = next(s for s in segments if s[0] == _PT_DYNAMIC)
    entries: dict[int, int] = {}
    for at in range(dynamic[2], dynamic[2] + dynamic[5], 16):
        tag, value = struct.unpack_from("<qQ", octets, at)
        entries.setdefault(tag, value)
    text = entries[_DT_STRTAB] + entries.get(_DT_RUNPATH, entries.get(_DT_RPATH, 0))
    for kind, _, offset, address, _, length in segments:
        if kind == _PT_LOAD and address <= text < address + length:
            return offset + text - address
    raise CommandError(
        "the binary has no run path", "please report it", ExitCode.FAILED
    )
