"""Spans to the real OpenTelemetry Collector, which takes a minute to build."""

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from conftest import wait_until
from peer_servers import go_program
from ports import claim_port

pytestmark = pytest.mark.nightly

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
CONFIG = """
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters: {{debug: {{verbosity: detailed, use_internal_logger: false}}}}
service:
  pipelines: {{traces: {{receivers: [otlp], exporters: [debug]}}}}
"""
STOP_TIMEOUT_S = 20


class Collector:
    """A running collector; what it has taken is in a file."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.port = claim_port()
        self.url = f"http://127.0.0.1:{self.port}"
        config = folder / "collector.yaml"
        config.write_text(CONFIG.format(port=self.port))
        self.output = folder / "collector.out"
        self._output = open(self.output, "w")
        self.process = subprocess.Popen(
            [str(binary), "--config", f"file:{config}"],
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def listens(self) -> bool:
        assert self.process.poll() is None, self.text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def text(self) -> str:
        """What it has printed, with one space where it lines things up."""
        return " ".join(self.output.read_text().split())

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(STOP_TIMEOUT_S)
        self._output.close()


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    running = Collector(go_program("otel_collector"), tmp_path)
    try:
        assert wait_until(running.listens, 30), running.text()
        yield running
    finally:
        running.stop()


@pytest.mark.parametrize("compresses", [0, 1])
def test_a_collector_takes_all(start, collector, compresses):
    server = start(
        "traced_server",
        collector=collector.url,
        compresses=compresses,
        interval_ms=100,
    )
    fields = {
        "traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01",
        "tracestate": "vendor=1",
    }
    for target in ("/steps/2", "/fail"):
        httpx.get(server.url + target, headers=fields, timeout=10)
    assert server.stop() == 0
    assert wait_until(lambda: "Name : GET /fail" in collector.text(), 10)
    text = collector.text()
    assert text.count(f"Trace ID : {TRACE_ID}") == 4
    for line in (
        "Name : GET /steps/:count Kind : Server",
        "Name : step Kind : Internal",
        "TraceState : vendor=1",
        "Parent ID : b7ad6b7169203331",
        "Status code : Error Status message : no such table",
        "-> service.name: Str(traced)",
        "-> http.route: Str(/steps/:count)",
        "-> http.response.status_code: Int(200)",
        "-> share: Double(0.5)",
        "-> last: Bool(false)",
        "-> exception.message: Str(no such table)",
    ):
        assert line in text, line
