"""Content that a request brings piece by piece, read in portions of any length."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *


struct PieceReader(Movable):
    """Reads what was taken out of the pieces first, and then the piece that is
    there.

    Who asks for the next piece when this one is read lends it to each call, and
    has it back empty.
    """

    var ahead: Buffer
    """Content that was taken out of pieces and is not read yet."""
    # How much of the piece was read, in bytes.
    var _offset: Int

    def __init__(out self):
        self.ahead = Buffer(0)
        self._offset = 0

    def has_more_of(self, piece: List[UInt8]) -> Bool:
        """Tells whether something of the piece is not read."""
        return self._offset < len(piece)

    def read_ahead(mut self, room: MutSpan[UInt8, _]) -> Int:
        """Reads what was taken out before; tells how many octets."""
        var count = min(len(room), len(self.ahead))
        room.before(count).copy_from(self.ahead.span().before(count))
        self.ahead.consume(count)
        return count

    def read(mut self, mut piece: List[UInt8], room: MutSpan[UInt8, _]) -> Int:
        """Reads of the piece; tells how many octets."""
        var count = min(len(room), len(piece) - self._offset)
        room.before(count).copy_from(piece[self._offset : self._offset + count])
        self._offset += count
        if self._offset == len(piece):
            self._drop(piece)
        return count

    def take_ahead(mut self, mut piece: List[UInt8]):
        """Takes all that is left of the piece out of it."""
        self.ahead.append(piece[self._offset :])
        self._drop(piece)

    def move_all(mut self, mut piece: List[UInt8], mut octets: List[UInt8]):
        """Appends all that is left of the piece, behind which nothing was taken
        out, to some octets."""
        octets.extend(piece[self._offset :])
        self._drop(piece)

    def _drop(mut self, mut piece: List[UInt8]):
        piece.clear()
        self._offset = 0
