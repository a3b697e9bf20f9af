"""Secrets of TLS sessions in a file, as Wireshark reads them: client and server
write the same, and it is about the octets that were on the wire."""

import re
import ssl

from conftest import Server, built, shown
from raw_server import Connection, RawServer, answering

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LINE = re.compile(r"([A-Z0-9_]+) ([0-9a-f]{64}) ([0-9a-f]{64,128})")
TLS_1_3 = {
    "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
    "SERVER_HANDSHAKE_TRAFFIC_SECRET",
    "CLIENT_TRAFFIC_SECRET_0",
    "SERVER_TRAFFIC_SECRET_0",
}
RANDOM = slice(11, 43)


def lines(path) -> list[tuple[str, str, str]]:
    """Reads a key log of NSS: label, client's random, secret."""
    found = []
    for line in path.read_text().splitlines():
        match = LINE.fullmatch(line)
        assert match, line
        found.append(match.groups())
    return found


class Recorder:
    """Passes octets on, and keeps the first of the client."""

    def __init__(self, port: int) -> None:
        self.hello = b""
        self._port = port
        self._server = RawServer(self._serve)
        self.port = self._server.port

    def _serve(self, connection: Connection) -> None:
        hello = connection.take(43)
        connection.buffer = hello + connection.buffer
        self.hello = self.hello or hello
        connection.pass_on(self._port)

    def close(self) -> None:
        self._server.close()


def test_of_client_and_server(fetcher, certs, tmp_path):
    """TLS 1.3; RFC 8446 section 4.1.2 for where the random stands."""
    near, far = tmp_path / "client.log", tmp_path / "server.log"
    options = [f"{name}={path}" for name, path in shown(certs).items()]
    server = Server(built("probe_server"), [f"key_log={far}", *options])
    recorder = Recorder(server.port)
    fetcher.client(ca_file=str(certs / "root.pem"), key_log=str(near))
    answer = fetcher.get(f"https://localhost:{recorder.port}/")
    assert "status" in answer, answer
    recorder.close()
    assert server.stop() == 0
    mine, its = lines(near), lines(far)
    assert set(mine) == set(its)
    assert {label for label, _, _ in mine} >= TLS_1_3
    random = recorder.hello[RANDOM].hex()
    assert {name for _, name, _ in mine} == {random}
    for path in (near, far):
        assert path.stat().st_mode & 0o777 == 0o600


def test_of_tls_1_2(fetcher, certs, tmp_path):
    """One line, CLIENT_RANDOM; a file that is there is appended to."""
    near, far = tmp_path / "client.log", tmp_path / "python.log"
    near.write_text("# kept\n")
    near.chmod(0o640)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.keylog_filename = str(far)

    def secure(connection: Connection) -> None:
        connection.sock = context.wrap_socket(connection.sock, server_side=True)
        answering(OK)(connection)

    server = RawServer(secure)
    fetcher.client(ca_file=str(certs / "root.pem"), key_log=str(near))
    answer = fetcher.get(f"https://localhost:{server.port}/")
    assert answer["status"] == 200, answer
    server.close()
    text = near.read_text()
    assert text.startswith("# kept\n")
    assert text.splitlines()[1].startswith("CLIENT_RANDOM ")
    python = [one for one in far.read_text().splitlines() if one[0] != "#"]
    assert text.splitlines()[1:] == python
    assert near.stat().st_mode & 0o777 == 0o640


def test_a_file_that_cannot_be_written(fetcher, certs, tmp_path):
    fetcher.client(
        ca_file=str(certs / "root.pem"), key_log=str(tmp_path / "no" / "log")
    )
    server = RawServer(answering(OK))
    answer = fetcher.get(f"https://127.0.0.1:{server.port}/")
    server.close()
    assert answer["phase"] == "tls", answer
    assert "key_log" in answer["text"] and "check the path" in answer["text"]
