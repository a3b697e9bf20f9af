"""Limits and times of HTTP/2 connections: each test fails when its field is ignored."""

import socket
import time

import pytest
from conftest import wait_until
from h2_client import (
    CANCEL, CONTINUATION, DATA, DEFAULT_WINDOW, END_HEADERS, END_STREAM,
    ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR, HEADERS, INITIAL_WINDOW,
    MAX_HEADER_LIST_SIZE, MAX_STREAMS, NO_ERROR, PING, PREFACE, REFUSED_STREAM,
    SETTINGS, SETTINGS_TIMEOUT, ACK, Closed, H2Client, frame, reset, settings,
)  # fmt: skip
from h2_hpack import encode
from ready import ready


def small(start, **config):
    """A server with a small limit."""
    return start("h2_server", **config)


def limits(**fields):
    return {f"http2_limits_{name}": value for name, value in fields.items()}


def seconds(act) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


# `Http2Config`.


def test_max_streams(start):
    server = small(start, **limits(max_streams=3))
    with H2Client(server) as client:
        streams = [client.request("/silence") for _ in range(4)]
        client.settle()
        assert client.settings[MAX_STREAMS] == 3
        assert [client.answers[s].reset for s in streams] == [None] * 3 + [REFUSED_STREAM]
        client.send(frame(3, 0, streams[0], bytes([0, 0, 0, CANCEL])))
        client.send(frame(3, 0, streams[1], bytes([0, 0, 0, CANCEL])))
        assert client.get("/").status == 200


def test_stream_window_size(start):
    server = small(start, **limits(stream_window_size=2_000))
    with H2Client(server) as client:
        client.settle()
        assert client.settings[INITIAL_WINDOW] == 2_000
        assert client.post("/", b"x" * 10_000).body == b"x" * 10_000
        stream = client.request("/", "POST", ends=False)
        client.send(frame(DATA, 0, stream, bytes(2_001)))
        assert client.answer(stream).reset == FLOW_CONTROL_ERROR


def test_upload_window_size(start):
    size = 300_000
    server = small(start, handler_threads=1, **limits(upload_window_size=size))
    with H2Client(server) as client:
        stream = client.request("/upload?pause=20000", "POST", ends=False)
        client.until(lambda: client.room_of(stream) == size)
        while client.room_of(stream) > 0:
            client.data(stream, bytes(min(16_384, client.room_of(stream))))
        client.send(frame(DATA, 0, stream, b"x"))
        assert client.answer(stream).reset == FLOW_CONTROL_ERROR


def test_connection_window_size(start):
    size = 100_000
    config = limits(connection_window_size=size, upload_window_size=80_000)
    server = small(start, handler_threads=3, **config)
    with H2Client(server) as client:
        streams = [client.request("/upload?pause=20000", "POST", ends=False) for _ in "ab"]
        client.until(lambda: client.room == size)
        client.until(lambda: all(client.room_of(s) == 80_000 for s in streams))
        for stream in streams:
            while client.room_of(stream) > 0 and client.room > 0:
                client.data(stream, bytes(min(16_384, client.room_of(stream), client.room)))
        client.send(frame(DATA, 0, streams[1], b"x"))
        assert client.end().code == FLOW_CONTROL_ERROR


def hold(client: H2Client, length: int) -> int:
    """Sends content to a handler that takes none of it for long."""
    stream = client.request("/upload?pause=20000", "POST", ends=False)
    client.until(lambda: client.room_of(stream) >= length)
    for start in range(0, length, 16_384):
        client.data(stream, bytes(min(16_384, length - start)))
    return stream


def test_content_that_is_held_leaves_the_rest_of_the_window(start):
    """9113-6.9: most of the connection's window is with handlers that take nothing;
    others go on by what is left, which never comes to half of it."""
    config = limits(connection_window_size=200_000, upload_window_size=80_000)
    server = small(start, handler_threads=3, **config)
    with H2Client(server) as client:
        client.until(lambda: client.room == 200_000)
        for _ in "ab":
            hold(client, 80_000)
        content = bytes(range(256)) * 1_000
        for _ in range(3):
            stream = client.request("/", "POST", ends=False)
            client.upload(stream, content)
            assert client.answer(stream).body == content


