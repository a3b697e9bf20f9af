"""The HTTP client against servers of others: nginx, Go's net/http, and httpbin
under gunicorn."""

import hashlib
import json
import shutil

import peer_servers
import pytest

DOWNLOAD_LEN = UPLOAD_LEN = 100 << 20
MEMORY_KIB_MAX = 8_000
USERS = {"me": "secret word", "own": "word"}


# (configuration, request, phase): the server waits `head` ms before its head and
# `body` ms before each of ten octets.
DELAYS = [
    ({"read_timeout_ms": 150}, "/slow?head=2000", "read head"),
    ({"read_timeout_ms": 150}, "/slow?body=1000", "read body"),
    ({"total_timeout_ms": 200}, "/slow?head=2000", "total"),
    ({"total_timeout_ms": 200}, "/slow?body=60", "total"),
    ({"read_timeout_ms": 400}, "/slow?head=50&body=20", ""),
]


@pytest.fixture(scope="module")
def nginx():
    server = peer_servers.start_nginx(USERS)
    (server.files / "text").write_text("text " * 1000)
    with open(server.files / "large", "wb") as file:
        file.truncate(DOWNLOAD_LEN)
    yield server
    server.stop()
    shutil.rmtree(server.files.parent)


@pytest.fixture(scope="module")
def go():
    server = peer_servers.start_go()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def httpbin():
    server = peer_servers.start_httpbin()
    yield server
    server.stop()


def said(answer: dict) -> dict:
    """Reads the JSON of a response that came with 200."""
    assert answer.get("status") == 200, answer
    return json.loads(answer["body"])


def body(answer: dict) -> str:
    assert answer.get("status") == 200, answer
    return answer["body"]


def failure(answer: dict) -> tuple[str, str]:
    assert "phase" in answer, answer
    return answer["phase"], answer["kind"]


# (code, method, method of the request that follows): RFC 9110 sections 15.4.2
# to 15.4.9.
REDIRECTS = [
    (301, "GET", "GET"),
    (301, "HEAD", "HEAD"),
    (301, "POST", "GET"),
    (301, "PUT", "PUT"),
    (302, "GET", "GET"),
    (302, "POST", "GET"),
    (302, "DELETE", "DELETE"),
    (303, "GET", "GET"),
    (303, "HEAD", "HEAD"),
    (303, "POST", "GET"),
    (303, "PUT", "GET"),
    (307, "GET", "GET"),
    (307, "POST", "POST"),
    (307, "PATCH", "PATCH"),
    (308, "GET", "GET"),
    (308, "POST", "POST"),
    (308, "PUT", "PUT"),
]


