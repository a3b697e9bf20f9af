"""What a process tells when it is about to be killed by a fault of its own.

An index out of range, `Optional.value()` of nothing and the like abort: the
Mojo runtime writes the reason to standard output and executes an instruction
that does not exist. No code of the program can go on from there, but a signal
handler may say what the thread was doing before the process ends as it would
have.
"""

from flare.bytes.checked import *
from flare.sys.errno import OsError
from flare.sys.platform import by_platform
from flare.sys.signal import (
    SavedAction,
    install_handler,
    raise_signal,
    restore_default,
    restore_handler,
)
from std.atomic import Atomic
from std.ffi import _Global, external_call
from std.memory import OpaquePointer

comptime Note = OpaquePointer[MutUntrackedOrigin]
"""Where something lies that a thread has noted about what it does."""

comptime CrashReport = def(Int, Note) thin -> None
"""Told the signal and the note of the thread that has failed.

It must neither allocate nor lock: the fault may have been in the midst of
that. A fault in it ends the process at once.
"""

comptime _FAULTS: Array[Int, 6] = [
    4,  # SIGILL: an abort of Mojo on x86-64
    5,  # SIGTRAP: on aarch64
    6,  # SIGABRT
    by_platform(7, 10),  # SIGBUS
    8,  # SIGFPE
    11,  # SIGSEGV
]


struct _Crash(Movable):
    """What belongs to the process."""

    var is_installed: Int64
    # Made with this, so that a thread notes while another one installs.
    var key: UInt32
    var key_result: Int32
    var report: Optional[CrashReport]
    var saved: List[SavedAction]

    def __init__(out self):
        self.is_installed = 0
        self.key = 0
        self.key_result = external_call["pthread_key_create", Int32](
            Pointer(to=self.key), Int(0)
        )
        self.report = None
        self.saved = []


def _nothing() -> _Crash:
    return _Crash()


comptime _CRASH = _Global["flare.sys.crash", _nothing]


def _on_fault(number: Int32) abi("C"):
    """Puts the former handler back, reports, and sends the signal again, which
    then ends the process in its own way.

    To return into the fault would do for a fault, but not for a signal that
    somebody has sent, such as SIGABRT of a service manager's watchdog.
    """
    try:
        ref crash = _CRASH.get_or_create_ptr()[]
        comptime for index in range(len(_FAULTS)):
            comptime FAULT = _FAULTS[index]
            if number == Int32(FAULT):
                restore_handler(FAULT, crash.saved.at(index))
        var note = external_call["pthread_getspecific", Int](crash.key)
        if note != 0 and crash.report:
            crash.report.held()(Int(number), Note(unsafe_from_address=note))
    except error:
        restore_default(Int(number))
    raise_signal(Int(number))


def report_crashes(report: CrashReport) raises:
    """Has the faults of this process reported, in this and in forked ones, for
    threads that have noted something. Called again, it does nothing."""
    ref crash = _CRASH.get_or_create_ptr()[]
    var free = Int64(0)
    if not Atomic[Int64].compare_exchange(
        Pointer(to=crash.is_installed), free, 1
    ):
        return
    if crash.key_result != 0:
        raise OsError("pthread_key_create", Int(crash.key_result))
    crash.report = report
    # All are saved before one of them can be needed.
    var faults = materialize[_FAULTS]()
    for _ in range(len(faults)):
        crash.saved.append(SavedAction())
    for index in range(len(faults)):
        install_handler(faults.at(index), _on_fault, crash.saved.at(index))


def set_crash_note(note: Optional[Note]):
    """Notes what this thread does, for a report of its fault; the note lies
    there until another one, or none, replaces it."""
    try:
        ref crash = _CRASH.get_or_create_ptr()[]
        if crash.key_result != 0:
            return
        var address = Int(note.held()) if note else 0
        _ = external_call["pthread_setspecific", Int32](crash.key, address)
    except error:
        # Without the memory for it, a fault is not reported.
        return