def test_what_our_window_holds_back_is_not_late(start):
    """9110-15.5.9: 408 is for a client that may send and does not."""
    config = limits(connection_window_size=200_000, upload_window_size=80_000)
    server = small(start, handler_threads=4, body_timeout_ms=1_500, **config)
    with H2Client(server) as client:
        client.until(lambda: client.room == 200_000)
        holders = [hold(client, length) for length in (80_000, 80_000, 40_000)]
        late = client.request("/", "POST", ends=False)
        # Longer than its content may take.
        assert client.get("/slow/3000").status == 200
        assert late not in client.answers
        for stream in holders:
            client.send(reset(stream))
        client.upload(late, b"here")
        assert client.answer(late).body == b"here"
        # And it is, where the window is open.
        assert client.answer(client.request("/", "POST", ends=False)).status == 408


@pytest.mark.parametrize("count, code", [(2, None), (3, ENHANCE_YOUR_CALM)])
def test_max_continuations(start, count, code):
    server = small(start, **limits(max_continuations=2))
    with H2Client(server) as client:
        block = encode(client.fields("GET", "/"))
        client.send(frame(HEADERS, END_STREAM, 1, block[:1]))
        for number in range(1, count):
            client.send(frame(CONTINUATION, 0, 1, block[number : number + 1]))
        client.send(frame(CONTINUATION, END_HEADERS, 1, block[count:]))
        client.next_id = 3
        if code:
            assert client.end().code == code
        else:
            assert client.answer(1).status == 200


@pytest.mark.parametrize("count, code", [(9, None), (10, ENHANCE_YOUR_CALM)])
def test_max_settings(start, count, code):
    server = small(start, **limits(max_settings=9))
    with H2Client(server) as client:
        client.send(settings({0x7700 + n: 1 for n in range(count)}))
        if code:
            assert client.end().code == code
        else:
            client.settle()


def test_settings_timeout_ms(start):
    # RFC 9113 section 6.5.3.
    server = small(start, **limits(settings_timeout_ms=1_500))
    began = time.monotonic()
    with H2Client(server) as client:
        client.acknowledges = False
        assert client.get("/").status == 200
        client.end()
        assert client.goaways[-1].code == SETTINGS_TIMEOUT
        assert time.monotonic() - began > 1
    with H2Client(server) as client:
        assert client.get("/").status == 200
        time.sleep(2)
        assert client.get("/").status == 200


def test_max_glitches(start):
    server = small(start, **limits(max_glitches=20, glitches_refill=0))
    with H2Client(server) as client:
        client.grants = False
        client.get("/")
        for number in range(20):
            client.ping(b"%8d" % number)
        client.send(frame(PING, 0, 0, bytes(8)))
        assert client.end().code == ENHANCE_YOUR_CALM
    assert wait_until(lambda: "is cut off: ENHANCE_YOUR_CALM" in server.stderr())


def test_many_that_are_cut_off_fill_no_log(start):
    server = small(start, **limits(max_glitches=2, glitches_refill=0))
    for _ in range(40):
        with H2Client(server) as client:
            client.grants = False
            for number in range(10):
                client.send(frame(PING, 0, 0, b"%8d" % number))
            assert client.end().code == ENHANCE_YOUR_CALM
    assert wait_until(lambda: "is cut off: ENHANCE_YOUR_CALM" in server.stderr())
    # One a second, of which there are few here.
    assert server.stderr().count("is cut off: ENHANCE_YOUR_CALM") < 20


def test_glitches_refill(start):
    server = small(start, **limits(max_glitches=2, glitches_refill=50))
    with H2Client(server) as client:
        client.grants = False
        client.get("/")
        for number in range(10):
            client.ping(b"%8d" % number)
            time.sleep(0.06)
        client.send(frame(PING, 0, 0, bytes(8)) * 10)
        assert client.end().code == ENHANCE_YOUR_CALM


