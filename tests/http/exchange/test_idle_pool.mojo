"""Idle connections, without any connection."""

from flare.bytes.checked import *
from flare.http.exchange.idle_pool import (
    IdleConnections,
    IdlePool,
    PoolLimits,
    keep_alive_ms,
)
from flare.http.message.header_map import HeaderMap
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _Pool = IdlePool[String, Int]


def _pool(max_idle: Int = 3, per_host: Int = 2) -> _Pool:
    return _Pool(PoolLimits(max_idle, per_host, 1_000))


def _take(mut pool: _Pool, key: String, now_ms: Int = 0) -> Int:
    var found = pool.take(key, now_ms)
    return found.take() if found else -1


def test_the_last_to_come_is_the_first_to_go() raises:
    var pool = _pool()
    pool.put("a", 1, 0)
    pool.put("a", 2, 1)
    assert_equal(_take(pool, "a", 2), 2)
    assert_equal(_take(pool, "a", 2), 1)
    assert_equal(_take(pool, "a", 2), -1)


def test_a_host_keeps_so_many() raises:
    var pool = _pool()
    for number in range(4):
        pool.put("a", number, number)
    assert_equal(len(pool), 2)
    assert_equal(_take(pool, "a", 4), 3)
    assert_equal(_take(pool, "a", 4), 2)


def test_all_together_keep_so_many() raises:
    var pool = _pool()
    for number in range(5):
        pool.put(String("h", number), number, number)
    assert_equal(len(pool), 3)
    assert_equal(_take(pool, "h1", 5), -1)
    assert_equal(_take(pool, "h2", 5), 2)
    assert_equal(_take(pool, "h4", 5), 4)


def test_waiting_ends() raises:
    var pool = _pool()
    pool.put("a", 1, 0)
    pool.put("a", 2, 500)
    assert_equal(_take(pool, "a", 1_499), 2)
    pool.put("a", 3, 1_499)
    pool.expire(2_498)
    assert_equal(len(pool), 1)
    pool.expire(2_499)
    assert_equal(len(pool), 0)


def test_servers_say_how_long_they_wait() raises:
    """RFC 2068 section 19.7.1.1."""
    var pool = _pool(5, 5)
    pool.put("a", 1, 0, 2_000)
    pool.put("a", 2, 0, 100)
    pool.put("a", 3, 0, 0)
    assert_equal(len(pool), 2)
    pool.expire(99)
    assert_equal(len(pool), 2)
    # The one that came last ends first.
    pool.expire(100)
    assert_equal(_take(pool, "a", 100), 1)
    # Nobody waits longer than the client wants to.
    pool.put("a", 1, 0, 2_000)
    pool.expire(1_000)
    assert_equal(len(pool), 0)
    pool = _Pool(PoolLimits(5, 5, -1))
    pool.put("a", 1, 0)
    pool.put("a", 2, 0, 50)
    pool.expire(1 << 40)
    assert_equal(_take(pool, "a", 1 << 40), 1)


def test_none_may_wait() raises:
    var pool = _pool(0, 2)
    pool.put("a", 1, 0)
    assert_equal(len(pool), 0)
    pool = _pool(2, 0)
    pool.put("a", 1, 0)
    assert_equal(len(pool), 0)
    pool = _pool()
    pool.put("a", 1, 0)
    pool.clear()
    assert_equal(len(pool), 0)


@fieldwise_init
struct _KeepAlive(Copyable, Movable):
    var value: StaticString
    var timeout_ms: Int


def test_keep_alive() raises:
    var rows: List[_KeepAlive] = [
        _KeepAlive("timeout=5, max=100", 4_000),
        _KeepAlive("max=100,Timeout=75", 74_000),
        _KeepAlive("timeout=2", 1_000),
        _KeepAlive("timeout=1", 500),
        _KeepAlive("timeout=0", 0),
        _KeepAlive("TIMEOUT=60", 59_000),
        _KeepAlive("timeout=3, timeout=9", 2_000),
        _KeepAlive("timeout=x, timeout=9", 8_000),
        _KeepAlive("timeout=99999999999999999999", 999_999_998_000),
        _KeepAlive("timeout=", -1),
        _KeepAlive("timeout=-1", -1),
        _KeepAlive("timeout=5x", -1),
        _KeepAlive("timeout= 5", -1),
        _KeepAlive("timeout", -1),
        _KeepAlive("xtimeout=5", -1),
        _KeepAlive("max=5", -1),
        _KeepAlive("", -1),
    ]
    for row in rows:
        var headers = HeaderMap()
        headers.set("Connection", "keep-alive")
        assert_equal(keep_alive_ms(headers.lines_fields()), -1)
        headers.set("Keep-Alive", row.value)
        assert_equal(
            keep_alive_ms(headers.lines_fields()), row.timeout_ms, row.value
        )
    var headers = HeaderMap()
    headers.append("Keep-Alive", "max=5")
    headers.append("Keep-Alive", "timeout=5")
    assert_equal(keep_alive_ms(headers.lines_fields()), 4_000)


