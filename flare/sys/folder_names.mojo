"""The names in an open folder."""

from flare.sys.descriptor import Descriptor, close_descriptor
from flare.sys.errno import OsError, last_errno
from flare.sys.platform import by_platform
from std.ffi import external_call
from std.memory import OptionalPointer

comptime _NAME_OFFSET = by_platform(19, 21)
# Of `d_name` in struct dirent, in bytes; NUL ends the name.


def names_in(var folder: Descriptor) raises OsError -> List[String]:
    """Lists a folder, whatever its path is by now.

    Args:
        folder: The folder, just opened; it is closed.

    Returns:
        The names in it, sorted by octets, without `.` and `..`, and without
        those that are no UTF-8.

    Raises:
        OsError: If it cannot be read.
    """
    comptime Address = OptionalPointer[UInt8, MutUntrackedOrigin]
    var number = folder.release()
    var stream = external_call["fdopendir", Address](number)
    if not stream:
        var error_number = last_errno()
        close_descriptor(number)
        raise OsError("fdopendir", error_number)
    var names = List[String]()
    while True:
        var entry = external_call["readdir", Address](stream.value())
        if not entry:
            break
        # SAFETY: an entry is good until the next call, and has a name with a
        # NUL behind it.
        var octets = List[UInt8]()
        var index = _NAME_OFFSET
        while entry.value()[unsafe_offset=index] != 0:
            octets.append(entry.value()[unsafe_offset=index])
            index += 1
        try:
            var name = String(from_utf8=octets)
            if name != "." and name != "..":
                names.append(name^)
        except:
            continue
    # The descriptor belongs to the stream.
    _ = external_call["closedir", Int32](stream.value())
    sort(names)
    return names^
