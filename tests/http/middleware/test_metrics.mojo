"""Metrics: counts, times, in flight; summed over threads and processes."""

from flare.backplane.presence import Presence
from flare.backplane.shared_memory import SharedMemoryBackplane
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.backplane_metrics import BackplaneMetrics
from flare.http.middleware.metrics import (
    MetricPair,
    Metrics,
    MetricsEndpoint,
    NAME_COUNT_MAX,
    RequestMetrics,
)
from flare.http.handler.metric_source import MetricSource
from flare.http.routing.router import Router
from flare.http.sse.event_hub import EventHub
from flare.http.websocket.hub import WsHub
from flare.sys.process import end_process, fork_process, reap
from flare.sys.thread import Task, Thread
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_raises, assert_true


def _hello(req: Request) raises -> Response:
    return ok("hello")


def _read(req: Request) raises -> Response:
    return ok(req.json()["name"].string_value())


def _fail(req: Request) raises -> Response:
    raise Error("no")


def _text(metrics: Metrics) -> String:
    var text = String()
    metrics.write_metrics(text)
    return text^


def test_histogram() raises:
    var metrics = Metrics()
    for elapsed_us in [0, 100, 101, 5_000, 9_999_999, 10_000_001]:
        metrics.end(metrics.begin(), Method.GET, 200, elapsed_us)
    var text = _text(metrics)
    for line in [
        'http_requests_total{method="GET",status="200",route="none"} 6\n',
        '_bucket{method="GET",status="2xx",route="none",le="0.0001"} 2\n',
        '_bucket{method="GET",status="2xx",route="none",le="0.00025"} 3\n',
        '_bucket{method="GET",status="2xx",route="none",le="0.005"} 4\n',
        '_bucket{method="GET",status="2xx",route="none",le="5"} 4\n',
        '_bucket{method="GET",status="2xx",route="none",le="10"} 5\n',
        '_bucket{method="GET",status="2xx",route="none",le="+Inf"} 6\n',
        '_sum{method="GET",status="2xx",route="none"} 20.005201\n',
        '_count{method="GET",status="2xx",route="none"} 6\n',
        "http_requests_in_flight 0\n",
    ]:
        assert_true(line in text, line)


def test_methods_and_statuses() raises:
    var metrics = Metrics()
    _ = metrics.begin()
    metrics.end(metrics.begin(), Method.PATCH, 599, 1)
    metrics.end(metrics.begin(), Method.OTHER, 100, 1)
    var text = _text(metrics)
    assert_true('{method="PATCH",status="599",route="none"} 1\n' in text, text)
    assert_true('{method="other",status="100",route="none"} 1\n' in text, text)
    assert_true("http_requests_in_flight 1\n" in text, text)


@fieldwise_init
struct _More(MetricSource):
    def write_metrics(self, mut text: String):
        text.write("more 1\n")


def test_middleware_and_endpoint() raises:
    var metrics = Metrics()
    var router = Router()
    router.get("/hello", _hello)
    router.get("/fail", _fail)
    router.put("/read", _read)
    router.get("/users/:id", _hello)
    router.get("/metrics", MetricsEndpoint(MetricPair(metrics, _More())))
    var client = TestClient(RequestMetrics(router^, metrics))
    _ = client.get("/hello")
    _ = client.get("/hello")
    _ = client.post("/hello")
    _ = client.get("/users/1")
    _ = client.get("/users/2")
    with assert_raises(contains="no"):
        _ = client.get("/fail")
    _ = client.put("/read", "{")
    var response = client.get("/metrics")
    assert_equal(
        response.headers["content-type"],
        "text/plain; version=0.0.4; charset=utf-8",
    )
    var text = response.text()
    for line in [
        '{method="GET",status="200",route="/hello"} 2\n',
        '{method="POST",status="405",route="none"} 1\n',
        '{method="GET",status="500",route="/fail"} 1\n',
        '{method="PUT",status="400",route="/read"} 1\n',
        '_count{method="GET",status="2xx",route="/users/:id"} 2\n',
        '_count{method="GET",status="5xx",route="/fail"} 1\n',
        "http_requests_in_flight 1\n",
        "more 1\n",
    ]:
        assert_true(line in text, line)


