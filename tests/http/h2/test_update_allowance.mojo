from flare.http.h2.update_allowance import UpdateAllowance
from tests.support.assertions import assert_equal


def _spent(mut allowance: UpdateAllowance) -> Int:
    var count = 0
    while allowance.spend():
        count += 1
    return count


def test_what_gives_something_back_is_free() raises:
    # frames of content, the last stream of the peer, how many updates are free
    var rows = [
        (0, -1, 0),
        (0, 1, 2),
        (0, 3, 4),
        (1, -1, 2),
        (1, 3, 6),
        (5, 5, 16),
    ]
    for row in rows:
        var allowance = UpdateAllowance(-1)
        for _ in range(row[0]):
            allowance.earn_for_data()
        allowance.earn_for_streams(row[1])
        assert_equal(_spent(allowance), row[2])


def test_a_stream_counts_once() raises:
    var allowance = UpdateAllowance(1)
    allowance.earn_for_streams(5)
    assert_equal(_spent(allowance), 4)
    allowance.earn_for_streams(5)
    assert_equal(_spent(allowance), 0)
    allowance.earn_for_streams(7)
    assert_equal(_spent(allowance), 2)
