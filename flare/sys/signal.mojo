"""Signals as octets in pipes.

A signal handler may do next to nothing. Ours writes to the pipes that event
loops watch. It has no way to be told which ones, for Mojo has no mutable
globals that may be read there; so there are a few descriptor numbers to one of
which a writing end is moved, and a handler for each set of these numbers,
compiled with it.
"""

from flare.sys.descriptor import Descriptor, Pipe, duplicate_from, notify_pipe
from flare.sys.errno import (
    EBUSY,
    ENOMEM,
    ESRCH,
    OsError,
    keep_errno,
    last_errno,
)
from flare.sys.log import log_line
from flare.sys.platform import IS_MACOS, by_platform
from std.ffi import _Global, external_call
from std.utils import BlockingScopedLock, BlockingSpinLock

comptime SIGHUP = 1
"""The terminal went away; by custom: read the configuration again."""
comptime SIGINT = 2
"""Interrupt, from the keyboard."""
comptime SIGKILL = 9
"""End at once; cannot be caught."""
comptime SIGUSR1 = by_platform(10, 30)
"""For the program's own use."""
comptime SIGUSR2 = by_platform(12, 31)
"""For the program's own use."""
comptime SIGPIPE = 13
"""A write to a closed pipe."""
comptime SIGXFSZ = 25
"""A write that makes a file longer than RLIMIT_FSIZE allows."""
comptime SIGALRM = 14
"""The time that `alarm` was set to is over."""
comptime SIGTERM = 15
"""End in good order."""
comptime SIGCHLD = by_platform(17, 20)
"""A child has ended."""
comptime SIGTTIN = 21
"""A read from the terminal in the background; by custom: one worker more."""
comptime SIGTTOU = 22
"""A write to the terminal in the background; by custom: one worker less."""
comptime SIGORPHAN = by_platform(40, 30)
"""The parent has ended; sent by `signal_when_parent_ends`. A real-time signal
that nothing else uses; on macOS it is never sent."""

comptime MASTER_SIGNALS: Array[Int, 7] = [
    SIGCHLD,
    SIGTERM,
    SIGINT,
    SIGHUP,
    SIGUSR2,
    SIGTTIN,
    SIGTTOU,
]
"""What a supervisor of processes listens to."""

comptime _SIG_DFL = 0
comptime _SIG_IGN = 1
comptime _SIG_SETMASK = by_platform(2, 3)
comptime _SA_RESTART = by_platform(0x10000000, 0x2)
comptime _SA_ONSTACK = by_platform(0x08000000, 0x1)
# A fault may be that the stack is full.

comptime _BELL_NUMBERS: Array[Int, 6] = [
    250,
    1_000,
    4_000,
    16_000,
    64_000,
    250_000,
]
# Far apart, so that a process full of descriptors still has one free. The first
# is below the lowest limit that systems set (256 on macOS).

comptime _Handler = def(Int32) thin abi("C") -> None


@no_inline
def _ring(bells: Int, number: Int32):
    """Writes a signal's number to a set of bells: bit k stands for the k-th
    number."""
    # The code that was interrupted may be about to read its errno.
    var interrupted = last_errno()
    comptime for index in range(len(_BELL_NUMBERS)):
        comptime bell_number = _BELL_NUMBERS[index]
        if (bells >> index) & 1 == 1:
            notify_pipe(Int32(bell_number), UInt8(number))
    keep_errno(interrupted)


def _on_signal[bells: Int](number: Int32) abi("C"):
    _ring(bells, number)


def _handler_of(bells: Int) -> _Handler:
    """Finds the handler that rings a set of bells, of one at least."""
    comptime for other in range(1, 1 << len(_BELL_NUMBERS)):
        if bells == other:
            return _on_signal[other]
    return _on_signal[0]


def _on_orphaned(number: Int32) abi("C"):
    _ = external_call["alarm", UInt32](UInt32(ORPHAN_LIFE_S))


comptime ORPHAN_LIFE_S = 1
"""How long a process lives on after its parent's end, in seconds."""


def end_soon_when_orphaned() raises OsError:
    """Lets `SIGORPHAN` set an alarm whose signal ends the process.

    So a process ends even if its loop hangs, and has `ORPHAN_LIFE_S` to finish
    what it does.
    """
    var unused = Array[UInt8, _SAVED_ACTION_LEN](uninitialized=True)
    _install(Int32(SIGORPHAN), _on_orphaned, unused)
    restore_default(SIGALRM)


struct _LinuxSigAction:
    """`struct sigaction` of glibc."""

    var handler: _Handler
    var mask: Array[UInt64, 16]
    var flags: Int32
    var restorer: Int

    def __init__(out self, handler: _Handler):
        self.handler = handler
        self.mask = Array[UInt64, 16](fill=0)
        self.flags = Int32(_SA_RESTART | _SA_ONSTACK)
        self.restorer = 0


