"""The HTTP client over HTTP/2, against servers of others: Go's net/http, Node,
nginx, nghttpd, h2o, hyper; with TLS, and without where they speak it so."""

import hashlib
import json
import shutil

import peer_servers
import pytest
from conftest import Server, shown as shown_by_flare
from raw_server import Connection, RawServer
from test_client_hostile import sized
from test_client_peers import DELAYS
from wire_programs import built

LENGTH = 20 << 20
MEMORY_KIB_MAX = 8_000
HTTP2 = "HTTP/2.0"
USERS = {"me": "secret word"}


def said(answer: dict) -> dict:
    """Reads the JSON of a response that came over HTTP/2 with 200."""
    return json.loads(body(answer))


def body(answer: dict) -> str:
    got = answer.get("status"), answer.get("version")
    assert got == (200, HTTP2), answer
    return answer["body"]


class Way:
    """A server, and how the client gets to it."""

    def __init__(self, peer: peer_servers.Peer | Server, ca_file: str = "") -> None:
        self.peer, self.ca_file = peer, ca_file
        scheme, host = ("https", "localhost") if ca_file else ("http", "127.0.0.1")
        self.url = f"{scheme}://{host}:{peer.port}"

    def client(self, fetcher, **config) -> None:
        own = {"ca_file": self.ca_file} if self.ca_file else {"h2c": 1}
        fetcher.client(**{"base": self.url, **own, **config})


def shown(certs) -> tuple[str, str]:
    return str(certs / "good_chain.pem"), str(certs / "good.key")


@pytest.fixture(scope="module", params=["tls", "clear"])
def go(request, certs):
    is_tls = request.param == "tls"
    peer = peer_servers.start_go(*(shown(certs) if is_tls else ["h2c"]))
    yield Way(peer, str(certs / "root.pem") if is_tls else "")
    peer.stop()


@pytest.fixture(scope="module", params=["tls", "clear"])
def node(request, certs):
    is_tls = request.param == "tls"
    peer = peer_servers.start_node(*(shown(certs) if is_tls else []))
    yield Way(peer, str(certs / "root.pem") if is_tls else "")
    peer.stop()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nghttpd")
    (folder / "text").write_text("text " * 1000)
    (folder / "large").write_bytes(bytes(LENGTH))
    return folder


@pytest.fixture(scope="module", params=["tls", "clear"])
def nghttpd(request, certs, files):
    chain, key = shown(certs)
    is_tls = request.param == "tls"
    peer = peer_servers.start_nghttpd(files, *([key, chain] if is_tls else []))
    yield Way(peer, str(certs / "root.pem") if is_tls else "")
    peer.stop()


@pytest.fixture(scope="module", params=["tls", "clear"])
def h2o(request, certs, files):
    is_tls = request.param == "tls"
    peer = peer_servers.start_h2o(files, *(shown(certs) if is_tls else []))
    yield Way(peer, str(certs / "root.pem") if is_tls else "")
    peer.stop()


@pytest.fixture(scope="module")
def nginx(certs):
    chain, key = shown(certs)
    tls = f"ssl_certificate {chain}; ssl_certificate_key {key};"
    peer = peer_servers.start_nginx(USERS, tls, " ssl http2")
    (peer.files / "text").write_text("text " * 1000)
    with open(peer.files / "large", "wb") as file:
        file.truncate(LENGTH)
    yield Way(peer, str(certs / "root.pem"))
    peer.stop()
    shutil.rmtree(peer.files.parent)


@pytest.fixture(scope="module", params=["tls", "clear"])
def flare(request, certs, files):
    is_tls = request.param == "tls"
    names = shown_by_flare(certs).items() if is_tls else []
    options = [f"{name}={path}" for name, path in names]
    server = Server(
        built("h2_server"), [f"root={files}", "handler_threads=2", *options]
    )
    yield Way(server, str(certs / "root.pem") if is_tls else "")
    assert server.stop() == 0


def send_all(fetcher, requests: list[dict], parallel: int) -> list[dict]:
    texts = [json.dumps(request) for request in requests]
    return fetcher.ask(do="all", requests=texts, parallel=parallel)["results"]


