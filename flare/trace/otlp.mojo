"""Spans to an OpenTelemetry collector: OTLP over HTTP, as JSON."""

from flare.bytes.utf8 import is_valid_utf8
from flare.compress.error import Format
from flare.compress.encoder import compress
from flare.http.client.message.arguments import RequestHeaders
from flare.http.client.client import HttpClient
from flare.http.client.message.config import ClientConfig
from flare.http.client.message.request import (
    ClientRequest,
    RequestBody,
    parse_request_url,
)
from flare.http.client.message.response import ClientResponse
from flare.http.client.message.retry_policy import retry_after_ms
from flare.http.message.body import Body
from flare.http.message.header_map import HeaderMap
from flare.http.message.response import APPLICATION_JSON
from flare.json.error import JsonError, JsonKind
from flare.json.writer import JsonWriter
from flare.sys.clock import unix_seconds
from flare.sys.sockets.name_lookup import host_name
from flare.sys.signal import process_id
from flare.trace.core.context import write_id
from flare.trace.core.pipeline import ExportResult, SpanExporter
from flare.trace.core.span_data import (
    Attributes,
    AttributeValue,
    SpanData,
    SpanEvent,
)
from std.math import isfinite, isnan

comptime REQUEST_TIMEOUT_MS = 10_000
"""Time for one attempt to export a batch, in milliseconds; OpenTelemetry's
default for OTLP exporters."""

comptime _TRACES_PATH = StaticString("/v1/traces")
comptime _STATUS_ERROR = 2
comptime _ANSWER_LEN_MAX = 1 << 20
# A day is for ever here.
comptime _RETRY_AFTER_MS_MAX = 86_400_000


struct OtlpExporter(SpanExporter):
    """Sends spans to a collector that speaks OTLP over HTTP.

        OtlpExporter(
            "https://collector.example.com:4318",
            service_name="shop",
            service_version="1.4.0",
            headers={"Authorization": "Bearer ..."},
        )

    A batch is sent again after 429, 502, 503 and 504, and if there was no
    answer; any other refusal drops it. Redirections are not followed.
    """

    var _url: String
    var _headers: HeaderMap
    var _compresses: Bool
    var _config: ClientConfig
    var _resource: Attributes
    # Made by the first export, on the thread and in the process that uses it.
    var _client: Optional[HttpClient]

    def __init__(
        out self,
        endpoint: StringSpan,
        *,
        service_name: StringSpan,
        service_version: StringSpan = "",
        var resource: Attributes = Attributes(),
        var headers: RequestHeaders = RequestHeaders(),
        compresses: Bool = False,
        var client: ClientConfig = ClientConfig(),
    ) raises:
        """Makes an exporter, which connects when there is something to send.

        Args:
            endpoint: The collector's URL without `/v1/traces`, such as
                `http://127.0.0.1:4318`.
            service_name: What the program is called among others.
            service_version: Its version; empty to leave it out.
            resource: What else is told of the program with each batch, such as
                `{"deployment.environment.name": "test"}`.
            headers: Fields of the requests, such as credentials.
            compresses: True to send gzip.
            client: Times, trust and proxies of the requests.

        Raises:
            Error: If the URL is none, there is no name, a field is malformed,
                or gzip is wanted and zlib is missing.
        """
        if service_name.byte_length() == 0:
            raise Error(
                "OtlpExporter: service_name is empty; give the program a name"
            )
        if headers.problem.byte_length() > 0:
            raise Error("OtlpExporter: ", headers.problem)
        if "?" in endpoint or "#" in endpoint:
            raise Error(
                "OtlpExporter: the endpoint has a query or a fragment, and a"
                " path goes behind it; give what is secret in headers"
            )
        var url = String(endpoint.removesuffix("/"), _TRACES_PATH)
        _ = parse_request_url(url)
        self._url = url^
        self._headers = headers.fields.copy()
        self._compresses = compresses
        if compresses:
            _ = compress("{}".as_bytes(), Format.GZIP)
        self._config = client^
        self._config.max_redirects = 0
        self._config.max_retries = 0
        # What a collector answers is short, if it says anything.
        self._config.max_response_size = _ANSWER_LEN_MAX
        self._config.max_decoded_size = _ANSWER_LEN_MAX
        self._resource = Attributes()
        self._resource.set("service.name", service_name)
        if service_version.byte_length() > 0:
            self._resource.set("service.version", service_version)
        self._resource.set("host.name", host_name())
        self._resource.set("telemetry.sdk.name", "flare")
        self._resource.set("telemetry.sdk.language", "mojo")
        for ref item in resource.items:
            self._resource.set(item.key.copy(), item.value.copy())
        self._client = None

    def export(
        mut self, spans: List[SpanData], timeout_ms: Int
    ) -> ExportResult:
        """Sends a batch once, and gives what became of it.

        Args:
            spans: The batch.
            timeout_ms: How long that may take; `REQUEST_TIMEOUT_MS` at most.
        """
        try:
            return self._export(spans, timeout_ms)
        except error:
            # Nothing is known of what the collector got: it is sent again, as
            # OTLP asks for, and a collector may see a span twice.
            return ExportResult(is_done=False, reason=String(error))

    def _export(
        mut self, spans: List[SpanData], timeout_ms: Int
    ) raises -> ExportResult:
        if not self._client:
            self._client = HttpClient(config=self._config.copy())
        # Of this process, which may be a fork of the one that made this.
        self._resource.set("process.pid", process_id())
        var text = encode_spans(self._resource, spans)
        var request = ClientRequest("POST", self._url)
        request.headers = self._headers.copy()
        request.total_timeout_ms = min(timeout_ms, REQUEST_TIMEOUT_MS)
        if self._compresses:
            request.headers.set("Content-Encoding", "gzip")
            request.body = RequestBody(
                Body(compress(text.as_bytes(), Format.GZIP)),
                String(APPLICATION_JSON),
            )
        else:
            request.body = RequestBody(text^)
        var response = self._client.value().send(request^)
        return _result(response, len(spans))


