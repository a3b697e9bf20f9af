"""Signals as octets in a pipe.

A signal handler may do next to nothing. Ours writes to a pipe that an event
loop watches. It has no way to be told which pipe, for Mojo has no mutable
globals; so there is a handler for each of a few descriptor numbers, compiled
with it, and the writing end is moved to one of these numbers.
"""

from flare.sys.descriptor import Descriptor, Pipe, duplicate_from, notify_pipe
from flare.sys.errno import EBUSY, ESRCH, OsError, keep_errno, last_errno
from flare.sys.log import log_line
from flare.sys.platform import IS_MACOS, by_platform
from std.ffi import external_call

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


def _on_signal[bell_number: Int](number: Int32) abi("C"):
    # The code that was interrupted may be about to read its errno.
    var interrupted = last_errno()
    notify_pipe(Int32(bell_number), UInt8(number))
    keep_errno(interrupted)


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


struct SignalPipe(Movable):
    """Rings when one of some signals arrives, while it lives.

    Signals belong to the process: of two bells for one signal, the later rings.
    """

    var _pipe: Pipe
    var _writing: Descriptor
    var _signals: List[Int32]
    var _saved: List[Array[UInt8, _SAVED_ACTION_LEN]]

    def __init__(out self, signals: List[Int]) raises OsError:
        """Installs handlers; what was there before comes back at the end.
        Raises if a signal cannot be caught (EINVAL), all descriptors that
        handlers know are taken (EBUSY), or the kernel refuses."""
        self._pipe = Pipe()
        self._signals = List[Int32]()
        self._saved = List[Array[UInt8, _SAVED_ACTION_LEN]]()
        self._writing = Descriptor(owned=-1)
        var handler = _move_bell(self._pipe.writing_fd(), self._writing)
        for signal in signals:
            try:
                self._catch(Int32(signal), handler)
            except error:
                self._restore_all()
                raise error^

    def __deinit__(deinit self):
        """Puts the former handlers back."""
        self._restore_all()

    def _catch(mut self, signal: Int32, handler: _Handler) raises OsError:
        var saved = Array[UInt8, _SAVED_ACTION_LEN](uninitialized=True)
        _install(signal, handler, saved)
        self._saved.append(saved^)
        self._signals.append(signal)

    def _restore_all(mut self):
        # Backwards, for a signal may have been named twice.
        var index = len(self._signals)
        while index > 0:
            index -= 1
            _restore(self._signals.at(index), self._saved.at(index))
        self._signals.clear()
        self._saved.clear()

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


def _move_bell(number: Int32, mut moved: Descriptor) raises OsError -> _Handler:
    """Gives the bell a number that a handler knows; returns that handler."""
    comptime for index in range(len(_BELL_NUMBERS)):
        comptime bell_number = _BELL_NUMBERS[index]
        moved = duplicate_from(number, Int32(bell_number))
        if moved.fd() == Int32(bell_number):
            return _on_signal[bell_number]
    raise OsError(
        "reserve a descriptor for signals (is the limit below 256?)", EBUSY
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