@fieldwise_init
struct _Asker(Task):
    var metrics: Metrics

    def run(mut self) raises:
        for _ in range(5_000):
            self.metrics.end(self.metrics.begin(), Method.GET, 204, 7)


def test_threads_lose_no_count() raises:
    var metrics = Metrics()
    var threads = List[Thread]()
    for _ in range(4):
        threads.append(Thread(_Asker(metrics)))
    while len(threads) > 0:
        threads.pop().join()
    var text = _text(metrics)
    assert_true(
        '{method="GET",status="204",route="none"} 20000\n' in text, text
    )
    assert_true("http_requests_in_flight 0\n" in text, text)


def test_requests_of_a_dead_process_are_not_in_flight() raises:
    var metrics = Metrics()
    var place = metrics.begin()
    # Each takes the rows of those before it over, or one of its own.
    for _ in range(3):
        var child = fork_process()
        if child == 0:
            metrics.end(metrics.begin(), Method.GET, 200, 1)
            _ = metrics.begin()
            end_process(0 if "in_flight 2\n" in _text(metrics) else 1)
        var status = reap(child)
        while not status:
            status = reap(child)
        assert_true(status.value().is_clean())
        var text = _text(metrics)
        assert_true("http_requests_in_flight 1\n" in text, text)
    metrics.end(place, Method.GET, 200, 1)
    var text = _text(metrics)
    assert_true("http_requests_in_flight 0\n" in text, text)
    assert_true('{method="GET",status="200",route="none"} 4\n' in text, text)


def test_figures_of_hubs_over_all_processes() raises:
    var hub = WsHub(SharedMemoryBackplane(4_096))
    var hubs = BackplaneMetrics()
    hubs.add("chat", hub)
    hubs.add('the "news"', EventHub())
    hubs.add("who", Presence())
    var child = fork_process()
    if child == 0:
        _ = hub.send_text("one")
        _ = hub.send_text("two")
        _ = hub.send_text("x" * 2_000)
        var of_child = String()
        hubs.write_metrics(of_child)
        end_process(0 if 'sent_total{hub="chat"} 2\n' in of_child else 1)
    var status = reap(child)
    while not status:
        status = reap(child)
    assert_true(status.value().is_clean())
    _ = hub.send_text("three")
    var text = String()
    hubs.write_metrics(text)
    for line in [
        "# HELP flare_backplane_lost_total Messages",
        "# TYPE flare_backplane_lost_total counter\n",
        'flare_backplane_lost_total{hub="chat"} 0\n',
        'flare_backplane_sent_total{hub="chat"} 3\n',
        'flare_backplane_sent_total{hub="the \\"news\\""} 0\n',
        'flare_backplane_sent_total{hub="who"} 0\n',
        'flare_backplane_refused_total{hub="chat"} 1\n',
        "# TYPE flare_backplane_waiting gauge\n",
    ]:
        assert_true(line in text, String(line, " is not in\n", text))
    # Each kind is headed once, or Prometheus refuses all of it.
    assert_equal(text.count("# TYPE"), 9)
    assert_equal(text.count("# TYPE flare_backplane_sent_total "), 1)


def test_no_paths_of_clients_are_labels() raises:
    var metrics = Metrics()
    var router = Router()
    router.get("/users/:id", _hello)
    var client = TestClient(RequestMetrics(router^, metrics))
    for number in range(100):
        _ = client.get(String("/users/", number))
        _ = client.get(String("/nothing/", number))
    var text = _text(metrics)
    assert_true('status="200",route="/users/:id"} 100\n' in text, text)
    assert_true('status="404",route="none"} 100\n' in text, text)
    assert_equal(text.count("http_requests_total{"), 2)


def test_series_have_a_bound() raises:
    """More routes than there are names share the last one."""
    var metrics = Metrics()
    for number in range(2 * NAME_COUNT_MAX):
        var route = String("/route/", number, "/", "x" * 300)
        metrics.end(metrics.begin(), Method.GET, 200, 1, route)
    var text = _text(metrics)
    assert_equal(text.count("http_requests_total{"), NAME_COUNT_MAX)
    assert_true("} 257\n" in text, text)


def test_a_label_cannot_end_itself() raises:
    var metrics = Metrics()
    metrics.end(metrics.begin(), Method.GET, 200, 1, '/a"b\\c')
    assert_true('route="/a\\"b\\\\c"} 1\n' in _text(metrics))
