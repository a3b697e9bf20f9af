"""The files below a folder, by path."""

from flare.http.server.file_cache import FileCache
from flare.http.server.open_file import OpenFile
from flare.sys.clock import coarse_monotonic_ms, realtime_ns
from flare.sys.errno import EMFILE, ENFILE, OsError
from flare.sys.file import File, FileStatus
from std.memory import ArcPointer


@fieldwise_init
struct FoundFile(Movable):
    """A regular file, and what it is like now."""

    var file: ArcPointer[OpenFile]
    """The file, open, with its coded neighbours."""
    var status: FileStatus
    """Its state at this moment, not when it was opened."""
    var asked_ns: Int
    """The time just before the system was asked for the state, in nanoseconds
    since 1970-01-01 00:00:00 UTC."""


struct FileFolder(Movable):
    """A folder whose files are looked up by path, again and again.

    Regular files stay open for some time, so that the next request need not
    find them again. Each lookup asks the system about the open file: its length
    and time are those of now, and one that was removed or replaced by another
    is opened anew at once. What may be noticed only when the time is over: a
    file that was moved away but still has a name, a folder above it that was
    moved or replaced, rights that were taken away, a link that leads somewhere
    else, and a new neighbour. A removed file that is kept gives its room on
    the disk back when a lookup finds its time over.
    """

    var _root: File
    var _follows_links: Bool
    var _finds_coded: Bool
    var _cache: FileCache

    def __init__(
        out self,
        root: StringSpan,
        *,
        follows_links: Bool,
        finds_coded: Bool,
        cache_ms: Int,
    ) raises OsError:
        """Opens the folder, which stays the same if it is renamed.

        Args:
            root: The folder's path.
            follows_links: Whether symbolic links are followed.
            finds_coded: Whether coded neighbours are looked for.
            cache_ms: How long files stay open, in milliseconds; 0 for as long
                as they are used.

        Raises:
            OsError: If the folder cannot be opened.
        """
        self._root = File.folder(root)
        self._follows_links = follows_links
        self._finds_coded = finds_coded
        self._cache = FileCache(cache_ms)

    def find(self, path: String) raises OsError -> Optional[FoundFile]:
        """Finds a regular file.

        Args:
            path: Its path, as `FilePath` has it.

        Returns:
            The file; nothing if there is none, or no right to read it.

        Raises:
            OsError: If there are too many open files, or a file that is open
                cannot be asked.
        """
        var asked_ns = realtime_ns()
        var now_ms = coarse_monotonic_ms()
        var known = self._cache.find(path, now_ms)
        if known:
            var status = known.value()[].plain[].status()
            if status.is_linked and known.value()[].has_its_neighbours():
                return FoundFile(known.take(), status, asked_ns)
            self._cache.forget(path)
        var plain = self._open(path)
        if not plain:
            return None
        var status = plain.value().status()
        if not status.is_regular:
            return None
        var file = OpenFile(plain.take())
        if self._finds_coded:
            file.brotli = self._open_neighbour(path + ".br")
            file.gzip = self._open_neighbour(path + ".gz")
        var shared = ArcPointer(file^)
        self._cache.keep(path, shared, now_ms)
        return FoundFile(shared^, status, asked_ns)

    def status(self, path: String) raises OsError -> Optional[FileStatus]:
        """Tells what stands at a path; opens it for that, and keeps nothing.

        Args:
            path: The path; empty for this folder.

        Returns:
            What it is; nothing if there is nothing, or no right to read it.

        Raises:
            OsError: If there are too many open files.
        """
        var file = self._open(path)
        if not file:
            return None
        return file.value().status()

    def names(self, path: String) raises OsError -> List[String]:
        """Lists a folder.

        Args:
            path: Its path; empty for this folder.

        Returns:
            The names in it that are UTF-8, sorted by octets.

        Raises:
            OsError: If it cannot be read.
        """
        return self._root.open_beneath(
            path, follows_links=self._follows_links
        ).names()

    def _open_neighbour(
        self, path: String
    ) raises OsError -> Optional[ArcPointer[File]]:
        var file = self._open(path)
        if not file or not file.value().status().is_regular:
            return None
        return ArcPointer(file.take())

    def _open(self, path: String) raises OsError -> Optional[File]:
        """Opens what stands at a path. What is kept open for speed gives way
        where there are too many descriptors."""
        try:
            return self._root.open_beneath(
                path, follows_links=self._follows_links
            )
        except error:
            if not _is_of_number(error):
                return None
        self._cache.clear()
        try:
            return self._root.open_beneath(
                path, follows_links=self._follows_links
            )
        except error:
            if _is_of_number(error):
                raise error^
            return None


def _is_of_number(error: OsError) -> Bool:
    """Tells whether too many files are open, whichever is wanted."""
    return error.number == EMFILE or error.number == ENFILE