def taken_pings(server, size: int) -> int:
    """How many octets of PING a server takes from a client that reads nothing."""
    client = H2Client(server, room=4_096)
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    # A server that takes more does so long before that.
    client.sock.settimeout(4)
    batch = frame(PING, 0, 0, bytes(8)) * 1_000
    sent = 0
    try:
        while sent < size:
            sent += client.sock.send(batch)
    except TimeoutError:
        pass
    client.sock.close()
    return sent


def test_max_queued_size(start):
    # Each PING asks for as much as it is.
    config = {"max_glitches": 1 << 30}
    little = small(start, **limits(max_queued_size=1_024, **config))
    much = small(start, **limits(max_queued_size=30_000_000, **config))
    most = 25_000_000
    assert taken_pings(little, most) < most
    assert taken_pings(much, most) >= most


def holding(start, size: int):
    """A server with a bound on what it makes ahead, whose handlers stay on the
    loop however slow the machine is: what began is known when PING is answered."""
    return small(start, handler_threads=0, **limits(max_pending_response_size=size))


def begun(client: H2Client, streams: list[int]) -> list[int]:
    """Those that have an answer, or the beginning of one."""
    return [s for s in streams if client.answers.get(s) and client.answers[s].status]


@pytest.mark.parametrize("size, first", [(100_000, 2), (1, 1), (10_000_000, 6)])
def test_max_pending_response_size(start, size, first):
    """What waits for windows keeps further requests from their handlers, but not
    those that are more urgent, nor HEAD; all are answered in the end."""
    server = holding(start, size)
    with H2Client(server, values={INITIAL_WINDOW: 0}) as client:
        path = "/size/60000"
        streams = [client.request(path) for _ in range(6)]
        client.settle()
        assert begun(client, streams) == streams[:first]
        urgent = client.request(path, fields=[("priority", "u=1")])
        small_one = client.request(path, "HEAD")
        client.until(lambda: begun(client, [urgent, small_one]) == [urgent, small_one])
        assert begun(client, streams) == streams[:first]
        # Who resets what waits makes room.
        client.send(reset(streams[0]))
        client.send(reset(urgent))
        client.until(lambda: len(begun(client, streams)) == min(6, first + 1))
        for stream in streams[1:]:
            client.grant(stream, 1 << 20)
        for stream in streams[1:]:
            assert client.answer(stream).body == b"x" * 60_000


def test_requests_wait_before_handler_threads(start):
    config = limits(max_pending_response_size=100_000)
    server = small(start, handler_threads=2, **config)
    with H2Client(server, values={INITIAL_WINDOW: 0}) as client:
        first = [client.request("/size/60000") for _ in range(2)]
        client.until(lambda: begun(client, first) == first)
        more = [client.request("/size/60000") for _ in range(4)]
        client.settle()
        assert not begun(client, more)
        for stream in first + more:
            client.grant(stream, 1 << 20)
        for stream in first + more:
            assert client.answer(stream).body == b"x" * 60_000


@pytest.mark.parametrize("method, threads", [("GET", -1), ("HEAD", -1), ("GET", 50)])
def test_calls_on_threads_count_with_what_their_route_makes(start, method, threads):
    """None has answered when they are begun; HEAD has a thread make it as well."""
    config = limits(max_pending_response_size=100_000)
    server = small(start, handler_threads=threads, **config)
    with H2Client(server) as other, H2Client(server, values={INITIAL_WINDOW: 0}) as client:
        for _ in range(2):
            assert len(other.get("/heavy/60000").body) == 60_000
        first = [client.request("/heavy/60000") for _ in range(2)]
        more = [client.request("/heavy/60000", method) for _ in range(20)]
        client.until(lambda: begun(client, first) == first)
        # As long as it takes to answer them all.
        assert other.get("/slow/300").status == 200
        client.settle()
        assert not begun(client, more)
        for stream in first + more:
            client.grant(stream, 1 << 20)
        for stream in first + more:
            assert client.answer(stream).status == 200


