"""How many repetitions there may be."""

from std.atomic import Atomic
from std.memory import ArcPointer

comptime RESERVE_MAX = 1 << 30
"""Most repetitions that a budget may begin with."""

comptime _WHOLE = Int64(100)


struct RetryBudget(ImplicitlyCopyable):
    """Bounds repetitions to a share of the requests, so that they cannot become
    the load that keeps a server from coming back.

    A bucket of tokens: it starts with `reserve` of them, which is the most it
    holds; each request puts `share_percent` of one into it, each repetition
    takes a whole one out. Of N requests in turn at most `reserve` and that
    share of N are repeated. Copies are the same budget, for all threads.

    A budget `in_window` starts empty and holds what requests bring, but forgets
    them in time; there the first repetitions of a window need no token. Its
    copies are the same, too, but for one thread at a time.
    """

    var _bucket: ArcPointer[_Bucket]

    def __init__(out self, share_percent: Int = 20, reserve: Int = 10):
        """Makes a budget that nothing was taken from.

        Args:
            share_percent: How many repetitions there may be for 100 requests;
                0 to 100.
            reserve: How many there may be beyond that; 0 to `RESERVE_MAX`.
        """
        self._bucket = ArcPointer(
            _Bucket(share_percent, Int64(reserve) * _WHOLE)
        )

    @staticmethod
    def in_window(
        share_percent: Int, least: Int, window_ms: Int, now_ms: Int
    ) -> Self:
        """Makes a budget for what happens in a window of time, and in the one
        before it, so that the first request of one is not alone.

        Args:
            share_percent: How many repetitions there may be for 100 requests;
                0 to 100.
            least: How many there may be in any case; they count for the share.
            window_ms: How long a window is, in milliseconds; 1 or more.
            now_ms: What time it is.

        Returns:
            The budget.
        """
        var budget = Self(share_percent, 0)
        ref bucket = budget._bucket[]
        bucket.most = Int64.MAX
        bucket.least = least
        bucket.window_ms = window_ms
        bucket.start_ms = now_ms
        return budget^

    def note_request(self, now_ms: Int = 0):
        """Counts a request, once however often it is sent.

        Args:
            now_ms: What time it is; a budget without a window asks not for it.
        """
        ref bucket = self._bucket[]
        bucket.turn(now_ms)
        var level = bucket.level.load()
        while level < bucket.most:
            var next = min(level + bucket.share, bucket.most)
            if bucket.level.compare_exchange(level, next):
                return

    def has_left(self, now_ms: Int = 0) -> Bool:
        """Tells whether there is one repetition or more.

        Args:
            now_ms: As for `note_request`.

        Returns:
            True if `take` would take one, unless another thread does.
        """
        ref bucket = self._bucket[]
        bucket.turn(now_ms)
        return bucket.covers(bucket.level.load())

    def take(self, now_ms: Int = 0) -> Bool:
        """Takes one repetition.

        Args:
            now_ms: As for `note_request`.

        Returns:
            False if there is none left.
        """
        ref bucket = self._bucket[]
        bucket.turn(now_ms)
        var level = bucket.level.load()
        while bucket.covers(level):
            if bucket.level.compare_exchange(level, level - _WHOLE):
                if bucket.window_ms > 0:
                    bucket.retry_count += 1
                return True
        return False

    def left(self) -> Int:
        """Counts the repetitions for which there are tokens, for metrics.

        Returns:
            Whole ones.
        """
        return Int(self._bucket[].level.load() // _WHOLE)

    def problem(self) -> String:
        """Looks for numbers that cannot work.

        Returns:
            What is wrong and what would be right; empty if all is well.
        """
        ref bucket = self._bucket[]
        if bucket.share < 0 or bucket.share > _WHOLE:
            return String(
                "RetryBudget: a share of ", bucket.share, " %; allow 0 to 100"
            )
        if bucket.most < 0 or bucket.most > Int64(RESERVE_MAX) * _WHOLE:
            return String("RetryBudget: reserve must be 0 to ", RESERVE_MAX)
        return String()


struct _Bucket(Movable):
    # Tokens in hundredths; in a window less than none for repetitions that the
    # share does not cover.
    var level: Atomic[Int64]
    var most: Int64
    var share: Int64
    # 0 for no window.
    var window_ms: Int
    var start_ms: Int
    var least: Int
    var retry_count: Int
    # Of the window before.
    var former_level: Int64
    var former_retry_count: Int

    def __init__(out self, share_percent: Int, level: Int64):
        self.level = Atomic[Int64](level)
        self.most = level
        self.share = Int64(share_percent)
        self.window_ms = 0
        self.start_ms = 0
        self.least = 0
        self.retry_count = 0
        self.former_level = 0
        self.former_retry_count = 0

    def covers(self, level: Int64) -> Bool:
        """Tells whether a repetition has a token, or needs none."""
        return (
            level + self.former_level >= _WHOLE
            or self.retry_count + self.former_retry_count < self.least
        )

    def turn(mut self, now_ms: Int):
        """Begins the next window when its time has come."""
        var elapsed_ms = now_ms - self.start_ms
        if self.window_ms == 0 or elapsed_ms < self.window_ms:
            return
        var is_next = elapsed_ms < 2 * self.window_ms
        self.former_level = self.level.load() if is_next else 0
        self.former_retry_count = self.retry_count if is_next else 0
        self.level.store(0)
        self.retry_count = 0
        self.start_ms = now_ms
