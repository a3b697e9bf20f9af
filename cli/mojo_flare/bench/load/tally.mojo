"""What came of a load, told as lines of JSON.

    {"at": 0.5, "answered": 500, "failed": 0, "octets": 6500, "behind": 0,
     "p50": 120.5, "p99": 340.0, "max": 900.1}
    {"end": true, "seconds": 10.0, ..., "statuses": {"200": 5000},
     "errors": {"connection refused": 3}, "slots": [[120, 3], [121, 40]]}

Times are microseconds; slots are those of `Histogram`, in nanoseconds.
"""

from histogram import Histogram

comptime _STATUS_COUNT = 1_000


struct Tally(Movable):
    """Counts of a whole load, and of what came since it was last told."""

    var answered_count: Int
    var failed_count: Int
    var octet_count: Int
    var unfinished_count: Int
    """Requests that were due, and had no answer when the time was over."""
    var latency_ns: Histogram
    var _recent_ns: Histogram
    var _statuses: List[Int]
    var _error_names: List[String]
    var _error_counts: List[Int]

    def __init__(out self):
        self.answered_count = 0
        self.failed_count = 0
        self.octet_count = 0
        self.unfinished_count = 0
        self.latency_ns = Histogram()
        self._recent_ns = Histogram()
        self._statuses = List[Int](length=_STATUS_COUNT, fill=0)
        self._error_names = []
        self._error_counts = []

    def note_answer(mut self, status: Int, octet_count: Int, latency_ns: Int):
        """Counts an answer, whatever its status."""
        self.answered_count += 1
        self.octet_count += octet_count
        self._statuses[min(max(status, 0), _STATUS_COUNT - 1)] += 1
        self.latency_ns.record(latency_ns)
        self._recent_ns.record(latency_ns)

    def note_error(mut self, name: String):
        """Counts a request that failed, by what has failed."""
        self.failed_count += 1
        for index in range(len(self._error_names)):
            if self._error_names[index] == name:
                self._error_counts[index] += 1
                return
        self._error_names.append(name)
        self._error_counts.append(1)

    def note_unfinished(mut self, waited_ns: Int):
        """Counts a request without an answer; its time so far counts, too."""
        self.unfinished_count += 1
        self.latency_ns.record(waited_ns)

    def tell(mut self, at_ns: Int, behind_count: Int):
        """Prints what came since the last time."""
        ref recent = self._recent_ns
        var text = String('{"at": ', Float64(at_ns) / 1e9)
        self._write_counts(text)
        text.write(', "behind": ', behind_count)
        text.write(', "p50": ', _us(recent.at(0.5)))
        text.write(', "p99": ', _us(recent.at(0.99)))
        text.write(', "max": ', _us(recent.most), "}")
        print(text, flush=True)
        recent.clear()

    def _write_counts(self, mut text: String):
        text.write(', "answered": ', self.answered_count)
        text.write(', "failed": ', self.failed_count)
        text.write(', "octets": ', self.octet_count)

    def tell_end(self, duration_ns: Int):
        """Prints all of it."""
        var text = String(
            '{"end": true, "seconds": ', Float64(duration_ns) / 1e9
        )
        self._write_counts(text)
        text.write(', "unfinished": ', self.unfinished_count)
        text.write(', "min_ns": ', self.latency_ns.least)
        text.write(', "max_ns": ', self.latency_ns.most, ', "statuses": {')
        var separator = ""
        for status in range(_STATUS_COUNT):
            if self._statuses[status] > 0:
                text.write(separator, '"', status, '": ')
                text.write(self._statuses[status])
                separator = ", "
        text.write('}, "errors": {')
        separator = ""
        for index in range(len(self._error_names)):
            text.write(separator, '"', self._error_names[index], '": ')
            text.write(self._error_counts[index])
            separator = ", "
        text.write('}, "slots": [')
        self.latency_ns.write_slots(text)
        text.write("]}")
        print(text, flush=True)


def _us(value_ns: Int) -> Float64:
    return Float64(value_ns) / 1000
