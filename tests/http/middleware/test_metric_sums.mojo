"""Sums of figures as Prometheus text."""

from flare.http.middleware.metric_sums import MetricSums
from tests.support.assertions import assert_equal


def _written(sums: MetricSums) -> String:
    var text = String()
    sums.write_to(text)
    return text^


comptime _ONE = StaticString(
    "# HELP a_total What it is.\n"
    "# TYPE a_total counter\n"
    'a_total{x="1 2"} 3\n'
    'a_total{x="}"} 4\n'
    "# TYPE b gauge\n"
    "b 5\n"
    "# TYPE c_seconds histogram\n"
    'c_seconds_bucket{le="1"} 1\n'
    'c_seconds_bucket{le="+Inf"} 2\n'
    "c_seconds_sum 1.999999\n"
    "c_seconds_count 2\n"
)


def test_one_is_what_it_was() raises:
    var sums = MetricSums()
    sums.add(_ONE)
    assert_equal(_written(sums), _ONE)


def test_two_are_added_up() raises:
    var sums = MetricSums()
    sums.add(_ONE)
    sums.add(
        "# TYPE c_seconds histogram\n"
        'c_seconds_bucket{le="1"} 10\n'
        'c_seconds_bucket{le="+Inf"} 20\n'
        "c_seconds_sum 3.000002\n"
        "c_seconds_count 20\n"
        "# HELP a_total What it is.\n"
        "# TYPE a_total counter\n"
        'a_total{x="new"} 1\n'
        'a_total{x="}"} 40\n'
        "# TYPE d gauge\n"
        "d 7\n"
    )
    assert_equal(
        _written(sums),
        (
            "# HELP a_total What it is.\n"
            "# TYPE a_total counter\n"
            'a_total{x="1 2"} 3\n'
            'a_total{x="}"} 44\n'
            'a_total{x="new"} 1\n'
            "# TYPE b gauge\n"
            "b 5\n"
            "# TYPE c_seconds histogram\n"
            'c_seconds_bucket{le="1"} 11\n'
            'c_seconds_bucket{le="+Inf"} 22\n'
            "c_seconds_sum 5.000001\n"
            "c_seconds_count 22\n"
            "# TYPE d gauge\n"
            "d 7\n"
        ),
    )


def test_of_what_has_ended_counts_stay_and_gauges_go() raises:
    var sums = MetricSums()
    sums.add(_ONE, has_ended=True)
    assert_equal(
        _written(sums),
        (
            "# HELP a_total What it is.\n"
            "# TYPE a_total counter\n"
            'a_total{x="1 2"} 3\n'
            'a_total{x="}"} 4\n'
            "# TYPE c_seconds histogram\n"
            'c_seconds_bucket{le="1"} 1\n'
            'c_seconds_bucket{le="+Inf"} 2\n'
            "c_seconds_sum 1.999999\n"
            "c_seconds_count 2\n"
        ),
    )


def test_numbers() raises:
    for row in [
        ("1", "2", "3"),
        ("-1", "-2", "-3"),
        ("-5", "2", "-3"),
        ("0.5", "0.5", "1.000000"),
        ("0.25", "1", "1.250000"),
        ("-0.5", "0.25", "-0.250000"),
        ("-1.5", "0.25", "-1.250000"),
        ("1.5", "-2", "-0.500000"),
        ("1.000001", "0", "1.000001"),
        ("999999999999999999", "1", "1000000000000000000"),
        # What is none is not added up.
        ("1", "NaN", "NaN"),
        ("1", "+Inf", "+Inf"),
        ("1", "1e9", "1e9"),
        ("1", "0.1234567", "0.1234567"),
        ("1", "-", "-"),
        ("1", "", ""),
    ]:
        var sums = MetricSums()
        sums.add(String("a ", row[0], "\n"))
        sums.add(String("a ", row[1], "\n"))
        if row[2].byte_length() > 0:
            assert_equal(_written(sums), String("a ", row[2], "\n"), row[1])


def test_what_another_one_does_not_have_is_dropped() raises:
    var sums = MetricSums()
    sums.add(_ONE)
    var other = MetricSums()
    other.add("# TYPE a_total counter\n" 'a_total{x="}"} 1\n')
    sums.keep(other)
    assert_equal(
        _written(sums),
        (
            "# HELP a_total What it is.\n"
            "# TYPE a_total counter\n"
            'a_total{x="}"} 4\n'
        ),
    )
