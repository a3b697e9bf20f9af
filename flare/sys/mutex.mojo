"""A value under a lock, and waiting until another thread has changed it.

The value lies inside of the mutex, so that nobody reaches it without the lock,
and the lock ends with the guard that reaches it:

    var count = Mutex(0)
    count.lock()[] += 1
"""

from flare.sys.clock import MONOTONIC_CLOCK, monotonic_ns, realtime_ns
from flare.sys.errno import ETIMEDOUT, OsError
from flare.sys.platform import IS_MACOS
from std.ffi import external_call
from std.memory import ArcPointer, unsafe_memset_zero

comptime _WORD_COUNT = 8
# Of 8 octets; pthread_mutex_t has 40 octets on Linux and 64 on macOS,
# pthread_cond_t 48.

comptime _Words = Array[UInt64, _WORD_COUNT]
comptime _WordsAddress = Pointer[_Words, MutUntrackedOrigin]


def init_mutex(words: _WordsAddress, attributes: Int) raises OsError:
    """Makes a lock in the C library's memory, which the caller keeps, and does
    not move, with attributes or 0. Raises if the system has no more locks."""
    var result = external_call["pthread_mutex_init", Int32](words, attributes)
    if result != 0:
        raise OsError("pthread_mutex_init", Int(result))


@always_inline
def unlock_mutex(words: _WordsAddress):
    """Gives away a lock that this thread holds."""
    var result = external_call["pthread_mutex_unlock", Int32](words)
    debug_assert(result == 0, "pthread_mutex_unlock gives ", result)


struct _Cell[T: Movable & Deinitable](Movable):
    """The value beside its lock. Once the lock is made, neither moves."""

    var words: _Words
    var value: Self.T

    def __init__(out self, var value: Self.T):
        self.words = _Words(uninitialized=True)
        # SAFETY: the words are this value's own, and so many.
        unsafe_memset_zero(self.words.unsafe_ptr(), _WORD_COUNT)
        self.value = value^

    def __deinit__(deinit self):
        # Where it was made: what is done to a copy is undefined (POSIX XSH 2.9.9).
        _ = external_call["pthread_mutex_destroy", Int32](
            Pointer(to=self.words)
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )
        # A field that is not used any more would be gone when the call begins.
        _ = self.words^


struct Mutex[T: Movable & Deinitable](ImplicitlyCopyable):
    """A value that one thread at a time reaches; copies mean the same value.

        var guard = mutex.lock()
        guard[].hits += 1
        guard[].last = "..."

    holds the lock until the last use of `guard`, and `mutex.lock()[] += 1` for
    just that line. Keep such stretches short, and do not lock the same mutex
    again within one: that would wait for itself for ever.

    Parameters:
        T: The value's type.
    """

    var _cell: ArcPointer[_Cell[Self.T]]

    def __init__(out self, var value: Self.T) raises OsError:
        """Puts a value under a lock.

        Args:
            value: The value.

        Raises:
            OsError: If the system has no more locks.
        """
        self._cell = ArcPointer(_Cell(value^))
        init_mutex(
            Pointer(to=self._cell[].words)
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin](),
            0,
        )

    def lock[o: ImmOrigin](ref[o] self) -> MutexGuard[Self.T, o]:
        """Waits until no other thread has the lock, takes it, and gives the way
        to the value, which gives the lock away when it goes.

        Parameters:
            o: The mutex's origin, which the guard keeps alive.
        """
        # SAFETY: the guard names the origin of this mutex, which owns the cell.
        return MutexGuard[Self.T, o](
            _unsafe_cell=Pointer(to=self._cell[])
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )

    def unsafe_unlocked[
        o: ImmOrigin
    ](ref[o] self) -> ref[o.unsafe_mut_cast[True]()] Self.T:
        """Lends the value without the lock. The caller knows that no other
        thread changes what it reads, nor reads what it changes.

        Parameters:
            o: The mutex's origin.
        """
        return (
            Pointer(to=self._cell[].value)
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[o.unsafe_mut_cast[True]()]()[]
        )

    def snapshot(self) -> Self.T where conforms_to(Self.T, Copyable):
        """Copies the value under the lock, as it is now."""
        var guard = self.lock()
        return guard[].copy()


