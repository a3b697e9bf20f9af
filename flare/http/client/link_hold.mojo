"""Holding a connection that threads share."""

from flare.http.client.http2_link import Http2Link
from flare.http.client.link_crowd import Crowd
from flare.sys.mutex import MutexGuard
from std.memory import ArcPointer


struct LinkHold(Movable):
    """The lock on a connection that threads share; nothing on one of a single
    thread. At its end those are woken for whom there is news.

    It is held for what never waits, and while no code of the program runs.
    """

    var _link: Optional[ArcPointer[Http2Link]]
    var _guard: Optional[MutexGuard[Crowd, ImmUntrackedOrigin]]

    @always_inline
    def __init__(out self, link: ArcPointer[Http2Link], is_shared: Bool):
        """Waits for the lock if the connection `is_shared`; else this does
        nothing."""
        self._link = None
        self._guard = None
        if is_shared:
            self._begin(link)

    @always_inline
    def __deinit__(deinit self):
        if self._guard:
            self._end()

    @no_inline
    def _begin(mut self, link: ArcPointer[Http2Link]):
        self._link = link
        # SAFETY: the lock is the link's, which `_link` keeps.
        self._guard = (
            Pointer(to=link[].crowd.value())
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin]()[]
            .lock()
        )

    @no_inline
    def _end(mut self):
        var link = self._link.take()
        var guard = self._guard.take()
        guard[].tell(link[].woken)
        link[].woken.clear()
        if link[].wants_write():
            guard[].watch_writing()
        if link[].has_more:
            guard[].ring_leader()
        deinit(guard^)
        _ = link^

    def settle(mut self):
        """Notes who has news."""
        ref link = self._link.value()[]
        self._guard.value()[].tell(link.woken)
        link.woken.clear()

    def crowd(mut self) -> ref[self._guard.value()[]] Crowd:
        """Reaches those that share it."""
        return self._guard.value()[]