def test_how_long_one_may_wait() raises:
    for row in [
        (1_000, -1, 1_000),
        (1_000, 0, 0),
        (1_000, 10, 10),
        (1_000, 5_000, 1_000),
        (0, -1, 0),
        (0, 500, 0),
        (-1, 500, 500),
        (-1, 0, 0),
    ]:
        var waits_ms = PoolLimits(1, 1, row[0]).wait_ms(row[1])
        assert_equal(waits_ms, row[2], String(row[0], " ", row[1]))
    assert_true(PoolLimits(1, 1, -1).wait_ms(-1) > 1 << 50)


@fieldwise_init
struct _Row(Copyable, Movable):
    """Steps, with a blank between them: `+a1` keeps connection 1 to a, `+a1:50`
    one that its server keeps for 50 ms, `-a1` takes it and `-a` finds none,
    `@900` is the time, `=2` how many there are, `?a` whether there is one and
    `!a` that there is none, `x` drops all."""

    var rule: StaticString
    var max_idle: Int
    var per_host: Int
    var idle_ms: Int
    var steps: StaticString


def _run(row: _Row) raises -> Int:
    """Does the steps; gives how many there were."""
    var pool = _Pool(PoolLimits(row.max_idle, row.per_host, row.idle_ms))
    var now_ms = 0
    var steps = String(row.steps).split(" ")
    for index in range(len(steps)):
        var step = String(steps.at(index))
        var place = String(row.rule, ": step ", index, ", ", step)
        var kind = step.as_bytes().at(0)
        var rest = step.as_bytes()[1:]
        if kind == UInt8(ord("@")):
            now_ms = Int(String(from_utf8=rest))
        elif kind == UInt8(ord("=")):
            assert_equal(len(pool), Int(String(from_utf8=rest)), place)
        elif kind == UInt8(ord("x")):
            pool.clear()
        else:
            var key = String(from_utf8=rest[0:1])
            var parts = String(from_utf8=rest[1:]).split(":")
            if kind == UInt8(ord("+")):
                var server_ms = (
                    Int(String(parts.at(1))) if len(parts) > 1 else -1
                )
                pool.put(key, Int(String(parts.at(0))), now_ms, server_ms)
            elif kind == UInt8(ord("-")):
                var wanted = -1
                if len(rest) > 1:
                    wanted = Int(String(parts.at(0)))
                assert_equal(_take(pool, key, now_ms), wanted, place)
            else:
                var has = kind == UInt8(ord("?"))
                assert_equal(pool.has(key), has, place)
    return len(steps)


