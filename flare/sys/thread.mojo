"""Threads of the operating system."""

from flare.bytes.text import Text
from flare.sys.errno import OsError
from flare.sys.log import log_line
from std.ffi import external_call
from std.memory import Allocation, Layout, OpaquePointer, alloc, dealloc

comptime _Argument = OpaquePointer[MutUntrackedOrigin]


trait Task(Deinitable, Movable):
    """What a thread does."""

    def run(mut self) raises:
        """Does it; the thread ends with it.

        Raises:
            Error: Logged to standard error; the thread ends.
        """
        ...


def _entry[T: Task](argument: _Argument) abi("C") -> _Argument:
    var task = argument.unsafe_bitcast[T]()
    try:
        task[].run()
    except error:
        log_line(
            Text().add("a thread was ended by an error: ").add(error).end()
        )
    task.unsafe_deinit_pointee()
    dealloc(Allocation(unsafe_owned_ptr=task, layout=Layout[T](count=1)))
    return argument


struct Thread(Movable):
    """A running thread; it is detached if nobody joins it."""

    var _handle: UInt64

    def __init__[T: Task](out self, var task: T) raises OsError:
        """Starts a thread.

        Parameters:
            T: What it does.

        Args:
            task: Moved to the thread.

        Raises:
            OsError: If the system has no more threads.
        """
        var owned = alloc(Layout[T](count=1)).unsafe_leak()
        owned.unsafe_write(task^)
        self._handle = 0
        var result = external_call["pthread_create", Int32](
            Pointer(to=self._handle), Int(0), _entry[T], owned
        )
        if result != 0:
            owned.unsafe_deinit_pointee()
            dealloc(
                Allocation(unsafe_owned_ptr=owned, layout=Layout[T](count=1))
            )
            raise OsError("pthread_create", Int(result))

    def join(deinit self):
        """Waits for the end of the thread."""
        var result = external_call["pthread_join", Int32](self._handle, Int(0))
        debug_assert(result == 0, "pthread_join gives ", result)

    def forget(deinit self):
        """Lets go of a thread that this process does not have: a fork copies
        the value, but not the thread."""
        return

    def __deinit__(deinit self):
        """Lets the thread run on by itself."""
        var result = external_call["pthread_detach", Int32](self._handle)
        debug_assert(result == 0, "pthread_detach gives ", result)
