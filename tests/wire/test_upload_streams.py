"""Forms with files, taken while they arrive."""

import os
from pathlib import Path

import pytest
from conftest import Client, wait_until
from processes import memory_len

BOUNDARY = b"wire"
TYPE = "Content-Type: multipart/form-data; boundary=wire"
END = b"--wire--\r\n"


@pytest.fixture
def server(start):
    return start("workers_server", workers=1, handler_threads=4)


def part(name: str, value: bytes, filename: str | None = None) -> bytes:
    file = "" if filename is None else f'; filename="{filename}"'
    head = f'--wire\r\nContent-Disposition: form-data; name="{name}"{file}\r\n'
    return head.encode() + b"\r\n" + value + b"\r\n"


def head(target: str, length: int) -> bytes:
    return (
        f"POST {target} HTTP/1.1\r\nHost: test\r\n{TYPE}\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def post(client: Client, target: str, body: bytes) -> tuple[int, bytes]:
    client.send(head(target, len(body)) + body)
    response = client.response()
    return response.status, response.body


def open_files(server) -> list[str]:
    """Temporary files that the server has open; they have no names."""
    folder = Path(f"/proc/{server.process.pid}/fd")
    targets = []
    for number in folder.iterdir():
        try:
            targets.append(os.readlink(number))
        except OSError:
            continue
    return [x for x in targets if x.endswith("(deleted)")]


def send_large(server, target: str, mebibytes: int) -> bytes:
    start = part("first", b"1") + part("large", b"", "x")[:-2]
    end = b"\r\n" + part("last", b"3") + END
    piece = bytes(range(256)) * 4096
    with Client(server, 60) as client:
        length = len(start) + mebibytes * len(piece) + len(end)
        client.send(head(target, length) + start)
        for _ in range(mebibytes):
            client.send(piece)
        client.send(end)
        return client.response().body


def test_gibibyte_part_by_part_takes_little_memory(server):
    assert send_large(server, "/parts", 1024) == (
        b"first 1\nlarge %d\nlast 1\n" % (1 << 30)
    )
    peak = memory_len(server.process.pid, "VmHWM")
    print(f"1 GiB read part by part: peak {peak} bytes")
    assert peak < 64 * 1024 * 1024


@pytest.mark.parametrize(
    "mebibytes", [100, pytest.param(1024, marks=pytest.mark.nightly)]
)
def test_large_form_is_kept_in_a_file(server, mebibytes):
    assert send_large(server, "/form", mebibytes) == (
        b"first 1 memory\nlarge %d file\nlast 1 memory\n" % (mebibytes << 20)
    )
    assert memory_len(server.process.pid, "VmHWM") < 64 * 1024 * 1024
    assert open_files(server) == []


def test_aborted_upload_leaves_no_file(server):
    client = Client(server)
    start = part("large", b"", "x")[:-2]
    client.send(head("/form", 1 << 30) + start + bytes(4 << 20))
    assert wait_until(lambda: len(open_files(server)) == 1)
    client.sock.close()
    assert wait_until(lambda: open_files(server) == [])


def test_part_is_read_before_the_next_one_comes(server):
    first = part("first", b"one")
    rest = part("second", b"two", "x") + END
    with Client(server) as client:
        client.send(head("/parts", len(first) + len(rest)) + first)
        client.send(rest[:10])
        assert wait_until(lambda: "part first 3" in server.stderr())
        assert "second" not in server.stderr()
        client.send(rest[10:])
        assert client.response().body == b"first 3\nsecond 3\n"


def test_endpoint_takes_a_form_while_it_arrives(server):
    title, image = part("title", b"Sea"), part("image", bytes(9 << 20), "x")
    with Client(server) as client:
        assert post(client, "/photo", title + image + END) == (
            200,
            b"Sea %d" % (9 << 20),
        )
        status, problem = post(client, "/photo", title + END)
        assert status == 422 and b'"name":"image"' in problem
        status, problem = post(client, "/photo", image + END)
        assert status == 422 and b'"name":"title"' in problem
        status, problem = post(client, "/photo", title + b"junk" + image)
        assert status == 400
    # Half of it, and then the wrong end.
    broken = title + image + b"--wire"
    with Client(server) as client:
        status, problem = post(client, "/photo", broken)
        assert status == 400 and b'"in":"body"' in problem


def test_form_over_the_limit(server):
    with Client(server) as client:
        client.send(head("/photo", 17 << 20))
        assert client.response().status == 413
        assert client.is_closed()
