"""Signals as octets in a pipe.

A signal handler may do next to nothing. Ours writes to a pipe that an event
loop watches. It has no way to be told which pipe, for Mojo has no mutable
globals; so the writing end is moved to one descriptor number that is fixed.
"""

from flare.sys.descriptor import close_descriptor, close_on_exec
from flare.sys.errno import OsError, last_errno
from flare.sys.pipe import Pipe, ring_bell
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
comptime SIGPIPE = 13
"""A write to a closed pipe."""
comptime SIGTERM = 15
"""End in good order."""

comptime _SIG_IGN = 1
comptime _SA_RESTART = by_platform(0x10000000, 0x2)

comptime SIGNAL_BELL_NUMBER: Int32 = 250
"""The descriptor that handlers write to.

High enough that a program's first files do not have it, and below the lowest
limit on descriptors that systems set (256 on macOS).
"""

comptime _Handler = def(Int32) thin abi("C") -> None


def _on_signal(number: Int32) abi("C"):
    ring_bell(SIGNAL_BELL_NUMBER)


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

    One at a time can live in a process: signals belong to the process.
    """

    var _pipe: Pipe
    var _signals: List[Int32]
    var _saved: List[Array[UInt8, _SAVED_ACTION_LEN]]

    def __init__(out self, signals: List[Int]) raises OsError:
        """Installs handlers; what was there before comes back at the end.

        Args:
            signals: Signal numbers.

        Raises:
            OsError: If the kernel refuses.
        """
        self._pipe = Pipe()
        self._signals = []
        self._saved = []
        var moved = external_call["dup2", Int32](
            self._pipe.writing_number(), SIGNAL_BELL_NUMBER
        )
        if moved < 0:
            raise OsError("dup2", last_errno())
        close_on_exec(SIGNAL_BELL_NUMBER)
        for signal in signals:
            self._saved.append(Array[UInt8, _SAVED_ACTION_LEN](fill=0))
            self._signals.append(Int32(signal))
            _install(Int32(signal), self._saved[len(self._saved) - 1])

    def __deinit__(deinit self):
        """Puts the former handlers back."""
        for index in range(len(self._signals)):
            _restore(self._signals[index], self._saved[index])
        close_descriptor(SIGNAL_BELL_NUMBER)

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


def _install(
    signal: Int32, mut saved: Array[UInt8, _SAVED_ACTION_LEN]
) raises OsError:
    var result: Int32
    comptime if IS_MACOS:
        var action = _MacosSigAction(_on_signal)
        result = external_call["sigaction", Int32](
            signal, Pointer(to=action), saved.unsafe_ptr()
        )
    else:
        var action = _LinuxSigAction(_on_signal)
        result = external_call["sigaction", Int32](
            signal, Pointer(to=action), saved.unsafe_ptr()
        )
    if result != 0:
        raise OsError("sigaction", last_errno())


def _restore(signal: Int32, saved: Array[UInt8, _SAVED_ACTION_LEN]):
    var unused = Array[UInt8, _SAVED_ACTION_LEN](fill=0)
    _ = external_call["sigaction", Int32](
        signal, saved.unsafe_ptr(), unused.unsafe_ptr()
    )


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
