"""Uses what the library has of its own for each processor.

`everything.mojo` is checked for another system and another processor; what is left
is the system that the tests run on, with that processor. There the library differs
from what was tested in the files that ask for the processor alone: all of them are
imported here (`check_processors.py`).
"""

from flare.bytes.buffer import Buffer
from flare.bytes.scan import (
    QDTEXT,
    find_octet_within,
    scan_class,
    scan_field_value,
    scan_target,
)
from flare.sys.epoll import (
    EPOLL_ADD,
    EPOLLIN,
    EpollEvents,
    control_epoll,
    create_epoll,
)
from flare.sys.file import File, NewFile, PathKind
from flare.sys.shared_memory import SharedMemory
from flare.sys.weak_symbol import weak_symbol
from flare.ws.core.frame import MaskingKey, copy_masked
from tools.cross.sockets import addresses, datagrams, event_loop, streams


def scans():
    """Reaches the searches in octets, and the masks of WebSocket."""
    var octets = Buffer()
    octets.append("octets\r\n".as_bytes())
    octets.reserve(128)
    # SAFETY: nothing is run.
    var base = octets.unsafe_base()
    print(scan_class[QDTEXT](base, 0), scan_field_value(base, 0).offset)
    print(scan_target(base, 0), find_octet_within(base, 0, 6, 13))
    var key = MaskingKey(UInt32(1))
    copy_masked("octets".as_bytes(), octets.spare().before(6), key)


def files() raises:
    """Reaches files in all ways that they are opened and looked at."""
    print(PathKind.of("a", follows_links=True))
    print(PathKind.of("a", follows_links=False))
    var folder = File.folder(".")
    var file = folder.open_beneath("a", follows_links=False)
    print(file.status().size, file.status().mode)
    var temporary = File.temporary(".")
    temporary.append("octets".as_bytes())
    File.appending("b").lock()
    var made = NewFile("c")
    made.take_name(replaces=True)
    print(folder^.names())


def memory() raises:
    """Reaches locks and waiting between processes."""
    var shared = SharedMemory(4_096)
    shared.make_lock(0)
    print(shared.lock(0, 1) == shared.lock(0, 1))
    shared.unlock(0)
    shared.wait_for_change(1_024, 0, 1)
    shared.wake_all(1_024)


def polling() raises:
    """Reaches the layout of the kernel's events."""
    var epoll = create_epoll()
    control_epoll(epoll.fd(), EPOLL_ADD, 0, EPOLLIN, 1)
    var events = EpollEvents(4)
    print(events.wait(epoll.fd(), 0), events.events(0), events.token(0))


def main() raises:
    """Reaches all of it."""
    print(weak_symbol["flare_no_such_symbol"]())
    scans()
    files()
    memory()
    polling()
    addresses()
    streams()
    datagrams()
    event_loop()
