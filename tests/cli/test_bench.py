"""`flare bench`, against servers whose answers are known."""

import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import ROOT, built_server, flare, flare_on_a_terminal
from mojo_flare.bench.figures import Figures, Moment, shares, together
from mojo_flare.bench.report import duration, histogram, octets

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Scripted:
    """A server that answers every request alike, and keeps what it was sent."""

    def __init__(self, answer: bytes, certs: Path | None = None) -> None:
        self.answer = answer
        self.requests: list[bytes] = []
        self.connection_count = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self._context = None
        if certs:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connection_count += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            if self._context:
                connection = self._context.wrap_socket(connection, server_side=True)
            received = b""
            while piece := connection.recv(65_536):
                received += piece
                if b"\r\n\r\n" not in received or not received.endswith((b"\r\n\r\n", b"end")):
                    continue
                self.requests.append(received)
                received = b""
                connection.sendall(self.answer)
                if not self.answer.startswith(b"HTTP/1.1 200") or b"close" in self.answer:
                    connection.close()
                    return
        except OSError:
            return

    def close(self) -> None:
        if self._listener.fileno() >= 0:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()


@pytest.fixture
def scripted() -> Iterator[type]:
    servers: list[Scripted] = []

    def start(answer: bytes = ANSWER, certs: Path | None = None) -> Scripted:
        servers.append(Scripted(answer, certs))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The address of a server of the library."""
    process = subprocess.Popen(
        [built_server(), "v0", "0"], stdout=subprocess.PIPE, text=True
    )
    yield process.stdout.readline().split()[-1]
    process.terminate()
    process.wait(10)


@pytest.fixture(scope="module")
def certs() -> Path:
    subprocess.run([sys.executable, ROOT / "tools" / "certs.py"], check=True)
    return ROOT / "build" / "certs"


def measured(*arguments: object) -> tuple[int, dict]:
    result = flare("bench", "--json", *arguments)
    assert result.stdout.startswith("{"), result.stdout + result.stderr
    return result.returncode, json.loads(result.stdout)


def test_sends_as_many_as_the_rate_says(served):
    code, figures = measured("-r", 300, "-c", 5, "-d", "1s", f"http://{served}/")
    assert code == 0 and figures["answered"] == 300
    assert figures["statuses"] == {"200": 300} and figures["errors"] == {}
    latency = figures["latency_us"]
    ordered = [latency[name] for name in ("min", "p50", "p75", "p90", "p99", "p99.9", "max")]
    assert ordered == sorted(ordered) and ordered[0] > 0


def test_a_server_that_falls_behind_is_charged_for_what_waits(served):
    """One connection, 0.3 s an answer, 20 requests a second: of the 20 of a
    second the last waits for about 6 s; an answer alone never takes that."""
    code, figures = measured(
        "-r", 20, "-c", 1, "-d", "1s", "--timeout", "10s", f"http://{served}/slow"
    )
    assert figures["answered"] + figures["unfinished"] == 20 and code == 1
    assert figures["latency_us"]["p50"] > 600_000


def test_without_a_rate_each_connection_sends_when_it_can(served):
    code, figures = measured("-r", 0, "-c", 2, "-d", "1s", f"http://{served}/slow")
    assert code == 0 and 4 <= figures["answered"] <= 8
    assert figures["latency_us"]["max"] < 900_000


def test_method_fields_and_content_arrive(scripted, tmp_path):
    server = scripted()
    (tmp_path / "body").write_bytes(b"\x00\xfftext-end")
    code, _ = measured(
        "-r", 5, "-c", 1, "-d", "1s", "-X", "PATCH", "-H", "X-Name:  value ",
        "-H", "User-Agent: test", "--body", f"@{tmp_path / 'body'}",
        f"http://127.0.0.1:{server.port}/a?b=c",
    )  # fmt: skip
    assert code == 0 and len(server.requests) == 5
    head, _, content = server.requests[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "PATCH /a?b=c HTTP/1.1"
    assert sorted(lines[1:]) == [
        "Content-Length: 10",
        f"Host: 127.0.0.1:{server.port}",
        "User-Agent: test",
        "X-Name: value",
    ]
    assert content == b"\x00\xfftext-end"


def test_threads_share_rate_and_connections(scripted):
    server = scripted()
    code, figures = measured(
        "-t", 3, "-r", 31, "-c", 4, "-d", "1s", f"http://127.0.0.1:{server.port}/"
    )
    assert code == 0 and figures["answered"] == 31
    assert server.connection_count == 4


def test_connections_that_the_server_closes_are_opened_anew(scripted):
    server = scripted(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    code, figures = measured(
        "-r", 20, "-c", 2, "-d", "1s", f"http://127.0.0.1:{server.port}/"
    )
    assert code == 0 and figures["answered"] == 20
    assert server.connection_count >= 20


@pytest.mark.parametrize(
    ("answer", "errors"),
    [
        (b"\x00", {"read head: MalformedResponse"}),
        (b"", {"read head: NoResponse", "read head: ConnectionReset"}),
    ],
)
def test_errors_are_counted_by_kind(scripted, answer, errors):
    server = scripted(answer)
    code, figures = measured(
        "-r", 10, "-c", 2, "-d", "1s", f"http://127.0.0.1:{server.port}/"
    )
    assert code == 1 and figures["answered"] == 0 and figures["failed"] == 10
    assert set(figures["errors"]) <= errors


def test_what_takes_too_long_is_a_timeout(served):
    code, figures = measured(
        "-r", 3, "-c", 3, "-d", "1s", "--timeout", "100ms", f"http://{served}/slow"
    )
    assert code == 1 and figures["errors"] == {"timeout": 3}


def test_statuses_from_400_on_are_errors(served):
    code, figures = measured("-r", 10, "-d", "1s", f"http://{served}/none")
    assert code == 1 and figures["statuses"] == {"404": 10} and figures["failed"] == 0


def test_https_is_spoken_and_certificates_are_checked(scripted, certs):
    server = scripted(certs=certs)
    url = f"https://localhost:{server.port}/"
    code, figures = measured("-k", "-r", 20, "-c", 2, "-d", "1s", url)
    assert code == 0 and figures["answered"] == 20
    result = flare("bench", "-d", "1s", url)
    assert result.returncode == 1 and "certificate" in result.stderr


def test_a_server_that_is_not_there(scripted):
    server = scripted()
    server.close()
    result = flare("bench", "-d", "1s", f"http://127.0.0.1:{server.port}/")
    assert result.returncode == 1 and "connection refused" in result.stderr


def test_what_is_printed(served):
    result = flare("bench", "-r", 50, "-d", "1s", f"http://{served}/")
    assert result.returncode == 0
    assert "GET http://" in result.stderr and "50 requests/s, 10 connections" in result.stderr
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[:4]] == [
        "answered", "statuses", "errors", "latency",
    ]  # fmt: skip
    for share in ("50 %", "75 %", "90 %", "99 %", "99.9 %", "max"):
        assert share in lines[3]
    assert any("####" in line for line in lines[6:])


def test_a_terminal_has_a_live_table(served):
    shown = flare_on_a_terminal("bench", "-r", 50, "-d", "1s", f"http://{served}/")
    for name in (b"answered", b"behind", b"99 %"):
        assert name in shown
    assert b"\x1b[2K" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ftp://a/"], "no http or https URL"),
        (["http:///"], "no http or https URL"),
        (["-d", "soon", "http://a/"], "is no time"),
        (["-d", "0", "http://a/"], "is no time"),
        (["--timeout", "2h", "http://a/"], "--timeout 2h is no time"),
        (["-X", "GE T", "http://a/"], "is no method"),
        (["-H", "no colon", "http://a/"], "is no header field"),
        (["-H", "Content-Length: 1", "http://a/"], "the generator's own"),
        (["-H", "A: b\r\nC: d", "http://a/"], "line end"),
        (["-t", "4", "-c", "3", "http://a/"], "lower -t"),
        (["--body", "@/no/such/file", "http://a/"], "No such file"),
    ],
)
def test_what_is_refused(arguments, said):
    result = flare("bench", *arguments)
    assert result.returncode == 2 and said in result.stderr, result.stderr


def test_figures_of_several_generators_are_one():
    told = {"seconds": 1.0, "octets": 5, "unfinished": 0, "failed": 0}
    figures = Figures()
    figures.add(told | {"answered": 2, "min_ns": 10, "max_ns": 30, "statuses": {"200": 2}, "errors": {}, "slots": [[11, 1], [30, 1]]})  # fmt: skip
    figures.add(told | {"answered": 1, "min_ns": 5, "max_ns": 20, "statuses": {"500": 1}, "errors": {"x": 1}, "slots": [[5, 1], [11, 1]]})  # fmt: skip
    assert (figures.min_ns, figures.max_ns, figures.count) == (5, 30, 4)
    assert [figures.at(share) for share in (0.25, 0.5, 0.75, 1)] == [5, 11, 11, 30]
    assert figures.refused == 1 and not figures.is_clean
    rows = figures.rows()
    assert sum(count for _, count in rows) == 4 and rows[-1][0] == 30
    assert len(histogram(figures)) == len(rows)


def test_no_figures_are_no_success():
    assert not Figures().is_clean
    assert Figures().rows() == [] and Figures().at(0.5) == 0


def test_shares_and_moments():
    assert shares(10, 3) == [4, 3, 3] and sum(shares(7, 7)) == 7
    whole = together([Moment(1, 2, 3, 4, 5, 6, 7, 8), Moment(2, 2, 3, 4, 5, 1, 9, 1)])
    assert (whole.at, whole.answered, whole.p50, whole.p99) == (2, 4, 6, 9)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 ns"), (999, "999 ns"), (1_500, "1.5 us"), (12_345_678, "12.3 ms"), (61e9, "61 s")],
)
def test_times_have_units(value, text):
    assert duration(value) == text


def test_sizes_have_units():
    assert [octets(12), octets(3_400_000)] == ["12 B", "3.4 MB"]
