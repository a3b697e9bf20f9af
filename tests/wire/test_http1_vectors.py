"""The public HTTP/1 vectors over real sockets: the server's verdict is the
parser's."""

import json
import socket
import sys

import pytest
from conftest import ROOT, read_all

sys.path.insert(0, str(ROOT / "tests" / "vectors"))

import run_vectors  # noqa: E402

VECTORS = run_vectors.VECTORS / "http1.jsonl"
REFUSALS = {b"400", b"413", b"414", b"417", b"431", b"501", b"505"}


def verdict(data: bytes) -> str:
    """Tells from the responses whether a request was refused."""
    for response in data.split(b"HTTP/1.1 ")[1:]:
        if (
            response[:3] in REFUSALS
            and b"\r\nConnection: close\r\n" in response
        ):
            return "reject"
    return "accept"


@pytest.mark.skipif(not VECTORS.exists(), reason="the vectors are not here")
def test_vectors_over_a_socket(probe):
    rows = [json.loads(line) for line in VECTORS.read_text().splitlines()]
    wrong = []
    for row in run_vectors.http1_rows(rows):
        if not run_vectors.is_required_http1(row):
            continue
        sock = probe.connect()
        octets = row["line"].removeprefix("request ")
        sock.sendall(bytes.fromhex(octets) if octets != "-" else b"")
        sock.shutdown(socket.SHUT_WR)
        answer = verdict(read_all(sock))
        sock.close()
        if answer != ("reject" if row["expect"] == "reject" else "accept"):
            wrong.append((row["id"], row["name"], row["expect"], answer))
    assert not wrong, wrong
