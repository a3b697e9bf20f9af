"""`flare dev`, with a compiler of the tests' own, which is quick, and real programs."""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commands import ROOT, built_server
from ports import claim_port
from swap_load import SwapLoad

from mojo_flare.dev.build import diagnostics
from mojo_flare.dev.guess import guess_addresses, parse_address
from mojo_flare.dev.page import PageRequest, State, answer, page
from mojo_flare.dev.watch import stamps

sys.path.append(str(ROOT / "tests" / "wire"))

DEADLINE_S = 20

COMPILER = """#!{python}
import pathlib, sys
source, output = sys.argv[-3], pathlib.Path(sys.argv[-1])
assert sys.argv[1] == "build" and "FLARE_DEV=1" in sys.argv, sys.argv
pathlib.Path(sys.argv[0]).with_name("arguments").write_text("\\n".join(sys.argv))
text = pathlib.Path(source).read_text()
if "broken" in text:
    print(source + ":3:5: error: use of unknown declaration 'broken'")
    print("    broken")
    print("    ^~~~~~")
    sys.exit(1)
output.write_text("#!/bin/sh\\n" + text.partition("run: ")[2])
output.chmod(0o755)
"""


@pytest.fixture(scope="session")
def server() -> Path:
    """The server, built as `flare dev` builds."""
    return built_server()


class Dev:
    """A running `flare dev`."""

    def __init__(self, folder: Path, text: str, *options: str) -> None:
        self.source = folder / "app.mojo"
        self.write(text)
        self.log = folder / "log"
        root = folder / "modular"
        (root / "bin").mkdir(parents=True)
        (root / "lib" / "mojo").mkdir(parents=True)
        compiler = root / "bin" / "mojo"
        compiler.write_text(COMPILER.format(python=sys.executable))
        compiler.chmod(0o755)
        driver = ROOT / "tests" / "cli" / "run_dev.py"
        self.process = subprocess.Popen(
            [sys.executable, str(driver), str(root), str(self.source), *options],
            stdout=open(self.log, "w"),
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        self.page = self.told("state and errors at ").rstrip("/")

    def write(self, text: str) -> None:
        self.source.write_text(text)

    def text(self) -> str:
        return self.log.read_text()

    def told(self, what: str, count: int = 1) -> str:
        """Waits until a line has `what` so often; gives what follows in it."""
        wait(lambda: self.text().count(what) >= count, lambda: f"{what!r}\n{self.text()}")
        return self.text().split(what)[count].split("\n")[0]

    def served(self, count: int = 1) -> tuple[str, int]:
        where = self.told("serving http://", count).split(" ")[0]
        return where.split(":")[0], int(where.split(":")[1])

    def get(self, path: str = "/", accept: str = "text/plain") -> tuple[int, str]:
        """Asks for the state page."""
        return get(self.page.removeprefix("http://"), path, accept)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            assert self.process.wait(DEADLINE_S) == 0, self.text()


def wait(holds: Callable[[], bool], about: Callable[[], str]) -> None:
    until = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < until, about()
        time.sleep(0.02)


def get(place: str, path: str = "/", accept: str = "*/*") -> tuple[int, str]:
    connection = http.client.HTTPConnection(place, timeout=DEADLINE_S)
    connection.request("GET", path, headers={"Accept": accept})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def is_refused(port: int) -> bool:
    """Tells whether nobody listens at a port any more.

    A connection that is made while the listener closes is reset.
    """
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except (ConnectionRefusedError, ConnectionResetError):
        return True
    return False


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Callable[..., Dev]]:
    running: list[Dev] = []

    def start(text: str, *options: str) -> Dev:
        running.append(Dev(tmp_path, text, *options))
        return running[-1]

    yield start
    for each in running:
        each.stop()


def program(server: Path, version: str, *arguments: object) -> str:
    return f"run: exec {server} {version} {' '.join(map(str, arguments or (0,)))}\n"


