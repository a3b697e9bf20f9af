"""Rate limits: the buckets by a clock of ours, and the middleware."""

from flare.http.client.message.request import ClientRequest
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.rate_limit import RateLimit, TokenBuckets
from flare.http.middleware.rate_store import (
    BucketVerdict,
    RateFallback,
    RateStore,
    SharedRate,
)
from flare.http.middleware.trusted_proxies import ForwardedField, TrustedProxies
from flare.http.handler.state import State
from flare.http.handler.handler import FnHandler, Handler, RequestPolicy
from flare.net.ip import IpNetwork
from flare.net.socket_addr import SocketAddr
from flare.sys.poll import pause
from flare.testing.test_client import TestClient
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)

comptime MS = 1_000_000


def _hello(req: Request) raises -> Response:
    return ok("hello")


@fieldwise_init
struct _Step(Copyable, Movable):
    var at_ms: Int
    var is_allowed: Bool
    var remaining: Int
    var wait_ms: Int


def test_burst_then_rate() raises:
    # 10 a second, 3 at once.
    var buckets = TokenBuckets(10, 3)
    var steps: List[_Step] = [
        _Step(1_000, True, 2, 0),
        _Step(1_000, True, 1, 0),
        _Step(1_000, True, 0, 0),
        _Step(1_000, False, 0, 100),
        _Step(1_050, False, 0, 50),
        _Step(1_100, True, 0, 0),
        _Step(1_150, False, 0, 50),
        _Step(1_300, True, 1, 0),
        _Step(9_000, True, 2, 0),
    ]
    for step in steps:
        var verdict = buckets.take("a", step.at_ms * MS)
        assert_equal(verdict.is_allowed, step.is_allowed, String(step.at_ms))
        assert_equal(verdict.remaining, step.remaining, String(step.at_ms))
        assert_equal(verdict.wait_ns, step.wait_ms * MS, String(step.at_ms))


def test_a_refused_request_costs_nothing() raises:
    var buckets = TokenBuckets(1, 1)
    assert_true(buckets.take("a", 0).is_allowed)
    for at_ms in range(0, 1_000, 10):
        assert_true(not buckets.take("a", at_ms * MS).is_allowed)
    assert_true(buckets.take("a", 1_000 * MS).is_allowed)


def test_keys_are_apart() raises:
    var buckets = TokenBuckets(1, 1)
    assert_true(buckets.take("a", 0).is_allowed)
    assert_true(buckets.take("b", 0).is_allowed)
    assert_true(not buckets.take("a", 0).is_allowed)


def test_memory_is_bounded() raises:
    var buckets = TokenBuckets(1, 5, key_count_max=100)
    for number in range(10_000):
        _ = buckets.take(String(number), number * MS)
        assert_true(len(buckets) <= 101, String(len(buckets)))


def test_a_bucket_in_use_outlives_turns() raises:
    # 'a' is refused again and again while others come and go.
    var buckets = TokenBuckets(0.001, 1, key_count_max=1_000_000)
    assert_true(buckets.take("a", 0).is_allowed)
    for second in range(999):
        assert_true(
            not buckets.take("a", second * 1_000 * MS).is_allowed,
            String(second),
        )


def test_long_run_is_the_rate() raises:
    var buckets = TokenBuckets(50, 10)
    var count = 0
    for at_ms in range(20_000):
        if buckets.take("a", at_ms * MS).is_allowed:
            count += 1
    assert_true(count >= 1_000 and count <= 1_011, String(count))


@fieldwise_init
struct _Extreme(Copyable, Movable):
    var rate: Float64
    var burst: Int


def test_ends_of_the_ranges() raises:
    var rows: List[_Extreme] = [
        _Extreme(0.000_001_001, 1),
        _Extreme(0.000_001_001, 9_300),
        _Extreme(0.000_001_001, 1_000_000),
        _Extreme(0.000_1, 1_000_000),
        _Extreme(0.01, 1_000_000),
        _Extreme(1, 1_000_000),
        _Extreme(1_000_000, 1),
        _Extreme(1_000_000, 1_000_000),
    ]
    # The clock may have run for a hundred years.
    for now_ns in [0, 1_000_000_000, 3_153_600_000 * 1_000_000_000]:
        for row in rows:
            var label = String(row.rate, " ", row.burst, " ", now_ns)
            var buckets = TokenBuckets(row.rate, row.burst)
            for number in range(min(row.burst, 10_000)):
                var verdict = buckets.take("a", now_ns)
                assert_true(verdict.is_allowed, label)
                assert_equal(verdict.remaining, row.burst - number - 1, label)
            if row.burst > 10_000:
                continue
            var interval_ns = 1_000_000_000 / row.rate
            var refused = buckets.take("a", now_ns)
            assert_true(not refused.is_allowed, label)
            var wait = Float64(refused.wait_ns) / interval_ns
            assert_true(wait > 0.999 and wait < 1.001, label)
            var later = now_ns + refused.wait_ns
            assert_true(buckets.take("a", later).is_allowed, label)
            assert_true(not buckets.take("a", later).is_allowed, label)


