"""Figures of requests, counted for all workers and shown as Prometheus text."""

from flare.bytes.checked import *
from flare.bytes.digits import seconds_text
from flare.bytes.utf8 import lossy_text
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.middleware.late_response import CLIENT_GONE
from flare.http.handler.failure import failure_status
from flare.http.handler.metric_source import MetricSource
from flare.http.handler.handler import Handler
from flare.http.handler.later import LaterStep, finish_later, is_later
from flare.http.routing.stack import Layer
from flare.sys.process import current_cpu
from flare.sys.clock import monotonic_ns
from flare.sys.errno import OsError
from flare.sys.memory_map import SharedCounters
from flare.sys.process_gauge import ProcessGauge
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
    var _in_flight: ArcPointer[ProcessGauge[_SHARD_COUNT]]

    def __init__(out self) raises OsError:
        """Makes figures, all of them 0.

        Raises:
            OsError: If the kernel has no memory.
        """
        self._counters = ArcPointer(
            SharedCounters(_ROWS + _SHARD_COUNT * _ROW_LEN)
        )
        self._routes = ArcPointer(SharedNames())
        self._in_flight = ArcPointer(ProcessGauge[_SHARD_COUNT]())

    @always_inline
    def begin(self) -> Int:
        """Counts a request that is now in the hands of a handler, and gives
        where it is counted, for `end`."""
        return self._in_flight[].add(1)

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
        self._in_flight[].add_at(place, -1)
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
        """Writes all figures in the text format of Prometheus, version 0.0.4."""
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
        write_label(self._routes[].name((key >> 20) - 1), text)
        text.write('"')

    def _write_times(self, first: Int, labels: String, mut text: String):
        var total = 0
        for index in range(BUCKET_COUNT + 1):
            total += self._sum(first + index)
            text.write("http_request_duration_seconds_bucket{", labels)
            text.write(',le="')
            if index < BUCKET_COUNT:
                text.write(seconds_text(materialize[_BOUNDS_US]()[index]))
            else:
                text.write("+Inf")
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


def write_label(value: StringSpan, mut text: String):
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


