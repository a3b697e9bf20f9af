"""Clients of rooms and event streams that are spread over worker processes."""

import json
import socket
import time

from conftest import Client, wait_until
from processes import is_alive, workers
from raw_ws import UPGRADE, frame

GET = b"GET %s HTTP/1.1\r\nHost: test\r\n%s\r\n"
WAIT_S = 20.0
PORTION = 65_536


def fetch(server, path: str) -> str:
    with Client(server, WAIT_S) as client:
        client.send(GET % (path.encode(), b""))
        response = client.response()
        assert response.status == 200, response.status
        return response.body.decode()


def figures(server, pid: int) -> dict:
    """Asks until the process of that number answers."""
    found = {}

    def is_found() -> bool:
        found.update(json.loads(fetch(server, "/counts")))
        return found["pid"] == pid

    assert wait_until(is_found, WAIT_S)
    return found


def metric(server, name: str, hub: str) -> int:
    """A figure of all workers, as whichever is asked tells it."""
    label = f'flare_backplane_{name}{{hub="{hub}"}} '
    lines = fetch(server, "/metrics").splitlines()
    [line] = [line for line in lines if line.startswith(label)]
    return int(line.removeprefix(label))


class Member:
    """A client of the room, and the process that it is at."""

    def __init__(self, server, name: str = "", last: str = "", data: str = "") -> None:
        self.client = Client(server, WAIT_S)
        path = f"/ws?name={name}&last={last}&data={data}"
        self.client.send(UPGRADE % (path.encode(), b""))
        assert self.client.response().status == 101
        # What is sent on opening may come with the 101.
        self.waiting = self.client.buffer
        self.client.send(frame(0x81, b"pid"))
        self.heard_before: list[str] = []
        while True:
            text = self.hear()
            if text.startswith("pid "):
                break
            self.heard_before.append(text)
        self.pid = int(text[4:])

    def say(self, text: str) -> None:
        self.client.send(frame(0x81, text.encode()))

    def hear(self) -> str:
        """The next message."""
        head = self._take(2)
        length = head[1]
        if length == 126:
            length = int.from_bytes(self._take(2), "big")
        return self._take(length).decode()

    def hear_all(self, count: int) -> list[str]:
        return [self.hear() for _ in range(count)]

    def hear_close(self) -> tuple[int, str]:
        """Code and reason of a close frame, which is next."""
        head = self._take(2)
        assert head[0] == 0x88, head
        payload = self._take(head[1])
        return int.from_bytes(payload[:2], "big"), payload[2:].decode()

    def is_silent(self, time_s: float = 0.2) -> bool:
        """Tells whether nothing comes for a while; what comes is kept."""
        self.client.sock.settimeout(time_s)
        try:
            if not self.waiting:
                self.waiting = self.client.sock.recv(PORTION)
            return False
        except TimeoutError:
            return True
        finally:
            self.client.sock.settimeout(WAIT_S)

    def _take(self, count: int) -> bytes:
        while len(self.waiting) < count:
            piece = self.client.sock.recv(PORTION)
            if not piece:
                raise ConnectionError("the connection has ended")
            self.waiting += piece
        taken, self.waiting = self.waiting[:count], self.waiting[count:]
        return taken

    def close(self) -> None:
        self.client.sock.close()


def connected(sender: Member, members: list[Member]) -> None:
    """Waits until a message of one reaches all: nobody is told when a process
    has its connection to Redis."""
    end = time.monotonic() + WAIT_S
    missing = set(members)
    number = 0
    while missing:
        assert time.monotonic() < end, "a process does not hear the others"
        sender.say(f"hello {number}")
        number += 1
        missing = {member for member in missing if member.is_silent(0.1)}
    sender.say("begin")
    for member in members:
        while member.hear() != "begin":
            pass


class Listener:
    """A client of the event stream."""

    def __init__(self, server, last_id: str = "", user: str = "") -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), WAIT_S)
        field = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
        path = f"/events?user={user}"
        self.socket.sendall(GET % (path.encode(), field.encode()))
        self.waiting = b""
        head = self._take_to(b"\r\n\r\n").decode()
        self.pid = int(head.split("process: ")[-1].split("Process: ")[-1].split("\r")[0])

    def hear(self) -> tuple[str, str]:
        """Id and text of the next event."""
        while True:
            _, _, piece = self._take_to(b"\n\n").decode().rpartition("\r\n")
            lines = dict(
                line.split(": ", 1) for line in piece.splitlines() if ": " in line
            )
            if "data" in lines:
                return lines.get("id", ""), lines["data"]

    def hear_all(self, count: int) -> list[str]:
        return [self.hear()[1] for _ in range(count)]

    def hear_end(self) -> bytes:
        """Waits for the end of the stream; gives what came before it."""
        return self._take_to(b"0\r\n\r\n").strip()

    def _take_to(self, end: bytes) -> bytes:
        while end not in self.waiting:
            piece = self.socket.recv(PORTION)
            if not piece:
                raise ConnectionError("the connection has ended")
            self.waiting += piece
        taken, _, self.waiting = self.waiting.partition(end)
        return taken

    def close(self) -> None:
        self.socket.close()


def names_everywhere(
    server, names: str, count: int = 3, path: str = "/names"
) -> bool:
    """Waits until so many processes know these members."""
    knowing = set()

    def look() -> bool:
        pid, _, found = fetch(server, path).partition(": ")
        if found == names:
            knowing.add(pid)
        else:
            knowing.discard(pid)
        return len(knowing) == count

    return wait_until(look, WAIT_S)


def one_of_each(server, kind, count: int = 3, **options) -> list:
    """Clients until each process has one: who is asked is the kernel's choice."""
    found = {}
    others = []

    def is_complete() -> bool:
        client = kind(server, **options)
        if client.pid in found:
            others.append(client)
        else:
            found[client.pid] = client
        return len(found) == count

    assert wait_until(is_complete, WAIT_S)
    for client in others:
        client.close()
    return list(found.values())


def all_workers(server, count: int = 3) -> list[int]:
    """The processes of the workers, once there are so many."""
    assert wait_until(lambda: len(workers(server.process.pid)) == count, WAIT_S)
    return [pid for pid in workers(server.process.pid) if is_alive(pid)]


def two_machines(start, **options) -> tuple[list, list[Member]]:
    """Two masters with one worker each, and a client of each."""
    servers = [start("hub_server", plane="redis", workers=1, **options) for _ in range(2)]
    return servers, [Member(server) for server in servers]


def say(member: Member, count: int, start: int = 0) -> list[str]:
    """Says numbers; gives the texts."""
    texts = [f"{member.pid} {number}" for number in range(start, start + count)]
    for text in texts:
        member.say(text)
    return texts
