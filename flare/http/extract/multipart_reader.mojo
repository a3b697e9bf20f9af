"""The parts of a form with files, read while they arrive."""

from flare.http.extract.upload_error import UploadError
from flare.http.message.body_reader import BodyReader
from flare.http.message.request import Request
from flare.http.multipart.parser import (
    MultipartError,
    MultipartEvent,
    MultipartLimits,
    MultipartParser,
    PartHead,
    multipart_boundary,
)
from flare.io.stream import Readable

comptime _READ_LEN = 65_536


struct MultipartReader[o: ImmOrigin](Readable):
    """Goes through a form part by part; nothing of it is kept.

        var form = MultipartReader(req, MultipartLimits(1 << 30))
        while True:
            var head = form.next_part()
            if not head:
                break
            # read the part: form.read(room) until it gives 0

    With a handler that is `Streamed` a part is read while the client sends it,
    and what follows is still to come. Memory is that of two reads.

    Parameters:
        o: Where the request's octets live.
    """

    comptime ReadError = UploadError
    """What a failed read raises."""
    var _body: BodyReader[Self.o]
    var _parser: MultipartParser
    var _room: List[UInt8]
    var _is_in_part: Bool
    # How much of the parser's data was read; all of it once it has moved on.
    var _data_offset: Int

    def __init__(
        out self,
        req: Request[Self.o],
        limits: MultipartLimits = MultipartLimits(),
    ) raises MultipartError:
        """Starts with a request's content.

        Args:
            req: A request whose content was not read yet.
            limits: How much the form may have.

        Raises:
            MultipartError: If the content is no form with files.
        """
        var content_type = String()
        var field = req.headers.get("content-type")
        if field:
            content_type = String(field.value())
        var boundary = multipart_boundary(content_type)
        self._body = req.body_reader()
        self._parser = MultipartParser(boundary, limits)
        self._room = List[UInt8](length=_READ_LEN, fill=0)
        self._is_in_part = False
        self._data_offset = 0

    def next_part(mut self) raises UploadError -> Optional[PartHead]:
        """Goes on to the next part; what is left of the last one is skipped.

        Returns:
            What its fields say; nothing at the end of the form.

        Raises:
            UploadError: If the form breaks a rule or passes a limit, or the
                content breaks off.
        """
        while True:
            var event = self._next_event()
            self._is_in_part = event == MultipartEvent.PART
            if self._is_in_part:
                return self._parser.part.copy()
            if event == MultipartEvent.END:
                # What is behind the form has no meaning, but belongs to it.
                while self._body.read(Span(self._room)) > 0:
                    pass
                return None

    def read(mut self, room: MutSpan[UInt8, _]) raises UploadError -> Int:
        """Reads content of the part, waiting for the first octet.

        Args:
            room: Where to; not empty.

        Returns:
            How many octets were read; 0 at the part's end, and without a part.

        Raises:
            UploadError: As `next_part` does.
        """
        while self._is_in_part:
            var left = self._parser.data()[self._data_offset :]
            if len(left) > 0:
                var count = min(len(room), len(left))
                room[:count].copy_from(left[:count])
                self._data_offset += count
                return count
            self._is_in_part = self._next_event() == MultipartEvent.DATA
        return 0

    def _next_event(mut self) raises UploadError -> MultipartEvent:
        self._data_offset = 0
        while True:
            var event = self._parser.next_event()
            if event != MultipartEvent.NEEDS_OCTETS:
                return event
            var count = self._body.read(Span(self._room))
            if count == 0:
                self._parser.finish()
            self._parser.receive(Span(self._room)[:count])