class TestNginx:
    def test_connections_are_used_again(self, fetcher, nginx):
        fetcher.client(base=nginx.url)
        seen = [body(fetcher.get("/which")).split() for _ in range(100)]
        assert len({connection for connection, _ in seen}) == 1
        assert [int(number) for _, number in seen] == list(range(1, 101))
        fetcher.ask(do="close")
        connection, number = body(fetcher.get("/which")).split()
        assert number == "1" and connection != seen[0][0]

    @pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
    def test_redirects(self, fetcher, nginx, code):
        fetcher.client(base=nginx.url)
        answer = fetcher.get(f"/to/{code}")
        assert body(answer).startswith(f"GET /echo?from={code} HTTP/1.1")
        assert answer["url"] == f"{nginx.url}/echo?from={code}"

    def test_gzip(self, fetcher, nginx):
        fetcher.client(base=nginx.url)
        assert body(fetcher.get("/zipped/text")) == "text " * 1000
        fetcher.client(base=nginx.url, decodes_content=0)
        asked = {"Accept-Encoding": "gzip"}
        answer = fetcher.get("/zipped/text", headers=asked)
        assert answer["body_len"] < 500
        assert ["Content-Encoding", "gzip"] in answer["headers"]

    def test_basic_auth(self, fetcher, nginx):
        for user, password in USERS.items():
            fetcher.client(base=nginx.url, user=user, password=password)
            assert body(fetcher.get("/secret/text")) == "text " * 1000
        for config in [{}, {"user": "me", "password": "wrong"}]:
            fetcher.client(base=nginx.url, **config)
            answer = fetcher.get("/secret/text")
            assert answer["status"] == 401 and answer["verdict"] != "ok"
        assert body(fetcher.get("/secret/text", basic="word"))

    def test_files_put_and_deleted(self, fetcher, nginx):
        fetcher.client(base=nginx.url)
        for text, status in [("one", 201), ("two", 204)]:
            answer = fetcher.get("/saved/a/b", method="PUT", octets=text)
            assert answer["status"] == status
            assert body(fetcher.get("/saved/a/b")) == text
        answer = fetcher.get("/saved/a/b", method="DELETE")
        assert answer["status"] == 204
        assert fetcher.get("/saved/a/b")["status"] == 404

    def test_responses_without_content(self, fetcher, nginx):
        fetcher.client(base=nginx.url)
        head = fetcher.get("/large", method="HEAD")
        fields = dict(head["headers"])
        assert fields["Content-Length"] == str(DOWNLOAD_LEN)
        assert head["body_len"] == 0
        unchanged = {"If-None-Match": fields["ETag"]}
        assert fetcher.get("/large", headers=unchanged)["status"] == 304
        part = fetcher.get("/text", headers={"Range": "bytes=5-8"})
        assert (part["status"], part["body"]) == (206, "text")
        assert body(fetcher.get("/which")).split()[1] == "4"

    def test_http_1_0(self, fetcher, nginx):
        fetcher.client(base=nginx.url)
        for _ in range(2):
            answer = fetcher.get("/echo", http_1_0=1)
            assert "GET /echo HTTP/1.0" in body(answer)
            assert answer["idle"] == 0

    def test_a_server_that_closes_without_an_answer(self, fetcher, nginx):
        fetcher.client(base=nginx.url)
        assert failure(fetcher.get("/gone")) == ("read head", "NoResponse")

    def test_content_refused_before_it_is_sent(self, fetcher, nginx):
        fetcher.client(base=nginx.url)
        answer = fetcher.get("/small/", method="POST", octets="x" * 2_000)
        assert answer["status"] == 413
        length = 4 << 20
        for expect in [{"expect": 1}, {}]:
            answer = fetcher.ask(
                do="upload", method="PUT", url="/small/", length=length,
                announced=length, **expect,
            )
            assert answer.get("status") == 413, answer

    def test_a_download_in_bounded_memory(self, fetcher, nginx):
        fetcher.client(base=nginx.url)
        before = fetcher.memory_kib()
        answer = fetcher.ask(do="download", url="/large")
        assert answer["sink_count"] == DOWNLOAD_LEN, answer
        assert fetcher.memory_kib() - before < MEMORY_KIB_MAX

    def test_many_at_once(self, fetcher, nginx):
        fetcher.client(base=nginx.url)
        requests = [{"url": f"/echo?{n}"} for n in range(200)]
        texts = [json.dumps(request) for request in requests]
        answer = fetcher.ask(do="all", requests=texts, parallel=16)
        for n, result in enumerate(answer["results"]):
            assert body(result).startswith(f"GET /echo?{n} HTTP/1.1"), result
        # All of them on the connections that are kept.
        assert answer["idle"] <= 16


