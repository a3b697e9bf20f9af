"""The order in which streams send (RFC 9218 section 10)."""

from flare.bytes.checked import *
from flare.http.h2.priority import Priority
from flare.http.server.connection.send_order import SendOrder, send_rank
from tests.support.assertions import assert_equal, assert_true


def test_ranks() raises:
    # 9218-10: by urgency; then what must be complete, in the order in which it
    # began; then what may share, by turns.
    var ranks: List[Int] = [
        send_rank(Priority(UInt8(0), False), 9),
        send_rank(Priority(UInt8(0), True), 1),
        send_rank(Priority(UInt8(3), False), 2),
        send_rank(Priority(UInt8(3), False), 1 << 40),
        send_rank(Priority(UInt8(3), True), 0),
        send_rank(Priority(UInt8(3), True), 5),
        send_rank(Priority(UInt8(7), False), 0),
    ]
    for index in range(1, len(ranks)):
        assert_true(ranks[index - 1] < ranks[index], String(index))


def _least(ranks: List[Int], order: SendOrder) raises:
    """Holds the first one to the least of all that are there."""
    var least = Int.MAX
    var count = 0
    for rank in ranks:
        if rank >= 0:
            least = min(least, rank)
            count += 1
    assert_equal(len(order), count)
    if count > 0:
        assert_equal(ranks.at(order.first()), least)


def test_an_order_and_a_list() raises:
    # Random walks beside the simplest thing that does the same.
    for seed in range(100):
        var word = UInt64(seed) * 2 + 1
        var order = SendOrder()
        # By index; -1 for those that are out.
        var ranks = List[Int]()
        for _ in range(200):
            word = word * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407
            var number = Int((word >> 33) % 50)
            var choice = (word >> 40) % 4
            if len(order) == 0 or choice < 2:
                order.add(number, len(ranks))
                ranks.append(number)
            elif choice == 2:
                ranks.at(order.first()) = -1
                order.drop_first()
            else:
                var index = order.first()
                ranks.at(index) += number
                order.move_first(ranks.at(index))
            _least(ranks, order)
        order.clear()
        assert_equal(len(order), 0)