def test_ranges() raises:
    with assert_raises(contains="'rate' is 0"):
        _ = TokenBuckets(0, 1)
    # What the message allows is taken.
    _ = TokenBuckets(0.000_001, 1_000_000, Int.MAX)
    _ = TokenBuckets(1_000_000, 1, 2)
    var zero = Float64(0)
    for rate in [0.000_000_9, 1_000_001.0, -1.0, zero / zero, 1.0 / zero]:
        with assert_raises(contains="allowed is 0.000001 to 1e6"):
            _ = TokenBuckets(rate, 1)
    with assert_raises(contains="burst is 0; allowed are 1 to 1000000"):
        _ = TokenBuckets(1, 0)
    with assert_raises(contains="'key_count_max' is 1"):
        _ = TokenBuckets(1, 1, 1)


def _by_user(req: Request) -> String:
    return req.query_param("user")


def test_middleware_by_address() raises:
    var client = TestClient(RateLimit(FnHandler(_hello), rate=0.01, burst=2))
    assert_equal(client.get("/").status.code, 200)
    assert_equal(client.get("/").status.code, 200)
    var refused = client.get("/")
    assert_equal(refused.status.code, 429)
    assert_equal(refused.headers["retry-after"], "100")
    client.peer = SocketAddr.parse("127.0.0.2:1")
    assert_equal(client.get("/").status.code, 200)
    # One IPv6 client has 64 bits to itself.
    client.peer = SocketAddr.parse("[2001:db8::1]:1")
    assert_equal(client.get("/").status.code, 200)
    client.peer = SocketAddr.parse("[2001:db8::ffff:2]:9")
    assert_equal(client.get("/").status.code, 200)
    client.peer = SocketAddr.parse("[2001:db8::3:4]:9")
    assert_equal(client.get("/").status.code, 429)
    client.peer = SocketAddr.parse("[2001:db8:0:1::1]:9")
    assert_equal(client.get("/").status.code, 200)


@fieldwise_init
struct _Later(Handler):
    """Says that it answers later."""

    def serve(self, req: Request) raises -> Response:
        return ok("hello")

    def policy_for(self, req: Request) -> RequestPolicy:
        return RequestPolicy(streams=True, defers=True)


def test_what_answers_later_is_never_called_otherwise() raises:
    # A token may have come by the time that the handler is called: it must be
    # called as one that answers later then, too.
    var limit = RateLimit(_Later(), rate=0.001, burst=1)
    var request = OwnedRequest("POST", "/")
    assert_true(limit.policy_for(request.view()).needs_content)
    assert_equal(limit.serve(request.view()).status.code, 200)
    var policy = limit.policy_for(request.view())
    assert_true(policy.defers)
    assert_true(policy.streams)
    assert_false(policy.needs_content)


def test_mapped_addresses_have_a_bucket_each() raises:
    # RFC 4291-2.5.5.2: they share 96 bits, whoever they are.
    var client = TestClient(RateLimit(FnHandler(_hello), rate=0.01, burst=1))
    client.peer = SocketAddr.parse("[::ffff:203.0.113.1]:1")
    assert_equal(client.get("/").status.code, 200)
    client.peer = SocketAddr.parse("[::ffff:203.0.113.2]:1")
    assert_equal(client.get("/").status.code, 200)
    # The same client, as a listener of version 4 alone names it.
    client.peer = SocketAddr.parse("203.0.113.2:7")
    assert_equal(client.get("/").status.code, 429)


def test_mapped_addresses_behind_a_proxy_have_a_bucket_each() raises:
    var client = TestClient(
        TrustedProxies(
            RateLimit(FnHandler(_hello), rate=0.01, burst=1),
            [IpNetwork.parse("127.0.0.0/8")],
            ForwardedField.X_FORWARDED_FOR,
        )
    )
    for row in [
        ("::ffff:203.0.113.1", 200),
        ("::ffff:203.0.113.2", 200),
        ("203.0.113.2", 429),
    ]:
        var request = ClientRequest("GET", "/")
        request.set_header("X-Forwarded-For", row[0])
        assert_equal(client.send(request^).status.code, row[1], row[0])


