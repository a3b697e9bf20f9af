"""Limits on how many requests come from one key, by token buckets."""

from flare.bytes.base64 import base64url_text
from flare.bytes.hash import sha256
from flare.bytes.ranges import range_problem
from flare.http.message.request import Request
from flare.http.message.response import Response, TEXT_PLAIN
from flare.http.middleware.rate_store import (
    BucketVerdict,
    RateFallback,
    RateStore,
    SharedRate,
)
from flare.http.handler.failure import refusal
from flare.http.handler.handler import Handler, RequestPolicy, refuses_by_head
from flare.http.routing.stack import Layer
from flare.http.handler.state import State
from flare.net.ip import IpNetwork
from flare.sys.clock import monotonic_ns
from flare.sys.random import KeyedHasher
from std.memory import ArcPointer

comptime RateKey = def[o: ImmOrigin](Request[o]) thin -> String
"""Tells whose request it is: `def key(req: Request) -> String`. A key of more
than 64 bytes is kept by its digest."""

# Who has one IPv6 address has the 64 bits after the prefix as well (RFC 6177).
comptime _V6_PREFIX_LEN = 64


def by_peer(req: Request) -> String:
    """Takes the address that a request came from as the key.

    Behind proxies, put a `TrustedProxies` around the limit. IPv6 addresses
    count by their first 64 bits, which one client has to itself; mapped ones
    are IPv4 addresses. Two keys stand for many clients: `0.0.0.0`, for all that
    comes over a Unix socket, whose only client is the proxy in front, and `::`,
    for those whom a trusted proxy does not name. So over a Unix socket without
    `TrustedProxies` all requests have one bucket.

    Args:
        req: The request.

    Returns:
        The address.
    """
    var ip = req.peer.ip.without_mapping()
    if ip.is_v4():
        return String(ip)
    return String(IpNetwork(ip, _V6_PREFIX_LEN).base)


