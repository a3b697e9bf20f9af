"""Redis servers, clusters and sentinels for tests, on free ports."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from peer_servers import program
from ports import claim_port, claim_ports

START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 5
PACKAGE = "redis-server"


def encoded(*words: str | bytes) -> bytes:
    parts = [word.encode() if isinstance(word, str) else word for word in words]
    lines = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
    return b"*%d\r\n%s" % (len(parts), lines)


class RedisServer:
    """A running server that keeps nothing on disk."""

    def __init__(self, folder: Path, port: int = 0, **options: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = port or claim_port()
        self.path = folder / "redis.sock"
        self.options = options
        self.process: subprocess.Popen | None = None
        self.start()

    def start(self) -> None:
        """Starts it, again or for the first time."""
        more = [
            part
            for name, value in self.options.items()
            for part in (f"--{name.replace('_', '-')}", *str(value).split(" "))
        ]
        binary = program("redis-server", PACKAGE)
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(
                [
                    binary, "--port", str(self.port), "--bind", "127.0.0.1",
                    "--save", "", "--dir", str(self.folder),
                    "--unixsocket", str(self.path), *more,
                ],
                stdout=log,
                stderr=log,
            )
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        end = time.monotonic() + START_TIMEOUT_S
        while True:
            assert self.process.poll() is None, (self.folder / "log").read_text()
            try:
                answer = self.ask("PING")
            except OSError:
                answer = b""
            # One that wants a password first is ready, too.
            if answer.startswith((b"+PONG", b"-NOAUTH")):
                return
            assert time.monotonic() < end, (self.folder / "log").read_text()
            time.sleep(0.01)

    def ask(self, *words: str | bytes) -> bytes:
        """Sends one command over a connection of its own; gives what comes."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(str(self.path))
            connection.sendall(encoded(*words))
            return connection.recv(1 << 20)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(STOP_TIMEOUT_S)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.go_on()
            self.kill()


def running_redis(folder: Path, **options: str) -> Iterator[RedisServer]:
    """For a fixture: a server until its tests are over."""
    server = RedisServer(folder, **options)
    yield server
    server.stop()


class Sentinel(RedisServer):
    """A sentinel that watches one master, and gives it up quickly."""

    def __init__(
        self, folder: Path, master_port: int, quorum: int, *lines: str
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sentinel.conf").write_text(
            f"sentinel monitor mymaster 127.0.0.1 {master_port} {quorum}\n"
            "sentinel down-after-milliseconds mymaster 500\n"
            "sentinel failover-timeout mymaster 3000\n"
            f"unixsocket {folder}/redis.sock\n" + "".join(f"{x}\n" for x in lines)
        )
        super().__init__(folder)

    def start(self) -> None:
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(
                [
                    program("redis-server", PACKAGE),
                    str(self.folder / "sentinel.conf"), "--sentinel",
                    "--port", str(self.port), "--bind", "127.0.0.1",
                ],
                stdout=log,
                stderr=log,
            )
        self.wait_until_ready()


@dataclass
class Watched:
    """A master, its replica, and three sentinels that know both."""

    master: RedisServer
    replica: RedisServer
    sentinels: list[Sentinel]

    def stop(self) -> None:
        for server in (*self.sentinels, self.replica, self.master):
            server.stop()


def start_watched(folder: Path) -> Watched:
    """Starts them, and waits until all know each other."""
    master = RedisServer(folder / "master")
    replica = RedisServer(folder / "replica", replicaof=f"127.0.0.1 {master.port}")
    sentinels = [
        Sentinel(folder / f"sentinel{index}", master.port, 2) for index in range(3)
    ]
    end = time.monotonic() + START_TIMEOUT_S
    while not all(
        b"num-slaves\r\n$1\r\n1" in (said := sentinel.ask("SENTINEL", "MASTER", "mymaster"))
        and b"num-other-sentinels\r\n$1\r\n2" in said
        for sentinel in sentinels
    ) or b"master_link_status:up" not in replica.ask("INFO", "replication"):
        assert time.monotonic() < end, "the sentinels do not find each other"
        time.sleep(0.02)
    return Watched(master, replica, sentinels)


def start_cluster(folder: Path, count: int = 3) -> list[RedisServer]:
    """Starts masters that have all slots between them."""
    ports = claim_ports(2 * count)
    nodes = [
        RedisServer(
            folder / f"node{index}",
            ports[index],
            cluster_enabled="yes",
            cluster_port=str(ports[count + index]),
            cluster_node_timeout="2000",
            cluster_config_file="nodes.conf",
        )
        for index in range(count)
    ]
    for index, node in enumerate(nodes):
        first = 16384 * index // count
        last = 16384 * (index + 1) // count - 1
        assert node.ask("CLUSTER", "ADDSLOTSRANGE", str(first), str(last)) == b"+OK\r\n"
    for index, node in enumerate(nodes[1:], 1):
        answer = nodes[0].ask(
            "CLUSTER", "MEET", "127.0.0.1", str(node.port), str(ports[count + index])
        )
        assert answer == b"+OK\r\n"
    end = time.monotonic() + START_TIMEOUT_S
    while not all(
        b"cluster_state:ok" in (said := node.ask("CLUSTER", "INFO"))
        and b"cluster_known_nodes:%d" % count in said
        for node in nodes
    ):
        assert time.monotonic() < end, "the nodes do not find each other"
        time.sleep(0.02)
    return nodes
