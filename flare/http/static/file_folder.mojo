"""Files below a folder: opened, kept open, and read piece by piece."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.compress.content_coding import ContentCoding
from flare.http.conditional.range import ByteRange, ByterangesLayout
from flare.http.message.body import BodySource, FileRegion, Poll
from flare.sys.clock import coarse_monotonic_ms, realtime_ns
from flare.sys.errno import EMFILE, ENFILE, OsError
from flare.sys.file import File, FileStatus
from flare.sys.random import KeyedHasher
from std.memory import ArcPointer
from std.utils import BlockingScopedLock, BlockingSpinLock


struct OpenFile(Movable):
    """A file, and its coded neighbours, all open.

    What reads one of them holds a share of it, so it stays open to the end of
    the last response.
    """

    var plain: ArcPointer[File]
    var brotli: Optional[ArcPointer[File]]
    """Its neighbour `NAME.br`, if there is one."""
    var gzip: Optional[ArcPointer[File]]
    """Its neighbour `NAME.gz`, if there is one."""

    def __init__(out self, var plain: File):
        self.plain = ArcPointer(plain^)
        self.brotli = None
        self.gzip = None

    def codings(self) -> List[ContentCoding]:
        """Lists the codings that there are neighbours of, the shortest content
        first."""
        var codings = List[ContentCoding]()
        if self.brotli:
            codings.append(ContentCoding.BR)
        if self.gzip:
            codings.append(ContentCoding.GZIP)
        return codings^

    def in_coding(self, coding: ContentCoding) -> ArcPointer[File]:
        """Lends the file in one of `codings`; as it is if there is none, or for
        `ContentCoding.IDENTITY`."""
        if coding == ContentCoding.BR:
            return self.brotli.or_else(self.plain)
        if coding == ContentCoding.GZIP:
            return self.gzip.or_else(self.plain)
        return self.plain

    def has_its_neighbours(self) raises OsError -> Bool:
        """Tells whether no neighbour was removed or replaced since. Raises if
        the system does not say."""
        if self.brotli and not self.brotli.value()[].status().is_linked:
            return False
        return not self.gzip or self.gzip.value()[].status().is_linked


comptime FILE_CACHE_COUNT_MAX = 64
"""Most paths that a cache holds; each has up to three descriptors.

