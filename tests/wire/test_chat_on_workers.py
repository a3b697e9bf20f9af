"""The chat room of the examples: two windows of a real browser at two workers."""

import json
import os
import signal
import subprocess

import pytest
from browser import Browser, Page, executable
from conftest import ROOT, wait_until
from processes import next_line
from redis_servers import RedisServer
from toolchain import environment
from wire_programs import built_example

START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 40
# A worker comes back, and the page asks again after some seconds at most.
BACK_TIMEOUT_S = 40
RELOADS_MAX = 60
IS_LIVE = "document.getElementById('state')?.classList.contains('live')"


@pytest.fixture(params=["shared memory", "redis-server"])
def url(request, tmp_path):
    """The room's address, by either backplane."""
    # Skips before a program is begun that would be stopped before it serves.
    executable()
    redis = None
    options = ["--port", "0"]
    if request.param == "redis-server":
        redis = RedisServer(tmp_path / "redis")
        options += ["--redis", redis.url]
    process = subprocess.Popen(
        [str(built_example("35_chat_on_workers")), *options],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        line = next_line(process, START_TIMEOUT_S)
        assert line.startswith("listening on "), line
        yield "http://" + line.removeprefix("listening on ").strip()
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_TIMEOUT_S) == 0
    finally:
        process.kill()
        process.wait()
        if redis:
            redis.stop()


def come_in(browser: Browser, url: str, name: str) -> Page:
    page = browser.open(url)
    page.evaluate(
        f"document.getElementById('name').value = {json.dumps(name)};"
        "document.querySelector('#door button').click()"
    )
    page.wait_for(IS_LIVE)
    return page


def worker(page: Page) -> int:
    page.wait_for(IS_LIVE)
    return page.evaluate("worker")


def say(page: Page, text: str) -> None:
    page.evaluate(
        f"document.getElementById('text').value = {json.dumps(text)};"
        "document.querySelector('#mouth button').click()"
    )


def messages(page: Page) -> list[str]:
    """What was said, without notes, names and workers."""
    return page.evaluate(
        "[...document.querySelectorAll('#messages li:not(.note)')]"
        ".map(item => item.childNodes[1].textContent)"
    )


def names(page: Page) -> list[str]:
    return page.evaluate(
        "[...document.querySelectorAll('#names li')].map(item => item.textContent)"
    )


def test_two_windows_at_two_workers(url):
    with Browser() as browser:
        ann = come_in(browser, url, "Ann")
        bob = come_in(browser, url, "Bob")
        for _ in range(RELOADS_MAX):
            if worker(bob) != worker(ann):
                break
            bob.evaluate("window.isOld = true; location.reload()")
            bob.wait_for(f"!window.isOld && {IS_LIVE}")
        assert worker(bob) != worker(ann)

        say(ann, "good morning")
        say(bob, "<b>hello</b>")
        for page in (ann, bob):
            assert wait_until(
                lambda: sorted(messages(page)) == ["<b>hello</b>", "good morning"], 20
            )
            assert wait_until(lambda: names(page) == ["Ann", "Bob"], 20)

        killed = worker(ann)
        os.kill(killed, signal.SIGKILL)
        say(bob, "are you there?")
        for page in (ann, bob):
            assert wait_until(
                lambda: messages(page)[2:] == ["are you there?"], BACK_TIMEOUT_S
            )
        ann.wait_for(f"worker != {killed} && {IS_LIVE}", BACK_TIMEOUT_S)
        say(ann, "I am")
        for page in (ann, bob):
            assert wait_until(lambda: messages(page)[3:] == ["I am"], BACK_TIMEOUT_S)
            assert wait_until(lambda: names(page) == ["Ann", "Bob"], 20)
        # Who comes now sees what was said before.
        eve = come_in(browser, url, "Eve")
        assert wait_until(lambda: messages(eve) == messages(ann), 20)
