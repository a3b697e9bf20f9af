"""Digest authentication: for servers and proxies, and when nothing is sent
twice."""

import hashlib
import re
import secrets

import pytest
from raw_server import Connection, RawServer, answering
from test_client_shared import sharer  # noqa: F401

USER, PASSWORD = "Mufasa", "Circle of Life"
PAIR = re.compile(r'(\w+\*?)=(?:"([^"]*)"|([^\s,]+))')


def fields_of(head: str, name: str) -> list[str]:
    lines = [line.split(":", 1) for line in head.split("\r\n")[1:] if ":" in line]
    return [value.strip() for field, value in lines if field.lower() == name]


class DigestServer:
    """Challenges, and judges answers by its own arithmetic."""

    def __init__(self, algorithm: str = "SHA-256", proxy: bool = False) -> None:
        self.algorithm, self.proxy = algorithm, proxy
        self.heads: list[str] = []
        self.verdicts: list[str] = []
        self.contents: list[bytes] = []
        self.seen: set[tuple[str, str]] = set()
        self.nonces = [secrets.token_hex(8)]
        self.next_nonce = ""
        self.answer = b""
        self.domain = ""
        self.closes = False
        # False to close without a word of it.
        self.says_so = True
        self.server = RawServer(self._serve)
        self.url, self.port = self.server.url, self.server.port

    def _hash(self, text: str) -> str:
        name = self.algorithm.removesuffix("-sess").lower().replace("-", "", 1)
        name = name.replace("-", "_")
        return hashlib.new(name, text.encode()).hexdigest()

    def judge(self, head: str) -> str:
        """Gives the empty text for a good answer, else what is wrong."""
        field = "proxy-authorization" if self.proxy else "authorization"
        values = fields_of(head, field)
        if not values:
            return "none"
        assert len(values) == 1 and values[0].startswith("Digest "), values
        said = {name: a or b for name, a, b in PAIR.findall(values[0][7:])}
        method, target, _ = head.split("\r\n")[0].split(" ")
        assert said["uri"] == target and said["algorithm"] == self.algorithm
        if said["nonce"] not in self.nonces:
            return "stale"
        secret = self._hash(f"{USER}:here:{PASSWORD}")
        if self.algorithm.endswith("-sess"):
            secret = self._hash(f"{secret}:{said['nonce']}:{said['cnonce']}")
        wanted = self._hash(
            f"{secret}:{said['nonce']}:{said['nc']}:{said['cnonce']}:auth:"
            + self._hash(f"{method}:{target}")
        )
        if said["response"] != wanted:
            return "wrong"
        count = (said["nonce"], said["nc"])
        verdict = "a nonce count twice" if count in self.seen else ""
        self.seen.add(count)
        return verdict

    def challenge(self, verdict: str) -> bytes:
        more = ", stale=true" if verdict == "stale" else ""
        more += f', domain="{self.domain}"' if self.domain else ""
        name = "Proxy-Authenticate" if self.proxy else "WWW-Authenticate"
        code = "407 Who" if self.proxy else "401 Who"
        closes = "Connection: close\r\n" if self.closes and self.says_so else ""
        return (
            f"HTTP/1.1 {code}\r\n{closes}{name}: Basic realm=here, Digest "
            f'realm="here", nonce="{self.nonces[-1]}", qop="auth,auth-int", '
            f'algorithm={self.algorithm}, opaque="a/b"{more}\r\n'
            "Content-Length: 4\r\n\r\nwho?"
        ).encode()

    def _serve(self, connection: Connection) -> None:
        while head := connection.head():
            self.heads.append(head)
            if "\r\nExpect:" in head and self.judge_early(head):
                self.verdicts.append("none")
                self.closes = True
                connection.send(self.challenge("none"))
                self.closes = False
                return
            content = connection.body(head)
            self.contents.append(content)
            verdict = self.judge(head)
            self.verdicts.append(verdict)
            if verdict:
                connection.send(self.challenge(verdict))
                if self.closes:
                    return
                continue
            if head.startswith("CONNECT "):
                connection.send(b"HTTP/1.1 200 OK\r\n\r\n")
                port = int(head.split(" ")[1].rsplit(":", 1)[1])
                connection.pass_on(port)
                return
            if self.answer:
                connection.send(self.answer)
                continue
            info = ""
            if self.next_nonce:
                self.nonces.append(self.next_nonce)
                info = f'Authentication-Info: nextnonce="{self.next_nonce}"\r\n'
                self.next_nonce = ""
            connection.send(
                f"HTTP/1.1 200 OK\r\n{info}Content-Length: 2\r\n\r\nok".encode()
            )

    def judge_early(self, head: str) -> bool:
        return not fields_of(head, "authorization")

    def close(self) -> None:
        self.server.close()


