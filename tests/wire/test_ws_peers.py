"""WebSocket routes of the server, and clients that many people use."""

import json
import signal
import subprocess

import pytest
from browser import Browser
from conftest import ROOT, Server, wait_until
from peer_servers import go_program
from wire_programs import built_example

# Defines what the scripts below wait with.
TOOLS = """
window.wsOpened = (url, protocols) => new Promise((resolve, reject) => {
  const ws = new WebSocket(url, protocols);
  ws.binaryType = 'arraybuffer';
  ws.onopen = () => resolve(ws);
  ws.onerror = () => reject(new Error('not opened'));
});
window.wsSaid = (ws) => new Promise((resolve, reject) => {
  ws.onmessage = (event) => resolve(event.data);
  ws.onclose = (event) => reject(new Error('closed ' + event.code));
});
window.wsClosed = (ws) => new Promise((resolve) => {
  ws.onclose = (event) => resolve([event.code, event.reason, event.wasClean]);
});
true
"""
ECHO = """
(async () => {
  const ws = await wsOpened(`ws://${location.host}/ws`, ['other', 'chat']);
  const found = [ws.protocol, ws.extensions];
  for (const text of ['', 'hello', '\\u{1F4A9}'.repeat(50000)]) {
    ws.send(text);
    found.push(await wsSaid(ws) === text);
  }
  for (const count of [0, 1, 65536, 1000000]) {
    const sent = new Uint8Array(count).map((_, index) => index * 7 + (index >> 8));
    ws.send(sent);
    const got = new Uint8Array(await wsSaid(ws));
    found.push(got.length === count && got.every((octet, index) => octet === sent[index]));
  }
  const end = wsClosed(ws);
  ws.send('close');
  return [...found, ...await end];
})()
"""

ENTER = """
(() => { door.elements.name.value = %s; door.requestSubmit(); return true; })()
"""
SAY = """
(() => { mouth.text.value = %s; mouth.requestSubmit(); return true; })()
"""


@pytest.fixture(scope="module")
def browser():
    with Browser() as running:
        yield running


def open_page(browser, server):
    """Opens a page of the server, with the functions of TOOLS."""
    page = browser.open(server.url)
    assert page.text() == "hello"
    page.evaluate(TOOLS)
    return page


def test_gorilla(start):
    client = go_program("go_gorilla")
    server = start("ws_server", compression=1, subprotocol="chat")
    url = f"ws://127.0.0.1:{server.port}/ws"
    ran = subprocess.run([client, url], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "ok\n", ran.stderr
    # It sends the code back, without the reason.
    assert wait_until(lambda: server.lines() == ["closed 4001 "] * 8)


def test_a_page(browser, start):
    server = start("ws_server", compression=1, subprotocol="chat")
    protocol, extensions, *rest = open_page(browser, server).evaluate(ECHO)
    assert protocol == "chat" and extensions.startswith("permessage-deflate")
    assert rest == [True] * 7 + [4001, "as you say", True]


def test_a_page_of_another_site_is_refused(browser, start):
    """RFC 6455 section 10.2; a browser tells the page nothing but that."""
    server, other = start("ws_server"), start("ws_server")
    page = open_page(browser, other)
    script = f"""
    wsOpened('ws://127.0.0.1:{server.port}/ws').then(
      () => 'open', (error) => error.message)
    """
    assert page.evaluate(script) == "not opened"
    assert page.evaluate(script.replace(str(server.port), str(other.port))) == "open"


def test_a_page_hears_that_the_server_stops(browser, start):
    server = start("ws_server")
    page = open_page(browser, server)
    page.evaluate(
        "wsOpened(`ws://${location.host}/ws`).then((ws) => {"
        " wsClosed(ws).then((found) => { window.end = found; }); return true; })"
    )
    server.process.send_signal(signal.SIGTERM)
    page.wait_for("window.end")
    assert page.evaluate("end") == [1001, "the server stops", True]
    assert server.process.wait(5) == 0


def test_a_tab_that_is_closed(browser, start):
    server = start("ws_server")
    page = open_page(browser, server)
    page.evaluate("wsOpened(`ws://${location.host}/ws`).then(() => true)")
    page.close()
    # 1001, or nothing if the browser is quicker to end the tab than to say so.
    assert wait_until(lambda: "closed 100" in server.stderr())


@pytest.fixture
def chat():
    """The server of the example with the page, which needs its files."""
    binary = built_example("28_chat_room")
    server = Server(binary, [], cwd=ROOT)
    yield server
    assert server.stop() == 0


def test_the_chat_room_of_the_examples(browser, chat):
    """Two tabs; what is said is text, whatever it looks like."""
    ann, bob = browser.open(chat.url), browser.open(chat.url)
    for page, name in ((ann, "ann"), (bob, "bob & co")):
        page.evaluate(ENTER % json.dumps(name))
        page.wait_for("state.textContent == 'connected'")
    said = "<img src=x onerror='document.title=1'>\u00e4\U0001f4a9"
    bob.evaluate(SAY % json.dumps(said))
    lines = "[...talk.children].map((line) => line.textContent)"
    ann.wait_for("talk.children.length == 2")
    assert ann.evaluate(lines) == ["bob & co has come", f"bob & co: {said}"]
    bob.wait_for("talk.children.length == 1")
    bob.close()
    ann.wait_for("talk.children.length == 3")
    assert ann.evaluate(lines)[2] == "bob & co has left"
    # The page's policy forbids everything that is not its own.
    assert ann.evaluate("document.title") == "Chat room"
    assert not ann.evaluate("document.querySelector('img') !== null")
    ann.close()
