"""Requests that are repeated by policy, over HTTP/1.1 and HTTP/2, by each kind of
client."""

import threading
import time
from email.utils import formatdate

import pytest
from client_asker import KINDS, Script, meet
from raw_http2 import REFUSED_STREAM, Http2Peer, speaking
from raw_server import Connection, RawServer
from test_client_hostile import sized

SEED = 4767
# SplitMix64 of the seed, modulo 201, 401 and 801.
SEED_PAUSES_MS = [193, 383, 792]


@pytest.mark.parametrize("h2c", [False, True])
@pytest.mark.parametrize("by", KINDS)
def test_a_refusal_is_repeated(asker, by, h2c):
    script = Script(503, 429, 200)
    server = script.serve(h2c)
    meet(asker, h2c, {})
    answer = asker.get(server.url, by=by)
    server.close()
    assert (answer["status"], answer["attempts"]) == (200, 3), answer
    assert answer["body"] == ("" if by == "download" else "done")
    assert script.count == 3
    # What is not the final answer is read, so that the connection is kept.
    assert server.connection_count == 1


@pytest.mark.parametrize("h2c", [False, True])
@pytest.mark.parametrize("by", KINDS)
def test_without_a_policy_nothing_new_is_repeated(asker, by, h2c):
    script = Script(503, 200)
    server = script.serve(h2c)
    meet(asker, h2c)
    answer = asker.get(server.url, by=by)
    server.close()
    assert (answer["status"], script.count) == (503, 1), answer
    assert "attempt" not in answer["verdict"]


@pytest.mark.parametrize("h2c", [False, True])
def test_the_last_refusal_says_why_it_is_the_last(asker, h2c):
    script = Script(503)
    server = script.serve(h2c)
    meet(asker, h2c, {"max_attempts": 3, "reserve": 100})
    for by in KINDS:
        before = script.count
        answer = asker.get(server.url, by=by)
        assert script.count - before == 3, by
        assert (answer["status"], answer["attempts"]) == (503, 3), answer
        assert answer["body"] == "done"
        assert "after 3 attempts: RetryPolicy.max_attempts" in answer["verdict"]
    # A policy of the request's own wins.
    before = script.count
    answer = asker.get(server.url, policy={"max_attempts": 2})
    assert (answer["attempts"], script.count - before) == (2, 2)
    server.close()


@pytest.mark.parametrize("h2c", [False, True])
@pytest.mark.parametrize(
    "more,policy,count",
    [
        ({}, {}, 1),
        ({"repeatable": 1}, {}, 2),
        ({"headers": {"Idempotency-Key": "7"}}, {}, 1),
        ({"headers": {"Idempotency-Key": "7"}}, {"trusts_key": 1}, 2),
        ({}, {"trusts_key": 1}, 1),
        ({"method": "PUT"}, {}, 2),
    ],
)
def test_what_is_not_idempotent_is_repeated_if_that_is_said(
    asker, h2c, more, policy, count
):
    script = Script(503, 200)
    server = script.serve(h2c)
    meet(asker, h2c, policy)
    answer = asker.get(server.url, **{"method": "POST", "octets": "x", **more})
    server.close()
    assert script.count == count, answer
    assert answer["status"] == (200 if count == 2 else 503)
    assert ("not idempotent" in answer["why"]) == (count == 1)


@pytest.mark.parametrize("h2c", [False, True])
def test_a_lost_connection_is_repeated_if_that_is_chosen(asker, h2c):
    for policy, count in [({}, 3), ({"no_losses": 1}, 1)]:
        script = Script(None, None, 200)
        server = script.serve(h2c)
        meet(asker, h2c, policy)
        answer = asker.get(server.url)
        server.close()
        assert script.count == count, answer
        if count == 3:
            assert (answer["status"], answer["attempts"]) == (200, 3)
        else:
            assert answer["phase"] == "read head", answer
            assert "1 attempt: RetryPolicy does not" in answer["text"]
    # A POST may have been acted on.
    script = Script(None, 200)
    server = script.serve(h2c)
    answer = asker.get(server.url, method="POST", octets="x", policy={})
    server.close()
    assert script.count == 1
    assert "1 attempt: the server may have acted on it" in answer["text"]


def test_nobody_there(asker):
    meet(asker, policy={"max_attempts": 4})
    answer = asker.get("http://127.0.0.1:1/", method="POST")
    assert (answer["phase"], answer["kind"]) == ("connect", "ConnectionRefused")
    assert answer["attempts"] == 4
    assert "; 4 attempts: RetryPolicy.max_attempts allows no more" in answer["text"]
    answer = asker.get("http://127.0.0.1:1/", policy={"no_connects": 1})
    assert (answer["kind"], answer["attempts"]) == ("ConnectionRefused", 1)


