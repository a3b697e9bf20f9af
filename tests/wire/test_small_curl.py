"""examples/30_small_curl against the real curl: the same arguments, the same
output, the same exit code, and the same requests at the server."""

import gzip
import re
import ssl
import subprocess
import time

import pytest
from raw_server import Connection, RawServer
from toolchain import environment
from wire_programs import built_example

TIMEOUT_S = 20
BINARY = bytes(range(256)) * 5000
OWN = re.compile(r"^(curl/|flare$)")


def answer(head: str, content: bytes, port: int) -> bytes:
    """Answers by path; `/` tells what was asked."""
    path = head.split(" ")[1].split("?")[0]
    fields, code, body = b"", 200, asked(head, content)
    if match := re.fullmatch(r"/status/(\d+)", path):
        code, body = int(match[1]), b"a page about it\n"
    elif match := re.fullmatch(r"/to/(\d+)", path):
        code, body, fields = int(match[1]), b"moved\n", b"Location: /x?y=1\r\n"
    elif path == "/away":
        where = f"Location: http://localhost:{port}/x\r\n"
        code, body, fields = 302, b"", where.encode()
    elif path == "/loop":
        code, body, fields = 302, b"", b"Location: /loop\r\n"
    elif path == "/file":
        code, body, fields = 302, b"", b"Location: gopher://a/\r\n"
    elif path == "/set":
        code, body, fields = 302, b"", b"Location: /x\r\nSet-Cookie: new=1\r\n"
    elif path == "/binary":
        body = BINARY
    elif path == "/gzip":
        body, fields = gzip.compress(BINARY, mtime=0), b"Content-Encoding: gzip\r\n"
    elif path == "/cut":
        return b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
    elif path == "/nonsense":
        return b"HTTP/1.1 2x0 OK\r\n\r\n"
    elif path == "/chunks":
        return (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
        )
    elif path == "/slow":
        time.sleep(3)
    elif path == "/nothing":
        return b""
    start = f"HTTP/1.1 {code} Some Reason\r\nServer: test\r\n".encode()
    length = b"Content-Length: %d\r\n\r\n" % len(body)
    return start + fields + length + (b"" if head.startswith("HEAD") else body)


def asked(head: str, content: bytes) -> bytes:
    """Writes a request down, but for what the two programs may do otherwise."""
    line, *fields = head.rstrip("\r\n").split("\r\n")
    kept = []
    for field in fields:
        name, value = field.split(":", 1)
        name, value = name.lower(), value.strip()
        if name == "accept-encoding":
            value = "gzip" if "gzip" in value else value
        elif name == "cookie":
            value = "; ".join(re.split("; *", value))
        elif name == "user-agent" and OWN.match(value):
            value = "of the program"
        if (name, value) != ("content-length", "0"):
            kept.append(f"{name}: {value}\n")
    return f"{line}\n{''.join(sorted(kept))}\n".encode() + content


@pytest.fixture(scope="module")
def server():
    def handle(connection: Connection) -> None:
        while head := connection.head():
            data = answer(head, connection.body(head), running.port)
            connection.send(data)
            if b"\r\nContent-Length: 10\r\n" in data or not data:
                return

    running = RawServer(handle)
    yield running
    running.close()


@pytest.fixture(scope="module")
def programs():
    """The commands of both programs."""
    own = built_example("30_small_curl")
    return [["curl", "-q", "-sS"], [str(own)]]


def run(command: list[str], stdin: bytes = b"", **variables: str):
    """Runs a program; no proxy of this machine comes between."""
    return subprocess.run(
        command,
        input=stdin,
        env={**environment(), "no_proxy": "*", **variables},
        capture_output=True,
        timeout=TIMEOUT_S,
    )


def run_both(programs, arguments: list[str], stdin: bytes = b"", **variables):
    curl, own = (run([*p, *arguments], stdin, **variables) for p in programs)
    assert own.returncode == curl.returncode, (own.stderr, curl.stderr)
    assert own.stdout == curl.stdout
    assert own.stderr or not own.returncode
    return own