@pytest.fixture
def serve():
    servers = []

    def start(*arguments, **options) -> DigestServer:
        servers.append(DigestServer(*arguments, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def start_client(fetcher, **more) -> None:
    fetcher.client(digest_user=USER, password=PASSWORD, **more)


@pytest.mark.parametrize(
    "name", ["MD5", "SHA-256", "SHA-512-256", "MD5-sess", "SHA-512-256-sess"]
)
def test_one_repeat_and_then_none(fetcher, serve, name):
    """RFC 7616 section 3.4: the next requests go on with the nonce."""
    server = serve(name)
    start_client(fetcher)
    for path in ("/a?b=c", "/d", "/"):
        assert fetcher.get(server.url + path)["body"] == "ok"
    assert server.verdicts == ["none", "", "", ""]
    assert server.server.connection_count == 1


def test_content_is_sent_again(fetcher, serve):
    server = serve()
    start_client(fetcher)
    answer = fetcher.get(server.url + "/", method="POST", json='{"a": 1}')
    assert answer["status"] == 200, answer
    assert server.contents == [b'{"a": 1}'] * 2


def test_streamed_content_is_not(fetcher, serve):
    """What was read from a source is not there any more; the challenge is kept
    all the same."""
    server = serve()
    start_client(fetcher)
    answer = fetcher.ask(do="upload", url=server.url + "/", method="PUT", length=9)
    assert (answer["status"], answer["body"]) == (401, "who?"), answer
    answer = fetcher.ask(do="upload", url=server.url + "/", method="PUT", length=9)
    assert answer["status"] == 200, answer
    assert server.verdicts == ["none", ""]
    assert server.contents == [b"a" * 9] * 2


def test_streamed_content_that_waits(fetcher, serve):
    """RFC 9110 section 10.1.1: nothing was read, so it can be asked again."""
    server = serve()
    start_client(fetcher)
    answer = fetcher.ask(
        do="upload", url=server.url + "/", method="PUT", length=9, expect=1
    )
    assert answer["status"] == 200, answer
    assert server.contents == [b"a" * 9]


def test_stale_nonces(fetcher, serve):
    """RFC 7616 section 3.3."""
    server = serve()
    start_client(fetcher)
    assert fetcher.get(server.url + "/")["status"] == 200
    server.nonces = ["another"]
    assert fetcher.get(server.url + "/")["status"] == 200
    assert server.verdicts == ["none", "", "stale", ""]


def test_next_nonces(fetcher, serve):
    """RFC 7616 section 3.5."""
    server = serve()
    server.next_nonce = "following"
    start_client(fetcher)
    for _ in range(3):
        assert fetcher.get(server.url + "/")["status"] == 200
    assert server.verdicts == ["none", "", "", ""]
    assert 'nonce="following", nc=00000002' in server.heads[-1]


def test_wrong_passwords(fetcher, serve):
    server = serve()
    fetcher.client(digest_user=USER, password="no")
    answer = fetcher.get(server.url + "/")
    assert (answer["status"], answer["body"]) == (401, "who?")
    assert server.verdicts == ["none", "wrong"]
    # And no answer is sent unasked that was refused.
    assert fetcher.get(server.url + "/")["status"] == 401
    assert server.verdicts == ["none", "wrong", "none", "wrong"]


def test_a_server_that_is_never_content(fetcher):
    """Bounded, whatever it says of the nonce; and no count comes twice (RFC
    7616 section 3.4)."""
    challenge = (
        b"HTTP/1.1 401 Who\r\nContent-Length: 0\r\nWWW-Authenticate: Digest "
        b'realm="x", nonce="y", qop="auth", stale=true\r\n\r\n'
    )
    heads = []
    server = RawServer(answering(lambda head, _: heads.append(head) or challenge))
    start_client(fetcher)
    for _ in range(2):
        assert fetcher.get(server.url + "/")["status"] == 401
    server.close()
    counts = [re.findall("nc=([0-9a-f]+)", head) for head in heads]
    assert counts == [[], ["00000001"], ["00000002"]] + [
        [], ["00000003"], ["00000004"]
    ]


def test_other_origins_get_nothing(fetcher, serve):
    """RFC 9110 section 15.4: neither an answer nor a challenge's."""
    far = serve()
    near = RawServer(
        answering(
            b"HTTP/1.1 302 x\r\nContent-Length: 0\r\nLocation: %s/\r\n\r\n"
            % far.url.encode()
        )
    )
    start_client(fetcher)
    answer = fetcher.get(near.url + "/")
    near.close()
    assert answer["status"] == 401, answer
    assert far.verdicts == ["none"]


def test_basic_alone_is_not_answered(fetcher):
    """The password is not sent in its place."""
    heads = []
    refusal = (
        b"HTTP/1.1 401 Who\r\nContent-Length: 0\r\n"
        b"WWW-Authenticate: Basic realm=x\r\n\r\n"
    )
    server = RawServer(answering(lambda head, _: heads.append(head) or refusal))
    start_client(fetcher)
    assert fetcher.get(server.url + "/")["status"] == 401
    server.close()
    assert len(heads) == 1 and "uthorization" not in heads[0]


def test_proxies_that_take_requests(fetcher, serve):
    """Whatever URIs they name: `domain` means nothing there (RFC 7616 section
    3.3)."""
    proxy = serve(proxy=True)
    proxy.domain = "/elsewhere"
    fetcher.client(
        proxy=f"http://127.0.0.1:{proxy.port}",
        proxy_digest=USER,
        password=PASSWORD,
    )
    for _ in range(3):
        assert fetcher.get("http://a.test/x?y")["body"] == "ok"
    assert proxy.verdicts == ["none", "", "", ""]
    assert proxy.heads[0].startswith("GET http://a.test/x?y ")


def test_threads_share_a_nonce(sharer, serve):
    """RFC 7616 section 3.4: they count together."""
    server = serve()
    sharer.client(digest_user=USER, password=PASSWORD)
    assert sharer.run(server.url + "/", threads=1)[0]["ok"] == 1
    lines = sharer.run(server.url + "/", threads=8)
    assert [line["ok"] for line in lines] == [1] * 8
    assert server.verdicts == ["none"] + [""] * 9


@pytest.mark.parametrize(
    "closes, says_so", [(False, False), (True, True), (True, False)]
)
def test_tunnels(fetcher, serve, probe_tls, certs, closes, says_so):
    """A refused CONNECT is sent again on the same connection if the proxy keeps it
    (RFC 9112 section 9.3)."""
    proxy = serve(proxy=True)
    proxy.closes, proxy.says_so = closes, says_so
    fetcher.client(
        proxy=f"http://127.0.0.1:{proxy.port}",
        proxy_digest=USER,
        password=PASSWORD,
        ca_file=str(certs / "root.pem"),
    )
    for _ in range(2):
        answer = fetcher.get(f"https://localhost:{probe_tls.port}/")
        assert "status" in answer, answer
        fetcher.ask(do="close")
    assert proxy.verdicts == ["none", "", ""]
    assert proxy.server.connection_count == (3 if closes else 2)


def test_tunnels_with_a_wrong_password(fetcher, serve):
    proxy = serve(proxy=True)
    fetcher.client(
        proxy=f"http://127.0.0.1:{proxy.port}", proxy_digest=USER, password="sesame"
    )
    # And no answer is sent unasked that was refused: proxies lock users out.
    for _ in range(2):
        answer = fetcher.get("https://a.test/")
        assert (answer["phase"], answer["kind"]) == ("proxy", "ProxyRefused")
        assert "407" in answer["text"] and "sesame" not in str(answer)
    assert fetcher.get("http://a.test/")["status"] == 407
    assert proxy.verdicts == ["none", "wrong"] * 3


def test_from_a_proxy_to_a_host_without_one(fetcher, serve):
    """The proxy's answers stay behind, and a 407 from elsewhere is no challenge
    of it."""
    refusal = b"HTTP/1.1 407 Who\r\nContent-Length: 0\r\nProxy-Authenticate: "
    refusal += b'Digest realm="here", nonce="n"\r\n\r\n'
    heads = []
    target = RawServer(answering(lambda head, _: heads.append(head) or refusal))
    proxy = serve(proxy=True)
    proxy.answer = (
        b"HTTP/1.1 302 x\r\nContent-Length: 0\r\nLocation: %s/\r\n\r\n"
        % target.url.encode()
    )
    fetcher.client(
        proxy=f"http://127.0.0.1:{proxy.port}",
        no_proxy="127.0.0.1",
        proxy_digest=USER,
        password=PASSWORD,
    )
    assert fetcher.get("http://a.test/x")["status"] == 407
    target.close()
    assert proxy.verdicts == ["none", ""]
    assert len(heads) == 1 and "uthorization" not in heads[0]
