"""The client of the tests that sends by each kind of client, and a server that
answers by a script, over HTTP/1.1 and HTTP/2."""

import json
import threading
import time

from raw_http2 import CANCEL, Http2Peer, speaking
from raw_server import Connection, Fetcher, RawServer

KINDS = ["plain", "shared", "cached", "open", "shared open", "batch", "download"]


class Asker(Fetcher):
    """The client under test: a policy is a text of its own."""

    def ask(self, **command) -> dict:
        if "policy" in command:
            command["policy"] = json.dumps(command["policy"])
        return super().ask(**command)


class Script:
    """Answers one request after the other as the script says, on any
    connection, and notes when each came: a number is a status."""

    def __init__(self, *answers, fields: tuple = ()) -> None:
        self.answers, self.fields = list(answers), fields
        self.times: list[float] = []
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        return len(self.times)

    def _next(self):
        with self._lock:
            self.times.append(time.monotonic())
            return self.answers[min(len(self.times), len(self.answers)) - 1]

    def http1(self, connection: Connection) -> None:
        while head := connection.head():
            connection.body(head)
            answer = self._next()
            if answer is None:
                return
            if isinstance(answer, bytes):
                connection.send(answer)
                continue
            fields = "".join(f"{name}: {value}\r\n" for name, value in self.fields)
            connection.send(
                f"HTTP/1.1 {answer} X\r\n{fields}Content-Length: 4\r\n\r\ndone".encode()
            )

    def http2(self, peer: Http2Peer) -> None:
        while True:
            stream = peer.request()
            answer = self._next()
            if answer is None:
                peer.reset(stream, CANCEL)
                continue
            fields = [(name.lower(), value) for name, value in self.fields]
            peer.head(stream, *fields, status=answer)
            peer.data(stream, b"done")

    def serve(self, h2c: bool) -> RawServer:
        return RawServer(speaking(self.http2) if h2c else self.http1)


def meet(asker, h2c: bool = False, policy: dict | None = None, **config) -> None:
    if policy is not None:
        config["policy"] = policy
    asker.client(**({"h2c": 1} if h2c else {}), **config)
