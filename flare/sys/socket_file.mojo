"""The file that a Unix socket leaves in the file system."""

from flare.bytes.checked import *
from std.os import lstat, remove
from std.stat import S_ISSOCK


struct SocketFile(Movable):
    """A socket file that its owner removes; at most once, and never another's.

    Who starts in the meantime may have put a new file at the path: only the
    one that was seen at the start, by device and inode, is removed.
    """

    var _path: String
    var _device: Int
    var _inode: Int
    # Only those who have a file bring what removes it.
    var _remover: Optional[def(String, Int, Int) thin -> None]

    def __init__(out self):
        """Makes one that stands for no file."""
        self._path = String()
        self._device = 0
        self._inode = 0
        self._remover = None

    @staticmethod
    def at(path: StringSpan) -> Self:
        """Takes over the file of a socket that was just bound to a path; none
        if that holds no socket."""
        var file = Self()
        try:
            var status = lstat(String(path))
            if S_ISSOCK(status.st_mode):
                file._device = Int(status.st_dev)
                file._inode = Int(status.st_ino)
                file._path = String(path)
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
            self._remover.held()(self._path, self._device, self._inode)
        self._remover = None
        self._path = String()

    def __deinit__(deinit self):
        self.remove()


def _remove_file(path: String, device: Int, inode: Int):
    try:
        var status = lstat(path)
        if Int(status.st_dev) == device and Int(status.st_ino) == inode:
            remove(path)
    except:
        # It is gone already, or the folder no longer lets us.
        return
