"""WorkerControl: an order to one worker process reaches all of them, those that are
started later, and says how many have carried it out."""

import os
import signal
import time
from urllib.parse import quote

import pytest
from conftest import Client, wait_until
from processes import stopped
from raw_server import RawServer, answering

WORKERS = 3


def upstream(name: bytes) -> RawServer:
    return RawServer(
        answering(
            b"HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(name), name)
        )
    )


@pytest.fixture
def gateway(start):
    both = [upstream(b"one"), upstream(b"two")]
    urls = [one.url for one in both]

    def launch(workers: int = WORKERS, threads: int = 0):
        return urls, start(
            "control_server",
            upstreams=",".join(urls),
            workers=workers,
            threads=threads,
        )

    yield launch
    for one in both:
        one.close()


def ask(server, path: str):
    with Client(server, 15) as client:
        client.send(f"GET {path} HTTP/1.1\r\nHost: cached.example\r\n\r\n".encode())
        answer = client.response()
        return answer.status, answer.body.decode()


def order(server, what: str, url: str = "", timeout: int = 5_000):
    return ask(server, f"/{what}?url={quote(url, safe='')}&timeout={timeout}")


def each_worker(server, count: int = WORKERS) -> dict[int, str]:
    """Asks until all workers have told what they know; by process."""
    seen = {}

    def all_told() -> bool:
        process, _, told = ask(server, "/own")[1].partition(" ")
        seen[int(process)] = told
        return len(seen) == count

    assert wait_until(all_told, 10), seen
    return seen


def test_a_drain_reaches_all_workers(gateway):
    urls, server = gateway()
    assert set(each_worker(server).values()) == {"0 up up"}
    assert order(server, "drain", urls[0]) == (200, "3 of 3 workers: 0")
    assert set(each_worker(server).values()) == {"0 draining up"}
    assert order(server, "drained", urls[0]) == (200, "True")
    assert order(server, "drained", urls[1]) == (200, "False")
    assert all(ask(server, f"/item{i}")[1] == "two" for i in range(12))
    assert order(server, "return", urls[0])[0] == 200
    states = {told.split(" ", 1)[1] for told in each_worker(server).values()}
    assert states == {"up up"}
    assert {ask(server, f"/more{i}")[1] for i in range(24)} == {"one", "two"}


def test_a_worker_that_comes_back_has_what_was_ordered(gateway):
    urls, server = gateway()
    before = each_worker(server)
    assert order(server, "drain", urls[1])[0] == 200
    for process in before:
        os.kill(process, signal.SIGKILL)
    assert wait_until(lambda: not any(alive(process) for process in before), 10)
    assert set(each_worker(server).values()) == {"0 up draining"}
    assert not set(each_worker(server)) & set(before)
    assert order(server, "drain", urls[0]) == (200, "3 of 3 workers: 0")
    # SIGHUP replaces all workers.
    now = set(each_worker(server))
    server.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: not any(alive(process) for process in now), 20)
    assert set(each_worker(server).values()) == {"0 draining draining"}


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_purge_reaches_all_workers(gateway):
    _, server = gateway()

    def all_keep() -> bool:
        ask(server, "/kept")
        return all(told.startswith("1 ") for told in each_worker(server).values())

    assert wait_until(all_keep, 15)
    assert order(server, "purge", "http://cached.example/other") == (200, "3 of 3 workers: 0")
    assert order(server, "purge", "http://cached.example/kept") == (200, "3 of 3 workers: 3")
    assert all(told.startswith("0 ") for told in each_worker(server).values())


def test_figures_are_those_of_all_workers(gateway):
    urls, server = gateway()
    each_worker(server)
    for index in range(30):
        assert ask(server, f"/item{index}")[0] == 200
    assert order(server, "drain", urls[0])[0] == 200
    status, told = order(server, "figures")
    rows = [line.split(" ") for line in told.splitlines()]
    assert status == 200
    assert [row[:3] for row in rows] == [[urls[0], "3", "3"], [urls[1], "3", "0"]]
    assert sum(int(row[3]) for row in rows) == 30


def scrape(server) -> dict[str, float]:
    """The sums of all figures of a name, but for those that are no sums."""
    sums: dict[str, float] = {}
    for line in ask(server, "/metrics")[1].splitlines():
        if line.startswith("#"):
            continue
        key, _, value = line.rpartition(" ")
        name = key.partition("{")[0]
        if name in ("http_cache_requests_total", "flare_upstream_up"):
            name = key
        sums[name] = sums.get(name, 0) + float(value)
    return sums


ATTEMPTS = "flare_upstream_attempts_total"
DURATIONS = "flare_upstream_attempt_seconds_count"
MISSES = 'http_cache_requests_total{outcome="miss"}'


