"""Moments as logs write them."""

from flare.http.message.timestamp import write_timestamp
from std.testing import assert_equal


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var unix_ms: Int
    var text: StaticString


def test_timestamps() raises:
    var rows: List[_Row] = [
        _Row("3339-5.6 the epoch", 0, "1970-01-01T00:00:00.000Z"),
        _Row("3339-5.6 secfrac", 784_111_777_123, "1994-11-06T08:49:37.123Z"),
        _Row("milliseconds keep zeros", 7, "1970-01-01T00:00:00.007Z"),
        _Row("and two of them", 70, "1970-01-01T00:00:00.070Z"),
        _Row("3339-5.6 two digits", 3_661_000, "1970-01-01T01:01:01.000Z"),
        _Row("end of a second", 59_999, "1970-01-01T00:00:59.999Z"),
        _Row("end of a day", 86_399_999, "1970-01-01T23:59:59.999Z"),
        _Row("next day", 86_400_000, "1970-01-02T00:00:00.000Z"),
        _Row(
            "3339-C 2000 is a leap year",
            951_825_599_999,
            "2000-02-29T11:59:59.999Z",
        ),
        _Row(
            "3339-C 2100 is none",
            4_107_542_400_000,
            "2100-03-01T00:00:00.000Z",
        ),
        _Row("end of 1999", 946_684_799_999, "1999-12-31T23:59:59.999Z"),
        _Row("beyond 32 bits", 2_147_483_648_000, "2038-01-19T03:14:08.000Z"),
        _Row(
            "3339-5.6 four digits of a year",
            253_402_300_799_999,
            "9999-12-31T23:59:59.999Z",
        ),
    ]
    for row in rows:
        var text = String()
        write_timestamp(row.unix_ms, text)
        assert_equal(text, row.text, row.rule)
