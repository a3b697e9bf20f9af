"""Who gets which connection of a client that threads share, without threads and
connections."""

from flare.http.client.connect.connection import Endpoint
from flare.http.client.connect.shared_pool import ConnectionLimits, SharedPool
from flare.http.exchange.idle_pool import PoolLimits
from tests.support.assertions import assert_equal, assert_true

comptime _Pool = SharedPool[Int, Int]
comptime _NOTHING = -2
comptime _NEW = -1


def _pool(
    most: Int = 3, per_host: Int = 2, max_waiting: Int = 9, max_idle: Int = 9
) -> _Pool:
    return _Pool(
        ConnectionLimits(
            max_connections=most, max_per_host=per_host, max_waiting=max_waiting
        ),
        PoolLimits(max_idle, max_idle, 1_000),
    )


def _to(host: String) -> Endpoint:
    return Endpoint(host, 80)


@fieldwise_init
struct _Got(Copyable):
    """What was given: its host's number, and a connection, `_NEW` or
    `_NOTHING`."""

    var host: Int
    var connection: Int


def _take(
    mut pool: _Pool, host: String, now_ms: Int = 0, wants_new: Bool = False
) -> _Got:
    var grant = pool.take(_to(host), now_ms, wants_new=wants_new)
    if not grant:
        return _Got(0, _NOTHING)
    var number = grant.value().host
    return _Got(number, grant.take().take().or_else(_NEW))


def _collect(mut pool: _Pool, number: Int) -> _Got:
    var grant = pool.collect(number)
    if not grant:
        return _Got(0, _NOTHING)
    var host = grant.value().host
    return _Got(host, grant.take().take().or_else(_NEW))


def _check(pool: _Pool, idle: Int, busy: Int, waiting: Int) raises:
    var figures = pool.figures()
    assert_equal(figures.idle, idle, String(figures))
    assert_equal(figures.busy, busy, String(figures))
    assert_equal(figures.waiting, waiting, String(figures))


def test_connections_are_opened_up_to_the_bounds() raises:
    var pool = _pool()
    assert_equal(_take(pool, "a").connection, _NEW)
    assert_equal(_take(pool, "a").connection, _NEW)
    assert_equal(_take(pool, "a").connection, _NOTHING, "max_per_host")
    assert_equal(_take(pool, "b").connection, _NEW)
    assert_equal(_take(pool, "c").connection, _NOTHING, "max_connections")
    _check(pool, 0, 3, 0)


def test_a_connection_goes_back_and_out_again() raises:
    var pool = _pool()
    var got = _take(pool, "a")
    pool.put(got.host, 7, 0)
    _check(pool, 1, 0, 0)
    assert_equal(_take(pool, "b").connection, _NEW)
    assert_equal(_take(pool, "a").connection, 7)
    assert_equal(pool.figures().opened, 2)
    assert_equal(pool.figures().reused, 1)


def test_one_that_was_closed_makes_room() raises:
    var pool = _pool(per_host=1)
    var got = _take(pool, "a")
    assert_equal(_take(pool, "a").connection, _NOTHING)
    pool.release(got.host)
    _check(pool, 0, 0, 0)
    assert_equal(_take(pool, "a").connection, _NEW)


def test_who_waits_longest_is_served_first() raises:
    var pool = _pool(per_host=1)
    var got = _take(pool, "a")
    var first = pool.wait(_to("a"), 71)
    var second = pool.wait(_to("a"), 72)
    _check(pool, 0, 1, 2)
    assert_equal(_collect(pool, first).connection, _NOTHING)
    pool.put(got.host, 7, 0)
    assert_equal(pool.woken, [71])
    assert_equal(_collect(pool, second).connection, _NOTHING)
    assert_equal(_collect(pool, first).connection, 7)
    assert_equal(_collect(pool, first).connection, _NOTHING, "once")
    # The connection was not reusable: the next one opens its own.
    pool.release(got.host)
    assert_equal(pool.woken, [71, 72])
    assert_equal(_collect(pool, second).connection, _NEW)
    _check(pool, 0, 1, 0)
    assert_equal(pool.figures().waited, 2)


def test_nobody_overtakes_the_queue_of_a_host() raises:
    var pool = _pool(per_host=1)
    var got = _take(pool, "a")
    var waiting = pool.wait(_to("a"), 71)
    pool.put(got.host, 7, 0)
    # It is given away, though not collected yet.
    assert_equal(_take(pool, "a").connection, _NOTHING)
    assert_equal(_collect(pool, waiting).connection, 7)


def test_hosts_do_not_wait_for_each_other() raises:
    var pool = _pool(per_host=1)
    _ = _take(pool, "a")
    _ = pool.wait(_to("a"), 71)
    assert_equal(_take(pool, "b").connection, _NEW)


def test_what_came_between_asking_and_queueing_is_given() raises:
    var pool = _pool(per_host=1)
    var got = _take(pool, "a")
    assert_equal(_take(pool, "a").connection, _NOTHING)
    pool.put(got.host, 7, 0)
    var number = pool.wait(_to("a"), 71)
    assert_equal(pool.woken, [71])
    assert_equal(_collect(pool, number).connection, 7)


