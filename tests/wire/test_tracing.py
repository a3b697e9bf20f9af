"""Tracing: server to handler to client, and spans to a collector over OTLP."""

import re
import socket
import threading
import time
from contextlib import contextmanager

import httpx
import pytest
from conftest import Client, wait_until
from h2_hpack import Decoder
from otlp_receiver import Answer, ReceivedSpan, receiving
from ports import claim_port
from raw_http2 import Http2Peer
from raw_server import Connection, RawServer
from websockets.sync.client import connect

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"
SAMPLED = f"00-{TRACE_ID}-{SPAN_ID}-01"
NOT_SAMPLED = f"00-{TRACE_ID}-{SPAN_ID}-00"
# A batch goes as soon as there is something, and a test ends soon.
QUICK = {"interval_ms": 0, "backoff_ms": 10, "flush_ms": 5_000}
SERVER, CLIENT, INTERNAL = 2, 3, 1


@pytest.fixture
def collector():
    with receiving() as receiver:
        yield receiver
        assert not receiver.problems


@pytest.fixture
def traced(start, collector):
    return start("traced_server", collector=collector.url, **QUICK)


@pytest.fixture
def second(start, collector):
    """Another server, for one waits for its own handlers."""
    return start("traced_server", collector=collector.url, **QUICK)


def get(server, target: str, **fields: str) -> httpx.Response:
    return httpx.get(server.url + target, headers=fields, timeout=10)


def named(spans: list[ReceivedSpan], name: str) -> ReceivedSpan:
    found = [span for span in spans if span.name == name]
    assert len(found) == 1, [span.name for span in spans]
    return found[0]


def test_a_span_of_a_request(traced, collector):
    """OpenTelemetry semantic conventions, HTTP server spans."""
    before = time.time_ns()
    answer = get(traced, "/users/7?token=secret", **{"User-Agent": "test/1"})
    assert answer.status_code == 200
    (span,) = collector.wait_for_spans(1)
    assert span.name == "GET /users/:id"
    assert span.proto.kind == SERVER
    assert not span.parent_id and not span.is_failed()
    assert span.attributes == {
        "http.request.method": "GET",
        "http.route": "/users/:id",
        "http.response.status_code": 200,
        "url.path": "/users/7",
        "url.scheme": "http",
        "server.address": "127.0.0.1",
        "server.port": traced.port,
        "client.address": "127.0.0.1",
        "user_agent.original": "test/1",
        "network.protocol.version": "1.1",
        "user.id": "7",
    }
    began = span.proto.start_time_unix_nano
    ended = span.proto.end_time_unix_nano
    assert before <= began <= ended <= time.time_ns()


def test_what_is_told_of_the_program(traced, collector):
    """Resource attributes, and the fields that the exporter was given."""
    get(traced, "/users/7")
    (span,) = collector.wait_for_spans(1)
    assert span.resource == {
        "service.name": "traced",
        "service.version": "1.2.3",
        "host.name": socket.gethostname(),
        "process.pid": traced.process.pid,
        "telemetry.sdk.name": "flare",
        "telemetry.sdk.language": "mojo",
        "deployment.environment.name": "test",
    }
    assert collector.requests[0]["x-key"] == "of the test"
    assert "traceparent" not in collector.requests[0]


def test_a_handler_that_raises(traced, collector):
    assert get(traced, "/fail").status_code == 500
    (span,) = collector.wait_for_spans(1)
    assert span.is_failed()
    assert span.proto.status.message == "no such table"
    assert span.attributes["error.type"] == "500"
    (event,) = span.proto.events
    assert event.name == "exception"
    assert event.attributes[0].value.string_value == "no such table"


def test_refusals_of_the_server_have_spans(traced, collector):
    with Client(traced) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert client.response().status == 400
    (span,) = collector.wait_for_spans(1)
    assert span.attributes["http.response.status_code"] == 400


