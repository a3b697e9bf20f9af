"""Builds the servers of the wire tests once, and starts them on free ports."""

import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from processes import SYN_RECV, next_line, server_end  # noqa: E402
from toolchain import BUILD, alone, environment  # noqa: E402
import wire_programs  # noqa: E402
from client_asker import Asker  # noqa: E402
from raw_server import RawServer  # noqa: E402
from wire_programs import build_all, built  # noqa: E402

START_TIMEOUT_S = 10
STOP_TIMEOUT_S = 40
TLS_CLIENT_TIMEOUT_S = 20
MANY_FILES = 10
LIMIT_NAME = "RLIMIT_NOFILE"


def pytest_addoption(parser):
    parser.addoption(
        "--asserts",
        action="store_true",
        help="build the servers with -D ASSERT=all, so that they abort where"
        " something happens that must not",
    )
    parser.addoption(
        "--asan",
        action="store_true",
        help="build the servers, and an object for them, with AddressSanitizer",
    )
    parser.addoption(
        "--whole",
        action="store_true",
        help="compile the library with each server, in place of once for all",
    )
    parser.addoption(
        "--pieces",
        action="store_true",
        help="let programs read and write a few octets at a time, now and then",
    )


def pytest_configure(config):
    if config.getoption("asserts"):
        wire_programs.OPTIONS += ["-D", "ASSERT=all"]
    if config.getoption("asan"):
        wire_programs.sanitize()
    if config.getoption("whole"):
        wire_programs.WHOLE.append("whole")
    if config.getoption("pieces") and not hasattr(config, "workerinput"):
        give_in_pieces()
    config.addinivalue_line("markers", "nightly: takes minutes, or a machine at rest")
    config.addinivalue_line(
        "markers", "unsanitized: not with --asan, which changes what is measured"
    )


def pytest_collection_modifyitems(config, items):
    if config.getoption("asan"):
        reason = "the sanitizer changes what it measures"
        for item in items:
            if item.get_closest_marker("unsanitized"):
                item.add_marker(pytest.mark.skip(reason=reason))


def give_in_pieces() -> None:
    """Has all programs that are started from here on meet pieces.c."""
    library = BUILD / "wire" / "pieces.so"
    with alone(library):
        wire_programs.compile_preloaded(Path(__file__).with_name("pieces.c"), library)
    os.environ["LD_PRELOAD"] = str(library)
    os.environ["PIECES_BELOW"] = f"{BUILD}/"


def pytest_collection_finish(session):
    """Builds all programs at once if most of them are wanted."""
    if hasattr(session.config, "workerinput"):
        return
    if len({item.path for item in session.items}) > MANY_FILES:
        build_programs()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """Builds all programs before several processes share the tests."""
    build_programs()


def build_programs() -> None:
    if errors := build_all():
        raise pytest.UsageError("\n".join(errors))


