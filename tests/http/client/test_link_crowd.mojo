"""Who of the threads on one connection waits for it, without threads."""

from flare.bytes.checked import *
from flare.http.client.exchange.link_crowd import NOBODY, Crowd
from flare.runtime.event import Waker
from flare.sys.poll import POLL_READ, PollEntry, poll_descriptors
from tests.support.assertions import assert_equal, assert_false, assert_true


def _rings(bell: Waker) -> Bool:
    var entries = [PollEntry(bell.fd(), POLL_READ, 0)]
    return poll_descriptors(Span(entries), 0) == 1


def test_one_leads_and_hands_over() raises:
    var crowd = Crowd()
    var bells = [Waker(), Waker(), Waker()]
    var numbers = List[Int]()
    for index in range(3):
        numbers.append(crowd.join(bells.at(index).copy()))
    assert_true(crowd.begin_wait(numbers.at(0), False))
    assert_false(crowd.begin_wait(numbers.at(1), False))
    assert_false(crowd.begin_wait(numbers.at(2), False))
    # Somebody leads, so there is nothing to hand over.
    crowd.hand_over()
    for index in range(3):
        assert_false(_rings(bells.at(index)))
    crowd.end_wait(numbers.at(0))
    assert_equal(crowd.leader, NOBODY)
    crowd.hand_over()
    assert_true(_rings(bells[1]))
    assert_false(_rings(bells[2]))
    # Whoever is woken to lead, and goes its way, hands on.
    crowd.end_wait(numbers.at(1))
    assert_false(_rings(bells[1]))
    crowd.leave(numbers.at(1))
    crowd.hand_over()
    assert_true(_rings(bells[2]))
    crowd.end_wait(numbers.at(2))
    assert_true(crowd.begin_wait(numbers.at(2), False))


def test_who_was_woken_for_news_hands_on() raises:
    var crowd = Crowd()
    var bells = [Waker(), Waker(), Waker()]
    var numbers = List[Int]()
    for index in range(3):
        numbers.append(crowd.join(bells.at(index).copy()))
        _ = crowd.begin_wait(numbers.at(index), False)
    crowd.tell([numbers.at(2)])
    crowd.end_wait(numbers.at(0))
    crowd.hand_over()
    # It is on its way, and nobody else has to be.
    assert_false(_rings(bells[1]))
    crowd.end_wait(numbers.at(2))
    crowd.hand_over()
    assert_true(_rings(bells[1]))


def test_news_wakes_who_waits_and_is_kept_for_who_does_not() raises:
    var crowd = Crowd()
    var bells = [Waker(), Waker()]
    var first = crowd.join(bells[0].copy())
    var second = crowd.join(bells[1].copy())
    _ = crowd.begin_wait(first, False)
    crowd.tell([second, first, 99])
    assert_true(_rings(bells[0]))
    assert_false(_rings(bells[1]))
    crowd.end_wait(first)
    assert_false(_rings(bells[0]))
    assert_true(crowd.take_news(first))
    assert_false(crowd.take_news(first))
    assert_true(crowd.take_news(second))


def test_the_leader_learns_that_there_is_something_to_read() raises:
    # Which the descriptor does not tell.
    var crowd = Crowd()
    var bells = [Waker(), Waker()]
    var first = crowd.join(bells[0].copy())
    var second = crowd.join(bells[1].copy())
    crowd.ring_leader()
    _ = crowd.begin_wait(first, False)
    _ = crowd.begin_wait(second, False)
    crowd.ring_leader()
    assert_true(_rings(bells[0]))
    assert_false(_rings(bells[1]))


def test_the_leader_learns_that_there_is_something_to_send() raises:
    var crowd = Crowd()
    var bell = Waker()
    var number = crowd.join(bell.copy())
    crowd.watch_writing()
    _ = crowd.begin_wait(number, False)
    crowd.watch_writing()
    assert_true(_rings(bell))
    crowd.end_wait(number)
    assert_false(crowd.take_news(number))
    # It knows already.
    _ = crowd.begin_wait(number, True)
    crowd.watch_writing()
    assert_false(_rings(bell))
