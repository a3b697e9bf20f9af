"""Whether one upstream works: what its answers tell, what checks tell, and its circuit; without clock and socket."""

from flare.bytes.never import NEVER
from flare.http.proxy.upstreams.circuit import Circuit, CircuitState
from flare.http.proxy.upstreams.group_config import GroupConfig
from flare.http.proxy.upstreams.outcome import Outcome

comptime _NEVER = -1


@fieldwise_init
struct MemberState(Equatable, TrivialRegisterPassable):
    """Whether an upstream is asked."""

    var code: UInt8
    """A small number, distinct for each state."""

    comptime UP = MemberState(0)
    """It is."""
    comptime EJECTED = MemberState(1)
    """Not for some time: too much has failed."""
    comptime DOWN = MemberState(2)
    """Not until health checks succeed."""
    comptime OPEN = MemberState(3)
    """Not for some time: its circuit is open."""
    comptime DRAINING = MemberState(4)
    """No more; what it has, it may finish."""

    def name(self) -> StaticString:
        """Names the state by one word in lower case, for figures."""
        if self == Self.EJECTED:
            return "ejected"
        if self == Self.DOWN:
            return "down"
        if self == Self.OPEN:
            return "open"
        if self == Self.DRAINING:
            return "draining"
        return "up"


struct MemberHealth(Copyable, Movable):
    """What is known of one upstream's health. All times are in milliseconds of
    one clock that does not go back."""

    # Passive: failures in a row, and in the window.
    var _failures_in_row: Int
    var _window_start_ms: Int
    var _window_requests: Int
    var _window_failures: Int
    var _ejected_until_ms: Int
    # How many ejections have followed each other; one less for each window
    # without one.
    var _ejections_in_row: Int
    var _calm_since_ms: Int
    var circuit: Circuit
    # Active checks.
    var _is_down: Bool
    var _good_checks: Int
    var _bad_checks: Int
    var _check_due_ms: Int
    var _is_checking: Bool
    # Since when it may be asked, for the slow start; _NEVER if it always was.
    var _since_ms: Int
    var ejection_count: Int

    def __init__(out self, now_ms: Int, starts_slowly: Bool):
        """Makes the health of an upstream that nothing is known of, and that
        starts slowly if it joins others."""
        self._failures_in_row = 0
        self._window_start_ms = now_ms
        self._window_requests = 0
        self._window_failures = 0
        self._ejected_until_ms = _NEVER
        self._ejections_in_row = 0
        self._calm_since_ms = now_ms
        self.circuit = Circuit()
        self._is_down = False
        self._good_checks = 0
        self._bad_checks = 0
        self._check_due_ms = now_ms
        self._is_checking = False
        self._since_ms = now_ms if starts_slowly else _NEVER
        self.ejection_count = 0

    def is_well(mut self, now_ms: Int) -> Bool:
        """Tells whether it may be asked, as far as its health goes: not while
        it is ejected or down. Ends an ejection whose time is over."""
        if self._ejected_until_ms != _NEVER and (
            now_ms >= self._ejected_until_ms
        ):
            self._ejected_until_ms = _NEVER
            self._begin_anew(now_ms)
            self._calm_since_ms = now_ms
        return self._ejected_until_ms == _NEVER and not self._is_down

    def is_ejected(self, now_ms: Int) -> Bool:
        return now_ms < self._ejected_until_ms

    def _begin_anew(mut self, now_ms: Int):
        self._failures_in_row = 0
        self._window_start_ms = now_ms
        self._window_requests = 0
        self._window_failures = 0
        self._since_ms = now_ms

    def next_change_ms(self, now_ms: Int) -> Int:
        """Tells when time alone may have it asked again: the end of its
        ejection, or when its circuit lets a request try, whichever comes first;
        `NEVER` if neither is ahead."""
        var next_ms = NEVER
        if self.is_ejected(now_ms):
            next_ms = self._ejected_until_ms
        if self.circuit.is_open_at(now_ms):
            next_ms = min(next_ms, self.circuit.until_ms)
        return next_ms

    def state(self, now_ms: Int) -> MemberState:
        """Names its state, the worst that holds, but for draining."""
        if self._is_down:
            return MemberState.DOWN
        if self.is_ejected(now_ms):
            return MemberState.EJECTED
        if self.circuit.state != CircuitState.CLOSED:
            return MemberState.OPEN
        return MemberState.UP

    def end_request(
        mut self,
        outcome: Outcome,
        config: GroupConfig,
        is_trial: Bool,
        now_ms: Int,
    ) -> Bool:
        """Learns from a request's end, and whether it deserves to be ejected;
        `is_trial` is what `circuit.begin` has told."""
        if outcome == Outcome.CANCELLED:
            if is_trial:
                self.circuit.give_up()
            return False
        # What has ended meanwhile ends first, be there a choice between or not.
        _ = self.is_well(now_ms)
        self._turn_window(config, now_ms)
        self._window_requests += 1
        if not is_failure(outcome, config):
            self._failures_in_row = 0
            # Only a trial closes a circuit: others may be from before.
            if is_trial:
                self.circuit.close()
            return False
        self._failures_in_row += 1
        self._window_failures += 1
        if is_trial or (
            config.failures_to_open > 0
            and self.circuit.state == CircuitState.CLOSED
            and self._failures_in_row >= config.failures_to_open
        ):
            self.circuit.open(now_ms + config.open_ms)
        return self._deserves_ejection(config)

    def _turn_window(mut self, config: GroupConfig, now_ms: Int):
        if now_ms - self._window_start_ms >= config.failure_window_ms:
            self._window_start_ms = now_ms
            self._window_requests = 0
            self._window_failures = 0
        if (
            self._ejections_in_row > 0
            and now_ms - self._calm_since_ms >= config.failure_window_ms
        ):
            var calm_count = (
                now_ms - self._calm_since_ms
            ) // config.failure_window_ms
            self._ejections_in_row = max(self._ejections_in_row - calm_count, 0)
            self._calm_since_ms = now_ms

    def _deserves_ejection(self, config: GroupConfig) -> Bool:
        if self._ejected_until_ms != _NEVER:
            return False
        if (
            config.failures_to_eject > 0
            and self._failures_in_row >= config.failures_to_eject
        ):
            return True
        return (
            config.failure_share_percent > 0
            and self._window_requests >= config.failure_share_requests
            and self._window_failures * 100
            >= self._window_requests * config.failure_share_percent
        )

    def eject(mut self, config: GroupConfig, now_ms: Int):
        """Has it asked no more for some time; longer, if it was before."""
        self._ejections_in_row += 1
        self.ejection_count += 1
        var length_ms = min(
            config.ejection_ms * self._ejections_in_row, config.ejection_max_ms
        )
        self._ejected_until_ms = now_ms + length_ms

    def ramp_percent(self, config: GroupConfig, now_ms: Int) -> Int:
        """Tells which part of its weight it has in its slow start, from 10 to
        100."""
        if self._since_ms == _NEVER or config.slow_start_ms == 0:
            return 100
        var elapsed_ms = now_ms - self._since_ms
        if elapsed_ms >= config.slow_start_ms:
            return 100
        return max(elapsed_ms * 100 // config.slow_start_ms, 10)

    def wants_check(self, now_ms: Int) -> Bool:
        """Tells whether a health check is due, and none under way."""
        return not self._is_checking and now_ms >= self._check_due_ms

    def begin_check(mut self):
        """Notes that a check is under way."""
        self._is_checking = True

    def end_check(mut self, is_good: Bool, config: GroupConfig, now_ms: Int):
        """Learns from a check, whose answer came in time and was good if
        `is_good`."""
        self._is_checking = False
        self._check_due_ms = now_ms + config.health_interval_ms
        if is_good:
            self._bad_checks = 0
            self._good_checks += 1
            if self._is_down and self._good_checks >= config.healthy_after:
                self._is_down = False
                self._ejected_until_ms = _NEVER
                self.circuit.close()
                self._begin_anew(now_ms)
            return
        self._good_checks = 0
        self._bad_checks += 1
        if self._bad_checks >= config.unhealthy_after:
            self._is_down = True


def is_failure(outcome: Outcome, config: GroupConfig) -> Bool:
    """Tells whether an outcome speaks against the upstream: failures, and the
    statuses that count as such."""
    if outcome != Outcome.ANSWERED:
        return outcome.is_failure()
    var status = Int(outcome.status)
    if config.counts_all_5xx:
        return status >= 500
    return status == 502 or status == 503 or status == 504