class TestGo:
    @pytest.mark.parametrize(
        "method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"]
    )
    def test_every_method(self, fetcher, go, method):
        fetcher.client(base=go.url)
        echo = said(fetcher.get("/echo?a=b", method=method))
        assert (echo["Method"], echo["Target"]) == (method, "/echo?a=b")
        assert (echo["Content"], echo["ContentLength"]) == ("", 0)
        echo = said(fetcher.get("/echo", method=method, json='{"a": 1}'))
        assert (echo["Content"], echo["ContentLength"]) == ('{"a": 1}', 8)
        assert echo["Header"]["Content-Type"] == ["application/json"]

    def test_head(self, fetcher, go):
        fetcher.client(base=go.url)
        for _ in range(2):
            answer = fetcher.get("/download?length=1000", method="HEAD")
            assert (answer["status"], answer["body_len"]) == (200, 0)

    @pytest.mark.parametrize("code,method,next_method", REDIRECTS)
    def test_redirects(self, fetcher, go, code, method, next_method):
        fetcher.client(base=go.url)
        url = f"/redirect?code={code}&to=/echo?from={code}"
        content = {} if method in ("GET", "HEAD") else {"octets": "content"}
        answer = fetcher.get(url, method=method, **content)
        assert answer["redirects"] == 1, answer
        if next_method == "HEAD":
            assert (answer["status"], answer["body_len"]) == (200, 0)
            return
        echo = said(answer)
        assert echo["Method"] == next_method
        keeps = bool(content) and next_method == method
        assert echo["Content"] == ("content" if keeps else "")
        assert ("Content-Type" in echo["Header"]) == keeps

    def test_a_stream_is_not_sent_twice(self, fetcher, go):
        """307 asks for the content again, and a stream is read only once."""
        fetcher.client(base=go.url)
        answer = fetcher.ask(
            do="upload", method="PUT", url="/redirect?code=307&to=/echo",
            length=1_000, announced=1_000,
        )
        assert failure(answer) == ("redirect", "BadRequest"), answer
        assert "streamed content cannot be sent again" in answer["text"]

    def test_credentials_stay_with_their_origin(self, fetcher, go, nginx):
        fetcher.client(base=go.url, bearer="token")
        echo = said(fetcher.get("/redirect?code=302&to=/echo"))
        assert echo["Header"]["Authorization"] == ["Bearer token"]
        away = {"to": nginx.url + "/authorization", "code": "302"}
        answer = fetcher.get("/redirect", query=away)
        assert body(answer) == "[]" and answer["url"].startswith(nginx.url)

    def test_chunks_with_trailers(self, fetcher, go):
        fetcher.client(base=go.url)
        for count in [0, 1, 2, 100]:
            answer = fetcher.get(f"/trailers?count={count}")
            wanted = "".join(str(n % 10) * n for n in range(count))
            assert body(answer) == wanted
            digest = hashlib.sha256(wanted.encode()).hexdigest()
            trailers = {("Sum", digest), ("Count", str(count))}
            assert {tuple(line) for line in answer["trailers"]} == trailers

    def test_connections_are_counted(self, fetcher, go):
        fetcher.client(base=go.url)
        before = int(body(fetcher.get("/count")))
        for _ in range(50):
            assert int(body(fetcher.get("/count"))) == before
            said(fetcher.get("/echo", method="POST", octets="x" * 5_000))
        for more in range(3):
            assert int(body(fetcher.get("/close"))) == before + more
        assert int(body(fetcher.get("/count"))) == before + 3

    @pytest.mark.parametrize("config,url,phase", DELAYS)
    def test_delays(self, fetcher, go, config, url, phase):
        fetcher.client(base=go.url, **config)
        answer = fetcher.get(url)
        if phase:
            assert failure(answer) == (phase, "Timeout")
            assert answer["idle"] == 0
        else:
            assert body(answer) == "x" * 10

    def test_a_response_cut_short(self, fetcher, go):
        fetcher.client(base=go.url)
        answer = fetcher.get("/cut")
        assert failure(answer) == ("read body", "TruncatedResponse")
        assert answer["idle"] == 0

    @pytest.mark.parametrize("framing", ["", "&chunked=1"])
    def test_a_download_in_bounded_memory(self, fetcher, go, framing):
        fetcher.client(base=go.url)
        before = fetcher.memory_kib()
        url = f"/download?length={DOWNLOAD_LEN}{framing}"
        answer = fetcher.ask(do="download", url=url)
        assert answer["sink_count"] == DOWNLOAD_LEN, answer
        assert fetcher.memory_kib() - before < MEMORY_KIB_MAX

    @pytest.mark.parametrize("announced", [UPLOAD_LEN, -1])
    def test_an_upload_in_bounded_memory(self, fetcher, go, announced):
        fetcher.client(base=go.url)
        before = fetcher.memory_kib()
        answer = fetcher.ask(
            do="upload", method="PUT", url="/upload", length=UPLOAD_LEN,
            announced=announced,
        )
        coding = "[chunked]" if announced < 0 else "[]"
        wanted = f"{UPLOAD_LEN} true {announced} {coding}"
        assert body(answer).split() == wanted.split()
        assert fetcher.memory_kib() - before < MEMORY_KIB_MAX

    def test_an_answer_before_the_upload_ends(self, fetcher, go):
        fetcher.client(base=go.url)
        answer = fetcher.ask(
            do="upload", method="PUT", url="/refuse", length=UPLOAD_LEN,
            announced=UPLOAD_LEN,
        )
        assert answer.get("status") == 413, answer