class TestGo:
    def test_fields(self, fetcher, go):
        """RFC 9113 section 8.2.2: fields of HTTP/1.1 connections stay here."""
        go.client(fetcher)
        fields = {
            "X-Own": "mine ", "Connection": "x", "Keep-Alive": "timeout=5",
            "Upgrade": "h2c", "TE": "trailers, deflate",
        }
        echo = said(fetcher.get("/echo?a=b", headers=fields))
        assert (echo["Target"], echo["Version"]) == ("/echo?a=b", HTTP2)
        assert echo["Header"]["X-Own"] == ["mine"]
        assert echo["Header"]["User-Agent"] == ["flare"]
        sent = set(echo["Header"])
        assert not sent & {"Connection", "Keep-Alive", "Upgrade", "Te", "Host"}

    @pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PURGE"])
    def test_methods(self, fetcher, go, method):
        go.client(fetcher)
        echo = said(fetcher.get("/echo", method=method))
        assert (echo["Method"], echo["ContentLength"]) == (method, 0)
        echo = said(fetcher.get("/echo", method=method, json='{"a": 1}'))
        assert (echo["Content"], echo["ContentLength"]) == ('{"a": 1}', 8)
        answer = fetcher.get("/echo", method="HEAD")
        assert (answer["status"], answer["body_len"]) == (200, 0)

    def test_one_connection_for_all(self, fetcher, go):
        go.client(fetcher)
        before = int(body(fetcher.get("/count")))
        assert int(body(fetcher.get("/count"))) == before
        many = send_all(fetcher, [{"url": "/count"}] * 300, 100)
        assert {int(body(answer)) for answer in many} == {before}
        # A batch that begins without a connection waits for one, too.
        fetcher.ask(do="close")
        many = send_all(fetcher, [{"url": "/count"}] * 300, 300)
        assert {int(body(answer)) for answer in many} == {before + 1}
        assert fetcher.get("/count")["idle"] == 1

    def test_results_are_in_order(self, fetcher, go):
        go.client(fetcher)
        requests = [{"url": f"/echo?{n}", "method": "POST", "octets": "x" * n}
                    for n in range(0, 3_000, 30)]
        for n, answer in enumerate(send_all(fetcher, requests, 30)):
            echo = said(answer)
            assert echo["Target"] == f"/echo?{30 * n}"
            assert len(echo["Content"]) == 30 * n

    @pytest.mark.parametrize("announced", [LENGTH, -1])
    def test_an_upload_in_bounded_memory(self, fetcher, go, announced):
        go.client(fetcher)
        before = fetcher.memory_kib()
        answer = fetcher.ask(
            do="upload", method="PUT", url="/upload", length=LENGTH,
            announced=announced,
        )
        wanted = f"{LENGTH} true {announced} []"
        assert body(answer).split() == wanted.split()
        assert fetcher.memory_kib() - before < MEMORY_KIB_MAX

    def test_an_answer_before_the_upload_ends(self, fetcher, go):
        """The connection stays good: the rest of the upload is not sent."""
        go.client(fetcher)
        before = int(body(fetcher.get("/count")))
        answer = fetcher.ask(
            do="upload", method="PUT", url="/refuse", length=LENGTH,
            announced=LENGTH,
        )
        assert answer.get("status") == 413, answer
        assert int(body(fetcher.get("/count"))) == before

    @pytest.mark.parametrize("expect", [{"expect": 1}, {}])
    def test_content_that_is_asked_for(self, fetcher, go, expect):
        go.client(fetcher)
        answer = fetcher.get("/echo", method="POST", octets="x" * 5_000, **expect)
        assert said(answer)["Content"] == "x" * 5_000

    def test_a_download_in_bounded_memory(self, fetcher, go):
        go.client(fetcher)
        before = fetcher.memory_kib()
        answer = fetcher.ask(do="download", url=f"/download?length={LENGTH}")
        assert answer["sink_count"] == LENGTH, answer
        assert fetcher.memory_kib() - before < MEMORY_KIB_MAX

    def test_downloads_side_by_side(self, fetcher, go):
        """More than the connection's window all together."""
        go.client(fetcher)
        requests = [{"url": f"/download?length={2 << 20}&chunked=1"}] * 12
        for answer in send_all(fetcher, requests, 12):
            assert answer.get("body_len") == 2 << 20, answer

    def test_a_sink_that_fails_ends_its_stream_alone(self, fetcher, go):
        go.client(fetcher)
        before = int(body(fetcher.get("/count")))
        url = f"/download?length={LENGTH}"
        answer = fetcher.ask(do="download", url=url, sink_limit=100_000)
        assert answer["kind"] == "SinkFailed", answer
        assert int(body(fetcher.get("/count"))) == before

    def test_trailers(self, fetcher, go):
        go.client(fetcher)
        for count in [0, 2, 50]:
            answer = fetcher.get(f"/trailers?count={count}")
            wanted = "".join(str(n % 10) * n for n in range(count))
            assert body(answer) == wanted
            digest = hashlib.sha256(wanted.encode()).hexdigest()
            trailers = {("sum", digest), ("count", str(count))}
            assert {tuple(line) for line in answer["trailers"]} == trailers

    @pytest.mark.parametrize("code,after", [(302, "GET"), (307, "POST")])
    def test_redirects(self, fetcher, go, code, after):
        go.client(fetcher, bearer="token")
        url = f"/redirect?code={code}&to=/echo?from={code}"
        answer = fetcher.get(url, method="POST", octets="content")
        echo = said(answer)
        assert (echo["Method"], answer["redirects"]) == (after, 1)
        assert echo["Content"] == ("content" if after == "POST" else "")
        assert echo["Header"]["Authorization"] == ["Bearer token"]

    @pytest.mark.parametrize("config,url,phase", DELAYS)
    def test_delays(self, fetcher, go, config, url, phase):
        go.client(fetcher, **config)
        for answer in [fetcher.get(url), *send_all(fetcher, [{"url": url}] * 2, 2)]:
            if phase:
                assert (answer["phase"], answer["kind"]) == (phase, "Timeout")
            else:
                assert body(answer) == "x" * 10

    def test_a_response_cut_short(self, fetcher, go):
        go.client(fetcher)
        answer = fetcher.get("/cut")
        assert (answer["phase"], answer["kind"]) == ("read body", "StreamReset")
        assert "INTERNAL_ERROR" in answer["text"]
        assert body(fetcher.get("/count"))

    def test_a_long_field(self, fetcher, go):
        """It takes CONTINUATION (RFC 9113 section 6.10)."""
        go.client(fetcher)
        answer = fetcher.get("/echo", headers={"X-Long": "é" * 20_000})
        assert body(answer) and answer["body_len"] > 40_000