def test_calls_count_until_they_end(start):
    """Whoever resets its streams has no more made at once than others (http2.md 3)."""
    server = small(start, **limits(max_pending_response_size=1))
    with H2Client(server) as client:
        client.get("/slow/10")
        client.get("/slow/10")
        began = time.monotonic()
        stream = client.request("/slow/700")
        # It is begun.
        client.settle()
        client.send(reset(stream))
        client.get("/slow/1")
        assert time.monotonic() - began > 0.65


def test_calls_that_make_little_do_not_wait(start):
    server = small(start)
    with H2Client(server, values={INITIAL_WINDOW: 0}) as client:
        client.request("/slow/10")
        client.settle()
        streams = [client.request("/slow/500") for _ in range(90)]
        client.timeout = 30
        passed = seconds(lambda: client.until(lambda: len(begun(client, streams)) == 90))
        # One after the other they take 45 s.
        assert passed < 20


def test_shared_content_counts_once(start):
    server = holding(start, 1_500_000)
    with H2Client(server, values={INITIAL_WINDOW: 0}) as client:
        streams = [client.request("/shared") for _ in range(20)]
        client.settle()
        assert begun(client, streams) == streams


def test_who_takes_much_has_much_made_ahead(start):
    """Four times what was taken, up to 16 times the limit."""
    server = holding(start, 100_000)
    with H2Client(server, values={INITIAL_WINDOW: 300_000}) as client:
        for _ in range(3):
            assert len(client.get("/size/300000").body) == 300_000
        client.grants = False
        streams = [client.request("/size/600000") for _ in range(10)]
        client.settle()
        # 1.6 MB, where it would be 0.1 MB.
        assert begun(client, streams) == streams[:3]
        client.grants = True
        client.grant(0, 1 << 24)
        for stream in streams:
            client.grant(stream, 1 << 20)
        for stream in streams:
            assert len(client.answer(stream).body) == 600_000


# What holds for all versions.


@pytest.mark.parametrize("length, status", [(900, 200), (1_100, 431)])
def test_max_header_size(start, length, status):
    server = small(start, max_header_size=1_000)
    with H2Client(server) as client:
        used = sum(len(n) + len(v) + 32 for n, v in client.fields("GET", "/"))
        fields = [("x", "v" * (length - used - 33))]
        answer = client.get("/", fields=fields)
        assert answer.status == status
        assert client.settings[MAX_HEADER_LIST_SIZE] == 1_000
        assert client.get("/").status == 200


@pytest.mark.parametrize("count, status", [(10, 200), (11, 431)])
def test_max_fields(start, count, status):
    server = small(start, max_fields=10)
    with H2Client(server) as client:
        fields = [(f"x-{n}", "") for n in range(count)]
        assert client.get("/", fields=fields).status == status
        assert client.get("/").status == 200


@pytest.mark.parametrize("length, status", [(50, 200), (51, 414)])
def test_max_target_size(start, length, status):
    server = small(start, max_target_size=50)
    with H2Client(server) as client:
        path = "/line?".ljust(length, "q")
        assert client.get(path).status == status
        assert client.get("/").status == 200


@pytest.mark.parametrize("announced", [True, False])
def test_max_body_size(start, announced):
    server = small(start, max_body_size=5_000, max_header_size=1_000)
    with H2Client(server) as client:
        assert client.post("/", b"x" * 5_000).status == 200
        fields = [("content-length", "5001")] if announced else []
        stream = client.request("/", "POST", fields, ends=False)
        if not announced:
            client.data(stream, b"x" * 5_001)
        answer = client.reset_of(stream)
        assert (answer.status, answer.reset) == (413, NO_ERROR)
        # The route's own limit.
        assert client.post("/large", b"x" * 20_000).body == b"20000"
        assert client.post("/small", b"x" * 1_001).status == 413


