"""Forms with files, kept while they arrive."""

from flare.http.message.multipart_boundary import multipart_boundary
from flare.http.message.multipart_error import MultipartError
from flare.http.message.multipart_event import (
    MultipartEvent,
    MultipartLimits,
    PartHead,
)
from flare.http.message.multipart_parser import MultipartParser
from flare.sys.errno import OsError
from flare.sys.file import File

comptime PART_MEMORY_LEN_MAX = 64 * 1024
"""How much of a part is kept in memory before it goes to a file, in bytes."""

comptime FORM_MEMORY_LEN_MAX = 4 * 1024 * 1024
"""How much all parts of a form keep in memory together, in bytes."""


struct UploadedPart(Movable, Sized):
    """A part of a form: a field's value, or a file."""

    var head: PartHead
    """Which field it is, and what it holds."""
    var _octets: List[UInt8]
    var _file: Optional[File]
    var _length: Int

    def __init__(out self, var head: PartHead):
        """Starts an empty part.

        Args:
            head: Which field it is.
        """
        self.head = head^
        self._octets = List[UInt8]()
        self._file = None
        self._length = 0

    def __len__(self) -> Int:
        """Counts the content.

        Returns:
            Bytes.
        """
        return self._length

    def is_in_file(self) -> Bool:
        """Tells where the content is.

        Returns:
            True if it went to a temporary file. That has no name, and is gone
            when this part is destroyed.
        """
        return self._file.__bool__()

    def memory_len(self) -> Int:
        """Counts what is kept in memory.

        Returns:
            Bytes.
        """
        return len(self._octets)

    def text(self) raises -> String:
        """Copies the content as text.

        Returns:
            The content.

        Raises:
            Error: If it is not UTF-8, or cannot be read.
        """
        var octets = List[UInt8](length=self._length, fill=0)
        if self.read_at(Span(octets), 0) != self._length:
            raise Error("the temporary file of an upload was cut")
        return String(from_utf8=octets)

    def read_at(
        self, room: MutSpan[UInt8, _], offset: Int
    ) raises OsError -> Int:
        """Copies a piece of the content.

        Args:
            room: Where to.
            offset: Where the piece begins, at least 0, in bytes.

        Returns:
            How many octets there were; less than there is room for at the end
            alone.

        Raises:
            OsError: If the file cannot be read.
        """
        var count = max(min(len(room), self._length - offset), 0)
        if not self._file:
            for index in range(count):
                room[index] = self._octets[offset + index]
            return count
        var done = 0
        while done < count:
            var read = self._file.value().read_at(
                room[done:count], offset + done
            )
            if read == 0:
                break
            done += read
        return done

    def append(
        mut self, octets: Span[UInt8, _], room: Int, folder: StringSpan
    ) raises OsError:
        """Takes more content.

        Args:
            octets: The content.
            room: How much may be in memory; with more, all goes to a file.
            folder: Where to make the file.

        Raises:
            OsError: If the file cannot be made or written.
        """
        self._length += len(octets)
        if not self._file and self._length <= room:
            self._octets.extend(octets)
            return
        if not self._file:
            var file = File.temporary(folder)
            file.append(self._octets)
            self._octets = List[UInt8]()
            self._file = file^
        self._file.value().append(octets)


struct UploadError(Copyable, Movable, Writable):
    """A form with files was not taken."""

    var reason: String
    """Why."""
    var status: Int
    """What to answer with: 400 or 413 if the form is at fault, 500 if no
    temporary file could be written."""

    @implicit
    def __init__(out self, error: MultipartError):
        """Takes over what the parser found.

        Args:
            error: The rule or limit.
        """
        self.reason = String(error)
        self.status = error.status()

    @implicit
    def __init__(out self, error: OsError):
        """Takes over what the system said.

        Args:
            error: The call that failed.
        """
        self.reason = String("temporary file of an upload: ", error)
        self.status = 500

    def write_to(self, mut writer: Some[Writer]):
        """Writes the reason.

        Args:
            writer: Where to.
        """
        writer.write(self.reason)


struct FormUpload(Movable):
    """Takes a form in pieces, and keeps its parts.

    Small parts stay in memory, larger ones go to temporary files. However the
    upload ends, nothing of it stays: the files have no names.
    """

    var parts: List[UploadedPart]
    """What has arrived; the last one may still be on its way."""
    var _parser: MultipartParser
    var _folder: String
    var _memory_len: Int

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
            folder: Where temporary files are made.

        Raises:
            MultipartError: If the content is no form with files.
        """
        self.parts = List[UploadedPart]()
        self._parser = MultipartParser(multipart_boundary(content_type), limits)
        self._folder = folder^
        self._memory_len = 0

    def receive(mut self, octets: Span[UInt8, _]) raises UploadError:
        """Takes more of the body.

        Args:
            octets: Any number; 64 KiB at a time is right.

        Raises:
            UploadError: If the form is refused, or a file cannot be written.
        """
        self._parser.receive(octets)
        while True:
            var event = self._parser.next_event()
            if event == MultipartEvent.PART:
                self.parts.append(UploadedPart(self._parser.part.copy()))
            elif event == MultipartEvent.DATA:
                self._keep()
            elif event == MultipartEvent.PART_END:
                self._memory_len += self.parts[len(self.parts) - 1].memory_len()
            else:
                return

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

    def _keep(mut self) raises OsError:
        var room = min(
            PART_MEMORY_LEN_MAX, FORM_MEMORY_LEN_MAX - self._memory_len
        )
        self.parts[len(self.parts) - 1].append(
            self._parser.data(), room, self._folder
        )
