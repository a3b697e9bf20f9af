"""Each middleware around answers of each kind, and all of them at once: what it
promises it keeps, and the rest of an answer stays as it is without it."""

import re

import httpx
import pytest
from conftest import Server
from websockets.sync.client import connect as open_socket
from wire_programs import built

PAIR = ("ann", "pw")
GET = [
    "plain", "inline", "kept", "tagged", "failing", "missing", "empty", "streamed",
    "fetched", "unreadable", "files/a.txt", "files/none.txt", "proxied/none/plain",
    "proxied/none/streamed", "proxied/none/failing", "proxied/none/missing",
    "proxied/none/tagged", "proxied/none/kept", "proxied/none/empty", "down",
    "absent",
]  # fmt: skip
POST = {
    "echo": 3_000, "upload": 300_000, "small": 5_000, "proxied/none/echo": 3_000,
    "proxied/none/upload": 300_000, "down": 10, "plain": 10, "absent": 10,
}  # fmt: skip
SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "strict-origin-when-cross-origin",
}
# Those that leave ranges and conditions to what is further in.
TRANSPARENT = [
    "log", "id", "cors", "secure", "counted", "recover", "basic", "bearer", "limit",
    "sessions", "once", "timeout", "timing", "trusted",
]  # fmt: skip
ASKED = [
    {"Range": "bytes=0-9"}, {"Range": "bytes=-5"}, {"Range": "bytes=99999-"},
    {"Range": "bytes=0-1,5-6"}, {"If-None-Match": "*"}, {"If-Match": '"other"'},
    {"If-Modified-Since": "Fri, 27 Nov 2099 17:00:00 GMT"},
    {"If-Unmodified-Since": "Fri, 27 Nov 1999 17:00:00 GMT"},
    {"Range": "bytes=0-9", "If-Range": '"other"'}, {"TE": "trailers"},
    {"Expect": "100-continue"}, {"Accept-Encoding": "identity;q=0"},
]  # fmt: skip
# Fields that are about this one answer, or about its framing.
VARIABLE = {
    "date", "x-request-id", "server-timing", "age", "cache-status", "connection",
    "content-length", "transfer-encoding",
}  # fmt: skip
ADDED = {
    "cors": {"access-control-allow-origin"},
    "secure": {
        "x-content-type-options", "x-frame-options", "referrer-policy",
        "content-security-policy", "cross-origin-opener-policy",
    },
    "conditional": {"etag"},
    "compress": {"content-encoding", "vary", "etag", "accept-ranges"},
    "sessions": {"set-cookie", "vary"},
}  # fmt: skip
ADDED["all"] = set().union(*ADDED.values())
NAMES = [
    "log", "id", "cors", "secure", "counted", "problem", "recover", "basic",
    "bearer", "limit", "conditional", "cache", "compress", "sessions", "once",
    "timeout", "timing", "trusted", "all",
]  # fmt: skip


class Layers:
    """A server with all middleware, before one that answers its proxies."""

    def __init__(self, folder) -> None:
        (folder / "a.txt").write_text("in a file " * 300)
        self.origin = Server(built("layers_server"), [f"folder={folder}"])
        self.front = Server(
            built("layers_server"),
            [f"upstream={self.origin.url}", f"folder={folder}"],
        )
        self.clients = {
            1: httpx.Client(timeout=20),
            2: httpx.Client(http1=False, http2=True, timeout=20),
        }

    def ask(
        self, version: int, name: str, kind: str, method: str = "GET", **options
    ) -> httpx.Response:
        headers = {"Origin": "http://page.example"} | options.pop("headers", {})
        if name in ("basic", "all"):
            headers["Authorization"] = "Basic YW5uOnB3"
        elif name == "bearer":
            headers["Authorization"] = "Bearer t0k"
        if method == "POST":
            options["content"] = b"x" * POST[kind]
        url = f"{self.front.url}/{name}/{kind}"
        return self.clients[version].request(
            method, url, headers=headers, **options
        )

    def metric(self, page: str) -> int:
        """How many requests a middleware has counted."""
        text = self.clients[1].get(f"{self.front.url}/{page}").text
        rows = re.findall(r"^http_requests_total\{.*\} (\d+)$", text, re.MULTILINE)
        return sum(map(int, rows))

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        for server in (self.front, self.origin):
            assert server.is_alive(), "the server died during the tests"
            assert server.stop() == 0


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    running = Layers(tmp_path_factory.mktemp("files"))
    yield running
    running.close()