def test_max_buffered_bodies_size(start):
    config = {"max_body_size": 200_000, "max_buffered_bodies_size": 300_000}
    server = small(start, **config, **limits(stream_window_size=200_000))
    with H2Client(server) as client:
        client.settle()
        streams = [client.request("/", "POST", ends=False) for _ in "ab"]
        for stream in streams:
            for _ in range(11):
                client.data(stream, bytes(16_000))
        client.until(lambda: any(s in client.answers for s in streams))
        assert client.answer(streams[1]).status == 503
        client.data(streams[0], b"", True)
        assert len(client.answer(streams[0]).body) == 176_000
        assert client.post("/", b"x" * 100_000).status == 200


def test_content_of_one_frame_is_not_counted(start):
    """It lies in the worker's own buffer while it is answered (decision 0015)."""
    config = {"max_body_size": 200_000, "max_buffered_bodies_size": 265_000}
    server = small(start, **config, **limits(stream_window_size=200_000))
    with H2Client(server) as client:
        client.settle()
        holder = client.request("/", "POST", ends=False)
        for _ in range(11):
            client.data(holder, bytes(16_000))
        # Buffers grow by doubling: that one takes 256,000.
        cut = client.request("/", "POST", ends=False)
        client.data(cut, bytes(6_000))
        client.data(cut, bytes(6_000))
        assert client.answer(cut).status == 503
        whole = client.request("/", "POST", ends=False)
        client.data(whole, bytes(12_000), True)
        assert len(client.answer(whole).body) == 12_000
        client.data(holder, b"", True)
        assert len(client.answer(holder).body) == 176_000


def test_content_for_handlers_that_read_it_is_counted(start):
    """`max_buffered_bodies_size`, as over HTTP/1.1: whoever has the content."""
    config = {"max_body_size": 250_000, "max_buffered_bodies_size": 300_000}
    server = small(start, handler_threads=2, **config)
    with H2Client(server) as client:
        holder = hold(client, 200_000)
        refused = client.request("/upload?pause=20000", "POST", ends=False)
        client.until(lambda: client.room_of(refused) >= 200_000)
        for _ in range(12):
            client.data(refused, bytes(16_384))
        assert client.answer(refused).status == 503
        # It has gone by now, or goes with the reset of the other.
        client.send(reset(holder))
        assert client.post("/", bytes(200_000)).status == 200


def test_max_keepalive_requests(start):
    server = small(start, max_keepalive_requests=3)
    with H2Client(server) as client:
        for _ in range(3):
            assert client.get("/").status == 200
        last = client.end()
        assert (last.code, last.last_id) == (NO_ERROR, 5)
        # RFC 9113 section 6.8: announced before it holds.
        assert client.goaways[0].last_id == (1 << 31) - 1


def test_max_connection_age_ms(start):
    server = small(start, max_connection_age_ms=500)
    began = time.monotonic()
    with H2Client(server) as client:
        stream = client.request("/pieces?count=2&length=5&how=waits")
        assert client.answer(stream).body
        last = client.end()
        # Ages differ by a fifth.
        assert time.monotonic() - began > 0.35
        assert (last.code, last.last_id) == (NO_ERROR, 1)


def test_max_connections(start):
    server = small(start, max_connections=1)
    with H2Client(server) as client:
        assert client.get("/").status == 200
        with server.connect() as sock:
            sock.sendall(PREFACE + settings({}))
            assert sock.recv(100).startswith(b"HTTP/1.1 503 ")
        assert client.get("/").status == 200


@pytest.mark.parametrize("octets", [
    PREFACE[:20], PREFACE + settings({}) + frame(SETTINGS, ACK, 0) + frame(PING, 0, 0, bytes(8))[:12],
    PREFACE + settings({}) + frame(SETTINGS, ACK, 0) + frame(HEADERS, END_STREAM, 1, b"\x82"),
], ids=["preface", "frame", "field block"])  # fmt: skip
def test_header_timeout_ms(start, octets):
    server = small(start, header_timeout_ms=300, idle_timeout_ms=20_000)
    began = time.monotonic()
    with H2Client(server, begins=False) as client:
        client.acknowledges = False
        client.send(octets)
        client.next_id = 3
        client.end()
        assert 0.25 < time.monotonic() - began < 9