def test_children_and_events(traced, collector):
    get(traced, "/steps/3")
    spans = collector.wait_for_spans(4)
    root = named(spans, "GET /steps/:count")
    steps = [span for span in spans if span.name == "step"]
    assert [span.attributes["index"] for span in steps] == [0, 1, 2]
    for step in steps:
        assert (step.trace_id, step.parent_id) == (root.trace_id, root.span_id)
        assert step.proto.kind == INTERNAL
        (event,) = step.proto.events
        assert event.name == "stepped"
        assert event.attributes[0].value.double_value == 0.5
        assert event.attributes[1].value.bool_value is False


def test_from_server_to_handler_to_client_to_server(traced, second, collector):
    """One trace over three requests; Trace Context section 3.4."""
    answer = get(
        traced,
        f"/call/{second.port}/trace",
        traceparent=SAMPLED,
        tracestate="a=1, b=2",
    )
    spans = collector.wait_for_spans(3)
    outer = named(spans, "GET /call/:port/*rest")
    inner = named(spans, "GET /trace")
    call = named(spans, "GET")
    assert {span.trace_id for span in spans} == {TRACE_ID}
    assert outer.parent_id == SPAN_ID
    assert call.parent_id == outer.span_id
    assert inner.parent_id == call.span_id
    assert {span.proto.trace_state for span in spans} == {"a=1,b=2"}
    assert answer.text == f"00-{TRACE_ID}-{inner.span_id}-01 a=1,b=2"
    assert call.proto.kind == CLIENT
    # HTTP client spans: no credentials, no values of the query.
    assert call.attributes == {
        "http.request.method": "GET",
        "url.full": f"http://127.0.0.1:{second.port}/trace?token=REDACTED&REDACTED",
        "server.address": "127.0.0.1",
        "server.port": second.port,
        "http.response.status_code": 200,
    }


@pytest.fixture
def passed_on(start, collector):
    """Gives what an upstream is asked behind a `ReverseProxy` that is traced."""
    upstreams = []

    def launch(fields: bytes, **options) -> str:
        heads = []

        def handle(connection: Connection) -> None:
            if options.get("http2"):
                peer = Http2Peer(connection)
                peer.begin()
                stream = peer.request()
                heads.append(peer.seen[-1].payload.decode("latin-1"))
                peer.answer(stream)
                peer.drain()
            while head := connection.head():
                heads.append(head.lower())
                connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        upstream = RawServer(handle)
        upstreams.append(upstream)
        server = start(
            "traced_server", collector=collector.url, upstream=upstream.url, **QUICK, **options
        )
        with Client(server, 10) as client:
            client.send(b"GET /far HTTP/1.1\r\nHost: a\r\n" + fields + b"\r\n")
            assert client.response().status == 200
        return heads[0]

    yield launch
    for upstream in upstreams:
        upstream.close()


PARENT = b"Traceparent: %s\r\nTracestate: a=1\r\ntracestate: b=2\r\n" % SAMPLED.encode()


def test_an_upstream_gets_the_span_as_its_parent(passed_on, collector):
    """W3C Trace Context sections 3.2 and 3.3: the client's fields go first."""
    head = passed_on(PARENT)
    span = named(collector.wait_for_spans(1), "GET")
    assert span.parent_id == SPAN_ID
    assert head.count("\r\ntraceparent:") == 1
    assert f"\r\ntraceparent: 00-{TRACE_ID}-{span.span_id}-01\r\n" in head
    assert head.count("\r\ntracestate:") == 1
    assert "\r\ntracestate: a=1,b=2\r\n" in head


def test_a_trace_that_begins_here_is_the_upstreams_too(passed_on, collector):
    head = passed_on(b"tracestate: a=1\r\n")
    span = named(collector.wait_for_spans(1), "GET")
    assert f"\r\ntraceparent: 00-{span.trace_id}-{span.span_id}-01\r\n" in head
    assert "tracestate" not in head


def test_an_upstream_of_http2_gets_it_too(passed_on, collector):
    head = passed_on(PARENT, http2=1)
    span = named(collector.wait_for_spans(1), "GET")
    # The encoder may take Huffman's code, which digits are shorter in.
    assert decoded(head)["traceparent"] == f"00-{TRACE_ID}-{span.span_id}-01"
    assert decoded(head)["tracestate"] == "a=1,b=2"


