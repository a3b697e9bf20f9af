"""Processes: made, waited for and signalled; their CPUs and limits."""

from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.sys.errno import EINTR, OsError, last_errno
from flare.sys.platform import IS_MACOS, by_platform
from std.atomic import Atomic, Ordering
from std.ffi import _Global, external_call

comptime _WNOHANG = 1
comptime _PR_SET_PDEATHSIG = 1
comptime _SIGNAL_MASK = 0x7F

comptime _PATH_LEN_MAX = 4_096

comptime ANY_CHILD = -1
"""Stands for any child in `reap`."""


@fieldwise_init
struct ExitStatus(ImplicitlyCopyable, Writable):

    var process_id: Int
    var code: Int
    """Its exit code, or -1 if a signal ended it."""
    var signal: Int
    """The signal that ended it, or 0."""

    def is_clean(self) -> Bool:
        """Tells whether the process ended by itself, with exit code 0."""
        return self.signal == 0 and self.code == 0

    def write_to(self, mut writer: Some[Writer]):
        """Writes how it ended, as in `was killed by signal 9`."""
        if self.signal != 0:
            writer.write("was killed by signal ", self.signal)
            var name = signal_name(self.signal)
            if name.byte_length() > 0:
                writer.write(" (", name, ")")
        else:
            writer.write("exited with code ", self.code)


def signal_name(signal: Int) -> StaticString:
    """Names a signal whose number is the same everywhere, or nothing."""
    if signal == 1:
        return "SIGHUP"
    if signal == 2:
        return "SIGINT"
    if signal == 4:
        return "SIGILL"
    if signal == 6:
        return "SIGABRT"
    if signal == 8:
        return "SIGFPE"
    if signal == 9:
        return "SIGKILL"
    if signal == 11:
        return "SIGSEGV"
    if signal == 14:
        return "SIGALRM"
    if signal == 15:
        return "SIGTERM"
    return ""


def fork_process() raises OsError -> Int:
    """Makes a copy of this process, with the calling thread alone. Returns the
    child's id in the parent, 0 in the child. Raises if the system has no more
    processes."""
    var child = external_call["fork", Int32]()
    if child < 0:
        raise OsError("fork", last_errno())
    return Int(child)


def reap(process_id: Int) raises OsError -> Optional[ExitStatus]:
    """Takes the status of a child, or of `ANY_CHILD`, that has ended, without
    waiting; nothing if none has. Raises if there is no such child (ECHILD)."""
    var status = Int32(0)
    while True:
        # The standard library has a waitpid of another signature.
        var ended = external_call["wait4", Int32](
            Int32(process_id), Pointer(to=status), Int32(_WNOHANG), Int(0)
        )
        if ended == 0:
            return None
        if ended > 0:
            return _decode(Int(ended), Int(status))
        if last_errno() != EINTR:
            raise OsError("wait4", last_errno())


def _decode(process_id: Int, status: Int) -> ExitStatus:
    """Reads a wait status: the low 7 bits are a signal, the next octet a code."""
    var signal = status & _SIGNAL_MASK
    if signal != 0:
        return ExitStatus(process_id, -1, signal)
    return ExitStatus(process_id, (status >> 8) & 0xFF, 0)


def parent_id() -> Int:
    """Reads the id of the parent process; another one when the parent has
    ended."""
    return Int(external_call["getppid", Int32]())


def signal_when_parent_ends(signal: Int):
    """Asks for a signal when the parent ends, or for none by 0; macOS has no
    such thing."""
    comptime if not IS_MACOS:
        _ = external_call["prctl", Int32, num_fixed_args=1](
            Int32(_PR_SET_PDEATHSIG), Int(signal), Int(0), Int(0), Int(0)
        )


def end_process(code: Int):
    """Ends this process at once; no destructor runs."""
    flush_output()
    external_call["_exit", NoneType](Int32(code))


def flush_output():
    """Writes out what the C library still holds of standard output."""
    var all = OptionalPointer[NoneType, MutUntrackedOrigin](None)
    _ = external_call["fflush", Int32](all)


def executable_path() -> String:
    """Finds the file that this process executes; empty where the system does
    not tell, as on macOS."""
    var room = List[UInt8](length=_PATH_LEN_MAX, fill=0)
    var path = String("/proc/self/exe")
    var count = external_call["readlink", Int](
        path.as_c_string_span().ptr(), room.unsafe_ptr(), len(room)
    )
    if count <= 0 or count == len(room):
        return String()
    return text_of(room[:count])


def resident_len(process_id: Int) -> Int:
    """Reads how many bytes of memory a process has in use; 0 if it is gone or
    the system does not tell."""
    try:
        var file = open(String("/proc/", process_id, "/status"), "r")
        for line in file.read().split("\n"):
            if line.startswith("VmRSS:"):
                # "VmRSS:     1234 kB"
                var count = line.removeprefix("VmRSS:").removesuffix("kB")
                return atol(count.strip()) * 1_024
    except:
        return 0
    return 0


struct CStrings(Movable):
    """A NULL-terminated array of C strings, as `execve` takes it."""

    var _octets: List[List[UInt8]]
    var _pointers: List[OptionalPointer[UInt8, MutUntrackedOrigin]]

    def __init__(out self, texts: List[String]):
        self._octets = []
        self._pointers = []
        for text in texts:
            var octets = List[UInt8](capacity=text.byte_length() + 1)
            octets.extend(text.as_bytes())
            octets.append(0)
            self._octets.append(octets^)
        for index in range(len(self._octets)):
            self._pointers.append(
                self._octets.at(index)
                .unsafe_ptr()
                .unsafe_mut_cast[True]()
                .unsafe_origin_cast[MutUntrackedOrigin]()
            )
        self._pointers.append(None)

    def execute(self, environment: Self) raises OsError:
        """Replaces this process with the program that the first text names, in
        an environment of `NAME=value`. Raises if it cannot be executed; on
        success nothing returns."""
        _ = external_call["execve", Int32](
            self._octets.at(0).unsafe_ptr(),
            self._pointers.unsafe_ptr(),
            environment._pointers.unsafe_ptr(),
        )
        raise OsError("execve", last_errno())