ROWS = [
    # Arguments, with @ for the server's URL; exit code.
    ("@/", 0),
    ("@/a%20b?c=d&e#f", 0),
    ("-L @/to/301", 0),
    ("-L @/to/307", 0),
    ("@/to/301", 0),
    ("-f @/to/301", 0),
    ("-I @/", 0),
    ("-I @/status/404", 0),
    ("-If @/status/404", 22),
    ("-I @/to/302", 0),
    ("-IL @/to/302", 0),
    ("-IL -u me:secret @/away", 0),
    ("-IL --max-redirs 3 @/loop", 47),
    ("-f @/status/200", 0),
    ("-f @/status/400", 22),
    ("--fail @/status/404", 22),
    ("-f @/status/503", 22),
    ("@/status/503", 0),
    ("-sfL @/status/404", 22),
    ("-G -d a=1 -d b=%20 @/", 0),
    ("-G -d a=1 @/?z=0", 0),
    ("-IG -d a=1 @/", 0),
    ("-0 @/", 0),
    ("-0 -d a @/", 0),
    ("--http1.0 @/", 0),
    ("--compressed @/", 0),
    ("--compressed @/gzip", 0),
    ("@/gzip", 0),
    ("@/binary", 0),
    ("@/chunks", 0),
    ("-X PATCH @/", 0),
    ("-XPURGE @/", 0),
    ("--request DELETE @/", 0),
    ("-X PUT -d a=1 @/", 0),
    ("-H X-A:1 -H x-b:2 @/", 0),
    ("-H X-A:1 -H X-A:2 @/", 0),
    ("-H Accept: -H User-Agent: @/", 0),
    ("-H Accept:text/html @/", 0),
    ("-H Host:example.com @/", 0),
    ("-H Empty; @/", 0),
    ("-H Content-Type:text/plain -d abc @/", 0),
    ("-d a=1 -d b=2&c @/", 0),
    ("--data a=1 @/", 0),
    ("-d a=1 -L @/to/301", 0),
    ("-d a=1 -L @/to/302", 0),
    ("-d a=1 -L @/to/303", 0),
    ("-d a=1 -L @/to/307", 0),
    ("-d a=1 -L @/to/308", 0),
    ("-A Agent/1 @/", 0),
    ("-e http://a/b @/", 0),
    ("-b a=b @/", 0),
    ("-b a=b;c=d -b e=f @/", 0),
    ("-b /no/such/file -L @/set", 0),
    ("-L @/set", 0),
    ("-b a=b -L @/to/302", 0),
    ("-u me:se:cret @/", 0),
    ("-u me:secret -L @/to/302", 0),
    ("-u me:secret -L @/away", 0),
    ("-L --max-redirs 0 @/to/302", 47),
    ("-L --max-redirs 1 @/to/302", 0),
    ("-L --max-redirs 4 @/loop", 47),
    ("-L @/loop", 47),
    ("-L @/file", 1),
    ("@/ @/x @/status/404", 0),
    ("-f @/status/404 @/", 0),
    ("@/cut", 18),
    ("@/nothing", 52),
    ("-m 0.2 @/slow", 28),
    ("http://127.0.0.1:1/", 7),
    ("http://no-such-host.invalid/", 6),
    ("nonsense://a/", 1),
    ("-f", 2),
    ("--nonsense @/", 2),
    ("-X", 2),
    ("--max-redirs x @/", 2),
    ("-I -d a @/", 2),
]


@pytest.mark.parametrize("arguments,code", ROWS)
def test_as_curl(programs, server, arguments, code):
    words = [
        word.replace("@/", server.url + "/", 1) if word[:2] == "@/" else word
        for word in arguments.split()
    ]
    assert run_both(programs, words).returncode == code


