"""Requests to stop a server, from other threads and from signals."""

from flare.runtime.waker import Waker
from flare.sys.errno import OsError
from flare.sys.signal import SIGINT, SIGTERM, SignalBell


struct StopRequests(Movable):
    """Counts requests to stop: the first drains, the second ends at once."""

    var lifeline_number: Int32
    """Becomes readable when the worker's master has ended; -1 without one."""
    var _waker: Waker
    var _signals: Optional[SignalBell]

    def __init__(
        out self,
        var waker: Waker,
        handles_signals: Bool,
        signals: List[Int] = [SIGTERM, SIGINT],
        lifeline_number: Int32 = -1,
    ) raises OsError:
        """Starts to listen for requests.

        Args:
            waker: Rung by other threads, once a request.
            handles_signals: True to count signals too.
            signals: Which.
            lifeline_number: A descriptor that becomes readable when the
                worker's master has ended, or -1.

        Raises:
            OsError: If handlers cannot be installed.
        """
        self._waker = waker^
        self.lifeline_number = lifeline_number
        self._signals = None
        if handles_signals:
            self._signals = SignalBell(signals)

    def waker_number(self) -> Int32:
        """Lends the descriptor of the waker.

        Returns:
            A descriptor to watch.
        """
        return self._waker.number()

    def signal_number(self) -> Int32:
        """Lends the descriptor of the signals.

        Returns:
            A descriptor to watch, or -1.
        """
        if not self._signals:
            return -1
        return self._signals.value().number()

    def take(mut self) -> Int:
        """Takes the requests that have come.

        Returns:
            How many.
        """
        var count = self._waker.drain()
        if self._signals:
            count += len(self._signals.value().take())
        return count
