"""Tests of Happy Eyeballs' decisions (RFC 8305 section 5)."""

from flare.tcp.connection_race import ConnectionRace
from std.testing import assert_equal


@fieldwise_init
struct _Row(Copyable):
    var rule: String
    var address_count: Int
    var script: String
    """A number asks for the next step at that time; `f20` is a failure at 20,
    `s` a success."""
    var steps: String


def _play(row: _Row) raises -> String:
    var race = ConnectionRace(row.address_count, 0, 1_000)
    var steps = String()
    for word in row.script.split(" "):
        if word == "s":
            race.succeeded()
        elif word.startswith("f"):
            race.failed(Int(word[byte = 1 : word.byte_length()]))
        else:
            if steps.byte_length() > 0:
                steps.write(", ")
            steps.write(race.next_step(Int(word)))
    return steps^


def test_connection_race_rows() raises:
    var rows: List[_Row] = [
        _Row("first at once", 2, "0 0", "start 0, wait 250"),
        _Row(
            "8305-5 attempts 250 ms apart",
            3,
            "0 249 250 499 500 500",
            "start 0, wait 250, start 1, wait 500, start 2, wait 1000",
        ),
        _Row(
            "8305-5 the delay counts from the start that was",
            3,
            "0 300 300 550",
            "start 0, start 1, wait 550, start 2",
        ),
        _Row(
            "a failure starts the next at once",
            3,
            "0 f10 10 10 f20 20 20",
            "start 0, start 1, wait 260, start 2, wait 1000",
        ),
        _Row(
            "a late failure of an early attempt, too",
            3,
            "0 250 f300 300",
            "start 0, start 1, start 2",
        ),
        _Row("8305-5 success ends it", 2, "0 s 0 300", "start 0, won, won"),
        _Row("the second may win", 2, "0 250 s 260", "start 0, start 1, won"),
        _Row(
            "a failure after the success changes nothing",
            2,
            "0 250 s f260 260",
            "start 0, start 1, won",
        ),
        _Row("one address", 1, "0 0 f30 30", "start 0, wait 1000, all failed"),
        _Row(
            "all fail",
            2,
            "0 f1 1 f2 2",
            "start 0, start 1, all failed",
        ),
        _Row(
            "too late while an attempt is under way",
            1,
            "0 999 1000",
            "start 0, wait 1000, too late",
        ),
        _Row(
            "a start is never later than the deadline",
            9,
            "0 800 900 1000",
            "start 0, start 1, wait 1000, too late",
        ),
        _Row("no time at all", 1, "1000", "too late"),
        _Row("no address", 0, "0", "all failed"),
        _Row(
            "failure counts before lateness",
            1,
            "0 f1 1000",
            "start 0, all failed",
        ),
    ]
    for row in rows:
        assert_equal(_play(row), row.steps, row.rule)
