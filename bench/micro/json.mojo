"""Measures JSON: parsing a small body and a 10 KiB document, reading, writing.
"""

from flare.json.value import JsonValue, parse
from flare.json.writer import dumps
from flare.sys.clock import thread_cpu_ns
from std.benchmark import black_box, keep

comptime ROUNDS = 9
comptime ROUND_NS = 60_000_000
comptime SMALL_BODY = (
    '{"id": 4711, "name": "Ada Lovelace", "email": "ada@example.com",'
    ' "active": true, "balance": 12.5, "tags": ["a", "b"]}'
)


def _document(length: Int) -> String:
    """Makes a list of records of about a length, in bytes."""
    var text = String("[")
    var index = 0
    while text.byte_length() < length:
        if index > 0:
            text += ", "
        text += String('{"id": ', 100_000 + index, ', "user": "user number ')
        text += String(index, '", "score": ', index, ".25, ")
        text += '"note": "line one\\nline two", "flags": [true, false, null], '
        text += '"place": {"lat": 52.520008, "lon": 13.404954}}'
        index += 1
    return text + "]"


def _median(var times: List[Float64]) -> Float64:
    sort(times)
    return times[len(times) // 2]


def _report(name: StaticString, var times: List[Float64]):
    print('{"name": "', name, '", "ns": ', _median(times^), "}", sep="")


def _measure_parse(name: StaticString, text: String) raises:
    var times = List[Float64]()
    for _ in range(ROUNDS):
        var count = 0
        var start = thread_cpu_ns()
        var elapsed = 0
        while elapsed < ROUND_NS:
            for _ in range(16):
                var value = parse(black_box(text))
                keep(len(value))
            count += 16
            elapsed = thread_cpu_ns() - start
        times.append(Float64(elapsed) / Float64(count))
    _report(name, times^)


def _measure_read(name: StaticString, value: JsonValue) raises:
    var times = List[Float64]()
    for _ in range(ROUNDS):
        var count = 0
        var start = thread_cpu_ns()
        var elapsed = 0
        while elapsed < ROUND_NS:
            for _ in range(64):
                keep(value[black_box(StaticString("active"))].bool_value())
            count += 64
            elapsed = thread_cpu_ns() - start
        times.append(Float64(elapsed) / Float64(count))
    _report(name, times^)


def _measure_dumps(name: StaticString, value: JsonValue) raises:
    var times = List[Float64]()
    for _ in range(ROUNDS):
        var count = 0
        var start = thread_cpu_ns()
        var elapsed = 0
        while elapsed < ROUND_NS:
            for _ in range(16):
                var text = dumps(value)
                keep(text.byte_length())
            count += 16
            elapsed = thread_cpu_ns() - start
        times.append(Float64(elapsed) / Float64(count))
    _report(name, times^)


def main() raises:
    """Prints one JSON line a measurement, in CPU time of this thread."""
    var document = _document(10 * 1024)
    _measure_parse("json_parse_small", SMALL_BODY)
    _measure_parse("json_parse_10k", document)
    _measure_read("json_read_member", parse(SMALL_BODY))
    _measure_dumps("json_write_small", parse(SMALL_BODY))
    _measure_dumps("json_write_10k", parse(document))