@pytest.mark.parametrize("mode", ["one", "threads", "processes"])
def test_swaps_lose_no_request(dev, server, mode):
    running = dev(program(server, "v0", 0, mode))
    host, port = running.served()
    with SwapLoad(host, port) as load:
        for number in range(1, 4):
            running.write(program(server, f"v{number}", 0, mode))
            assert running.served(number + 1) == (host, port)
            wait(lambda: f"v{number}" in load.versions, running.text)
    assert load.failures == []
    assert load.versions == ["v0", "v1", "v2", "v3"]
    assert load.answered > 100 and load.reopened >= 3


def test_a_request_under_way_is_finished_by_the_old_version(dev, server):
    running = dev(program(server, "v0"))
    host, port = running.served()
    connection = http.client.HTTPConnection(host, port, timeout=DEADLINE_S)
    connection.request("GET", "/slow")
    running.write(program(server, "v1"))
    assert connection.getresponse().read() == b"v0"
    running.served(2)
    wait(lambda: get(f"{host}:{port}")[1] == "v1", running.text)


def test_packages_of_the_program_are_looked_for_behind_the_library(dev, server, tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    running = dev(program(server, "v0"), f"include={folder}")
    running.served()
    words = (tmp_path / "modular" / "bin" / "arguments").read_text().splitlines()
    places = [words[at + 1] for at, word in enumerate(words) if word == "-I"]
    assert places == [str(ROOT), str(folder)]


def test_a_broken_edit_is_shown_and_the_old_version_goes_on(dev, server):
    running = dev(program(server, "v0"))
    host, port = running.served()
    running.write("broken")
    running.told("the program does not compile")
    assert "error: use of unknown declaration 'broken'" in running.text()
    status, text = running.get(accept="text/html")
    assert status == 200 and "unknown declaration &#x27;broken&#x27;" in text
    assert '"bad": true' in running.get("/__flare/state")[1]
    assert get(f"{host}:{port}") == (200, "v0")
    running.write(program(server, "v2"))
    assert running.served(2) == (host, port)
    assert '"bad": false' in running.get("/__flare/state")[1]


def test_a_program_broken_from_the_start_has_a_page_at_its_address(dev, server):
    port = claim_port()
    place = f"127.0.0.1:{port}"
    running = dev(f"SocketAddr.localhost({port})\nbroken")
    running.told("the program does not compile")
    status, text = get(place, accept="text/html")
    assert status == 503 and "unknown declaration" in text and "<script>" in text
    status, text = get(place, "/api")
    assert status == 503 and "error: use of unknown declaration 'broken'" in text
    running.write(program(server, "v1", port))
    assert running.served() == ("127.0.0.1", port)
    assert get(place) == (200, "v1")


def test_a_browser_follows_the_program(dev, server):
    """The page at the program's address gives way to the program's own, and a
    page with the script shows the next error over itself."""
    from browser import Browser

    port = claim_port()
    running = dev(f"SocketAddr.localhost({port})\nbroken")
    running.told("the program does not compile")
    with Browser() as browser:
        page = browser.open(f"http://127.0.0.1:{port}/")
        page.wait_for("document.title.startsWith('The program does not compile')")
        assert page.evaluate("document.querySelectorAll('section.error').length") == 1
        running.write(program(server, "v1", port))
        page.wait_for("document.body?.innerText === 'v1'")
        page.evaluate(
            "document.head.appendChild(Object.assign(document.createElement('script'),"
            f" {{src: '{running.page}/__flare/overlay.js'}})).src"
        )
        running.write("broken")
        page.wait_for("(document.querySelector('body > pre:last-child') || {})"
                      ".textContent.includes('unknown declaration')")
        running.write(program(server, "v2", port))
        page.wait_for("document.body?.innerText === 'v2'")


def test_an_edit_may_change_the_address(dev, server):
    first, second = claim_port(), claim_port()
    running = dev(program(server, "v0", first))
    running.served()
    running.write(program(server, "v1", second))
    assert running.served(2)[1] == second
    assert get(f"127.0.0.1:{second}") == (200, "v1")
    wait(lambda: is_refused(first), running.text)


def test_a_program_that_ends_before_it_serves_leaves_the_old_one(dev, server):
    running = dev(program(server, "v0"))
    host, port = running.served()
    running.write("run: echo no such table >&2; exit 7\n")
    running.told("the program ended with exit code 7 before it served")
    wait(lambda: "no such table" in running.get()[1], running.text)
    assert get(f"{host}:{port}") == (200, "v0")


def test_one_that_does_not_get_ready_is_given_up(dev, server):
    running = dev(program(server, "v0"), "ready_s=0.5")
    host, port = running.served()
    running.write("run: exec sleep 60\n")
    running.told("did not serve within")
    assert get(f"{host}:{port}") == (200, "v0")


def test_a_crash_shows_the_page_and_the_next_edit_brings_it_back(dev, server):
    running = dev(program(server, "v0"))
    host, port = running.served()
    with pytest.raises((OSError, http.client.HTTPException)):
        get(f"{host}:{port}", "/crash")
    running.told("was ended by SIGILL")
    wait(lambda: get(f"{host}:{port}")[0] == 503, running.text)
    running.write(program(server, "v1"))
    assert running.served(2) == (host, port)
    assert get(f"{host}:{port}") == (200, "v1")


def test_one_that_crashes_later_is_started_again(dev, server):
    running = dev(program(server, "v0"), "stable_s=0")
    host, port = running.served()
    with pytest.raises((OSError, http.client.HTTPException)):
        get(f"{host}:{port}", "/crash")
    running.told("starting it again")
    # The connection waits in the socket, which is still there.
    assert get(f"{host}:{port}") == (200, "v0")


def test_a_program_without_a_server_is_stopped_and_started(dev):
    running = dev("run: echo first $$; exec sleep 60\n")
    first = int(running.told("first "))
    running.write("run: echo second; exec sleep 60\n")
    running.told("second")
    wait(lambda: not Path(f"/proc/{first}").exists(), running.text)


def test_nothing_is_left_behind(dev, server, tmp_path):
    own = tmp_path / "server"  # others may run the same program now
    shutil.copy2(server, own)
    running = dev(program(own, "v0", 0, "processes"))
    host, port = running.served()
    running.stop()
    with pytest.raises(OSError):
        socket.create_connection((host, port), timeout=1)
    assert str(own) not in subprocess.run(
        ["ps", "ax", "-o", "args"], capture_output=True, text=True
    ).stdout.replace("pytest", "")


def test_a_second_signal_does_not_wait_for_what_is_under_way(dev, server):
    running = dev(program(server, "v0"))
    host, port = running.served()
    with socket.create_connection((host, port)) as client:
        client.sendall(b"GET /minute HTTP/1.1\r\nHost: a\r\n\r\n")
        running.process.send_signal(signal.SIGTERM)
        running.told("a second Ctrl-C does not wait")
        assert running.process.poll() is None
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(5) == 0


def test_a_killed_dev_takes_its_program_with_it(dev, server):
    if sys.platform != "linux":
        pytest.skip("the kernel does that on Linux alone")
    running = dev(program(server, "v0"))
    host, port = running.served()
    running.process.kill()
    running.process.wait()
    wait(lambda: is_refused(port), running.text)


@pytest.mark.parametrize(
    ("line", "addresses"),
    [
        ("HttpServer.bind(SocketAddr.localhost(8080))", [("127.0.0.1", 8080)]),
        ("SocketAddr.any( 8_081 )", [("0.0.0.0", 8081)]),
        ('SocketAddr.parse("[::1]:80")', [("::1", 80)]),
        ("# SocketAddr.localhost(8080)", []),
        ("SocketAddr.localhost(0)", []),
        ("SocketAddr.localhost(port)", []),
        ("SocketAddr.localhost(99999)", []),
    ],
)
def test_addresses_are_found_in_the_source(tmp_path, line, addresses):
    source = tmp_path / "app.mojo"
    source.write_text(line)
    assert guess_addresses(source) == addresses


@pytest.mark.parametrize(
    ("arguments", "environment", "addresses"),
    [
        ([], {}, [("127.0.0.1", 8080)]),
        (["--port", "81"], {"APP_PORT": "82"}, [("127.0.0.1", 81)]),
        (["--port=81", "--address=::1"], {}, [("::1", 81)]),
        ([], {"APP_PORT": "82", "APP_ADDRESS": "0.0.0.0"}, [("0.0.0.0", 82)]),
        ([], {"PORT": "82"}, [("127.0.0.1", 8080)]),
        (["--port", "0"], {}, []),
        (["--port", "many"], {}, []),
    ],
)
@pytest.mark.parametrize("reader", ["read_settings", "settings_or_exit"])
def test_addresses_that_settings_give(tmp_path, reader, arguments, environment, addresses):
    source = tmp_path / "main.mojo"
    source.write_text(f'var settings = {reader}[Settings]("APP_").take()')
    assert guess_addresses(source, arguments, environment) == []
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "settings.mojo").write_text("var server: ServerSettings")
    assert guess_addresses(source, arguments, environment) == addresses


