"""What carries the messages of a hub to the hubs of other processes."""

from flare.bytes.buffer import Buffer


@fieldwise_init
struct Handover(Equatable, ImplicitlyCopyable):
    """What becomes of a message that was given to a backplane."""

    var _value: Int

    comptime COMES_BACK = Self(0)
    """It comes to its sender, too, in its place among those of others."""
    comptime GOES_OUT = Self(1)
    """It goes to the others; its sender delivers it to its own clients now."""
    comptime STAYS = Self(2)
    """It goes to nobody else, and was counted as dropped; its sender delivers
    it to its own clients."""


struct BackplaneCounts(Copyable, Movable):
    """Figures of one process, for logs and metrics."""

    var sent: Int
    """Messages that were given to the backplane."""
    var received: Int
    """Messages of other processes that were delivered."""
    var dropped: Int
    """Own messages that no other process gets: the lock or the queue was not
    to be had."""
    var refused: Int
    """Own messages that were too long, and were delivered to nobody."""
    var lost: Int
    """Messages of others that never came, by their numbers."""
    var repeated: Int
    """Messages that came again, and were passed over."""
    var malformed: Int
    """What came and was no message."""
    var waiting: Int
    """Own messages that wait for the engine."""
    var gaps: Int
    """Times that the connection to the engine was lost."""

    def __init__(out self):
        """Makes figures of nothing."""
        self.sent = 0
        self.received = 0
        self.dropped = 0
        self.refused = 0
        self.lost = 0
        self.repeated = 0
        self.malformed = 0
        self.waiting = 0
        self.gaps = 0


trait Backplane(Copyable, Deinitable, Movable):
    """Carries messages between the hubs of several processes.

    A hub gives it one value, and copies of that which are the same backplane:
    `connect`, `publish` and `receive` are called on one of them, by one thread
    at a time; `wait` on another, by a thread of its own.
    """

    comptime IS_LOCAL: Bool = False
    """True if there are no other processes; then nothing is called."""

    def connect(mut self, *, wants_past: Bool) raises:
        """Joins, in the process that serves; again in each child of a fork.

        Args:
            wants_past: True to receive what is kept of earlier messages, too.

        Raises:
            Error: If it cannot; the hub tries again.
        """
        ...

    def publish(
        mut self, octets: Span[UInt8, _], *, wants_order: Bool
    ) -> Handover:
        """Sends a message to all processes, and gives what becomes of it.

        It waits for at most some milliseconds.

        Args:
            octets: The message, no longer than `message_len_max`.
            wants_order: True if all are to have the messages in one order, so
                that it comes back, if that can be.
        """
        ...

    def receive(mut self, mut out: Buffer) -> Bool:
        """Takes the next message, without waiting; gives False if there is
        none.

        Args:
            out: Where to append it.
        """
        ...

    def wait(mut self, timeout_ms: Int):
        """Waits until there may be something to receive.

        Args:
            timeout_ms: Longest wait.
        """
        ...

    def interrupt(self):
        """Has the wait of this process end soon: at once, or when what it waits
        for at the moment does."""
        ...

    def message_len_max(self) -> Int:
        """Tells how many bytes a message may have."""
        ...

    def has_order(self) -> Bool:
        """Tells whether messages that are published with `wants_order` reach
        all processes in one order, and earlier ones a process that joins."""
        return False

    def add_counts(self, mut counts: BackplaneCounts):
        """Adds what only the backplane knows.

        Args:
            counts: The figures so far.
        """
        ...


struct LocalBackplane(Backplane):
    """No other processes: a hub is its process's own. The default."""

    comptime IS_LOCAL: Bool = True
    """There is nothing to call."""

    def __init__(out self):
        """Makes it."""
        pass

    def connect(mut self, *, wants_past: Bool) raises:
        """Does nothing.

        Raises:
            Error: Never.
        """
        return

    def publish(
        mut self, octets: Span[UInt8, _], *, wants_order: Bool
    ) -> Handover:
        """Sends nothing, and gives that there is nobody else."""
        return Handover.GOES_OUT

    def receive(mut self, mut out: Buffer) -> Bool:
        """Receives nothing, and gives False."""
        return False

    def wait(mut self, timeout_ms: Int):
        """Does not wait."""
        return

    def interrupt(self):
        """Does nothing."""
        return

    def message_len_max(self) -> Int:
        """Tells no bound: the largest number."""
        return Int.MAX

    def add_counts(self, mut counts: BackplaneCounts):
        """Adds nothing."""
        return
