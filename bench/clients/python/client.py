"""A client of requests or httpx: library, URL, how many requests at once, length
of the content. For each line on standard input it asks for so many seconds and
prints what came of it."""

import asyncio
import importlib
import json
import sys
import time


class Figures:
    """Counts responses."""

    def __init__(self, seconds: int) -> None:
        self.began = time.monotonic()
        self.end = self.began + seconds
        self.requests = self.octets = self.failures = 0

    def is_over(self) -> bool:
        return time.monotonic() >= self.end

    def take(self, response) -> None:
        if response.status_code != 200:
            self.failures += 1
            return
        self.requests += 1
        self.octets += len(response.content)

    def text(self) -> str:
        duration_us = int((time.monotonic() - self.began) * 1e6)
        return json.dumps(
            {
                "requests": self.requests,
                "bytes": self.octets,
                "failures": self.failures,
                "duration_us": duration_us,
            }
        )


def ask(session, url: str, content: bytes):
    """Sends one request; both libraries and both kinds of client agree on it."""
    if content:
        headers = {"Content-Type": "application/octet-stream"}
        return session.post(url, data=content, headers=headers)
    return session.get(url)


def run(library, url: str, content: bytes) -> None:
    session = (
        library.Session() if library.__name__
        == "requests" else library.Client()
    )
    for line in sys.stdin:
        figures = Figures(int(line))
        while not figures.is_over():
            figures.take(ask(session, url, content))
        print(figures.text(), flush=True)


async def run_parallel(httpx, url: str, parallel: int, content: bytes) -> None:
    limits = httpx.Limits(
        max_connections=parallel, max_keepalive_connections=parallel
    )
    async with httpx.AsyncClient(limits=limits) as session:

        async def ask_on(figures: Figures) -> None:
            while not figures.is_over():
                figures.take(await ask(session, url, content))

        for line in sys.stdin:
            figures = Figures(int(line))
            await asyncio.gather(*(ask_on(figures) for _ in range(parallel)))
            print(figures.text(), flush=True)


def main() -> None:
    if sys.argv[1] == "--version":
        print(importlib.import_module(sys.argv[2]).__version__)
        return
    library, url, parallel, length = sys.argv[1:]
    module, content = importlib.import_module(library), b"u" * int(length)
    if int(parallel) == 1:
        run(module, url, content)
    else:
        asyncio.run(run_parallel(module, url, int(parallel), content))


main()
