"""The HTTPS server with threads, processes and handler threads; reload, stop."""

import shutil
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from conftest import read_all, wait_until
from https_client import TIMEOUT_S, HttpsClient, Sealer, trusting

THREADS = {"mode": "threads", "workers": 2, "pins": 0}
PREFORK = {"mode": "prefork", "workers": 2}


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
@pytest.mark.parametrize("mode", [THREADS, PREFORK], ids=["threads", "prefork"])
def test_tickets_of_one_worker_serve_all(start_tls, certs, mode, version):
    server = start_tls(server="workers_server", **mode)
    context = trusting(certs, maximum_version=version)
    with HttpsClient(server, context) as client:
        client.get("/")
        session = client.sock.session
    ids = set()
    for _ in range(20):
        with HttpsClient(server, context, session=session) as client:
            assert client.sock.session_reused
            ids.add(client.get("/pid").body)
    if mode is PREFORK:
        assert len(ids) == 2


@pytest.mark.parametrize("mode", [THREADS, PREFORK], ids=["threads", "prefork"])
def test_handler_threads(start_tls, certs, mode):
    server = start_tls(
        server="workers_server", handler_threads=2, verify="optional",
        client_ca=certs / "root.pem", **mode,
    )
    context = trusting(certs)
    context.load_cert_chain(certs / "client.pem", certs / "client.key")
    with HttpsClient(server, context) as client:
        body = client.get("/whole/x").body
        assert body == b"GET /whole/x x  O=flare,CN=a client"
        client.send(
            b"GET /slow/50?tag=1 HTTP/1.1\r\nHost: a\r\n\r\n"
            b"GET /fast HTTP/1.1\r\nHost: a\r\n\r\n"
            b"GET /size/300000 HTTP/1.1\r\nHost: a\r\n\r\n"
        )
        assert client.response().body == b"slept 50 1"
        assert client.response().body == b"Hello, World!"
        assert len(client.response().body) == 300_000


def test_client_leaves_its_handler(start_tls, certs):
    """What the handler knows of the client outlives the connection."""
    server = start_tls(
        server="workers_server", handler_threads=1, verify="required",
        client_ca=certs / "root.pem", handler_timeout_ms=100, **THREADS,
    )
    context = trusting(certs)
    context.load_cert_chain(certs / "client.pem", certs / "client.key")
    for number in range(5):
        with HttpsClient(server, context) as client:
            client.send(b"GET /patient HTTP/1.1\r\nHost: a\r\n\r\n")
            # Requests of clients that have left are not begun.
            assert wait_until(
                lambda: server.stderr().count("patient at work") > number
            )
    assert wait_until(lambda: server.stderr().count("cancelled after") == 5)
    with HttpsClient(server, context) as client:
        assert client.get("/slow/300").status == 503
        assert client.sock.recv(100) == b""


@pytest.mark.parametrize("over_tls", [True, False], ids=["tls", "plain"])
def test_large_answer_behind_a_tail(start, start_tls, certs, over_tls):
    """Small answers that the client does not read, a handler on a thread, and
    large content: all of it comes in order."""
    options = {"handler_threads": 1, **THREADS}
    if over_tls:
        server = start_tls(server="workers_server", **options)
    else:
        server = start("workers_server", **options)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(TIMEOUT_S)
    sock.connect(("127.0.0.1", server.port))
    if over_tls:
        sock = trusting(certs).wrap_socket(sock, server_hostname="localhost")
    fast = b"GET /fast HTTP/1.1\r\nHost: a\r\n\r\n"
    large = b"GET /size/20000 HTTP/1.1\r\nHost: a\r\n\r\n"
    last = b"GET /size/9 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with sock:
        sock.sendall((fast * 300 + large) * 80 + last)
        data = read_all(sock)
    answers = data.split(b"HTTP/1.1 200 OK\r\n")[1:]
    bodies = [answer.partition(b"\r\n\r\n")[2] for answer in answers]
    once = [b"Hello, World!"] * 300 + [b"x" * 20_000]
    assert bodies == once * 80 + [b"x" * 9]


class Files:
    """A certificate and its key that can be replaced."""

    def __init__(self, folder: Path, certs: Path, name: str) -> None:
        self.certs = certs
        self.cert, self.key = folder / "cert.pem", folder / "key.pem"
        self.put(name)

    def put(self, name: str) -> None:
        for suffix, path in [("pem", self.cert), ("key", self.key)]:
            new = path.with_suffix(".new")
            shutil.copy(self.certs / f"{name}.{suffix}", new)
            new.replace(path)


def serial(client: HttpsClient) -> str:
    return client.sock.getpeercert()["serialNumber"]