class TestNode:
    def test_echo(self, fetcher, node):
        node.client(fetcher)
        for _ in range(2):
            echo = said(fetcher.get("/echo?é", method="POST", json='{"a": [1]}'))
            assert echo["content"] == '{"a": [1]}'
            assert echo["headers"][":path"] == "/echo?%C3%A9"
            authority = node.url.split("//")[1]
            assert echo["headers"][":authority"] == authority
            assert echo["sessions"] >= 1

    def test_many_at_once(self, fetcher, node):
        node.client(fetcher)
        before = said(fetcher.get("/echo"))["sessions"]
        requests = [{"url": "/echo", "method": "PUT", "octets": "x" * 10_000}] * 100
        for answer in send_all(fetcher, requests, 50):
            echo = json.loads(answer["decoded"]) if answer["body_len"] < 10_000 else {}
            assert not echo or echo["sessions"] == before
            assert answer["status"] == 200

    def test_content_both_ways(self, fetcher, node):
        node.client(fetcher)
        answer = fetcher.ask(do="download", url=f"/download?length={LENGTH}")
        assert answer["sink_count"] == LENGTH, answer
        answer = fetcher.ask(
            do="upload", method="PUT", url="/echo", length=LENGTH, announced=-1
        )
        assert answer.get("status") == 200, answer

    def test_trailers(self, fetcher, node):
        node.client(fetcher)
        answer = fetcher.get("/trailers")
        assert (body(answer), answer["trailers"]) == ("content", [["sum", "42"]])


class TestFlare:
    def test_echo(self, fetcher, flare):
        flare.client(fetcher)
        answer = fetcher.get("/", method="POST", octets="y" * 100_000)
        assert body(answer) and answer["body_len"] == 100_000
        assert body(fetcher.get("/compressed")).startswith("all work")
        assert fetcher.get("/fail")["status"] == 500
        assert fetcher.get("/size/0")["body_len"] == 0
        assert fetcher.get("/size/100000", method="HEAD")["body_len"] == 0

    def test_many_at_once(self, fetcher, flare):
        flare.client(fetcher)
        for n, answer in enumerate(
            send_all(fetcher, [{"url": f"/size/{n}"} for n in range(400)], 150)
        ):
            assert (answer.get("version"), answer.get("body_len")) == (HTTP2, n)
        assert fetcher.get("/")["idle"] == 1

    def test_content_both_ways(self, fetcher, flare):
        flare.client(fetcher)
        answer = fetcher.ask(do="download", url="/files/large")
        assert answer["sink_count"] == LENGTH, answer
        answer = fetcher.ask(
            do="upload", method="POST", url="/large", length=LENGTH, announced=-1
        )
        assert answer.get("status") == 200, answer
        answer = fetcher.ask(
            do="upload", method="POST", url="/upload", length=LENGTH, announced=LENGTH
        )
        assert body(answer).split()[0] == str(LENGTH)

    def test_content_that_is_too_long(self, fetcher, flare):
        flare.client(fetcher)
        for more in [{}, {"expect": 1}]:
            answer = fetcher.get("/small", method="POST", octets="x" * 5_000, **more)
            assert answer.get("status") == 413, answer
        assert body(fetcher.get("/"))

    def test_the_end_of_a_response_that_is_slow(self, fetcher, flare):
        flare.client(fetcher, read_timeout_ms=100)
        assert fetcher.get("/slow/2000")["kind"] == "Timeout"
        assert body(fetcher.get("/"))


