"""How requests are shared among upstreams, and when one of them is left out."""


@fieldwise_init
struct Balance(Equatable, TrivialRegisterPassable):
    """By what rule an upstream is chosen."""

    var code: UInt8
    """A small number, distinct for each rule."""

    comptime ROUND_ROBIN = Balance(0)
    """In turn, in proportion to the weights, and evenly spread."""
    comptime LEAST_REQUESTS = Balance(1)
    """Of two that are drawn, the one with fewer requests for its weight."""
    comptime CONSISTENT_HASH = Balance(2)
    """By the request's key: the same one for the same key. When an upstream
    comes or goes, only the keys that it gets or had move."""


struct GroupConfig(Copyable, Movable):
    """The rules of an `UpstreamGroup`; times are in milliseconds, and 0 switches
    off what it says so of."""

    var balance: Balance
    """By what rule an upstream is chosen. Default `Balance.ROUND_ROBIN`."""

    var failures_to_eject: Int
    """After how many failures without a success between them an upstream is
    ejected, which is: asked no more for some time; 0 for never. Default 5."""
    var failure_share_percent: Int
    """From which share of failures in `failure_window_ms` on an upstream is
    ejected; 0 for never. Default 50."""
    var failure_share_requests: Int
    """Of how many requests at least that share is taken. Default 20."""
    var failure_window_ms: Int
    """Over which time failures and repetitions are counted. Default 10 s."""
    var ejection_ms: Int
    """How long the first ejection lasts; the second in a row lasts twice as
    long, the third three times. Default 10 s."""
    var ejection_max_ms: Int
    """How long one lasts at most. Default 5 min."""
    var ejected_share_max_percent: Int
    """Which share of the upstreams may be ejected at a time; of two or more,
    one may in any case, unless this is 0. Default 50."""
    var counts_all_5xx: Bool
    """True to take every status from 500 up for a failure; False for 502, 503
    and 504 alone, by which an upstream says that it does not work. Default
    False."""

    var max_requests: Int
    """Most requests that one upstream has at a time; 0 for no bound. Default 0.
    """
    var queue_timeout_ms: Int
    """How long a request waits, first come first served, while all upstreams
    have as many as they may; 0 to refuse it at once. None waits for an upstream
    whose circuit is open. Default 1 s."""
    var max_queued_requests: Int
    """Most requests that wait so at a time; one more is refused at once.
    Default 1,024."""
    var failures_to_open: Int
    """After how many failures in a row an upstream's circuit opens: it is then
    spared, even if it is the only one; 0 for never. Default 0."""
    var open_ms: Int
    """How long a circuit is open before one request may try. Default 5 s."""

    var lookup_interval_ms: Int
    """How often the name of an upstream is looked up, while there are requests.
    Each address that it has is an upstream of its own; 0 to leave it one, whose
    name is looked up for each new connection. Default 30 s."""
    var max_connection_age_ms: Int
    """How long a connection to an upstream gets new requests, for those that
    lead elsewhere by now; up to an eighth less, so that not all end at once. 0
    for no bound. Default 10 min."""

    var slow_start_ms: Int
    """How long an upstream that is new, or back, gets less than its share; 0
    for its share at once. Default 0."""

    var health_path: String
    """What is asked for to find out whether an upstream works; empty to ask
    nothing. Default empty."""
    var health_interval_ms: Int
    """How often that is asked for. Default 5 s."""
    var health_timeout_ms: Int
    """How long an answer may take. Default 2 s."""
    var healthy_after: Int
    """How many good answers in a row make an upstream that is down come back.
    Default 2."""
    var unhealthy_after: Int
    """How many bad ones, or none, take it down. Default 3."""

    var max_attempts: Int
    """How often a request is sent at most, the first time included. Default 3.
    """
    var retried_statuses: List[Int]
    """Statuses of an upstream that are taken for a failure of the attempt, if
    the method is idempotent; such as 503. Default none."""
    var retries_timeouts: Bool
    """True to send an idempotent request once more that was not answered in
    time. Default False."""
    var retry_share_percent: Int
    """Which share of the requests in `failure_window_ms` may be repetitions of
    what may have reached an upstream. Default 20."""
    var retry_min: Int
    """How many repetitions in that time are free of the share. Default 10."""

    def __init__(out self, balance: Balance = Balance.ROUND_ROBIN):
        """Makes rules for a few upstreams of one kind."""
        self.balance = balance
        self.failures_to_eject = 5
        self.failure_share_percent = 50
        self.failure_share_requests = 20
        self.failure_window_ms = 10_000
        self.ejection_ms = 10_000
        self.ejection_max_ms = 300_000
        self.ejected_share_max_percent = 50
        self.counts_all_5xx = False
        self.max_requests = 0
        self.queue_timeout_ms = 1_000
        self.max_queued_requests = 1_024
        self.failures_to_open = 0
        self.open_ms = 5_000
        self.lookup_interval_ms = 30_000
        self.max_connection_age_ms = 600_000
        self.slow_start_ms = 0
        self.health_path = String()
        self.health_interval_ms = 5_000
        self.health_timeout_ms = 2_000
        self.healthy_after = 2
        self.unhealthy_after = 3
        self.max_attempts = 3
        self.retried_statuses = []
        self.retries_timeouts = False
        self.retry_share_percent = 20
        self.retry_min = 10

    @no_inline
    def __deinit__(deinit self):
        return

    def check(self) raises:
        """Refuses what contradicts itself.

        Raises:
            Error: It names the field, what it is, and what it may be.
        """
        _within("failures_to_eject", self.failures_to_eject, 0, 1 << 20)
        _within("failure_share_percent", self.failure_share_percent, 0, 100)
        _within(
            "failure_share_requests", self.failure_share_requests, 1, 1 << 20
        )
        _within("failure_window_ms", self.failure_window_ms, 1, DAY_MS)
        _within("ejection_ms", self.ejection_ms, 1, DAY_MS)
        _within(
            "ejection_max_ms", self.ejection_max_ms, self.ejection_ms, DAY_MS
        )
        _within(
            "ejected_share_max_percent", self.ejected_share_max_percent, 0, 100
        )
        _within("max_requests", self.max_requests, 0, 1 << 20)
        _within("queue_timeout_ms", self.queue_timeout_ms, 0, DAY_MS)
        _within("max_queued_requests", self.max_queued_requests, 0, 1 << 20)
        _within("failures_to_open", self.failures_to_open, 0, 1 << 20)
        _within("open_ms", self.open_ms, 1, DAY_MS)
        _within("lookup_interval_ms", self.lookup_interval_ms, 0, DAY_MS)
        _within("max_connection_age_ms", self.max_connection_age_ms, 0, DAY_MS)
        _within("slow_start_ms", self.slow_start_ms, 0, DAY_MS)
        _within("health_interval_ms", self.health_interval_ms, 1, DAY_MS)
        _within("health_timeout_ms", self.health_timeout_ms, 1, DAY_MS)
        _within("healthy_after", self.healthy_after, 1, 1_000)
        _within("unhealthy_after", self.unhealthy_after, 1, 1_000)
        _within("max_attempts", self.max_attempts, 1, 64)
        _within("retry_share_percent", self.retry_share_percent, 0, 100)
        _within("retry_min", self.retry_min, 0, 1 << 20)
        for status in self.retried_statuses:
            _within("retried_statuses", status, 400, 599)
        if self.health_path.byte_length() > 0 and not (
            self.health_path.startswith("/")
        ):
            raise Error(
                "upstream group: health_path is '",
                self.health_path,
                "'; it begins with a slash, such as /healthz",
            )


comptime DAY_MS = 86_400_000
"""The longest time that can be set, in milliseconds."""


def _within(name: StaticString, value: Int, low: Int, high: Int) raises:
    check_within("upstream group", name, value, low, high)


def check_within(
    what: StaticString, name: StaticString, value: Int, low: Int, high: Int
) raises:
    """Checks a number of a configuration; the error names its range."""
    if value < low or value > high:
        raise Error(
            what,
            ": ",
            name,
            " is ",
            value,
            "; it may be from ",
            low,
            " to ",
            high,
        )
