"""Addresses of host names, from the system's resolver."""

from flare.bytes.checked import *
from flare.sys.clock import Deadline
from flare.sys.errno import OsError, last_errno
from flare.sys.descriptor import Pipe
from flare.sys.memory_map import ProcessWord
from flare.sys.platform import IS_MACOS, by_platform
from flare.sys.poll import POLL_READ, wait_for
from flare.sys.sockets.sock_addr import SOCK_ADDR_LEN_MAX, SockAddr
from flare.sys.sockets.socket import SOCK_STREAM
from flare.sys.thread import Task, Thread
from std.ffi import _Global, external_call
from std.memory import ArcPointer, OptionalPointer

comptime ADDRESS_COUNT_MAX = 32
"""Most addresses of one family taken from one answer.

The answer is a stranger's choice; nobody tries more of them than a few.
"""

comptime LOOKUP_COUNT_MAX = 512
"""Most lookups on threads of their own in a process at once.

Those count that nobody waits for any more: no system has a call that ends one, so
that a resolver which hangs would collect threads without end. A thread that waits
costs some ten KiB; few programs ask for so many names at once.
"""

comptime _EAI_AGAIN = by_platform(-3, 2)
comptime _EAI_NODATA = by_platform(-5, 7)
comptime _EAI_NONAME = by_platform(-2, 8)
comptime _EAI_ADDRFAMILY = by_platform(-9, 1)
comptime _EAI_SYSTEM = by_platform(-11, 11)


comptime _HOST_NAME_LEN_MAX = 256


def host_name() -> String:
    """Tells what this machine calls itself; empty if the system does not tell."""
    var room = Array[UInt8, _HOST_NAME_LEN_MAX](fill=0)
    # The last octet stays 0, whether or not the name was cut.
    var result = external_call["gethostname", Int32](
        room.unsafe_ptr(), _HOST_NAME_LEN_MAX - 1
    )
    var length = 0
    while result == 0 and room.at(length) != 0:
        length += 1
    return String(from_utf8_lossy=Span(room).before(length))


@fieldwise_init
struct LookupStatus(Equatable, TrivialRegisterPassable):

    var number: Int
    """Its place in the list below."""

    comptime FOUND = LookupStatus(0)
    """There are addresses."""
    comptime NOT_FOUND = LookupStatus(1)
    """The name does not exist, or has no address of this family."""
    comptime TEMPORARY = LookupStatus(2)
    """No name server answered; later one may."""
    comptime FAILED = LookupStatus(3)
    """The name server or the system refused."""
    comptime TIMED_OUT = LookupStatus(4)
    """The time was over first."""
    comptime CROWDED = LookupStatus(5)
    """Nobody was asked: `LOOKUP_COUNT_MAX` others wait for the resolver."""


struct Lookup(Movable):

    var status: LookupStatus
    var code: Int
    """The resolver's own number (`EAI_`), or an errno."""
    var addresses: List[SockAddr]
    """The addresses, best first (RFC 6724); the ports are 0."""

    def __init__(out self, status: LookupStatus, code: Int = 0):
        """Makes a result without addresses; the code is the resolver's number,
        or an errno."""
        self.status = status
        self.code = code
        self.addresses = []

    def add(mut self, var address: SockAddr):
        """Adds an address, unless there are enough of its family: the others of
        a long list may be all that can be reached."""
        var count = 0
        for index in range(len(self.addresses)):
            count += Int(self.addresses.at(index).family() == address.family())
        if count < ADDRESS_COUNT_MAX:
            self.addresses.append(address^)


struct _AddrInfo(Movable):
    """`struct addrinfo`; the two pointers in the middle differ in order."""

    var flags: Int32
    var family: Int32
    var kind: Int32
    var protocol: Int32
    var address_len: UInt32
    var first: OptionalPointer[UInt8, MutUntrackedOrigin]
    var second: OptionalPointer[UInt8, MutUntrackedOrigin]
    var next: OptionalPointer[_AddrInfo, MutUntrackedOrigin]

    def __init__(out self, family: Int):
        self.flags = 0
        self.family = Int32(family)
        # One entry an address, instead of one for each kind of socket.
        self.kind = SOCK_STREAM
        self.protocol = 0
        self.address_len = 0
        self.first = None
        self.second = None
        self.next = None

    def address(self) -> OptionalPointer[UInt8, MutUntrackedOrigin]:
        comptime if IS_MACOS:
            return self.second
        else:
            return self.first


