"""Content of a response that lies in a file."""

from flare.bytes.buffer import Buffer
from flare.http.conditional.range import ByteRange, ByterangesLayout
from flare.http.message.body import BodySource, FileRegion, Poll
from flare.sys.file import File
from std.memory import ArcPointer

comptime FILE_PIECE_LEN = 64 * 1024
"""How much of a file is read at a time, in bytes."""


struct FileSource(BodySource, Movable):
    """A file, a range of one, or several with their lines between.

    The parts in turn are a text, which may be empty, and a region of the file.
    Memory is used for one piece at a time, however long the file is.
    """

    var _file: ArcPointer[File]
    var _texts: List[String]
    var _ranges: List[ByteRange]
    var _index: Int
    # How much of the part's text, and then of its range, is gone.
    var _text_sent: Bool
    var _range_done: Int

    def __init__(out self, file: ArcPointer[File], range: ByteRange):
        """Takes one range of a file.

        Args:
            file: The file; others may send from it at the same time.
            range: What is sent of it; may be of length 0.
        """
        self._file = file
        self._texts = [String()]
        self._ranges = [range]
        self._index = 0
        self._text_sent = True
        self._range_done = 0

    def __init__(out self, file: ArcPointer[File], layout: ByterangesLayout):
        """Takes several ranges of a file.

        Args:
            file: The file; others may send from it at the same time.
            layout: What is sent of it, and what between.
        """
        self._file = file
        self._texts = List[String]()
        self._ranges = List[ByteRange]()
        for index in range(layout.part_count()):
            self._texts.append(layout.head(index))
            self._ranges.append(layout.part_range(index))
        self._texts.append(layout.tail())
        self._ranges.append(ByteRange(0, 0))
        self._index = 0
        self._text_sent = False
        self._range_done = 0

    def region(self) -> FileRegion:
        """Tells what comes next, if that lies in the file.

        Returns:
            The region; of length 0 if a text comes next, or nothing.
        """
        if self._index == len(self._ranges) or not self._text_sent:
            return FileRegion.none()
        var rest = self._ranges[self._index]
        return FileRegion(
            self._file[].fd(),
            rest.start + self._range_done,
            rest.length - self._range_done,
        )

    def advance(mut self, count: Int):
        """Goes on behind octets of the region that were sent as they lie.

        Args:
            count: How many; at most the region's length.
        """
        self._range_done += count
        while (
            self._index < len(self._ranges)
            and self._text_sent
            and self._range_done >= self._ranges[self._index].length
        ):
            self._index += 1
            self._range_done = 0
            self._text_sent = (
                self._index < len(self._texts)
                and self._texts[self._index].byte_length() == 0
            )

    def fill(mut self, mut out: Buffer) raises -> Poll:
        """Appends the next piece.

        Args:
            out: Where to.

        Returns:
            `READY` or `DONE`.

        Raises:
            Error: If the file cannot be read, or has become shorter.
        """
        self.advance(0)
        if self._index == len(self._ranges):
            return Poll.DONE
        if not self._text_sent:
            out.append(self._texts[self._index].as_bytes())
            self._text_sent = True
            self.advance(0)
        var region = self.region()
        if region.length > 0:
            out.reserve(min(region.length, FILE_PIECE_LEN))
            var room = out.spare()
            var wanted = min(min(region.length, FILE_PIECE_LEN), len(room))
            var count = self._file[].read_at(room[:wanted], region.offset)
            if count == 0:
                raise Error(
                    "the file ends at byte ",
                    region.offset,
                    "; it was longer when its response began",
                )
            out.commit(count)
            self.advance(count)
        if self._index == len(self._ranges):
            return Poll.DONE
        return Poll.READY
