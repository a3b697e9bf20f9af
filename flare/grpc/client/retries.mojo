"""When a call that failed begins anew: A6 of gRPC."""

from flare.grpc.client.call_response import NEVER_AGAIN, NO_PUSHBACK
from flare.grpc.core.status import GrpcCode
from flare.sys.errno import OsError
from flare.sys.mutex import Mutex

comptime ATTEMPT_COUNT_MAX = 5
"""Most attempts of a call, whatever a policy says (A6)."""

comptime ATTEMPTS_FIELD = StaticString("grpc-previous-rpc-attempts")
"""The field that says how many attempts there were before."""

comptime PAUSE_MS_MAX = 86_400_000
"""Longest pause that a policy may have, in milliseconds: a day."""


struct GrpcRetryPolicy(Copyable, Movable):
    """Which calls begin anew when they fail, how often, and after what pause.

    Source: A6 of gRPC, `retryPolicy` of a service config. The pause before the
    attempt with the number n + 1 is `initial_backoff_ms` times
    `backoff_multiplier` to the power of n - 1, and no more than
    `max_backoff_ms`; that 0.8 to 1.2 times, so that many clients do not come at
    once.
    """

    var max_attempts: Int
    """Most attempts, the first one included: 2 or more; more than 5 count as 5."""
    var initial_backoff_ms: Int
    """The first pause, in milliseconds. Default 100 ms."""
    var max_backoff_ms: Int
    """The longest pause, in milliseconds. Default 1 s."""
    var backoff_multiplier: Float64
    """How much longer each pause may be than the one before. Default 2."""
    var retryable_codes: List[GrpcCode]
    """What is worth another attempt, such as `GrpcCode.UNAVAILABLE`; not OK."""

    def __init__(
        out self,
        max_attempts: Int,
        var retryable_codes: List[GrpcCode],
        *,
        initial_backoff_ms: Int = 100,
        max_backoff_ms: Int = 1_000,
        backoff_multiplier: Float64 = 2.0,
    ):
        """Makes a policy."""
        self.max_attempts = max_attempts
        self.retryable_codes = retryable_codes^
        self.initial_backoff_ms = initial_backoff_ms
        self.max_backoff_ms = max_backoff_ms
        self.backoff_multiplier = backoff_multiplier

    def problem(self) -> String:
        """Tells which values cannot work; the rest is as for
        `ClientConfig.problem`."""
        if self.max_attempts < 2:
            return "maxAttempts must be 2 or more"
        if len(self.retryable_codes) == 0:
            return "retryableStatusCodes must name a code"
        if (
            self.initial_backoff_ms < 1
            or self.max_backoff_ms < 1
            or self.initial_backoff_ms > PAUSE_MS_MAX
            or self.max_backoff_ms > PAUSE_MS_MAX
        ):
            return "initialBackoff and maxBackoff must be from 1 ms to a day"
        if not (
            self.backoff_multiplier > 0 and self.backoff_multiplier <= 1_000
        ):
            return "backoffMultiplier must be more than 0, and 1000 at most"
        return String()

    def retries(self, code: GrpcCode) -> Bool:
        """Tells whether a code is worth another attempt: the policy names it.

        Args:
            code: How the call has failed.
        """
        return code in self.retryable_codes

    def pause_ms(self, attempt_count: Int, random_bits: UInt64) -> Int:
        """Gives a pause, in milliseconds.

        Args:
            attempt_count: How many attempts there were since the server last
                said itself when to come; 1 or more.
            random_bits: What chooses.
        """
        var most = Float64(self.initial_backoff_ms)
        for _ in range(attempt_count - 1):
            most = min(
                most * self.backoff_multiplier, Float64(self.max_backoff_ms)
            )
        var whole = Int(min(most, Float64(self.max_backoff_ms)))
        var part = whole // 5
        return whole - part + Int(random_bits >> 1) % (2 * part + 1)


struct RetryTurn(Movable):
    """The attempts of one call."""

    var policy: Optional[GrpcRetryPolicy]
    """What decides; nothing for calls that are not repeated."""
    var attempt_count: Int
    """How many attempts were begun."""
    # Those since the server has said when to come.
    var _own_count: Int

    def __init__(out self, var policy: Optional[GrpcRetryPolicy]):
        """Makes the turn of a call that begins with its first attempt."""
        self.policy = policy^
        self.attempt_count = 1
        self._own_count = 0

    def plan(
        mut self,
        code: GrpcCode,
        pushback_ms: Int,
        random_bits: UInt64,
        throttle: RetryThrottle,
    ) -> Optional[Int]:
        """Decides on another attempt, and counts it. The code is of the last
        one, which has failed before the call was committed; what the server has
        said is `CallResponse.pushback_ms`; random bits choose the pause. The
        throttle is told of the failure. Gives how long to wait before it, in
        milliseconds; nothing if there is none."""
        if not self.policy:
            return None
        ref policy = self.policy.value()
        var is_retryable = policy.retries(code)
        var may_retry = True
        # A6: what the server refuses counts, whatever follows.
        if is_retryable or pushback_ms == NEVER_AGAIN:
            may_retry = throttle.note_failure()
        if not is_retryable or not may_retry or pushback_ms == NEVER_AGAIN:
            return None
        if self.attempt_count >= min(policy.max_attempts, ATTEMPT_COUNT_MAX):
            return None
        self.attempt_count += 1
        if pushback_ms != NO_PUSHBACK:
            self._own_count = 0
            return pushback_ms
        self._own_count += 1
        return policy.pause_ms(self._own_count, random_bits)


struct RetryThrottle(ImplicitlyCopyable):
    """Ends repetitions while most calls fail: `retryThrottling` of A6.

    It begins with all of its tokens; a failure takes one, a success gives
    `token_ratio` of one back; no call begins anew while half of them or less are
    left. Copies are the same, for all threads.
    """

    # In thousandths; nothing without a limit.
    var _tokens: Optional[Mutex[_Tokens]]

    def __init__(out self):
        """Makes one without a limit."""
        self._tokens = None

    def __init__(
        out self, max_tokens: Int, token_ratio: Float64
    ) raises OsError:
        """Makes one that nothing was taken from.

        Args:
            max_tokens: How many tokens there are; 1 to 1000.
            token_ratio: How much of one a success gives back, to three decimal
                places; more than 0.

        Raises:
            OsError: If the system has no more locks.
        """
        self._tokens = Mutex(
            _Tokens(max_tokens * 1_000, max(Int(token_ratio * 1_000), 1))
        )

    def note_failure(self) -> Bool:
        """Takes a token. True if a call may begin anew."""
        if not self._tokens:
            return True
        var guard = self._tokens.value().lock()
        guard[].left = max(guard[].left - 1_000, 0)
        return guard[].left > guard[].most // 2

    def note_success(self):
        """Gives some of a token back."""
        if not self._tokens:
            return
        var guard = self._tokens.value().lock()
        guard[].left = min(guard[].left + guard[].ratio, guard[].most)


struct _Tokens(Movable):
    var most: Int
    var ratio: Int
    var left: Int

    def __init__(out self, most: Int, ratio: Int):
        self.most = most
        self.ratio = ratio
        self.left = most