def look_up(var host: String, family: Int) -> Lookup:
    """Asks the resolver and waits as long as it takes. The caller has checked
    that there is no NUL in the name; the family is `AF_INET`, `AF_INET6`, or 0
    for both."""
    var hints = _AddrInfo(family)
    var found: OptionalPointer[_AddrInfo, MutUntrackedOrigin] = None
    var no_service: OptionalPointer[UInt8, ImmUntrackedOrigin] = None
    var code = Int(
        external_call["getaddrinfo", Int32](
            host.as_c_string_span().ptr(),
            no_service,
            Pointer(to=hints),
            Pointer(to=found),
        )
    )
    if code != 0:
        var number = last_errno() if code == _EAI_SYSTEM else code
        return Lookup(_status(code), number)
    var lookup = Lookup(LookupStatus.FOUND)
    var current = found
    while current:
        ref entry = current.held()[]
        var length = min(Int(entry.address_len), SOCK_ADDR_LEN_MAX)
        var address = SockAddr()
        var octets = entry.address()
        if octets:
            for index in range(length):
                address.octets.at(index) = octets.held()[unsafe_offset=index]
            address.length = UInt32(length)
            lookup.add(address^)
        current = entry.next
    if found:
        external_call["freeaddrinfo", NoneType](found)
    return lookup^


def _status(code: Int) -> LookupStatus:
    if code == _EAI_NONAME or code == _EAI_NODATA or code == _EAI_ADDRFAMILY:
        return LookupStatus.NOT_FOUND
    if code == _EAI_AGAIN:
        return LookupStatus.TEMPORARY
    return LookupStatus.FAILED


struct _Answer(Movable):
    """Where a thread leaves what it found."""

    var lookup: Optional[Lookup]
    var bell: Pipe

    def __init__(out self) raises OsError:
        self.lookup = None
        self.bell = Pipe()


struct _Running(Movable):
    """How many lookups run on threads in this process."""

    # None if the kernel had no memory for it; then there is no bound.
    var count: Optional[ProcessWord]

    def __init__(out self):
        try:
            self.count = ProcessWord()
        except:
            self.count = None


def _none_running() -> _Running:
    return _Running()


comptime _RUNNING = _Global["flare.sys.name_lookups", _none_running]


def _count_running(amount: Int) raises -> Int:
    """Adds to the number of lookups on threads; gives what it was before."""
    ref count = _RUNNING.get_or_create_ptr()[].count
    return count.held().add(amount) if count else 0


struct LookupPlace(Movable):
    """One of the places for lookups on threads, of a process that has only so
    many."""

    var is_there: Bool
    """False if all were taken."""

    def __init__(out self):
        """Takes a place, or goes without one: see `is_there`."""
        self.is_there = False
        try:
            self.is_there = _count_running(1) < LOOKUP_COUNT_MAX
            if not self.is_there:
                _ = _count_running(-1)
        except:
            return

    def __deinit__(deinit self):
        """Gives the place back."""
        if self.is_there:
            try:
                _ = _count_running(-1)
            except:
                return


@fieldwise_init
struct _Asking(Task):
    """A lookup on a thread of its own, which may outlive who wanted it."""

    var host: String
    var family: Int
    var answer: ArcPointer[_Answer]
    # Given back when the thread ends.
    var place: LookupPlace

    def run(mut self) raises:
        self.answer[].lookup = look_up(self.host, self.family)
        self.answer[].bell.notify()


struct PendingLookup(Movable):
    """A question to the resolver on a thread of its own.

    No system has a call that ends a lookup: whoever drops this leaves the
    thread behind, and it ends when the resolver does, mostly within half a
    minute. There are `LOOKUP_COUNT_MAX` such threads at most.
    """

    var _answer: ArcPointer[_Answer]
    # None if all threads are taken; the answer says so.
    var _thread: Optional[Thread]

    def __init__(out self, var host: String, family: Int) raises OsError:
        """Asks, as `look_up`; the answer is `CROWDED` if too many ask. Raises if
        there is no descriptor or no thread to be had."""
        self._answer = ArcPointer(_Answer())
        self._thread = None
        var place = LookupPlace()
        if place.is_there:
            self._thread = Thread(_Asking(host^, family, self._answer, place^))
        else:
            self._answer[].lookup = Lookup(LookupStatus.CROWDED)
            self._answer[].bell.notify()

    def fd(self) -> Int32:
        """Lends the descriptor that can be read once the answer is there."""
        return self._answer[].bell.reading_fd()

    def wait(self, deadline: Deadline) raises OsError -> Bool:
        var result = wait_for(self.fd(), POLL_READ, deadline)
        if result < 0:
            raise OsError("poll", -result)
        return result > 0

    def take(deinit self) -> Lookup:
        """Gives the answer, waiting for it without end."""
        # The bell is rung after the answer is complete; joining orders the
        # memory.
        if self._thread:
            var thread = self._thread.take()
            thread^.join()
        if not self._answer[].lookup:
            return Lookup(LookupStatus.FAILED)
        return self._answer[].lookup.take()


def look_up_until(
    var host: String, family: Int, deadline: Deadline
) raises OsError -> Lookup:
    """Asks the resolver, as `look_up`, on a thread of its own, and waits for a
    while; then it is `TIMED_OUT`. Raises if there is no descriptor or no thread
    to be had."""
    var pending = PendingLookup(host^, family)
    if not pending.wait(deadline):
        return Lookup(LookupStatus.TIMED_OUT)
    return pending^.take()
