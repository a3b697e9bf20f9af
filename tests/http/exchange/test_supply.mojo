"""How much of a request is here: every case with every change."""

from flare.http.exchange.outgoing_request import Supply
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var supply: Supply
    var has_all: Bool
    var is_kept: Bool
    var after_drop: Supply
    var after_end: Supply


def test_every_case() raises:
    var rows: List[_Row] = [
        _Row(Supply.ALL, True, True, Supply.REST, Supply.ALL),
        _Row(Supply.ARRIVING, False, True, Supply.REST_ARRIVING, Supply.ALL),
        _Row(
            Supply.REST_ARRIVING,
            False,
            False,
            Supply.REST_ARRIVING,
            Supply.REST,
        ),
        _Row(Supply.REST, True, False, Supply.REST, Supply.REST),
        # What is cut stays so, whatever comes.
        _Row(Supply.CUT, False, False, Supply.CUT, Supply.CUT),
    ]
    for row in rows:
        var told = String("supply ", row.supply.number)
        assert_equal(row.supply.has_all(), row.has_all, told)
        assert_equal(row.supply.is_kept(), row.is_kept, told)
        assert_true(row.supply.after_drop() == row.after_drop, told)
        assert_true(row.supply.after_end() == row.after_end, told)
