"""What asks for the processor is compiled for another one."""

import check_processors
import pytest

USE = "tools/cross/processors.mojo"
ASKS = "comptime N = 3 if CompilationTarget.is_x86() else 4\n"


@pytest.mark.parametrize(
    ("text", "use"),
    [
        (ASKS, "from flare.sys.x import (\n    N,\n)\n"),
        ("comptime N = 3 if CompilationTarget.is_macos() else 4\n", ""),
        ("comptime N = CompilationTarget.is_linux()\n", ""),
        ("# CompilationTarget.is_x86()\n", ""),
    ],
)
def test_accepts(tree, text, use):
    assert check_processors.problems(tree({"flare/sys/x.mojo": text, USE: use})) == []


@pytest.mark.parametrize("question", ["is_x86()", "has_avx2()", "has_neon()"])
def test_refuses(tree, question):
    text = ASKS.replace("is_x86()", question)
    files = {"flare/sys/x.mojo": text, USE: "from flare.sys.y import N\n"}
    [problem] = check_processors.problems(tree(files))
    assert problem.startswith("flare/sys/x.mojo:1: ")
