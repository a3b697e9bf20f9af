"""Files, the names in a folder, and sending a file to a socket."""

from flare.bytes.ascii import find_octet
from flare.bytes.checked import *
from flare.sys.descriptor import Descriptor, close_descriptor, write_from
from flare.sys.errno import (
    EAGAIN,
    EINTR,
    EINVAL,
    ENODATA,
    ENOENT,
    OsError,
    last_errno,
    result_of,
)
from flare.sys.platform import IS_MACOS, by_platform
from flare.sys.random import fill_random
from std.ffi import external_call
from std.memory import OptionalPointer
from std.os import remove
from std.sys import CompilationTarget


comptime _IS_X86 = CompilationTarget.is_x86()
comptime _AT_FDCWD = by_platform(-100, -2)
comptime _O_RDONLY = 0
comptime _O_RDWR = 2
comptime _O_CREAT = by_platform(0o100, 0x200)
comptime _O_APPEND = by_platform(0o2000, 0x8)
comptime _O_EXCL = by_platform(0o200, 0x800)
comptime _O_NONBLOCK = by_platform(0o4000, 0x4)
comptime _O_CLOEXEC = by_platform(0o2000000, 0x100_0000)
# The two that differ between the kernels for x86 and for others.
comptime _O_DIRECTORY = by_platform(0o200000 if _IS_X86 else 0o40000, 0x10_0000)
comptime _O_NOFOLLOW = by_platform(0o400000 if _IS_X86 else 0o100000, 0x100)
comptime _O_TMPFILE = 0o20000000 | _O_DIRECTORY

# struct stat in words of 8 octets; it is no longer than this anywhere.
comptime _LOCK_ALONE = 2 | 4
# LOCK_EX, and LOCK_NB: it is not waited for.

comptime _STAT_WORD_COUNT = 18
comptime _MODE_OFFSET = by_platform(24 if _IS_X86 else 16, 4)
comptime _LINKS_OFFSET = by_platform(16 if _IS_X86 else 20, 6)
comptime _SIZE_OFFSET = by_platform(48, 96)
comptime _MODIFIED_OFFSET = by_platform(88, 48)
comptime _KIND_MASK = 0o170000
comptime _KIND_FOLDER = 0o040000
comptime _KIND_REGULAR = 0o100000
comptime _KIND_LINK = 0o120000
comptime _KIND_SOCKET = 0o140000
comptime _KIND_PIPE = 0o010000


@fieldwise_init
struct FileStatus(TrivialRegisterPassable):
    """What the system knows of an open file."""

    var is_regular: Bool
    """True for a file that holds octets, not a device, a pipe or a folder."""
    var is_folder: Bool
    var is_linked: Bool
    """False if it has no name any more: it was removed, or another file has
    taken its name."""
    var size: Int
    """Its length in bytes."""
    var modified_ns: Int
    """When it was last changed, in nanoseconds since 1970-01-01 00:00:00 UTC.
    """
    var mode: Int
    """Who may do what with it, such as 0o600."""


@fieldwise_init
struct PathKind(Equatable, TrivialRegisterPassable, Writable):
    """What stands at a path."""

    var number: UInt8

    comptime NOTHING = PathKind(0)
    comptime FILE = PathKind(1)
    """A file that holds octets."""
    comptime FOLDER = PathKind(2)
    comptime LINK = PathKind(3)
    """A symbolic link."""
    comptime PIPE = PathKind(4)
    comptime SOCKET = PathKind(5)
    comptime DEVICE = PathKind(6)

    @staticmethod
    def of(path: StringSpan, *, follows_links: Bool) raises OsError -> Self:
        """Looks what stands at a path, or where a link there leads if it
        `follows_links` (NOTHING if nowhere), and opens nothing. Raises if the
        system does not say."""
        var name = _with_nul(path)
        var words = Array[Int, _STAT_WORD_COUNT](fill=0)
        var result: Int32
        # SAFETY: the name ends with NUL; both outlive the call.
        if follows_links:
            result = external_call["stat", Int32](
                name.unsafe_ptr(), words.unsafe_ptr()
            )
        else:
            result = external_call["lstat", Int32](
                name.unsafe_ptr(), words.unsafe_ptr()
            )
        if result != 0:
            var number = last_errno()
            if number == ENOENT:
                return Self.NOTHING
            raise OsError("stat", number)
        var kind = _short[_MODE_OFFSET](words) & _KIND_MASK
        if kind == _KIND_REGULAR:
            return Self.FILE
        if kind == _KIND_FOLDER:
            return Self.FOLDER
        if kind == _KIND_LINK:
            return Self.LINK
        if kind == _KIND_PIPE:
            return Self.PIPE
        return Self.SOCKET if kind == _KIND_SOCKET else Self.DEVICE

    def write_to(self, mut writer: Some[Writer]):
        """Writes what it is, with its article."""
        var texts = StaticString(
            "nothing,a file,a folder,a symbolic link,a pipe,a socket,a device"
        )
        writer.write(texts.split(",").at(Int(self.number)))