class Server:
    """A running server; its standard error is kept in a file."""

    def __init__(
        self, binary: Path, arguments: list[str], port: int = 0, **options
    ) -> None:
        self.log = BUILD / "wire" / f"stderr-{os.getpid()}-{id(self)}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._log = open(self.log, "w")
        self.process = subprocess.Popen(
            [str(binary), str(port), *arguments],
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment(),
            **options,
        )
        line = next_line(self.process, START_TIMEOUT_S)
        assert line.startswith("listening on "), line
        self.port = int(line.rsplit(":", 1)[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def connect(self, timeout: float = 5.0) -> socket.socket:
        return socket.create_connection(
            ("127.0.0.1", self.port), timeout=timeout
        )

    def stderr(self) -> str:
        """What it has written, but for what depends on this machine's limit."""
        lines = self.log.read_text().splitlines(keepends=True)
        return "".join(line for line in lines if LIMIT_NAME not in line)

    def lines(self) -> list[str]:
        """The same without what it says of a loop that a busy machine held."""
        lines = self.stderr().splitlines()
        return [line for line in lines if " held the loop for " not in line]

    def said_of_limit(self) -> list[str]:
        """What it says when its limit of descriptors is low."""
        lines = self.log.read_text().splitlines()
        return [line for line in lines if LIMIT_NAME in line]

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> int:
        if self.is_alive():
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(STOP_TIMEOUT_S)
        self._log.close()
        self.log.unlink(missing_ok=True)
        return code


@pytest.fixture(scope="module", autouse=True)
def collected():
    """Closes what the tests of a file have left in cycles, such as sockets."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def certs() -> Path:
    """The folder of the test certificates."""
    tool = ROOT / "tools" / "certs.py"
    subprocess.run([sys.executable, str(tool)], check=True)
    return ROOT / "build" / "certs"


@pytest.fixture(scope="session")
def probe():
    """The probe server with its default configuration, for all tests."""
    server = Server(built("probe_server"), ["linger_timeout_ms=500"])
    yield server
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


def shown(certs: Path, *names: str) -> dict[str, Path]:
    """Options of the servers that let them show certificates."""
    options = {}
    for suffix, name in zip(["", "2"], names or ("good_chain",)):
        options[f"cert{suffix}"] = certs / f"{name}.pem"
        options[f"key{suffix}"] = certs / f"{name.removesuffix('_chain')}.key"
    return options


@pytest.fixture(scope="session")
def probe_tls(certs):
    """The probe server over TLS, with its default configuration."""
    options = [f"{name}={path}" for name, path in shown(certs).items()]
    server = Server(built("probe_server"), ["linger_timeout_ms=500", *options])
    yield server
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


def running_client(name: str, *arguments: str):
    """A client program, for fixtures; it must live to their end."""
    from raw_server import Fetcher

    running = Fetcher(built(name, "clients"), *arguments)
    yield running
    assert running.process.poll() is None, "the client died during the tests"
    assert running.close() == 0


@pytest.fixture(scope="session")
def fetcher():
    """The client under test; `fetcher.client(...)` starts over with a new one."""
    yield from running_client("fetcher")


@pytest.fixture(scope="module")
def talker():
    """The WebSocket client under test."""
    yield from running_client("talker")


@pytest.fixture(scope="module")
def fetcher_of_module():
    """A process of a file's own, whose memory no other file's tests have grown."""
    yield from running_client("fetcher")


@pytest.fixture(scope="module")
def asker():
    """A process with a client of each kind; `meet` gives them settings."""
    running = Asker(built("asker", "clients"))
    yield running
    assert running.close() == 0


@pytest.fixture(scope="session")
def tls_client():
    """Runs the program that tries `TlsStream`; gives the lines that it prints."""
    binary = built("tls_client")

    def run(host: str, port: int, **options) -> list[str]:
        arguments = [f"{key}={value}" for key, value in options.items()]
        result = subprocess.run(
            [str(binary), host, str(port), *arguments],
            cwd=ROOT,
            env=environment(),
            text=True,
            stdout=subprocess.PIPE,
            timeout=TLS_CLIENT_TIMEOUT_S,
        )
        assert result.returncode == 0
        return result.stdout.splitlines()

    return run


@pytest.fixture
def start():
    """Starts servers with a configuration: start(header_timeout_ms=300)."""
    running = []

    def launch(name: str = "probe_server", popen: dict | None = None, **config):
        arguments = [f"{key}={value}" for key, value in config.items()]
        server = Server(built(name), arguments, **(popen or {}))
        running.append(server)
        return server

    yield launch
    for server in running:
        if server.is_alive():
            server.process.kill()
        server.process.wait(5)
        server._log.close()
        server.log.unlink(missing_ok=True)


@pytest.fixture
def start_tls(start, certs):
    """Starts HTTPS servers with certificates: start_tls("good_chain", ...)."""

    def launch(*names: str, server: str = "probe_server", **config):
        return start(server, **shown(certs, *names), **config)

    return launch


@pytest.fixture
def proxied_group(start):
    """Starts an upstream for each handler, and a proxy to all; gives both."""
    upstreams = []

    def launch(*handlers, **config):
        own = [RawServer(handle) for handle in handlers]
        upstreams.extend(own)
        urls = ",".join(one.url for one in own)
        return own, start("proxy_server", upstream=urls, **config)

    yield launch
    for upstream in upstreams:
        upstream.close()


@pytest.fixture
def proxied(proxied_group):
    """Starts an upstream and a proxy to it; gives both."""

    def launch(handle, **config):
        (upstream,), server = proxied_group(handle, **config)
        return upstream, server

    return launch


def read_all(sock: socket.socket) -> bytes:
    """Reads to the end of the stream; a reset counts as the end."""
    pieces = []
    with contextlib.suppress(ConnectionResetError):
        while piece := sock.recv(65536):
            pieces.append(piece)
    return b"".join(pieces)


def read_to(sock: socket.socket, end: bytes) -> bytes:
    """Reads until what came ends with `end`."""
    data = b""
    while not data.endswith(end):
        piece = sock.recv(65536)
        assert piece, f"the end came after {data!r}"
        data += piece
    return data


class Response:
    """One response read off a socket, strictly."""

    def __init__(
        self, status: int, fields: dict[str, str], body: bytes, head: bytes
    ):
        self.status, self.fields, self.body, self.head = (
            status,
            fields,
            body,
            head,
        )


class Client:
    """A raw connection that reads one response after the other."""

    def __init__(self, server: Server, timeout: float = 5.0) -> None:
        self.sock = server.connect(timeout)
        self.buffer = b""

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def response(self, is_head: bool = False) -> Response:
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1])
        fields = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            assert name.lower() not in fields, f"{name} stands twice"
            fields[name.lower()] = value.strip()
        length = int(fields.get("content-length", 0))
        if is_head or status in (204, 304) or status < 200:
            length = 0
        pieces, left = [self.buffer], length - len(self.buffer)
        while left > 0:
            pieces.append(self._piece())
            left -= len(pieces[-1])
        self.buffer = b"".join(pieces)
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return Response(status, fields, body, head)

    def _more(self) -> None:
        self.buffer += self._piece()

    def _piece(self) -> bytes:
        piece = self.sock.recv(65536)
        if not piece:
            raise EOFError(f"the server closed after {self.buffer[-1000:]!r}")
        return piece

    def is_closed(self) -> bool:
        """Waits for the end of the stream; False if more octets come."""
        if self.buffer:
            return False
        try:
            return self.sock.recv(1) == b""
        except ConnectionResetError:
            return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()


@pytest.fixture
def client(probe):
    with Client(probe) as connection:
        yield connection


def refusal(program: str, *arguments: str, **options) -> str:
    """Runs a server that must not begin to serve; gives what it says."""
    outcome = subprocess.run(
        [str(built(program)), *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=10,
        text=True,
        **options,
    )
    assert outcome.returncode == 1, outcome.stdout
    return outcome.stdout


def is_refused(server) -> bool:
    """Tells whether nobody listens any more: the server drains.

    A connection that is made while the listener closes is reset.
    """
    try:
        server.connect(1).close()
    except (ConnectionRefusedError, ConnectionResetError):
        return True
    return False


def wait_until(condition, timeout_s: float = 15.0) -> bool:
    """Waits for a condition with a deadline, for states that have no event. The
    deadline says that it never comes, so it is far beyond what a slow machine needs."""
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def wait_until_read(server, *clients: Client) -> None:
    """Waits until a server has read the few octets that clients have sent, or has
    closed: what they send next is an event of its own, and comes behind what it does
    with these."""

    def is_read(client: Client) -> bool:
        end = server_end(server.port, client.sock)
        return not end or (end.state != SYN_RECV and end.to_read_len == 0)

    for client in clients:
        assert wait_until(lambda: is_read(client)), "it does not read"


def wait_until_full(server, sock: socket.socket) -> None:
    """Waits until a server cannot send to a client that reads nothing: what the
    kernel keeps of its octets grows no more."""
    lengths = [0]

    def is_full() -> bool:
        end = server_end(server.port, sock)
        lengths.append(end.to_send_len if end else 0)
        return lengths[-1] > 0 and lengths[-3:] == 3 * lengths[-1:]

    assert wait_until(is_full), lengths[-1]
