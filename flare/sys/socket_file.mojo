"""The file that a Unix socket leaves in the file system."""

from flare.bytes.checked import *
from std.os import lstat, remove
from std.os.fstat import stat_result
from std.pathlib import cwd
from std.stat import S_ISSOCK


struct SocketFile(Movable):
    """A socket file that its owner removes; at most once, and never another's.

    Who starts in the meantime may have put a new file at the path: only the
    one that was seen at the start, by device, inode and time, is removed. A
    program that goes to another folder still removes the file.
    """

    # From the root, unless the program's folder is gone.
    var _path: String
    var _mark: _Mark
    # Only those who have a file bring what removes it.
    var _remover: Optional[def(String, _Mark) thin -> None]

    def __init__(out self):
        """Makes one that stands for no file."""
        self._path = String()
        self._mark = _Mark(0, 0, 0)
        self._remover = None

    @staticmethod
    def at(path: StringSpan) -> Self:
        """Takes over the file of a socket that was just bound to a path; none
        if that holds no socket."""
        var file = Self()
        try:
            var status = lstat(String(path))
            if S_ISSOCK(status.st_mode):
                file._mark = _Mark(status)
                file._path = _from_root(path)
                file._remover = _remove_file
        except:
            # Nothing there: nothing to remove.
            return file^
        return file^

    @staticmethod
    def exists(path: StringSpan) -> Bool:
        """Tells whether a path holds a socket, and not another kind of file."""
        try:
            return S_ISSOCK(lstat(String(path)).st_mode)
        except:
            return False

    def is_there(self) -> Bool:
        return self._path.byte_length() > 0

    def remove(mut self):
        """Removes the file, unless another one has taken its place."""
        if self._remover:
            self._remover.held()(self._path, self._mark)
        self._remover = None
        self._path = String()

    def __deinit__(deinit self):
        self.remove()


@fieldwise_init
struct _Mark(Equatable, TrivialRegisterPassable):
    """What tells a socket file from all others at its path.

    File systems give the inode of a file that is gone to the next one. The time
    of its content is that of its making: rights and owner may change later.
    """

    var device: Int
    var inode: Int
    var made_ns: Int

    def __init__(out self, status: stat_result):
        self.device = Int(status.st_dev)
        self.inode = Int(status.st_ino)
        self.made_ns = Int(status.st_mtimespec.as_nanoseconds())


def _from_root(path: StringSpan) -> String:
    """Writes a path that means the same wherever the program goes."""
    try:
        if not path.startswith("/"):
            return String(cwd(), "/", path)
    except:
        # The folder has no name any more; nor has the file.
        pass
    return String(path)


def _remove_file(path: String, mark: _Mark):
    try:
        if _Mark(lstat(path)) == mark:
            remove(path)
    except:
        # It is gone already, or the folder no longer lets us.
        return
