"""What `flare dev` itself answers: the page with the state of the program.

At the program's address while no version of it runs, and always at an address
of its own. A page asks for `/__flare/state` on and on, and is loaded anew when
somebody else answers, or the state is another.
"""

import asyncio
import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from urllib.parse import urlsplit

from mojo_flare.dev.build import Diagnostic

STATE_PATH = "/__flare/state"
OVERLAY_PATH = "/__flare/overlay.js"
HEAD_LEN_MAX = 65_536
HEAD_TIMEOUT_S = 10
LINGER_S = 1
KEPT_MS = 1_200
"""How long a browser's connection to the version before may live: one that was
used within a second gets one answer more there."""
_TLS_HANDSHAKE = b"\x16"


@dataclass
class State:
    """What there is to tell."""

    number: int = 0
    title: str = "building"
    detail: str = ""
    is_bad: bool = False
    serves: bool = False
    links: list[str] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    text: str = ""

    def as_json(self) -> str:
        return json.dumps(
            {
                "number": self.number,
                "title": self.title,
                "detail": self.detail,
                "bad": self.is_bad,
                "serves": self.serves,
                "text": self.plain() if self.is_bad else "",
            }
        )

    def plain(self) -> str:
        """The state for a terminal, or a client that is no browser."""
        parts = [f"flare dev: {self.title}"]
        parts += [part for part in (self.detail, self.text) if part]
        return "\n".join(parts) + "\n"


_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bad: #c62828; --good: #2e7d32;
  --soft: #666; --code: #f4f4f2; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --good: #81c784;
  --soft: #aaa; --code: #222; } }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 70rem;
  padding: 1.5rem 1rem 4rem }
h1 { font-size: 1.5rem; margin: 0 0 .25rem } h1.bad { color: var(--bad) }
h1.good { color: var(--good) } p { margin: 0 0 1rem; color: var(--soft) }
section { border: 1px solid var(--line); border-left: 4px solid var(--soft);
  border-radius: 6px; margin: 0 0 1rem; overflow: hidden }
section.error { border-left-color: var(--bad) }
h2 { font-size: 1rem; margin: 0; padding: .6rem .8rem; overflow-wrap: anywhere }
h2 small { display: block; font-weight: 400; color: var(--soft) }
pre { background: var(--code); margin: 0; padding: .6rem .8rem; overflow-x: auto;
  font: 13px/1.45 ui-monospace, monospace; tab-size: 4 }
"""

_SCRIPT = """
const known = NUMBER;
async function look() {
  try {
    const answer = await fetch("STATE", {cache: "no-store"});
    if (!answer.headers.get("flare-dev")) return location.reload();
    if ((await answer.json()).number !== known) return location.reload();
  } catch (error) { /* between two servers; the next look tells */ }
  setTimeout(look, 500);
}
setTimeout(look, 500);
"""

_OVERLAY = """
(() => {
  const base = new URL(document.currentScript.src).origin;
  let known = -1, served = false, box = null;
  function show(state) {
    box = box || document.body.appendChild(document.createElement("pre"));
    box.style.cssText = "position:fixed;inset:1rem;z-index:2147483647;margin:0;"
      + "padding:1rem;overflow:auto;background:#1e1e1ef5;color:#ff8a80;"
      + "font:13px/1.45 monospace;white-space:pre-wrap;border-radius:6px";
    box.textContent = state.text;
  }
  const reload = () => location.reload();
  async function look() {
    try {
      const state = await (await fetch(base + "STATE", {cache: "no-store"})).json();
      if (state.number !== known) {
        if (state.bad) show(state);
        else if (known >= 0 && state.serves) return setTimeout(reload, KEPT_MS);
        known = state.number;
      }
    } catch (error) { /* flare dev has ended, or begins */ }
    setTimeout(look, 500);
  }
  look();
})();
"""


def page(state: State) -> str:
    """Writes the page for a browser."""
    title = state.title[:1].upper() + state.title[1:]
    mood = "bad" if state.is_bad else "good" if state.serves else ""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{escape(title)} - flare dev</title><style>{_STYLE}</style>",
        f"</head><body><h1 class='{mood}'>{escape(title)}</h1>",
        f"<p>{escape(state.detail)}</p>",
    ]
    for link in state.links:
        parts.append(f"<p><a href='{escape(link)}'>{escape(link)}</a></p>")
    for item in state.diagnostics:
        parts.append(_section(item))
    if state.text and not state.diagnostics:
        parts.append(f"<section class='error'><pre>{escape(state.text)}</pre></section>")
    script = _SCRIPT.replace("NUMBER", str(state.number)).replace("STATE", STATE_PATH)
    parts.append(f"<script>{script}</script></body></html>")
    return "".join(parts)


def _section(item: Diagnostic) -> str:
    excerpt = "\n".join(item.excerpt).strip("\n")
    code = f"<pre>{escape(excerpt)}</pre>" if excerpt else ""
    head = f"{escape(item.kind)}: {escape(item.text)}<small>{escape(item.place)}</small>"
    return f"<section class='{escape(item.kind)}'><h2>{head}</h2>{code}</section>"


@dataclass
class PageRequest:
    """What counts of a request."""

    method: str = "GET"
    target: str = "/"
    accept: str = ""
    host: str = ""
    origin: str = ""

    @classmethod
    def of(cls, head: str) -> "PageRequest":
        """Reads a request's head."""
        lines = head.split("\r\n")
        method, target = (lines[0].split(" ") + ["/"])[:2]
        fields = {"accept": "", "host": "", "origin": ""}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            if name.lower() in fields:
                fields[name.lower()] = value.strip()
        return cls(method, target, **fields)


