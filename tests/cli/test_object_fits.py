"""Every wrong combination of a program and an object: none runs, each says why.

Programs are compiled against the interfaces of three objects, with options that
change how values are passed or which CPU may run them, and then linked with each
of those objects, with one of another library, and with none.
"""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "cli")]

from mojo_flare.object import store  # noqa: E402
from toolchain import COMPILER, objects, tell_part  # noqa: E402

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(store.host_level() != "x86-64-v3", reason="objects for x86-64-v3"),
]

PROGRAM = """from flare.http import HttpServer
from flare.net import SocketAddr


def main() raises:
    print(HttpServer.bind(SocketAddr.localhost(0)).local_addr().port > 0)
"""
RECIPES = {
    "v2": store.Recipe("x86-64-v2"),
    "v3": store.Recipe("x86-64-v3"),
    "v3 asan": store.recipe_of(("--target-cpu", "x86-64-v3", "--sanitize", "address")),
}
V2, V3, V4 = (("--target-cpu", f"x86-64-v{level}") for level in (2, 3, 4))
ASAN = ("--sanitize", "address", "-g1")
KINDS = {
    "v2": (V2, "v2_O3"),
    "v3": (V3, "v3_O3"),
    "v4": (V4, "v3_O3"),
    "v2 asserting": ((*V2, "-D", "ASSERT=all"), "v2_O3"),
    "v3 asserting": ((*V3, "-D", "ASSERT=all"), "v3_O3"),
    "v2 asan": ((*V2, *ASAN), "v2_O3_asan"),
    "v3 asan": ((*V3, *ASAN), "v3_O3_asan"),
    **{f"v2 O{n}": ((*V2, f"-O{n}"), f"v2_O{n}") for n in (0, 1, 2)},
    **{f"v3 O{n}": ((*V3, f"-O{n}"), f"v3_O{n}") for n in (0, 1, 2)},
    "v1": (("--target-cpu", "x86-64"), "v1_O3"),
    "v3 O1 asan": ((*V3, *ASAN, "-O1"), "v3_O1_asan"),
}
# What an object has tables for: programs of its level and of newer ones.
SERVES = {
    "v2": {"v2_O3", "v3_O3"},
    "v3": {"v3_O3"},
    "v3 asan": {"v3_O3_asan"},
}
TIMEOUT_S = 60
REFUSED = 70


class Bench:
    """Compiles a program once for each interface and kind, and links it often."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.objects = {
            name: objects().find_or_make(recipe, tell_part) for name, recipe in RECIPES.items()
        }
        (folder / "main.mojo").write_text(PROGRAM)
        other = folder / "other.c"
        other.write_text('const char *flare_object_identity(void) { return "0000 (another)"; }\n')
        subprocess.run(["cc", "-c", str(other), "-o", str(folder / "other.o")], check=True)
        self.compiled: dict[tuple[str, str], Path] = {}

    def program(self, interface: str, kind: str) -> Path:
        if (interface, kind) not in self.compiled:
            output = self.folder / f"{interface}-{kind}.o".replace(" ", "_")
            include = str(self.objects[interface].include)
            options = ("--emit", "object", "-I", include, *KINDS[kind][0])
            result = COMPILER.call(
                "build", "-j", "1", *options, "main.mojo", "-o", str(output), folder=self.folder
            )
            assert result.returncode == 0, result.stdout
            self.compiled[interface, kind] = output
        return self.compiled[interface, kind]

    def run(self, interface: str, kind: str, linked: str) -> tuple[int, str]:
        """Links a program and runs it: its exit code, and what it says."""
        parts = [str(self.program(interface, kind))]
        if linked == "another library's":
            parts.append(str(self.folder / "other.o"))
        elif linked != "none":
            parts.append(str(self.objects[linked].folder / "flare.o"))
        binary = self.folder / "linked"
        done = subprocess.run(
            ["cc", *parts, "-o", str(binary), *link_options("asan" in kind + linked)],
            capture_output=True, text=True,
        )
        assert done.returncode == 0, done.stderr
        done = subprocess.run([str(binary)], capture_output=True, text=True, timeout=TIMEOUT_S)
        return done.returncode, done.stdout + done.stderr


def link_options(is_sanitized: bool) -> list[str]:
    runtime = next((ROOT / ".venv").rglob("libKGENCompilerRTShared.so"))
    sanitizer = ["-fsanitize=address"] if is_sanitized else []
    return [*sanitizer, str(runtime), f"-Wl,-rpath,{runtime.parent}", "-lm"]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("fits"))


HAS_V4 = "avx512f" in Path("/proc/cpuinfo").read_text()
LINKED = (*RECIPES, "another library's", "none")


def fits(interface: str, kind: str, linked: str) -> bool:
    return interface == linked and KINDS[kind][1] in SERVES[linked]


def test_there_are_enough() -> None:
    every = list(product(RECIPES, KINDS, LINKED))
    right = [x for x in every if fits(*x)]
    assert len(right) == 9
    assert len(every) - len(right) == 216


@pytest.mark.parametrize("linked", LINKED)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("interface", RECIPES)
def test_what_fits_runs_and_what_does_not_says_why(
    bench: Bench, interface: str, kind: str, linked: str
) -> None:
    if kind == "v4" and not HAS_V4:
        pytest.skip("no program for x86-64-v4 runs on this machine")
    code, said = bench.run(interface, kind, linked)
    if fits(interface, kind, linked):
        assert (code, said) == (0, "True\n")
        return
    assert code == REFUSED, said
    assert said.count("\n") == 1, said
    built_for = bench.objects[interface].facts["identity"]
    assert f"was built for the object {built_for}, as {KINDS[kind][1]}, " in said
    found = "the object 0000 (another)" if linked == "another library's" else "none"
    if linked in RECIPES:
        found = f"the object {bench.objects[linked].facts['identity']}"
    assert f"linked with {found}; build it with `flare build`" in said
