"""The temporary file of a form."""

from flare.sys.errno import OsError
from flare.sys.file import File
from std.memory import ArcPointer


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
        """Makes no file yet.

        Args:
            folder: Where it will be made.
        """
        self._folder = folder^
        self._file = None
        self._length = 0

    def __len__(self) -> Int:
        """Counts what was written.

        Returns:
            Bytes.
        """
        return self._length

    def share(mut self) raises OsError -> ArcPointer[File]:
        """Lends the file, and makes it first if there is none.

        Returns:
            A share of it, to be read from.

        Raises:
            OsError: If it cannot be made.
        """
        if not self._file:
            self._file = ArcPointer(File.temporary(self._folder))
        return self._file.value()

    def append(mut self, octets: Span[UInt8, _]) raises OsError:
        """Writes octets behind those written before.

        Args:
            octets: All of them are written.

        Raises:
            OsError: If the file cannot be made or written; nothing more can be
                put into it then.
        """
        self.share()[].append(octets)
        self._length += len(octets)