def _rows() -> List[_Row]:
    return [
        _Row("nothing", 9, 9, 1_000, "=0 !a -a =0 x =0"),
        _Row("one", 9, 9, 1_000, "+a1 =1 ?a -a1 =0 !a -a"),
        _Row("the last first", 9, 9, 1_000, "+a1 +a2 +a3 -a3 -a2 -a1 -a"),
        _Row("and again", 9, 9, 1_000, "+a1 +a2 -a2 +a3 -a3 -a1 -a"),
        _Row("each its own", 9, 9, 1_000, "+a1 +b2 -a1 -a -b2 -b"),
        _Row("in any order", 9, 9, 1_000, "+a1 +b2 +a3 +c4 -b2 -a3 -c4 -a1 =0"),
        _Row("nobody else's", 9, 9, 1_000, "+a1 -b ?a !b -a1"),
        _Row("the same again", 9, 9, 1_000, "+a1 -a1 +a1 -a1 -a"),
        _Row("dropped", 9, 9, 1_000, "+a1 +b2 x =0 !a !b -a -b +a3 -a3"),
        _Row("one an origin", 9, 1, 1_000, "+a1 +a2 =1 -a2 -a"),
        _Row("two an origin", 9, 2, 1_000, "+a1 +a2 +a3 =2 -a3 -a2 -a"),
        _Row("others have room", 9, 1, 1_000, "+a1 +b2 +a3 =2 -b2 -a3 -a"),
        _Row("one in all", 1, 9, 1_000, "+a1 @1 +b2 =1 -a -b2"),
        _Row("two in all", 2, 9, 1_000, "+a1 @1 +b2 @2 +c3 =2 -a -b2 -c3"),
        _Row(
            "the one that ends first goes",
            2,
            9,
            1_000,
            "+a1 @1 +b2 @2 +a3 =2 -a3 -a -b2",
        ),
        _Row(
            "of an origin the first one that came",
            3,
            9,
            1_000,
            "+a1 @1 +a2 +b3 @2 +c4 =3 -a2 -a -b3 -c4",
        ),
        _Row(
            "what its server ends goes before",
            2,
            9,
            1_000,
            "+a1 @1 +b2:500 @2 +c3 =2 -b -a1 -c3",
        ),
        _Row(
            "an origin's bound comes first",
            2,
            1,
            1_000,
            "+a1 @1 +b2 @2 +b3 =2 -a1 -b3",
        ),
        _Row("none in all", 0, 9, 1_000, "+a1 =0 -a !a"),
        _Row("none an origin", 9, 0, 1_000, "+a1 =0 -a !a"),
        _Row("no time to wait", 9, 9, 0, "+a1 =0 -a +a2:500 =0"),
        _Row("as long as it may", 9, 9, 1_000, "+a1 @999 -a1"),
        _Row("and no longer", 9, 9, 1_000, "+a1 @1000 -a =0"),
        _Row(
            "counted until it is looked at",
            9,
            9,
            1_000,
            "+a1 @5000 =1 ?a -a =0",
        ),
        _Row("by the next to come", 9, 9, 1_000, "+a1 @1000 +b2 =1 !a -b2"),
        _Row("each its own time", 9, 9, 1_000, "+a1 @500 +a2 @1000 -a2 -a"),
        _Row(
            "the younger one stays",
            9,
            9,
            1_000,
            "+a1 @500 +a2 @1200 =2 -b =1 -a2 @1500 -a",
        ),
        _Row(
            "who came back begins anew",
            9,
            9,
            1_000,
            "+a1 @900 -a1 +a1 @1899 -a1",
        ),
        _Row("and ends", 9, 9, 1_000, "+a1 @900 -a1 +a1 @1900 -a"),
        _Row(
            "its server says less", 9, 9, 1_000, "+a1:10 @9 -a1 +a1:10 @19 -a"
        ),
        _Row("or more", 9, 9, 1_000, "+a1:9000 @999 -a1 +a1:9000 @1999 -a"),
        _Row("or not at all", 9, 9, 1_000, "+a1:0 =0 -a"),
        _Row(
            "the last one ends first",
            9,
            9,
            1_000,
            "+a1 +a2:10 @9 =2 @10 -a1 -a",
        ),
        _Row("in the midst", 9, 9, 1_000, "+a1 +a2:10 +a3 @10 -a3 -a1 -a"),
        _Row(
            "of each origin",
            9,
            9,
            1_000,
            "+a1:10 +b2 +c3:10 @10 -a -c -b2 =0",
        ),
        _Row("for ever", 9, 9, -1, "+a1 @999999999999 -a1"),
        _Row("but for its server", 9, 9, -1, "+a1:10 +a2 @10 -a2 -a"),
        _Row(
            "an origin that was empty",
            2,
            2,
            1_000,
            "+a1 +b2 -a1 @1 +a3 @2 +c4 =2 -b -a3 -c4",
        ),
    ]


def test_step_by_step() raises:
    var count = 0
    for row in _rows():
        count += _run(row)
    assert_true(count >= 200)


@fieldwise_init
struct _Held(Copyable, Movable):
    var key: Int
    var connection: Int
    var end_ms: Int


struct _Model:
    """All that waits in one list, in the order of arrival, which is looked
    through for everything."""

    var held: List[_Held]
    var max_idle: Int
    var per_host: Int

    def __init__(out self, max_idle: Int, per_host: Int):
        self.held = []
        self.max_idle = max_idle
        self.per_host = per_host

    def expire(mut self, now_ms: Int):
        var kept = List[_Held]()
        for held in self.held:
            if now_ms < held.end_ms:
                kept.append(held.copy())
        self.held = kept^

    def first_of(self, key: Int) -> Int:
        for index in range(len(self.held)):
            if self.held.at(index).key == key:
                return index
        return -1

    def take(mut self, key: Int, now_ms: Int) -> Int:
        self.expire(now_ms)
        for index in range(len(self.held) - 1, -1, -1):
            if self.held.at(index).key == key:
                return self.held.pop(index).connection
        return -1

    def put(mut self, key: Int, connection: Int, end_ms: Int, now_ms: Int):
        self.expire(now_ms)
        if end_ms <= now_ms or self.max_idle < 1 or self.per_host < 1:
            return
        self.held.append(_Held(key, connection, end_ms))
        var count = 0
        for held in self.held:
            count += Int(held.key == key)
        if count > self.per_host:
            _ = self.held.pop(self.first_of(key))
        elif len(self.held) > self.max_idle:
            # Of the first of each origin, the one that ends first.
            var found = 0
            for index in range(len(self.held)):
                if self.first_of(self.held[index].key) == index and (
                    self.held[index].end_ms < self.held[found].end_ms
                ):
                    found = index
            _ = self.held.pop(found)


