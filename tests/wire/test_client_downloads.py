"""Downloads to a file that go on where an earlier one has stopped (RFC 9110
sections 13.1.5, 14 and 15.3.7), against servers that do it right and wrong."""

import gzip
import os
import re
import socket
import subprocess
import time

import pytest
from raw_server import Connection, RawServer
from test_client_open import program, reader

__all__ = ["program", "reader"]
CONTENT = bytes(range(256)) * 4_000
TAG = '"v1"'


class Files:
    """A server of one representation, whose connections may break."""

    def __init__(self, content: bytes = CONTENT, **habits) -> None:
        self.content, self.tag = content, TAG
        self.breaks_at = habits.get("breaks_at", [])
        self.habits = habits
        self.ranges: list[str] = []
        self.conditions: list[str] = []
        self.server = RawServer(self.handle)
        self.url = self.server.url + "/f"

    def handle(self, connection: Connection) -> None:
        while head := connection.head():
            self.answer(connection, head)

    def answer(self, connection: Connection, head: str) -> None:
        asked = field(head, "range")
        self.ranges.append(asked)
        self.conditions.append(field(head, "if-range"))
        assert field(head, "accept-encoding") == "identity"
        start, applies = 0, self.conditions[-1] == self.tag
        if asked and applies and not self.habits.get("ignores_ranges"):
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
        size = len(self.content)
        if start >= size:
            connection.send(
                b"HTTP/1.1 416 No\r\nContent-Length: 0\r\n"
                b"Content-Range: bytes */%d\r\n\r\n" % size
            )
            return
        fields = self.habits.get("fields", f"ETag: {self.tag}\r\n")
        line = "200 OK"
        if start or (asked and applies and not self.habits.get("ignores_ranges")):
            line = "206 Partial Content"
            begin = start + self.habits.get("off_by", 0)
            fields += f"Content-Range: bytes {begin}-{size - 1}/{size}\r\n"
        rest = self.content[start:]
        length = f"Content-Length: {len(rest)}\r\n\r\n"
        if start and (more := self.habits.get("more")):
            rest += more
            length = f"Content-Length: {len(rest)}\r\n\r\n"
            if self.habits["frame"] == "chunked":
                length = "Transfer-Encoding: chunked\r\n\r\n"
                rest = b"%x\r\n%s\r\n0\r\n\r\n" % (len(rest), rest)
        connection.send(f"HTTP/1.1 {line}\r\n{fields}{length}".encode())
        if self.breaks_at:
            connection.send(rest[: self.breaks_at.pop(0)])
            raise EOFError
        connection.send(rest)

    def close(self) -> None:
        self.server.close()


def field(head: str, name: str) -> str:
    for line in head.split("\r\n")[1:]:
        if line.lower().startswith(name + ":"):
            return line.split(":", 1)[1].strip()
    return ""


def download(reader, files, path, **more) -> dict:
    return reader.ask(do="download", url=files.url, path=str(path), **more)


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def field_of_part(path, line: int) -> str:
    """Reads a line of what is known of a part."""
    info = path.with_name(path.name + ".part.info")
    return info.read_text().split("\n")[line]


def test_a_download(reader, tmp_path):
    files = Files()
    path = tmp_path / "file"
    path.write_bytes(b"older")
    got = download(reader, files, path, syncs=1)
    assert path.read_bytes() == CONTENT
    assert names(tmp_path) == ["file"]
    assert (got["size"], got["resumed_from"], got["requests"]) == (len(CONTENT), 0, 1)
    assert got["done"] == got["total"] == len(CONTENT)
    assert got["calls"] >= len(CONTENT) // 65_536
    files.close()