def test_silence_is_repeated_if_that_is_chosen(asker):
    for policy, count in [({}, 2), ({"no_timeouts": 1}, 1)]:
        held = threading.Event()

        def handle(connection: Connection, held=held) -> None:
            connection.head()
            if connection.number == 1:
                held.wait(20)
            connection.send(sized(b"second"))

        server = RawServer(handle)
        meet(asker, policy=policy, read_timeout_ms=1_500)
        answer = asker.get(server.url)
        held.set()
        server.close()
        assert (server.connection_count > 1) == (count > 1)
        if count > 1:
            assert answer["body"] == "second", answer
        else:
            assert (answer["phase"], answer["kind"]) == ("read head", "Timeout")


@pytest.mark.parametrize("h2c", [False, True])
def test_retry_after_is_waited_for(asker, h2c):
    """9110-10.2.3: both forms, up to a bound."""
    script = Script(503, 200, fields=(("Retry-After", "1"),))
    server = script.serve(h2c)
    meet(asker, h2c, {})
    assert asker.get(server.url)["status"] == 200
    assert script.times[1] - script.times[0] >= 0.99
    server.close()
    script = Script(429, 200, fields=(("Retry-After", "2"),))
    server = script.serve(h2c)
    answer = asker.get(server.url, policy={"max_retry_after_ms": 1_999})
    server.close()
    assert (answer["status"], script.count) == (429, 1)
    assert "Retry-After" in answer["why"]


def test_retry_after_may_be_a_date(asker):
    def handle(connection: Connection) -> None:
        while connection.head():
            times.append(time.monotonic())
            # Rounded down to the second, as is the client's time.
            date = formatdate(time.time() + 3, usegmt=True)
            connection.send(
                sized(b"done") if len(times) > 1 else
                f"HTTP/1.1 503 X\r\nRetry-After: {date}\r\n"
                "Content-Length: 0\r\n\r\n".encode()
            )  # fmt: skip

    times: list[float] = []
    server = RawServer(handle)
    meet(asker, policy={})
    assert asker.get(server.url)["body"] == "done"
    server.close()
    assert times[1] - times[0] >= 0.99


def test_the_total_time_bounds_all_attempts(asker):
    script = Script(503)
    server = script.serve(False)
    pauses = {"max_attempts": 100, "reserve": 100, "base_pause_ms": 400}
    meet(asker, policy={**pauses, "max_pause_ms": 400}, total_timeout_ms=1_500)
    began = time.monotonic()
    answer = asker.get(server.url)
    took_s = time.monotonic() - began
    # The pauses of 100 attempts would take 20 s.
    assert took_s < 15
    assert 2 <= answer["attempts"] < 100
    assert answer["attempts"] - 1 <= script.count <= answer["attempts"]
    if "status" in answer:
        assert "total time" in answer["why"]
    else:
        # The last attempt began in time, and was not answered in time.
        assert (answer["phase"], answer["kind"]) == ("total", "Timeout"), answer
    server.close()
    # So it is for what does not answer.
    answer = asker.get("http://127.0.0.1:1/")
    assert any(
        end in answer["text"]
        for end in (
            "the total time would be over before another",
            # The last attempt began in time, as above.
            "total_timeout_ms allows more",
        )
    ), answer


def test_pauses_follow_the_seed(asker):
    script = Script(503)
    server = script.serve(False)
    policy = {"seed": SEED, "max_attempts": 4, "base_pause_ms": 200}
    meet(asker, policy=policy)
    assert asker.get(server.url)["attempts"] == 4
    server.close()
    gaps = [late - early for early, late in zip(script.times, script.times[1:])]
    # Which are nearly as long as pauses can be; few seeds have three such.
    for gap, pause_ms in zip(gaps, SEED_PAUSES_MS, strict=True):
        assert gap * 1_000 >= pause_ms - 5, gaps


@pytest.mark.parametrize("by", ["plain", "shared"])
def test_a_budget_ends_the_repetitions(asker, by):
    script = Script(503)
    server = script.serve(False)
    meet(asker, policy={"reserve": 4, "share_percent": 50, "max_attempts": 2})
    answers = [asker.get(server.url, by=by) for _ in range(20)]
    server.close()
    # The four that it begins with, and then one for two requests.
    retries = sum(answer["attempts"] - 1 for answer in answers)
    assert script.count == 20 + retries
    assert 12 <= retries <= 14
    assert "RetryPolicy.budget" in answers[-1]["why"] + answers[-2]["why"]


def test_a_redirection_leads_to_a_refusal_that_is_repeated(asker):
    to = b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
    script = Script(to, 503, 200)
    server = script.serve(False)
    meet(asker, policy={})
    answer = asker.get(server.url)
    server.close()
    assert (answer["status"], answer["attempts"]) == (200, 2)
    assert script.count == 3


@pytest.mark.parametrize("most, attempts", [(1, 1), (2, 2)])
def test_streams_that_are_refused_are_attempts_of_the_policy(asker, most, attempts):
    """9113-8.7: what no server has begun with may be sent again, whatever its
    method; how often is the program's choice."""

    def handle(peer: Http2Peer) -> None:
        peer.reset(peer.request(), REFUSED_STREAM)
        while True:
            peer.answer(peer.request())

    server = RawServer(speaking(handle))
    meet(asker, True, {"max_attempts": most})
    answer = asker.get(server.url, method="POST", octets="x")
    server.close()
    assert answer["attempts"] == attempts, answer
    if most == 2:
        assert answer["status"] == 200, answer
    else:
        assert "RetryPolicy.max_attempts allows no more" in answer["text"], answer


