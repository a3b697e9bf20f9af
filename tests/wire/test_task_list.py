"""The task list of the examples: many clients at once, and its page in a real
browser."""

import http.client
import json
import signal
import threading

import pytest
from browser import Browser
from conftest import ROOT, Server, read_all, wait_until
from wire_programs import built_example

TIMEOUT_S = 10
THREAD_COUNT = 4
TASK_COUNT = 50


def started(port: int = 0) -> Server:
    binary = built_example("31_task_list")
    return Server(binary, [], port=port, cwd=ROOT)


@pytest.fixture
def service():
    server = started()
    yield server
    assert server.is_alive(), "the service died during the test"
    assert server.stop() == 0


@pytest.fixture(scope="module")
def browser():
    with Browser() as running:
        yield running


def ask(service, method: str, path: str, content=None):
    """Asks over a connection of its own; gives status and content."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", service.port, timeout=TIMEOUT_S
    )
    body = None if content is None else json.dumps(content)
    connection.request(
        method, path, body, {"Content-Type": "application/json"}
    )
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text) if text else None


def add(service, title: str) -> int:
    status, task = ask(service, "POST", "/api/tasks", {"title": title})
    assert status == 201
    return task["id"]


class Listener:
    """A client that is told of changes."""

    def __init__(self, service) -> None:
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", service.port, timeout=TIMEOUT_S
        )
        self._connection.request("GET", "/api/events")
        self._response = self._connection.getresponse()
        kind = self._response.headers["Content-Type"]
        assert kind.startswith("text/event-stream")

    def event(self) -> tuple[int, str, dict]:
        """Waits for an event; gives revision, name and task."""
        fields = {}
        while line := self._response.readline().decode().rstrip("\n"):
            name, value = line.split(": ", 1)
            fields[name] = value
        return int(fields["id"]), fields["event"], json.loads(fields["data"])

    def rest(self) -> bytes:
        return self._response.read()

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *_) -> None:
        self._connection.close()


def test_all_clients_see_all_changes_in_order(service):
    def fill(number: int) -> None:
        for index in range(TASK_COUNT):
            add(service, f"{number}.{index}")

    total = THREAD_COUNT * TASK_COUNT
    with Listener(service) as first, Listener(service) as second:
        threads = [
            threading.Thread(target=fill, args=[number])
            for number in range(THREAD_COUNT)
        ]
        for thread in threads:
            thread.start()
        seen = [first.event() for _ in range(total)]
        for thread in threads:
            thread.join()
        assert seen == [second.event() for _ in range(total)]
        assert [revision for revision, _, _ in seen] == list(range(1, total + 1))
        _, page = ask(service, "GET", "/api/tasks")
        assert page["revision"] == total
        assert page["tasks"] == [task for _, _, task in seen]
        ask(service, "DELETE", f"/api/tasks/{page['tasks'][0]['id']}")
        assert first.event() == (total + 1, "removed", page["tasks"][0])


def test_it_stops_in_good_order():
    service = started()
    with Listener(service) as listener:
        add(service, "the last")
        service.process.send_signal(signal.SIGTERM)
        # The stream has its end, which a broken one would lack.
        assert b"the last" in listener.rest()
    assert service.process.wait(TIMEOUT_S) == 0
    assert service.process.stdout.read() == b"stopped\n"
    log = service.stderr().splitlines()
    assert ["POST /api/tasks HTTP/1.1 201" in line for line in log].count(True) == 1
    assert service.stop() == 0


def test_limits_of_content(service):
    with service.connect() as sock:
        sock.sendall(
            b"POST /api/tasks HTTP/1.1\r\nHost: a\r\n"
            b"Content-Type: application/json\r\nContent-Length: 20000\r\n\r\n"
        )
        assert read_all(sock).startswith(b"HTTP/1.1 413 ")
    # What a form of another site could send without asking is not taken.
    connection = http.client.HTTPConnection("127.0.0.1", service.port)
    connection.request(
        "POST", "/api/tasks", '{"title":"x"}', {"Content-Type": "text/plain"}
    )
    assert connection.getresponse().status == 415
    connection.close()


def titles(page) -> list[str]:
    return page.evaluate(
        "[...document.querySelectorAll('#tasks label')]"
        ".map(label => label.textContent.trim())"
    )


def is_live(service, browser):
    page = browser.open(service.url)
    page.wait_for("document.getElementById('state').textContent == 'live'")
    return page


def type_in(page, title: str) -> None:
    page.evaluate(
        f"document.getElementById('title').value = {json.dumps(title)};"
        "document.querySelector('#add button').click()"
    )


def test_two_windows_stay_in_step(service, browser):
    add(service, "was there before")
    first = is_live(service, browser)
    second = is_live(service, browser)
    assert titles(first) == titles(second) == ["was there before"]

    type_in(first, "<b>buy tea</b>")
    for page in (first, second):
        assert wait_until(lambda: len(titles(page)) == 2)
        assert titles(page)[1] == "<b>buy tea</b>"

    second.evaluate("document.querySelector('#task-2 input').click()")
    for page in (first, second):
        page.wait_for("document.querySelector('#task-2 .done') != null")
        page.wait_for("document.querySelector('#task-2 input').checked")
    assert ask(service, "GET", "/api/tasks/2")[1]["done"]

    # Another client than the two.
    ask(service, "PATCH", "/api/tasks/1", {"title": "renamed"})
    for page in (first, second):
        assert wait_until(lambda: titles(page)[0] == "renamed")

    first.evaluate("document.querySelector('#task-1 button').click()")
    for page in (first, second):
        page.wait_for("document.getElementById('task-1') == null")
    first.close()
    second.close()


def test_the_page_says_what_is_refused(service, browser):
    page = is_live(service, browser)
    type_in(page, "   ")
    page.wait_for("!document.getElementById('problem').hidden")
    assert "title must not be blank" in page.text()
    type_in(page, "tea")
    page.wait_for("document.getElementById('problem').hidden")
    assert wait_until(lambda: titles(page) == ["tea"])
    page.close()


def test_the_page_catches_up_after_a_restart(browser):
    service = started()
    add(service, "forgotten")
    page = is_live(service, browser)
    assert service.stop() == 0
    page.wait_for("document.getElementById('state').textContent == 'connecting'")
    # Tasks are kept in memory: the new process has a list of its own.
    again = started(service.port)
    add(again, "new")
    page.wait_for("document.getElementById('state').textContent == 'live'")
    assert titles(page) == ["new"]
    page.close()
    assert again.stop() == 0