@fieldwise_init
struct File(Movable):
    """An open file or folder."""

    var _descriptor: Descriptor

    @staticmethod
    def open(path: StringSpan) raises OsError -> Self:
        """Opens a file or folder, to be read; never waits, as `open_beneath`."""
        return Self(_open_at(_AT_FDCWD, path, _O_RDONLY))

    @staticmethod
    def folder(path: StringSpan) raises OsError -> Self:
        return Self(_open_at(_AT_FDCWD, path, _O_RDONLY | _O_DIRECTORY))

    @staticmethod
    def temporary(folder: StringSpan) raises OsError -> Self:
        """Makes a file without a name, empty, to be written and read, which is
        gone when it is closed. Its octets go where the folder is; that file
        system must have room."""
        comptime if not IS_MACOS:
            try:
                return Self(
                    _open_at(_AT_FDCWD, folder, _O_RDWR | _O_TMPFILE, 0o600)
                )
            except error:
                # Some file systems have no files without names.
                if error.number == ENOENT:
                    raise error^
        return Self(_open_unlinked(folder))

    def open_beneath(
        self, path: StringSpan, *, follows_links: Bool
    ) raises OsError -> Self:
        """Opens a file or folder below this folder, to be read.

        The path is names parted by slashes, without `.` and `..`; empty for
        this folder. Links are followed even out of this folder, or refused
        wherever they stand. Never waits: what is no file, as a pipe, is opened
        all the same, so ask `status`.
        """
        var base = self._descriptor.fd()
        if path.byte_length() == 0:
            return Self(_open_at(Int(base), ".", _O_RDONLY | _O_DIRECTORY))
        if follows_links:
            return Self(_open_at(Int(base), path, _O_RDONLY))
        # Each name by itself: O_NOFOLLOW is about the last one of a path.
        var octets = path.as_bytes()
        var holder = Descriptor(owned=-1)
        var start = 0
        while True:
            var end = find_octet(octets, 47, start)
            var name = StringSpan(unsafe_from_utf8=octets.between(start, end))
            var flags = _O_RDONLY | _O_NOFOLLOW
            if end < len(octets):
                flags |= _O_DIRECTORY
            var from_number = holder.fd() if holder.is_open() else base
            var next = _open_at(Int(from_number), name, flags)
            swap(holder, next)
            if end == len(octets):
                return Self(holder^)
            start = end + 1

    def status(self) raises OsError -> FileStatus:
        """Asks for kind, length and time."""
        var words = Array[Int, _STAT_WORD_COUNT](fill=0)
        if external_call["fstat", Int32](
            self._descriptor.fd(), words.unsafe_ptr()
        ):
            raise OsError("fstat", last_errno())
        var mode = _short[_MODE_OFFSET](words)
        var kind = mode & _KIND_MASK
        return FileStatus(
            kind == _KIND_REGULAR,
            kind == _KIND_FOLDER,
            # The low bits of the count: hardly a file has 65,536 names, and
            # to take one for removed is to open it once more.
            _short[_LINKS_OFFSET](words) > 0,
            words.at(_SIZE_OFFSET // 8),
            words.at(_MODIFIED_OFFSET // 8) * 1_000_000_000
            + words.at(_MODIFIED_OFFSET // 8 + 1),
            Int(mode & ~_KIND_MASK),
        )

    def read_at(
        self, room: MutSpan[UInt8, _], offset: Int
    ) raises OsError -> Int:
        """Reads octets from a place, and tells how many, 0 at the end; several
        threads may do so at once."""
        while True:
            var count = external_call["pread", Int](
                self._descriptor.fd(), room.unsafe_ptr(), len(room), offset
            )
            if count >= 0:
                return count
            if last_errno() != EINTR:
                raise OsError("pread", last_errno())

    def read_exactly_at(
        self, room: MutSpan[UInt8, _], offset: Int
    ) raises OsError:
        """Fills all of the room with octets from a place. Raises if they cannot
        be read, or the file ends before (ENODATA)."""
        var done = 0
        while done < len(room):
            var count = self.read_at(room.after(done), offset + done)
            if count == 0:
                raise OsError("pread", ENODATA)
            done += count

    def append(self, octets: Span[UInt8, _]) raises OsError:
        """Writes all octets after those written before."""
        var start = 0
        while start < len(octets):
            var count = write_from(self._descriptor.fd(), octets.after(start))
            if count < 0:
                raise OsError("write", -count)
            start += count

    @staticmethod
    def appending(path: StringSpan, mode: Int = 0o666) raises OsError -> Self:
        """Opens a file to go on with it by `append`, or makes it, with `mode`
        before the umask; a symbolic link is refused."""
        var flags = _O_RDWR | _O_CREAT | _O_APPEND | _O_NOFOLLOW
        return Self(_open_at(_AT_FDCWD, path, flags, mode))

    def lock(self) raises OsError:
        """Takes the file for this process, until it is closed. Raises if
        another one has it (EAGAIN)."""
        if external_call["flock", Int32](
            self._descriptor.fd(), Int32(_LOCK_ALONE)
        ):
            raise OsError("flock", last_errno())

    def truncate(self, length: Int) raises OsError:
        """Cuts the file to so many octets."""
        while external_call["ftruncate", Int32](self._descriptor.fd(), length):
            if last_errno() != EINTR:
                raise OsError("ftruncate", last_errno())

    def sync(self) raises OsError:
        """Waits until all that was written, or the names of a folder, survive a
        loss of power."""
        while external_call["fsync", Int32](self._descriptor.fd()):
            if last_errno() != EINTR:
                raise OsError("fsync", last_errno())

    def names(deinit self) raises OsError -> List[String]:
        """Lists the names in this folder that are UTF-8, sorted by octets,
        without `.` and `..`, and closes it."""
        return names_in(self._descriptor^)

    def fd(self) -> Int32:
        """Lends the descriptor, good while this value lives."""
        return self._descriptor.fd()


struct NewFile(Movable):
    """A file that has its name only once it is complete.

    Until `take_name` it has a name that nobody guesses, beside its own and with
    a dot before it, which goes with the value if it is not called.
    """

    var _file: File
    var _path: String
    # Empty once it is gone.
    var _unfinished: String

    def __init__(out self, path: StringSpan) raises OsError:
        """Makes the file, empty, that is to be called by a path. Raises if none
        can be made in that folder."""
        self._unfinished = _unguessed_name(folder_of(path))
        self._path = String(path)
        var flags = _O_RDWR | _O_CREAT | _O_EXCL | _O_NOFOLLOW
        self._file = File(_open_at(_AT_FDCWD, self._unfinished, flags, 0o666))

    def append(self, octets: Span[UInt8, _]) raises OsError:
        """Writes all octets after those written before."""
        self._file.append(octets)

    def take_name(mut self, *, replaces: Bool) raises OsError:
        """Gives the file its name, at once and as a whole. Raises if another
        file has it and is not to give way (EEXIST), or it cannot be given."""
        give_name(self._unfinished, self._path, replaces=replaces)
        if replaces:
            self._unfinished = String()

    def __deinit__(deinit self):
        """Removes the name that nobody guesses, if it is still there."""
        if self._unfinished.byte_length() > 0:
            try:
                remove(self._unfinished)
            except:
                # Somebody else has removed it.
                pass


def give_name(
    from_name: StringSpan, to_name: StringSpan, *, replaces: Bool
) raises OsError:
    """Gives a file another name on the same file system, at once and as a
    whole. If it `replaces`, another file of that name gives way, and the old
    name goes; else both names are there. Raises if another file has the name
    and is not to give way (EEXIST), or the name cannot be given."""
    var from_path = _with_nul(from_name)
    var to_path = _with_nul(to_name)
    # SAFETY: both end with NUL and outlive the calls.
    if replaces:
        if external_call["rename", Int32](
            from_path.unsafe_ptr(), to_path.unsafe_ptr()
        ):
            raise OsError("rename", last_errno())
    # Unlike `rename`, this gives no name that is taken.
    elif external_call["link", Int32](
        from_path.unsafe_ptr(), to_path.unsafe_ptr()
    ):
        raise OsError("link", last_errno())


def folder_of(path: StringSpan) -> String:
    """Finds the folder of a file's path; `.` if it names none."""
    var end = path.rfind("/")
    if end > 0:
        return String(path[byte=:end])
    return String("/" if end == 0 else ".")


def _open_unlinked(folder: StringSpan) raises OsError -> Descriptor:
    """Makes a file of a name that nobody guesses, and removes the name."""
    var path = _unguessed_name(folder)
    var flags = _O_RDWR | _O_CREAT | _O_EXCL | _O_NOFOLLOW
    var descriptor = _open_at(_AT_FDCWD, path, flags, 0o600)
    try:
        remove(path)
    except:
        raise OsError("unlink", EINVAL)
    return descriptor^


def _unguessed_name(folder: StringSpan) raises OsError -> String:
    var random = Array[UInt8, 16](fill=0)
    fill_random(Span(random))
    var path = String(folder, "/.flare-")
    for octet in random:
        path.write(Int(octet), "-")
    return path^


def _open_at(
    folder: Int, path: StringSpan, flags: Int, mode: Int = 0
) raises OsError -> Descriptor:
    # SAFETY: the octets end with NUL and outlive the call.
    var name = _with_nul(path)
    while True:
        var number = external_call["openat", Int32, num_fixed_args=3](
            Int32(folder),
            name.unsafe_ptr(),
            Int32(flags | _O_CLOEXEC | _O_NONBLOCK),
            Int32(mode),
        )
        if number >= 0:
            return Descriptor(owned=number)
        if last_errno() != EINTR:
            raise OsError("openat", last_errno())


def _with_nul(path: StringSpan) -> List[UInt8]:
    var name = List[UInt8](capacity=path.byte_length() + 1)
    name.extend(path.as_bytes())
    name.append(0)
    return name^


def _short[offset: Int](words: Array[Int, _STAT_WORD_COUNT]) -> Int:
    """Reads the 16 bits at an offset in octets, on a little-endian machine."""
    return (words.at(offset // 8) >> (offset % 8 * 8)) & 0xFFFF


comptime _NAME_OFFSET = by_platform(19, 21)
# Of `d_name` in struct dirent, in bytes; NUL ends the name.


def names_in(var folder: Descriptor) raises OsError -> List[String]:
    """Lists a folder, just opened, whatever its path is by now, and closes it:
    the names that are UTF-8, sorted by octets, without `.` and `..`."""
    comptime Address = OptionalPointer[UInt8, MutUntrackedOrigin]
    var number = folder.release()
    var stream = external_call["fdopendir", Address](number)
    if not stream:
        var error_number = last_errno()
        close_descriptor(number)
        raise OsError("fdopendir", error_number)
    var names = List[String]()
    while True:
        var entry = external_call["readdir", Address](stream.held())
        if not entry:
            break
        # SAFETY: an entry is good until the next call, and has a name with a
        # NUL after it.
        var octets = List[UInt8]()
        var index = _NAME_OFFSET
        while entry.held()[unsafe_offset=index] != 0:
            octets.append(entry.held()[unsafe_offset=index])
            index += 1
        try:
            var name = String(from_utf8=octets)
            if name != "." and name != "..":
                names.append(name^)
        except:
            continue
    # The descriptor belongs to the stream.
    _ = external_call["closedir", Int32](stream.held())
    sort(names)
    return names^


def send_file(socket: Int32, file: Int32, offset: Int, length: Int) -> Int:
    """Writes octets of a file, more than 0, to a connected stream socket, as
    they lie there. Returns how many were taken, 0 at the end of the file, or a
    negative errno; `-EINVAL`, `-ENOSYS` or `-ENOTSUP` where files of this kind
    cannot be sent and have to be read.

    The file's own position is neither used nor changed, so several threads may
    send from one descriptor. On Linux a closed peer raises SIGPIPE, which the
    program must ignore: there is no flag against it.
    """
    comptime if IS_MACOS:
        # How many are wanted, and then how many were taken.
        var count = length
        var nothing: OptionalPointer[UInt8, MutUntrackedOrigin] = None
        var result = external_call["sendfile", Int32](
            file, socket, offset, Pointer(to=count), nothing, Int32(0)
        )
        if result == 0:
            return count
        var number = last_errno()
        # A part may have gone before the socket was full.
        if (number == EAGAIN or number == EINTR) and count > 0:
            return count
        if number == EINTR:
            return send_file(socket, file, offset, length)
        return -number
    else:
        # The C library's other name for it: its arguments differ from those
        # of macOS, and a symbol can be declared once.
        while True:
            var start = offset
            var count = result_of(
                external_call["sendfile64", Int](
                    socket, file, Pointer(to=start), length
                )
            )
            if count != -EINTR:
                return count
