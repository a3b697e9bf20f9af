"""What the access log and the figures tell of requests that were sent on."""

import re
import threading

import pytest
from conftest import Client, wait_until
from raw_server import Connection, answering
from test_proxy_http2_upstream import Upstream

WAIT_S = 10
OK = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"
GET = b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n"
STORY = re.compile(
    r" upstream=(\S+) upstream_status=(\S+) connect=(\S+)ms head=(\S+) attempts=(\d+)$"
)


def http2(connection: Connection) -> None:
    peer = Upstream(connection)
    peer.begin()
    while True:
        stream = peer.request()
        peer.head(stream, ("content-length", "2"), status=201)
        peer.data(stream, b"ok")


def ask(server, path: str):
    with Client(server, WAIT_S) as client:
        client.send(GET % path.encode())
        return client.response()


def logged(server, path: str) -> str:
    def lines() -> list[str]:
        return [line for line in server.stderr().split("\n") if f" GET {path} " in line]

    assert wait_until(lambda: len(lines()) == 1)
    return lines()[0]


@pytest.mark.parametrize("handle", [answering(OK), http2])
def test_the_log_names_upstream_status_and_times(proxied_group, handle):
    (upstream,), server = proxied_group(handle, http2_prior_knowledge=int(handle is http2))
    for number in range(2):
        assert ask(server, f"/{number}").status == 201
        told = STORY.search(logged(server, f"/{number}"))
        url, status, connect, head, attempts = told.groups()
        assert url == upstream.url and status == "201" and attempts == "1"
        # The second one goes on the connection of the first.
        assert (connect == "0.000") == (number == 1)
        assert float(head.removesuffix("ms")) > float(connect)


def test_what_was_sent_again(proxied_group):
    def ends(connection: Connection) -> None:
        connection.head()

    upstreams, server = proxied_group(ends, answering(OK))
    assert ask(server, "/again").status == 201
    told = STORY.search(logged(server, "/again"))
    assert told[1] == upstreams[1].url and told[2] == "201" and told[5] == "2"


def test_what_was_not_answered(proxied_group):
    def ends(connection: Connection) -> None:
        connection.head()

    (upstream,), server = proxied_group(ends, max_attempts=1)
    assert ask(server, "/none").status == 502
    line = logged(server, "/none")
    told = STORY.search(line)
    assert told[1] == upstream.url and told[2] == told[4] == "-" and " 502 " in line


def test_other_requests_say_nothing_of_upstreams(proxied_group):
    _, server = proxied_group(answering(OK))
    assert ask(server, "/own").status == 200
    assert "upstream" not in logged(server, "/own")
    assert ask(server, "/pause?ms=1").status == 200
    assert "upstream" not in logged(server, "/pause?ms=1")


def figure(server, name: str, *labels: str) -> float:
    for line in ask(server, "/figures").body.decode().split("\n"):
        if line.startswith(name + "{") and all(label in line for label in labels):
            return float(line.rsplit(" ", 1)[1])
    raise AssertionError(f"no {name} with {labels}")


def test_figures_of_durations(proxied_group):
    waits = threading.Event()

    def slow(connection: Connection) -> None:
        while head := connection.head():
            if "/slow" in head:
                waits.wait(0.3)
            connection.send(OK)

    (upstream,), server = proxied_group(slow)
    for path in ("/fast", "/fast", "/slow"):
        assert ask(server, path).status == 201
    name, label = "flare_upstream_attempt_seconds", f'upstream="{upstream.url}"'
    assert figure(server, name + "_count", label) == 3
    assert 0.3 <= figure(server, name + "_sum", label) < 5
    assert figure(server, name + "_bucket", label, 'le="0.25"') == 2
    assert figure(server, name + "_bucket", label, 'le="+Inf"') == 3
    assert figure(server, "flare_upstream_attempts_total", label, 'outcome="answered"') == 3
