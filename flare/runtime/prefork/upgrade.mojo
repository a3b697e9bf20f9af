"""Replacing the running program by a new one that takes over its listeners.

The new program finds the sockets as a service manager would hand them over
(`LISTEN_FDS`, `LISTEN_PID`), and behind them a pipe (`FLARE_UPGRADE_FD`) into
which it says that it is ready.
"""

from flare.runtime.service_manager import FIRST_INHERITED
from flare.sys.descriptor import Descriptor, duplicate_from, duplicate_to
from flare.sys.environment import environment_texts, environment_value
from flare.sys.errno import OsError
from flare.sys.log import log_line
from flare.sys.pipe import Pipe, notify_pipe
from flare.sys.process import (
    CStrings,
    end_process,
    executable_path,
    flush_output,
    fork_process,
)
from flare.sys.signal import (
    MASTER_SIGNALS,
    SignalPause,
    process_id,
    restore_default,
)
from std.sys import argv

comptime READY_VARIABLE = "FLARE_UPGRADE_FD"
"""Names the descriptor of the pipe in the new program's environment."""

comptime _EXEC_FAILED = 127
# What shells exit with when a program cannot be executed.


struct Upgrade(Movable):
    """A new program that is not ready yet, seen from the old one."""

    var process_id: Int
    """Its process."""
    var deadline_ms: Int
    """When it must be ready."""
    var pipe: Pipe
    """Rings when it is."""

    def __init__(out self, process_id: Int, deadline_ms: Int, var pipe: Pipe):
        """Notes a new program.

        Args:
            process_id: Its process.
            deadline_ms: When it must be ready.
            pipe: Rings when it is.
        """
        self.process_id = process_id
        self.deadline_ms = deadline_ms
        self.pipe = pipe^


def program_path() -> String:
    """Finds the file of the running program, before it is replaced.

    Returns:
        Its path, or how it was called if the system does not tell.
    """
    var path = executable_path()
    return path if path.byte_length() > 0 else String(argv()[0])


def start_upgrade(
    path: String, listeners: List[Int32], deadline_ms: Int
) raises OsError -> Upgrade:
    """Executes a program in a new process that takes listeners over.

    Args:
        path: The program's file; its arguments are those of this one.
        listeners: The listening sockets to hand over.
        deadline_ms: When it must be ready.

    Returns:
        The new program; not ready yet.

    Raises:
        OsError: If the system has no more processes or descriptors.
    """
    var pipe = Pipe()
    flush_output()
    var pause = SignalPause()
    var child_id = fork_process()
    if child_id == 0:
        try:
            _become_program(path, listeners, pipe.writing_fd(), pause^)
        except error:
            log_line(String(path, ": ", error))
        end_process(_EXEC_FAILED)
    else:
        pause^.end()
    return Upgrade(child_id, deadline_ms, pipe^)


def _become_program(
    path: String,
    listeners: List[Int32],
    ready_number: Int32,
    var pause: SignalPause,
) raises OsError:
    # The mask outlives exec, so it ends here; handlers would ring the old
    # program's bell.
    for signal in materialize[MASTER_SIGNALS]():
        restore_default(signal)
    pause^.end()
    # The copies lie above all numbers that are filled from them.
    var lowest = Int32(FIRST_INHERITED + len(listeners) + 1)
    var kept = List[Descriptor]()
    for number in listeners:
        kept.append(duplicate_from(number, lowest))
    kept.append(duplicate_from(ready_number, lowest))
    for index in range(len(kept)):
        duplicate_to(kept[index].fd(), Int32(FIRST_INHERITED + index))
    var arguments = List[String]()
    for index in range(len(argv())):
        arguments.append(String(argv()[index]))
    arguments[0] = path
    CStrings(arguments).execute(CStrings(_environment(len(listeners))))


def _environment(listener_count: Int) -> List[String]:
    """Copies the environment, with our variables in place of old ones."""
    var texts = List[String]()
    for text in environment_texts():
        if not (
            text.startswith("LISTEN_FDS=")
            or text.startswith("LISTEN_PID=")
            or text.startswith("LISTEN_FDNAMES=")
            or text.startswith(READY_VARIABLE + "=")
        ):
            texts.append(text)
    texts.append(String("LISTEN_FDS=", listener_count))
    texts.append(String("LISTEN_PID=", process_id()))
    texts.append(String(READY_VARIABLE, "=", FIRST_INHERITED + listener_count))
    return texts^


def tell_old_program() raises:
    """Tells the program that started this one by `become_program`, if any,
    that this one is ready.

    Raises:
        Error: If the environment makes no sense.
    """
    var text = environment_value(READY_VARIABLE)
    if environment_value("LISTEN_PID") != String(process_id()):
        return
    if text.byte_length() == 0:
        return
    var ready = Descriptor(owned=Int32(atol(text)))
    notify_pipe(ready.fd())
    ready.close()
