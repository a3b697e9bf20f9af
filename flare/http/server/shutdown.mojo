"""Requests to stop a server, from other threads and from signals."""

from flare.bytes.checked import *
from flare.runtime.event import Waker
from flare.sys.errno import OsError
from flare.sys.signal import SIGINT, SIGTERM, SignalPipe


struct ShutdownSignal(Movable):
    """Counts requests to stop: the first drains, the second ends at once.

    A worker process is not ended by signals: one to a whole process group
    (`kill -TERM -PGID`, systemd's `KillMode=control-group`) comes beside the
    master's own, and is no second request. Whatever number of them has come,
    they are one; the master ends its workers itself.
    """

    var lifeline_fd: Int32
    """Becomes readable when the worker's master has ended; -1 without one."""
    var _waker: Waker
    var _signals: Optional[SignalPipe]
    var _has_master: Bool
    var _is_signalled: Bool

    def __init__(
        out self,
        var waker: Waker,
        handles_signals: Bool,
        signals: List[Int] = [SIGTERM, SIGINT],
        lifeline_fd: Int32 = -1,
        has_master: Bool = False,
    ) raises OsError:
        """Starts to listen for requests.

        Args:
            waker: Rung by other threads, once a request.
            handles_signals: True to count signals too.
            lifeline_fd: A descriptor that becomes readable when the
                worker's master has ended, or -1.
            has_master: True if all signals together are one request, since a
                master ends this process.

        Raises:
            OsError: If handlers cannot be installed.
        """
        self._waker = waker^
        self.lifeline_fd = lifeline_fd
        self._signals = None
        self._has_master = has_master
        self._is_signalled = False
        if handles_signals:
            self._signals = SignalPipe(signals)

    def waker_fd(self) -> Int32:
        """Lends the descriptor of the waker.

        Returns:
            A descriptor to watch.
        """
        return self._waker.fd()

    def signal_fd(self) -> Int32:
        """Lends the descriptor of the signals.

        Returns:
            A descriptor to watch, or -1.
        """
        if not self._signals:
            return -1
        return self._signals.held().fd()

    def take(mut self) -> Int:
        """Takes the requests that have come, and counts them."""
        var count = self._waker.drain()
        if not self._signals:
            return count
        var signal_count = len(self._signals.held().take())
        if self._has_master:
            if self._is_signalled:
                return count
            signal_count = min(signal_count, 1)
        self._is_signalled |= signal_count > 0
        return count + signal_count