def decoded(block: str) -> dict[str, str]:
    return dict(Decoder().decode(block.encode("latin-1")))


@pytest.mark.parametrize(
    "removed, names", [("traceparent,tracestate", []), ("tracestate", ["traceparent"])]
)
def test_fields_that_the_rules_remove_are_not_sent(passed_on, removed, names):
    """As to an upstream of others, who need not know of the trace."""
    head = passed_on(PARENT, removed=removed)
    found = [name for name in ("traceparent", "tracestate") if f"\r\n{name}:" in head]
    assert found == names


def test_requests_side_by_side(traced, second, collector):
    """Each has a span; one that fails says how."""
    get(traced, f"/call_many/{second.port}")
    spans = collector.wait_for_spans(6)
    calls = [span for span in spans if span.proto.kind == CLIENT]
    told = [
        (
            span.attributes.get("http.response.status_code"),
            span.attributes.get("error.type"),
            span.is_failed(),
        )
        for span in calls
    ]
    assert sorted(told, key=str) == sorted(
        [
            (200, None, False),
            (404, "404", True),
            (None, "ConnectionRefused", True),
        ],
        key=str,
    )
    assert len({span.span_id for span in calls}) == 3


@pytest.mark.parametrize(
    "value",
    [NOT_SAMPLED, "ff" + SAMPLED[2:], SAMPLED.upper(), SAMPLED + "-more"],
)
def test_parents_that_do_not_decide(start, collector, value):
    """Trace Context section 4.3: malformed ones are as good as none."""
    server = start(
        "traced_server", collector=collector.url, sampler="parent", **QUICK
    )
    text = get(server, "/trace", traceparent=value, tracestate="a=1").text
    is_continued = value == NOT_SAMPLED
    assert text.startswith(f"00-{TRACE_ID}-") == is_continued
    assert text.endswith("-00 a=1" if is_continued else "-00 "), text
    assert SPAN_ID not in text
    get(server, "/users/7", traceparent=SAMPLED)
    (span,) = collector.wait_for_spans(1)
    assert span.name == "GET /users/:id"


def test_a_higher_version_is_read(traced, collector):
    get(traced, "/trace", traceparent="cc" + SAMPLED[2:] + "-more")
    (span,) = collector.wait_for_spans(1)
    assert (span.trace_id, span.parent_id) == (TRACE_ID, SPAN_ID)


def test_strangers_are_not_continued(start, collector):
    server = start(
        "traced_server", collector=collector.url, takes_over=0, **QUICK
    )
    text = get(server, "/trace", traceparent=NOT_SAMPLED, tracestate="a=1").text
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01 ", text)
    (span,) = collector.wait_for_spans(1)
    assert span.trace_id != TRACE_ID and not span.parent_id


@pytest.mark.parametrize("sampler", ["always", "never", "0.5"])
def test_sampling(start, collector, sampler):
    """By ratio, what is sampled is what has a low id, and about half."""
    server = start(
        "traced_server", collector=collector.url, sampler=sampler, **QUICK
    )
    count = 200
    sampled = set()
    with httpx.Client() as client:
        for _ in range(count):
            text = client.get(server.url + "/trace").text
            _, trace_id, _, flags = text.strip().split("-")
            if sampler == "0.5":
                assert (flags == "01") == (int(trace_id[16:], 16) < 1 << 63)
            if flags == "01":
                sampled.add(trace_id)
    low, high = {"always": (count, count), "never": (0, 0)}.get(
        sampler, (60, 140)
    )
    assert low <= len(sampled) <= high
    assert server.stop() == 0
    assert {span.trace_id for span in collector.spans} == sampled


def test_a_stream_ends_its_span(traced, collector):
    assert get(traced, "/stream").text == "piece" * 3
    (span,) = collector.wait_for_spans(1)
    assert span.name == "GET /stream" and not span.is_failed()


