"""Forms with files, as the content of a request."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.client.connect.error import (
    ClientError,
    Phase,
    SourceFailed,
    bad_request,
)
from flare.http.multipart.writer import (
    BOUNDARY_RANDOM_LEN,
    FilePart,
    MultipartWriter,
)
from flare.sys.errno import ENODATA, OsError
from flare.sys.file import File
from flare.sys.mutex import Mutex
from flare.sys.random import fill_random


struct MultipartForm(Movable):
    """A multipart/form-data body (RFC 7578).

        var form = MultipartForm()
        form.add("title", "holiday")
        form.add_file("photo", "beach.jpg", octets, "image/jpeg")
        form.add_file_from("film", "beach.mp4", content_type="video/mp4")
        var response = client.post("/photos", form^)

    Files that are added by their path are read while they are sent, a piece at
    a time, and again if the request is repeated or redirected.
    """

    var _writer: MultipartWriter
    # What has been written since the last file that is read from its path.
    var _content: Buffer
    var _parts: FormParts

    def __init__(out self) raises ClientError:
        """Makes a form without parts.

        Raises:
            ClientError: If the system has no source of random octets, or no
                more locks.
        """
        var random = Array[UInt8, BOUNDARY_RANDOM_LEN](fill=0)
        try:
            fill_random(Span(random))
            self._parts = FormParts()
        except error:
            raise bad_request(String(error))
        self._writer = MultipartWriter(random)
        self._content = Buffer()

    def add(mut self, name: StringSpan, value: StringSpan) raises ClientError:
        """Appends a field.

        Args:
            name: Its name.
            value: Its value.

        Raises:
            ClientError: If the name holds a control octet.
        """
        try:
            self._writer.add_field(self._content, name, value)
        except error:
            raise bad_request(String(error))

    def add_file(
        mut self,
        var name: String,
        var filename: String,
        content: Span[UInt8, _],
        var content_type: String = "application/octet-stream",
    ) raises ClientError:
        """Appends a file.

        Args:
            name: The name of the form's field.
            filename: The file's name, without its folders.
            content: Its content.
            content_type: The media type of its content.

        Raises:
            ClientError: If a name or the media type holds a control octet.
        """
        var part = FilePart(name^, filename^, content_type^)
        try:
            self._writer.add_file(self._content, part, content)
        except error:
            raise bad_request(String(error))

    def add_file_from(
        mut self,
        var name: String,
        path: StringSpan,
        *,
        var filename: String = "",
        var content_type: String = "application/octet-stream",
    ) raises ClientError:
        """Appends a file that stays where it is until it is sent.

        Args:
            name: The name of the form's field.
            path: The file's path. Its length is taken now, and must not have
                become less when it is sent.
            filename: What the server is told; the last name of the path, if
                it is left out.

        Raises:
            ClientError: If there is no such file, it is none that holds octets
                (`SourceFailed`), or a name or the media type holds a control
                octet.
        """
        var length = _length_of(path)
        if filename.byte_length() == 0:
            filename = String(path[byte = path.rfind("/") + 1 :])
        var part = FilePart(name^, filename^, content_type^)
        try:
            self._writer.begin_file(self._content, part)
        except error:
            raise bad_request(String(error))
        self._take_content()
        self._parts.add_file(String(path), length)

    def content_type(self) -> String:
        """Writes the value of the Content-Type field.

        Returns:
            The media type with the boundary.
        """
        return self._writer.content_type()

    def finish(deinit self) -> FormParts:
        """Gives the content.

        Returns:
            The content; its files are still to be read.
        """
        self._writer.finish(self._content)
        self._take_content()
        return self._parts^

    def _take_content(mut self):
        if len(self._content) > 0:
            var octets = Buffer()
            swap(octets, self._content)
            self._parts.add_octets(octets^)


@fieldwise_init
struct _Part(Movable):
    """Octets in memory, or a file."""

    var octets: Buffer
    var path: String
    var length: Int


struct _OpenPart(Movable):
    """The file that was read last, and which part it is; -1 for none."""

    var file: Optional[File]
    var index: Int

    def __init__(out self):
        self.file = None
        self.index = -1


struct FormParts(Movable, Sized):
    """Content of which parts lie in memory and parts in files; it can be read
    from any place, as often as it takes, and by many threads: copies of a
    request have it in common."""

    var _parts: List[_Part]
    var _length: Int
    var _open: Mutex[_OpenPart]

    def __init__(out self) raises OsError:
        """Makes no parts. Raises if the system has no more locks."""
        self._parts = []
        self._length = 0
        self._open = Mutex(_OpenPart())

    def __len__(self) -> Int:
        """Counts the octets, those in files included."""
        return self._length

    def add_octets(mut self, var octets: Buffer):
        var length = len(octets)
        self._parts.append(_Part(octets^, String(), length))
        self._length += length

    def add_file(mut self, var path: String, length: Int):
        """Appends `length` bytes of what is in a file."""
        self._parts.append(_Part(Buffer(), path^, length))
        self._length += length

    def append_to(
        self, mut output: Buffer, start: Int, end: Int
    ) raises ClientError:
        """Copies a piece of the content, from one offset in bytes to another,
        at most its length. Raises `SourceFailed` if a file cannot be read, or
        has become shorter."""
        var part_start = 0
        for index in range(len(self._parts)):
            var part_end = part_start + self._parts.at(index).length
            var first = max(start, part_start) - part_start
            var last = min(end, part_end) - part_start
            part_start = part_end
            if first >= last:
                continue
            if self._parts.at(index).path.byte_length() == 0:
                output.append(
                    self._parts.at(index).octets.span().between(first, last)
                )
                continue
            try:
                self._read(output, index, first, last)
            except error:
                raise _unreadable(self._parts.at(index).path, error)

    def _read(
        self, mut output: Buffer, index: Int, start: Int, end: Int
    ) raises OsError:
        var length = end - start
        output.reserve(length)
        # Until the read is over: another thread would close the file.
        var last = self._open.lock()
        if last[].index != index:
            last[].index = -1
            last[].file = File.open(self._parts.at(index).path)
            last[].index = index
        last[].file.value().read_exactly_at(
            output.spare().before(length), start
        )
        deinit(last^)
        output.commit(length)


def _length_of(path: StringSpan) raises ClientError -> Int:
    try:
        var status = File.open(path).status()
        if status.is_regular:
            return status.size
    except error:
        raise _unreadable(path, error)
    raise ClientError(
        Phase.REQUEST,
        SourceFailed,
        String(path, ": no file that holds octets; add what is read from it"),
    )


def _unreadable(path: StringSpan, error: OsError) -> ClientError:
    var reason = String(path, ": ", error)
    if error.number == ENODATA:
        reason = String(path, ": the file is shorter than when it was added")
    return ClientError(Phase.WRITE, SourceFailed, reason^)
