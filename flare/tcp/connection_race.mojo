"""Which of several addresses to try when: Happy Eyeballs (RFC 8305).

A race has one attempt for each address, in the order of the list:

    waiting --start--> under way --success--> won (the race is over)
                           |
                           +------failure--> failed

No clock and no socket is in here: the caller says what time it is and what
became of an attempt, and is told what to do next.
"""

comptime ATTEMPT_DELAY_MS = 250
"""Time between the starts of two attempts, in milliseconds (RFC 8305 section
5: the recommended fixed delay; 10 at least, 2000 at most)."""


struct RaceStep(Equatable, TrivialRegisterPassable, Writable):
    """What to do next."""

    var kind: Int
    """Which of the steps below."""
    var value: Int
    """Of `start` the address, of `wait` a moment in milliseconds."""

    comptime _START = 0
    comptime _WAIT = 1
    comptime _WON = 2
    comptime _ALL_FAILED = 3
    comptime _TOO_LATE = 4

    comptime WON = RaceStep(RaceStep._WON)
    """There is a connection: close all others."""
    comptime ALL_FAILED = RaceStep(RaceStep._ALL_FAILED)
    """No address is left."""
    comptime TOO_LATE = RaceStep(RaceStep._TOO_LATE)
    """The deadline is over: close all."""

    def __init__(out self, kind: Int, value: Int = 0):
        """Makes a step.

        Args:
            kind: Which.
            value: The address or the moment.
        """
        self.kind = kind
        self.value = value

    @staticmethod
    def start(index: Int) -> Self:
        """Tells to start an attempt.

        Args:
            index: The address.

        Returns:
            The step.
        """
        return Self(Self._START, index)

    @staticmethod
    def wait(until_ms: Int) -> Self:
        """Tells to wait for the attempts that are under way.

        Args:
            until_ms: For how long at most: a moment.

        Returns:
            The step.
        """
        return Self(Self._WAIT, until_ms)

    def is_start(self) -> Bool:
        """Tells whether an attempt is to be started.

        Returns:
            True if so; `value` is the address.
        """
        return self.kind == Self._START

    def is_wait(self) -> Bool:
        """Tells whether there is nothing to do but wait.

        Returns:
            True if so; `value` is the moment to ask again.
        """
        return self.kind == Self._WAIT

    def write_to(self, mut writer: Some[Writer]):
        """Writes the step as text.

        Args:
            writer: Where to.
        """
        comptime names = ["start ", "wait ", "won", "all failed", "too late"]
        var name = materialize[names]()[self.kind]
        writer.write(name)
        if self.kind <= Self._WAIT:
            writer.write(self.value)


struct ConnectionRace(Movable):
    """Attempts at several addresses, started one after the other.

    Source: RFC 8305 section 5. The next attempt starts a fixed delay after the
    one before, or as soon as an attempt fails; the first success ends the race.
    """

    var _address_count: Int
    var _deadline_ms: Int
    var _started_count: Int
    var _failed_count: Int
    var _next_start_ms: Int
    var _is_won: Bool

    def __init__(out self, address_count: Int, now_ms: Int, deadline_ms: Int):
        """Begins a race; the first attempt starts at once.

        Args:
            address_count: How many addresses there are.
            now_ms: What time it is.
            deadline_ms: When to give up.
        """
        self._address_count = address_count
        self._deadline_ms = deadline_ms
        self._started_count = 0
        self._failed_count = 0
        self._next_start_ms = now_ms
        self._is_won = False

    def next_step(mut self, now_ms: Int) -> RaceStep:
        """Decides what to do; a step that starts an attempt counts as done.

        Args:
            now_ms: What time it is.

        Returns:
            The step.
        """
        if self._is_won:
            return RaceStep.WON
        if self.has_all_failed():
            return RaceStep.ALL_FAILED
        if now_ms >= self._deadline_ms:
            return RaceStep.TOO_LATE
        if self._started_count == self._address_count:
            return RaceStep.wait(self._deadline_ms)
        if now_ms < self._next_start_ms:
            return RaceStep.wait(min(self._next_start_ms, self._deadline_ms))
        self._started_count += 1
        self._next_start_ms = now_ms + ATTEMPT_DELAY_MS
        return RaceStep.start(self._started_count - 1)

    def has_all_failed(self) -> Bool:
        """Tells whether no address is left.

        Returns:
            True if each has failed; there may have been none.
        """
        return self._failed_count == self._address_count

    def failed_count(self) -> Int:
        """Counts the attempts that have failed.

        Returns:
            How many there are.
        """
        return self._failed_count

    def failed(mut self, now_ms: Int):
        """Notes that an attempt has failed: the next one starts at once.

        Args:
            now_ms: What time it is.
        """
        self._failed_count += 1
        self._next_start_ms = now_ms

    def succeeded(mut self):
        """Notes that an attempt has succeeded."""
        self._is_won = True
