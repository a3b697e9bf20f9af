"""Hooks that see each attempt, and what a response tells of its way."""

import pytest
from client_asker import KINDS, Script, meet
from raw_http2 import Http2Peer, speaking
from raw_server import Connection, RawServer, answering
from test_client_hostile import sized

TO = "HTTP/1.1 {} X\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n"


def lines(head: str, start: str = "X-") -> list[str]:
    return sorted(line for line in head.split("\r\n") if line.startswith(start))


@pytest.mark.parametrize("by", KINDS)
def test_hooks_see_each_attempt_and_add_fields(asker, by):
    """Redirected, repeated, and at last answered: each attempt has fields of its
    own alone."""
    heads: list[str] = []

    def answer(head: str, _: bytes) -> bytes:
        heads.append(head)
        if len(heads) == 1:
            return TO.format(302, "/there").encode()
        if len(heads) == 2:
            return b"HTTP/1.1 503 X\r\nContent-Length: 4\r\n\r\nbusy"
        return sized(b"done")

    server = RawServer(answering(answer))
    meet(asker, policy={}, hook=1)
    got = asker.get(server.url + "/a?b", by=by, hook=1, headers={"A": "b"})
    server.close()
    assert got["status"] == 200, got
    assert got["log"] == [
        "Client 1 GET /a?b 0 1", "Own 1 GET /a?b 0 3",
        "Client 1 302 0", "Own 1 302 0",
        "Client 2 GET /there 0 1", "Own 2 GET /there 0 3",
        "Client 2 503 4", "Own 2 503 4",
        "Client 3 GET /there 0 1", "Own 3 GET /there 0 3",
        "Client 3 200 4", "Own 3 200 4",
    ]  # fmt: skip
    for number, head in enumerate(heads, 1):
        assert lines(head) == [
            f"X-Client: {number}", f"X-Own: {number}", "X-Plain: GET",
        ]  # fmt: skip
        assert "A: b" in head.split("\r\n")
    assert got["history"] == [f"302 GET {server.url}/a?b"]


def test_hooks_over_http2(asker):
    seen: list[bytes] = []

    def handle(peer: Http2Peer) -> None:
        while True:
            stream = peer.request()
            seen.append(peer.seen[-1].payload)
            if len(seen) == 1:
                peer.head(stream, status=503, ends=True)
            else:
                peer.answer(stream)

    server = RawServer(speaking(handle))
    meet(asker, True, {}, hook=1)
    got = asker.get(server.url + "/a")
    server.close()
    assert got["status"] == 200, got
    assert got["log"] == [
        "Client 1 GET /a 0 0", "Client 1 503 -",
        "Client 2 GET /a 0 0", "Client 2 200 -",
    ]  # fmt: skip
    assert len(seen) == 2


def test_hooks_see_the_content(asker):
    server = RawServer(answering(sized(b"done")))
    meet(asker, hook=1)
    got = asker.get(server.url, method="POST", octets="seven")
    # With the Content-Type of the content.
    assert got["log"][0] == "Client 1 POST / 5 1"
    # What comes from a source is not there.
    got = asker.get(server.url, method="POST", by="upload")
    assert got["log"][0] == "Client 1 POST / 0 0"
    server.close()


def test_the_content_is_sent_behind_the_hooks(asker):
    bodies: list[bytes] = []

    def answer(_: str, body: bytes) -> bytes:
        bodies.append(body)
        return sized(b"done")

    server = RawServer(answering(answer))
    meet(asker, hook=1)
    asker.get(server.url, method="POST", octets="seven", hook=1)
    server.close()
    assert bodies == [b"seven"]


@pytest.mark.parametrize("by", KINDS)
def test_a_hook_may_refuse(asker, by):
    script = Script(503, 200)
    server = script.serve(False)
    meet(asker, policy={}, hook=1)
    got = asker.get(server.url, by=by, hook=1, refused=2)
    server.close()
    assert (got["phase"], got["kind"]) == ("request", "HookFailed"), got
    assert "the key has expired; 2 attempts: RetryPolicy does not" in got["text"]
    assert script.count == 1
    # All are told, also those that were asked before.
    assert got["log"][-2:] == ["Client 2 HookFailed", "Own 2 HookFailed"]


def test_hooks_are_told_of_failures(asker):
    meet(asker, policy={"max_attempts": 2}, hook=1)
    got = asker.get("http://127.0.0.1:1/")
    assert got["log"] == [
        "Client 1 GET / 0 0", "Client 1 ConnectionRefused",
        "Client 2 GET / 0 0", "Client 2 ConnectionRefused",
    ]  # fmt: skip

    def cut(connection: Connection) -> None:
        connection.head()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nxx")

    # What fails behind the head is the request's error alone.
    server = RawServer(cut)
    got = asker.get(server.url)
    server.close()
    assert got["kind"] == "TruncatedResponse"
    assert got["log"] == ["Client 1 GET / 0 0", "Client 1 200 9"]


def test_a_connection_that_went_stale_is_an_attempt(asker):
    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(sized(b"one"))
        if connection.number == 1:
            connection.head()

    server = RawServer(handle)
    meet(asker, hook=1)
    assert asker.get(server.url)["body"] == "one"
    got = asker.get(server.url)
    server.close()
    assert got["body"] == "one"
    assert [line.split()[1] for line in got["log"]] == ["1", "1", "2", "2"]


@pytest.mark.parametrize("by", KINDS)
def test_history_tells_each_redirection(asker, by):
    def answer(head: str, _: bytes) -> bytes:
        path = head.split()[1]
        steps = {"/a": (301, "/b"), "/b": (307, "/c?d#e"), "/c?d": (303, "/end")}
        if path in steps:
            return TO.format(*steps[path]).encode()
        return sized(b"done")

    server = RawServer(answering(answer))
    meet(asker)
    got = asker.get(server.url.replace("//", "//user:word@") + "/a", by=by)
    assert "history" in got, got
    assert got["history"] == [
        f"301 GET {server.url}/a",
        f"307 GET {server.url}/b",
        f"303 GET {server.url}/c?d",
    ]
    assert asker.get(server.url + "/end", by=by)["history"] == []
    got = asker.get(server.url + "/c?d", method="POST", octets="x", by=by)
    assert got["history"] == [f"303 POST {server.url}/c?d"]
    server.close()


def test_history_has_a_bound(asker):
    def answer(head: str, _: bytes) -> bytes:
        number = int(head.split()[1][1:])
        if number == 40:
            return sized(b"done")
        return TO.format(302, f"/{number + 1}").encode()

    server = RawServer(answering(answer))
    meet(asker, max_redirects=50)
    got = asker.get(server.url + "/0")
    server.close()
    assert got["body"] == "done"
    assert len(got["history"]) == 32
    assert got["history"][-1] == f"302 GET {server.url}/31"
