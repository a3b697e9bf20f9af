"""Where any thread says that a source of content has something."""

from flare.http.message.stream_waker import StreamWaker, WakeTarget
from flare.runtime.waker import Waker
from flare.sys.errno import OsError
from flare.sys.monitor import Monitor
from std.memory import ArcPointer


struct _Tokens(Movable):
    """What threads and the worker share, under the monitor's lock."""

    var monitor: Monitor
    var tokens: List[UInt64]

    def __init__(out self) raises OsError:
        self.monitor = Monitor()
        self.tokens = []


def _put(shared: ArcPointer[_Tokens], token: UInt64) -> Bool:
    """Adds a token; True if the worker has to be woken."""
    shared[].monitor.lock()
    shared[].tokens.append(token)
    var is_first = len(shared[].tokens) == 1
    shared[].monitor.unlock()
    return is_first


def _take(shared: ArcPointer[_Tokens]) -> List[UInt64]:
    var tokens = List[UInt64]()
    shared[].monitor.lock()
    swap(tokens, shared[].tokens)
    shared[].monitor.unlock()
    return tokens^


@fieldwise_init
struct _Slit(WakeTarget):
    """The side of a mailbox that anybody reaches."""

    var shared: ArcPointer[_Tokens]
    var waker: Waker

    def wake(self, token: UInt64):
        if _put(self.shared, token):
            self.waker.wake()


struct Mailbox(Movable):
    """Tokens of connections whose sources have something, for one worker."""

    var _shared: ArcPointer[_Tokens]
    var _waker: Waker

    def __init__(out self) raises OsError:
        """Makes an empty mailbox.

        Raises:
            OsError: If the process has no more descriptors.
        """
        self._shared = ArcPointer(_Tokens())
        self._waker = Waker()

    def number(self) -> Int32:
        """Lends the descriptor that is readable when there are tokens.

        Returns:
            A descriptor, good while this value lives.
        """
        return self._waker.number()

    def waker_for(self, token: UInt64) -> StreamWaker:
        """Makes what a source rings.

        Args:
            token: The connection's.

        Returns:
            A waker, which may outlive the connection and this mailbox.
        """
        return StreamWaker(
            _Slit(self._shared.copy(), self._waker.copy()), token
        )

    def take(mut self) -> List[UInt64]:
        """Takes what has come.

        Returns:
            Tokens; some may be there twice, or of connections that are gone.
        """
        _ = self._waker.drain()
        return _take(self._shared)
