"""Clients that ask on and on while a program is swapped, and count what fails."""

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

TIMEOUT_S = 10
PAUSE_S = 0.002


@dataclass
class SwapLoad:
    """Clients with a connection for each request, and with one they keep."""

    host: str
    port: int
    new_count: int = 2
    kept_count: int = 2
    answered: int = 0
    reopened: int = 0
    failures: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._over = threading.Event()
        self._lock = threading.Lock()
        clients: list[Callable[[], None]] = [self._with_new] * self.new_count
        clients += [self._with_kept] * self.kept_count
        self._threads = [threading.Thread(target=client) for client in clients]

    def __enter__(self) -> "SwapLoad":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(TIMEOUT_S)
            assert not thread.is_alive(), "a client hangs"

    def _open(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)

    def _with_new(self) -> None:
        while not self._over.is_set():
            connection = self._open()
            self._ask(connection, "GET", close=True)
            connection.close()

    def _with_kept(self) -> None:
        """Opens a connection again only when the server has said it closes."""
        connection = self._open()
        turn = 0
        while not self._over.is_set():
            turn += 1
            goes_on = self._ask(connection, "POST" if turn % 2 else "GET")
            if not goes_on:
                connection.close()
                connection = self._open()
                self.reopened += 1
            time.sleep(PAUSE_S)
        connection.close()

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, close: bool = False
    ) -> bool:
        """Sends a request; False if the connection is over."""
        fields = {"Connection": "close"} if close else {}
        content = b"x" * 100 if method == "POST" else None
        try:
            connection.request(method, "/", content, fields)
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            with self._lock:
                self.failures.append(f"{method}: {error!r}")
            return False
        with self._lock:
            self.answered += 1
            if response.status not in (200, 204):
                self.failures.append(f"{method}: {response.status} {text[:80]}")
            if text and text not in self.versions:
                self.versions.append(text)
        return response.getheader("Connection", "") != "close"