def test_walks_beside_a_model() raises:
    var random = UInt64(5)
    for walk in range(120):
        var max_idle = walk % 7
        var per_host = walk % 4 + Int(walk % 5 > 0)
        var pool = IdlePool[Int, Int](PoolLimits(max_idle, per_host, 1_000))
        var model = _Model(max_idle, per_host)
        # In steps of 7, so that no two end at once.
        var now_ms = 0
        for number in range(200):
            random = random * 6_364_136_223_846_793_005 + 1_442_695_040_888_963
            var drawn = Int(random >> 33)
            now_ms += 7 * (drawn % 30)
            var key = (drawn >> 5) % 4
            if (drawn >> 8) % 5 < 2:
                var found = pool.take(key, now_ms)
                var taken = found.take() if found else -1
                assert_equal(taken, model.take(key, now_ms))
            elif (drawn >> 8) % 5 < 4:
                now_ms += 7
                var server_ms = 7 * ((drawn >> 12) % 200) + number % 7
                if (drawn >> 11) & 1:
                    server_ms = -1
                pool.put(key, number, now_ms, server_ms)
                var wait_ms = 1_000
                if server_ms >= 0:
                    wait_ms = min(wait_ms, server_ms)
                model.put(key, number, now_ms + wait_ms, now_ms)
            else:
                pool.expire(now_ms)
                model.expire(now_ms)
            assert_equal(len(pool), len(model.held))
            for each in range(4):
                assert_equal(pool.has(each), model.first_of(each) >= 0)
        pool.clear()
        assert_equal(len(pool), 0)


@fieldwise_init
struct _Open(Movable):
    """A connection that tells when it is closed."""

    var number: Int
    var closed: ArcPointer[List[Int]]

    def __deinit__(deinit self):
        self.closed[].append(self.number)


def test_what_is_dropped_is_closed() raises:
    var closed = ArcPointer(List[Int]())
    var pool = IdlePool[String, _Open](PoolLimits(3, 2, 1_000))
    for number in range(3):
        pool.put("a", _Open(number, closed), number)
    assert_equal(closed[], [0])
    pool.put("b", _Open(3, closed), 3)
    pool.put("c", _Open(4, closed), 4)
    assert_equal(closed[], [0, 1])
    pool.put("d", _Open(5, closed), 5, 0)
    assert_equal(closed[], [0, 1, 5])
    pool.expire(1_002)
    assert_equal(closed[], [0, 1, 5, 2])
    pool.clear()
    assert_equal(closed[], [0, 1, 5, 2, 3, 4])


def _three() -> IdleConnections[Int]:
    """Of which the second one ends first."""
    var idle = IdleConnections[Int]()
    idle.put(1, 300)
    idle.put(2, 100)
    idle.put(3, 200)
    return idle^


def test_what_the_caller_closes() raises:
    """All that leaves connections to one origin, but for those that are taken,
    comes into the list that the caller gives."""
    for row in [
        (0, 0),
        (99, 0),
        (100, 1),
        (199, 1),
        (200, 2),
        (299, 2),
        (300, 3),
        (Int.MAX, 3),
    ]:
        var idle = _three()
        var ended = List[Int]()
        idle.expire(row[0], ended)
        var wanted: List[Int] = [2]
        if row[1] != 1:
            wanted = [3, 2, 1]
            wanted.shrink(row[1])
        assert_equal(ended, wanted, String(row[0]))
        assert_equal(len(idle), 3 - row[1])
        # Nothing ends twice.
        idle.expire(row[0], ended)
        assert_equal(ended, wanted)
    var idle = _three()
    var ended = List[Int]()
    assert_equal(idle.oldest_end_ms(), 300)
    idle.drop_oldest(ended)
    assert_equal(ended, [1])
    assert_equal(idle.oldest_end_ms(), 100)
    assert_equal(idle.take().value(), 3)
    idle.drop_oldest(ended)
    idle.drop_oldest(ended)
    assert_equal(ended, [1, 2])
    assert_equal(idle.oldest_end_ms(), Int.MAX)
    assert_false(Bool(idle.take()))
    idle = _three()
    ended = []
    idle.clear(ended)
    assert_equal(ended, [1, 2, 3])
    assert_equal(len(idle), 0)


def _is_odd(number: Int) -> Bool:
    return number % 2 == 1


def test_those_that_are_closed_already_are_forgotten() raises:
    var idle = IdleConnections[Int]()
    idle.forget[_is_odd]()
    for number in range(8):
        idle.put(number, 100 + number)
    idle.forget[_is_odd]()
    assert_equal(len(idle), 4)
    # The others stay in their order, and end in time.
    assert_equal(idle.take().value(), 6)
    assert_equal(idle.oldest_end_ms(), 100)
    var ended = List[Int]()
    idle.expire(102, ended)
    assert_equal(ended, [2, 0])
    assert_equal(idle.take().value(), 4)
