"""Forms with files, kept while they arrive."""

from flare.http.extract.upload_error import UploadError
from flare.http.extract.upload_file import UploadFile
from flare.http.extract.uploaded_part import UploadedPart
from flare.http.message.body_reader import BodyReader
from flare.http.multipart.parser import (
    MultipartError,
    MultipartEvent,
    MultipartLimits,
    MultipartParser,
    multipart_boundary,
)
from flare.sys.errno import OsError

comptime PART_MEMORY_LEN_MAX = 64 * 1024
"""How much of a part is kept in memory before it goes to the file, in bytes."""

comptime FORM_MEMORY_LEN_MAX = 4 * 1024 * 1024
"""How much all parts of a form keep in memory together, in bytes."""


struct FormUpload(Movable):
    """Takes a form in pieces, and keeps its parts.

    Small parts stay in memory, larger ones go to one temporary file. However
    the upload ends, nothing of it stays: the file has no name.
    """

    var parts: List[UploadedPart]
    """What has arrived; the last one may still be on its way."""
    var _parser: MultipartParser
    var _file: UploadFile
    var _memory_len: Int
    var _is_in_part: Bool

    def __init__(
        out self,
        content_type: StringSpan,
        limits: MultipartLimits = MultipartLimits(),
        var folder: String = String("/tmp"),
    ) raises MultipartError:
        """Starts a form.

        Args:
            content_type: The request's Content-Type.
            limits: How much the form may have.
            folder: Where the temporary file is made.

        Raises:
            MultipartError: If the content is no form with files.
        """
        self.parts = List[UploadedPart]()
        self._parser = MultipartParser(multipart_boundary(content_type), limits)
        self._file = UploadFile(folder^)
        self._memory_len = 0
        self._is_in_part = False

    def receive(mut self, octets: Span[UInt8, _]) raises UploadError:
        """Takes more of the body.

        Args:
            octets: Any number; 64 KiB at a time is right.

        Raises:
            UploadError: If the form is refused, or the file cannot be written;
                nothing more may be received then.
        """
        self._parser.receive(octets)
        while True:
            var event = self._parser.next_event()
            if event == MultipartEvent.PART:
                self.parts.append(UploadedPart(self._parser.part.copy()))
                self._is_in_part = True
            elif event == MultipartEvent.DATA:
                self._keep()
            elif event == MultipartEvent.PART_END:
                self._memory_len += self.parts[len(self.parts) - 1].memory_len()
                self._is_in_part = False
            else:
                return

    def receive_all(mut self, mut body: BodyReader) raises UploadError:
        """Takes the whole body, while it arrives, and ends it.

        Args:
            body: The request's content, of which nothing was read yet.

        Raises:
            UploadError: If the form is refused, the file cannot be written, or
                the content breaks off.
        """
        var room = List[UInt8](length=65_536, fill=0)
        while True:
            var count = body.read(Span(room))
            if count == 0:
                break
            self.receive(Span(room)[:count])
        self.finish()

    def finish(mut self) raises UploadError:
        """Ends the body.

        Raises:
            UploadError: If the form is not complete.
        """
        self._parser.finish()

    def find(self, name: StringSpan) -> Int:
        """Finds a part.

        Args:
            name: The name of the form's field.

        Returns:
            The index of the first part of that name, or -1.
        """
        for index in range(len(self.parts)):
            if self.parts[index].head.name == name:
                return index
        return -1

    def open_part(self) -> String:
        """Names the part that is under way, for messages.

        Returns:
            The name of its field; empty between parts.
        """
        if self._is_in_part:
            return self.parts[len(self.parts) - 1].head.name
        return String()

    def take(mut self, index: Int) -> UploadedPart:
        """Takes a part out.

        Args:
            index: Of a part, as `find` gives it.

        Returns:
            The part.
        """
        return self.parts.pop(index)

    def _keep(mut self) raises OsError:
        var room = min(
            PART_MEMORY_LEN_MAX, FORM_MEMORY_LEN_MAX - self._memory_len
        )
        self.parts[len(self.parts) - 1].append(
            self._parser.data(), room, self._file
        )