def test_words_with_spaces(programs, server):
    run_both(programs, ["-H", "X-A:  a b ", "-A", "", server.url])
    run_both(programs, ["-H", "X-A: a:b", "-d", "a b\r\nc", server.url])
    run_both(programs, ["-b", "a=1; b=2", server.url])
    # Without a scheme, and with an option behind the URL.
    run_both(programs, [server.url.removeprefix("http://"), "-f"])


def test_cookies_stay_at_their_host(programs, server):
    """Stricter than curl 7, which takes the cookies of `-b` anywhere."""
    own = run([*programs[1], "-b", "a=b", "-L", server.url + "/away"])
    assert own.returncode == 0 and b"cookie" not in own.stdout
    own = run([*programs[1], "-b", "a=b", "-IL", server.url + "/away"])
    assert own.returncode == 0


def test_content_from_files(programs, server, tmp_path):
    path = tmp_path / "content"
    path.write_bytes(b"one\r\ntwo\n\xfe\xff")
    run_both(programs, ["-d", f"@{path}", "-d", "x", server.url])
    run_both(programs, ["-d", "@-", server.url], stdin=b"from\nstdin")
    own = run([*programs[1], "-d", f"@{path}.no", server.url])
    assert own.returncode == 26 and not own.stdout


def test_cookies_from_a_file(programs, server, tmp_path):
    rows = [
        ("127.0.0.1", "FALSE", "/", "FALSE", "0", "session", "1"),
        ("127.0.0.1", "FALSE", "/", "FALSE", "4000000000", "later", "2"),
        ("127.0.0.1", "FALSE", "/", "FALSE", "1000", "expired", "3"),
        ("127.0.0.1", "FALSE", "/other", "FALSE", "0", "path", "4"),
        ("example.com", "TRUE", "/", "FALSE", "0", "domain", "6"),
        ("#HttpOnly_127.0.0.1", "FALSE", "/", "FALSE", "0", "hidden", "7"),
    ]
    path = tmp_path / "cookies"
    lines = ["# Netscape HTTP Cookie File", "", "nonsense"]
    path.write_text("\n".join([*lines, *("\t".join(row) for row in rows)]))
    found = []
    for program in programs:
        text = run([*program, "-b", str(path), server.url]).stdout.decode()
        line = re.search(r"^cookie: (.*)$", text, re.MULTILINE)[1]
        found.append(sorted(line.split("; ")))
    # The order of cookies of the same path is of no account.
    assert found[0] == found[1] == ["hidden=7", "later=2", "session=1"]


def test_a_pipe_that_closes(programs, server):
    """Output that nobody reads ends the transfer, and not by a signal."""
    for program in programs:
        process = subprocess.Popen(
            [*program, server.url + "/binary"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment(), "no_proxy": "*"},
        )
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(TIMEOUT_S) == 23


@pytest.fixture(scope="module")
def tls_server(certs):
    def handle(connection: Connection) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
        connection.sock = context.wrap_socket(connection.sock, server_side=True)
        if head := connection.head():
            connection.send(answer(head, b"", running.port))

    running = RawServer(handle)
    yield running
    running.close()


def test_the_trust_store(programs, tls_server, certs):
    url = f"https://localhost:{tls_server.port}/"
    store = str(certs / "root.pem")
    trusting = {"SSL_CERT_FILE": store, "CURL_CA_BUNDLE": store}
    assert run_both(programs, [url], **trusting).returncode == 0
    other = str(certs / "stranger.pem")
    doubting = {"SSL_CERT_FILE": other, "CURL_CA_BUNDLE": other}
    assert run_both(programs, [url], **doubting).returncode == 60
    missing = {"SSL_CERT_FILE": "/no", "CURL_CA_BUNDLE": "/no"}
    assert run_both(programs, [url], **missing).returncode == 77
    plain = RawServer(lambda connection: connection.send(b"no TLS here\r\n"))
    url = f"https://127.0.0.1:{plain.port}/"
    assert run_both(programs, [url], **trusting).returncode == 35
    plain.close()