struct MutexGuard[T: Movable & Deinitable, o: ImmOrigin](Movable):
    """The lock on a mutex's value, held for as long as this lives.

    Parameters:
        T: The value's type.
        o: The mutex's origin.
    """

    var _cell: Pointer[_Cell[Self.T], MutUntrackedOrigin]

    def __init__(
        out self,
        *,
        _unsafe_cell: Pointer[_Cell[Self.T], MutUntrackedOrigin],
    ):
        """Takes the lock; `Mutex.lock` does that.

        Args:
            _unsafe_cell: What to lock; `o` must keep it alive.
        """
        self._cell = _unsafe_cell
        var result = external_call["pthread_mutex_lock", Int32](self._words())
        debug_assert(result == 0, "pthread_mutex_lock gives ", result)

    def __deinit__(deinit self):
        """Gives the lock away."""
        unlock_mutex(self._words())

    def _words(self) -> _WordsAddress:
        return Pointer(to=self._cell[].words).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()

    def __getitem__[
        g: ImmOrigin
    ](ref[g] self) -> ref[g.unsafe_mut_cast[True]()] Self.T:
        """Lends the value, to read and to change.

        Parameters:
            g: The guard's origin, which keeps the lock while the value is used.
        """
        # SAFETY: nobody else reaches the value while the lock is held, and the
        # reference keeps the guard, which keeps the value, alive.
        return Pointer(to=self._cell[].value).unsafe_origin_cast[
            g.unsafe_mut_cast[True]()
        ]()[]


struct Condvar(ImplicitlyCopyable):
    """Lets threads wait for a change of what a mutex guards; copies are the
    same condition variable.

        var guard = queue.lock()
        while len(guard[].jobs) == 0:
            changed.wait(guard)

    A wait may end though nobody has called, so what is waited for is looked at
    again after it. All who wait at one time must do so with the same mutex.
    """

    var _words: ArcPointer[_CondvarWords]

    def __init__(out self) raises OsError:
        """Makes one for which nobody waits.

        Raises:
            OsError: If the system has no more of them.
        """
        self._words = ArcPointer(_CondvarWords())
        var result = _make_condvar(self._words[].address())
        if result != 0:
            raise OsError("pthread_cond_init", Int(result))

    def wait(self, mut guard: MutexGuard):
        """Gives the lock away until somebody calls; has it again at the end.

        Args:
            guard: The lock.
        """
        var result = external_call["pthread_cond_wait", Int32](
            self._words[].address(), guard._words()
        )
        debug_assert(result == 0, "pthread_cond_wait gives ", result)

    def wait_for(self, mut guard: MutexGuard, timeout_ms: Int) -> Bool:
        """Gives the lock away until somebody calls, and gives False if the time
        is over; has it again at the end.

        Args:
            timeout_ms: Longest wait.
        """
        var now_ns = realtime_ns() if IS_MACOS else monotonic_ns()
        var end_ns = now_ns + timeout_ms * 1_000_000
        var time = Array[Int, 2](fill=end_ns // 1_000_000_000)
        time[1] = end_ns % 1_000_000_000
        var result = Int(
            external_call["pthread_cond_timedwait", Int32](
                self._words[].address(), guard._words(), time.unsafe_ptr()
            )
        )
        debug_assert(
            result == 0 or result == ETIMEDOUT,
            "pthread_cond_timedwait gives ",
            result,
        )
        return result != ETIMEDOUT

    def notify_one(self):
        """Ends the wait of one thread."""
        _ = external_call["pthread_cond_signal", Int32](self._words[].address())

    def notify_all(self):
        """Ends the wait of all threads."""
        _ = external_call["pthread_cond_broadcast", Int32](
            self._words[].address()
        )


struct _CondvarWords(Movable):
    """The C library's memory; once it is made, it does not move."""

    var words: _Words

    def __init__(out self):
        self.words = _Words(fill=0)

    def __deinit__(deinit self):
        # As with a mutex: where it was made, and alive until the call is over.
        _ = external_call["pthread_cond_destroy", Int32](
            Pointer(to=self.words)
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )
        _ = self.words^

    def address(self) -> _WordsAddress:
        return (
            Pointer(to=self.words)
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )


def _make_condvar(words: _WordsAddress) -> Int32:
    """Makes a condition variable whose waits no step of the clock prolongs.
    macOS has only the time of day for them."""
    var attributes = Array[UInt8, 64](uninitialized=True)
    var result = external_call["pthread_condattr_init", Int32](
        attributes.unsafe_ptr()
    )
    comptime if not IS_MACOS:
        if result == 0:
            result = external_call["pthread_condattr_setclock", Int32](
                attributes.unsafe_ptr(), Int32(MONOTONIC_CLOCK)
            )
    if result == 0:
        result = external_call["pthread_cond_init", Int32](
            words, attributes.unsafe_ptr()
        )
    return result