class Visitors:
    """Threads that ask without pause, over old and new connections."""

    def __init__(self, server, certs) -> None:
        self.failures, self.count, self.ends = [], 0, threading.Event()
        self.server, self.context = server, trusting(certs)
        tasks = [self.stay, self.stay, self.come, self.come]
        self.threads = [threading.Thread(target=task) for task in tasks]

    def stay(self) -> None:
        try:
            with HttpsClient(self.server, self.context) as client:
                while not self.ends.is_set():
                    assert client.get("/").status == 200
                    self.count += 1
        except Exception as error:
            self.failures.append(repr(error))

    def come(self) -> None:
        session = None
        while not self.ends.is_set():
            try:
                with HttpsClient(self.server, self.context, session=session) as client:
                    assert client.get("/").status == 200
                    session = client.sock.session
                    self.count += 1
            except Exception as error:
                self.failures.append(repr(error))
                return

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        for thread in self.threads:
            thread.join(TIMEOUT_S)


def test_reload_under_load_drops_nothing(start, certs, tmp_path):
    files = Files(tmp_path, certs, "good")
    server = start(cert=files.cert, key=files.key)
    context = trusting(certs)
    context.load_verify_locations(certs / "middle.pem")
    seen = set()
    with HttpsClient(server, context) as old:
        before = serial(old)
        visitors = Visitors(server, certs)
        visitors.context.load_verify_locations(certs / "middle.pem")
        with visitors:
            for name in ["rsa", "good"] * 5:
                files.put(name)
                assert old.get("/reload").body == b"reloaded"
                with HttpsClient(server, context) as new:
                    seen.add(serial(new))
                reached = visitors.count + 20
                assert wait_until(lambda: visitors.count > reached)
        assert visitors.failures == []
        assert before in seen and len(seen) == 2
        # A file that does not work changes nothing, and says why.
        files.key.write_text("no key")
        assert b"key.pem" in old.get("/reload").body
        with HttpsClient(server, context) as new:
            assert serial(new) == before


def test_plain_server_has_nothing_to_reload(start):
    from conftest import Client

    with Client(start()) as client:
        client.send(b"GET /reload HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b"plain HTTP" in client.response().body


def test_sighup_lets_new_processes_read_new_files(start, certs, tmp_path):
    files = Files(tmp_path, certs, "rsa")
    server = start(
        "workers_server", cert=files.cert, key=files.key, **PREFORK
    )
    context = trusting(certs)
    with HttpsClient(server, context) as client:
        before, first = serial(client), client.get("/pid").body

    def shows_another() -> bool:
        with HttpsClient(server, context) as client:
            return serial(client) != before

    files.key.write_text("no key")
    server.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: "the program goes on as it was" in server.stderr())
    files.put("strange")
    context.load_verify_locations(certs / "stranger.pem")
    server.process.send_signal(signal.SIGHUP)
    assert wait_until(shows_another)

    def are_all_new() -> bool:
        with HttpsClient(server, context) as client:
            return serial(client) != before and client.get("/pid").body != first

    assert wait_until(are_all_new)
    with HttpsClient(server, context) as client:
        client.get("/")
        session = client.sock.session
    for _ in range(10):
        with HttpsClient(server, context, session=session) as client:
            assert client.get("/").status == 200
    assert server.is_alive()


@pytest.mark.parametrize("mode", [None, THREADS, PREFORK], ids=str)
def test_drain(start_tls, certs, mode):
    """Idle connections end with notice, a request under way is answered."""
    if mode is None:
        server, taking = start_tls(), "/upload"
    else:
        server, taking = start_tls(server="workers_server", **mode), "/length"
    context = trusting(certs)
    with (
        HttpsClient(server, context) as quiet,
        HttpsClient(server, context) as idle,
        HttpsClient(server, context) as busy,
        server.connect() as shaking,
    ):
        quiet.get("/")
        # One that was used a moment ago has a second for its next request.
        time.sleep(1.1)
        idle.get("/")
        body = f"POST {taking} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab".encode()
        busy.send(body)
        sealer = Sealer(shaking, context)
        shaking.sendall(sealer.hello())
        flight = sealer.answer()
        server.process.send_signal(signal.SIGTERM)
        assert quiet.sock.recv(1) == b""
        shaking.sendall(flight)
        shaking.sendall(
            sealer.seal(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        )
        data, is_announced = sealer.read_all()
        assert b"200 OK" in data and is_announced
        assert idle.sock.recv(1) == b""
        busy.send(b"cd")
        assert busy.response().fields["connection"] == "close"
        assert busy.sock.recv(1) == b""
    assert server.process.wait(TIMEOUT_S) == 0


@pytest.mark.unsanitized
def test_memory_of_idle_connections(start_tls, certs):
    """What a thousand connections between requests keep."""
    server = start_tls()
    context = trusting(certs)

    def resident() -> int:
        text = Path(f"/proc/{server.process.pid}/smaps_rollup").read_text()
        line = next(x for x in text.splitlines() if x.startswith("Pss:"))
        return int(line.split()[1]) * 1024

    def connect(count: int) -> list[HttpsClient]:
        made = [HttpsClient(server, context) for _ in range(count)]
        for client in made:
            assert client.get("/").body == b"OK"
        return made

    clients = connect(50)
    before = resident()
    clients += connect(400)
    each = (resident() - before) // 400
    print(f"\n{each} bytes for each idle TLS connection")
    assert each < 40_000
    for client in clients:
        client.sock.close()