struct _MacosSigAction:
    """`struct sigaction` of macOS."""

    var handler: _Handler
    var mask: UInt32
    var flags: Int32

    def __init__(out self, handler: _Handler):
        self.handler = handler
        self.mask = 0
        self.flags = Int32(_SA_RESTART | _SA_ONSTACK)


comptime _SAVED_ACTION_LEN = 160
# Bytes; `struct sigaction` has 152 on Linux and 16 on macOS.


@fieldwise_init
struct _Caught(Copyable, Movable):
    """A signal that is caught."""

    var signal: Int32
    var bells: Int
    """The set of those that it rings, as for `_ring`."""
    var former: Array[UInt8, _SAVED_ACTION_LEN]
    """What was done before the first of them."""


struct _CaughtSignals(Movable):
    """Which bells the signals of this process ring."""

    var lock: BlockingSpinLock
    var rows: List[_Caught]
    # What is known is about this process, and not one that it was forked from.
    var process: Int

    def __init__(out self):
        self.lock = BlockingSpinLock()
        self.rows = []
        self.process = process_id()

    def _forget_parents(mut self):
        """Drops what was known before a fork: those bells ring for others."""
        if self.process != process_id():
            self.rows.clear()
            self.process = process_id()

    def add(mut self, signal: Int32, bell: Int) -> Int:
        """Has a signal ring a bell, too, of a set of one. Returns 0, or the
        errno of a signal that cannot be caught."""
        self._forget_parents()
        var place = 0
        while place < len(self.rows) and self.rows.at(place).signal != signal:
            place += 1
        var bells = bell
        if place < len(self.rows):
            bells |= self.rows.at(place).bells
        var former = Array[UInt8, _SAVED_ACTION_LEN](uninitialized=True)
        try:
            _install(signal, _handler_of(bells), former)
        except error:
            return error.number
        if place < len(self.rows):
            self.rows.at(place).bells = bells
        else:
            self.rows.append(_Caught(signal, bells, former^))
        return 0

    def remove(mut self, bell: Int):
        """Has no signal ring a bell any more; one that rings no other does what
        it did before the first."""
        var index = len(self.rows)
        while index > 0:
            index -= 1
            var bells = self.rows.at(index).bells & ~bell
            if bells == self.rows.at(index).bells:
                continue
            if bells == 0:
                var row = self.rows.pop(index)
                _restore(row.signal, row.former)
                continue
            self.rows.at(index).bells = bells
            var unused = Array[UInt8, _SAVED_ACTION_LEN](uninitialized=True)
            try:
                _install(self.rows.at(index).signal, _handler_of(bells), unused)
            except error:
                # It was caught before, so it can be.
                log_line(String(error))
        if len(self.rows) == 0:
            # What hangs on a global is given back by nobody else.
            self.rows = []


def _none_caught() -> _CaughtSignals:
    return _CaughtSignals()


comptime _CAUGHT = _Global["flare.sys.caught_signals", _none_caught]


struct SignalPipe(Movable):
    """Rings when one of some signals arrives, while it lives.

    Signals belong to the process: one rings all pipes that wait for it.
    """

    var _pipe: Pipe
    var _writing: Descriptor
    # A set of one; 0 before the first signal.
    var _bell: Int
    var _process: Int

    def __init__(out self, signals: List[Int]) raises OsError:
        """Installs handlers; what was done before comes back with the end of
        the last pipe for a signal. Raises if a signal cannot be caught
        (EINVAL), all descriptors that handlers know are taken (EBUSY), or the
        kernel refuses."""
        self._pipe = Pipe()
        self._writing = Descriptor(owned=-1)
        self._bell = _move_bell(self._pipe.writing_fd(), self._writing)
        self._process = process_id()
        for signal in signals:
            try:
                _catch(Int32(signal), self._bell)
            except error:
                self._end()
                raise error^

    def __deinit__(deinit self):
        """Rings no more."""
        self._end()

    def _end(self):
        # In a process that was forked since, the handlers are the other's.
        if self._process == process_id():
            _let_go(self._bell)

    def fd(self) -> Int32:
        """Lends the descriptor that becomes readable, good while this value
        lives."""
        return self._pipe.reading_fd()

    def take(mut self) -> List[Int]:
        """Takes the signals that have arrived, in order."""
        var signals = List[Int]()
        for octet in self._pipe.take():
            signals.append(Int(octet))
        return signals^

    def descriptors(self) -> List[Int32]:
        """Lends all descriptors, while this value lives, for a forked child to
        close: they ring for its parent."""
        return [
            self._pipe.reading_fd(),
            self._pipe.writing_fd(),
            self._writing.fd(),
        ]


def _catch(signal: Int32, bell: Int) raises OsError:
    var error_number = _add_bell(signal, bell)
    if error_number != 0:
        raise OsError("sigaction", error_number)


def _add_bell(signal: Int32, bell: Int) -> Int:
    try:
        var caught = _CAUGHT.get_or_create_ptr()
        with BlockingScopedLock(caught[].lock):
            return caught[].add(signal, bell)
    except:
        return ENOMEM


