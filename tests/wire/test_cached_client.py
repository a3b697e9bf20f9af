"""A client with a private cache, beside a server that counts."""

import base64
import gzip
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from toolchain import environment
from wire_programs import built

TIMEOUT_S = 20


class Origin(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.command, self.headers.get("If-None-Match")))
        path, _, control = self.path.partition("?")
        if self.command == "POST" and path in self.server.moves:
            status, target = self.server.moves[path]
            self.answer(status, {"Location": target})
        elif path.startswith(("/by/", "/own/", "/digest/")):
            self.answer_about(path, control)
        elif path == "/moved":
            self.answer(302, {"Location": "/there", "Cache-Control": "max-age=60"})
        elif path == "/coded":
            fields = {"Content-Encoding": "gzip", "Cache-Control": control, "ETag": '"v1"'}
            is_same = self.headers.get("If-None-Match") == '"v1"'
            self.answer(304 if is_same else 200, fields, gzip.compress(b"all", mtime=0))
        elif path == "/moves" and len(self.server.asked) > 1:
            self.answer(302, {"Location": "/there"})
        elif self.server.fails:
            self.answer(503, {}, b"down")
        elif self.headers.get("If-None-Match") == '"v1"':
            fields = {"ETag": '"v1"', "Cache-Control": control or "max-age=60"}
            if path == "/secret":
                fields["Cache-Control"] = "no-store"
            self.answer(304, fields)
        else:
            fields = {"Cache-Control": control or "max-age=60", "ETag": '"v1"'}
            if path == "/vary":
                fields["Vary"] = "Accept-Language"
            if path == "/cookie":
                fields["Vary"] = "Cookie"
            if path == "/failing":
                self.server.fails = True
            self.answer(200, fields, f"call {len(self.server.asked)}".encode())

    do_POST = do_GET

    def answer_about(self, path: str, control: str):
        """Tells what a field of the request was; below /by/ and /digest/ Vary
        names it."""
        _, kind, name = path.split("/", 2)
        value = self.headers.get(name)
        if kind == "digest" and value is None:
            challenge = 'Digest realm="r", nonce="n", qop="auth"'
            self.answer(401, {"WWW-Authenticate": challenge})
            return
        fields = {"Cache-Control": control or "max-age=60"}
        if kind != "own":
            fields["Vary"] = name
        if name == "Cookie":
            fields["Set-Cookie"] = f"seen={len(self.server.asked)}"
        self.answer(200, fields, shown(value).encode())

    def answer(self, status: int, fields: dict[str, str], body: bytes = b""):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def shown(value: str | None) -> str:
    """Shows the value of a field, and of credentials the user name."""
    scheme, _, rest = (value or "-").partition(" ")
    if scheme == "Basic":
        return base64.b64decode(rest).decode().partition(":")[0]
    if scheme == "Digest":
        return re.search('username="(.*?)"', rest)[1]
    return value or "-"


