"""Whether a request is sent once more (RFC 9110 section 9.2.2, RFC 9113 section
8.7), by the rules of all that send requests, and how often in all."""

from flare.bytes.checked import *
from std.builtin.globals import global_constant
from std.atomic import Atomic
from std.memory import ArcPointer


def is_idempotent(method: StringSpan) -> Bool:
    """Tells whether sending a request twice means the same as once.

    Source: RFC 9110 section 9.2.2.
    """
    return (
        method == "GET"
        or method == "HEAD"
        or method == "PUT"
        or method == "DELETE"
        or method == "OPTIONS"
        or method == "TRACE"
    )


@fieldwise_init
struct AttemptEnd(Equatable, TrivialRegisterPassable):
    """What has come of an attempt, as far as another one depends on it."""

    var number: UInt8
    """A small number, distinct for each end."""

    comptime ANSWERED = AttemptEnd(0)
    """There is an answer, and it is the final one."""
    comptime TURNED_AWAY = AttemptEnd(1)
    """There is an answer whose status asks for another attempt."""
    comptime BEGUN = AttemptEnd(2)
    """It failed when a part of an answer was there."""
    comptime NO_CONNECTION = AttemptEnd(3)
    """There was no connection to be had."""
    comptime LOST = AttemptEnd(4)
    """The connection ended before any octet of an answer."""
    comptime SPOILED = AttemptEnd(5)
    """The server knows of it, and gave no answer: it has reset the stream, or
    what came is none."""
    comptime SILENT = AttemptEnd(6)
    """There was no octet of an answer in time."""
    comptime UNTOUCHED = AttemptEnd(7)
    """The server says that it has done nothing with it (RFC 9113 section 8.7).
    """
    comptime LEFT_BEHIND = AttemptEnd(8)
    """The same, but the server has ended a connection on which it had begun with
    others. What comes of that again and again is UNTOUCHED."""
    comptime NEEDS_HTTP_1_1 = AttemptEnd(9)
    """The server wants it over HTTP/1.1, and has done nothing with it (RFC 9113
    section 7)."""
    comptime HOPELESS = AttemptEnd(10)
    """It would fail again: the request is bad, its content or its time is over,
    the server's certificate is not trusted."""

    @staticmethod
    def of_status(status: Int, retried: List[Int]) -> Self:
        """Reads the status of an answer.

        Args:
            status: The status.
            retried: Those that ask for another attempt.

        Returns:
            TURNED_AWAY if it is one of them, else ANSWERED.
        """
        for index in range(len(retried)):
            if retried.at(index) == status:
                return AttemptEnd.TURNED_AWAY
        return AttemptEnd.ANSWERED

    def is_untouched(self) -> Bool:
        """Tells whether the server has said that it has not begun with it."""
        return (
            self == Self.UNTOUCHED
            or self == Self.LEFT_BEHIND
            or self == Self.NEEDS_HTTP_1_1
        )


@fieldwise_init
struct EndedAttempt(TrivialRegisterPassable):
    """What is known of an attempt that has ended."""

    var end: AttemptEnd
    """What has come of it."""
    var was_sent: Bool
    """True if any octet of the request may have left."""
    var may_be_twice: Bool
    """True if acting twice on it is acting once: its method is idempotent, or
    the program says so."""
    var is_kept: Bool
    """True if its content is still there from its start, or it has none."""
    var was_reused: Bool
    """True if its connection had waited for a request."""
    var count: Int
    """How many attempts there were, this one included."""

    def may_have_acted(self) -> Bool:
        """Tells whether another attempt may act a second time, where that is not
        the same as once: what has never left, or what the server says it has
        not begun with, may be sent in any case."""
        return (
            self.was_sent
            and not self.end.is_untouched()
            and not self.may_be_twice
        )

    def goes_anew(self) -> Bool:
        """Tells whether the request is sent once more at once, on another
        connection, and that counts nowhere: what has failed says nothing of the
        server."""
        if self.may_have_acted() or not self.is_kept:
            return False
        if self.end == AttemptEnd.LOST:
            # It has waited too long (RFC 9112 section 9.3).
            return self.was_reused
        return (
            self.end == AttemptEnd.LEFT_BEHIND
            or self.end == AttemptEnd.NEEDS_HTTP_1_1
        )