struct RateLimit[H: Handler](Layer):
    """Answers 429 to a client that asks too often (RFC 6585 section 4).

    Each key has a bucket of `burst` tokens that gains `rate` tokens a second;
    a request takes one. The buckets are shared by the worker threads, under a
    lock; worker processes have their own each, unless a `RateStore` counts for
    all: `RateLimit(router^, rate=5, burst=10, store=RedisRates(pool))`.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = RateLimit[I]
    var handler: Self.H
    """What answers requests within the rate."""
    var key: RateKey
    """Tells whose request it is; by default `by_peer`."""
    var fallback: RateFallback
    """What holds while a store cannot be asked."""
    var _buckets: State[TokenBuckets]
    var _shared: Optional[ArcPointer[SharedRate]]

    def __init__(
        out self,
        var handler: Self.H,
        *,
        rate: Float64,
        burst: Int,
        key: RateKey = by_peer,
        key_count_max: Int = 65_536,
    ) raises:
        """Wraps a handler.

        Args:
            rate: Requests a second in the long run, 0.000001 to 1,000,000.
            burst: Most requests at once, 1 to 1,000,000.
            key_count_max: Most keys that are kept in memory, at least 2.

        Raises:
            Error: If a number is out of its range.
        """
        self.handler = handler^
        self.key = key
        self.fallback = RateFallback.LOCAL
        self._buckets = State(TokenBuckets(rate, burst, key_count_max))
        self._shared = None

    def __init__[
        S: RateStore
    ](
        out self,
        var handler: Self.H,
        *,
        rate: Float64,
        burst: Int,
        var store: S,
        key: RateKey = by_peer,
        key_count_max: Int = 65_536,
        fallback: RateFallback = RateFallback.LOCAL,
    ) raises:
        """Wraps a handler; a store counts for all processes.

        Parameters:
            S: The store's type.

        Args:
            store: Counts, such as `RedisRates`.
            key_count_max: Most keys that are kept in memory while the store
                cannot be asked, at least 2.
        """
        self = Self(
            handler^,
            rate=rate,
            burst=burst,
            key=key,
            key_count_max=key_count_max,
        )
        self.fallback = fallback
        self._shared = ArcPointer(SharedRate(store^, rate, burst))

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, if the client has a token; else the
        answer is 429 with Retry-After."""
        var verdict = self._take(_bounded(self.key(req)))
        if self._shared and verdict.remaining < 0:
            return refusal(503, "requests cannot be counted now\n")
        if verdict.is_allowed and not refuses_by_head(req, self.handler):
            return self.handler.serve(req)
        var response = Response(
            429, "too many requests\n", content_type=TEXT_PLAIN
        )
        var wait_s = (verdict.wait_ns + 999_999_999) // 1_000_000_000
        response.headers.set("Retry-After", String(max(wait_s, 1)))
        return response^

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives what the inner handler says, or that the head is enough: the
        content of a client without a token is not needed."""
        if self._shared:
            # A store is not asked twice, nor on the worker's own thread.
            return self.handler.policy_for(req)
        var key = _bounded(self.key(req))
        var has_token = self._buckets.lock()[].has_token(key, monotonic_ns())
        var policy = self.handler.policy_for(req)
        if has_token:
            return policy
        if policy.defers:
            # A token may have come by the time that it is called, and it can
            # answer in no other way.
            policy.needs_content = False
            return policy
        return RequestPolicy.by_head()

    def _take(self, key: String) -> BucketVerdict:
        if self._shared:
            var verdict = self._shared.value()[].take(key, monotonic_ns())
            if verdict:
                return verdict.value()
            if self.fallback == RateFallback.ALLOW:
                return BucketVerdict(True, 0, 0)
            if self.fallback == RateFallback.REFUSE:
                return BucketVerdict(False, _NOT_COUNTED, 0)
        return self._buckets.lock()[].take(key, monotonic_ns())


comptime _KEY_LEN_MAX = 64
# A key may be a field, of which a client may send thousands, of 8 KiB each.


def _bounded(var key: String) -> String:
    """Gives a key that takes no more room than that of an address."""
    if key.byte_length() <= _KEY_LEN_MAX:
        return key^
    var digest = sha256(key.as_bytes())
    return base64url_text(Span(digest))


comptime _NOT_COUNTED = -1
# In place of how many remain: nobody knows.
comptime _NS = 1_000_000_000
# As many steps again fit into a word for the time that it is now.
comptime _SPAN_MAX = 1 << 61


struct TokenBuckets(Movable, Sized):
    """Buckets that hold up to `burst` tokens, and gain `rate` each second.

    A bucket is one number: the moment when it will be full (the generic cell
    rate algorithm), so one that is full takes no memory. Keys are kept in two
    halves; when the newer is full, the older goes. Somebody who makes up keys
    can so make the buckets forget others, but not fill the memory, nor choose
    keys that collide.
    """

    # Times are kept in steps, see `_step_ns`.
    var _step_ns: Int
    var _interval: Int
    var _span: Int
    var _half_count_max: Int
    var _newer: Dict[String, Int, KeyedHasher]
    var _older: Dict[String, Int, KeyedHasher]
    var _turned: Int

    def __init__(
        out self, rate: Float64, burst: Int, key_count_max: Int = 65_536
    ) raises:
        """Makes buckets, all of them full, that gain `rate` tokens a second
        (0.000001 to 1,000,000) up to `burst` (1 to 1,000,000). At least 2
        keys are kept. Raises if a number is out of its range."""
        if not (rate >= 0.000_001 and rate <= 1_000_000):
            raise Error(
                "rate limit: 'rate' is ", rate, "; allowed is 0.000001 to 1e6"
            )
        var problem = range_problem("burst", burst, 1, 1_000_000)
        if problem.byte_length() > 0:
            raise Error("rate limit: ", problem)
        if key_count_max < 2:
            raise Error(
                "rate limit: 'key_count_max' is ",
                key_count_max,
                "; allowed is 2 or more",
            )
        var interval_ns = max(1, Int(Float64(_NS) / rate))
        self._step_ns = _step_for(interval_ns, burst)
        self._interval = interval_ns // self._step_ns
        self._span = self._interval * burst
        self._half_count_max = key_count_max // 2
        self._newer = {}
        self._older = {}
        self._turned = 0

    def __len__(self) -> Int:
        return len(self._newer) + len(self._older)

    def take(mut self, key: String, now_ns: Int) -> BucketVerdict:
        """Takes a token, if there is one; the clock never goes back."""
        var now = now_ns // self._step_ns
        self._turn(now)
        var after = self._full(key, now) + self._interval
        if after - now > self._span:
            var wait = after - now - self._span
            return BucketVerdict(False, 0, wait * self._step_ns)
        self._newer[key] = after
        var remaining = (self._span - (after - now)) // self._interval
        return BucketVerdict(True, remaining, 0)

    def has_token(self, key: String, now_ns: Int) -> Bool:
        """Tells whether `take` would find a token, and takes none."""
        var now = now_ns // self._step_ns
        return self._full(key, now) + self._interval - now <= self._span

    def _full(self, key: String, now: Int) -> Int:
        var known = self._newer.get(key)
        if not known:
            known = self._older.get(key)
        return max(now, known.value()) if known else now

    def _turn(mut self, now: Int):
        """Drops the older half when all its buckets are full again, or when the
        newer one has no more room."""
        var is_old = now - self._turned > self._span
        if is_old or len(self._newer) >= self._half_count_max:
            self._older = Dict[String, Int, KeyedHasher]()
            swap(self._older, self._newer)
            self._turned = now


def _step_for(interval_ns: Int, burst: Int) -> Int:
    """Finds the step of time in which a bucket's life can be counted: 1 ns, or
    so many that interval (1 to 10^15 ns) times burst takes at most 2^61 of
    them, and an interval still a million at least.

    A bucket of a million tokens that gains one in eleven days is full again
    after 31,000 years, which are too many nanoseconds for a word.
    """
    return 1 + interval_ns // (_SPAN_MAX // burst)