def _result(response: ClientResponse, count: Int) -> ExportResult:
    """Reads what a collector answers (OTLP specification, OTLP/HTTP response)."""
    var status = response.status.code
    if status >= 200 and status < 300:
        return _partial_success(response, count)
    var reason = String("the collector answers ", status)
    if status == 429 or (status >= 502 and status <= 504):
        return ExportResult(
            is_done=False,
            retry_after_ms=min(
                max(retry_after_ms(response.headers, unix_seconds()), 0),
                _RETRY_AFTER_MS_MAX,
            ),
            reason=reason^,
        )
    return ExportResult(is_done=True, lost_count=count, reason=reason^)


def _partial_success(response: ClientResponse, count: Int) -> ExportResult:
    """Finds out how many spans the collector has refused; a body that cannot
    be read says nothing of that."""
    try:
        return ExportResult(
            is_done=True,
            lost_count=min(max(_rejected_spans(response), 0), count),
            reason="the collector has refused a part of a batch",
        )
    except:
        return ExportResult(is_done=True)


def _rejected_spans(response: ClientResponse) raises -> Int:
    var answer = response.json()
    var rejected = answer["partialSuccess"]["rejectedSpans"]
    # 64-bit numbers are text in JSON of protobuf; numbers are taken, too.
    if rejected.kind() == JsonKind.STRING:
        return Int(rejected.string_value())
    return rejected.int_value()


