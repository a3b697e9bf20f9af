"""A way to Redis that is slow, is cut silently, or on which commands are changed."""

import socket
import threading
import time
from collections.abc import Callable

from ready import accepted
from redis_servers import RedisServer

PORTION = 65_536
BEGIN_LEN = 500


class RedisProxy:
    """Passes octets on, each piece later by a time; `edit` may change what goes to
    Redis. `cut` drops what goes over the connections that there are, both ways;
    `lose` ends a connection in place of an answer."""

    def __init__(
        self,
        server: RedisServer,
        delay_s: float = 0.0,
        edit: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self.server = server
        self.delay_s = delay_s
        self.edit = edit
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "redis://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.ways: list[dict] = []
        self.losses: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, word: bytes = b"") -> int:
        """Lets nothing through any more on connections over which this word has
        gone; nobody is told. Gives their number."""
        ways = [way for way in self.ways if not way["is_cut"] and word in way["begin"]]
        for way in ways:
            way["is_cut"] = True
        return len(ways)

    def lose(self, word: bytes) -> None:
        """Lets the next command that has this word through, and ends its connection
        when Redis has answered."""
        self.losses.append(word)

    def _accept(self) -> None:
        for near in accepted(self.listener):
            try:
                far = socket.create_connection(("127.0.0.1", self.server.port))
            except OSError:
                near.close()
                continue
            way = {"is_cut": False, "begin": b"", "loses": False}
            self.ways.append(way)
            for source, target, edit in ((near, far, self.edit), (far, near, bytes)):
                threading.Thread(
                    target=self._pass, args=(source, target, edit, way), daemon=True
                ).start()

    def _pass(
        self,
        source: socket.socket,
        target: socket.socket,
        edit: Callable[[bytes], bytes],
        way: dict,
    ) -> None:
        try:
            while data := source.recv(PORTION):
                way["begin"] = (way["begin"] + data)[:BEGIN_LEN]
                time.sleep(self.delay_s)
                if way["loses"]:
                    break
                if self.losses and self.losses[0] in data:
                    del self.losses[0]
                    way["loses"] = True
                if not way["is_cut"]:
                    target.sendall(edit(data))
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.listener.close()
