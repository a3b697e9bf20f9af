"""The right to have one more connection open, wherever the connection goes."""

from flare.bytes.erased import Erased, destroy, erase


comptime _KEPT = -1


trait SlotKeeper(Deinitable, Movable):
    """What counts connections and is told when one is no more."""

    def release(self, host: Int):
        """Counts one connection less for where it led, by the number that the
        slot was made with."""
        ...


def _end[K: SlotKeeper](keeper: Erased, host: Int):
    # SAFETY: made by `ConnectionSlot` of this very type, and ended once.
    if host != _KEPT:
        keeper.unsafe_bitcast[K]()[].release(host)
    destroy[K](keeper)


struct ConnectionSlot(Movable):
    """One connection that a pool counts as open: it is counted no more when the
    slot is dropped, with the connection or because none was made.

    The pool's type is erased, since the pool holds connections, and each of
    them a slot.
    """

    var host: Int
    """The pool's number for where the connection leads."""
    # SAFETY: its own, until one of its two ends.
    var _keeper: Erased
    var _end: def(Erased, Int) thin -> None

    def __init__[K: SlotKeeper](out self, var keeper: K, host: Int):
        """Takes a connection that the pool has counted, by its number for where
        that leads."""
        self.host = host
        self._keeper = erase(keeper^)
        self._end = _end[K]

    def __deinit__(deinit self):
        self._end(self._keeper, self.host)

    def keep(deinit self):
        """Ends without telling the pool, which has the connection back."""
        self._end(self._keeper, _KEPT)
