"""Who joins which connection of a client that threads share, without threads and
connections."""

from flare.http.client.connect.connection import Endpoint
from flare.http.client.connect.shared_pool import (
    ConnectionLimits,
    Grant,
    Lendable,
    SharedPool,
)
from flare.http.exchange.idle_pool import PoolLimits
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Wire(Lendable):
    """A connection; many requests may share those below 100."""

    var number: Int

    def another(self) -> Optional[Self]:
        if self.number >= 100:
            return None
        return Self(self.number)


comptime _Pool = SharedPool[_Wire, Int]


def _pool(per_host: Int = 4, max_waiting: Int = 99) -> _Pool:
    return _Pool(
        ConnectionLimits(max_per_host=per_host, max_waiting=max_waiting),
        PoolLimits(9, 9, 1_000),
    )


def _to() -> Endpoint:
    return Endpoint("a", 443)


def _join(mut pool: _Pool, wants_new: Bool = False) -> Optional[Grant[_Wire]]:
    return pool.take(_to(), 0, wants_new=wants_new, joins=True)


def _number(var grant: Optional[Grant[_Wire]]) -> Int:
    """The connection; -1 for the right to open one, -2 for nothing."""
    if not grant:
        return -2
    var connection = grant.take().take()
    return connection.value().number if connection else -1


def _check(pool: _Pool, idle: Int, busy: Int, waiting: Int) raises:
    var figures = pool.figures()
    assert_equal(figures.idle, idle, String(figures))
    assert_equal(figures.busy, busy, String(figures))
    assert_equal(figures.waiting, waiting, String(figures))


def test_who_comes_later_joins_what_is_lent() raises:
    var pool = _pool()
    var first = _join(pool)
    assert_true(first.value().dials)
    var host = first.value().host
    var lent = pool.lend(host, _Wire(7), has_dialed=True)
    var second = _join(pool)
    assert_equal(second.value().lent, lent)
    assert_false(second.value().was_idle)
    assert_equal(_number(second^), 7)
    _check(pool, 0, 1, 0)
    pool.give_back(host, lent, 0)
    _check(pool, 0, 1, 0)
    # The last one leaves it idle, and the next one finds it there.
    pool.give_back(host, lent, 0)
    _check(pool, 1, 0, 0)
    var third = _join(pool)
    assert_true(third.value().was_idle)
    var again = third.value().lent
    assert_equal(_number(third^), 7)
    assert_equal(_join(pool).value().lent, again)
    _check(pool, 0, 1, 0)
    var figures = pool.figures()
    assert_equal((figures.opened, figures.reused), (1, 3))


def test_who_has_it_alone_is_not_joined() raises:
    """A batch drives its connections by itself."""
    var pool = _pool()
    var alone = pool.take(_to(), 0)
    assert_false(alone.value().dials)
    assert_equal(_number(_join(pool)), -1)
    pool.put(alone.value().host, _Wire(7), 0)
    assert_equal(_number(pool.take(_to(), 0)), 7)
    # Nor is one that carries one request at a time.
    pool.put(alone.value().host, _Wire(100), 0)
    var grant = _join(pool)
    assert_equal(grant.value().lent, -1)
    assert_equal(_number(grant^), 100)


def test_a_dial_is_waited_for() raises:
    var pool = _pool()
    var host = _join(pool).value().host
    assert_equal(_number(_join(pool)), -2)
    var second = pool.wait(_to(), 2, joins=True)
    var third = pool.wait(_to(), 3, joins=True)
    _check(pool, 0, 1, 2)
    assert_equal(len(pool.woken), 0)
    var lent = pool.lend(host, _Wire(7), has_dialed=True)
    assert_equal(pool.woken, [2, 3])
    assert_equal(pool.collect(second).value().lent, lent)
    assert_equal(_number(pool.collect(third)), 7)
    for _ in range(3):
        pool.give_back(host, lent, 0)
    _check(pool, 1, 0, 0)


def test_who_was_granted_a_part_and_leaves_gives_it_back() raises:
    var pool = _pool()
    var host = _join(pool).value().host
    var second = pool.wait(_to(), 2, joins=True)
    var lent = pool.lend(host, _Wire(7), has_dialed=True)
    pool.give_back(host, lent, 0)
    pool.leave(second, is_late=False, now_ms=700)
    _check(pool, 1, 0, 0)
    # Its time as an idle one begins with that.
    pool.expire(1_600)
    _check(pool, 1, 0, 0)
    pool.expire(1_700)
    _check(pool, 0, 0, 0)