def test_header_timeout_is_a_total(start):
    # An octet now and then prolongs nothing.
    server = small(start, header_timeout_ms=400)
    with H2Client(server) as client:
        client.settle()
        block = frame(HEADERS, END_STREAM | END_HEADERS, 1, encode(client.fields("GET", "/")))
        began = time.monotonic()
        for octet in block[:-1]:
            client.send(bytes([octet]))
            if ready([client.sock], 0.25):
                break
        else:
            pytest.fail(f"all of {len(block)} octets were waited for")
        assert time.monotonic() - began > 0.2
        assert client.end().code == NO_ERROR


def test_body_timeout_ms(start):
    server = small(start, body_timeout_ms=300, min_body_rate=0)
    with H2Client(server) as client:
        stream = client.request("/", "POST", ends=False)
        client.data(stream, b"x")
        other = client.request("/silence")
        answer = client.reset_of(stream)
        assert (answer.status, answer.reset) == (408, NO_ERROR)
        # The connection goes on.
        assert client.get("/").status == 200
        assert client.answers[other].status == 200


def test_min_body_rate(start):
    # 10,000 octets earn a second.
    server = small(start, body_timeout_ms=300, min_body_rate=10_000)
    with H2Client(server) as client:
        stream = client.request("/", "POST", ends=False)
        client.data(stream, bytes(10_000))
        time.sleep(0.5)
        client.data(stream, b"x", True)
        assert len(client.answer(stream).body) == 10_001


def test_idle_timeout_ms(start):
    server = small(start, idle_timeout_ms=300)
    with H2Client(server) as client:
        began = time.monotonic()
        assert client.get("/").status == 200
        last = client.end()
        assert time.monotonic() - began > 0.25
        assert (last.code, last.last_id) == (NO_ERROR, 1)


def test_pings_do_not_prolong_idle_timeout(start):
    server = small(start, idle_timeout_ms=500)
    with H2Client(server) as client:
        assert client.get("/").status == 200

        with pytest.raises((Closed, OSError)):
            for number in range(100):
                client.ping(b"%8d" % number)
                time.sleep(0.05)


def test_idle_timeout_spares_streams(start):
    server = small(start, idle_timeout_ms=300)
    with H2Client(server) as client:
        stream = client.request("/events")
        time.sleep(0.8)
        client.settle()
        assert client.answers[stream].status == 200
        assert client.get("/").status == 200


def test_write_timeout_of_a_shut_stream(start):
    server = small(start, write_timeout_ms=400, min_send_rate=0)
    with H2Client(server, {INITIAL_WINDOW: 1_000}) as client:
        client.grants = False
        stream = client.request("/size/5000")
        answer = client.answer(stream)
        assert (len(answer.body), answer.reset) == (1_000, CANCEL)
        # Others go on.
        assert client.get("/").status == 200
    assert "kept its window shut" in server.stderr()


def test_write_timeout_is_a_total(start):
    """An octet of window now and then prolongs nothing (CVE-2019-9511)."""
    server = small(start, write_timeout_ms=500, min_send_rate=1_000)
    with H2Client(server, {INITIAL_WINDOW: 0}) as client:
        client.grants = False
        stream = client.request("/size/5000")

        def drip():
            while not client.answers.get(stream) or client.answers[stream].reset is None:
                client.grant(stream, 16)
                client.settle()
                time.sleep(0.1)

        # An octet earns a millisecond, and all of them five seconds: these are granted
        # in half a minute.
        assert seconds(drip) < 20
        assert client.answers[stream].reset == CANCEL


def test_min_send_rate(start):
    # A client that opens windows fast enough is sent all, however long it takes.
    server = small(start, write_timeout_ms=1_500, min_send_rate=1_000)
    with H2Client(server, {INITIAL_WINDOW: 0}) as client:
        client.grants = False
        stream = client.request("/size/10000")
        while not client.answers.get(stream) or not client.answers[stream].is_over:
            client.grant(stream, 500)
            client.settle()
            time.sleep(0.1)
        assert len(client.answers[stream].body) == 10_000