def shapes_errors(name: str) -> bool:
    return name in ("problem", "all")


def rest(response: httpx.Response, name: str) -> dict[str, list[str]]:
    """What a middleware leaves as it is."""
    left = VARIABLE | ADDED.get(name, set())
    return {
        field: response.headers.get_list(field)
        for field in response.headers
        if field not in left
    }


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_the_rest_stays_as_it_is(layers, version, name, method):
    for kind in POST if method == "POST" else GET:
        bare = layers.ask(version, "none", kind, method)
        response = layers.ask(version, name, kind, method)
        assert response.status_code == bare.status_code, kind
        if shapes_errors(name) and bare.status_code >= 400:
            assert (
                response.headers["Content-Type"] == "application/problem+json"
            ), kind
            if method != "HEAD":
                assert response.json()["status"] == bare.status_code, kind
            continue
        assert rest(response, name) == rest(bare, name), kind
        if kind != "absent":
            assert response.content == bare.content, kind


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", ["none", *NAMES])
@pytest.mark.parametrize("kind", GET)
def test_head_tells_what_get_does(layers, version, name, kind):
    """RFC 9110 section 9.3.2: but for what is known only from the content."""
    got = layers.ask(version, name, kind)
    head = layers.ask(version, name, kind, "HEAD")
    assert (head.status_code, head.content) == (got.status_code, b"")
    left = VARIABLE | {"content-encoding", "etag"}
    if kind == "proxied/none/streamed":
        # Coded where all of it has come with its head.
        left = left | {"vary"}
    fields = [set(response.headers) - left for response in (head, got)]
    assert fields[0] == fields[1]
    for field in ("content-length", "etag", "content-type", "vary"):
        if field in head.headers and field in got.headers:
            assert head.headers[field] == got.headers[field], field


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_what_each_promises(layers, version, method):
    for kind in POST if method == "POST" else GET:
        for name in ("cors", "all"):
            response = layers.ask(version, name, kind, method)
            allowed = response.headers.get_list("Access-Control-Allow-Origin")
            assert allowed == ["*"], (name, kind)
        for name in ("secure", "all"):
            response = layers.ask(version, name, kind, method)
            for field, value in SECURITY.items():
                found = response.headers.get_list(field)
                assert found == [value], (name, kind, field)
        for name in ("id", "all"):
            response = layers.ask(
                version, name, kind, method, headers={"X-Request-Id": "mine"}
            )
            found = response.headers.get_list("X-Request-Id")
            assert found == ["mine"], (name, kind)
        response = layers.ask(version, "timing", kind, method)
        if response.status_code != 413:
            assert len(response.headers.get_list("Server-Timing")) == 1, kind


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", ["basic", "bearer", "all"])
def test_nobody_enters_unknown(layers, version, name):
    for method, kinds in (("GET", GET), ("POST", POST)):
        for kind in kinds:
            if kind == "small" or POST.get(kind, 0) > 100_000:
                continue
            response = layers.clients[version].request(
                method,
                f"{layers.front.url}/{name}/{kind}",
                content=b"x" * POST[kind] if method == "POST" else None,
            )
            assert response.status_code == 401, (method, kind)
            assert "WWW-Authenticate" in response.headers, (method, kind)


@pytest.mark.parametrize("version", [1, 2])
def test_what_has_not_changed_is_not_sent(layers, version):
    for name in ("conditional", "all"):
        for kind in ("tagged", "proxied/none/tagged"):
            tag = layers.ask(version, name, kind).headers["ETag"]
            for method in ("GET", "HEAD"):
                again = layers.ask(
                    version, name, kind, method, headers={"If-None-Match": tag}
                )
                assert (again.status_code, again.content) == (304, b"")
                assert again.headers["ETag"] == tag, (name, kind, method)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", TRANSPARENT)
