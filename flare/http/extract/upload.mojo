"""Uploaded forms: parts kept in memory or in files, read whole or one by one."""

from flare.bytes.checked import *
from flare.http.message.body_reader import BodyError, BodyReader
from flare.http.message.request import BadInput, PathParams, Request
from flare.http.multipart.parser import (
    MultipartError,
    MultipartEvent,
    MultipartLimits,
    MultipartParser,
    PartHead,
    multipart_boundary,
)
from flare.io.stream import Readable
from flare.json.schema import JsonDescribed, SchemaBook
from flare.sys.errno import ENODATA, OsError
from flare.sys.file import File, NewFile
from std.memory import ArcPointer

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

    @no_inline
    def __deinit__(deinit self):
        return

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
                self._memory_len += self.parts.at(
                    len(self.parts) - 1
                ).memory_len()
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
            self.receive(Span(room).before(count))
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
            if self.parts.at(index).head.name == name:
                return index
        return -1

    def open_part(self) -> String:
        """Names the part that is under way, for messages.

        Returns:
            The name of its field; empty between parts.
        """
        if self._is_in_part:
            return self.parts.at(len(self.parts) - 1).head.name
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
        self.parts.at(len(self.parts) - 1).append(
            self._parser.data(), room, self._file
        )


comptime _READ_LEN = 65_536


struct MultipartReader[o: ImmOrigin](Readable):
    """Goes through a form part by part; nothing of it is kept.

        var form = MultipartReader(req, MultipartLimits(1 << 30))
        while True:
            var head = form.next_part()
            if not head:
                break
            # read the part: form.read(room) until it gives 0

    What is wrong with the form is the client's fault: where no handler catches
    the error, the answer is a problem (RFC 9457) with its status, and no 500.

    With a handler that is `Streamed` a part is read while the client sends it,
    and what follows is still to come. Memory is that of two reads.

    Parameters:
        o: Where the request's octets live.
    """

    comptime ReadError = UploadError
    """What a failed read raises."""
    var _body: BodyReader[Self.o]
    # SAFETY: it lives at least as long as the request.
    var _params: Pointer[PathParams, MutUntrackedOrigin]
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
        var content_type = req.headers.get("content-type", "")
        self._params = req.route_params()
        var boundary: String
        try:
            boundary = multipart_boundary(content_type)
        except error:
            _note(self._params[], error)
            raise error^
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
                # What is after the form has no meaning, but belongs to it.
                while self._body.read(Span(self._room)) > 0:
                    pass
                return None

    def read(mut self, room: MutSpan[UInt8, _]) raises UploadError -> Int:
        """Reads content of the part, waiting for the first octet.

        Returns:
            How many octets were read; 0 at the part's end, and without a part.

        Raises:
            UploadError: As `next_part` does.
        """
        while self._is_in_part:
            var left = self._parser.data().after(self._data_offset)
            if len(left) > 0:
                var count = min(len(room), len(left))
                room.before(count).copy_from(left.before(count))
                self._data_offset += count
                return count
            self._is_in_part = self._next_event() == MultipartEvent.DATA
        return 0

    def _next_event(mut self) raises UploadError -> MultipartEvent:
        try:
            return self._read_event()
        except error:
            _note(self._params[], error)
            raise error^

    def _read_event(mut self) raises UploadError -> MultipartEvent:
        self._data_offset = 0
        while True:
            var event = self._parser.next_event()
            if event != MultipartEvent.NEEDS_OCTETS:
                return event
            var count = self._body.read(Span(self._room))
            if count == 0:
                self._parser.finish()
            self._parser.receive(Span(self._room).before(count))


@no_inline
def _note(mut params: PathParams, error: UploadError):
    """Has the request remember whose fault it is."""
    params.note_bad_input(BadInput(error.status, "body", error.reason))


