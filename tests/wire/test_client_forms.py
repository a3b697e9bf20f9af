"""Forms with files that are read while they are sent (RFC 7578)."""

import hashlib
import re
from email.parser import BytesParser

import pytest
from raw_server import Connection, RawServer

LENGTH = 300 << 20
MEMORY_KIB_MAX = 8_000
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Taken:
    """What a server got of one request."""

    def __init__(self, connection: Connection) -> None:
        self.head = connection.head()
        if not self.head:
            raise EOFError
        announced = re.findall(r"(?im)^content-length: (\d+)", self.head)
        assert len(announced) == 1 and "chunked" not in self.head.lower()
        self.length = int(announced[0])
        self.start = self.end = b""
        self.digest = hashlib.sha256()
        left = self.length
        piece, connection.buffer = connection.buffer, b""
        while True:
            left -= len(piece)
            self.digest.update(piece)
            if len(self.start) < 4_096:
                self.start += piece
            self.end = (self.end + piece)[-4_096:]
            if left <= 0:
                break
            piece = connection.sock.recv(min(left, 1 << 20))
            assert piece, "the client closed within the content"
        assert left == 0

    def parts(self) -> list:
        """Parses a form that is short."""
        assert self.length < 4_096
        field = re.search(r"(?im)^content-type: .*$", self.head)[0].strip()
        return (
            BytesParser()
            .parsebytes(field.encode() + b"\r\n\r\n" + self.start)
            .get_payload()
        )


@pytest.fixture
def serving():
    """Starts a server whose answers stand in a list, one a request; gives it
    and what it takes."""
    started = []

    def start(*answers: bytes) -> tuple[RawServer, list[Taken]]:
        taken: list[Taken] = []

        def handle(connection: Connection) -> None:
            while True:
                taken.append(Taken(connection))
                answer = answers[len(taken) - 1]
                if not answer:
                    return
                connection.send(answer)

        started.append(RawServer(handle))
        return started[-1], taken

    yield start
    for server in started:
        server.close()


def test_a_large_file_goes_through_little_memory(fetcher, serving, tmp_path):
    path = tmp_path / "film.bin"
    with path.open("wb") as file:
        file.truncate(LENGTH)
    server, taken = serving(OK, OK)
    fetcher.client()
    small = tmp_path / "small"
    small.write_bytes(b"x")
    # Buffers and what the library loads are there before the measurement.
    fetcher.get(server.url, method="POST", paths={"f": str(small)})
    before = fetcher.memory_kib()
    answer = fetcher.get(server.url, method="POST", paths={"film": str(path)})
    assert answer.get("status") == 200, answer
    assert fetcher.memory_kib() - before < MEMORY_KIB_MAX
    boundary = re.search(r"boundary=(\S+)", taken[1].head)[1].encode()
    assert b'name="film"; filename="film.bin"\r\n' in taken[1].start
    start = taken[1].start.index(b"Content-Type: text/plain\r\n\r\n") + 28
    end = (
        b"\r\n--" + boundary + b"\r\n"
        b'Content-Disposition: form-data; name="end"\r\n\r\nlast'
        b"\r\n--" + boundary + b"--\r\n"
    )
    assert taken[1].end.endswith(end)
    assert taken[1].length == start + LENGTH + len(end)
    digest = hashlib.sha256(taken[1].start[:start])
    zeros = bytes(1 << 20)
    for _ in range(LENGTH >> 20):
        digest.update(zeros)
    digest.update(end)
    assert taken[1].digest.digest() == digest.digest()


def test_files_and_fields_keep_their_order(fetcher, serving, tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "b").write_bytes(b"--\r\n")
    server, taken = serving(OK)
    fetcher.client()
    paths = {"one": str(tmp_path / "empty"), "two": str(tmp_path / "b")}
    assert fetcher.get(server.url, method="PUT", paths=paths)["status"] == 200
    parts = taken[0].parts()
    assert [part.get_payload() for part in parts] == [
        "by path", "", "--\r\n", "last",
    ]
    assert [part.get_filename() for part in parts] == [
        None, "empty", "b", None,
    ]


def test_a_redirection_gets_the_files_again(fetcher, serving, tmp_path):
    # RFC 9110 section 15.4.8: 307 keeps method and content.
    (tmp_path / "a").write_bytes(b"again")
    server, taken = serving(
        b"HTTP/1.1 307 x\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n", OK
    )
    fetcher.client()
    paths = {"f": str(tmp_path / "a")}
    answer = fetcher.get(server.url, method="POST", paths=paths)
    assert (answer["status"], answer["redirects"]) == (200, 1)
    assert taken[0].digest.digest() == taken[1].digest.digest()
    assert taken[1].parts()[1].get_payload() == "again"


def test_a_repetition_gets_the_files_again(fetcher, serving, tmp_path):
    # RFC 9110 section 9.2.2: PUT may be sent twice; POST may not.
    (tmp_path / "a").write_bytes(b"again")
    server, taken = serving(b"", OK, b"")
    fetcher.client(max_retries=1)
    paths = {"f": str(tmp_path / "a")}
    assert fetcher.get(server.url, method="PUT", paths=paths)["status"] == 200
    assert taken[0].digest.digest() == taken[1].digest.digest()
    answer = fetcher.get(server.url, method="POST", paths=paths)
    assert answer["kind"] == "NoResponse" and len(taken) == 3


@pytest.mark.parametrize("max_parallel", [1, 3])
def test_many_forms_at_once(fetcher, serving, tmp_path, max_parallel):
    import json

    (tmp_path / "a").write_bytes(b"y" * 200_000)
    server, taken = serving(OK, OK, OK)
    fetcher.client()
    form = json.dumps(
        {"url": server.url, "method": "POST", "paths": {"f": str(tmp_path / "a")}}
    )
    answer = fetcher.ask(do="all", requests=[form] * 3, parallel=max_parallel)
    assert [result["status"] for result in answer["results"]] == [200] * 3
    assert len({one.length for one in taken}) == 1 and len(taken) == 3
