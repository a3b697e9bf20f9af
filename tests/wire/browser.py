"""A real browser, for the tests of what pages meet: headless Chromium, driven
through its DevTools protocol.

    with Browser() as browser:
        page = browser.open(server.url)
        page.wait_for("document.title == 'done'")
        assert page.evaluate("fetch('/x').then(answer => answer.text())") == "x"

Tests that use it are skipped where the browser is not installed.
"""

import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome")
START_TIMEOUT_S = 60
CALL_TIMEOUT_S = 20
STOP_TIMEOUT_S = 10
POLL_S = 0.02
SWITCHES = [
    "--headless=new",
    # Tests run as root in containers, where neither of these works.
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-first-run",
    "--no-proxy-server",
    # It is to ask nothing but what the test's page asks.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--remote-debugging-port=0",
]


def executable() -> str:
    """Finds the browser, or skips the test that needs it."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    pytest.skip("Chromium is not here: apt-get install chromium")


# While one document goes and the next comes there is none to ask.
BETWEEN_DOCUMENTS = (
    "Cannot find default execution context",
    "Execution context was destroyed",
    "Inspected target navigated or closed",
)


class NoDocument(RuntimeError):
    """The page was asked between two documents."""


class ScriptError(AssertionError):
    """What a page's script threw."""


class Page:
    """A tab of the browser."""

    def __init__(self, socket_url: str) -> None:
        self._held = contextlib.ExitStack()
        self._socket = self._held.enter_context(
            connect(socket_url, proxy=None, max_size=None)
        )
        self._next_id = 0

    def evaluate(self, script: str, timeout_s: float = CALL_TIMEOUT_S):
        """Gives the value of an expression, awaited if it is a promise."""
        answer = self._call(
            "Runtime.evaluate",
            timeout_s,
            expression=script,
            awaitPromise=True,
            returnByValue=True,
        )
        if thrown := answer.get("exceptionDetails"):
            error = thrown.get("exception", {}).get("description")
            raise ScriptError(error or json.dumps(thrown))
        return answer["result"].get("value")

    def wait_for(self, script: str, timeout_s: float = CALL_TIMEOUT_S) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + timeout_s
        while not (found := self._value_now(script)):
            if time.monotonic() > end:
                text = self.text()
                raise AssertionError(
                    f"`{script}` is still {found!r} after {timeout_s} s;"
                    f" the page says {text!r}"
                )
            time.sleep(POLL_S)

    def _value_now(self, script: str):
        """Gives an expression's value, nothing where there is no document."""
        try:
            return self.evaluate(script)
        except NoDocument:
            return None

    def text(self) -> str:
        """Gives what a reader sees."""
        return self.evaluate("document.body ? document.body.innerText : ''")

    def prefer(self, colour_scheme: str) -> None:
        """Has the reader prefer `light` or `dark`."""
        feature = {"name": "prefers-color-scheme", "value": colour_scheme}
        self._call("Emulation.setEmulatedMedia", CALL_TIMEOUT_S, features=[feature])

    def close(self) -> None:
        """Closes the tab, as its user would."""
        self._call("Page.close", CALL_TIMEOUT_S)
        self._held.close()

    def _call(self, method: str, timeout_s: float, **parameters) -> dict:
        self._next_id += 1
        call = {"id": self._next_id, "method": method, "params": parameters}
        self._socket.send(json.dumps(call))
        end = time.monotonic() + timeout_s
        while True:
            left_s = max(0.0, end - time.monotonic())
            answer = json.loads(self._socket.recv(timeout=left_s))
            if answer.get("id") == self._next_id:
                break
        if "error" in answer:
            message = answer["error"]["message"]
            between = message.startswith(BETWEEN_DOCUMENTS)
            raise (NoDocument if between else RuntimeError)(f"{method}: {message}")
        return answer["result"]


class Browser:
    """A running browser with a profile of its own; ends with its `with`."""

    def __init__(self, *switches: str) -> None:
        command = [executable(), *SWITCHES, *switches]
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={self._profile.name}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Its processes are a group, which is ended as one.
            start_new_session=True,
        )
        try:
            self._port = self._await_port()
        except BaseException:
            self.stop()
            raise

    def open(self, url: str) -> Page:
        """Opens a page, and waits until it is loaded."""
        control = http.client.HTTPConnection(
            "127.0.0.1", self._port, timeout=CALL_TIMEOUT_S
        )
        with contextlib.closing(control):
            control.request("PUT", "/json/new?" + quote(url, safe=""))
            answer = json.loads(control.getresponse().read())
        page = Page(answer["webSocketDebuggerUrl"])
        page.wait_for(
            "location.href != 'about:blank' && document.readyState == 'complete'"
        )
        where = page.evaluate("location.href")
        assert not where.startswith("chrome-error:"), f"{url} cannot be opened"
        return page

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(STOP_TIMEOUT_S)
        self._profile.cleanup()

    def _await_port(self) -> int:
        """Reads the port that the browser writes down once it listens."""
        note = Path(self._profile.name) / "DevToolsActivePort"
        end = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(
                    f"Chromium ended with {self._process.returncode}"
                )
            with contextlib.suppress(OSError, ValueError, IndexError):
                return int(note.read_text().splitlines()[0])
            time.sleep(POLL_S)
        raise RuntimeError(f"Chromium did not start in {START_TIMEOUT_S} s")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_) -> None:
        self.stop()