@pytest.fixture
def origin():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    server.asked = []
    server.fails = False
    server.moves = {}
    server.daemon_threads = True
    # It looks whether it is to end every so many seconds.
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def ask(origin, *requests: str) -> list[str]:
    """Sends requests by one client; gives a line for each, and its figures."""
    url = f"http://127.0.0.1:{origin.server_address[1]}"
    result = subprocess.run(
        [built("cached_client", "clients"), url, *requests],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=TIMEOUT_S,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_fresh_responses_are_given_again(origin):
    lines = ask(origin, "GET /a", "GET /a", "GET /b", "GET /a?private,max-age=9")
    assert lines[0] == "200 - call 1"
    assert lines[1].endswith(" call 1") and lines[1].split()[1] in ("0", "1", "2")
    assert lines[2] == "200 - call 2"
    assert lines[3] == "200 - call 3"
    assert lines[4] == "hits 1 revalidated 0"
    assert len(origin.asked) == 3


def test_private_is_kept(origin):
    path = "GET /a?private,max-age=60"
    assert ask(origin, path, path)[-1] == "hits 1 revalidated 0"


def test_validation(origin):
    lines = ask(origin, "GET /a?no-cache", "GET /a?no-cache")
    assert lines[1].endswith("call 1")
    assert lines[2] == "hits 0 revalidated 1"
    assert origin.asked == [("GET", None), ("GET", '"v1"')]


def test_what_a_304_wants_kept_no_more(origin):
    # RFC 9111 sections 5.2.2.5 and 4.3.4: what it says is what is stored.
    lines = ask(origin, *["GET /secret?no-cache"] * 3)
    assert [line.split(" ", 2)[2] for line in lines[:3]] == ["call 1", "call 1", "call 3"]
    assert origin.asked == [("GET", None), ("GET", '"v1"'), ("GET", None)]


@pytest.mark.parametrize(
    ("second", "count"),
    [
        ("GET /a Cache-Control: no-cache", 2),
        ("GET /a Range: bytes=0-1", 2),
        ('GET /a If-None-Match: "v0"', 2),
        ("GET /a Cache-Control: max-stale=5", 1),
    ],
)
def test_requests_of_their_own_kind(origin, second, count):
    ask(origin, "GET /a", second)
    assert len(origin.asked) == count


def test_vary(origin):
    asked = [f"GET /vary Accept-Language: {name}" for name in ("de", "en", "DE")]
    lines = ask(origin, *asked)
    assert [line.split(" ", 2)[2] for line in lines[:3]] == ["call 1", "call 2", "call 1"]


LOGINS = ["auth=alice", "auth=bob", "", "url=carol", "client=bob", "auth=alice"]
USERS = ["alice", "bob", "-", "carol", "bob", "alice"]

# Requests to one resource, what each is to be answered with, and how many of
# them the server is to see.
WHO_ASKS = {
    "9111-4.1 credentials, however they are given": (
        "/by/Authorization", LOGINS, USERS, 4,
    ),
    "9111-4.1 fields of the client": (
        "/by/Accept-Language",
        ["", "client=german", "Accept-Language: de", "", "client=german"],
        ["-", "de", "de", "-", "de"], 2,
    ),
    "9111-4.1 fields that hooks add": (
        "/by/X-Tenant",
        ["client=red", "client=blue", "", "X-Tenant: red", "client=blue"],
        ["red", "blue", "-", "red", "blue"], 3,
    ),
    "9111-4.1 the login of a digest, whatever its answer": (
        "/digest/Authorization",
        ["digest=alice", "digest=bob", "digest=alice"],
        ["alice", "bob", "alice"], 4,
    ),
    "9111-4.1 cookies of the jar": (
        "/by/Cookie",
        ["client=browser", "client=browser", "client=browser", "", ""],
        ["-", "seen=1", "seen=2", "-", "-"], 3,
    ),
    "9110-7.1 the target URI has the Host that is sent": (
        "/own/Host",
        ["Host: a.test", "Host: b.test", "Host: A.test:80"],
        ["a.test", "b.test", "a.test"], 2,
    ),
    "9111-3.5 credentials, and no directive": (
        "/own/Authorization", LOGINS, USERS, 4,
    ),
    "9111-3.5 private is for one": (
        "/own/Authorization?private,must-revalidate,max-age=60",
        LOGINS, USERS, 4,
    ),
    "9111-3.5 public": (
        "/own/Authorization?public,max-age=60", LOGINS, ["alice"] * 6, 1,
    ),
    "9111-3.5 s-maxage": (
        "/own/Authorization?s-maxage=60,max-age=60", LOGINS, ["alice"] * 6, 1,
    ),
    "9111-3.5 must-revalidate": (
        "/own/Authorization?must-revalidate,max-age=60",
        LOGINS, ["alice"] * 6, 1,
    ),
    "9111-3.5 no credentials are not those of anybody": (
        "/own/Authorization", ["", "auth=alice", ""], ["-", "alice", "-"], 2,
    ),
    "9111-5.2.1.4 fields of the client": (
        "/own/X", ["", "client=careful"], ["-", "-"], 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", WHO_ASKS)
def test_who_asks(origin, rule):
    """What a request is answered with is decided by the request as it is sent."""
    path, requests, expected, count = WHO_ASKS[rule]
    lines = ask(origin, *[f"GET {path} {request}".rstrip() for request in requests])
    got = [line.split(" ", 2)[2] for line in lines if line.startswith("200 ")]
    wrong = sum(one != other for one, other in zip(got, expected, strict=True))
    assert wrong == 0, f"{wrong} of {len(got)} got another's content: {got}"
    assert len(origin.asked) == count


def test_hooks_are_told_of_what_is_kept(origin):
    lines = ask(origin, *["GET /by/X-Tenant client=red"] * 2)
    told = ["before 1", "after 1 200"]
    assert lines[:2] + lines[3:5] == told * 2
    assert lines[2] == "200 - red" and lines[5].endswith(" red")


def test_conditions_go_out_behind_hooks(origin):
    lines = ask(origin, *["GET /a?no-cache client=red"] * 2)
    assert lines[-1] == "hits 0 revalidated 1"
    assert origin.asked == [("GET", None), ("GET", '"v1"')]


def test_an_own_host_is_invalidated(origin):
    get, other = "GET /a Host: a.test", "GET /a Host: b.test"
    lines = ask(origin, get, other, "POST /a Host: a.test", get, other)
    assert lines[-1] == "hits 1 revalidated 1"


def test_unsafe_methods(origin):
    lines = ask(origin, "GET /a", "POST /a", "GET /a", "GET /a")
    assert [method for method, _ in origin.asked] == ["GET", "POST", "GET"]
    assert lines[-1] == "hits 1 revalidated 1"
    assert lines[2].endswith("call 1"), "validated, not fetched again"


@pytest.mark.parametrize(
    "moves,count",
    [
        ({"/a": (307, "/b"), "/b": (308, "/c")}, 3),
        ({"/a": (303, "/b")}, 2),
        ({"/a": (307, "/b"), "/b": (500, "/c")}, 1),
    ],
)
def test_unsafe_methods_behind_redirections(origin, moves, count):
    """RFC 9111 section 4.4: what has answered an unsafe request, and not with an error,
    is validated the next time, wherever it led."""
    origin.moves = moves
    gets = [f"GET /{name}" for name in "abc"]
    lines = ask(origin, *gets, "POST /a", *gets)
    assert lines[-1] == f"hits {3 - count} revalidated {count}"


def test_redirections_are_followed_each_time(origin):
    lines = ask(origin, "GET /moved", "GET /moved")
    assert lines[0] != lines[1]
    assert len(origin.asked) == 4


@pytest.mark.parametrize("control", ["max-age=60", "no-cache"])
def test_what_is_kept_says_that_it_is_decoded(origin, control):
    """Whoever passes it on has to know that its Content-Encoding holds no more."""
    lines = ask(origin, *[f"GET /coded?{control}"] * 2)
    assert [line.split(" ", 2)[2] for line in lines[:2]] == ["all (decoded)"] * 2
    assert lines[-1] in ("hits 1 revalidated 0", "hits 0 revalidated 1")


@pytest.mark.parametrize("client", ["", " client=red"])
def test_conditions_are_for_the_url_that_was_kept(origin, client):
    """RFC 9110 section 15.4: those of a cache do not go where a redirection leads,
    where 304 would be about what nobody has."""
    lines = ask(origin, *[f"GET /moves?no-cache{client}"] * 2)
    answers = [line for line in lines if line[:3].isdigit()]
    assert answers == ["200 - call 1", "200 - call 3"]
    assert origin.asked == [("GET", None), ("GET", '"v1"'), ("GET", None)]


def test_stale_in_place_of_an_error(origin):
    path = "GET /failing?max-age=0,stale-if-error=60"
    lines = ask(origin, path, path)
    assert lines[1].startswith("200 ") and lines[1].endswith("call 1")
    assert len(origin.asked) == 2
