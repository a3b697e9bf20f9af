"""Spans, sampling, and the queue between spans and their exporter."""

from flare.bytes.checked import *
from flare.sys.clock import Deadline
from flare.sys.mutex import Condvar, Mutex
from flare.trace.core.context import SAMPLED, TraceContext
from flare.trace.core.pipeline import BatchConfig, ExportResult, SpanExporter
from flare.trace.core.sampler import Sampler
from flare.trace.core.span import TraceSpan
from flare.trace.core.span_data import (
    ATTRIBUTE_COUNT_MAX,
    EVENT_COUNT_MAX,
    TEXT_LEN_MAX,
    Attributes,
    AttributeValue,
    SpanData,
    SpanKind,
    cut_text,
)
from flare.trace.core.tracer import SpanCollector, Tracer
from std.collections import Set
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var sampler: Sampler
    # A parent: none, not sampled, sampled.
    var samples: Array[Bool, 3]


def _row(
    rule: StaticString, sampler: Sampler, none: Bool, off: Bool, on: Bool
) -> _Row:
    return _Row(rule, sampler, [none, off, on])


def test_who_decides() raises:
    var always = Sampler.always()
    var never = Sampler.never()
    var rows: List[_Row] = [
        _row("always", always, True, True, True),
        _row("never", never, False, False, False),
        _row("all by ratio", Sampler.ratio(1), True, True, True),
        _row("none by ratio", Sampler.ratio(0), False, False, False),
        _row("parent", Sampler.parent_based(always), True, False, True),
        _row(
            "parent or never", Sampler.parent_based(never), False, False, True
        ),
        _row(
            "parent or ratio",
            Sampler.parent_based(Sampler.ratio(0)),
            False,
            False,
            True,
        ),
    ]
    var parents: List[TraceContext] = [
        TraceContext(),
        TraceContext(1, 2, 3, 0),
        TraceContext(1, 2, 3, SAMPLED),
    ]
    for row in rows:
        for index in range(3):
            assert_equal(
                row.sampler.samples(parents.at(index), UInt64.MAX),
                row.samples.at(index),
                row.rule,
            )


def test_ratio_goes_by_the_id() raises:
    # As TraceIdRatioBased: the id's low 64 bits against share * 2^64.
    var quarter = Sampler.ratio(0.25)
    var none = TraceContext()
    assert_true(quarter.samples(none, 0))
    assert_true(quarter.samples(none, 0x3FFFFFFFFFFFFFFF))
    assert_false(quarter.samples(none, 0x4000000000000000))
    assert_false(Sampler.ratio(0).samples(none, 0))
    for share in [-0.1, 1.1, Float64.MAX, 0.0 / Float64(0)]:
        with assert_raises(contains="0 to 1"):
            _ = Sampler.ratio(share)


def test_own_ids_are_spread() raises:
    var tracer = Tracer(SpanCollector(), sampler=Sampler.ratio(0.5))
    var sampled = 0
    var seen = Set[String]()
    for _ in range(4_000):
        var context = tracer.begin(TraceContext())
        sampled += Int(context.is_sampled())
        seen.add(context.trace_id())
        seen.add(context.span_id_text())
    assert_equal(len(seen), 8_000)
    # Ten standard deviations.
    assert_true(sampled > 1_700 and sampled < 2_300, String(sampled))


def test_what_is_told_is_exported() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var root = tracer.span("job", kind=SpanKind.CONSUMER)
    assert_true(root.is_recording() and root.context.is_sampled())
    root.set("text", "a")
    root.set("count", 2)
    root.set("share", 0.5)
    root.set("flag", True)
    root.set("text", "b")
    root.event("begun", {"rows": 3})
    with root.child("part") as part:
        part.set("number", 1)
        assert_true(part.context.trace_low == root.context.trace_low)
        assert_true(part.context.span_id != root.context.span_id)
    root.fail("gone wrong")
    root.end()
    root.set("late", 1)
    root.end()
    assert_true(tracer.flush())
    var ended = spans.take()
    assert_equal(len(ended), 2)
    assert_equal(ended.at(0).name, "part")
    assert_true(ended.at(0).parent_id == root.context.span_id)
    assert_true(ended.at(0).kind == SpanKind.INTERNAL)
    assert_false(ended.at(0).is_failed)
    ref job = ended.at(1)
    assert_equal(job.name, "job")
    assert_true(job.kind == SpanKind.CONSUMER and job.parent_id == 0)
    assert_true(job.is_failed)
    assert_equal(job.failure, "gone wrong")
    assert_true(job.end_unix_ns >= job.start_unix_ns)
    assert_true(ended[0].start_unix_ns >= job.start_unix_ns)
    assert_equal(len(job.attributes.items), 4)
    assert_equal(job.attributes.get("text").value().text, "b")
    assert_equal(job.attributes.get("count").value().integer, 2)
    assert_equal(job.attributes.get("share").value().number, 0.5)
    assert_equal(job.attributes.get("flag").value().kind, AttributeValue.BOOL)
    assert_equal(len(job.events), 1)
    assert_equal(job.events.at(0).name, "begun")
    assert_true(job.events.at(0).unix_ns >= job.start_unix_ns)
    assert_equal(job.events.at(0).attributes.get("rows").value().integer, 3)
    assert_equal(tracer.exported_count(), 2)


