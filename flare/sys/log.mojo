"""Lines on standard error and standard output that never make a thread wait.

Whoever reads them may stall: a full pipe, a stopped terminal, a log service
that hangs. A line that the kernel does not take at once is dropped and counted;
the pipe is the queue. The next line that is taken is followed by the count.
"""

from flare.bytes.ascii import write_visible
from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.sys.clock import Deadline
from flare.sys.descriptor import write_from
from flare.sys.errno import EAGAIN
from flare.sys.memory_map import SharedCounters
from flare.sys.platform import IS_MACOS
from flare.sys.poll import POLL_WRITE, wait_for
from std.ffi import _Global, external_call

comptime STANDARD_OUTPUT = Int32(1)

comptime STANDARD_ERROR = Int32(2)

comptime LOG_LINE_LEN_MAX = 4_096
"""Longest line that `log_line` writes, in bytes; the rest is cut.

A pipe takes as much at once or not at all (PIPE_BUF of Linux), so lines of
several threads and processes do not mix.
"""

comptime _RWF_NOWAIT = Int32(8)


comptime _STREAM_COUNT = 3
# Descriptors from 0 to that of standard error.


struct _Lost(Movable):
    """Lines dropped since they were last told of, by descriptor, and after
    those numbers a 1 where the last line was taken in part.

    Processes that one was forked from share both, as they share the streams.
    """

    # None if the kernel had no memory for it.
    var words: Optional[SharedCounters]

    def __init__(out self):
        try:
            self.words = SharedCounters(2 * _STREAM_COUNT)
        except:
            self.words = None


def _none_lost() -> _Lost:
    return _Lost()


# Standard output and standard error belong to the process, and so does what
# was lost of them. Looked up only beside a call of the kernel.
comptime _LOST = _Global["flare.sys.log.lost", _none_lost]


def _words() raises -> ref[MutUntrackedOrigin] SharedCounters:
    # It lives as long as the process.
    ref lost = _LOST.get_or_create_ptr().unsafe_origin_cast[
        MutUntrackedOrigin
    ]()[]
    if not lost.words:
        raise Error("no memory to count lost lines")
    return lost.words.held()


def share_lost_lines():
    """Makes the counts before a process forks, so that its children have the
    same: a line that one has left torn is ended by whoever writes next."""
    try:
        _ = _words().load(0)
    except:
        # Each process then counts for itself.
        return


struct LibraryLine(Movable):
    """What the library has to tell, for a log of the program's own."""

    var message: String
    var is_error: Bool
    """True for what went wrong; False for a warning."""
    var names: List[StaticString]
    var values: List[String]

    def __init__(out self, message: StringSpan, *, is_error: Bool = False):
        self.message = String(message)
        self.is_error = is_error
        self.names = []
        self.values = []

    def add(mut self, name: StaticString, value: StringSpan):
        self.names.append(name)
        self.values.append(String(value))


comptime FormatLibraryLine = def(
    OpaquePointer[MutUntrackedOrigin], LibraryLine
) thin -> String
comptime WriteLibraryLine = def(
    OpaquePointer[MutUntrackedOrigin], String
) thin -> None


@fieldwise_init
struct LineTaker(TrivialRegisterPassable):
    """The program's log, as far as the library's lines need it."""

    # SAFETY: who gives it keeps what it points to until the process ends.
    var log: OpaquePointer[MutUntrackedOrigin]
    var format: FormatLibraryLine
    var write: WriteLibraryLine


def _no_taker() -> Optional[LineTaker]:
    return None


comptime _TAKER = _Global["flare.sys.log.taker", _no_taker]


def set_line_taker(taker: Optional[LineTaker]) raises:
    """Sends all lines of the library to a log from now on, or to standard error
    if there is none.

    Called before the program has threads: they read it without a lock.
    """
    _TAKER.get_or_create_ptr()[] = taker


@no_inline
def has_line_taker() -> Bool:
    """Tells whether lines of the library go to a log of the program's."""
    try:
        return Bool(_TAKER.get_or_create_ptr()[])
    except:
        return False


@no_inline
def give_line(line: LibraryLine):
    """Gives a line to the program's log; `has_line_taker` has to be true."""
    try:
        var taker = _TAKER.get_or_create_ptr()[].held()
        taker.write(taker.log, taker.format(taker.log, line))
    except:
        return