class TestNghttpd:
    def test_files(self, fetcher, nghttpd):
        nghttpd.client(fetcher)
        for _ in range(3):
            assert body(fetcher.get("/text")) == "text " * 1000
        assert fetcher.get("/nothing")["status"] == 404
        answer = fetcher.ask(do="download", url="/large")
        assert answer["sink_count"] == LENGTH, answer

    def test_many_at_once(self, fetcher, nghttpd):
        nghttpd.client(fetcher)
        for answer in send_all(fetcher, [{"url": "/text"}] * 250, 250):
            assert body(answer) == "text " * 1000


class TestH2o:
    def test_files(self, fetcher, h2o):
        h2o.client(fetcher)
        for _ in range(3):
            assert body(fetcher.get("/text")) == "text " * 1000
        assert fetcher.get("/nothing")["status"] == 404
        assert fetcher.get("/text", method="HEAD")["body_len"] == 0
        answer = fetcher.ask(do="download", url="/large")
        assert answer["sink_count"] == LENGTH, answer

    def test_many_at_once(self, fetcher, h2o):
        """It allows 100 streams; the others wait."""
        h2o.client(fetcher)
        for answer in send_all(fetcher, [{"url": "/text"}] * 400, 400):
            assert body(answer) == "text " * 1000
        assert fetcher.get("/text")["idle"] == 1


class TestNginx:
    def test_one_connection(self, fetcher, nginx):
        nginx.client(fetcher)
        seen = [body(fetcher.get("/which")).split() for _ in range(10)]
        seen += [body(answer).split()
                 for answer in send_all(fetcher, [{"url": "/which"}] * 200, 200)]
        assert len({connection for connection, _ in seen}) == 1

    def test_content(self, fetcher, nginx):
        nginx.client(fetcher)
        assert body(fetcher.get("/zipped/text")) == "text " * 1000
        answer = fetcher.ask(do="download", url="/large")
        assert answer["sink_count"] == LENGTH, answer
        answer = fetcher.get("/saved/a", method="PUT", octets="y" * 300_000)
        assert answer["status"] in (201, 204), answer
        assert fetcher.get("/saved/a")["body_len"] == 300_000

    def test_basic_auth(self, fetcher, nginx):
        nginx.client(fetcher, user="me", password="secret word")
        assert body(fetcher.get("/secret/text")) == "text " * 1000

    @pytest.mark.parametrize("code", [301, 308])
    def test_redirects(self, fetcher, nginx, code):
        nginx.client(fetcher)
        answer = fetcher.get(f"/to/{code}")
        assert body(answer).startswith(f"GET /echo?from={code} HTTP/2.0")

    def test_a_server_that_ends_the_connection(self, fetcher, nginx):
        nginx.client(fetcher)
        assert fetcher.get("/gone")["kind"] in ("NoResponse", "StreamReset")
        assert body(fetcher.get("/text"))

    def test_content_refused_before_it_is_sent(self, fetcher, nginx):
        nginx.client(fetcher)
        answer = fetcher.ask(
            do="upload", method="PUT", url="/small/", length=4 << 20,
            announced=4 << 20,
        )
        assert answer.get("status") == 413, answer

    def test_it_can_be_turned_off(self, fetcher, nginx):
        nginx.client(fetcher, http2=0)
        assert fetcher.get("/text")["version"] == "HTTP/1.1"
        many = send_all(fetcher, [{"url": "/text"}] * 10, 10)
        assert {answer["version"] for answer in many} == {"HTTP/1.1"}

    def test_http_1_0_is_not_spoken_over_it(self, fetcher, nginx):
        nginx.client(fetcher)
        assert body(fetcher.get("/text"))
        answer = fetcher.get("/echo", http_1_0=1)
        assert answer["body"] == "GET /echo HTTP/1.0", answer
        assert body(fetcher.get("/text"))


