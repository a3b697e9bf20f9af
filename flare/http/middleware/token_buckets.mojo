"""Token buckets, one for each key, with a bound on their number."""

comptime _NS = 1_000_000_000


@fieldwise_init
struct BucketVerdict(TrivialRegisterPassable):
    """What a bucket says to one more request."""

    var is_allowed: Bool
    """Whether there was a token."""
    var remaining: Int
    """How many more would be allowed now."""
    var wait_ns: Int
    """If not allowed, when there will be a token."""


struct TokenBuckets(Movable, Sized):
    """Buckets that hold up to `burst` tokens, and gain `rate` each second.

    A bucket is one number: the moment when it will be full (the generic cell
    rate algorithm), so one that is full takes no memory. Keys are kept in two
    halves; when the newer is full, the older goes. Somebody who makes up keys
    can so make the buckets forget others, but not fill the memory.
    """

    var _interval_ns: Int
    var _burst: Int
    var _half_count_max: Int
    var _newer: Dict[String, Int]
    var _older: Dict[String, Int]
    var _turned_ns: Int

    def __init__(
        out self, rate: Float64, burst: Int, key_count_max: Int = 65_536
    ) raises:
        """Makes buckets, all of them full.

        Args:
            rate: Tokens gained each second, above 0 and at most 1,000,000.
            burst: Most tokens of a bucket, 1 to 1,000,000.
            key_count_max: Most keys that are kept, at least 2.

        Raises:
            Error: If a number is out of its range.
        """
        if not (rate > 0.000_001 and rate <= 1_000_000):
            raise Error(
                "rate limit: 'rate' is ", rate, "; allowed is 0.000001 to 1e6"
            )
        if burst < 1 or burst > 1_000_000:
            raise Error(
                "rate limit: 'burst' is ", burst, "; allowed is 1 to 1000000"
            )
        if key_count_max < 2:
            raise Error(
                "rate limit: 'key_count_max' is ",
                key_count_max,
                "; allowed is 2 or more",
            )
        self._interval_ns = max(1, Int(Float64(_NS) / rate))
        self._burst = burst
        self._half_count_max = key_count_max // 2
        self._newer = {}
        self._older = {}
        self._turned_ns = 0

    def __len__(self) -> Int:
        """Counts the keys that are kept.

        Returns:
            At most the bound given to the initializer.
        """
        return len(self._newer) + len(self._older)

    def take(mut self, key: String, now_ns: Int) -> BucketVerdict:
        """Takes a token, if there is one.

        Args:
            key: Whose bucket.
            now_ns: The time, on a clock that never goes back.

        Returns:
            The verdict.
        """
        self._turn(now_ns)
        var span_ns = self._interval_ns * self._burst
        var full_ns = now_ns
        var known = self._newer.get(key)
        if not known:
            known = self._older.get(key)
        if known:
            full_ns = max(now_ns, known.value())
        var after_ns = full_ns + self._interval_ns
        if after_ns - now_ns > span_ns:
            return BucketVerdict(False, 0, after_ns - now_ns - span_ns)
        self._newer[key] = after_ns
        var remaining = (span_ns - (after_ns - now_ns)) // self._interval_ns
        return BucketVerdict(True, remaining, 0)

    def _turn(mut self, now_ns: Int):
        """Drops the older half when all its buckets are full again, or when the
        newer one has no more room."""
        var span_ns = self._interval_ns * self._burst
        var is_old = now_ns - self._turned_ns > span_ns
        if is_old or len(self._newer) >= self._half_count_max:
            self._older = Dict[String, Int]()
            swap(self._older, self._newer)
            self._turned_ns = now_ns