@pytest.mark.parametrize("way", ["refused", "goaway"])
def test_a_budget_binds_what_servers_do_not_begin_with(asker, way):
    """50 requests, the four of the reserve, and one for five requests."""
    streams = []

    def handle(peer: Http2Peer) -> None:
        while True:
            streams.append(peer.request())
            if way == "goaway":
                peer.goaway(0)
                peer.drain()
                return
            peer.reset(streams[-1], REFUSED_STREAM)

    server = RawServer(speaking(handle))
    meet(asker, True, {"max_attempts": 7, "reserve": 4, "share_percent": 20})
    answers = [asker.get(server.url, by="shared") for _ in range(50)]
    server.close()
    assert {answer["kind"] for answer in answers} == {"StreamReset"}
    assert 60 <= len(streams) <= 64
    assert sum(answer["attempts"] for answer in answers) == len(streams)
    assert "RetryPolicy.budget has no repetition left" in answers[-1]["text"]


def test_a_connection_that_goes_away_costs_no_attempt(asker):
    """9113-6.8: as one that went stale in the pool, it is replaced at once."""

    def handle(peer: Http2Peer) -> None:
        peer.answer(first := peer.request())
        second = peer.request()
        if peer.connection.number == 1:
            peer.goaway(first)
            peer.drain()
        peer.answer(second)

    server = RawServer(speaking(handle))
    meet(asker, True, {"max_attempts": 1, "reserve": 0})
    for _ in range(2):
        answer = asker.get(server.url, method="POST", octets="x")
        assert answer["status"] == 200, answer
    server.close()
    assert server.connection_count == 2


TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"


def timed_out(answer: bytes, number_max: int = 1) -> RawServer:
    """Serves one request on a connection, and times out of the next, on so many
    connections; then on those that follow at once."""

    def handle(connection: Connection) -> None:
        for turn in range(9):
            if not (head := connection.head()):
                return
            connection.body(head)
            if connection.number <= number_max and (turn or connection.number > 1):
                connection.send(answer)
                return
            connection.send(sized(head.split()[0].encode()))

    return RawServer(handle)


@pytest.mark.parametrize("policy", [None, {"max_attempts": 1, "reserve": 0}])
@pytest.mark.parametrize("by", KINDS)
def test_a_408_for_a_connection_that_was_idle_is_no_answer(asker, by, policy):
    """9110-15.5.9: the server says that its connection has waited too long, and the
    request, which it has not seen, goes on another one."""
    server = timed_out(TIMED_OUT)
    meet(asker, False, policy)
    for _ in range(3):
        answer = asker.get(server.url, by=by)
        assert (answer["status"], answer["attempts"]) == (200, 1), answer
    server.close()
    assert server.connection_count == 2


@pytest.mark.parametrize("by", KINDS)
def test_a_408_on_a_new_connection_is_the_answer(asker, by):
    """9110-15.5.9: nothing waited there; so it goes on another connection once."""
    server = timed_out(TIMED_OUT, 9)
    meet(asker)
    assert asker.get(server.url, by=by)["status"] == 200
    assert asker.get(server.url, by=by)["status"] == 408
    server.close()
    assert server.connection_count == 2


@pytest.mark.parametrize(
    "answer,more,status",
    [
        (TIMED_OUT, {"method": "PUT", "octets": "x"}, 200),
        (TIMED_OUT, {"method": "POST", "octets": "x", "repeatable": 1}, 200),
        (TIMED_OUT.replace(b"/1.1", b"/1.0"), {}, 200),
        (TIMED_OUT.replace(b"Connection: close\r\n", b""), {}, 200),
        # 9110-9.2.2: who says so may have acted all the same.
        (TIMED_OUT, {"method": "POST", "octets": "x"}, 408),
        # 9110-15.2: it has begun with the request.
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" + TIMED_OUT, {}, 408),
        # It does not end the connection.
        (b"HTTP/1.1 408 X\r\nContent-Length: 0\r\n\r\n", {}, 408),
        (TIMED_OUT.replace(b"408", b"400"), {}, 400),
    ],
)
def test_which_408_is_for_the_connection(asker, answer, more, status):
    server = timed_out(answer)
    meet(asker)
    assert asker.get(server.url)["status"] == 200
    assert asker.get(server.url, **more)["status"] == status
    server.close()
    assert server.connection_count == (2 if status == 200 else 1)


def test_streamed_content_is_not_sent_twice_for_a_408(fetcher):
    server = timed_out(TIMED_OUT)
    fetcher.client()
    assert fetcher.get(server.url)["status"] == 200
    answer = fetcher.ask(do="upload", url=server.url, method="PUT", length=9)
    assert answer["status"] == 408
    server.close()
    assert server.connection_count == 1
