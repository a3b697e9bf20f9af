"""Where the content of a request under way comes from, of any type."""

from flare.http.message.body import Erased, destroy, erase
from flare.io.stream import Readable


comptime _Read = def(Erased, Span[UInt8, MutUntrackedOrigin]) raises thin -> Int


def _read[
    R: Readable
](source: Erased, room: Span[UInt8, MutUntrackedOrigin]) raises -> Int:
    # SAFETY: made from an `R` that lives until `destroy[R]`; the room is the
    # caller's of `UploadSource.read`, for the time of that call.
    ref reader = source.unsafe_bitcast[R]()[]
    try:
        return reader.read(room)
    except error:
        raise Error(String(error))


struct UploadSource(Readable):
    """A source whose type its users do not see; it owns the source."""

    # SAFETY: `_source` is owned by this value, which ends it with `_drop`.
    var _source: Erased
    var _read: _Read
    var _drop: def(Erased) thin -> None

    def __init__[R: Readable](out self, var source: R):
        self._source = erase(source^)
        self._read = _read[R]
        self._drop = destroy[R]

    def __deinit__(deinit self):
        self._drop(self._source)

    def read(mut self, room: MutSpan[UInt8, _]) raises -> Int:
        """Reads the next piece. Returns how many octets, 0 at the end; raises
        if the source fails."""
        # SAFETY: the room outlives the call, and is not kept.
        var lent = Span[UInt8, MutUntrackedOrigin](
            unsafe_ptr=room.unsafe_ptr().unsafe_origin_cast[
                MutUntrackedOrigin
            ](),
            length=len(room),
        )
        return self._read(self._source, lent)
