"""Counting requests for Prometheus."""

from flare.http.message.method import Method
from flare.http.message.metric_source import MetricSource
from flare.http.middleware.in_flight import InFlight
from flare.sys.current_cpu import current_cpu
from flare.sys.errno import OsError
from flare.sys.shared_memory import SharedCounters
from std.memory import ArcPointer

comptime _SHARD_COUNT = 16
# Of CPUs that share counters; more of them share a row, which costs time alone.
comptime _METHOD_COUNT = 10
# GET to PATCH by their numbers; 0 for all others.
comptime _STATUS_COUNT = 512
# Statuses 100 to 611.
comptime _SUM_US = 0
comptime _BUCKETS = 1
comptime _REQUESTS = 32
comptime _ROW_LEN = _REQUESTS + _METHOD_COUNT * _STATUS_COUNT

comptime BUCKET_COUNT = 16
"""How many bounds the histogram of times has."""
comptime _BOUNDS_US: Array[Int, BUCKET_COUNT] = [
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
]
comptime _BOUND_TEXTS: Array[StaticString, BUCKET_COUNT] = [
    "0.0001",
    "0.00025",
    "0.0005",
    "0.001",
    "0.0025",
    "0.005",
    "0.01",
    "0.025",
    "0.05",
    "0.1",
    "0.25",
    "0.5",
    "1",
    "2.5",
    "5",
    "10",
]


struct Metrics(ImplicitlyCopyable, MetricSource):
    """Figures of requests; copies are the same figures.

    They lie in memory that worker threads and worker processes share, in rows
    by CPU, and are summed when they are read. What a worker process was doing
    when it was killed counts neither as answered nor as in flight.
    """

    var _counters: ArcPointer[SharedCounters]
    var _in_flight: ArcPointer[InFlight]

    def __init__(out self) raises OsError:
        """Makes figures, all of them 0.

        Raises:
            OsError: If the kernel has no memory.
        """
        self._counters = ArcPointer(SharedCounters(_SHARD_COUNT * _ROW_LEN))
        self._in_flight = ArcPointer(InFlight())

    @always_inline
    def begin(self) -> Int:
        """Counts a request that is now in the hands of a handler.

        Returns:
            Where it is counted, for `end`.
        """
        return self._in_flight[].begin()

    def end(self, place: Int, method: Method, status: Int, elapsed_us: Int):
        """Counts what became of it.

        Args:
            place: What `begin` told.
            method: Its method.
            status: The response's status.
            elapsed_us: How long the handler took, in microseconds.
        """
        self._in_flight[].end(place)
        ref counters = self._counters[]
        var row = _row()
        counters.add(row + _SUM_US, max(elapsed_us, 0))
        counters.add(row + _BUCKETS + _bucket(elapsed_us), 1)
        var number = Int(method.number)
        var line = number if number < _METHOD_COUNT else 0
        var column = min(max(status - 100, 0), _STATUS_COUNT - 1)
        counters.add(row + _REQUESTS + line * _STATUS_COUNT + column, 1)

    def write_metrics(self, mut text: String):
        """Writes all figures in the text format of Prometheus, version 0.0.4.

        Args:
            text: Where to.
        """
        text.write("# HELP http_requests_total Requests answered.\n")
        text.write("# TYPE http_requests_total counter\n")
        for line in range(_METHOD_COUNT):
            for column in range(_STATUS_COUNT):
                var count = self._sum(_REQUESTS + line * _STATUS_COUNT + column)
                if count == 0:
                    continue
                text.write('http_requests_total{method="')
                text.write(_method_text(line), '",status="', column + 100)
                text.write('"} ', count, "\n")
        text.write("# HELP http_request_duration_seconds Time in handlers.\n")
        text.write("# TYPE http_request_duration_seconds histogram\n")
        var texts = materialize[_BOUND_TEXTS]()
        var total = 0
        for index in range(BUCKET_COUNT + 1):
            total += self._sum(_BUCKETS + index)
            text.write('http_request_duration_seconds_bucket{le="')
            text.write(texts[index] if index < BUCKET_COUNT else "+Inf")
            text.write('"} ', total, "\n")
        text.write("http_request_duration_seconds_sum ")
        _write_seconds(self._sum(_SUM_US), text)
        text.write("\nhttp_request_duration_seconds_count ", total, "\n")
        text.write("# HELP http_requests_in_flight Requests in handlers.\n")
        text.write("# TYPE http_requests_in_flight gauge\n")
        text.write("http_requests_in_flight ", self._in_flight[].total(), "\n")

    def _sum(self, column: Int) -> Int:
        var sum = 0
        for shard in range(_SHARD_COUNT):
            sum += self._counters[].load(shard * _ROW_LEN + column)
        return sum


@always_inline
def _row() -> Int:
    return (current_cpu() % _SHARD_COUNT) * _ROW_LEN


def _bucket(elapsed_us: Int) -> Int:
    comptime for index in range(BUCKET_COUNT):
        comptime BOUND = _BOUNDS_US[index]
        if elapsed_us <= BOUND:
            return index
    return BUCKET_COUNT


def _method_text(number: Int) -> String:
    if number == 0:
        return "other"
    return String(Method(number=UInt8(number)))


def _write_seconds(time_us: Int, mut writer: Some[Writer]):
    writer.write(time_us // 1_000_000, ".")
    var fraction = String(time_us % 1_000_000)
    writer.write("0" * (6 - fraction.byte_length()), fraction)
