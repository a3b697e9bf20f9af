"""Calls that a signal ends are made again (signal(7), "Interruption of system calls
and library functions by signal handlers"). Those of sockets that wait, and of the
loop, are interrupted in `make simulate`; here are the others, each interrupted once by
a library that is loaded before the C library."""

import os
import subprocess
import sys

import pytest
from toolchain import BUILD, alone, build, environment
from wire_programs import WIRE, compile_preloaded

pytestmark = [
    pytest.mark.unsanitized,
    pytest.mark.skipif(sys.platform != "linux", reason="it names calls of Linux"),
]


@pytest.fixture(scope="module")
def program():
    """The program, with the library that it takes calls from; both are small."""
    binary = BUILD / "wire" / f"interrupted-{os.getpid()}"
    library = binary.with_suffix(".so")
    with alone(binary):
        made = build(WIRE / "clients" / "interrupted.mojo", binary)
        assert made.returncode == 0, made.stdout
    compile_preloaded(WIRE / "interrupt.c", library)
    yield binary, library
    binary.unlink()
    library.unlink()


def test_what_a_signal_ends_is_called_again(program, tmp_path):
    binary, library = program
    told = tmp_path / "interrupted"
    told.touch()
    preloaded = {"LD_PRELOAD": str(library), "INTERRUPTED": str(told)}
    result = subprocess.run(
        [binary, tmp_path],
        env=environment() | preloaded,
        text=True,
        capture_output=True,
        timeout=60,
    )
    assert result.stdout.splitlines() == [
        "paused True",
        f"opened {len('poll openat ')}",
        "length 4",
        "read 3 49",
        "sent 4",
        "came 4 48",
        "passed 2",
        "taken 2 8",
        "piped 2 2",
    ]
    assert result.stderr.splitlines() == ["flare: a line", "flare: another"]
    assert result.returncode == 0
    # None of them was called by the program alone.
    assert sorted(told.read_text().split()) == [
        "fsync",
        "ftruncate",
        "openat",
        "poll",
        "pread",
        "pwritev2",
        "recvmsg",
        "sendfile64",
        "sendmsg",
        "write",
    ]
