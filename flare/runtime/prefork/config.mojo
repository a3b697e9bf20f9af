"""When a worker process is started again, and how many there are."""

from flare.bytes.ranges import range_problem
from flare.runtime.worker_count import WORKER_COUNT_MAX, default_worker_count
from flare.sys.backoff import Backoff


@fieldwise_init
struct RestartPolicy(Copyable, Movable):
    """How patient a supervisor is. Times are in milliseconds."""

    var delay_first_ms: Int
    """Longest wait after the first crash in a row."""
    var delay_max_ms: Int
    """Longest wait of all."""
    var settle_ms: Int
    """A process that lived so long has ended its row of crashes."""
    var restarts_max: Int
    """Most crashes of all workers within the window; and, where no worker is
    left, most starts in a row that came to nothing, however long they took."""
    var window_ms: Int
    """Length of the sliding window."""

    def delay_ms(self, crash_count: Int, random: UInt64) -> Int:
        """Gives the wait before a restart: between half of it and all of it.

        Args:
            crash_count: Crashes of the worker in a row, at least 1.
            random: Any number; spreads workers that crash together.
        """
        var backoff = Backoff(self.delay_first_ms, self.delay_max_ms)
        return backoff.wait_ms(crash_count, random)


struct RestartBudget(Defaultable, Movable):
    """Counts crashes within the sliding window, and starts that came to
    nothing."""

    var _crashes_ms: List[Int]
    # Processes in a row, of all workers, that ended before they were ready.
    var _failed_start_count: Int

    def note(mut self, policy: RestartPolicy, now_ms: Int) -> Int:
        """Counts a crash on a clock that never goes back. Returns the crashes
        within the window, this one included."""
        var recent = List[Int]()
        for crash_ms in self._crashes_ms:
            if now_ms - crash_ms < policy.window_ms:
                recent.append(crash_ms)
        recent.append(now_ms)
        self._crashes_ms = recent^
        return len(self._crashes_ms)

    def note_start(mut self, *, is_ready: Bool):
        self._failed_start_count = (
            0 if is_ready else self._failed_start_count + 1
        )

    def is_hopeless(self, policy: RestartPolicy) -> Bool:
        """Tells whether so many starts in a row have come to nothing that no
        other is worth it. Their waits are too long for the window to fill where
        there is one worker."""
        return self._failed_start_count > policy.restarts_max

    def delay_ms(
        self,
        policy: RestartPolicy,
        crash_count: Int,
        random: UInt64,
        *,
        is_alone: Bool,
    ) -> Int:
        """Chooses the wait before a restart.

        A worker that crashes again and again, `crash_count` times in a row,
        waits ever longer while others serve. Where none is left (`is_alone`)
        nobody serves meanwhile: then only starts that came to nothing make the
        wait longer. `random`, any number, spreads workers that crash together.
        """
        if is_alone:
            var count = min(crash_count, max(self._failed_start_count, 1))
            return policy.delay_ms(count, random)
        return policy.delay_ms(crash_count, random)


comptime _DAY_MS = 86_400_000


