"""Owned descriptors, and pipes."""

from flare.bytes.checked import *
from flare.sys.errno import EBADF, EINTR, OsError, last_errno, result_of
from flare.sys.platform import IS_MACOS, by_platform
from std.ffi import external_call

comptime _F_DUPFD_CLOEXEC = by_platform(1030, 67)
comptime _F_GETFL = 3
comptime _F_SETFL = 4
comptime _F_GETFD = 1
comptime _F_SETFD = 2
comptime _FD_CLOEXEC = 1
comptime _O_NONBLOCK = by_platform(0o4000, 0x4)
comptime _O_CLOEXEC = 0o2000000


struct Descriptor(Movable):
    """A file descriptor that is closed once, when its owner goes.

    Calls on a descriptor belong in methods of what owns it: the compiler ends
    a value's life at its last use, and a bare number does not count as one.
    """

    var _number: Int32

    @always_inline
    def __init__(out self, *, owned: Int32):
        """Takes over an open descriptor that nothing else closes, or -1."""
        self._number = owned

    def __deinit__(deinit self):
        if self._number >= 0:
            close_descriptor(self._number)

    @always_inline
    def fd(self) -> Int32:
        """Lends the number, good while this value lives; -1 if closed."""
        return self._number

    @always_inline
    def is_open(self) -> Bool:
        return self._number >= 0

    def close(mut self):
        """Closes the descriptor now; a second call does nothing."""
        if self._number >= 0:
            close_descriptor(self._number)
            self._number = -1

    def release(mut self) -> Int32:
        """Gives the descriptor away, which the caller must close."""
        var number = self._number
        self._number = -1
        return number

    def set_nonblocking(mut self) raises OsError:
        """Makes calls return at once instead of waiting."""
        make_nonblocking(self._number)


def make_nonblocking(number: Int32) raises OsError:
    """Makes calls on a descriptor return at once instead of waiting."""
    var flags = _fcntl(number, _F_GETFL, 0)
    if flags < 0 or _fcntl(number, _F_SETFL, Int(flags) | _O_NONBLOCK) < 0:
        raise OsError("fcntl", last_errno())


def make_blocking(number: Int32) raises OsError:
    """Makes calls on a descriptor wait."""
    var flags = _fcntl(number, _F_GETFL, 0)
    if flags < 0 or _fcntl(number, _F_SETFL, Int(flags) & ~_O_NONBLOCK) < 0:
        raise OsError("fcntl", last_errno())


def close_on_exec(number: Int32) raises OsError:
    """Keeps a descriptor from programs that are executed."""
    if _fcntl(number, _F_SETFD, _FD_CLOEXEC) < 0:
        raise OsError("fcntl", last_errno())


def is_open_number(number: Int32) -> Bool:
    """Tells whether a number is that of an open descriptor, whoever owns it."""
    return _fcntl(number, _F_GETFD, 0) >= 0


def is_kept_on_exec(number: Int32) -> Bool:
    """Tells whether programs that are executed get a descriptor, if it is open."""
    var flags = _fcntl(number, _F_GETFD, 0)
    return flags >= 0 and (Int(flags) & _FD_CLOEXEC) == 0


def duplicate_from(number: Int32, lowest: Int32) -> Descriptor:
    """Makes a second descriptor, closed on exec, of the first free number from
    `lowest` on; not open if none is free."""
    return Descriptor(owned=_fcntl(number, _F_DUPFD_CLOEXEC, Int(lowest)))


def duplicate_to(number: Int32, target: Int32) raises OsError:
    """Makes a second descriptor of another number, kept on exec; what is open
    there is closed before."""
    debug_assert(number != target, "dup2 onto itself keeps close-on-exec")
    if external_call["dup2", Int32](number, target) < 0:
        raise OsError("dup2", last_errno())


def _fcntl(number: Int32, command: Int, argument: Int) -> Int32:
    return external_call["fcntl", Int32, num_fixed_args=2](
        number, Int32(command), Int32(argument)
    )


def close_descriptor(number: Int32):
    """Closes a descriptor that no `Descriptor` owns."""
    var result = external_call["close", Int32](number)
    debug_assert(
        result == 0 or last_errno() != EBADF,
        "a descriptor that is not open is closed: ",
        number,
    )


def read_into(number: Int32, room: MutSpan[UInt8, _]) -> Int:
    """Reads octets: how many, 0 at the end, or a negative errno, never EINTR."""
    while True:
        var count = result_of(
            external_call["read", Int](number, room.unsafe_ptr(), len(room))
        )
        if count != -EINTR:
            return count


def write_from(number: Int32, octets: Span[UInt8, _]) -> Int:
    """Writes octets: how many were taken, or a negative errno, never EINTR."""
    while True:
        var count = result_of(
            external_call["write", Int](
                number, octets.unsafe_ptr(), len(octets)
            )
        )
        if count != -EINTR:
            return count


struct Pipe(Movable):
    """A non-blocking pipe; both ends are closed on exec."""

    var _reading: Descriptor
    var _writing: Descriptor

    def __init__(out self) raises OsError:
        var ends = Array[Int32, 2](fill=-1)
        comptime if IS_MACOS:
            if external_call["pipe", Int32](ends.unsafe_ptr()) != 0:
                raise OsError("pipe", last_errno())
        else:
            # At once: no program that another thread executes meanwhile gets it.
            if (
                external_call["pipe2", Int32](
                    ends.unsafe_ptr(), Int32(_O_NONBLOCK | _O_CLOEXEC)
                )
                != 0
            ):
                raise OsError("pipe2", last_errno())
        self._reading = Descriptor(owned=ends[0])
        self._writing = Descriptor(owned=ends[1])
        comptime if IS_MACOS:
            for index in range(2):
                make_nonblocking(ends.at(index))
                close_on_exec(ends.at(index))

    @no_inline
    def __deinit__(deinit self):
        return

    def reading_fd(self) -> Int32:
        """Lends the end that is read, good while the pipe lives."""
        return self._reading.fd()

    def writing_fd(self) -> Int32:
        """Lends the end that is written, good while the pipe lives."""
        return self._writing.fd()

    def take_reading(mut self) -> Descriptor:
        """Takes the end that is read out of the pipe; not open at a second
        call."""
        return Descriptor(owned=self._reading.release())

    def take_writing(mut self) -> Descriptor:
        """Takes the end that is written out of the pipe; not open at a second
        call."""
        return Descriptor(owned=self._writing.release())

    def notify(self):
        """Makes the reading end ready; a full pipe is ready already."""
        notify_pipe(self._writing.fd())

    def drain(self) -> Int:
        """Reads all that was written, and tells how many octets: how often
        `notify` was called."""
        # Not `mut`: others notify meanwhile, and the compiler writes the fields
        # of what is lent to be changed, if only with what they have.
        return len(self.take())

    def take(self) -> List[UInt8]:
        """Reads all that was written, in order."""
        var taken = List[UInt8]()
        var room = Array[UInt8, 64](uninitialized=True)
        while True:
            var count = read_into(self._reading.fd(), Span(room))
            if count <= 0:
                return taken^
            for index in range(count):
                taken.append(room.at(index))


def notify_pipe(writing_fd: Int32, octet: UInt8 = 1):
    """Writes one octet into a `Pipe`; safe in a signal handler."""
    var octets = Array[UInt8, 1](fill=octet)
    _ = write_from(writing_fd, Span(octets))
