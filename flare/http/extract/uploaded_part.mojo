"""A part of a form with files, kept in memory or in a file."""

from flare.http.extract.upload_file import UploadFile
from flare.http.multipart.parser import PartHead
from flare.json.error import JsonError
from flare.json.schema import JsonDescribed
from flare.json.writer import JsonWriter
from flare.sys.errno import OsError
from flare.sys.file import File
from std.memory import ArcPointer


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
        """Starts an empty part.

        Args:
            head: Which field it is.
        """
        self.head = head^
        self._octets = List[UInt8]()
        self._file = None
        self._file_offset = 0
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
                room[index] = self._octets[offset + index]
            return count
        var done = 0
        while done < count:
            var read = self._file.value()[].read_at(
                room[done:count], self._file_offset + offset + done
            )
            if read == 0:
                break
            done += read
        return done

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
    def write_schema_of(mut writer: JsonWriter, depth: Int) raises JsonError:
        """Writes the schema of a file in a form.

        Args:
            writer: Where to.
            depth: How many types this one stands in.

        Raises:
            JsonError: Never.
        """
        writer.begin_object()
        writer.key("type")
        writer.value("string")
        writer.key("format")
        writer.value("binary")
        writer.end_object()
