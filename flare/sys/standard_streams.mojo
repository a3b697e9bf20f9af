"""Standard input, output and error of a program that was started without them.

Their numbers are free then (`2>&-` of a shell, some managers of services), and the
kernel gives a new descriptor the first number that is free: what the program
prints would go to a client.
"""

from flare.sys.descriptor import (
    Descriptor,
    duplicate_from,
    duplicate_to,
    is_open_number,
)
from flare.sys.errno import EMFILE, OsError
from flare.sys.file import File

comptime STREAM_COUNT = Int32(3)
"""The first number that is none of a standard stream's."""


@no_inline
def off_standard_streams(
    var descriptor: Descriptor,
) raises OsError -> Descriptor:
    """Gives a new descriptor that has the number of a standard stream another
    one, and fills what is free there with /dev/null, from which nothing new gets
    such a number. Raises if the process has no more descriptors, or no /dev/null.
    """
    var moved = duplicate_from(descriptor.fd(), STREAM_COUNT)
    if not moved.is_open():
        raise OsError("fcntl", EMFILE)
    descriptor.close()
    var nowhere = File.appending("/dev/null")
    var kept = duplicate_from(nowhere.fd(), STREAM_COUNT)
    _ = nowhere^
    if not kept.is_open():
        raise OsError("fcntl", EMFILE)
    for number in range(STREAM_COUNT):
        if not is_open_number(number):
            duplicate_to(kept.fd(), number)
    return moved^
