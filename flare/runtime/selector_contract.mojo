"""What every selector does."""

from flare.runtime.event import Event, Interest
from flare.sys.errno import OsError


trait SelectorContract(Deinitable, Movable):
    """Watches descriptors and hands back the token of each that is ready.

    A descriptor is registered once. One wait may answer a token twice, and
    closing a descriptor ends its events from the next wait on: a token that
    has a generation in it tells a late event from one of a successor.
    """

    def __init__(out self, capacity: Int) raises OsError:
        """Makes a selector.

        Args:
            capacity: Most events of one wait.

        Raises:
            OsError: If the kernel refuses.
        """
        ...

    def register(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        """Starts watching a descriptor.

        Args:
            number: The descriptor; stays its owner's.
            token: Handed back with its events.
            interest: What to watch for.

        Raises:
            OsError: If the kernel refuses.
        """
        ...

    def modify(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        """Changes what a descriptor is watched for.

        Args:
            number: The descriptor.
            token: Handed back with its events from now on.
            interest: What to watch for.

        Raises:
            OsError: If the kernel refuses.
        """
        ...

    def deregister(mut self, number: Int32) raises OsError:
        """Stops watching a descriptor; closing it does so too.

        Args:
            number: The descriptor.

        Raises:
            OsError: If it is not watched.
        """
        ...

    def wait(mut self, timeout_ms: Int) raises OsError -> Int:
        """Waits for events.

        Args:
            timeout_ms: Longest wait; 0 does not wait, -1 has no end.

        Returns:
            How many there are; a signal in between gives 0.

        Raises:
            OsError: If the kernel refuses.
        """
        ...

    def event(self, index: Int) -> Event:
        """Reads one event of the last wait.

        Args:
            index: At least 0 and less than what `wait` answered.

        Returns:
            The event.
        """
        ...