def test_over_a_unix_socket(fetcher, tmp_path):
    """Nobody offers anything there: it takes the configuration."""
    from raw_http2 import answering_all, speaking

    path = tmp_path / "socket"
    server = RawServer(speaking(answering_all), path)
    url = "http+unix://" + str(path).replace("/", "%2F") + "/a"
    fetcher.client(h2c=1)
    for _ in range(2):
        assert body(fetcher.get(url)) == "ok"
    server.close()
    assert server.connection_count == 1


def test_cookies(fetcher, go):
    """They come back in one field or in several (RFC 9113 section 8.2.3)."""
    go.client(fetcher, cookies=1)
    set_two = {"to": "/echo", "code": "302", "set": "a=1"}
    assert said(fetcher.get("/redirect", query=set_two))["Target"] == "/echo"
    echo = said(fetcher.get("/echo", headers={"Cookie": "a=1; b=2"}))
    assert echo["Header"]["Cookie"] == ["a=1; b=2"]


def test_within_a_tunnel(fetcher, nginx):
    """RFC 9110 section 9.3.6: a proxy's CONNECT, and ALPN inside of it."""
    heads = []

    def pass_on(connection: Connection) -> None:
        heads.append(connection.head())
        connection.send(b"HTTP/1.1 200 OK\r\n\r\n")
        connection.pass_on(nginx.peer.port)

    proxy = RawServer(pass_on)
    nginx.client(fetcher, proxy=f"http://me:word@127.0.0.1:{proxy.port}")
    for _ in range(3):
        assert body(fetcher.get("/text")) == "text " * 1000
    many = send_all(fetcher, [{"url": "/text"}] * 20, 20)
    assert {answer["version"] for answer in many} == {HTTP2}
    proxy.close()
    assert len(heads) == 1 and heads[0].startswith("CONNECT localhost:")


def test_a_server_that_does_not_choose_it(fetcher, certs):
    """Those of a batch that waited for its answer open connections of their
    own, and the next batch does not wait."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*shown(certs))
    context.set_alpn_protocols(["http/1.1"])

    def answer(connection: Connection) -> None:
        with context.wrap_socket(connection.sock, server_side=True) as stream:
            inside = Connection(stream, 0)
            while inside.head():
                inside.send(sized(b"old"))

    server = RawServer(answer)
    url = f"https://localhost:{server.port}/"
    fetcher.client(ca_file=str(certs / "root.pem"))
    for _ in range(2):
        many = send_all(fetcher, [{"url": url}] * 12, 6)
        got = {(answer.get("version"), answer.get("body")) for answer in many}
        assert got == {("HTTP/1.1", "old")}, many
    server.close()
    assert server.connection_count <= 6


@pytest.fixture(scope="module")
def hyper():
    peer = peer_servers.start_hyper()
    yield Way(peer, "")
    peer.stop()


class TestHyper:
    def test_requests(self, fetcher, hyper):
        hyper.client(fetcher)
        assert body(fetcher.get("/")) == "Hello, World!"
        assert fetcher.get("/64k")["body_len"] == 65_536
        assert body(fetcher.get("/users/42")) == "user 42"
        assert fetcher.get("/nowhere")["status"] == 404
        # The server sends content all the same (RFC 9110 section 9.3.2).
        head = fetcher.get("/64k", method="HEAD")
        assert head["kind"] == "MalformedResponse", head
        assert body(fetcher.get("/")) == "Hello, World!"

    def test_an_upload_in_bounded_memory(self, fetcher, hyper):
        hyper.client(fetcher)
        before = fetcher.memory_kib()
        upload = {"do": "upload", "method": "POST", "url": "/upload", "length": LENGTH}
        assert body(fetcher.ask(**upload, announced=LENGTH)) == "OK"
        assert fetcher.memory_kib() - before < MEMORY_KIB_MAX

    def test_many_at_once(self, fetcher, hyper):
        hyper.client(fetcher)
        many = send_all(fetcher, [{"url": f"/users/{n}"} for n in range(400)], 200)
        assert [body(answer) for answer in many] == [f"user {n}" for n in range(400)]
        large = send_all(fetcher, [{"url": "/64k"}] * 100, 100)
        assert {answer["body_len"] for answer in large} == {65_536}
