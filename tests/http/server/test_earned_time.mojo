"""What a slow peer earns by octets that move."""

from flare.http.server.earned_time import earned_ms, prolonged_end_ms
from tests.support.assertions import assert_equal


def test_time_is_earned_by_the_rate() raises:
    # moved octets, octets a second, milliseconds
    var rows = [
        (0, 4_096, 0),
        (4, 4_096, 0),
        (5, 4_096, 1),
        (4_096, 4_096, 1_000),
        (6_144, 4_096, 1_500),
        (1 << 40, 1, 1_000 << 40),
        (1 << 40, 0, 0),
    ]
    for row in rows:
        assert_equal(earned_ms(row[0], row[1]), row[2])


def test_an_end_is_put_off_but_never_beyond_the_timeout_from_now() raises:
    # end, earned, timeout, now, then
    var rows = [
        (1_000, 0, 500, 1_000, 1_000),
        (1_000, 200, 500, 1_000, 1_200),
        (1_000, 500, 500, 1_000, 1_500),
        (1_000, 90_000, 500, 1_000, 1_500),
        (1_000, 300, 500, 1_400, 1_300),
    ]
    for row in rows:
        assert_equal(prolonged_end_ms(row[0], row[1], row[2], row[3]), row[4])
