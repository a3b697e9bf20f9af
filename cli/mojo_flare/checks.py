"""What `flare doctor` looks at: each check gives findings with their remedies.

A check takes what it looks at as arguments, so that a test can make it fail.
"""

import ctypes
import errno
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from importlib import metadata
from pathlib import Path

from mojo_flare.compiler import IMPORT_PATH
from mojo_flare.toolchain import (
    COMPILER_VERSION,
    GET_LINKER,
    Toolchain,
    version_of,
)

DESCRIPTORS_MIN = 4_096
"""Below this a server that is under load refuses connections."""
DISTRIBUTION = "mojo-flare"
NO_TEMPORARY_FOLDER = "there is no folder for temporary files that this user may write to"
GET_TEMPORARY_FOLDER = (
    "name one in TMPDIR, such as a folder of your own; a read-only container takes"
    " --tmpfs /tmp"
)
_PACKAGES = ("flare", "flare.mojo", "flare.mojoc", "flare.mojopkg")
_OPENSSL_3 = 0x30000000


class Level(Enum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    level: Level
    subject: str
    text: str
    remedy: str = ""


def ok(subject: str, text: str) -> Finding:
    return Finding(Level.OK, subject, text)


def warning(subject: str, text: str, remedy: str) -> Finding:
    return Finding(Level.WARNING, subject, text, remedy)


def problem(subject: str, text: str, remedy: str) -> Finding:
    return Finding(Level.PROBLEM, subject, text, remedy)


def check_compiler(toolchain: Toolchain) -> list[Finding]:
    """Calls the compiler, and compares its version with the library's."""
    install = f"{sys.executable} -m pip install 'mojo-compiler=={COMPILER_VERSION}.*'"
    try:
        said = toolchain.call("--version")
    except OSError as error:
        return [problem("compiler", f"{toolchain.mojo}: {error.strerror}", install)]
    found = re.search(r"(\d+)\.(\d+)\.(\d+)\S*", said.stdout)
    if said.returncode or not found:
        last = (said.stdout.splitlines() or ["it says nothing"])[-1]
        return [problem("compiler", f"{toolchain.mojo} does not run: {last}", install)]
    if f"{found[1]}.{found[2]}" != COMPILER_VERSION:
        return [
            problem(
                "compiler",
                f"Mojo {found[0]}; flare {version_of(toolchain.flare)} is written"
                f" for {COMPILER_VERSION}",
                install,
            )
        ]
    return [ok("compiler", f"Mojo {found[0]}, {toolchain.mojo}")]


def check_library(toolchain: Toolchain, installed: str | None) -> list[Finding]:
    """Compares the sources that programs are built with to the installed wheel."""
    version = version_of(toolchain.flare)
    repair = f"{sys.executable} -m pip install --force-reinstall --no-deps {DISTRIBUTION}"
    if not version:
        return [problem("library", f"{toolchain.flare} is no copy of flare", repair)]
    if installed is not None and installed != version:
        return [
            problem(
                "library",
                f"the command is of flare {installed}, the sources in"
                f" {toolchain.flare} are of {version}",
                repair,
            )
        ]
    return [ok("library", f"flare {version}, {toolchain.flare}")]


def installed_version() -> str | None:
    """Tells which wheel is installed; `None` in a copy of the repository."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None


def check_clashes(toolchain: Toolchain, folders: Iterable[Path]) -> list[Finding]:
    """Looks for other packages that `import flare` would find.

    The compiler looks beside the program first, then into its own library
    folder, then where `-I` says.
    """
    ours = toolchain.flare.resolve()
    found = []
    for folder in dict.fromkeys([*folders, *toolchain.packages]):
        for name in _PACKAGES:
            path = folder / name
            if not path.exists() or path.resolve() == ours:
                continue
            found.append(
                problem(
                    "import flare",
                    f"finds {path}, which is not the library in {ours}",
                    f"rename or remove {path}; a virtual environment of its own keeps"
                    " an older library apart",
                )
            )
    return found or [ok("import flare", "finds this library")]


def check_folders(folders: Iterable[Path]) -> list[Finding]:
    """Looks whether what `-I` names is there; a build refuses what is not."""
    return [
        problem(
            "-I",
            f"{folder} is no folder",
            "name the folder that holds packages, not a package itself",
        )
        for folder in folders
        if not folder.is_dir()
    ]


def check_import_path(toolchain: Toolchain, value: str | None) -> list[Finding]:
    """Looks at the variable that replaces the compiler's library folders.

    `flare` sets it for itself; `mojo build` by hand goes by it.
    """
    folders = {Path(part).resolve() for part in (value or "").split(",") if part}
    if not folders or toolchain.flare.parent.resolve() in folders:
        return []
    return [
        warning(
            "environment",
            f"{IMPORT_PATH} leaves out {toolchain.flare.parent}, so `mojo build` does"
            " not find the library",
            f"unset {IMPORT_PATH}",
        )
    ]


def lacks_temporary_folder(error: OSError) -> bool:
    """Tells what Python says where it may write to none of the usual places, which has
    no file's name, from other errors."""
    return error.filename is None and "temporary directory" in str(error.strerror)


def check_temporary_files() -> list[Finding]:
    """Looks whether there is a folder for temporary files, which compiler and linker
    need."""
    try:
        return [ok("temporary files", tempfile.gettempdir())]
    except FileNotFoundError:
        return [problem("temporary files", NO_TEMPORARY_FOLDER, GET_TEMPORARY_FOLDER)]


def check_linker(command: str = "cc") -> list[Finding]:
    """Links a program as the compiler does, which calls `cc` for it."""
    path = shutil.which(command)
    if path is None:
        return [problem("linker", f"there is no command named {command}", GET_LINKER)]
    if check_temporary_files()[0].level != Level.OK:
        return []
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            [path, "-x", "c", "-", "-lm", "-o", str(Path(folder) / "linked")],
            input="int main(void) { return 0; }\n",
            capture_output=True,
            text=True,
        )
    if result.returncode:
        last = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        return [problem("linker", f"{path} cannot link a program: {last}", GET_LINKER)]
    return [ok("linker", path)]