@fieldwise_init
struct RetryRules(TrivialRegisterPassable):
    """What a program has chosen."""

    var attempts_max: Int
    """Most attempts, the first included."""
    var retries_connects: Bool
    """True to repeat after NO_CONNECTION."""
    var retries_losses: Bool
    """True to repeat after LOST and SPOILED."""
    var retries_timeouts: Bool
    """True to repeat after SILENT: the server may still be at it."""

    def covers(self, end: AttemptEnd) -> Bool:
        """Tells whether such an end is repeated at all."""
        if end == AttemptEnd.NO_CONNECTION:
            return self.retries_connects
        if end == AttemptEnd.LOST or end == AttemptEnd.SPOILED:
            return self.retries_losses
        return self.retries_timeouts or end != AttemptEnd.SILENT


@fieldwise_init
struct RetryDecision(Equatable, TrivialRegisterPassable):
    """Whether a request is sent once more, and if not, why."""

    var code: UInt8
    """A small number, distinct for each decision."""

    comptime AGAIN = RetryDecision(0)
    """It is sent once more."""
    comptime NOT_NEEDED = RetryDecision(1)
    """It has been answered."""
    comptime BEGUN = RetryDecision(2)
    """A part of an answer has come."""
    comptime NOT_IDEMPOTENT = RetryDecision(3)
    """The server may have acted on it, and acting twice is not the same."""
    comptime CONTENT_IS_GONE = RetryDecision(4)
    """A part of its content has been sent, and is not kept."""
    comptime TOO_MANY_ATTEMPTS = RetryDecision(5)
    """It has been sent as often as it may."""
    comptime NO_BUDGET = RetryDecision(6)
    """Too many requests are sent more than once."""
    comptime TIMEOUT = RetryDecision(7)
    """The server was slow, and may still be at it."""
    comptime NO_UPSTREAM = RetryDecision(8)
    """No upstream was to be had, for the first attempt or for another one."""
    comptime FAILURE = RetryDecision(9)
    """Such a failure is not repeated."""
    comptime ANEW = RetryDecision(10)
    """It is sent once more, at once and on another connection, and that counts
    nowhere: what has failed says nothing of the server."""

    def is_again(self) -> Bool:
        """Tells whether it is sent once more."""
        return self == Self.AGAIN

    def name(self) -> StaticString:
        """Names it by one word, or a few with `_` between them."""
        return global_constant[_NAMES]().at(Int(self.code))


comptime DECISION_COUNT = 11

comptime _NAMES: Array[StaticString, DECISION_COUNT] = [
    "again",
    "not_needed",
    "response_begun",
    "not_idempotent",
    "content_gone",
    "attempts_used_up",
    "no_budget",
    "timeout",
    "no_upstream",
    "failure",
    "anew",
]


def decide_retry(attempt: EndedAttempt, rules: RetryRules) -> RetryDecision:
    """Decides whether a request may be sent once more, but for budget and time.

    Source: RFC 9110 section 9.2.2.
    """
    var end = attempt.end
    if end == AttemptEnd.ANSWERED:
        return RetryDecision.NOT_NEEDED
    if end == AttemptEnd.BEGUN:
        return RetryDecision.BEGUN
    if end == AttemptEnd.HOPELESS:
        return RetryDecision.FAILURE
    if attempt.may_have_acted():
        return RetryDecision.NOT_IDEMPOTENT
    if not attempt.is_kept:
        return RetryDecision.CONTENT_IS_GONE
    if attempt.goes_anew():
        return RetryDecision.ANEW
    if not rules.covers(end):
        if end == AttemptEnd.SILENT:
            return RetryDecision.TIMEOUT
        return RetryDecision.FAILURE
    if attempt.count >= rules.attempts_max:
        return RetryDecision.TOO_MANY_ATTEMPTS
    return RetryDecision.AGAIN


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
        """Gives a budget for what happens in a window of time, and in the one
        before it, so that the first request of one is not alone.

        Args:
            least: How many there may be in any case; they count for the share.
            window_ms: How long a window is, in milliseconds; 1 or more.
            now_ms: What time it is.
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
        """Tells whether there is one repetition or more: `take` would take one,
        unless another thread does."""
        ref bucket = self._bucket[]
        bucket.turn(now_ms)
        return bucket.covers(bucket.level.load())

    def take(self, now_ms: Int = 0) -> Bool:
        """Takes one repetition; gives False if there is none left."""
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
        """Counts the whole repetitions for which there are tokens, for metrics."""
        return Int(self._bucket[].level.load() // _WHOLE)

    def problem(self) -> String:
        """Tells which numbers cannot work; the rest is as for
        `ClientConfig.problem`."""
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