def test_idle_connections_make_room_for_other_hosts() raises:
    var pool = _pool(most=2)
    var a = _take(pool, "a")
    var b = _take(pool, "b")
    pool.put(b.host, 5, 0)
    pool.put(a.host, 7, 1)
    # The oldest goes.
    assert_equal(_take(pool, "c", 2).connection, _NEW)
    assert_equal(pool.dropped, [5])
    assert_equal(_take(pool, "a", 2).connection, 7)
    _check(pool, 0, 2, 0)


def test_who_waits_for_room_gets_that_of_another_host() raises:
    var pool = _pool(most=1)
    var a = _take(pool, "a")
    var number = pool.wait(_to("b"), 71)
    pool.put(a.host, 7, 0)
    assert_equal(pool.dropped, [7])
    assert_equal(_collect(pool, number).connection, _NEW)
    _check(pool, 0, 1, 0)


def test_a_new_connection_can_be_asked_for() raises:
    """A request whose idle connection was stale does not want another one."""
    var pool = _pool(per_host=1)
    var got = _take(pool, "a")
    pool.put(got.host, 7, 0)
    assert_equal(_take(pool, "a", wants_new=True).connection, _NEW)
    assert_equal(pool.dropped, [7])
    _check(pool, 0, 1, 0)
    var number = pool.wait(_to("a"), 71, wants_new=True)
    pool.put(got.host, 8, 0)
    assert_equal(_collect(pool, number).connection, _NEW)
    assert_equal(pool.dropped, [7, 8])


def test_whether_there_is_something_is_told_without_taking_it() raises:
    var pool = _pool(most=2, per_host=1)
    assert_true(pool.has_some(_to("a")))
    var got = _take(pool, "a")
    assert_true(not pool.has_some(_to("a")), "max_per_host")
    assert_true(pool.has_some(_to("b")))
    var other = _take(pool, "b")
    assert_true(not pool.has_some(_to("c")), "max_connections")
    pool.put(other.host, 7, 0, -1)
    # An idle one is for use, or makes room.
    assert_true(pool.has_some(_to("b")) and pool.has_some(_to("c")))
    _ = pool.wait(_to("a"), 1)
    pool.put(got.host, 8, 0, -1)
    assert_true(not pool.has_some(_to("a")), "it is another one's")
    _check(pool, 1, 1, 0)


def test_only_so_many_wait() raises:
    var pool = _pool(most=1, max_waiting=1)
    _ = _take(pool, "a")
    assert_true(pool.wait(_to("a"), 71) > 0)
    assert_equal(pool.wait(_to("a"), 72), -1)
    assert_equal(pool.figures().refused, 1)


def test_leaving_the_queue() raises:
    var pool = _pool(most=1)
    var got = _take(pool, "a")
    var first = pool.wait(_to("a"), 71)
    var second = pool.wait(_to("a"), 72)
    pool.leave(first, is_late=True)
    assert_equal(pool.figures().timed_out, 1)
    pool.put(got.host, 7, 0)
    assert_equal(pool.woken, [72])
    # What was given, but not taken, goes on to the next one.
    var third = pool.wait(_to("b"), 73)
    pool.leave(second, is_late=False)
    assert_equal(pool.woken, [72, 73])
    assert_equal(_collect(pool, third).connection, _NEW)
    assert_equal(pool.figures().timed_out, 1)
    _check(pool, 0, 1, 0)


def test_idle_connections_grow_old() raises:
    var pool = _pool()
    var got = _take(pool, "a")
    pool.put(got.host, 7, 0)
    assert_equal(_take(pool, "a", 999).connection, 7)
    assert_equal(pool.first_end_ms(), Int.MAX)
    pool.put(got.host, 7, 999)
    assert_true(pool.first_end_ms() <= 1_999)
    pool.expire(1_999)
    assert_equal(pool.dropped, [7])
    assert_equal(pool.first_end_ms(), Int.MAX)
    _check(pool, 0, 0, 0)
    # A server that says less is believed, one that says 0 is not used again.
    got = _take(pool, "a", 2_000)
    pool.put(got.host, 8, 2_000, server_ms=10)
    assert_equal(_take(pool, "a", 2_010).connection, _NEW)
    pool.put(_take(pool, "b", 2_010).host, 9, 2_010, server_ms=0)
    assert_equal(pool.dropped, [7, 8, 9])


def test_so_many_may_be_idle() raises:
    var pool = _pool(most=5, per_host=5, max_idle=1)
    var first = _take(pool, "a")
    var second = _take(pool, "a")
    pool.put(first.host, 7, 0)
    pool.put(second.host, 8, 1)
    assert_equal(pool.dropped, [7])
    _check(pool, 1, 0, 0)
    pool.clear()
    assert_equal(pool.dropped, [7, 8])
    _check(pool, 0, 0, 0)


def test_limits_that_cannot_work() raises:
    assert_equal(ConnectionLimits().problem(), "")
    assert_true("max_per_host" in ConnectionLimits(max_per_host=0).problem())
    assert_true(
        "max_connections" in ConnectionLimits(max_connections=0).problem()
    )
    assert_true(
        "queue_timeout_ms" in ConnectionLimits(queue_timeout_ms=-2).problem()
    )
    assert_true("max_waiting" in ConnectionLimits(max_waiting=-1).problem())
