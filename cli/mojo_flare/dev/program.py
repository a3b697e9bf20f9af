"""One running version of the program, and what it tells its manager.

The program speaks the protocol of service managers: it gives a copy of each
listening socket (`FDSTORE=1`), then says `READY=1`. Both come to a socket of
its own, so no version is taken for another.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path

LAUNCHER = Path(__file__).with_name("launch.py")
OUTPUT_LINES_MAX = 40
"""Lines of output that are kept, to show when the program ends."""
_DATAGRAM_LEN = 4096
_SOCKETS_MAX = 16
_ENVIRONMENT = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_USEC")

Address = tuple[str, int]


def address_of(listener: socket.socket) -> Address:
    """Tells where a socket listens: host and port."""
    return listener.getsockname()[:2]


class Program:
    """A version of the program, from its start to its end."""

    def __init__(self, binary: Path, notify_path: Path) -> None:
        self.binary = binary
        self.listeners: dict[Address, socket.socket] = {}
        self.ready = asyncio.Event()
        self.output: deque[str] = deque(maxlen=OUTPUT_LINES_MAX)
        self._began = time.monotonic()
        self._path = notify_path
        self._notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(
        self, arguments: Iterable[str], listeners: Iterable[socket.socket]
    ) -> None:
        """Starts it, with listening sockets to take over."""
        self._notify.bind(str(self._path))
        self._notify.setblocking(False)
        asyncio.get_running_loop().add_reader(self._notify, self._hear)
        numbers = [listener.fileno() for listener in listeners]
        kept = {k: v for k, v in os.environ.items() if k not in _ENVIRONMENT}
        # A group of its own: Ctrl-C is for `flare dev`, which then stops it.
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            str(LAUNCHER),
            ",".join(map(str, numbers)),
            str(self.binary),
            *arguments,
            env=kept | {"NOTIFY_SOCKET": str(self._path)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=numbers,
            start_new_session=True,
        )
        for source, sink in (
            (self._process.stdout, sys.stdout),
            (self._process.stderr, sys.stderr),
        ):
            self._tasks.append(asyncio.create_task(self._copy(source, sink)))
        self.ended = asyncio.create_task(self._wait())

    async def _copy(self, source: asyncio.StreamReader | None, sink) -> None:
        """Passes output on as it comes, and keeps its last lines."""
        assert source is not None
        rest = ""
        while piece := await source.read(65_536):
            text = piece.decode("utf-8", "replace")
            sink.write(text)
            sink.flush()
            *lines, rest = (rest + text).split("\n")
            self.output.extend(lines)
        if rest:
            self.output.append(rest)

    def _hear(self) -> None:
        """Takes what the program tells; a socket comes with its message."""
        while True:
            try:
                octets, numbers, _, _ = socket.recv_fds(
                    self._notify, _DATAGRAM_LEN, _SOCKETS_MAX
                )
            except BlockingIOError:
                return
            received = [socket.socket(fileno=number) for number in numbers]
            lines = octets.decode("utf-8", "replace").split("\n")
            for listener in received:
                listener.set_inheritable(False)
                if "FDSTORE=1" in lines and address_of(listener) not in self.listeners:
                    self.listeners[address_of(listener)] = listener
                else:
                    listener.close()
            if "READY=1" in lines:
                self.ready.set()

    async def _wait(self) -> int:
        """Waits for its end; gives the exit code, negative for a signal."""
        code = await self._process.wait()
        # What it started may hold the pipes open: its own words come at once.
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1)
        self._hear()
        self._close()
        return code

    def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        asyncio.get_running_loop().remove_reader(self._notify)
        self._notify.close()
        self._path.unlink(missing_ok=True)

    def age_s(self) -> float:
        """Tells how long ago it was started."""
        return time.monotonic() - self._began

    def drain(self) -> None:
        """Has it finish what is under way, and end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is not None:
            return
        try:
            if number == signal.SIGKILL:
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)
        except ProcessLookupError:
            pass


def ending(code: int) -> str:
    """Says in words how a program has ended."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