struct PreforkConfig(Copyable, Movable):
    """Workers, patience and manners of a supervisor; times in milliseconds."""

    var workers: Int
    """Processes: 1 to 256. Default `default_worker_count()`, one for each
    usable CPU."""
    var reuseport: Bool
    """True for a listening socket of its own for each worker; False for one
    that all accept from. Default True; macOS always shares."""
    var grace_ms: Int
    """For a worker to finish when it is told to stop; then it is killed.
    Default 35 s, a little over `ServerConfig.shutdown_timeout_ms`."""
    var start_timeout_ms: Int
    """For a worker to become ready; then it is killed. Default 30 s."""
    var upgrade_timeout_ms: Int
    """For a new program to become ready; then it is killed, and the old one
    goes on. Default 60 s."""
    var restart: RestartPolicy
    """What follows a crash. Default: waits of 100 ms to 5 s that double; 5 s of
    life end a row of crashes; over 30 crashes in 60 s end the program. Where
    no worker is left, the wait is that of a first crash, unless processes end
    before they are ready; over 30 of those in a row end the program, too."""
    var requests_max: Int
    """Requests after which a worker is replaced. Default 0: never."""
    var memory_max: Int
    """Bytes of resident memory beyond which a worker is replaced; looked at
    once a second. Default 0: never. Linux alone."""
    var recycle_jitter_percent: Int
    """By how much the two limits above differ between workers, at most, so
    that not all are replaced at once. Default 10."""
    var inherits_listeners: Bool
    """True to replace the program at SIGUSR2 and hand its listeners over.
    `serve_prefork` takes it from `ServerConfig`. Default False."""
    var notifies_manager: Bool
    """True to tell a service manager (systemd) of readiness, stopping and
    life, if `NOTIFY_SOCKET` names one. Default False."""

    def __init__(
        out self,
        *,
        workers: Optional[Int] = None,
        reuseport: Bool = True,
        grace_ms: Int = 35_000,
        start_timeout_ms: Int = 30_000,
        upgrade_timeout_ms: Int = 60_000,
        var restart: RestartPolicy = RestartPolicy(
            100, 5_000, 5_000, 30, 60_000
        ),
        requests_max: Int = 0,
        memory_max: Int = 0,
        recycle_jitter_percent: Int = 10,
        inherits_listeners: Bool = False,
        notifies_manager: Bool = False,
    ):
        """Makes a configuration; what is not named has its default."""
        self.workers = workers.value() if workers else default_worker_count()
        self.reuseport = reuseport
        self.grace_ms = grace_ms
        self.start_timeout_ms = start_timeout_ms
        self.upgrade_timeout_ms = upgrade_timeout_ms
        self.restart = restart^
        self.requests_max = requests_max
        self.memory_max = memory_max
        self.recycle_jitter_percent = recycle_jitter_percent
        self.inherits_listeners = inherits_listeners
        self.notifies_manager = notifies_manager

    def check(self) raises:
        """Checks that the fields make sense.

        Raises:
            Error: If one does not; it names the field and its bounds.
        """
        _check("workers", self.workers, 1, WORKER_COUNT_MAX)
        _check("grace_ms", self.grace_ms, 1, _DAY_MS)
        _check("start_timeout_ms", self.start_timeout_ms, 1, _DAY_MS)
        _check("upgrade_timeout_ms", self.upgrade_timeout_ms, 1, _DAY_MS)
        _check(
            "restart.delay_first_ms", self.restart.delay_first_ms, 1, _DAY_MS
        )
        _check(
            "restart.delay_max_ms",
            self.restart.delay_max_ms,
            self.restart.delay_first_ms,
            _DAY_MS,
        )
        _check("restart.settle_ms", self.restart.settle_ms, 1, _DAY_MS)
        _check("restart.restarts_max", self.restart.restarts_max, 0, 100_000)
        _check("restart.window_ms", self.restart.window_ms, 1, _DAY_MS)
        _check("requests_max", self.requests_max, 0, 1 << 60)
        _check("memory_max", self.memory_max, 0, 1 << 60)
        _check("recycle_jitter_percent", self.recycle_jitter_percent, 0, 100)


def _check(name: StaticString, value: Int, least: Int, most: Int) raises:
    var problem = range_problem(name, value, least, most)
    if problem.byte_length() > 0:
        raise Error("PreforkConfig: ", problem)


struct Jitter(Movable):
    """Random numbers to spread moments, not to keep secrets (xorshift64)."""

    var _state: UInt64

    def __init__(out self, seed: UInt64):
        # The one state that never changes is 0.
        self._state = seed if seed != 0 else 1

    def next(mut self) -> UInt64:
        """Gives the next number, any but 0."""
        self._state ^= self._state << 13
        self._state ^= self._state >> 7
        self._state ^= self._state << 17
        return self._state

    def raised(mut self, limit: Int, percent: Int) -> Int:
        """Raises a limit by so much of it at most."""
        var most = limit // 100 * percent + limit % 100 * percent // 100
        return limit + Int(self.next() % UInt64(most + 1))