struct UploadedPart(JsonDescribed, Movable, Sized):
    """A part of a form: a field's value, or a file."""

    var head: PartHead
    """Which field it is, and what it holds."""
    var _octets: List[UInt8]
    var _file: Optional[ArcPointer[File]]
    # Where the content begins in the file, in bytes.
    var _file_offset: Int
    var _length: Int

    def __init__(out self, var head: PartHead):
        """Starts an empty part."""
        self.head = head^
        self._octets = List[UInt8]()
        self._file = None
        self._file_offset = 0
        self._length = 0

    @no_inline
    def __deinit__(deinit self):
        return

    def __len__(self) -> Int:
        """Counts the content.

        Returns:
            Bytes.
        """
        return self._length

    def is_in_file(self) -> Bool:
        """Tells where the content is.

        Returns:
            True if it went to the temporary file of its form. That has no name,
            and is gone when the form and all parts in it are destroyed.
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
                room.at(index) = self._octets.at(offset + index)
            return count
        var done = 0
        while done < count:
            var read = self._file.value()[].read_at(
                room.between(done, count), self._file_offset + offset + done
            )
            if read == 0:
                break
            done += read
        return done

    def save_to(
        self, path: StringSpan, *, replaces: Bool = False
    ) raises OsError:
        """Keeps the content in a file, which appears whole or not at all.

        It is written under another name in the same folder, which begins with
        a dot, and gets its own when all is there. It waits for the disk.

        Args:
            path: The file, in a folder that is there. Choose the name, or
                rebuild it from letters that are harmless: `head.filename` is
                the client's and may be that of any file.
            replaces: Whether a file of that name gives way; without it, its
                file system must have hard links.

        Raises:
            OsError: If there is such a file (EEXIST) and it does not give way,
                or the file cannot be written.
        """
        var file = NewFile(path)
        var room = List[UInt8](length=_READ_LEN, fill=0)
        var done = 0
        while done < self._length:
            var count = self.read_at(Span(room), done)
            if count == 0:
                raise OsError("pread", ENODATA)
            file.append(Span(room).before(count))
            done += count
        file.take_name(replaces=replaces)

    def append(
        mut self, octets: Span[UInt8, _], room: Int, mut file: UploadFile
    ) raises OsError:
        """Takes more content.

        Args:
            octets: The content.
            room: How much may be in memory; with more, all goes to the file.
            file: That of the form. Nothing else is put into it from this
                part's first octets to its last.

        Raises:
            OsError: If the file cannot be made or written.
        """
        self._length += len(octets)
        if not self._file and self._length <= room:
            self._octets.extend(octets)
            return
        if not self._file:
            self._file_offset = len(file)
            file.append(self._octets)
            self._octets = List[UInt8]()
            self._file = file.share()
        file.append(octets)

    @staticmethod
    def schema(mut book: SchemaBook) -> String:
        """Gives the schema of a file in a form.

        Args:
            book: Left as it is.
        """
        _ = book
        return '{"type":"string","format":"binary"}'


struct UploadFile(Movable, Sized):
    """One file for all parts of a form that are not kept in memory.

    A file for each would let a form of a few megabytes, of many small parts,
    take nearly all descriptors that a process may have. It is made when it is
    needed, and has no name.
    """

    var _folder: String
    var _file: Optional[ArcPointer[File]]
    var _length: Int

    def __init__(out self, var folder: String):
        """Makes no file yet."""
        self._folder = folder^
        self._file = None
        self._length = 0

    def __len__(self) -> Int:
        """Counts what was written."""
        return self._length

    def share(mut self) raises OsError -> ArcPointer[File]:
        """Lends a share of the file to be read from, and makes it first if
        there is none."""
        if not self._file:
            self._file = ArcPointer(File.temporary(self._folder))
        return self._file.value()

    def append(mut self, octets: Span[UInt8, _]) raises OsError:
        """Writes all octets after those written before. If that fails, nothing
        more can be put into it."""
        self.share()[].append(octets)
        self._length += len(octets)


struct UploadError(Copyable, Movable, Writable):
    """A form with files was not taken."""

    var reason: String
    """Why."""
    var status: Int
    """What to answer with: 400 or 413 if the form is at fault, 500 if no
    temporary file could be written, or that of a `BodyError`."""

    @implicit
    def __init__(out self, error: MultipartError):
        """Takes over what the parser found.

        Args:
            error: The rule or limit.
        """
        self.reason = String(error)
        self.status = error.status()

    @implicit
    def __init__(out self, error: BodyError):
        """Takes over what ended the content.

        Args:
            error: Why it cannot be read on.
        """
        self.reason = String(error)
        self.status = error.status

    @implicit
    def __init__(out self, error: OsError):
        """Takes over what the system said.

        Args:
            error: The call that failed.
        """
        self.reason = String("temporary file of an upload: ", error)
        self.status = 500

    def write_to(self, mut writer: Some[Writer]):
        """Writes the reason."""
        writer.write(self.reason)