def test_a_broken_stream_fails_its_span(traced, collector):
    with pytest.raises(httpx.RemoteProtocolError):
        get(traced, "/broken")
    (span,) = collector.wait_for_spans(1)
    assert span.is_failed() and span.proto.status.message == "the disk is gone"


def test_a_websocket_ends_its_span(traced, collector):
    url = f"ws://127.0.0.1:{traced.port}/ws"
    with connect(url, additional_headers={"traceparent": SAMPLED}) as socket:
        socket.send("hello")
        assert socket.recv(5) == "hello"
        get(traced, "/users/7")
        (other,) = collector.wait_for_spans(1)
        assert other.name == "GET /users/:id"
    collector.wait(lambda receiver: len(receiver.spans) == 2)
    span = named(collector.spans, "GET /ws")
    assert span.trace_id == TRACE_ID
    assert span.attributes["http.response.status_code"] == 101


def test_handlers_on_threads(start, collector):
    server = start(
        "traced_server", collector=collector.url, handler_threads=2, **QUICK
    )
    text = get(server, "/trace", traceparent=SAMPLED).text
    (span,) = collector.wait_for_spans(1)
    assert text == f"00-{TRACE_ID}-{span.span_id}-01 "


def test_worker_processes_export_each_by_itself(start, collector):
    """The thread is started behind the fork, and all is flushed at the end."""
    server = start(
        "traced_server",
        collector=collector.url,
        mode="prefork",
        workers=2,
        interval_ms=3_600_000,
    )
    sent: dict[int, int] = {}

    def ask() -> bool:
        pid = int(get(server, "/users/7").text)
        sent[pid] = sent.get(pid, 0) + 1
        return len(sent) == 2

    assert wait_until(ask, 20)
    assert server.stop() == 0
    got: dict[int, int] = {}
    for span in collector.spans:
        pid = span.resource["process.pid"]
        got[pid] = got.get(pid, 0) + 1
    assert got == sent
    ids = [span.trace_id for span in collector.spans]
    assert len(set(ids)) == len(ids), "forks share no ids"


def test_worker_threads(start, collector):
    server = start(
        "traced_server",
        collector=collector.url,
        workers=2,
        interval_ms=3_600_000,
    )
    for _ in range(10):
        get(server, "/users/7")
    assert server.stop() == 0
    assert len(collector.spans) == 10


def test_batches_by_count(start, collector):
    server = start(
        "traced_server",
        collector=collector.url,
        interval_ms=3_600_000,
        batch_max=4,
    )
    get(server, "/steps/8")
    collector.wait(lambda receiver: sum(receiver.batches) >= 8)
    assert max(collector.batches) <= 4
    assert server.stop() == 0
    assert sum(collector.batches) == 9


def test_gzip(start, collector):
    server = start(
        "traced_server", collector=collector.url, compresses=1, **QUICK
    )
    get(server, "/steps/20")
    collector.wait_for_spans(21)
    assert collector.requests[0]["content-encoding"] == "gzip"


def test_over_tls(start, certs):
    own = (certs / "good_chain.pem", certs / "good.key")
    with receiving(own) as collector:
        server = start(
            "traced_server",
            collector=collector.url,
            ca=certs / "root.pem",
            **QUICK,
        )
        get(server, "/users/7")
        collector.wait_for_spans(1)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_refusals_that_pass(start, collector, status):
    """OTLP/HTTP: these are retryable, and Retry-After is obeyed."""
    collector.answers = [Answer(status, {"Retry-After": "1"}), Answer(status)]
    server = start("traced_server", collector=collector.url, **QUICK)
    began = time.monotonic()
    get(server, "/users/7")
    collector.wait_for_spans(1)
    assert time.monotonic() - began >= 1
    assert len(collector.requests) == 3
    assert wait_until(lambda: get(server, "/counts").text.endswith(" 0"))


