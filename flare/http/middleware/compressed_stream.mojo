"""Content that is compressed while its source makes it."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.compress.encoder import Encoder
from flare.compress.error import Format
from flare.http.message.body import BodySource, BodyStream, HoldsSource, Poll
from std.atomic import Atomic
from std.memory import ArcPointer

comptime _KEPT_LEN_MAX = 65_536
# Content that shrinks well brings nothing out by itself for very long, while the
# worker would go on with it alone.
comptime _HEADER_LEN = 10
# Of gzip (RFC 1952 section 2.3): it comes out at once, with nothing in it.


struct StreamRoom(Movable):
    """How many contents may be compressed at once, for all workers of a process."""

    var _free: Atomic[Int64]

    def __init__(out self, count: Int):
        self._free = Atomic[Int64](Int64(count))

    def take(mut self) -> Bool:
        """Takes a place; False if there is none."""
        if self._free.fetch_sub(1) > 0:
            return True
        self.give_back()
        return False

    def give_back(mut self):
        """Gives back a place that was taken."""
        _ = self._free.fetch_add(1)


struct CompressedStream(BodySource, HoldsSource):
    """Compresses what another source makes (gzip, RFC 1952).

    What the source has made goes out when it has to wait for more, so that a
    client sees what there is; the compressor keeps none of it back.
    """

    var _inner: ArcPointer[BodyStream]
    var _room: ArcPointer[StreamRoom]
    # None before the first piece: HEAD asks for none, and it takes 270 KiB.
    var _encoder: Optional[Encoder]
    var _piece: Buffer
    # What the source has made in all, and since all of it was brought out.
    var _made_len: Int
    var _kept_len: Int

    def __init__(
        out self,
        inner: ArcPointer[BodyStream],
        room: ArcPointer[StreamRoom],
    ):
        """Begins with a source, in a place that was taken."""
        self._inner = inner.copy()
        self._room = room.copy()
        self._encoder = None
        self._piece = Buffer(0)
        self._made_len = 0
        self._kept_len = 0

    def __deinit__(deinit self):
        """Gives its place back."""
        self._room[].give_back()

    def source(self) -> ArcPointer[BodyStream]:
        return self._inner

    def fill(mut self, mut out: Buffer) raises -> Poll:
        var start = len(out)
        while True:
            self._piece.clear()
            var poll = self._inner[].fill(self._piece)
            self._compress(poll, out)
            if poll != Poll.READY or len(out) - start > _HEADER_LEN:
                return poll

    def end_early(mut self, mut out: Buffer) -> Poll:
        self._piece.clear()
        var poll = self._inner[].end_early(self._piece)
        try:
            self._compress(poll, out)
            return poll
        except:
            # Then the coding has no end, as the client finds out.
            return Poll.DONE

    def _compress(mut self, poll: Poll, mut out: Buffer) raises:
        """Compresses the piece, and brings out what is to be seen by now."""
        if not self._encoder:
            self._encoder = Encoder(Format.GZIP)
        ref encoder = self._encoder.held()
        if len(self._piece) > 0:
            encoder.receive(self._piece.span(), out)
        self._made_len += len(self._piece)
        self._kept_len += len(self._piece)
        if poll == Poll.DONE:
            self._check_length()
            encoder.finish(out)
        elif self._kept_len >= _KEPT_LEN_MAX or (
            self._kept_len > 0 and poll == Poll.PENDING
        ):
            encoder.flush(out)
            self._kept_len = 0

    def _check_length(self) raises:
        """Refuses to end content that is not as long as its source has said; the
        server cannot see it behind the coding."""
        var length = self._inner[].length.or_else(self._made_len)
        if length != self._made_len:
            raise Error("a stream of ", length, " octets made ", self._made_len)