def counted(server) -> tuple[float, float, float]:
    sums = scrape(server)
    return sums.get(ATTEMPTS, 0), sums[DURATIONS], sums[MISSES]


def all_have_answered(server, first: int = 0) -> int:
    """Asks for one response after the other until each worker has kept some; gives
    how many there were."""
    asked = first

    def all_keep() -> bool:
        nonlocal asked
        for _ in range(5):
            assert ask(server, f"/item{asked}")[0] == 200
            asked += 1
        return all(not told.startswith("0 ") for told in each_worker(server).values())

    assert wait_until(all_keep, 20)
    return asked


def ups(urls: list[str], sums: dict[str, float]) -> list[float]:
    name = 'flare_upstream_up{group="x",upstream="%s",state="up"}'
    return [sums.get(name % url, 0) for url in urls]


def test_metrics_are_those_of_all_worker_processes(gateway):
    urls, server = gateway()
    asked = all_have_answered(server)
    # Each worker tells what it has counted about once a second.
    assert wait_until(lambda: counted(server) == (asked, asked, asked), 5)
    sums = scrape(server)
    assert sums["http_cache_entries"] == asked
    assert ups(urls, sums) == [WORKERS, WORKERS]

    # A worker that is killed takes no counter with it, but what it has kept.
    before = each_worker(server)
    killed = max(before, key=lambda process: int(before[process].split(" ")[0]))
    os.kill(killed, signal.SIGKILL)
    assert wait_until(lambda: not alive(killed), 10)
    assert counted(server) == (asked, asked, asked)
    assert wait_until(lambda: len(each_worker(server)) == WORKERS, 10)
    assert counted(server) == (asked, asked, asked)
    kept = asked - int(before[killed].split(" ")[0])
    assert scrape(server)["http_cache_entries"] == kept

    # What its successor counts is added to that.
    asked = all_have_answered(server, asked)
    assert wait_until(lambda: counted(server) == (asked, asked, asked))
    assert wait_until(lambda: ups(urls, scrape(server)) == [WORKERS, WORKERS])

    # SIGHUP replaces all, and no scrape meanwhile sees less.
    now = set(each_worker(server))
    server.process.send_signal(signal.SIGHUP)


    def all_are_new() -> bool:
        assert counted(server) == (asked, asked, asked)
        return not any(map(alive, now))

    assert wait_until(all_are_new, 20)
    assert counted(server) == (asked, asked, asked)


def test_metrics_are_those_of_all_threads(gateway):
    urls, server = gateway(0, threads=WORKERS)
    for index in range(30):
        assert ask(server, f"/item{index}")[0] == 200
    assert counted(server) == (30, 30, 30)
    assert ups(urls, scrape(server)) == [1, 1]


def test_what_fails_is_told(gateway):
    _, server = gateway()
    each_worker(server)
    status, told = order(server, "drain", "http://127.0.0.1:1")
    assert status == 504
    assert told.startswith("0 of 3 workers: worker ")
    assert told.endswith("upstream http://127.0.0.1:1: it is not in the group")


def test_a_worker_that_does_not_go_on_is_told_of(gateway):
    """It carries the order out when it does."""
    urls, server = gateway()
    with stopped(next(iter(each_worker(server)))):
        began = time.monotonic()
        # The kernel gives connections to the stopped one, too, a third of them:
        # five times in a row is seldom, and has been seen.
        answers = []
        while not answers and time.monotonic() - began < 60:
            try:
                with Client(server, 6) as client:
                    # Time for the two that go on, however slow they are.
                    path = f"/drain?url={quote(urls[0], safe='')}&timeout=2000"
                    client.send(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
                    answers.append(client.response())
            except TimeoutError:
                continue
        assert answers[0].status == 504
        assert answers[0].body == b"2 of 3 workers: 1 workers did not answer"
    assert wait_until(
        lambda: set(each_worker(server).values()) == {"0 draining up"}, 10
    )


def test_a_worker_that_ends_meanwhile_is_not_waited_for(gateway):
    urls, server = gateway()
    os.kill(next(iter(each_worker(server))), signal.SIGKILL)
    began = time.monotonic()
    while time.monotonic() - began < 10:
        try:
            status, told = order(server, "drain", urls[0], 8_000)
            break
        except (ConnectionError, EOFError, TimeoutError):
            continue
    assert status == 200 and " workers: 0" in told
    assert wait_until(
        lambda: set(each_worker(server).values()) == {"0 draining up"}, 10
    )


def test_without_worker_processes_it_is_done_where_it_is_asked(gateway):
    urls, server = gateway(0)
    assert order(server, "drain", urls[0]) == (200, "1 of 1 workers: 0")
    assert ask(server, "/own")[1].endswith("0 draining up")