@pytest.mark.parametrize("status", [400, 404, 413, 500, 302])
def test_refusals_that_stay(start, collector, status):
    """All others are not retryable: the batch is dropped and counted."""
    collector.answers = [Answer(status, {"Location": "/v1/traces"})]
    server = start("traced_server", collector=collector.url, **QUICK)
    get(server, "/users/7")
    assert wait_until(lambda: get(server, "/counts").text.endswith(" 1"))
    line = f"spans dropped: 1, the last because the collector answers {status}"
    assert wait_until(lambda: line in server.stderr())


@pytest.mark.parametrize("number", [b'"1"', b"1"])
def test_partial_success(start, collector, number):
    """OTLP: a collector may refuse some; they are not sent again."""
    body = b'{"partialSuccess":{"rejectedSpans":' + number + b"}}"
    collector.answers = [Answer(200, {}, body)]
    server = start("traced_server", collector=collector.url, **QUICK)
    get(server, "/users/7")
    assert wait_until(lambda: get(server, "/counts").text.endswith(" 1"))


def test_the_collector_is_away(start):
    """Requests are answered, spans beyond the queue dropped and told once."""
    server = start(
        "traced_server",
        collector=f"http://127.0.0.1:{claim_port()}",
        queue_max=8,
        batch_max=4,
        interval_ms=0,
        flush_ms=100,
    )
    began = time.monotonic()
    for _ in range(3):
        assert get(server, "/steps/20").status_code == 200
    assert time.monotonic() - began < 15
    exported, dropped = get(server, "/counts").text.split()
    assert exported == "0" and int(dropped) >= 63 - 8
    assert server.stop() == 0


def test_the_collector_comes_back(start):
    port = claim_port()
    server = start(
        "traced_server",
        collector=f"http://127.0.0.1:{port}",
        interval_ms=0,
        backoff_ms=20,
    )
    get(server, "/users/7")
    with receiving(port=port) as collector:
        (span,) = collector.wait_for_spans(1)
        assert span.name == "GET /users/:id"
        assert server.stop() == 0


@contextmanager
def silent_collector():
    """Accepts and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_silent_collector_at_the_end(start):
    """The drain goes on when the time for it is over, and says what was lost."""
    with silent_collector() as url:
        server = start(
            "traced_server", collector=url, interval_ms=0, flush_ms=500
        )
        get(server, "/steps/2")
        began = time.monotonic()
        log = server.log
        server.process.terminate()
        assert server.process.wait(10) == 0
        assert time.monotonic() - began > 0.4
        assert "spans dropped: 3" in log.read_text()


def test_a_dead_collector_at_the_end(start):
    server = start(
        "traced_server",
        collector=f"http://127.0.0.1:{claim_port()}",
        interval_ms=3_600_000,
        flush_ms=300,
    )
    get(server, "/users/7")
    began = time.monotonic()
    server.process.terminate()
    assert server.process.wait(10) == 0
    # The next interval is an hour away.
    assert time.monotonic() - began < 10
    assert "spans dropped: 1" in server.stderr()


def test_a_slow_collector_at_the_end(start):
    """What it takes within the time is not lost."""
    gate = threading.Event()
    with receiving() as collector:
        collector.hold = lambda: gate.wait(10)
        server = start(
            "traced_server",
            collector=collector.url,
            interval_ms=3_600_000,
            flush_ms=8_000,
        )
        get(server, "/users/7")
        server.process.terminate()
        threading.Timer(0.5, gate.set).start()
        assert server.process.wait(10) == 0
        assert [span.name for span in collector.spans] == ["GET /users/:id"]
        assert server.lines() == []


def test_no_thread_without_a_span(start, collector):
    """A program that samples nothing has no exporter at work."""
    server = start(
        "traced_server", collector=collector.url, sampler="never", **QUICK
    )

    def thread_count() -> int:
        status = open(f"/proc/{server.process.pid}/status").read()
        return int(re.search(r"Threads:\s+(\d+)", status)[1])

    before = thread_count()
    for _ in range(10):
        get(server, "/steps/2")
    assert thread_count() == before
    assert server.stop() == 0
    assert not collector.requests
