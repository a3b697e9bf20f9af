"""Where rates are counted for more than one process, and what holds meanwhile
when that cannot be reached."""

from flare.bytes.erased import Erased, ErasedBox
from flare.bytes.text import Text
from flare.http.handler.state import State
from flare.sys.clock import monotonic_ns
from flare.sys.errno import OsError
from flare.sys.log import log_line

comptime _AWAY_NS = 1_000_000_000
# How long a store that failed is left alone.


@fieldwise_init
struct BucketVerdict(TrivialRegisterPassable):
    """What a bucket says to one more request."""

    var is_allowed: Bool
    """Whether there was a token."""
    var remaining: Int
    """How many more would be allowed now."""
    var wait_ns: Int
    """If not allowed, when there will be a token."""


trait RateStore(Deinitable, Movable):
    """Buckets of tokens that several processes share, such as `RedisRates`.

    It is called by several threads at once, and waits no longer than somebody
    who asks for a page would.
    """

    def take(
        self, key: String, interval_us: Int, burst: Int
    ) raises -> BucketVerdict:
        """Takes a token, if there is one.

        Args:
            key: Whose bucket.
            interval_us: How long a token takes to grow, in microseconds.
            burst: Most tokens of a bucket.

        Raises:
            Error: If the store cannot be asked now.
        """
        ...


@fieldwise_init
struct RateFallback(Equatable, TrivialRegisterPassable):
    """What a `RateLimit` does while its store cannot be asked."""

    var value: UInt8
    """Its number."""

    comptime LOCAL = Self(0)
    """Each process counts for itself, so that all together may let more through,
    at most as many times as there are processes."""
    comptime ALLOW = Self(1)
    """Everything is let through."""
    comptime REFUSE = Self(2)
    """Nothing is: 503."""


@fieldwise_init
struct _Outage(Movable):
    """When a store failed."""

    # Until then it is not asked.
    var until_ns: Int
    var is_away: Bool
    var failure_count: Int


def _take[
    S: RateStore
](
    store: Erased, key: String, interval_us: Int, burst: Int
) raises -> BucketVerdict:
    # SAFETY: `SharedRate` made the pointer from a store of its own.
    return store.unsafe_bitcast[S]()[].take(key, interval_us, burst)


struct SharedRate(Movable):
    """A rate that a store counts, whatever its type; only programs that name one
    have its code."""

    # SAFETY: the functions were made for its type.
    var _store: ErasedBox
    var _take: def(Erased, String, Int, Int) raises thin -> BucketVerdict
    var _interval_us: Int
    var _burst: Int
    var _outage: State[_Outage]

    def __init__[
        S: RateStore
    ](out self, var store: S, rate: Float64, burst: Int) raises OsError:
        """Takes a store; the rate in tokens a second, and the burst are checked
        by `TokenBuckets`."""
        self._outage = State(_Outage(0, False, 0))
        self._store = ErasedBox(store^)
        self._take = _take[S]
        self._interval_us = max(1, Int(1_000_000 / rate))
        self._burst = burst

    def take(self, key: String, now_ns: Int) -> Optional[BucketVerdict]:
        """Takes a token, if there is one; nothing if the store cannot be asked.
        It is left alone for a second then, so that not every request waits for
        it. The clock never goes back."""
        if now_ns < self._outage.lock()[].until_ns:
            return None
        var began_ns = monotonic_ns()
        try:
            var verdict = self._take(
                self._store.at, key, self._interval_us, self._burst
            )
            self._note_answer()
            return verdict
        except error:
            # One that hangs fails late.
            self._note_failure(error, now_ns + monotonic_ns() - began_ns)
        return None

    def failure_count(self) -> Int:
        """Counts how often this process could not ask the store."""
        return self._outage.lock()[].failure_count

    def _note_answer(self):
        var outage = self._outage.lock()
        if outage[].is_away:
            outage[].is_away = False
            log_line("rate limit: the store answers again")

    def _note_failure(self, error: Error, now_ns: Int):
        var outage = self._outage.lock()
        outage[].until_ns = now_ns + _AWAY_NS
        outage[].failure_count += 1
        if not outage[].is_away:
            outage[].is_away = True
            log_line(
                Text()
                .add("rate limit: the store cannot be asked: ")
                .add(error)
                .end()
            )