def test_write_timeout_of_a_shut_connection(start):
    server = small(start, write_timeout_ms=400, min_send_rate=0)
    with H2Client(server, {INITIAL_WINDOW: 1 << 20}) as client:
        client.grants = False
        began = time.monotonic()
        client.request("/size/100000")
        client.end()
        assert 0.3 < time.monotonic() - began < 9
        assert len(client.answers[1].body) == DEFAULT_WINDOW
    assert "window of the connection shut" in server.stderr()


# All streams of a connection that keep content waiting share one total, four times
# `write_timeout_ms`, which new ones do not renew.

TOTAL_TIMES = {"write_timeout_ms": 300, "min_send_rate": 1_000}
TOTAL_S = 4 * 0.3
# For whoever takes in time.
LONG_TIMES = {"write_timeout_ms": 900, "min_send_rate": 1_000}
LONG_TOTAL_S = 4 * 0.9


def ends_by_the_total(server, client, act) -> bool:
    """Repeats something until the server ends the connection; tells whether it
    did so near the total."""
    began = time.monotonic()
    try:
        while time.monotonic() - began < 10 * TOTAL_S:
            act()
            client.settle()
            time.sleep(0.02)
        return False
    except (Closed, ConnectionResetError, BrokenPipeError):
        return (
            time.monotonic() - began > 0.5 * TOTAL_S
            and "kept responses waiting for 1200 ms in all" in server.stderr()
        )


def test_requests_that_are_given_up_do_not_renew_the_time_of_a_connection(start):
    server = small(start, **TOTAL_TIMES)
    with H2Client(server, {INITIAL_WINDOW: 0}) as client:
        streams = []

        def replace():
            streams.append(client.request("/size/5000"))
            if len(streams) > 1:
                client.send(reset(streams.pop(0)))

        assert ends_by_the_total(server, client, replace)


def test_streams_that_are_ended_here_do_not_renew_the_time_of_a_connection(start):
    server = small(start, **TOTAL_TIMES)
    with H2Client(server, {INITIAL_WINDOW: 0}) as client:
        streams = [client.request("/size/5000")]

        def replace():
            answer = client.answers.get(streams[-1])
            if answer and answer.reset is not None:
                streams.append(client.request("/size/5000"))

        assert ends_by_the_total(server, client, replace)


def test_windows_shut_in_turn_do_not_renew_the_time_of_a_connection(start):
    """A response that waits now for its own window, now for the connection's."""
    server = small(start, **TOTAL_TIMES)
    with H2Client(server, {INITIAL_WINDOW: 1 << 20}) as client:
        client.grants = False
        stream = client.request("/size/200000")
        client.until(lambda: client.window == 0)
        turns = []

        def toggle():
            turns.append(0)
            if len(turns) % 4 == 0:
                client.send(settings({INITIAL_WINDOW: 0}))
                client.settle()
                client.send(settings({INITIAL_WINDOW: 1 << 20}))

        assert ends_by_the_total(server, client, toggle)
        assert not client.answers[stream].is_over


def test_who_takes_all_in_the_end_is_not_cut_off(start):
    """Each response waits, one after the other, for longer than all of them may."""
    server = small(start, **LONG_TIMES)
    with H2Client(server, {INITIAL_WINDOW: 0}) as client:
        client.grants = False
        began = time.monotonic()
        while time.monotonic() - began < 2 * LONG_TOTAL_S:
            stream = client.request("/size/20")
            time.sleep(0.3)
            client.grant(stream, 20)
            assert client.answer(stream).body == b"x" * 20
    assert "cut off" not in server.stderr()