def _fail_within(span: TraceSpan) raises:
    with span.child("part"):
        raise Error("no such row")


def test_an_error_marks_the_span() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var root = tracer.span("job")
    with assert_raises(contains="no such row"):
        _fail_within(root)
    root.end()
    assert_true(tracer.flush())
    var ended = spans.take()
    assert_true(ended.at(0).is_failed)
    assert_equal(ended.at(0).failure, "no such row")
    assert_equal(ended.at(0).events.at(0).name, "exception")
    assert_equal(
        ended.at(0)
        .events.at(0)
        .attributes.get("exception.message")
        .value()
        .text,
        "no such row",
    )
    assert_false(ended.at(1).is_failed)


def test_the_last_copy_ends_the_span() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    var span = tracer.span("job")
    var copy = span
    deinit(span^)
    assert_true(tracer.flush())
    assert_equal(len(spans.take()), 0)
    copy.set("late", 1)
    deinit(copy^)
    assert_true(tracer.flush())
    var ended = spans.take()
    assert_equal(len(ended), 1)
    assert_equal(ended.at(0).attributes.get("late").value().integer, 1)


def test_what_is_not_sampled_is_not_kept() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans, sampler=Sampler.never())
    var span = tracer.span("job")
    assert_false(span.is_recording())
    assert_true(span.context.is_valid())
    with span.child("part") as part:
        part.set("a", 1)
        assert_true(part.context == span.context)
    span.end()
    assert_true(tracer.flush())
    assert_equal(len(spans.take()), 0)


def test_bounds_of_a_span() raises:
    var spans = SpanCollector()
    var tracer = Tracer(spans)
    with tracer.span("job") as span:
        for index in range(ATTRIBUTE_COUNT_MAX + 2):
            span.set(String("key", index), index)
        for _ in range(EVENT_COUNT_MAX + 3):
            span.event("tick")
        span.set("key0", "x" * (TEXT_LEN_MAX + 1))
        # All of its texts: an error may be as long as what a client has sent.
        span.rename("n" * (TEXT_LEN_MAX + 1))
        span.fail("f" * (TEXT_LEN_MAX + 1))
    with tracer.span("failing") as span:
        span.event("e" * (TEXT_LEN_MAX + 1))
        span.record_error("r" * (TEXT_LEN_MAX + 1))
    assert_true(tracer.flush())
    var ended = spans.take()
    assert_equal(len(ended.at(0).attributes.items), ATTRIBUTE_COUNT_MAX)
    assert_equal(ended.at(0).attributes.dropped_count, 2)
    assert_equal(len(ended.at(0).events), EVENT_COUNT_MAX)
    assert_equal(ended.at(0).dropped_event_count, 3)
    assert_equal(
        ended.at(0).attributes.get("key0").value().text.byte_length(),
        TEXT_LEN_MAX,
    )
    assert_equal(ended.at(0).name, "n" * TEXT_LEN_MAX)
    assert_equal(ended.at(0).failure, "f" * TEXT_LEN_MAX)
    assert_equal(ended.at(1).events.at(0).name, "e" * TEXT_LEN_MAX)
    assert_equal(ended.at(1).failure, "r" * TEXT_LEN_MAX)


def test_no_name_of_an_attribute_stands_twice() raises:
    """OpenTelemetry, Attribute Collections: keys are unique."""
    var attributes = Attributes()
    var name = "k" * TEXT_LEN_MAX
    attributes.set(name + "1", 1)
    attributes.set(name + "2", 2)
    attributes.set(name + "2", 3)
    assert_equal(len(attributes.items), 1)
    assert_equal(attributes.get(name).value().integer, 3)


def test_text_is_cut_between_characters() raises:
    for count in range(4):
        var text = String("x" * (TEXT_LEN_MAX - count), "€" * 2)
        var cut = cut_text(text)
        assert_true(text.startswith(cut))
        assert_true(cut.byte_length() > TEXT_LEN_MAX - 3)
    assert_equal(cut_text("short"), "short")


@fieldwise_init
struct _Gate(ImplicitlyCopyable, SpanExporter):
    """Holds batches until it is opened, and fails as often as it is told."""

    var state: Mutex[_GateState]
    var changed: Condvar

    def export(
        mut self, spans: List[SpanData], timeout_ms: Int
    ) -> ExportResult:
        var state = self.state.lock()
        state[].attempt_count += 1
        state[].last_count = len(spans)
        self.changed.notify_all()
        while not state[].is_open:
            self.changed.wait(state)
        if state[].failure_count > 0:
            state[].failure_count -= 1
            return ExportResult(is_done=False, reason="away")
        if state[].refuses:
            return ExportResult(is_done=True, lost_count=1, reason="no")
        return ExportResult(is_done=True)

    def open(self):
        self.state.lock()[].is_open = True
        self.changed.notify_all()

    def await_attempts(self, count: Int) raises:
        var state = self.state.lock()
        var deadline = Deadline(10_000)
        while state[].attempt_count < count:
            assert_true(deadline.left_ms() > 0, "nothing was exported in time")
            _ = self.changed.wait_for(state, deadline.left_ms())


