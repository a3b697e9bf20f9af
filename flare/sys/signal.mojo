"""Signals as octets in a pipe.

A signal handler may do next to nothing. Ours writes to a pipe that an event
loop watches. It has no way to be told which pipe, for Mojo has no mutable
globals; so there is a handler for each of a few descriptor numbers, compiled
with it, and the writing end is moved to one of these numbers.
"""

from flare.sys.descriptor import Descriptor, duplicate_from
from flare.sys.errno import EBUSY, OsError, keep_errno, last_errno
from flare.sys.pipe import Pipe, ring_bell
from flare.sys.platform import IS_MACOS, by_platform
from std.ffi import external_call
from std.sys import stderr

comptime SIGHUP = 1
"""The terminal went away; by custom: read the configuration again."""
comptime SIGINT = 2
"""Interrupt, from the keyboard."""
comptime SIGKILL = 9
"""End at once; cannot be caught."""
comptime SIGUSR1 = by_platform(10, 30)
"""For the program's own use."""
comptime SIGPIPE = 13
"""A write to a closed pipe."""
comptime SIGTERM = 15
"""End in good order."""

comptime _SIG_IGN = 1
comptime _SA_RESTART = by_platform(0x10000000, 0x2)

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
    ring_bell(Int32(bell_number))
    keep_errno(interrupted)


struct _LinuxSigAction:
    """`struct sigaction` of glibc."""

    var handler: _Handler
    var mask: Array[UInt64, 16]
    var flags: Int32
    var restorer: Int

    def __init__(out self, handler: _Handler):
        self.handler = handler
        self.mask = Array[UInt64, 16](fill=0)
        self.flags = Int32(_SA_RESTART)
        self.restorer = 0


struct _MacosSigAction:
    """`struct sigaction` of macOS."""

    var handler: _Handler
    var mask: UInt32
    var flags: Int32

    def __init__(out self, handler: _Handler):
        self.handler = handler
        self.mask = 0
        self.flags = Int32(_SA_RESTART)


comptime _SAVED_ACTION_LEN = 160
# Bytes; `struct sigaction` has 152 on Linux and 16 on macOS.


struct SignalBell(Movable):
    """Rings when one of some signals arrives, while it lives.

    Signals belong to the process: of two bells for one signal, the later rings.
    """

    var _pipe: Pipe
    var _writing: Descriptor
    var _signals: List[Int32]
    var _saved: List[Array[UInt8, _SAVED_ACTION_LEN]]

    def __init__(out self, signals: List[Int]) raises OsError:
        """Installs handlers; what was there before comes back at the end.

        Args:
            signals: Signal numbers.

        Raises:
            OsError: If a signal cannot be caught (EINVAL), all descriptors
                that handlers know are taken (EBUSY), or the kernel refuses.
        """
        self._pipe = Pipe()
        self._signals = List[Int32]()
        self._saved = List[Array[UInt8, _SAVED_ACTION_LEN]]()
        self._writing = Descriptor(owned=-1)
        var handler = _move_bell(self._pipe.writing_number(), self._writing)
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
        var saved = Array[UInt8, _SAVED_ACTION_LEN](fill=0)
        _install(signal, handler, saved)
        self._saved.append(saved^)
        self._signals.append(signal)

    def _restore_all(mut self):
        # Backwards, for a signal may have been named twice.
        while len(self._signals) > 0:
            _restore(self._signals.pop(), self._saved.pop())

    def number(self) -> Int32:
        """Lends the descriptor that becomes readable.

        Returns:
            A descriptor, good while this value lives.
        """
        return self._pipe.reading_number()

    def drain(mut self) -> Int:
        """Takes the signals that have arrived.

        Returns:
            How many.
        """
        return self._pipe.drain()


def _move_bell(number: Int32, mut moved: Descriptor) raises OsError -> _Handler:
    """Gives the bell a number that a handler knows; returns that handler."""
    comptime for index in range(len(_BELL_NUMBERS)):
        comptime bell_number = _BELL_NUMBERS[index]
        moved = duplicate_from(number, Int32(bell_number))
        if moved.number() == Int32(bell_number):
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
    var unused = Array[UInt8, _SAVED_ACTION_LEN](fill=0)
    try:
        _exchange(signal, saved, unused)
    except error:
        # A former action was good once; there is nothing better to put back.
        print(error, file=stderr)


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
    _ = external_call["signal", Int](Int32(SIGPIPE), Int(_SIG_IGN))


def send_signal(process_id: Int, signal: Int) raises OsError:
    """Sends a signal to a process.

    Args:
        process_id: The process.
        signal: The signal.

    Raises:
        OsError: If the kernel refuses.
    """
    if external_call["kill", Int32](Int32(process_id), Int32(signal)) != 0:
        raise OsError("kill", last_errno())


def process_id() -> Int:
    """Reads the number of this process.

    Returns:
        The process id.
    """
    return Int(external_call["getpid", Int32]())