@pytest.mark.parametrize("h2c", [0, 1])
@pytest.mark.parametrize("way", ["send", "upload", "download"])
def test_who_is_told_knows_the_totals(reader, probe, way, h2c):
    """Content both ways: the probe server sends back what it gets."""
    reader.client(h2c=h2c)
    length = 1 << 20
    content = {"length": length} if way == "upload" else {"octets": "x" * length}
    got = reader.ask(
        do="transfer", way=way, method="POST", announced=length,
        url=f"http://127.0.0.1:{probe.port}/upload", **content,
    )
    assert (got["sent"], got["to_send"]) == (length, length), got
    assert (got["done"], got["total"]) == (length, length)
    assert got["calls"] >= 4


def test_a_total_that_nobody_has_said(reader, probe):
    got = reader.ask(
        do="transfer", way="upload", method="POST", length=200_000,
        url=f"http://127.0.0.1:{probe.port}/upload",
    )
    assert (got["sent"], got["to_send"]) == (200_000, -1), got


def test_who_is_told_stops_a_transfer(reader, probe):
    url = f"http://127.0.0.1:{probe.port}/upload"
    got = reader.ask(
        do="transfer", way="upload", method="POST", length=1 << 30, url=url,
        stop_at=1 << 20,
    )
    assert "SourceFailed: stopped at" in got["error"]


def test_nothing_to_download(reader, tmp_path):
    files = Files(b"")
    # No octets: 416 would be for a range of it.
    files.handle = lambda connection: (
        connection.head(),
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    )
    files.server.handle = files.handle
    got = download(reader, files, tmp_path / "file")
    assert (got["size"], names(tmp_path)) == (0, ["file"])
    files.close()


