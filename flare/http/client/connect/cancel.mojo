"""Ending requests from outside."""

from flare.http.client.connect.error import Cancelled, ClientError, Phase
from flare.http.message.request import CancelWatcher, Request
from flare.runtime.event import Waker
from flare.sys.clock import Deadline
from flare.sys.errno import OsError
from flare.sys.poll import POLL_READ, pause, wait_for
from std.atomic import Atomic, Ordering
from std.memory import ArcPointer


struct CancelToken(CancelWatcher):
    """Ends requests that are under way, from any thread; copies are the same.

        var token = CancelToken()
        var request = ClientRequest("GET", "/slow")
        request.cancel = token
        # ... and on another thread
        token.cancel()

    One token may belong to any number of requests, of several clients and
    threads: each ends at once with a `ClientError` of the kind `Cancelled`,
    whatever it waits for, and its connection is closed; over HTTP/2 only the
    stream ends. A request that is begun later fails before it is sent.
    """

    var _state: ArcPointer[_CancelState]

    def __init__(out self) raises OsError:
        """Makes a token.

        Raises:
            OsError: If the process has no more descriptors.
        """
        self._state = ArcPointer(_CancelState(Waker()))

    @staticmethod
    def of(req: Request) raises OsError -> Self:
        """Makes a token that ends what a handler asks of others when nobody
        waits for its own response any more.

            request.cancel = CancelToken.of(req)
            return ok(client.send(request^).text())

        It is cancelled once `req.cancelled()` is True: the client has gone, the
        handler's time is over, or the server ends; on a worker's own thread
        that is never. Further calls for the same request give the same token.

        Args:
            req: The request that the handler answers.

        Returns:
            The token; it may outlive the request.

        Raises:
            OsError: If the process has no more descriptors.
        """
        return req.watch_cancelled(Self())

    def on_cancelled(self):
        """Ends the requests."""
        self.cancel()

    def cancel(self):
        """Ends the requests; more calls change nothing."""
        var expected = Int64(0)
        if self._state[].flag.compare_exchange(expected, 1):
            self._state[].bell.wake()

    def is_cancelled(self) -> Bool:
        """Tells whether `cancel` was called."""
        return self._state[].flag.load[ordering=Ordering.ACQUIRE]() != 0

    def fd(self) -> Int32:
        """Lends a descriptor to wait for, good while a copy of the token lives:
        it can be read once `cancel` was called."""
        return self._state[].bell.fd()

    def error(self, phase: Phase) -> ClientError:
        """Gives the error of a request that was ended.

        Args:
            phase: What it was at.
        """
        return ClientError(
            phase, Cancelled, "the program has cancelled the request"
        )


def pause_unless_cancelled(
    token: Optional[CancelToken], time_ms: Int
) raises ClientError:
    """Waits before another request, in milliseconds. Raises `Cancelled` at once
    when the token of the requests says so, if they have one."""
    if not token:
        pause(time_ms)
        return
    _ = wait_for(token.value().fd(), POLL_READ, Deadline(time_ms))
    if token.value().is_cancelled():
        raise token.value().error(Phase.CONNECT)


struct _CancelState(Movable):
    var flag: Atomic[Int64]
    # Rung once, and never silenced: all who wait are woken.
    var bell: Waker

    def __init__(out self, var bell: Waker):
        self.flag = Atomic[Int64](0)
        self.bell = bell^