def _nothing() -> Int64:
    return 0


# One for the whole process, whichever object asks; a fork's child goes on from
# what its parent had.
comptime _COUNT = _Global["flare.process_number", _nothing]


def next_process_number() raises -> UInt64:
    """Takes a number that was not taken in this process before, from any
    thread: 1, then 2, and so on. Raises if there is no memory for the count."""
    return UInt64(
        Atomic[Int64].fetch_add[ordering=Ordering.RELAXED](
            _COUNT.get_or_create_ptr(), 1
        )
        + 1
    )


comptime _CPU_COUNT_MAX = 1_024
# As many as the kernel's default mask has bits (CPU_SETSIZE).
comptime _WORD_COUNT = _CPU_COUNT_MAX // 64
comptime _MASK_LEN = _CPU_COUNT_MAX // 8
comptime _SC_NPROCESSORS_ONLN_MACOS = 58


def usable_cpus(thread_id: Int = 0) raises OsError -> List[Int]:
    """Lists the CPUs that a thread (0 for the calling one, a process id for the
    first of that process) may run on, in rising order, at least one.

    macOS does not tell; there it is all that are online. Raises if the kernel
    refuses (EINVAL with over 1,024 CPUs).
    """
    var cpus = List[Int]()
    comptime if IS_MACOS:
        var count = external_call["sysconf", Int](
            Int32(_SC_NPROCESSORS_ONLN_MACOS)
        )
        for cpu in range(max(count, 1)):
            cpus.append(cpu)
    else:
        var mask = Array[UInt64, _WORD_COUNT](fill=0)
        var result = external_call["sched_getaffinity", Int32](
            Int32(thread_id), Int(_MASK_LEN), mask.unsafe_ptr()
        )
        if result != 0:
            raise OsError("sched_getaffinity", last_errno())
        for cpu in range(_CPU_COUNT_MAX):
            if (mask.at(cpu // 64) >> UInt64(cpu % 64)) & 1 == 1:
                cpus.append(cpu)
    return cpus^


def pin_thread(cpu: Int) raises OsError:
    """Keeps the calling thread on one of `usable_cpus`; does nothing on macOS.
    Raises if it may not run there (EINVAL)."""
    restrict_thread([cpu])


def restrict_thread(cpus: List[Int]) raises OsError:
    """Keeps the calling thread on some CPUs; does nothing on macOS. The kernel
    ignores those that the process may not use. Raises if none is left (EINVAL).
    """
    comptime if not IS_MACOS:
        var mask = Array[UInt64, _WORD_COUNT](fill=0)
        for cpu in cpus:
            if cpu >= 0 and cpu < _CPU_COUNT_MAX:
                mask.at(cpu // 64) |= UInt64(1) << UInt64(cpu % 64)
        var result = external_call["sched_setaffinity", Int32](
            Int32(0), Int(_MASK_LEN), mask.unsafe_ptr()
        )
        if result != 0:
            raise OsError("sched_setaffinity", last_errno())


@always_inline
def current_cpu() -> Int:
    """Tells where the calling thread runs, or 0 if the system does not tell; a
    moment later it may be elsewhere."""
    comptime if IS_MACOS:
        var number = UInt64(0)
        _ = external_call["pthread_cpu_number_np", Int32](Pointer(to=number))
        return Int(number)
    else:
        return max(0, Int(external_call["sched_getcpu", Int32]()))


comptime _RLIMIT_NOFILE = by_platform(7, 8)
comptime _MACOS_OPEN_MAX: UInt64 = 10_240


struct _Limit(Defaultable, Movable):
    """`struct rlimit`."""

    var soft: UInt64
    var hard: UInt64


def _read_limit() raises OsError -> _Limit:
    var limit = _Limit()
    if (
        external_call["getrlimit", Int32](
            Int32(_RLIMIT_NOFILE), Pointer(to=limit)
        )
        != 0
    ):
        raise OsError("getrlimit", last_errno())
    return limit^


def descriptor_limit() raises OsError -> Int:
    # No limit at all is the largest number, which an Int cannot hold.
    return Int(min(_read_limit().soft, 1_000_000_000))


def raise_descriptor_limit() raises OsError:
    """Lets the process have as many descriptors as it may. If the kernel
    refuses, nothing has changed."""
    var limit = _read_limit()
    if limit.soft >= limit.hard:
        return
    comptime if IS_MACOS:
        # The kernel's own bound (OPEN_MAX) is lower than the hard limit says.
        limit.hard = min(limit.hard, _MACOS_OPEN_MAX)
    set_descriptor_limit(Int(min(limit.hard, 1_000_000_000)))


def set_descriptor_limit(count: Int) raises OsError:
    """Changes how many descriptors the process may have, at most the hard
    limit."""
    var limit = _read_limit()
    limit.soft = UInt64(count)
    if (
        external_call["setrlimit", Int32](
            Int32(_RLIMIT_NOFILE), Pointer(to=limit)
        )
        != 0
    ):
        raise OsError("setrlimit", last_errno())
