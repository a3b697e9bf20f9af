"""grpc-timeout, read and written."""

from flare.grpc.core.timeout import format_timeout, parse_timeout
from tests.support.assertions import assert_equal, assert_true
from tests.support.guard_page import GuardedBytes


@fieldwise_init
struct _Row(Copyable, Movable):
    var text: String
    # -1 if it is refused.
    var timeout_ns: Int


def test_timeouts_are_read() raises:
    var rows: List[_Row] = [
        _Row("1n", 1),
        _Row("1u", 1_000),
        _Row("1m", 1_000_000),
        _Row("1S", 1_000_000_000),
        _Row("1M", 60_000_000_000),
        _Row("1H", 3_600_000_000_000),
        _Row("0S", 0),
        _Row("00000001S", 1_000_000_000),
        _Row("99999999m", 99_999_999_000_000),
        _Row("99999999H", Int.MAX),
        _Row("000000001S", -1),
        _Row("1s", -1),
        _Row("1h", -1),
        _Row("1U", -1),
        _Row("S", -1),
        _Row("1", -1),
        _Row("", -1),
        _Row("-1S", -1),
        _Row("+1S", -1),
        _Row("1.5S", -1),
        _Row("1 S", -1),
        _Row("1ms", -1),
    ]
    for row in rows:
        var guarded = GuardedBytes(row.text.as_bytes())
        var found = parse_timeout(guarded.span())
        assert_equal(found.or_else(-1), row.timeout_ns, row.text)


def test_timeouts_are_written() raises:
    var rows: List[_Row] = [
        _Row("1n", 0),
        _Row("1n", -5),
        _Row("99999999n", 99_999_999),
        _Row("100000u", 100_000_000),
        _Row("100001u", 100_000_001),
        _Row("5000000u", 5_000_000_000),
        _Row("99999999S", 99_999_999_000_000_000),
        _Row("1666667M", 99_999_999_000_000_001),
        _Row("2562048H", Int.MAX),
    ]
    for row in rows:
        assert_equal(format_timeout(row.timeout_ns), row.text)


def test_what_is_written_is_read_as_no_less() raises:
    var timeout_ns = 1
    for step in range(62):
        for near in range(-1, 2):
            var wanted = max(timeout_ns + near * step, 1)
            var text = format_timeout(wanted)
            assert_true(text.byte_length() <= 9, text)
            var read = parse_timeout(text.as_bytes()).value()
            assert_true(read >= wanted, text)
            assert_true(read - wanted <= wanted // 10_000, text)
        timeout_ns *= 2
