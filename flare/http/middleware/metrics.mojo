"""Counting requests for Prometheus."""

from flare.http.message.method import Method
from flare.http.message.metric_source import MetricSource
from flare.http.middleware.in_flight import InFlight
from flare.http.middleware.shared_series import SharedNames, find_or_claim
from flare.sys.affinity import current_cpu
from flare.sys.errno import OsError
from flare.sys.memory_map import SharedCounters
from std.memory import ArcPointer

comptime _SHARD_COUNT = 16
# Of CPUs that share counters; more of them share a row, which costs time alone.
comptime _METHOD_COUNT = 10
# GET to PATCH by their numbers; 0 for all others.
comptime _REQUEST_SERIES_MAX = 1_024
# Of route, method and status; what comes beyond is counted in the last one.
comptime _TIME_SERIES_MAX = 512
# Of route, method and class of statuses.
comptime _TIME_WORDS = BUCKET_COUNT + 2
# The buckets, with the one that has no bound, and the sum.
comptime _SUM_US = BUCKET_COUNT + 1
# First the keys of both kinds, then a row for each shard.
comptime _TIME_KEYS = _REQUEST_SERIES_MAX
comptime _ROWS = _REQUEST_SERIES_MAX + _TIME_SERIES_MAX
comptime _TIMES = _REQUEST_SERIES_MAX
comptime _ROW_LEN = _REQUEST_SERIES_MAX + _TIME_SERIES_MAX * _TIME_WORDS

comptime NO_ROUTE = StaticString("none")
"""The route label of requests that no route answers."""

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
    when it was killed counts neither as answered nor as in flight. A route is
    named by its pattern, so clients cannot make more series than a program has
    routes; of both kinds of series there is a bounded number.
    """

    var _counters: ArcPointer[SharedCounters]
    var _routes: ArcPointer[SharedNames]
    var _in_flight: ArcPointer[InFlight]

    def __init__(out self) raises OsError:
        """Makes figures, all of them 0.

        Raises:
            OsError: If the kernel has no memory.
        """
        self._counters = ArcPointer(
            SharedCounters(_ROWS + _SHARD_COUNT * _ROW_LEN)
        )
        self._routes = ArcPointer(SharedNames())
        self._in_flight = ArcPointer(InFlight())

    @always_inline
    def begin(self) -> Int:
        """Counts a request that is now in the hands of a handler.

        Returns:
            Where it is counted, for `end`.
        """
        return self._in_flight[].begin()

    def end(
        self,
        place: Int,
        method: Method,
        status: Int,
        elapsed_us: Int,
        route: StringSpan = "",
    ):
        """Counts what became of it.

        Args:
            place: What `begin` told.
            method: Its method.
            status: The response's status.
            elapsed_us: How long the handler took, in microseconds.
            route: The pattern of its route; empty if it had none.
        """
        self._in_flight[].end(place)
        var number = self._count(method, status, route)
        ref counters = self._counters[]
        var series = find_or_claim(
            counters,
            _TIME_KEYS,
            _TIME_SERIES_MAX,
            _key(number, method, _within(status) // 100),
        )
        var times = _row() + _TIMES + series * _TIME_WORDS
        counters.add(times + _SUM_US, max(elapsed_us, 0))
        counters.add(times + _bucket(elapsed_us), 1)

    def count_refused(self, method: Method, status: Int):
        """Counts a request that the server answered in place of a handler.

        Args:
            method: Its method, if it was read.
            status: The response's status.
        """
        _ = self._count(method, status, "")

    def _count(self, method: Method, status: Int, route: StringSpan) -> Int:
        """Counts a request; gives the number of its route."""
        var number: Int
        if route.byte_length() > 0:
            number = self._routes[].number(route)
        else:
            number = self._routes[].number(NO_ROUTE)
        ref counters = self._counters[]
        var series = find_or_claim(
            counters,
            0,
            _REQUEST_SERIES_MAX,
            _key(number, method, _within(status)),
        )
        counters.add(_row() + series, 1)
        return number

    def write_metrics(self, mut text: String):
        """Writes all figures in the text format of Prometheus, version 0.0.4.

        Args:
            text: Where to.
        """
        text.write("# HELP http_requests_total Requests answered.\n")
        text.write("# TYPE http_requests_total counter\n")
        for series in range(_REQUEST_SERIES_MAX):
            var key = self._counters[].load(series)
            if key != 0:
                text.write("http_requests_total{")
                self._write_labels(key, String(_status_of(key)), text)
                text.write("} ", self._sum(series), "\n")
        text.write("# HELP http_request_duration_seconds Time in handlers.\n")
        text.write("# TYPE http_request_duration_seconds histogram\n")
        for series in range(_TIME_SERIES_MAX):
            var key = self._counters[].load(_TIME_KEYS + series)
            if key != 0:
                var labels = String()
                self._write_labels(key, String(_status_of(key), "xx"), labels)
                self._write_times(_TIMES + series * _TIME_WORDS, labels, text)
        text.write("# HELP http_requests_in_flight Requests in handlers.\n")
        text.write("# TYPE http_requests_in_flight gauge\n")
        text.write("http_requests_in_flight ", self._in_flight[].total(), "\n")

    def _write_labels(self, key: Int, status: String, mut text: String):
        text.write('method="', _method_text((key >> 10) & 1_023))
        text.write('",status="', status, '",route="')
        _write_label(self._routes[].name((key >> 20) - 1), text)
        text.write('"')

    def _write_times(self, first: Int, labels: String, mut text: String):
        """Writes one histogram."""
        var texts = materialize[_BOUND_TEXTS]()
        var total = 0
        for index in range(BUCKET_COUNT + 1):
            total += self._sum(first + index)
            text.write("http_request_duration_seconds_bucket{", labels)
            text.write(',le="')
            text.write(texts[index] if index < BUCKET_COUNT else "+Inf")
            text.write('"} ', total, "\n")
        text.write("http_request_duration_seconds_sum{", labels, "} ")
        _write_seconds(self._sum(first + _SUM_US), text)
        text.write("\nhttp_request_duration_seconds_count{", labels, "} ")
        text.write(total, "\n")

    def _sum(self, column: Int) -> Int:
        var sum = 0
        for shard in range(_SHARD_COUNT):
            sum += self._counters[].load(_ROWS + shard * _ROW_LEN + column)
        return sum


@always_inline
def _row() -> Int:
    return _ROWS + (current_cpu() % _SHARD_COUNT) * _ROW_LEN


def _key(route: Int, method: Method, status: Int) -> Int:
    """Makes the key of a series from three small numbers; never 0."""
    var number = Int(method.number)
    var line = number if number < _METHOD_COUNT else 0
    return (route + 1) << 20 | line << 10 | status


def _status_of(key: Int) -> Int:
    return key & 1_023


def _within(status: Int) -> Int:
    return min(max(status, 100), 599)


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


def _write_label(value: StringSpan, mut text: String):
    """Writes a label's value, escaped as the format wants it."""
    for slice in value.codepoint_slices():
        if slice == '"' or slice == "\\":
            text.write("\\", slice)
        elif slice == "\n":
            text.write("\\n")
        else:
            text.write(slice)


def _write_seconds(time_us: Int, mut writer: Some[Writer]):
    writer.write(time_us // 1_000_000, ".")
    var fraction = String(time_us % 1_000_000)
    writer.write("0" * (6 - fraction.byte_length()), fraction)