class TestHttpbin:
    @pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
    def test_every_method(self, fetcher, httpbin, method):
        fetcher.client(base=httpbin.url)
        name = method.upper()
        query = {"q": "a b&c=é"}
        echo = said(fetcher.get(f"/{method}", method=name, query=query))
        assert echo["args"] == query
        form = {"name": "a b", "sum": "1+1=2", "é": "ü"}
        echo = said(fetcher.get(f"/{method}", method=name, form=form))
        assert echo["form"] == form
        echo = said(fetcher.get(f"/{method}", method=name, json='{"k": [1]}'))
        assert echo["json"] == {"k": [1]}

    def test_get(self, fetcher, httpbin):
        fetcher.client(base=httpbin.url)
        echo = said(fetcher.get("/get", headers={"X-Own": "mine"}))
        assert echo["headers"]["X-Own"] == "mine"
        assert echo["headers"]["User-Agent"] == "flare"
        assert said(fetcher.get("/anything/a%2Fb"))["method"] == "GET"

    @pytest.mark.parametrize("algorithm", ["MD5", "SHA-256"])
    def test_digest(self, fetcher, httpbin, algorithm):
        """RFC 7616, as others read it."""
        path = f"/digest-auth/auth/me/secret/{algorithm}"
        fetcher.client(base=httpbin.url, digest_user="me", password="guess")
        assert fetcher.get(path)["status"] == 401
        fetcher.client(base=httpbin.url, digest_user="me", password="secret")
        for _ in range(2):
            assert said(fetcher.get(path))["authenticated"] is True

    def test_files(self, fetcher, httpbin):
        fetcher.client(base=httpbin.url)
        files = {"a.txt": "first\r\nfile"}
        echo = said(fetcher.get("/post", method="POST", files=files))
        assert echo["form"] == {"title": "two files"}
        assert echo["files"] == {"files": "first\r\nfile"}

    @pytest.mark.parametrize("kind", ["redirect", "absolute-redirect"])
    def test_redirects_in_a_row(self, fetcher, httpbin, kind):
        fetcher.client(base=httpbin.url)
        answer = fetcher.get(f"/{kind}/5")
        assert said(answer)["url"] == httpbin.url + "/get"
        assert answer["redirects"] == 5
        fetcher.client(base=httpbin.url, max_redirects=4)
        answer = fetcher.get(f"/{kind}/5")
        assert failure(answer) == ("redirect", "TooManyRedirects")

    def test_content_codings(self, fetcher, httpbin):
        fetcher.client(base=httpbin.url)
        asked = said(fetcher.get("/get"))["headers"]["Accept-Encoding"]
        assert asked.split(", ")[:2] == ["gzip", "deflate"]
        for coding, path in [("gzipped", "gzip"), ("deflated", "deflate")]:
            assert said(fetcher.get("/" + path))[coding] is True
        # Brotli is asked for where its library is.
        if "br" in asked.split(", "):
            assert said(fetcher.get("/brotli"))["brotli"] is True

    def test_chunks(self, fetcher, httpbin):
        fetcher.client(base=httpbin.url)
        lines = body(fetcher.get("/stream/20")).splitlines()
        assert [json.loads(line)["id"] for line in lines] == list(range(20))
        answer = fetcher.get("/stream-bytes/5000?seed=1&chunk_size=7")
        assert answer["body_len"] == 5_000

    def test_cookies(self, fetcher, httpbin):
        fetcher.client(base=httpbin.url, cookies=1)
        assert said(fetcher.get("/cookies"))["cookies"] == {}
        answer = fetcher.get("/cookies/set?a=1&b=two")
        assert said(answer)["cookies"] == {"a": "1", "b": "two"}
        said(fetcher.get("/cookies/delete?a"))
        assert said(fetcher.get("/cookies"))["cookies"] == {"b": "two"}
        fetcher.client(base=httpbin.url)
        assert said(fetcher.get("/cookies/set?a=1"))["cookies"] == {}

    @pytest.mark.parametrize("path", ["basic-auth", "hidden-basic-auth"])
    def test_basic_auth(self, fetcher, httpbin, path):
        url = f"/{path}/user/pass:%20word"
        fetcher.client(base=httpbin.url, user="user", password="pass: word")
        assert said(fetcher.get(url))["user"] == "user"
        fetcher.client(base=httpbin.url, user="user", password="other")
        answer = fetcher.get(url)
        assert answer["status"] == (401 if path == "basic-auth" else 404)

    def test_bearer_auth(self, fetcher, httpbin):
        fetcher.client(base=httpbin.url, bearer="a.token")
        assert said(fetcher.get("/bearer"))["token"] == "a.token"
        fetcher.client(base=httpbin.url)
        assert fetcher.get("/bearer")["status"] == 401

    def test_digest_is_refused_clearly(self, fetcher, httpbin):
        fetcher.client(base=httpbin.url, user="user", password="word")
        answer = fetcher.get("/digest-auth/auth/user/word")
        assert answer["status"] == 401
        wanted = "it accepts Digest; this client has BasicAuth"
        assert wanted in answer["verdict"]

    @pytest.mark.parametrize("code", [200, 204, 304, 404, 418, 429, 500, 503])
    def test_statuses(self, fetcher, httpbin, code):
        fetcher.client(base=httpbin.url)
        answer = fetcher.get(f"/status/{code}")
        assert answer["status"] == code
        assert (answer["verdict"] == "ok") == (code < 400)
        assert str(code) in answer["verdict"] or code < 400

    def test_delays(self, fetcher, httpbin):
        fetcher.client(base=httpbin.url, read_timeout_ms=200)
        answer = fetcher.get("/delay/1")
        assert failure(answer) == ("read head", "Timeout")
        assert said(fetcher.get("/delay/0.05"))
        answer = fetcher.get("/delay/1", timeout_ms=100)
        assert failure(answer) == ("total", "Timeout")

    def test_text_of_any_language(self, fetcher, httpbin):
        fetcher.client(base=httpbin.url)
        assert "∮ E⋅da = Q" in body(fetcher.get("/encoding/utf8"))
        assert fetcher.get("/image/png")["body_len"] == 8_090

    def test_connections_are_used_again(self, fetcher, httpbin):
        fetcher.client(base=httpbin.url)
        for _ in range(20):
            assert fetcher.get("/get")["idle"] == 1
        assert said(fetcher.get("/get"))["headers"].get("Connection") is None