def test_who_takes_at_the_rate_is_not_cut_off_for_what_it_gives_up(start):
    server = small(start, **LONG_TIMES)
    with H2Client(server, {INITIAL_WINDOW: 0}) as client:
        client.grants = False
        began = time.monotonic()
        while time.monotonic() - began < 2 * LONG_TOTAL_S:
            given_up = client.request("/size/5000")
            taken = client.request("/size/1000")
            client.grant(taken, 1000)
            assert len(client.answer(taken).body) == 1000
            time.sleep(0.2)
            client.send(reset(given_up))
            client.settle()
    assert "cut off" not in server.stderr()


def test_streams_that_have_nothing_to_send_are_not_cut_off(start):
    server = small(start, **TOTAL_TIMES)
    with H2Client(server) as client:
        streams = [client.request("/silence") for _ in range(3)]
        began = time.monotonic()
        while time.monotonic() - began < 2 * TOTAL_S:
            assert client.get("/").status == 200
            time.sleep(0.1)
        assert not any(client.answers[stream].is_over for stream in streams)


def test_write_timeout_of_a_full_socket(start):
    server = small(start, write_timeout_ms=400, min_send_rate=0)
    values = {INITIAL_WINDOW: (1 << 31) - 1}
    with H2Client(server, values, room=4_096) as client:
        client.grant(0, 1 << 30)
        client.request("/pieces?count=200&length=100000")
        assert wait_until(lambda: "is cut off" in server.stderr())


@pytest.mark.parametrize("path", ["/size/4000000", "/pieces?count=40&length=100000"])
def test_who_empties_a_full_socket_steadily_is_not_cut_off(start, path):
    """`min_send_rate`: a hundred times of it is taken, while windows are open wide."""
    server = small(start, write_timeout_ms=900, min_send_rate=8_000)
    values = {INITIAL_WINDOW: (1 << 31) - 1}
    with H2Client(server, values, room=65_536) as client:
        client.grants = False
        client.grant(0, 1 << 30)
        stream = client.request(path)
        began = time.monotonic()
        taken = 0
        while not client.answers.get(stream) or not client.answers[stream].is_over:
            client.take_frame()
            length = len(client.answers[stream].body) if stream in client.answers else 0
            if length - taken > 60_000:
                taken = length
                time.sleep(0.06)
        assert len(client.answers[stream].body) == 4_000_000
        # Many times what it would have had without taking anything.
        assert time.monotonic() - began > 4 * 0.9
    assert "cut off" not in server.stderr()


def test_handler_timeout_ms(start):
    server = small(start, handler_threads=1, handler_timeout_ms=300)
    with H2Client(server) as client:
        answer = client.get("/patient")
        assert (answer.status, answer.body) == (503, b"the answer could not be made in time\n")
        assert wait_until(lambda: "cancelled after" in server.stderr())
        assert client.get("/slow/10").status == 200


def test_requests_that_were_late_count_until_their_handlers_end(start):
    server = small(
        start, handler_threads=2, handler_timeout_ms=1500, **limits(max_streams=2)
    )
    with H2Client(server) as client, H2Client(server) as other:
        late = [client.request("/slow/2500") for _ in range(2)]
        assert [client.answer(stream).status for stream in late] == [503, 503]
        refused = client.request("/")
        client.settle()
        assert client.answers[refused].reset == REFUSED_STREAM
        # They wait for both threads.
        behind = [other.request("/slow/1") for _ in range(2)]
        assert [other.answer(stream).status for stream in behind] == [200, 200]
        assert client.get("/").status == 200
        *_, third = [client.request("/silence") for _ in range(3)]
        client.settle()
        assert client.answers[third].reset == REFUSED_STREAM


def test_handler_queue(start):
    server = small(start, handler_threads=1, handler_queue=1)
    with H2Client(server) as client:
        first = client.request("/slow/3000")
        client.settle()
        others = [client.request("/slow/1") for _ in range(4)]
        statuses = sorted(client.answer(s).status for s in others)
        assert client.answer(first).status == 200
        assert statuses.count(503) >= 2 and 200 in statuses


def test_http2_off(start):
    server = small(start, http2="false")
    with server.connect() as sock:
        sock.sendall(PREFACE)
        assert sock.recv(100).startswith(b"HTTP/1.1 505 ")