@fieldwise_init
struct RequestMetrics[H: Handler](Layer):
    """Counts the requests to the inner handler, by route, method, status and
    time, and those that the server refuses.

        var metrics = Metrics()
        router.get("/metrics", MetricsEndpoint(metrics))
        server.serve(RequestMetrics(router^, metrics), num_workers=4)

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = RequestMetrics[I]
    var handler: Self.H
    """What answers."""
    var metrics: Metrics
    """Where it is counted."""

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, and counts it; an error counts as 500."""
        var place = self.metrics.begin()
        var began_ns = monotonic_ns()
        try:
            var response = self.handler.serve(req)
            if is_later(req, response):
                self._end_later(req, response, place, began_ns)
            else:
                self._end(req, response.status.code, place, began_ns)
            return response^
        except error:
            self._end(req, failure_status(req, error), place, began_ns)
            raise error^

    def _end(self, req: Request, status: Int, place: Int, began_ns: Int):
        var elapsed_us = (monotonic_ns() - began_ns) // 1_000
        self.metrics.end(place, req.method, status, elapsed_us, req.route())

    @no_inline
    def _end_later(
        self,
        req: Request,
        mut response: Response,
        place: Int,
        began_ns: Int,
    ) raises:
        finish_later(
            req,
            response,
            _LateCount(
                self.metrics,
                place,
                began_ns,
                req.method,
                String(req.route()),
                is_counted=False,
            ),
        )

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Counts a request that the server answers in place of the handler."""
        response = self.handler.refuse(req, response^)
        self.metrics.count_refused(req.method, response.status.code)
        return response^


@fieldwise_init
struct _LateCount(LaterStep):
    """A request that is counted when its response is there, or when nobody
    waits for it any more."""

    var metrics: Metrics
    var place: Int
    var began_ns: Int
    var method: Method
    var route: String
    var is_counted: Bool

    def __deinit__(deinit self):
        if not self.is_counted:
            self._count(CLIENT_GONE)

    def finish(mut self, var response: Response) raises -> Response:
        self.is_counted = True
        self._count(response.status.code)
        return response^

    def _count(self, status: Int):
        var elapsed_us = (monotonic_ns() - self.began_ns) // 1_000
        self.metrics.end(
            self.place, self.method, status, elapsed_us, self.route
        )


@fieldwise_init
struct MetricPair[A: MetricSource, B: MetricSource](MetricSource):
    """The figures of two sources, one after the other.

    Parameters:
        A: The first one's type.
        B: The second one's type.
    """

    var first: Self.A
    """The first."""
    var second: Self.B
    """The second."""

    def write_metrics(self, mut text: String):
        """Writes the figures of both."""
        self.first.write_metrics(text)
        self.second.write_metrics(text)


@fieldwise_init
struct MetricsEndpoint[M: MetricSource](Handler):
    """Tells figures to Prometheus.

        router.get("/metrics", MetricsEndpoint(metrics))
        router.get(
            "/all", MetricsEndpoint(MetricPair(metrics, server.stats_handle()))
        )

    Parameters:
        M: The type of what has figures.
    """

    var source: Self.M
    """What has figures."""

    def serve(self, req: Request) raises -> Response:
        """Writes the figures.

        Raises:
            Error: Never.
        """
        var text = String(capacity_bytes=4_096)
        self.source.write_metrics(text)
        return Response(
            200,
            text^,
            content_type="text/plain; version=0.0.4; charset=utf-8",
        )


comptime NAME_COUNT_MAX = 256
"""Most names; what comes beyond shares the last one."""

comptime NAME_LEN_MAX = 248
"""Longest name in bytes; the rest is cut."""

comptime _WORD_LEN = 8
comptime _NAME_WORDS = 1 + NAME_LEN_MAX // _WORD_LEN


def find_or_claim(
    counters: SharedCounters, first: Int, count: Int, key: Int
) -> Int:
    """Finds the entry of a key among `count` of a table, the first of which has
    its key at counter `first`, or takes a free one, whose key is 0. Returns its
    index; the last one if all are taken by others."""
    var start = Int((UInt64(key) * 0x9E3779B97F4A7C15) >> 32)
    for step in range(count):
        var index = (start + step) % count
        var found = counters.load(first + index)
        if found == key:
            return index
        if found == 0 and (
            counters.replace(first + index, 0, key)
            or counters.load(first + index) == key
        ):
            return index
    return count - 1


struct SharedNames(Movable):
    """Names with small numbers, the same in all processes of a server."""

    # First the keys of all names, then their texts: a length that is 0 until
    # the text is there, and the octets, eight a word.
    var _words: SharedCounters

    def __init__(out self) raises OsError:
        self._words = SharedCounters(NAME_COUNT_MAX * (1 + _NAME_WORDS))

    def number(self, name: StringSpan) -> Int:
        """Gives the number of a name, the same for all who ask, less than
        `NAME_COUNT_MAX`."""
        var octets = name.as_bytes()
        var key = _fingerprint(octets)
        var number = find_or_claim(self._words, 0, NAME_COUNT_MAX, key)
        if self._words.load(_text(number)) == 0:
            self._write(number, octets)
        return number

    def name(self, number: Int) -> String:
        """Reads a name; empty if the number is that of none, or of one that is
        being written."""
        var first = _text(number)
        var length = self._words.load(first)
        # Written in order: what is replaced by itself is seen after the text.
        if length <= 0 or not self._words.replace(first, length, length):
            return String()
        var octets = List[UInt8](capacity=length)
        for index in range(min(length, NAME_LEN_MAX)):
            var word = self._words.load(first + 1 + index // _WORD_LEN)
            octets.append(UInt8((word >> (8 * (index % _WORD_LEN))) & 255))
        return lossy_text(octets)

    def _write(self, number: Int, octets: Span[UInt8, _]):
        """Writes a text; others may be writing the same one."""
        var length = min(len(octets), NAME_LEN_MAX)
        for word in range((length + _WORD_LEN - 1) // _WORD_LEN):
            var value = UInt64(0)
            for index in range(_WORD_LEN):
                var place = word * _WORD_LEN + index
                if place < length:
                    value |= UInt64(octets.at(place)) << UInt64(8 * index)
            self._words.store(_text(number) + 1 + word, Int(value))
        _ = self._words.replace(_text(number), 0, length)


def _text(number: Int) -> Int:
    return NAME_COUNT_MAX + number * _NAME_WORDS


def _fingerprint(octets: Span[UInt8, _]) -> Int:
    """FNV-1a of 64 bits; never 0."""
    var hash = UInt64(0xCBF29CE484222325)
    for octet in octets:
        hash = (hash ^ UInt64(octet)) * 0x100000001B3
    return Int(hash | 1)