def test_a_dial_that_fails_is_not_waited_for_again() raises:
    var pool = _pool()
    var host = _join(pool).value().host
    var numbers = List[Int]()
    for waker in range(2, 5):
        numbers.append(pool.wait(_to(), waker, joins=True))
    pool.end_dial(host, is_http1=False)
    pool.release(host)
    assert_equal(pool.woken, [2, 3, 4])
    for number in numbers:
        assert_equal(_number(pool.collect(number)), -1)
    # But by who comes later.
    assert_equal(_number(_join(pool)), -2)
    _check(pool, 0, 3, 0)


def test_an_endpoint_that_chose_http1_is_remembered() raises:
    var pool = _pool()
    var host = _join(pool).value().host
    var second = pool.wait(_to(), 2, joins=True)
    pool.end_dial(host, is_http1=True)
    var grant = pool.collect(second)
    assert_false(grant.value().dials)
    assert_equal(_number(grant^), -1)
    assert_equal(_number(_join(pool)), -1)
    for _ in range(3):
        pool.release(host)
    # The host is forgotten, that is not.
    var other = _join(pool).value().host
    assert_true(other != host)
    assert_equal(_number(_join(pool)), -1)
    # Until it chooses another one.
    var lent = pool.lend(other, _Wire(7), has_dialed=False)
    assert_equal(_join(pool).value().lent, lent)


def test_as_many_join_as_there_are_seats() raises:
    var pool = _pool(per_host=3)
    var host = _join(pool).value().host
    var lent = pool.lend(host, _Wire(7), has_dialed=True)
    for _ in range(4):
        assert_equal(_number(_join(pool)), 7)
    # Five have it, and it turns out that there are two seats.
    for _ in range(3):
        pool.give_back(host, lent, 0, seat_count=2)
    assert_equal(_number(_join(pool)), -1)
    # One more will find room there, and the next opens one.
    assert_equal(_number(_join(pool)), -2)
    var first = pool.wait(_to(), 1, joins=True)
    var second = pool.wait(_to(), 2, joins=True)
    assert_equal(pool.woken, [2])
    assert_equal(_number(pool.collect(second)), -1)
    # All seats are taken, or will be: a third one waits for its turn.
    var third = pool.wait(_to(), 3, joins=True)
    var fourth = pool.wait(_to(), 4, joins=True)
    pool.give_back(host, lent, 0, seat_count=2)
    assert_equal(pool.woken, [2, 1])
    assert_equal(_number(pool.collect(first)), 7)
    pool.give_back(host, lent, 0, seat_count=2)
    assert_equal(_number(pool.collect(third)), 7)
    assert_equal(_number(pool.collect(fourth)), -2)
    _check(pool, 0, 3, 1)


def test_nobody_joins_what_closes() raises:
    var pool = _pool()
    var host = _join(pool).value().host
    var lent = pool.lend(host, _Wire(7), has_dialed=True)
    _ = _join(pool)
    pool.give_back(host, lent, 0, is_closing=True)
    assert_equal(_number(_join(pool)), -1)
    assert_equal(len(pool.dropped), 0)
    _check(pool, 0, 2, 0)
    pool.give_back(host, lent, 0)
    assert_equal(len(pool.dropped), 1)
    _check(pool, 0, 1, 0)


def test_who_waits_for_one_alone_is_not_overtaken() raises:
    var pool = _pool(per_host=1)
    var host = _join(pool).value().host
    var lent = pool.lend(host, _Wire(7), has_dialed=True)
    var alone = pool.wait(_to(), 1)
    assert_equal(_number(_join(pool)), -2)
    var behind = pool.wait(_to(), 2, joins=True)
    pool.give_back(host, lent, 0)
    assert_equal(pool.woken, [1])
    assert_equal(_number(pool.collect(alone)), 7)
    pool.put(host, _Wire(7), 0)
    assert_true(pool.collect(behind).value().lent >= 0)


def test_who_leaves_the_queue_lets_others_join() raises:
    var pool = _pool(per_host=1)
    var host = _join(pool).value().host
    _ = pool.lend(host, _Wire(7), has_dialed=True)
    var alone = pool.wait(_to(), 1)
    var behind = pool.wait(_to(), 2, joins=True)
    pool.leave(alone, is_late=True)
    assert_equal(_number(pool.collect(behind)), 7)


