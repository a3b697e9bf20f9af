"""Events of descriptors, what a selector is, and the waker."""

from flare.sys.errno import OsError
from flare.sys.descriptor import Pipe
from std.memory import ArcPointer


@fieldwise_init
struct Interest(Equatable, ImplicitlyCopyable):
    """What a descriptor is watched for. Combine with `|`."""

    var bits: UInt8
    """The cases, or-ed."""

    comptime NONE = Interest(0)
    """Nothing."""
    comptime READ = Interest(1)
    """Octets, connections or the end of the stream can be read."""
    comptime WRITE = Interest(2)
    """Octets can be written."""
    comptime EDGE = Interest(4)
    """Report a change once, not a state again and again."""
    comptime EXCLUSIVE = Interest(8)
    """Wake one of several selectors that watch the same descriptor, not all
    of them; a hint, which kqueue does not know."""
    comptime STREAM = Interest(7)
    """Reading and writing, edge-triggered: a connection, registered once."""

    @always_inline
    def __or__(self, other: Self) -> Self:
        """Gives both interests as one.

        Args:
            other: An interest.
        """
        return Self(self.bits | other.bits)

    @always_inline
    def has(self, other: Self) -> Bool:
        """Tells whether a case is part of the interest.

        Args:
            other: A case.
        """
        return (self.bits & other.bits) != 0


struct Event(ImplicitlyCopyable):
    """Readiness of one descriptor."""

    var token: UInt64
    """What the descriptor was registered with."""
    var is_readable: Bool
    """A read will not wait; it may answer the end of the stream or an error."""
    var is_writable: Bool
    """A write will not wait; it may answer an error."""
    var is_closed: Bool
    """The peer has ended its direction, or the descriptor has an error."""
    var has_failed: Bool
    """The descriptor has an error, such as a reset: nothing goes either way any
    more, whatever can still be read."""

    @always_inline
    def __init__(
        out self,
        token: UInt64,
        is_readable: Bool,
        is_writable: Bool,
        is_closed: Bool,
        has_failed: Bool = False,
    ):
        """Makes an event."""
        self.token = token
        self.is_readable = is_readable
        self.is_writable = is_writable
        self.is_closed = is_closed
        self.has_failed = has_failed

    @staticmethod
    @always_inline
    def readable(token: UInt64) -> Self:
        """Gives the event of what can be read, and nothing else.

        Args:
            token: What the event is known by.
        """
        return Self(token, True, False, False)

    @staticmethod
    @always_inline
    def writable(token: UInt64) -> Self:
        """Gives the event of what can be written, and nothing else."""
        return Self(token, False, True, False)

    @staticmethod
    @always_inline
    def nothing(token: UInt64) -> Self:
        """Gives the event of who is to go on though nothing is known to be
        ready: neither readable nor writable."""
        return Self(token, False, False, False)

    @staticmethod
    @always_inline
    def everything(token: UInt64) -> Self:
        """Gives the event of who is to look for itself what is ready: readable
        and writable, and perhaps closed; not failed."""
        return Self(token, True, True, True)


trait SelectorContract(Deinitable, Movable):
    """Watches descriptors and hands back the token of each that is ready.

    A descriptor is registered once. One wait may answer a token twice, and
    closing a descriptor ends its events from the next wait on: a token that
    has a generation in it tells a late event from one of a successor.
    """

    def __init__(out self, capacity: Int) raises OsError:
        """Makes a selector that gives at most so many events at once."""
        ...

    def register(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        """Starts watching a descriptor, which stays its owner's; the token
        comes back with its events."""
        ...

    def modify(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        """Changes what a descriptor is watched for, and which token comes back
        with its events from now on."""
        ...

    def deregister(mut self, number: Int32) raises OsError:
        """Stops watching a descriptor; closing it does so too. Raises if it is
        not watched."""
        ...

    def wait(mut self, timeout_ms: Int) raises OsError -> Int:
        """Waits for events: 0 does not wait, -1 has no end. Returns how many
        there are; a signal in between gives 0."""
        ...

    def event(self, index: Int) -> Event:
        """Reads one event of the last wait, less than what it answered."""
        ...


struct Waker(Copyable, Movable):
    """A bell that a selector listens to. Copies ring the same bell.

    `wake` may be called from any thread and from a signal handler.
    """

    var _pipe: ArcPointer[Pipe]

    def __init__(out self) raises OsError:
        """Makes a bell.

        Raises:
            OsError: If the process has no more descriptors.
        """
        self._pipe = ArcPointer(Pipe())

    def fd(self) -> Int32:
        """Lends the descriptor to register for reading, good while a copy of
        this waker lives."""
        return self._pipe[].reading_fd()

    def wake(self):
        """Makes the descriptor readable until `drain` is called."""
        self._pipe[].notify()

    def drain(self) -> Int:
        """Silences the bell, and gives how often it was rung, if less than the
        pipe holds."""
        return self._pipe[].drain()