@fieldwise_init
struct _GateState(Copyable, Movable):
    var is_open: Bool
    var failure_count: Int
    var refuses: Bool
    var attempt_count: Int
    var last_count: Int


def _gate(
    *, is_open: Bool = True, failures: Int = 0, refuses: Bool = False
) raises -> _Gate:
    return _Gate(Mutex(_GateState(is_open, failures, refuses, 0, 0)), Condvar())


def _end_spans(tracer: Tracer, count: Int):
    for _ in range(count):
        tracer.span("job").end()


def test_a_full_batch_does_not_wait() raises:
    # An hour of interval: only the third span can ring.
    var gate = _gate()
    var tracer = Tracer(
        gate, batch=BatchConfig(batch_max=3, interval_ms=3_600_000)
    )
    _end_spans(tracer, 3)
    gate.await_attempts(1)
    assert_equal(gate.state.snapshot().last_count, 3)
    _ = tracer.flush()


def test_the_interval_ends_the_wait() raises:
    var gate = _gate()
    var tracer = Tracer(gate, batch=BatchConfig(interval_ms=20))
    _end_spans(tracer, 1)
    gate.await_attempts(1)
    assert_equal(gate.state.snapshot().last_count, 1)
    _ = tracer.flush()


def test_the_queue_is_bounded() raises:
    var gate = _gate(is_open=False)
    var tracer = Tracer(
        gate, batch=BatchConfig(queue_max=4, batch_max=2, interval_ms=0)
    )
    _end_spans(tracer, 1)
    gate.await_attempts(1)
    _end_spans(tracer, 10)
    # One is being exported, three wait.
    assert_equal(tracer.dropped_count(), 7)
    gate.open()
    assert_true(tracer.flush())
    assert_equal(tracer.exported_count(), 4)
    assert_equal(gate.state.snapshot().attempt_count, 3)


def test_failures_are_tried_again() raises:
    var gate = _gate(failures=2)
    var tracer = Tracer(gate, batch=BatchConfig(backoff_ms=1))
    _end_spans(tracer, 2)
    assert_true(tracer.flush())
    assert_equal(gate.state.snapshot().attempt_count, 3)
    assert_equal(tracer.exported_count(), 2)
    assert_equal(tracer.dropped_count(), 0)


def test_a_pause_beyond_the_time_is_not_begun() raises:
    var gate = _gate(failures=1)
    var tracer = Tracer(gate, batch=BatchConfig(backoff_ms=3_600_000))
    _end_spans(tracer, 1)
    assert_true(tracer.flush())
    assert_equal(gate.state.snapshot().attempt_count, 1)
    assert_equal(tracer.dropped_count(), 1)


def test_what_is_refused_is_counted() raises:
    var gate = _gate(refuses=True)
    var tracer = Tracer(gate)
    _end_spans(tracer, 3)
    assert_true(tracer.flush())
    assert_equal(gate.state.snapshot().attempt_count, 1)
    assert_equal(tracer.exported_count(), 2)
    assert_equal(tracer.dropped_count(), 1)


def test_a_batch_has_its_time() raises:
    var gate = _gate(failures=1_000_000)
    var batch = BatchConfig(interval_ms=0, retry_ms=30, backoff_ms=1)
    var tracer = Tracer(gate, batch=batch)
    _end_spans(tracer, 1)
    gate.await_attempts(2)
    assert_true(tracer.flush(10_000))
    assert_equal(tracer.dropped_count(), 1)


def test_a_flush_has_its_time() raises:
    var gate = _gate(is_open=False)
    var tracer = Tracer(gate, batch=BatchConfig(batch_max=1))
    _end_spans(tracer, 3)
    gate.await_attempts(1)
    assert_false(tracer.flush(20))
    assert_equal(tracer.dropped_count(), 3)
    gate.open()
    _ = tracer.flush(10_000)
    assert_equal(tracer.dropped_count(), 3)
    assert_equal(tracer.exported_count(), 0)


def test_configurations_that_cannot_work() raises:
    var rows: List[BatchConfig] = [
        BatchConfig(batch_max=0),
        BatchConfig(queue_max=10, batch_max=11),
        BatchConfig(interval_ms=-1),
        BatchConfig(retry_ms=-1),
        BatchConfig(flush_ms=-1),
        BatchConfig(backoff_ms=0),
    ]
    for row in rows:
        with assert_raises(contains="BatchConfig"):
            row.check()
    with assert_raises(contains="BatchConfig"):
        _make(rows.at(0))


def _make(batch: BatchConfig) raises:
    _ = Tracer(SpanCollector(), batch=batch)
