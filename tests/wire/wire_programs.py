"""Builds the programs of the wire tests, each once for a state of the library."""

import hashlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from processes import UNMEASURED
from programs import build_together
from toolchain import (
    ASAN_ENVIRONMENT,
    ASAN_OPTIONS,
    BUILD,
    ROOT,
    alone,
    asan_options,
    build,
    flare_object,
    mojo_sources,
    store,
)

WIRE = ROOT / "tests" / "wire"
# Built as one, or as three where the library is compiled with them or watched: what
# a sanitizer adds makes the compiler's time grow faster than the program.
# `counting_server` stands alone: it brings an allocator of its own.
TOGETHER = [
    ["servers/probe_server", "servers/ws_server", "servers/hub_server",
     "servers/stores_server", "servers/asking_server", "servers/surface_server",
     "servers/log_server", "servers/message_server", "clients/fetcher",
     "clients/talker", "clients/redis_talker", "clients/reader",
     "clients/sharer", "clients/hpack_tool"],
    ["servers/app_server", "servers/file_server", "servers/stream_server",
     "servers/workers_server", "servers/tls_client", "servers/tls_echo",
     "servers/h2_server", "servers/proxy_server", "servers/traced_server",
     "servers/cache_server", "servers/cached_proxy", "servers/fetch_server",
     "clients/asker", "clients/cached_client"],
    ["servers/grpc_server", "servers/control_server", "servers/host_server",
     "servers/layers_server", "servers/mirror_server",
     "clients/grpc_caller", "clients/route_guide_caller"],
]

# Examples that wire tests run, with the folders of their parts, built as one, too.
EXAMPLES = {
    "28_chat_room": "chat_room", "30_small_curl": "small_curl",
    "31_task_list": "task_list", "35_chat_on_workers": "chat_on_workers",
    "37_gateway": "gateway", "server": "",
}  # fmt: skip

# What programs of the wire tests are made of, beside their own files.
SHARED = ("flare", "tests/wire/servers", "tests/wire/clients", "tests/grpc/messages")

# More options of the compiler, for a whole run; see `--asserts`.
OPTIONS: list[str] = []

# Present to compile the library with each program, in place of once for all of
# them; see `--whole`.
WHOLE: list[str] = []


# Present to have AddressSanitizer watch the programs; see `--asan`.
SANITIZED: list[str] = []


def sanitize() -> None:
    """Has AddressSanitizer watch the programs, and the library in them."""
    SANITIZED.extend(asan_options(BUILD / "wire"))
    os.environ.update(ASAN_ENVIRONMENT)
    UNMEASURED.append("sanitized")


def recipe() -> store.Recipe | None:
    """Says what object the programs are built beside; None for this machine's."""
    return store.recipe_of(ASAN_OPTIONS) if SANITIZED else None


def is_whole() -> bool:
    """Tells whether the library is compiled with each program, as it is with
    options that it has to be compiled with, too."""
    return bool(WHOLE or OPTIONS)


def built(name: str, folder: str = "servers") -> Path:
    """Builds tests/wire/FOLDER/NAME.mojo unless nothing has changed."""
    return built_program(WIRE / folder / f"{name}.mojo", *SHARED)


def built_program(source: Path, *folders: str) -> Path:
    """Builds a program unless neither it nor a file of the folders changed."""
    binary = binary_of(source, *folders)
    if not binary.exists():
        with alone(binary):
            if not binary.exists():
                made = binary.with_name(f"{binary.name}.part")
                result = build(
                    source, made, *OPTIONS, *SANITIZED, whole=is_whole(), recipe=recipe()
                )
                assert result.returncode == 0, result.stdout
                made.rename(binary)
    return binary


@cache
def binary_of(source: Path, *folders: str) -> Path:
    """Names the binary of a program and of all that it is made of; they are read
    once, since every start of a server asks."""
    digest = hashlib.sha256(" ".join(WHOLE + OPTIONS + SANITIZED).encode())
    digest.update(source.read_bytes())
    if not is_whole():
        digest.update(repr(flare_object(recipe()).facts["parts"]).encode())
        folders = tuple(folder for folder in folders if folder != "flare")
    for path in mojo_sources(*folders):
        digest.update(path.read_bytes())
    return BUILD / "wire" / f"{source.stem}-{digest.hexdigest()[:16]}"


def built_example(name: str) -> Path:
    """Builds examples/NAME.mojo, unless the examples' own run has built it just
    now."""
    source, folders = parts_of_example(name)
    return own_example(name) or built_program(source, *folders)


def parts_of_example(name: str) -> tuple[Path, list[str]]:
    """An example's source, and the folders of what it is made of."""
    own = [f"examples/{EXAMPLES[name]}"] if EXAMPLES[name] else []
    return ROOT / "examples" / f"{name}.mojo", ["flare", *own]


def own_example(name: str) -> Path | None:
    """What the examples' own run has built, if nothing has changed since."""
    source, folders = parts_of_example(name)
    own = BUILD / "examples" / name
    newest = max(path.stat().st_mtime for path in [source, *mojo_sources(*folders)])
    if not is_whole() and own.exists() and own.stat().st_mtime >= newest:
        return own
    return None


def compile_preloaded(source: Path, library: Path) -> None:
    """Compiles C for programs to load before the C library (LD_PRELOAD)."""
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)


def build_all() -> list[str]:
    """Builds what many tests want, two at a time; gives the compiler's errors."""
    names = TOGETHER if is_whole() or SANITIZED else [sum(TOGETHER, [])]
    shares = []
    for share in names:
        sources = [WIRE / f"{name}.mojo" for name in share]
        shares.append({binary_of(source, *SHARED): source for source in sources})
    examples = [parts_of_example(name) for name in EXAMPLES if not own_example(name)]
    shares.append({binary_of(source, *folders): source for source, folders in examples})

    def one(number: int) -> str:
        programs = shares[number]
        if all(binary.exists() for binary in programs):
            return ""
        result = build_together(
            programs,
            BUILD / "wire" / f"programs_{number}",
            *OPTIONS,
            *SANITIZED,
            whole=is_whole(),
            recipe=recipe(),
        )
        return result.stdout if result.returncode else ""

    with ThreadPoolExecutor(2) as pool:
        return list(filter(None, pool.map(one, range(len(shares)))))
