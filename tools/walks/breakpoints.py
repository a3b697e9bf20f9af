"""Notes which lines of running processes are passed, by breakpoints that go off
once each.

Each is an `int3` in place of an instruction's first octet. When it is met, the
octet is put back and the instruction runs: a line costs a tenth of a millisecond,
once, where stepping costs it for each instruction.
"""

import ctypes
import errno
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from walks.debug_info import Missing

# The numbers of ptrace(2) and of `struct user` on x86-64.
PEEKUSER, POKEUSER, CONT = 3, 6, 7
SEIZE = 0x4206
TRACE_CLONE, EXIT_KILL = 0x8, 0x100000
RIP = 16 * 8
WAIT_ALL = 0x40000000
INT3 = 0xCC

ANSWER_S = 20
QUIET_S = 0.03


def check_machine() -> None:
    """Refuses other systems: breakpoints are of one kind of processor."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise Missing("walks are counted on Linux on x86-64 alone")


@cache
def _call() -> Callable[[int, int, int, int], int]:
    function = ctypes.CDLL(None, use_errno=True).ptrace
    function.restype = ctypes.c_long
    function.argtypes = [ctypes.c_long] + [ctypes.c_ulong] * 3
    return function


def _ptrace(request: int, thread: int, address: int = 0, data: int = 0) -> int:
    ctypes.set_errno(0)
    result = _call()(request, thread, address, data)
    if number := ctypes.get_errno():
        raise OSError(number, os.strerror(number))
    return result & 0xFFFF_FFFF_FFFF_FFFF


def base_of(maps: str, binary: str) -> int:
    """Finds where a program is loaded, in what /proc/PID/maps says."""
    for line in maps.splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[5] == binary:
            return int(fields[0].split("-")[0], 16) - int(fields[2], 16)
    raise Missing(f"{binary} is not in the process")


class Text:
    """The instructions of one process."""

    def __init__(self, pid: int, binary: Path, first: int, last: int) -> None:
        maps = Path(f"/proc/{pid}/maps").read_text()
        self.base = base_of(maps, str(binary.resolve()))
        self._start = self.base + first
        self._memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
        self._octets = os.pread(self._memory, last + 1 - first, self._start)

    def arm(self, addresses: Iterable[int]) -> None:
        """Sets these breakpoints and no others."""
        octets = bytearray(self._octets)
        for address in addresses:
            octets[self.base + address - self._start] = INT3
        try:
            os.pwrite(self._memory, octets, self._start)
        except OSError as error:
            raise Missing(
                f"this kernel lets nobody set breakpoints: {error}"
            ) from error

    def put_back(self, address: int) -> None:
        """Takes a breakpoint away."""
        at = self.base + address - self._start
        os.pwrite(self._memory, self._octets[at : at + 1], self._start + at)

    def close(self) -> None:
        os.close(self._memory)


class Watch:
    """Processes of one program that are watched; when this one ends, so do they."""

    def __init__(
        self, pids: list[int], binary: Path, addresses: list[int]
    ) -> None:
        # Blocked, so that it can be waited for.
        self._mask = signal.pthread_sigmask(
            signal.SIG_BLOCK, {signal.SIGCHLD}
        )
        self._running = set(pids)
        self._addresses = frozenset(addresses)
        first, last = min(addresses), max(addresses)
        self._texts = {pid: Text(pid, binary, first, last) for pid in pids}
        self._owner: dict[int, int] = {}
        for pid in pids:
            for thread in map(int, os.listdir(f"/proc/{pid}/task")):
                self._seize(thread)
                self._owner[thread] = pid

    @staticmethod
    def _seize(thread: int) -> None:
        try:
            _ptrace(SEIZE, thread, 0, TRACE_CLONE | EXIT_KILL)
        except OSError as error:
            if error.errno != errno.EPERM:
                raise
            raise Missing(
                "this machine lets no process trace its children (ptrace); a"
                " container may need the capability SYS_PTRACE"
            ) from error

    def passed(
        self, ask: Callable[[], None], is_answered: Callable[[], bool]
    ) -> list[int]:
        """Lists the addresses that are passed from a question to its answer, and
        in what follows until all is quiet, each once, in order."""
        found: dict[int, None] = {}
        for text in self._texts.values():
            text.arm(self._addresses)
        try:
            ask()
            self._serve(found, is_answered)
        finally:
            for text in self._texts.values():
                text.arm(())
        return list(found)

    def _serve(
        self, found: dict[int, None], is_answered: Callable[[], bool]
    ) -> None:
        is_over = False
        last = begin = time.monotonic()
        while True:
            thread, status = os.waitpid(-1, os.WNOHANG | WAIT_ALL)
            if thread:
                self._go_on(thread, status, found)
                last = time.monotonic()
                continue
            if not is_over:
                is_over = is_answered()
                last = time.monotonic()
                if last - begin > ANSWER_S:
                    raise TimeoutError(f"no answer within {ANSWER_S} s")
            elif time.monotonic() - last > QUIET_S:
                return
            # Until a thread stops: who waits busily takes a processor from it.
            signal.sigtimedwait({signal.SIGCHLD}, 0.001)

    def _go_on(self, thread: int, status: int, found: dict[int, None]) -> None:
        """Lets a thread go on that has stopped."""
        if not os.WIFSTOPPED(status):
            if thread in self._running:
                self._running.remove(thread)
                raise ChildProcessError(f"a program has ended: {status:#x}")
            return
        number = os.WSTOPSIG(status)
        if status >> 16:
            # A new thread, or its first stop.
            number = 0
        elif number == signal.SIGTRAP:
            text = self._texts[self._process_of(thread)]
            address = _ptrace(PEEKUSER, thread, RIP) - 1 - text.base
            if address in self._addresses:
                # Two threads, or two processes, may pass the same one.
                found.setdefault(address)
                text.put_back(address)
                _ptrace(POKEUSER, thread, RIP, text.base + address)
                number = 0
        _ptrace(CONT, thread, 0, number)

    def _process_of(self, thread: int) -> int:
        if thread not in self._owner:
            status = Path(f"/proc/{thread}/status").read_text()
            self._owner[thread] = int(status.split("Tgid:")[1].split()[0])
        return self._owner[thread]

    def close(self) -> None:
        """Ends the processes, and waits for all threads: who traces them has to."""
        for text in self._texts.values():
            text.close()
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)
        while self._running:
            thread, status = os.waitpid(-1, WAIT_ALL)
            if not os.WIFSTOPPED(status):
                self._running.discard(thread)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
