"""OTLP in JSON: each kind of value as the mapping of protobuf wants it."""

from flare.json.value import parse
from flare.trace.core.context import TraceContext
from flare.trace.core.span_data import (
    Attributes,
    SpanData,
    SpanEvent,
    SpanKind,
)
from flare.trace.otlp import OtlpExporter, encode_spans
from tests.support.assertions import assert_equal, assert_raises


def _span() -> SpanData:
    var span = SpanData(
        TraceContext(0x0AF7651916CD43DD, 0x8448EB211C80319C, 0xB7, 1),
        SpanKind.SERVER,
        "GET /",
    )
    span.start_unix_ns = 1_544_712_660_000_000_001
    span.end_unix_ns = 1_544_712_661_000_000_002
    return span^


def test_a_span_with_nothing_told() raises:
    # OTLP: ids as hex in lower case, 64-bit times as text, enums as numbers.
    assert_equal(
        encode_spans(Attributes(), [_span()]),
        (
            '{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{"name":'
            '"flare"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c",'
            '"spanId":"00000000000000b7","flags":1,"name":"GET /","kind":2,'
            '"startTimeUnixNano":"1544712660000000001",'
            '"endTimeUnixNano":"1544712661000000002"}]}]}]}'
        ),
    )


def _first_span(text: String) raises -> String:
    var start = text.find('"spans":[') + 9
    return String(text[byte = start : text.byte_length() - 6])


def test_all_that_can_be_told() raises:
    var span = _span()
    span.parent_id = 0xFF
    span.trace_state = "a=1"
    span.is_failed = True
    span.failure = 'say "no"'
    span.attributes.set("i", -3)
    span.attributes.set("t", "x")
    span.attributes.set("b", True)
    span.attributes.set("f", 0.5)
    span.attributes.dropped_count = 4
    span.add_event(SpanEvent("e", 7, {"rows": 1}))
    span.dropped_event_count = 5
    var written = parse(_first_span(encode_spans(Attributes(), [span^])))
    assert_equal(written["parentSpanId"].string_value(), "00000000000000ff")
    assert_equal(written["traceState"].string_value(), "a=1")
    assert_equal(written["status"]["code"].int_value(), 2)
    assert_equal(written["status"]["message"].string_value(), 'say "no"')
    assert_equal(written["droppedAttributesCount"].int_value(), 4)
    assert_equal(written["droppedEventsCount"].int_value(), 5)
    var values = written["attributes"]
    assert_equal(len(values), 4)
    assert_equal(values[0]["key"].string_value(), "i")
    assert_equal(values[0]["value"]["intValue"].string_value(), "-3")
    assert_equal(values[1]["value"]["stringValue"].string_value(), "x")
    assert_equal(values[2]["value"]["boolValue"].bool_value(), True)
    assert_equal(values[3]["value"]["doubleValue"].float_value(), 0.5)
    var event = written["events"][0]
    assert_equal(event["timeUnixNano"].string_value(), "7")
    assert_equal(event["name"].string_value(), "e")
    assert_equal(
        event["attributes"][0]["value"]["intValue"].string_value(), "1"
    )


def test_numbers_that_json_has_not() raises:
    # JSON mapping of protobuf, double: "NaN", "Infinity" and "-Infinity".
    var zero = Float64(0)
    var span = _span()
    span.attributes.set("a", zero / zero)
    span.attributes.set("b", 1 / zero)
    span.attributes.set("c", -1 / zero)
    var values = parse(_first_span(encode_spans(Attributes(), [span^])))[
        "attributes"
    ]
    assert_equal(values[0]["value"]["doubleValue"].string_value(), "NaN")
    assert_equal(values[1]["value"]["doubleValue"].string_value(), "Infinity")
    assert_equal(values[2]["value"]["doubleValue"].string_value(), "-Infinity")


def test_text_that_is_no_utf8() raises:
    var octets: List[UInt8] = [0x61, 0xFF, 0x62]
    var span = _span()
    span.attributes.set("agent", StringSpan(unsafe_from_utf8=octets))
    var values = parse(_first_span(encode_spans(Attributes(), [span^])))[
        "attributes"
    ]
    assert_equal(values[0]["value"]["stringValue"].string_value(), "a\uFFFDb")


def _make(url: StringSpan, name: StringSpan) raises:
    _ = OtlpExporter(url, service_name=name)


def _make_with_field(value: StringSpan) raises:
    _ = OtlpExporter(
        "http://a", service_name="shop", headers={"X-Key": String(value)}
    )


def test_exporters_that_cannot_work() raises:
    _make("http://127.0.0.1:4318", "shop")
    _make("https://collector.example.com/otlp/", "shop")
    with assert_raises(contains="service_name is empty"):
        _make("http://127.0.0.1:4318", "")
    with assert_raises(contains="URL"):
        _make("127.0.0.1:4318", "shop")
    # The path goes behind the endpoint, so there can be no query.
    for rest in ["?key=1", "/#a"]:
        with assert_raises(contains="a query or a fragment"):
            _make(String("http://127.0.0.1:4318", rest), "shop")
    with assert_raises(contains="OtlpExporter"):
        _make_with_field("a\nb")