def test_who_can_wait_no_longer_opens_one() raises:
    var pool = _pool(per_host=2)
    _ = _join(pool)
    var second = pool.wait(_to(), 2, joins=True)
    var third = pool.wait(_to(), 3, joins=True)
    pool.hurry(third)
    assert_equal(_number(pool.collect(third)), -1)
    pool.hurry(second)
    assert_equal(_number(pool.collect(second)), -2)


def test_the_bound_of_those_who_wait_is_not_for_a_dial() raises:
    var pool = _pool(max_waiting=1)
    _ = _join(pool)
    assert_equal(_number(_join(pool)), -2)
    _ = pool.wait(_to(), 2, joins=True)
    assert_equal(_number(_join(pool)), -1)


def test_a_new_one_may_be_in_use() raises:
    """Who was let down by an idle connection joins what others have opened."""
    var pool = _pool()
    var host = _join(pool).value().host
    var lent = pool.lend(host, _Wire(7), has_dialed=True)
    assert_equal(_number(_join(pool, wants_new=True)), 7)
    for _ in range(2):
        pool.give_back(host, lent, 0)
    assert_equal(_number(_join(pool, wants_new=True)), -1)


def test_what_another_process_has_is_forgotten() raises:
    """Behind a fork neither its connections nor its dials are of use."""
    var pool = _pool()
    var host = _join(pool).value().host
    var lent = pool.lend(host, _Wire(7), has_dialed=True)
    pool.give_back(host, lent, 0, seat_count=1)
    _ = _join(pool)
    _ = _join(pool)
    _ = pool.wait(_to(), 2, joins=True)
    var all = pool.abandon()
    assert_equal(len(all), 1)
    assert_equal(len(pool.dropped), 0)
    assert_equal(pool.figures().waiting, 0)
    # They are not this process's, and take no place of its own.
    assert_equal(pool.figures().busy, 0)
    assert_equal(_number(_join(pool)), -1)


def test_idle_connections_stay_with_one_process() raises:
    """Two that send on one read each other's responses (RFC 9112 section
    9.3)."""
    var pool = _pool()
    var host = pool.take(_to(), 0).value().host
    pool.put(host, _Wire(100), 0)
    _check(pool, 1, 0, 0)
    var all = pool.abandon()
    assert_equal(len(all), 1)
    assert_equal(len(pool.dropped), 0)
    _check(pool, 0, 0, 0)
    assert_equal(_number(pool.take(_to(), 0)), -1)


def test_what_was_given_stays_there_too() raises:
    """Nobody is there to collect it."""
    var pool = _pool(per_host=1)
    var host = pool.take(_to(), 0).value().host
    _ = pool.wait(_to(), 1)
    pool.put(host, _Wire(100), 0)
    assert_equal(len(pool.abandon()), 1)
    _check(pool, 0, 0, 0)


def test_a_connection_of_before_a_fork_does_not_come_back() raises:
    """The thread that forks has it in both processes, and it is the parent's:
    neither its place nor the connection is this one's."""
    for has_other in [False, True]:
        var pool = _pool()
        var host = pool.take(_to(), 0).value().host
        if has_other:
            var other = pool.take(_to(), 0).value().host
            pool.put(other, _Wire(100), 0)
        _ = pool.abandon()
        pool.put(host, _Wire(101), 0)
        assert_equal(len(pool.dropped), 1)
        _check(pool, 0, 0, 0)
        # Nor does what it opens for others.
        var lent = pool.lend(host, _Wire(7), has_dialed=True)
        assert_equal(_number(_join(pool)), -1)
        pool.give_back(host, lent, 0)
        _check(pool, 0, 1, 0)


def test_threads_of_before_a_fork_wait_for_nothing() raises:
    """Nobody is there to collect what they are given."""
    var pool = _pool(per_host=1)
    _ = pool.take(_to(), 0)
    _ = pool.wait(_to(), 1)
    _ = pool.wait(_to(), 2, joins=True)
    _ = pool.abandon()
    _check(pool, 0, 0, 0)
    assert_equal(len(pool.woken), 0)
    # So the one place is free.
    assert_equal(_number(pool.take(_to(), 0)), -1)
    _check(pool, 0, 1, 0)