def _let_go(bell: Int):
    try:
        var caught = _CAUGHT.get_or_create_ptr()
        with BlockingScopedLock(caught[].lock):
            caught[].remove(bell)
    except error:
        log_line(String(error))


def _move_bell(number: Int32, mut moved: Descriptor) raises OsError -> Int:
    """Gives the bell a number that handlers know; returns the set of it."""
    comptime for index in range(len(_BELL_NUMBERS)):
        comptime bell_number = _BELL_NUMBERS[index]
        moved = duplicate_from(number, Int32(bell_number))
        if moved.fd() == Int32(bell_number):
            return 1 << index
    raise OsError(
        (
            "reserve a descriptor for signals (do many servers wait for some,"
            " or is the limit of descriptors low?)"
        ),
        EBUSY,
    )


def _install(
    signal: Int32, handler: _Handler, mut saved: Array[UInt8, _SAVED_ACTION_LEN]
) raises OsError:
    comptime if IS_MACOS:
        _exchange(signal, _MacosSigAction(handler), saved)
    else:
        _exchange(signal, _LinuxSigAction(handler), saved)


def _restore(signal: Int32, saved: Array[UInt8, _SAVED_ACTION_LEN]):
    var unused = Array[UInt8, _SAVED_ACTION_LEN](uninitialized=True)
    try:
        _exchange(signal, saved, unused)
    except error:
        # A former action was good once; there is nothing better to put back.
        log_line(String(error))


comptime SignalHandler = _Handler
"""Called with the number of a signal, wherever the thread is just then."""


struct SavedAction(Movable):
    """What a process did at a signal before a handler was installed."""

    var _octets: Array[UInt8, _SAVED_ACTION_LEN]

    def __init__(out self):
        self._octets = Array[UInt8, _SAVED_ACTION_LEN](uninitialized=True)


def install_handler(
    signal: Int, handler: SignalHandler, mut saved: SavedAction
) raises OsError:
    """Has a function called at a signal, and saves what was done before."""
    _install(Int32(signal), handler, saved._octets)


def restore_handler(signal: Int, saved: SavedAction):
    """Does at a signal what was done before `install_handler`."""
    _restore(Int32(signal), saved._octets)


def _exchange[
    T: AnyType
](
    signal: Int32, action: T, mut saved: Array[UInt8, _SAVED_ACTION_LEN]
) raises OsError:
    var result = external_call["sigaction", Int32](
        signal, Pointer(to=action), saved.unsafe_ptr()
    )
    if result != 0:
        raise OsError("sigaction", last_errno())


def ignore_sigpipe():
    """Lets writes to closed pipes fail with EPIPE instead of ending the process."""
    ignore_signal(SIGPIPE)


def let_writes_fail():
    """Lets writes to closed pipes fail with EPIPE, and such as make a file too
    long with EFBIG, instead of ending the process."""
    ignore_sigpipe()
    ignore_signal(SIGXFSZ)


def ignore_signal(signal: Int):
    _dispose(signal, _SIG_IGN)


def restore_default(signal: Int):
    _dispose(signal, _SIG_DFL)


def _dispose(signal: Int, disposition: Int):
    _ = external_call["signal", Int](Int32(signal), disposition)


struct SignalPause(Movable):
    """Holds back all signals of the calling thread until `end`."""

    var _saved: Array[UInt64, 16]

    def __init__(out self):
        """Starts to hold signals back."""
        self._saved = Array[UInt64, 16](fill=0)
        _swap_mask(Array[UInt64, 16](fill=UInt64.MAX), self._saved)

    def __deinit__(deinit self):
        """Ends a pause that an error has kept from its `end`."""
        _set_mask(self._saved)

    def end(deinit self):
        """Lets signals through as before; those held back arrive now."""
        _set_mask(self._saved)


def _set_mask(mask: Array[UInt64, 16]):
    var unused = Array[UInt64, 16](fill=0)
    _swap_mask(mask, unused)


def _swap_mask(mask: Array[UInt64, 16], mut saved: Array[UInt64, 16]):
    _ = external_call["pthread_sigmask", Int32](
        Int32(_SIG_SETMASK), mask.unsafe_ptr(), saved.unsafe_ptr()
    )


def send_signal(process_id: Int, signal: Int) raises OsError:
    if _kill(process_id, signal) != 0:
        raise OsError("kill", last_errno())


def raise_signal(signal: Int):
    """Sends a signal to the calling thread.

    In a handler of that signal it waits until the handler returns.
    """
    _ = external_call["raise", Int32](Int32(signal))


def process_exists(process_id: Int) -> Bool:
    """Tells whether there is a process of a number, even if it has ended and
    its parent has not asked how. The number of one that is gone is given to
    another one day."""
    # Signal 0 is checked and not sent.
    return _kill(process_id, 0) == 0 or last_errno() != ESRCH


def _kill(process_id: Int, signal: Int) -> Int32:
    return external_call["kill", Int32](Int32(process_id), Int32(signal))


def process_id() -> Int:
    """Reads the number of this process.

    Returns:
        The process id.
    """
    return Int(external_call["getpid", Int32]())