def encode_spans(
    resource: Attributes, spans: List[SpanData]
) raises JsonError -> String:
    """Writes an ExportTraceServiceRequest in the JSON mapping of OTLP; the
    resource is what is told of the program.

    Source: OTLP specification, JSON Protobuf Encoding: ids are hex, 64-bit
    numbers are decimal text, enums are numbers.
    """
    var writer = JsonWriter(256 + 512 * len(spans))
    writer.begin_object()
    writer.key("resourceSpans")
    writer.begin_array()
    writer.begin_object()
    writer.key("resource")
    writer.begin_object()
    _write_attributes(writer, resource)
    writer.end_object()
    writer.key("scopeSpans")
    writer.begin_array()
    writer.begin_object()
    writer.key("scope")
    writer.begin_object()
    writer.key("name")
    writer.value("flare")
    writer.end_object()
    writer.key("spans")
    writer.begin_array()
    for ref span in spans:
        _write_span(writer, span)
    writer.end_array()
    writer.end_object()
    writer.end_array()
    writer.end_object()
    writer.end_array()
    writer.end_object()
    return writer^.finish()


def _write_span(mut writer: JsonWriter, span: SpanData) raises JsonError:
    writer.begin_object()
    writer.key("traceId")
    writer.value(span.context.trace_id())
    writer.key("spanId")
    writer.value(span.context.span_id_text())
    if span.trace_state.byte_length() > 0:
        _write_member(writer, "traceState", span.trace_state)
    if span.parent_id != 0:
        var parent = String()
        write_id(span.parent_id, parent)
        _write_member(writer, "parentSpanId", parent)
    writer.key("flags")
    writer.value(Int(span.context.flags))
    _write_member(writer, "name", span.name)
    writer.key("kind")
    writer.value(Int(span.kind.code))
    _write_member(writer, "startTimeUnixNano", String(span.start_unix_ns))
    _write_member(writer, "endTimeUnixNano", String(span.end_unix_ns))
    _write_attributes(writer, span.attributes)
    if len(span.events) > 0:
        writer.key("events")
        writer.begin_array()
        for ref event in span.events:
            _write_event(writer, event)
        writer.end_array()
    if span.dropped_event_count > 0:
        writer.key("droppedEventsCount")
        writer.value(span.dropped_event_count)
    if span.is_failed:
        writer.key("status")
        writer.begin_object()
        if span.failure.byte_length() > 0:
            _write_member(writer, "message", span.failure)
        writer.key("code")
        writer.value(_STATUS_ERROR)
        writer.end_object()
    writer.end_object()


def _write_event(mut writer: JsonWriter, event: SpanEvent) raises JsonError:
    writer.begin_object()
    _write_member(writer, "timeUnixNano", String(event.unix_ns))
    _write_member(writer, "name", event.name)
    _write_attributes(writer, event.attributes)
    writer.end_object()


def _write_attributes(
    mut writer: JsonWriter, attributes: Attributes
) raises JsonError:
    if len(attributes.items) > 0:
        writer.key("attributes")
        writer.begin_array()
        for ref item in attributes.items:
            writer.begin_object()
            _write_member(writer, "key", item.key)
            writer.key("value")
            writer.begin_object()
            _write_value(writer, item.value)
            writer.end_object()
            writer.end_object()
        writer.end_array()
    if attributes.dropped_count > 0:
        writer.key("droppedAttributesCount")
        writer.value(attributes.dropped_count)


def _write_value(
    mut writer: JsonWriter, value: AttributeValue
) raises JsonError:
    if value.kind == AttributeValue.INTEGER:
        _write_member(writer, "intValue", String(value.integer))
    elif value.kind == AttributeValue.BOOL:
        writer.key("boolValue")
        writer.value(value.integer != 0)
    elif value.kind == AttributeValue.TEXT:
        _write_member(writer, "stringValue", value.text)
    elif isfinite(value.number):
        writer.key("doubleValue")
        writer.value(value.number)
    elif isnan(value.number):
        _write_member(writer, "doubleValue", "NaN")
    else:
        _write_member(
            writer,
            "doubleValue",
            "Infinity" if value.number > 0 else "-Infinity",
        )


def _write_member(
    mut writer: JsonWriter, key: StringSpan, text: StringSpan
) raises JsonError:
    writer.key(key)
    if is_valid_utf8(text.as_bytes()):
        writer.value(text)
    else:
        writer.value(String(from_utf8_lossy=text.as_bytes()))