def log_line(what: StringSpan):
    """Writes `flare: `, and what happened, and what follows, to standard error;
    or to the log that the program has made its default.

    Everything that is not visible ASCII is escaped, so nothing that is told,
    such as the text of an error, can end the line or begin another.
    """
    if has_line_taker():
        give_line(LibraryLine(what))
        return
    var line = String("flare: ")
    write_visible(what.as_bytes(), line)
    if line.byte_length() >= LOG_LINE_LEN_MAX:
        comptime CUT = StaticString("...")
        line.resize(LOG_LINE_LEN_MAX - 1 - CUT.byte_length())
        line += CUT
    line += "\n"
    write_log(STANDARD_ERROR, line.as_bytes())


def write_log(number: Int32, line: Span[UInt8, _]):
    """Writes a whole line of a log, with its end, to `STANDARD_OUTPUT` or
    `STANDARD_ERROR` if that can be done at once, and drops it if not.

    Of a line longer than `LOG_LINE_LEN_MAX`, a pipe may take a part. The next
    one begins a line of its own nevertheless.
    """
    try:
        var taken_len = -EAGAIN
        if _ends_torn_line(number):
            taken_len = write_at_once(number, line)
        var is_taken = taken_len == len(line)
        if taken_len > 0 and not is_taken:
            _words().store(_torn(number), 1)
        if not is_taken:
            _words().add(Int(number), 1)
        elif _count(STANDARD_OUTPUT) + _count(STANDARD_ERROR) > 0:
            tell_lost_lines()
    except error:
        # Without memory for the count, lines are dropped uncounted.
        return


def _ends_torn_line(number: Int32) raises -> Bool:
    """Ends the last line if it was taken in part; False if not even that much
    is taken now."""
    if _words().load(_torn(number)) == 0:
        return True
    if not _words().replace(_torn(number), 1, 0):
        return True
    comptime END = StaticString("\n")
    if write_at_once(number, END.as_bytes()) == 1:
        return True
    _words().store(_torn(number), 1)
    return False


def tell_lost_lines() raises:
    """Writes to standard error how many lines were lost since it was last told.

    Called after a line that was taken, and at the end of a server.
    """
    for number in range(STANDARD_OUTPUT, STANDARD_ERROR + 1):
        var count = _count(number)
        # Another thread may take the count in this moment.
        if count == 0 or not _words().replace(Int(number), count, 0):
            continue
        var name = "output" if number == STANDARD_OUTPUT else "error"
        var line = Text().add(count).add(" lines for standard ").add(name).end()
        line = _told(line + " were dropped, for it took no more")
        if write_at_once(STANDARD_ERROR, line.as_bytes()) < 0:
            _words().add(Int(number), count)


def _told(what: String) raises -> String:
    """Writes a line with its end, in the form of the program's log if it has
    one."""
    ref taker = _TAKER.get_or_create_ptr()[]
    if taker:
        return taker.held().format(taker.held().log, LibraryLine(what))
    return Text().add("flare: ").add(what).add("\n").end()


def write_at_once(number: Int32, octets: Span[UInt8, _]) -> Int:
    """Writes octets to a descriptor, blocking or not, as far as that can be
    done without waiting. Returns how many were taken, or a negative errno;
    `EAGAIN` if it would wait.

    Regular files and devices take everything. Where the kernel cannot promise
    not to wait (pipes before Linux 6.4, macOS), the descriptor is asked first
    whether it takes octets: what another thread writes in between may then
    still fill it. Longer octets go in parts that a pipe takes at once.
    """
    comptime if not IS_MACOS:
        var part = _Part(octets)
        var count = external_call["pwritev2", Int](
            number, Pointer(to=part), Int32(1), Int(-1), _RWF_NOWAIT
        )
        if count >= 0:
            return count
    var taken_len = 0
    while True:
        if wait_for(number, POLL_WRITE, Deadline(0)) <= 0:
            return taken_len if taken_len > 0 else -EAGAIN
        var part_len = min(len(octets) - taken_len, LOG_LINE_LEN_MAX)
        var count = write_from(
            number, octets.between(taken_len, taken_len + part_len)
        )
        if count < 0:
            return taken_len if taken_len > 0 else count
        taken_len += count
        if count < part_len or taken_len == len(octets):
            return taken_len


struct _Part[o: ImmOrigin](Movable):
    """`struct iovec`."""

    var base: Pointer[UInt8, Self.o]
    var length: Int

    def __init__(out self, octets: Span[UInt8, Self.o]):
        self.base = octets.unsafe_ptr()
        self.length = len(octets)


def _torn(number: Int32) -> Int:
    """Where it stands that the last line of a descriptor is torn."""
    return _STREAM_COUNT + Int(number)


def _count(number: Int32) raises -> Int:
    return _words().load(Int(number))
