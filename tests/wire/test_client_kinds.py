"""What the three kinds of clients have in common: one of a thread, one that threads
share, and one that keeps responses send, read and listen in the same way."""

import pytest
from conftest import running_client
from raw_server import Connection, RawServer, answering
from test_client_downloads import CONTENT, TAG, Files, download, names
from test_client_events import STREAM, assert_comes_back
from test_client_open import CHUNKED, Scripted, chunk, on, opened, sized

KINDS = ["own", "shared", "cached"]


@pytest.fixture(scope="module", params=KINDS)
def program(request):
    yield from running_client("reader", request.param)


@pytest.fixture
def reader(program):
    """The client under test, new for each test."""
    program.client()
    return program


def test_content_is_read_as_it_comes(reader):
    server = Scripted(CHUNKED + chunk(b"one\n"), chunk(b"two\n"), b"0\r\n\r\n")
    server.go()
    answer = opened(reader, server.url)
    assert on(reader, "line", answer)["text"] == "one"
    server.go()
    assert on(reader, "line", answer)["text"] == "two"
    server.go()
    end = on(reader, "line", answer)
    assert end["is_end"] and end["is_complete"]
    # The connection goes on to the next request.
    assert end["idle"] == 1
    server.close()


def test_what_is_let_go_closes_its_connection(reader):
    server = Scripted(CHUNKED + chunk(b"one\n"))
    server.go()
    answer = opened(reader, server.url)
    on(reader, "line", answer)
    assert on(reader, "close", answer)["idle"] == 0
    assert server.gone.wait(20)
    server.close()


def test_content_goes_out_while_it_comes_in(reader, probe):
    answer = opened(
        reader, f"http://127.0.0.1:{probe.port}/upload", method="POST", length=1 << 20
    )
    assert on(reader, "all", answer, limit=1 << 21)["count"] == 1 << 20


def test_silence_has_a_bound(reader):
    server = Scripted(CHUNKED + chunk(b"one\n"), chunk(b"two\n"))
    server.go()
    answer = opened(reader, server.url, idle_timeout_ms=200)
    on(reader, "line", answer)
    assert "idle_timeout_ms allows more" in on(reader, "line", answer)["error"]
    server.close()


def test_events_come_back(reader):
    assert_comes_back(reader, STREAM + b"retry: 20\nid: 1\ndata: a\n\n")


def test_a_broken_download_goes_on(reader, tmp_path):
    files = Files(breaks_at=[300_000, 100_000])
    got = download(reader, files, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert got["requests"] == 3 and files.conditions == ["", TAG, TAG]
    assert got["done"] == got["total"] == len(CONTENT)
    assert names(tmp_path) == ["file"]
    files.close()


@pytest.mark.parametrize("way", ["send", "upload", "download"])
def test_who_is_told_knows_the_totals(reader, probe, way):
    length = 1 << 20
    content = {"length": length} if way == "upload" else {"octets": "x" * length}
    got = reader.ask(
        do="transfer", way=way, method="POST", announced=length,
        url=f"http://127.0.0.1:{probe.port}/upload", **content,
    )
    assert (got["sent"], got["to_send"]) == (length, length), got
    assert (got["done"], got["total"]) == (length, length)


class Kept:
    """A server whose responses may be kept, and that counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.server = RawServer(self.handle)
        self.url = self.server.url + "/item"

    def handle(self, connection: Connection) -> None:
        while head := connection.head():
            connection.body(head)
            self.asked.append(head.split()[0])
            count = b"%d" % len(self.asked)
            connection.send(sized(count, b"Cache-Control: max-age=60\r\n"))


WAYS = {
    "an open request": {"do": "open", "method": "DELETE"},
    "an open upload": {"do": "open", "method": "PUT", "length": 10},
    "an upload": {"do": "transfer", "way": "upload", "method": "PUT", "length": 10},
    "a download": {"do": "transfer", "way": "download", "method": "POST", "octets": "x"},
    "one with progress": {"do": "transfer", "way": "send", "method": "POST", "octets": "x"},
}


@pytest.mark.parametrize("way", WAYS)
def test_what_may_have_changed_is_asked_for_again(way):
    """RFC 9111 section 4.4, whichever method of the client has sent it."""
    server = Kept()
    for reader in running_client("reader", "cached"):
        reader.client()
        texts = [reader.ask(do="send", url=server.url)["body"] for _ in range(2)]
        assert texts == ["1", "1"]
        reader.ask(url=server.url, **WAYS[way])
        assert reader.ask(do="send", url=server.url)["body"] == "3"
        assert server.asked == ["GET", WAYS[way]["method"], "GET"]
    server.server.close()


def test_what_is_opened_is_not_kept():
    """It goes by the cache, and changes nothing there."""
    server = Kept()
    for reader in running_client("reader", "cached"):
        reader.client()
        first = opened(reader, server.url)
        assert on(reader, "all", first)["text"] == "1"
        assert reader.ask(do="send", url=server.url)["body"] == "2"
        second = opened(reader, server.url)
        assert on(reader, "all", second)["text"] == "3"
        assert reader.ask(do="send", url=server.url)["body"] == "2"
    server.server.close()


def test_a_refused_change_keeps_what_is_kept():
    """RFC 9111 section 4.4: only a response that is no error says so."""
    counts = iter(range(1, 10))

    def answer(head: str, body: bytes) -> bytes:
        if head.startswith("GET"):
            return sized(b"%d" % next(counts), b"Cache-Control: max-age=60\r\n")
        return b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"

    server = RawServer(answering(answer))
    url = server.url + "/item"
    for reader in running_client("reader", "cached"):
        reader.client()
        assert reader.ask(do="send", url=url)["body"] == "1"
        opened(reader, url, method="DELETE")
        assert reader.ask(do="send", url=url)["body"] == "1"
    server.close()