def test_ranges_and_conditions_pass(layers, version, name):
    for kind in ("plain", "tagged", "files/a.txt", "proxied/none/files/a.txt"):
        for headers in ASKED:
            for method in ("GET", "HEAD"):
                bare, response = [
                    layers.ask(version, one, kind, method, headers=headers)
                    for one in ("none", name)
                ]
                case = (kind, headers, method)
                assert response.status_code == bare.status_code, case
                if "boundary=" not in bare.headers.get("Content-Type", ""):
                    assert rest(response, name) == rest(bare, name), case
                    assert response.content == bare.content, case


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", ["none", "conditional", "cache", "compress", "all"])
@pytest.mark.parametrize("kind", ["files/a.txt", "proxied/none/files/a.txt"])
def test_a_file_that_has_not_changed_is_not_sent(layers, version, name, kind):
    """RFC 9110 section 13.2.2, whoever on the way knows what there is."""
    got = layers.ask(version, name, kind)
    for method in ("GET", "HEAD"):
        for headers in (
            {"If-None-Match": got.headers["ETag"]},
            {"If-Modified-Since": got.headers["Last-Modified"]},
        ):
            again = layers.ask(version, name, kind, method, headers=headers)
            assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_kept_comes_again(layers, version):
    for name in ("cache", "all"):
        for kind in ("kept", "proxied/none/kept"):
            first = layers.ask(version, name, kind)
            for method in ("GET", "HEAD"):
                again = layers.ask(version, name, kind, method)
                assert "hit" in again.headers["Cache-Status"], (name, kind)
                assert again.headers["Age"].isdigit()
                if method == "GET":
                    assert again.content == first.content


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", ["sessions", "all"])
@pytest.mark.parametrize("kind", ["visit", "visit-later"])
def test_sessions_go_on(layers, version, name, kind):
    layers.clients[version].cookies.clear()
    for count in range(1, 4):
        layers.ask(version, name, kind)
        assert layers.ask(version, name, "visit").text == str(2 * count)
    layers.clients[version].cookies.clear()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", ["once", "all"])
@pytest.mark.parametrize("kind", ["echo", "upload", "proxied/none/echo"])
def test_what_is_asked_twice_is_done_once(layers, version, name, kind):
    headers = {"Idempotency-Key": f'"{version}{name}{kind}"'}
    first = layers.ask(version, name, kind, "POST", headers=headers)
    again = layers.ask(version, name, kind, "POST", headers=headers)
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["Content-Type"] == first.headers["Content-Type"]


@pytest.mark.parametrize("version", [1, 2])
def test_each_request_is_counted_once(layers, version):
    for name, page in (("counted", "metrics"), ("all", "all-metrics")):
        before = layers.metric(page)
        asked = 0
        for kind in GET:
            for method in ("GET", "HEAD"):
                layers.ask(version, name, kind, method)
                asked += 1
        for kind in POST:
            layers.ask(version, name, kind, "POST")
            asked += 1
        assert layers.metric(page) - before == asked, name


def test_each_request_is_logged_once(layers):
    for name in ("log", "all"):
        before = len(layers.front.lines())
        for kind in GET:
            layers.ask(1, name, kind)
        for kind in POST:
            layers.ask(1, name, kind, "POST")
        lines = [
            line
            for line in layers.front.lines()[before:]
            if not line.startswith("flare: ")
        ]
        for kind in GET:
            found = [line for line in lines if f"GET /{name}/{kind} " in line]
            assert len(found) == 1, (kind, lines)
        for kind in POST:
            found = [line for line in lines if f"POST /{name}/{kind} " in line]
            assert len(found) == 1, (kind, lines)


@pytest.mark.parametrize("name", ["none", *NAMES])
def test_errors_name_their_request(layers, name):
    for kind in ("failing", "unreadable"):
        before = len(layers.front.lines())
        layers.ask(1, name, kind)
        failures = [
            line
            for line in layers.front.lines()[before:]
            if "handler failed: " in line
        ]
        assert len(failures) == 1, failures
        assert f" [GET /{name}/{kind} HTTP/1.1, from 127.0.0.1:" in failures[0]


@pytest.mark.parametrize("name", ["none", *NAMES])
def test_websockets_pass(layers, name):
    url = f"ws://127.0.0.1:{layers.front.port}/{name}/ws"
    secrets = {
        "basic": "Basic YW5uOnB3", "all": "Basic YW5uOnB3", "bearer": "Bearer t0k"
    }  # fmt: skip
    headers = {"Authorization": secrets[name]} if name in secrets else {}
    with open_socket(url, additional_headers=headers) as socket:
        socket.send("hello")
        assert socket.recv(5) == "hello"
