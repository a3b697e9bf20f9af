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
        """Starts to listen for requests: of other threads, which ring the waker
        once each, of signals if `handles_signals`, and of the end of the
        worker's master, by which `lifeline_fd` becomes readable (-1 for none).
        All signals together are one request if a master ends this process.
        Raises if handlers cannot be installed."""
        self._waker = waker^
        self.lifeline_fd = lifeline_fd
        self._signals = None
        self._has_master = has_master
        self._is_signalled = False
        if handles_signals:
            self._signals = SignalPipe(signals)

    @no_inline
    def __deinit__(deinit self):
        return

    def waker_fd(self) -> Int32:
        return self._waker.fd()

    def signal_fd(self) -> Int32:
        """Lends the descriptor of the signals, or -1."""
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