def test_middleware_by_a_key_of_ones_own() raises:
    var client = TestClient(
        RateLimit(FnHandler(_hello), rate=0.01, burst=1, key=_by_user)
    )
    assert_equal(client.get("/?user=a").status.code, 200)
    assert_equal(client.get("/?user=b").status.code, 200)
    assert_equal(client.get("/?user=a").status.code, 429)


struct _Shared(Movable):
    """What a store says, and how often it was asked."""

    var verdict: BucketVerdict
    var is_away: Bool
    # How long it takes to say so.
    var hangs_ms: Int
    var asked: Int
    var last: String

    def __init__(out self):
        self.verdict = BucketVerdict(True, 7, 0)
        self.is_away = False
        self.hangs_ms = 0
        self.asked = 0
        self.last = String()


@fieldwise_init
struct _Store(RateStore):
    var shared: State[_Shared]

    def take(
        self, key: String, interval_us: Int, burst: Int
    ) raises -> BucketVerdict:
        var shared = self.shared.lock()
        shared[].asked += 1
        shared[].last = String(key, " ", interval_us, " ", burst)
        if shared[].is_away:
            pause(shared[].hangs_ms)
            raise Error("no route to it")
        return shared[].verdict


def test_a_store_decides() raises:
    var shared = State(_Shared())
    var client = TestClient(
        RateLimit(FnHandler(_hello), rate=4, burst=1, store=_Store(shared))
    )
    for _ in range(5):
        assert_equal(client.get("/").status.code, 200)
    assert_equal(shared.lock()[].last, "127.0.0.1 250000 1")
    assert_equal(shared.lock()[].asked, 5)
    shared.lock()[].verdict = BucketVerdict(False, 0, 2_500_000_000)
    var refused = client.get("/")
    assert_equal(refused.status.code, 429)
    assert_equal(refused.headers["retry-after"], "3")


def test_long_keys_take_no_more_room() raises:
    # Keys may be what a client sends, and their number alone bounds no memory.
    var shared = State(_Shared())
    var client = TestClient(
        RateLimit(
            FnHandler(_hello),
            rate=4,
            burst=1,
            key=_by_user,
            store=_Store(shared),
        )
    )
    var seen = List[String]()
    for user in ["a" * 64, "a" * 65, "b" * 65, "a" * 4_000, "a" * 4_001]:
        assert_equal(client.get(String("/?user=", user)).status.code, 200)
        var key = String(shared.lock()[].last.split(" ")[0])
        assert_true(key.byte_length() <= 64, key)
        assert_false(key in seen, key)
        seen.append(key^)
    assert_equal(seen[0], "a" * 64)


def test_a_store_that_is_away() raises:
    var rows: List[Tuple[RateFallback, Int, Int]] = [
        (RateFallback.LOCAL, 200, 429),
        (RateFallback.ALLOW, 200, 200),
        (RateFallback.REFUSE, 503, 503),
    ]
    for row in rows:
        var shared = State(_Shared())
        shared.lock()[].is_away = True
        var client = TestClient(
            RateLimit(
                FnHandler(_hello),
                rate=0.01,
                burst=1,
                store=_Store(shared),
                fallback=row[0],
            )
        )
        assert_equal(client.get("/").status.code, row[1])
        assert_equal(client.get("/").status.code, row[2])
        # One request has found out for all.
        assert_equal(shared.lock()[].asked, 1)


def test_a_store_is_asked_again() raises:
    var shared = State(_Shared())
    shared.lock()[].is_away = True
    var rate = SharedRate(_Store(shared), 1, 1)
    assert_false(rate.take("a", 0))
    assert_false(rate.take("a", 999 * MS))
    assert_equal(shared.lock()[].asked, 1)
    assert_false(rate.take("a", 1_900 * MS))
    assert_equal(shared.lock()[].asked, 2)
    assert_equal(rate.failure_count(), 2)
    shared.lock()[].is_away = False
    assert_false(rate.take("a", 2_899 * MS))
    assert_equal(rate.take("a", 3_800 * MS).value().remaining, 7)
    assert_equal(rate.take("a", 3_801 * MS).value().remaining, 7)
    assert_equal(rate.failure_count(), 2)


def test_a_store_that_hangs_is_left_alone_for_a_second() raises:
    """`RateLimit`: not every request waits for a store that fails, also where
    that takes longer than it is left alone for."""
    var shared = State(_Shared())
    shared.lock()[].is_away = True
    shared.lock()[].hangs_ms = 100
    var rate = SharedRate(_Store(shared), 1, 1)
    assert_false(rate.take("a", 0))
    # It has failed at 100 ms at the earliest.
    assert_false(rate.take("a", 1_099 * MS))
    assert_equal(shared.lock()[].asked, 1)
    assert_false(rate.take("a", 60_000 * MS))
    assert_equal(shared.lock()[].asked, 2)