@pytest.mark.parametrize("text", ["", "8080", "a:b", ":80", "h:70000", "h:-1"])
def test_what_is_no_address(text):
    assert parse_address(text) is None


def test_folders_that_are_not_watched(tmp_path):
    for name in (".git", "build", "node_modules", "src"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.mojo").write_text("")
    (tmp_path / "notes.txt").write_text("")
    assert list(stamps([tmp_path])) == [str(tmp_path / "src" / "a.mojo")]


def test_what_the_compiler_says_is_taken_apart():
    said = "a.mojo:3:5: error: no such <name>\n    name\n    ^\na.mojo:1:1: note: here"
    first, second = diagnostics(said)
    assert (first.place, first.kind, first.text) == ("a.mojo:3:5", "error", "no such <name>")
    assert first.excerpt == ["    name", "    ^"]
    assert (second.kind, second.excerpt) == ("note", [])
    shown = page(State(title="broken", is_bad=True, diagnostics=[first]))
    assert "no such &lt;name&gt;" in shown and "<name>" not in shown


@pytest.mark.parametrize(
    ("path", "accept", "is_own", "status", "kind"),
    [
        ("/", "text/html", True, "200", "text/html"),
        ("/", "*/*", True, "200", "text/plain"),
        ("/__flare/overlay.js", "*/*", True, "200", "text/javascript"),
        ("/other", "*/*", True, "404", "text/plain"),
        ("/any/path?q", "text/html", False, "503", "text/html"),
        ("/__flare/state", "*/*", False, "200", "application/json"),
    ],
)
def test_what_the_page_answers(path, accept, is_own, status, kind):
    request = PageRequest("GET", path, accept, "localhost:7007")
    reply = answer(State(), request, is_own)
    assert reply.status.startswith(status) and reply.media_type.startswith(kind)
    assert b"Flare-Dev: 1\r\n" in reply.octets(True)
    assert reply.octets(False).endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        ("http://127.0.0.1:8080", True),
        ("http://shop.localhost:8080", True),
        ("http://[::1]:8080", True),
        ("https://example.com", False),
        ("http://localhost.example.com", False),
        ("null", False),
    ],
)
def test_who_may_read_the_state_from_elsewhere(origin, is_allowed):
    request = PageRequest("GET", "/__flare/state", "*/*", "127.0.0.1:7007", origin)
    octets = answer(State(), request, True).octets(True)
    assert (f"Access-Control-Allow-Origin: {origin}".encode() in octets) is is_allowed
    assert b"Allow-Origin" not in answer(State(), request, False).octets(True)


def test_the_page_has_no_other_name():
    """A name that leads here by way of somebody else's DNS (rebinding)."""
    request = PageRequest("GET", "/", "text/html", "example.com:7007")
    assert answer(State(text="secret"), request, True).status.startswith("421")


def test_heads_are_read():
    head = "GET /a HTTP/1.1\r\nHOST: a\r\nAccept: text/html\r\nOrigin: b\r\n\r\n"
    assert PageRequest.of(head) == PageRequest("GET", "/a", "text/html", "a", "b")
    assert PageRequest.of("nonsense\r\n\r\n").target == "/"
