"""One request that waits until an upstream has room, and goes on then as any other
does.

    waiting --> Exchange or StreamExchange
       \\--> 503: its time is over, or there is nothing left to wait for
"""

from flare.bytes.checked import *
from flare.http.handler.later import Completion, Errand
from flare.http.proxy.exchange import Exchange
from flare.http.proxy.stream_exchange import StreamExchange
from flare.http.proxy.upstreams import Pick
from flare.runtime.event import Event
from flare.runtime.worker_loop import LoopTask
from flare.sys.clock import coarse_monotonic_ms
from std.memory import ArcPointer


struct QueuedExchange(Errand, LoopTask):
    """A request without an upstream."""

    var plain: ArcPointer[Exchange]
    """The request, for an upstream that is asked over HTTP/1.1."""
    var stream: Optional[ArcPointer[StreamExchange]]
    """The same for one that may speak HTTP/2; nothing if that is not to be asked
    so."""
    var _completion: Optional[Completion]
    var _token: UInt64

    def __init__(
        out self,
        plain: ArcPointer[Exchange],
        var stream: Optional[ArcPointer[StreamExchange]],
    ):
        """Takes a request.

        Args:
            plain: The request.
            stream: The same for an upstream that may speak HTTP/2.
        """
        self.plain = plain.copy()
        self.stream = stream^
        self._completion = None
        self._token = 0

    @staticmethod
    def begin(errand: ArcPointer[Self], var completion: Completion):
        """Waits, if it may.

        Args:
            errand: The exchange.
            completion: Takes the response.
        """
        ref x = errand[]
        x._completion = completion^
        var loop = x.plain[].loop.copy()
        x._token = loop[].add(errand)
        ref line = x.plain[].worker[].line
        if not line or not x.plain[].place.wait(line.held()[].number, x._token):
            return _refuse(errand)
        ref group = x.plain[].worker[].shared[].group
        loop[].set_deadline(
            x._token, coarse_monotonic_ms() + group.queue_timeout_ms
        )

    @staticmethod
    def on_content(errand: ArcPointer[Self]):
        """Sends what has come of the content, once there is an upstream.

        Args:
            errand: The exchange.
        """
        if errand[].stream:
            StreamExchange.on_content(errand[].stream.held())
        else:
            Exchange.on_content(errand[].plain)

    @staticmethod
    def cancel(errand: ArcPointer[Self]):
        """Waits no longer, and gives the upstream up, since the client has gone.

        Args:
            errand: The exchange.
        """
        _leave(errand)
        errand[]._completion = None
        if errand[].stream:
            StreamExchange.cancel(errand[].stream.held())
        else:
            Exchange.cancel(errand[].plain)

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        """Goes on with the upstream that the wait has brought, if there is one.

        Args:
            task: The exchange.
            event: Of the worker's `WaitingLine`, which hands the upstream over.
        """
        ref x = task[]
        var pick = Optional[Pick](None)
        swap(pick, x.plain[].worker[].line.held()[].handed)
        if not pick:
            return
        if x.plain[].place.arrive(pick.take()):
            _go_on(task)
        else:
            _refuse(task)

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        """Refuses the request, since its time is over, unless there is an
        upstream at the last moment.

        Args:
            task: The exchange.
        """
        if task[].plain[].place.end_wait():
            _go_on(task)
        else:
            _refuse(task)


def _go_on(e: ArcPointer[QueuedExchange]):
    """Sends the request to the upstream that it has got."""
    ref x = e[]
    _leave(e)
    x.plain[].write_upstreams_host()
    ref upstream = x.plain[].place.upstream.held()[]
    ref config = x.plain[].worker[].shared[].config
    if not config.offers_http2(upstream.endpoint.is_tls):
        x.stream = None
    var completion = x._completion.take()
    if x.stream:
        StreamExchange.begin(x.stream.held(), completion^)
    else:
        Exchange.begin(x.plain, completion^)


def _leave(e: ArcPointer[QueuedExchange]):
    """Ends the wait."""
    e[].plain[].place.stop_waiting()
    e[].plain[].loop[].remove(e[]._token)


def _refuse(e: ArcPointer[QueuedExchange]):
    """Answers that there is no upstream to be had."""
    _leave(e)
    e[].stream = None
    Exchange.cancel(e[].plain)
    e[]._completion.take().finish(e[].plain[].place.no_upstream())
