"""Becomes a program that finds listening sockets as a service manager leaves them.

    python launch.py FD,FD,... PROGRAM ARGUMENT...

The sockets move to descriptor 3 and up, and `LISTEN_PID` names this process,
which the program keeps: only the process itself can do either.
"""

import ctypes
import os
import signal
import sys

FIRST_FD = 3
PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Has the kernel stop the program when `flare dev` is killed (Linux)."""
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(1)


def place(numbers: list[int]) -> None:
    """Puts descriptors at 3, 4 and so on, in their order."""
    # First out of the way, so that none is written over before it has moved.
    spare = [os.dup(number) for number in numbers]
    for number in numbers:
        os.close(number)
    above = FIRST_FD + len(numbers)
    while any(number < above for number in spare):
        spare = [n if n >= above else os.dup(n) for n in spare]
    for index, number in enumerate(spare):
        os.dup2(number, FIRST_FD + index, inheritable=True)


def main() -> None:
    numbers = [int(part) for part in sys.argv[1].split(",") if part]
    program = sys.argv[2:]
    die_with_parent()
    place(numbers)
    if numbers:
        os.environ["LISTEN_PID"] = str(os.getpid())
        os.environ["LISTEN_FDS"] = str(len(numbers))
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
