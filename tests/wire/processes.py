"""What the system tells of a server's processes."""

import os
import re
import select
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

# Present where memory tells nothing: a sanitizer keeps what is freed.
UNMEASURED: list[str] = []


def next_line(
    process: subprocess.Popen, timeout_s: float, at_once: int = 1
) -> str:
    """Reads the next line that a process prints, without its end.

    It is read octet by octet, since nobody can wait for what stands in a
    buffer. If the process prints nothing behind a line before it is asked
    for more, read more `at_once`.
    """
    source = process.stdout.fileno()
    poll = select.poll()
    poll.register(source, select.POLLIN)
    end = time.monotonic() + timeout_s
    line = bytearray()
    while not line.endswith(b"\n"):
        left_ms = 1000 * max(0.0, end - time.monotonic())
        assert poll.poll(left_ms), f"no line within {timeout_s} s, only {line}"
        piece = os.read(source, at_once)
        assert piece, f"it ended with {process.wait(5)} and no line, only {line}"
        line += piece
    return line[:-1].decode()


class TcpSocket(NamedTuple):
    """What the system tells of one TCP socket over IPv4."""

    port: int
    peer_port: int
    state: str
    to_send_len: int
    to_read_len: int
    inode: str


ESTABLISHED, SYN_SENT, SYN_RECV, LISTEN = "01", "02", "03", "0A"


def tcp_sockets() -> list[TcpSocket]:
    """Lists the TCP sockets over IPv4, each once.

    The system's table is read page by page: a row may come a second time,
    or not at all, where sockets come and go meanwhile.
    """
    found = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, peer, state, queues, _, _, _, _, inode, *_ = line.split()
        ports = (int(end.split(":")[1], 16) for end in (local, peer))
        lengths = (int(length, 16) for length in queues.split(":"))
        row = TcpSocket(*ports, state, *lengths, inode)
        found[local, peer, inode] = row
    return list(found.values())


class ServerEnd(NamedTuple):
    """The server's end of a client's connection: its state, and what waits there."""

    state: str
    to_read_len: int
    to_send_len: int


SOCK_DIAG, SOCK_DIAG_BY_FAMILY, REQUEST, ANY = 4, 20, 1, 0xFFFFFFFF


def server_end(port: int, client: socket.socket) -> ServerEnd | None:
    """What the kernel says of one connection over IPv4; None if there is no such
    connection any more, or if the table has it not at this look."""
    if asked := _asked_end(port, client):
        return asked
    ports = (port, client.getsockname()[1])
    for row in tcp_sockets():
        if (row.port, row.peer_port) == ports:
            return ServerEnd(row.state, row.to_read_len, row.to_send_len)
    return None


def _asked_end(port: int, client: socket.socket) -> ServerEnd | None:
    """Asks for it (sock_diag(7)): tables of thousands are read in a tenth of a
    second. None also where the system does not answer that."""
    try:
        ends = (client.getpeername()[0], client.getsockname()[0])
        asked = struct.pack("=BBBxI", socket.AF_INET, socket.IPPROTO_TCP, 0, ANY)
        asked += struct.pack("!HH", port, client.getsockname()[1])
        asked += b"".join(socket.inet_aton(end) + bytes(12) for end in ends)
        asked += struct.pack("=III", 0, ANY, ANY)
        head = struct.pack("=IHHII", 16 + len(asked), SOCK_DIAG_BY_FAMILY, REQUEST, 1, 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as kernel:
            kernel.send(head + asked)
            told = kernel.recv(8192)
    except OSError:
        return None
    if struct.unpack_from("=H", told, 4)[0] != SOCK_DIAG_BY_FAMILY:
        return None
    return ServerEnd(f"{told[17]:02X}", *struct.unpack_from("=II", told, 72))


def children(pid: int) -> list[int]:
    """Lists the children of a process, the living and the unreaped."""
    result = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            result += [int(x) for x in task.read_text().split()]
        except OSError:
            pass
    return result


def is_alive(pid: int) -> bool:
    """Tells whether a process runs; one that is not reaped does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rsplit(")", 1)[1].split()[0] != "Z"


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Stops a process for a while: what comes meanwhile it sees at the same time.

    Each of its threads stops when it is next given a core, so it is waited for.
    """
    os.kill(pid, signal.SIGSTOP)
    try:
        end = time.monotonic() + 10
        while _thread_states(pid) != {"T"}:
            assert time.monotonic() < end, "it does not stop"
            time.sleep(0.005)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _thread_states(pid: int) -> set[str]:
    texts = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return {text.rsplit(")", 1)[1].split()[0] for text in texts}


def workers(pid: int) -> list[int]:
    """Lists the worker processes of a master that run."""
    return [child for child in children(pid) if is_alive(child)]


def in_session(session: int) -> list[int]:
    """Lists the processes of a session that run."""
    result = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            result.append(int(path.parent.name))
    return result


def end_session(process: subprocess.Popen) -> None:
    """Ends a process that leads a session, and all others in it."""
    for pid in in_session(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait(5)


def descriptor_count(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def cpu_s(pid: int) -> float:
    """Gives the CPU time that a process has used, in seconds, to the nanosecond."""
    # What clock_getcpuclockid(3) gives, which Python does not have.
    return time.clock_gettime((~pid << 3) | 2)


def memory_len(pid: int, field: str) -> int:
    """Gives memory of a process in bytes, by its name in proc(5): `VmRSS` is
    what it has resident, `VmHWM` the most that it had, `RssAnon` its own. It is 0
    where nothing is to be judged by it."""
    if UNMEASURED:
        return 0
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{field}:\s*(\d+) kB", text)[1]) * 1024


def anonymous_len(pid: int) -> int:
    """Gives the memory that a process has written to, in bytes."""
    return memory_len(pid, "RssAnon")


class AnonymousPeak:
    """The most memory of its own that a process has had, looked at every few
    milliseconds. `VmHWM` counts pages of the program's file too, which the kernel
    maps in and out by megabytes as it likes."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.first_len = self.len = anonymous_len(pid)
        self._has_ended = threading.Event()
        self._watch = threading.Thread(target=self._run, daemon=True)
        self._watch.start()

    def _run(self) -> None:
        while not self._has_ended.wait(0.003):
            self.len = max(self.len, anonymous_len(self.pid))

    def end(self) -> int:
        """Ends the looking; by how many bytes it grew at most."""
        self._has_ended.set()
        self._watch.join()
        self.len = max(self.len, anonymous_len(self.pid))
        return self.len - self.first_len


def cpus_of_threads(pid: int) -> list[str]:
    """Lists the CPUs that each thread of a process may run on."""
    result = []
    for path in Path(f"/proc/{pid}/task").glob("*/status"):
        text = path.read_text()
        result.append(re.search(r"Cpus_allowed_list:\s*(\S+)", text)[1])
    return result


def can_unshare() -> bool:
    """Tells whether this machine lets us have a process number one."""
    try:
        return (
            subprocess.run(
                ["unshare", "--pid", "--fork", "true"],
                capture_output=True,
                timeout=10,
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
