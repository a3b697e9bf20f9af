"""What a parser finds in a form, as text."""

from flare.bytes.ascii import write_escaped
from flare.http.multipart.parser import (
    MultipartError,
    MultipartEvent,
    MultipartLimits,
    MultipartParser,
)


struct MultipartLog(Movable):
    """The parts of a form, fed in pieces; content joined together."""

    var text: String
    """What was found so far."""
    var data_len: Int
    """Content of all parts, in bytes."""
    var _parser: MultipartParser
    var _data: List[UInt8]

    def __init__(
        out self,
        boundary: StringSpan,
        limits: MultipartLimits = MultipartLimits(),
    ):
        """Starts a form."""
        self.text = String()
        self.data_len = 0
        self._parser = MultipartParser(boundary, limits)
        self._data = List[UInt8]()

    def feed(mut self, octets: Span[UInt8, _]) raises MultipartError:
        """Feeds a piece and notes what it brings."""
        self._parser.receive(octets)
        while True:
            var event = self._parser.next_event()
            if event == MultipartEvent.PART:
                self._note_part()
            elif event == MultipartEvent.DATA:
                self._data.extend(self._parser.data())
            elif event == MultipartEvent.PART_END:
                self.data_len += len(self._data)
                write_escaped(self._data, self.text)
                self.text.write("|")
                self._data.clear()
            else:
                return

    def finish(mut self) raises MultipartError:
        """Ends the form."""
        self._parser.finish()

    def _note_part(mut self):
        ref part = self._parser.part
        self.text.write(part.name)
        if part.filename:
            self.text.write("(", part.filename.value(), ")")
        if part.content_type != "text/plain":
            self.text.write("[", part.content_type, "]")
        self.text.write("=")


def read_whole(
    boundary: StringSpan,
    octets: Span[UInt8, _],
    limits: MultipartLimits = MultipartLimits(),
) raises MultipartError -> String:
    """Reads a form at once."""
    var log = MultipartLog(boundary, limits)
    log.feed(octets)
    log.finish()
    return log.text


def read_in_pieces(
    boundary: StringSpan, octets: Span[UInt8, _], cuts: List[Int]
) raises MultipartError -> String:
    """Reads a form cut at some offsets, the first and the last included."""
    var log = MultipartLog(boundary)
    for index in range(len(cuts) - 1):
        log.feed(octets[cuts[index] : cuts[index + 1]])
    log.finish()
    return log.text