@dataclass(frozen=True)
class SystemLibrary:
    """A library that programs load when they need it."""

    subject: str
    linux: tuple[str, ...]
    macos: tuple[str, ...]
    needed_for: str
    debian: str
    brew: str

    @property
    def names(self) -> tuple[str, ...]:
        return self.macos if sys.platform == "darwin" else self.linux


def _brewed(formula: str, name: str) -> tuple[str, ...]:
    prefixes = ("/opt/homebrew", "/usr/local")
    opt = f"opt/{formula}/" if formula.startswith("openssl") else ""
    return (name, *(f"{prefix}/{opt}lib/{name}" for prefix in prefixes))


OPENSSL = SystemLibrary(
    "OpenSSL 3",
    ("libssl.so.3",),
    _brewed("openssl@3", "libssl.3.dylib"),
    "https and wss",
    "libssl3",
    "openssl@3",
)
SYSTEM_LIBRARIES = (
    SystemLibrary(
        "zlib",
        ("libz.so.1",),
        ("libz.1.dylib", "/usr/lib/libz.1.dylib"),
        "gzip and deflate",
        "zlib1g",
        "zlib",
    ),
    SystemLibrary(
        "brotli",
        ("libbrotlienc.so.1", "libbrotlidec.so.1"),
        _brewed("brotli", "libbrotlienc.1.dylib"),
        "br, which is then not offered",
        "libbrotli1",
        "brotli",
    ),
    SystemLibrary(
        "zstd",
        ("libzstd.so.1",),
        _brewed("zstd", "libzstd.1.dylib"),
        "zstd, which is then not offered",
        "libzstd1",
        "zstd",
    ),
)


def load(name: str) -> ctypes.CDLL | None:
    """Loads a library; `None` if it is not there."""
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def check_openssl(library: SystemLibrary = OPENSSL) -> list[Finding]:
    """Loads OpenSSL, and looks at its version."""
    for name in library.names:
        if not (loaded := load(name)):
            continue
        loaded.OpenSSL_version_num.restype = ctypes.c_ulong
        number = loaded.OpenSSL_version_num()
        text = f"{number >> 28}.{number >> 20 & 0xFF}.{number >> 4 & 0xFF}"
        if number >= _OPENSSL_3:
            return [ok(library.subject, f"{text}, {name}")]
        return [problem(library.subject, f"{name} is {text}", _install(library))]
    return [
        problem(
            library.subject,
            f"{library.names[0]} is not there; {library.needed_for} need it",
            _install(library),
        )
    ]


def check_library_loads(library: SystemLibrary) -> list[Finding]:
    """Loads all of a library's files; on macOS the first that is there."""
    loads = [load(name) is not None for name in library.names]
    if any(loads) if sys.platform == "darwin" else all(loads):
        return [ok(library.subject, ", ".join(library.names))]
    missing = library.names[loads.index(False)]
    return [
        warning(
            library.subject,
            f"{missing} is not there; it is for {library.needed_for}",
            _install(library),
        )
    ]


def _install(library: SystemLibrary) -> str:
    return f"Debian and Ubuntu: apt-get install {library.debian}; macOS: brew install {library.brew}"


def check_descriptors(hard: int | None = None) -> list[Finding]:
    """Looks at how many descriptors a server may have."""
    if hard is None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY:
        return [ok("descriptors", "as many as wanted")]
    if hard >= DESCRIPTORS_MIN:
        return [ok("descriptors", f"at most {hard:,} for a process")]
    return [
        warning(
            "descriptors",
            f"a process may have {hard:,}; connections beyond are answered 503",
            "ulimit -Hn 65536 as root, LimitNOFILE=65536 in a systemd unit, or"
            " --ulimit nofile=65536 for a container",
        )
    ]


def check_port(port: int) -> list[Finding]:
    """Tries to listen at a port of all addresses, and names who does already."""
    subject = f"port {port}"
    for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind((host, port))
                probe.listen(1)
        except PermissionError:
            return [
                problem(
                    subject,
                    "needs rights that this user has not",
                    "listen at 1024 or above, or let a service manager hand the socket over",
                )
            ]
        except OSError as error:
            if family == socket.AF_INET6 and error.errno != errno.EADDRINUSE:
                continue
            return [_port_in_use(subject, port)]
    return [ok(subject, "is free")]


def _port_in_use(subject: str, port: int) -> Finding:
    holder = listening_process(port)
    if holder is None:
        return problem(
            subject,
            "is in use, by a process that this user may not look at",
            f"find it with `ss -ltnp sport = :{port}` as root, or take another port",
        )
    number, name = holder
    return problem(
        subject,
        f"is in use by {name} (process {number})",
        f"end it (kill {number}), or take another port",
    )


def listening_process(port: int, proc: Path = Path("/proc")) -> tuple[int, str] | None:
    """Finds who listens at a port: process id and name, as far as one may look."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{fields[9]}]")
    for process in sorted(proc.glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            if any(os.readlink(link) in inodes for link in (process / "fd").iterdir()):
                return int(process.name), (process / "comm").read_text().strip()
        except OSError:
            continue
    return None
