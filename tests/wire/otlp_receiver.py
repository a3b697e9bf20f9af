"""A collector of spans for tests: OTLP over HTTP, read by the official classes.

What comes is held to the JSON mapping of OTLP before protobuf's parser gets
it: ids in lower-case hex, no field that the messages do not have.
"""

import base64
import gzip
import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan

WAIT_S = 20.0
# How often the server looks whether it is to end; by itself twice a second.
LOOKS_S = 0.02
ID_LENGTHS = {"traceId": 32, "spanId": 16, "parentSpanId": 16}


@dataclass
class ReceivedSpan:
    """A span with its attributes as plain values."""

    proto: ProtoSpan
    resource: dict[str, Any]
    name: str = ""
    trace_id: str = ""
    span_id: str = ""
    parent_id: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name = self.proto.name
        self.trace_id = self.proto.trace_id.hex()
        self.span_id = self.proto.span_id.hex()
        self.parent_id = self.proto.parent_span_id.hex()
        self.attributes = plain(self.proto.attributes)

    def is_failed(self) -> bool:
        return self.proto.status.code == 2


@dataclass
class Answer:
    """What the receiver answers to one request."""

    status: int = 200
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b"{}"


def plain(attributes: Any) -> dict[str, Any]:
    """Makes a dictionary; a name that stands twice fails."""
    values: dict[str, Any] = {}
    for item in attributes:
        assert item.key not in values, item.key
        kind = item.value.WhichOneof("value")
        assert kind is not None, item.key
        values[item.key] = getattr(item.value, kind)
    return values


def for_protobuf(value: Any) -> Any:
    """Turns hex ids, which OTLP has, into base64, which protobuf has."""
    if isinstance(value, list):
        return [for_protobuf(item) for item in value]
    if not isinstance(value, dict):
        return value
    result = {}
    for name, item in value.items():
        if name in ID_LENGTHS:
            digits = ID_LENGTHS[name]
            assert re.fullmatch(f"[0-9a-f]{{{digits}}}", item), (name, item)
            item = base64.b64encode(bytes.fromhex(item)).decode()
        elif name.endswith("UnixNano"):
            assert isinstance(item, str), (name, item)
        elif name in ("kind", "code"):
            assert isinstance(item, int), (name, item)
        result[name] = for_protobuf(item)
    return result


class Receiver:
    """Keeps what comes; answers as the test says."""

    def __init__(self) -> None:
        self.spans: list[ReceivedSpan] = []
        self.batches: list[int] = []
        self.requests: list[dict[str, str]] = []
        self.problems: list[str] = []
        self.answers: list[Answer] = []
        self.hold: Callable[[], None] = lambda: None
        self._changed = threading.Condition()
        self.url = ""

    def take(self, path: str, fields: dict[str, str], body: bytes) -> Answer:
        self.hold()
        with self._changed:
            answer = self.answers.pop(0) if self.answers else Answer()
            try:
                spans = self._parse(path, fields, body)
                if answer.status == 200:
                    self.spans += spans
                    self.batches.append(len(spans))
            except Exception as error:
                self.problems.append(repr(error))
            self.requests.append(fields)
            self._changed.notify_all()
            return answer

    @staticmethod
    def _parse(
        path: str, fields: dict[str, str], body: bytes
    ) -> list[ReceivedSpan]:
        assert path == "/v1/traces", path
        assert fields["content-type"] == "application/json", fields
        if fields.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        message = ParseDict(
            for_protobuf(json.loads(body)),
            ExportTraceServiceRequest(),
            ignore_unknown_fields=False,
        )
        spans = []
        for group in message.resource_spans:
            resource = plain(group.resource.attributes)
            for scope in group.scope_spans:
                assert scope.scope.name == "flare"
                spans += [ReceivedSpan(span, resource) for span in scope.spans]
        return spans

    def wait(
        self, condition: Callable[["Receiver"], bool], timeout_s: float = WAIT_S
    ) -> None:
        """Waits until what has come is enough."""
        with self._changed:
            is_met = self._changed.wait_for(lambda: condition(self), timeout_s)
            names = [span.name for span in self.spans]
            assert is_met, f"came: {names}, problems: {self.problems}"
            assert not self.problems

    def wait_for_spans(self, count: int) -> list[ReceivedSpan]:
        """Waits for so many spans, in the order in which they began."""
        self.wait(lambda receiver: len(receiver.spans) >= count)
        spans = sorted(
            self.spans, key=lambda span: span.proto.start_time_unix_nano
        )
        assert len(spans) == count, [span.name for span in spans]
        return spans


@contextmanager
def receiving(
    certificate: tuple[Path, Path] | None = None, port: int = 0
) -> Iterator[Receiver]:
    """Runs a receiver, over TLS if it has a certificate and its key."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            fields = {name.lower(): text for name, text in self.headers.items()}
            body = self.rfile.read(int(fields["content-length"]))
            answer = receiver.take(self.path, fields, body)
            self.send_response(answer.status)
            for name, text in answer.fields.items():
                self.send_header(name, text)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    scheme = "http"
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    thread = threading.Thread(target=server.serve_forever, args=(LOOKS_S,), daemon=True)
    thread.start()
    host = "localhost" if certificate else "127.0.0.1"
    receiver.url = f"{scheme}://{host}:{server.server_address[1]}"
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join(WAIT_S)
