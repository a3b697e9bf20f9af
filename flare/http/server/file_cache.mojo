"""Files that stay open for the next request."""

from flare.http.server.open_file import OpenFile
from flare.sys.keyed_hasher import KeyedHasher
from std.memory import ArcPointer
from std.utils import BlockingScopedLock, BlockingSpinLock

comptime FILE_CACHE_COUNT_MAX = 64
"""Most paths that a cache holds; each has up to three descriptors.

A process may have 1,024 of them in all where nobody has raised the limit.
"""


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
        """Makes an empty cache.

        Args:
            kept_ms: How long a file is kept, in milliseconds; 0 for a cache
                that stays empty.
        """
        self._entries = ArcPointer(_Entries())
        self._kept_ms = kept_ms

    def find(self, path: String, now_ms: Int) -> Optional[ArcPointer[OpenFile]]:
        """Looks a file up.

        Args:
            path: Its path.
            now_ms: The time on a clock that never goes back.

        Returns:
            A share of it, or nothing if it is not here or its time is over.
        """
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
        """Puts a file in, in place of what was there of its path.

        Args:
            path: Its path.
            file: The file, just opened.
            now_ms: The time on the clock of `find`.
        """
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
        """Takes a file out.

        Args:
            path: Its path.
        """
        var old: Optional[_Entry]
        ref entries = self._entries[]
        with BlockingScopedLock(entries.lock):
            old = entries.take(path)
        _ = old^

    def clear(self):
        """Takes all files out."""
        var all = Dict[String, _Entry, KeyedHasher]()
        ref entries = self._entries[]
        with BlockingScopedLock(entries.lock):
            swap(all, entries.by_path)
        _ = all^

    def __len__(self) -> Int:
        """Counts the files.

        Returns:
            How many paths are held.
        """
        ref entries = self._entries[]
        with BlockingScopedLock(entries.lock):
            return len(entries.by_path)