def is_loopback(authority: str) -> bool:
    """Tells whether a host, with or without a port, is this machine."""
    name = urlsplit(f"//{authority}").hostname or ""
    return name in ("localhost", "127.0.0.1", "::1") or name.endswith(".localhost")


@dataclass
class Answer:
    """A response of `flare dev` itself."""

    status: str
    media_type: str
    content: str
    origin: str = ""

    def octets(self, with_content: bool) -> bytes:
        content = self.content.encode()
        head = (
            f"HTTP/1.1 {self.status}\r\nContent-Type: {self.media_type}\r\n"
            f"Content-Length: {len(content)}\r\nCache-Control: no-store\r\n"
            "Flare-Dev: 1\r\nConnection: close\r\n"
        )
        if self.origin:
            head += f"Access-Control-Allow-Origin: {self.origin}\r\nVary: Origin\r\n"
        octets = f"{head}\r\n".encode()
        return octets + content if with_content else octets


def answer(state: State, request: PageRequest, is_own: bool) -> Answer:
    """Chooses the response: the state, the script, the page, or text.

    At the program's own address all is 503, for the program would answer. At
    the page's own, which is there all the time, pages of other machines must
    not read what is of the source in it, whatever name they give to this one.
    """
    path = request.target.partition("?")[0]
    if is_own and not is_loopback(request.host):
        text = "flare dev: ask for this page by localhost or 127.0.0.1\n"
        return Answer("421 Misdirected Request", "text/plain", text)
    if path == STATE_PATH:
        origin = request.origin
        is_near = is_own and is_loopback(origin.partition("://")[2])
        return Answer(
            "200 OK", "application/json", state.as_json(), origin if is_near else ""
        )
    if is_own and path == OVERLAY_PATH:
        script = _OVERLAY.replace("STATE", STATE_PATH).replace("KEPT_MS", str(KEPT_MS))
        return Answer("200 OK", "text/javascript; charset=utf-8", script)
    status = "200 OK" if is_own else "503 Service Unavailable\r\nRetry-After: 1"
    if is_own and path != "/":
        return Answer("404 Not Found", "text/plain", "flare dev: the page is at /\n")
    if "text/html" in request.accept:
        return Answer(status, "text/html; charset=utf-8", page(state))
    return Answer(status, "text/plain; charset=utf-8", state.plain())


class PageServer:
    """Answers with the state at listening sockets that are lent to it."""

    def __init__(self, state: Callable[[], State]) -> None:
        self._state = state
        self._watched: dict[int, socket.socket] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def watch(self, listener: socket.socket, is_own: bool) -> None:
        """Accepts connections from now on."""
        number = listener.fileno()
        if number not in self._watched:
            self._watched[number] = listener
            loop = asyncio.get_running_loop()
            loop.add_reader(number, self._accept, listener, is_own)

    def unwatch(self, listener: socket.socket) -> None:
        """Leaves new connections to others."""
        if self._watched.pop(listener.fileno(), None):
            asyncio.get_running_loop().remove_reader(listener.fileno())

    def _accept(self, listener: socket.socket, is_own: bool) -> None:
        try:
            connection, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError, InterruptedError):
            return
        connection.setblocking(False)
        task = asyncio.create_task(self._serve(connection, is_own))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: socket.socket, is_own: bool) -> None:
        reader, writer = await asyncio.open_connection(sock=connection, limit=HEAD_LEN_MAX)
        try:
            head = await asyncio.wait_for(_head(reader), HEAD_TIMEOUT_S)
            if not head:
                return
            request = PageRequest.of(head.decode("latin-1"))
            reply = answer(self._state(), request, is_own)
            writer.write(reply.octets(request.method != "HEAD"))
            await writer.drain()
            writer.write_eof()
            # What is unread at the close would reset the connection.
            await asyncio.wait_for(_rest(reader), LINGER_S)
        except (OSError, asyncio.TimeoutError, EOFError, asyncio.LimitOverrunError):
            return
        finally:
            writer.close()


async def _head(reader: asyncio.StreamReader) -> bytes:
    """Reads a request's head; nothing if a client speaks TLS."""
    first = await reader.readexactly(1)
    if first == _TLS_HANDSHAKE:
        return b""
    return first + await reader.readuntil(b"\r\n\r\n")


async def _rest(reader: asyncio.StreamReader) -> None:
    while await reader.read(65_536):
        pass