A process may have 1,024 of them in all where nobody has raised the limit.
"""


comptime _KEPT_MS_MAX = 1 << 62
# So much can be added to any time.


@fieldwise_init
struct _Entry(Copyable, Movable):
    var file: ArcPointer[OpenFile]
    var end_ms: Int


struct _Entries(Movable):
    var lock: BlockingSpinLock
    var by_path: Dict[String, _Entry, KeyedHasher]
    # When the first of them may have ended.
    var sweep_ms: Int

    def __init__(out self):
        self.lock = BlockingSpinLock()
        self.by_path = {}
        self.sweep_ms = 0

    def take_ended(mut self, now_ms: Int) -> List[_Entry]:
        """Takes out what has ended, to be closed outside of the lock."""
        var ended = List[_Entry]()
        var paths = List[String]()
        for item in self.by_path.items():
            if item.value.end_ms <= now_ms:
                paths.append(item.key)
                ended.append(item.value.copy())
        for path in paths:
            self._remove(path)
        return ended^

    def take(mut self, path: String) -> Optional[_Entry]:
        var entry = self.by_path.find(path)
        if entry:
            self._remove(path)
        return entry^

    def _remove(mut self, path: String):
        try:
            _ = self.by_path.pop(path)
        except:
            return


struct FileCache(Movable, Sized):
    """Open files by path, for a set time each; threads may share it.

    A full cache takes nothing until something in it has ended: files that many
    ask for come in soon, and whoever asks for all files of a folder in turn
    drives nothing out. Nothing is opened, asked or closed while the lock is
    held.
    """

    var _entries: ArcPointer[_Entries]
    var _kept_ms: Int

    def __init__(out self, kept_ms: Int):
        """Makes an empty cache, which keeps a file for so long; with 0 it stays
        empty."""
        self._entries = ArcPointer(_Entries())
        self._kept_ms = min(kept_ms, _KEPT_MS_MAX)

    def find(self, path: String, now_ms: Int) -> Optional[ArcPointer[OpenFile]]:
        """Looks a file up on a clock that never goes back; nothing if it is not
        here or its time is over."""
        if self._kept_ms <= 0:
            return None
        var ended = List[_Entry]()
        var entry: Optional[_Entry]
        ref entries = self._entries[]
        with BlockingScopedLock(entries.lock):
            if now_ms >= entries.sweep_ms:
                ended = entries.take_ended(now_ms)
                entries.sweep_ms = now_ms + self._kept_ms
            entry = entries.by_path.find(path)
        # The last share may be among them, and to close a file may take long.
        _ = ended^
        if not entry or entry.value().end_ms <= now_ms:
            return None
        return entry.value().file

    def keep(self, path: String, file: ArcPointer[OpenFile], now_ms: Int):
        """Puts a file, just opened, in place of what was there of its path, on
        the clock of `find`."""
        if self._kept_ms <= 0:
            return
        var old: Optional[_Entry]
        ref entries = self._entries[]
        with BlockingScopedLock(entries.lock):
            old = entries.take(path)
            if len(entries.by_path) < FILE_CACHE_COUNT_MAX:
                entries.by_path[path] = _Entry(file, now_ms + self._kept_ms)
        _ = old^

    def forget(self, path: String):
        var old: Optional[_Entry]
        ref entries = self._entries[]
        with BlockingScopedLock(entries.lock):
            old = entries.take(path)
        _ = old^

    def clear(self):
        var all = Dict[String, _Entry, KeyedHasher]()
        ref entries = self._entries[]
        with BlockingScopedLock(entries.lock):
            swap(all, entries.by_path)
        _ = all^

    def __len__(self) -> Int:
        ref entries = self._entries[]
        with BlockingScopedLock(entries.lock):
            return len(entries.by_path)


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
        """Opens the folder, which stays the same if it is renamed. Coded
        neighbours are looked for if `finds_coded`; files stay open for
        `cache_ms`, 0 for as long as they are used."""
        self._root = File.folder(root)
        self._follows_links = follows_links
        self._finds_coded = finds_coded
        self._cache = FileCache(cache_ms)

    def find(self, path: String) raises OsError -> Optional[FoundFile]:
        """Finds a regular file by its path, as `FilePath` has it; nothing if
        there is none, or no right to read it. Raises if there are too many open
        files, or a file that is open cannot be asked."""
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
        """Tells what stands at a path, empty for this folder; opens it for
        that, and keeps nothing. Nothing if nothing is there, or no right to
        read it. Raises if there are too many open files."""
        var file = self._open(path)
        if not file:
            return None
        return file.value().status()

    def names(self, path: String) raises OsError -> List[String]:
        """Lists the names in a folder, empty for this one, that are UTF-8,
        sorted by octets."""
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
        for attempt in range(2):
            try:
                return self._root.open_beneath(
                    path, follows_links=self._follows_links
                )
            except error:
                # Whichever is wanted, too many are open.
                if error.number != EMFILE and error.number != ENFILE:
                    return None
                if attempt == 1:
                    raise error^
                self._cache.clear()
        return None


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
        """Takes one range of a file, perhaps of length 0; others may send from
        it at the same time."""
        self._file = file
        self._texts = [String()]
        self._ranges = [range]
        self._index = 0
        self._text_sent = True
        self._range_done = 0

    def __init__(out self, file: ArcPointer[File], layout: ByterangesLayout):
        """Takes several ranges of a file, and what stands between; others may
        send from it at the same time."""
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
        if self._index == len(self._ranges) or not self._text_sent:
            return FileRegion.none()
        var rest = self._ranges.at(self._index)
        return FileRegion(
            self._file[].fd(),
            rest.start + self._range_done,
            rest.length - self._range_done,
        )

    def advance(mut self, count: Int):
        self._range_done += count
        while (
            self._index < len(self._ranges)
            and self._text_sent
            and self._range_done >= self._ranges.at(self._index).length
        ):
            self._index += 1
            self._range_done = 0
            self._text_sent = (
                self._index < len(self._texts)
                and self._texts.at(self._index).byte_length() == 0
            )

    def fill(mut self, mut out: Buffer) raises -> Poll:
        """Appends the next piece: `READY` or `DONE`. Raises if the file cannot
        be read, or has become shorter."""
        self.advance(0)
        if self._index == len(self._ranges):
            return Poll.DONE
        if not self._text_sent:
            out.append(self._texts.at(self._index).as_bytes())
            self._text_sent = True
            self.advance(0)
        var region = self.region()
        if region.length > 0:
            out.reserve(min(region.length, FILE_PIECE_LEN))
            var room = out.spare()
            var wanted = min(min(region.length, FILE_PIECE_LEN), len(room))
            var count = self._file[].read_at(room.before(wanted), region.offset)
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