def test_a_broken_download_goes_on_at_once(reader, tmp_path):
    files = Files(breaks_at=[300_000, 100_000, 200_000])
    got = download(reader, files, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert (got["requests"], got["resumed_from"]) == (4, 0)
    assert files.ranges == ["", "bytes=300000-", "bytes=400000-", "bytes=600000-"]
    assert files.conditions == ["", TAG, TAG, TAG]
    assert names(tmp_path) == ["file"]
    files.close()


def test_the_next_call_goes_on(reader, tmp_path):
    files = Files(breaks_at=[300_000])
    path = tmp_path / "file"
    got = download(reader, files, path, max_attempts=1)
    assert "TruncatedResponse" in got["error"]
    assert names(tmp_path) == ["file.part", "file.part.info"]
    got = download(reader, files, path)
    assert path.read_bytes() == CONTENT
    assert (got["resumed_from"], got["done"]) == (300_000, len(CONTENT))
    assert files.ranges[1:] == ["bytes=300000-"]
    assert names(tmp_path) == ["file"]
    files.close()


def test_content_that_has_changed_begins_anew(reader, tmp_path):
    files = Files(breaks_at=[300_000])
    path = tmp_path / "file"
    download(reader, files, path, max_attempts=1)
    files.content, files.tag = CONTENT[::-1], '"v2"'
    got = download(reader, files, path)
    assert path.read_bytes() == CONTENT[::-1]
    assert (got["resumed_from"], got["requests"]) == (0, 1)
    files.close()


def test_a_server_that_ignores_ranges(reader, tmp_path):
    files = Files(breaks_at=[300_000], ignores_ranges=True)
    got = download(reader, files, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert (got["requests"], got["resumed_from"]) == (2, 0)
    files.close()


def test_a_server_that_sends_another_range(reader, tmp_path):
    """What curl and wget append all the same."""
    files = Files(breaks_at=[300_000], off_by=1)
    got = download(reader, files, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert files.ranges == ["", "bytes=300000-", ""]
    assert got["resumed_from"] == 0
    files.close()


@pytest.mark.parametrize("frame", ["Content-Length", "chunked"])
def test_more_than_the_range_is_no_part(reader, tmp_path, frame):
    """RFC 9110 sections 14.4 and 15.3.7: the content is what Content-Range says,
    or nobody knows what it is."""
    files = Files(breaks_at=[300_000], more=b"extra", frame=frame)
    got = download(reader, files, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert files.ranges == ["", "bytes=300000-", ""]
    assert got["resumed_from"] == 0
    files.close()


def test_a_part_of_what_has_no_known_length(reader, tmp_path):
    """RFC 9110 section 14.4: `*` says nothing of what is behind the part. What the
    first response has announced is not known either, without Content-Length."""

    def handle(connection: Connection) -> None:
        while head := connection.head():
            asked = field(head, "range")
            seen.append(asked)
            start = int(asked[6:-1] or 0)
            if start >= 300:
                connection.send(
                    b"HTTP/1.1 416 No\r\nContent-Length: 0\r\n"
                    b"Content-Range: bytes */300\r\n\r\n"
                )
                continue
            end = start + 100
            head = f"206 P\r\nContent-Range: bytes {start}-{end - 1}/*\r\n"
            if start == 0:
                head = "200 OK\r\n"
            connection.send(
                f"HTTP/1.1 {head}ETag: {TAG}\r\nTransfer-Encoding: chunked\r\n\r\n"
                "64\r\n".encode() + CONTENT[start:end] + b"\r\n"
            )
            if start == 0:
                raise EOFError
            connection.send(b"0\r\n\r\n")

    seen: list[str] = []
    server = RawServer(handle)
    got = reader.ask(
        do="download", url=server.url, path=str(tmp_path / "file"), max_attempts=9
    )
    assert (tmp_path / "file").read_bytes() == CONTENT[:300], got
    assert seen == ["", "bytes=100-", "bytes=200-", "bytes=300-"]
    server.close()


def test_another_tag_in_a_part_is_not_believed(reader, tmp_path):
    """A server that does not know If-Range, and sends a part of what is new."""
    files = Files(breaks_at=[300_000])
    path = tmp_path / "file"
    download(reader, files, path, max_attempts=1)
    files.content = CONTENT[::-1]
    files.habits["fields"] = 'ETag: "v2"\r\n'
    download(reader, files, path)
    assert path.read_bytes() == CONTENT[::-1]
    assert files.ranges[1:] == ["bytes=300000-", ""]
    files.close()


@pytest.mark.parametrize(
    "fields",
    [
        "",
        'ETag: W/"v1"\r\n',
        f"ETag: {TAG}\r\nAccept-Ranges: none\r\n",
        "Last-Modified: Sun, 22 Nov 2026 10:00:00 GMT\r\n",
        "Last-Modified: Sun, 22 Nov 2026 10:00:00 GMT\r\n"
        "Date: Sun, 22 Nov 2026 10:00:00 GMT\r\n",
    ],
)
def test_without_a_strong_validator_nothing_is_kept(reader, tmp_path, fields):
    """RFC 9110 section 13.1.5: neither a weak tag nor a date of that second."""
    files = Files(breaks_at=[300_000], fields=fields)
    got = download(reader, files, tmp_path / "file", max_attempts=1)
    assert "error" in got
    assert names(tmp_path) == []
    files.close()


def test_a_date_that_is_old_enough_is_a_validator(reader, tmp_path):
    date = "Sun, 22 Nov 2026 10:00:00 GMT"
    fields = f"Last-Modified: {date}\r\nDate: Sun, 22 Nov 2026 10:00:01 GMT\r\n"
    files = Files(breaks_at=[300_000], fields=fields)
    files.tag = date
    download(reader, files, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert files.conditions == ["", date]
    files.close()


def test_all_was_there_but_its_name(reader, tmp_path):
    files = Files(breaks_at=[300_000])
    path = tmp_path / "file"
    download(reader, files, path, max_attempts=1)
    (tmp_path / "file.part").write_bytes(CONTENT)
    got = download(reader, files, path)
    assert path.read_bytes() == CONTENT
    assert (got["requests"], got["resumed_from"]) == (1, len(CONTENT))
    files.close()


def test_a_part_of_another_url_is_not_gone_on_with(reader, tmp_path):
    files = Files(breaks_at=[300_000])
    path = tmp_path / "file"
    download(reader, files, path, max_attempts=1)
    files.url += "?other"
    got = download(reader, files, path)
    assert (files.ranges[1:], got["resumed_from"]) == ([""], 0)
    assert path.read_bytes() == CONTENT
    files.close()


@pytest.mark.parametrize("info", [b"", b"x" * 100_000, b"flare download 1\n\n\n\n"])
def test_a_part_that_nobody_knows_begins_anew(reader, tmp_path, info):
    files = Files()
    (tmp_path / "file.part").write_bytes(b"something")
    (tmp_path / "file.part.info").write_bytes(info)
    download(reader, files, tmp_path / "file")
    assert files.ranges == [""]
    assert (tmp_path / "file").read_bytes() == CONTENT
    files.close()


def test_without_resuming_nothing_is_kept(reader, tmp_path):
    files = Files(breaks_at=[300_000])
    got = download(reader, files, tmp_path / "file", resumes=0, max_attempts=1)
    assert "error" in got
    assert names(tmp_path) == []
    files.close()


def test_a_file_that_is_there_may_stay(reader, tmp_path):
    files = Files()
    path = tmp_path / "file"
    path.write_bytes(b"mine")
    got = download(reader, files, path, replaces=0)
    assert "is there already" in got["error"]
    assert (path.read_bytes(), files.ranges) == (b"mine", [])
    path.unlink()
    assert download(reader, files, path, replaces=0)["size"] == len(CONTENT)
    assert names(tmp_path) == ["file"]
    files.close()


def folder(path) -> None:
    path.mkdir()
    (path / "kept").write_bytes(b"mine")


def unix_socket(path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))


def device_link(path) -> None:
    path.symlink_to("/dev/null")


def folder_link(path) -> None:
    folder(path.with_name("there"))
    path.symlink_to("there")


@pytest.mark.parametrize(
    "make, found",
    [
        (folder, "is a folder, and only a file is replaced; name a file in it"),
        (os.mkfifo, "is a pipe, and only a file is replaced"),
        (unix_socket, "is a socket, and only a file is replaced"),
        (device_link, "is a symbolic link to a device, and only a file is replaced"),
        (folder_link, "is a symbolic link to a folder, and only a file is replaced"),
    ],
)
@pytest.mark.parametrize("replaces", [0, 1])
def test_what_is_no_file_is_not_replaced(reader, tmp_path, make, found, replaces):
    """It stays as it is, and nothing is asked for."""
    files = Files()
    path = tmp_path / "at"
    make(path)
    before, kind = names(tmp_path), path.lstat().st_mode
    got = download(reader, files, path, replaces=replaces)
    assert f"at {found}" in got["error"], got
    assert (names(tmp_path), path.lstat().st_mode) == (before, kind)
    assert files.ranges == []
    files.close()


def test_what_is_written_to_is_a_file(reader, tmp_path):
    files = Files()
    os.mkfifo(tmp_path / "file.part")
    got = download(reader, files, tmp_path / "file")
    assert "file.part, which what comes is written to, is a pipe" in got["error"]
    assert (names(tmp_path), files.ranges) == (["file.part"], [])
    got = download(reader, files, str(tmp_path) + "/")
    assert "is a folder" in got["error"], got
    got = download(reader, files, str(tmp_path / "new") + "/")
    assert "names no file" in got["error"], got
    files.close()


@pytest.mark.parametrize("leads", ["to a file", "nowhere"])
def test_a_symbolic_link_gives_way_itself(reader, tmp_path, leads):
    files = Files()
    (tmp_path / "other").mkdir()
    target = tmp_path / "other" / "file"
    if leads == "to a file":
        target.write_bytes(b"mine")
    path = tmp_path / "link"
    path.symlink_to(target)
    got = download(reader, files, path, replaces=0)
    assert "is there already" in got["error"], got
    assert download(reader, files, path)["size"] == len(CONTENT)
    assert not path.is_symlink() and path.read_bytes() == CONTENT
    # Where it led to is as it was.
    assert names(tmp_path / "other") == (["file"] if leads == "to a file" else [])
    assert leads == "nowhere" or target.read_bytes() == b"mine"
    files.close()


@pytest.mark.parametrize("status, asked", [(404, 1), (503, 3)])
def test_no_content(reader, tmp_path, status, asked):
    files = Files()
    seen = []

    def handle(connection: Connection) -> None:
        while connection.head():
            seen.append(1)
            connection.send(b"HTTP/1.1 %d No\r\nContent-Length: 2\r\n\r\nno" % status)

    files.server.handle = handle
    got = download(reader, files, tmp_path / "file", max_attempts=3)
    assert f"{status} No" in got["error"] and "UnexpectedResponse" in got["error"]
    assert (len(seen), names(tmp_path)) == (asked, [])
    files.close()


def test_a_listener_can_stop_it(reader, tmp_path):
    files = Files()
    got = download(reader, files, tmp_path / "file", stop_at=200_000)
    assert "SinkFailed" in got["error"] and "stopped at" in got["error"]
    assert names(tmp_path) == ["file.part", "file.part.info"]
    files.close()


def test_content_that_is_coded_all_the_same(reader, tmp_path):
    """What is written is decoded, and no part of it can be asked for."""
    files = Files(gzip.compress(CONTENT), fields=f"ETag: {TAG}\r\nContent-Encoding: gzip\r\n")
    got = download(reader, files, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert got["done"] == len(files.content)
    files.close()


def test_one_writer_at_a_time(reader, tmp_path):
    files = Files(breaks_at=[300_000])
    path = tmp_path / "file"
    download(reader, files, path, max_attempts=1)
    holder = subprocess.Popen(
        ["flock", str(tmp_path / "file.part"), "-c", "echo held; read x"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )
    assert holder.stdout.readline() == b"held\n"
    got = download(reader, files, path)
    holder.communicate(b"\n", timeout=10)
    assert "is being written by another download" in got["error"]
    assert (tmp_path / "file.part").stat().st_size == 300_000
    assert download(reader, files, path)["resumed_from"] == 300_000
    files.close()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if subprocess.run(words, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("only root may mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_says_so(reader, small_disk):
    files = Files()
    got = download(reader, files, small_disk / "file")
    part = small_disk / "file.part"
    kept = part.stat().st_size
    assert f"cannot write {part}: write: no space left on the device" in got["error"]
    assert f"{kept} bytes are kept" in got["error"]
    assert part.read_bytes() == CONTENT[:kept]
    # With room, the same call goes on.
    words = ["mount", "-o", "remount,size=4m", str(small_disk)]
    subprocess.run(words, check=True)
    assert download(reader, files, small_disk / "file")["resumed_from"] == kept
    assert (small_disk / "file").read_bytes() == CONTENT
    files.close()


@pytest.mark.parametrize("after, asked", [("1", 2), ("31", 1)])
def test_a_busy_server_says_when_to_come_back(reader, tmp_path, after, asked):
    """RFC 9110 section 10.2.3. Who asks for more than half a minute is not waited
    for."""
    files, times = Files(), []

    def handle(connection: Connection) -> None:
        while head := connection.head():
            times.append(time.monotonic())
            if len(times) > 1:
                return files.answer(connection, head)
            connection.send(
                b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n"
                b"Retry-After: %s\r\n\r\n" % after.encode()
            )

    files.server.handle = handle
    got = download(reader, files, tmp_path / "file")
    files.close()
    assert len(times) == asked, got
    if asked == 1:
        assert "503 Busy" in got["error"]
    else:
        assert (tmp_path / "file").read_bytes() == CONTENT
        assert times[1] - times[0] >= 1
