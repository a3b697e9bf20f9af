"""Fuzzes starting, failing and stopping of threads: all end, none is lost."""

from flare.runtime.scheduler import Scheduler
from flare.runtime.event import Waker
from flare.sys.clock import Deadline
from flare.sys.poll import POLL_READ, wait_for
from flare.sys.thread import Task
from fuzz.engine import Target, digest_of, fuzz_main
from std.ffi import OwnedDLHandle

comptime _STEP_COUNT_MAX = 12
comptime _SYSTEM_ONE_IN = 64
# Programs whose threads are the system's in any case.


@fieldwise_init
struct _Worker(Task):
    """Waits for its waker, or fails or ends at once."""

    var waker: Waker
    var what: UInt8

    def run(mut self) raises:
        if self.what == 1:
            raise Error("as told")
        while self.what != 2 and self.waker.drain() == 0:
            # Asleep, as a worker in its selector: one that asks again and again
            # takes the processor from those that are to start.
            _ = wait_for(self.waker.fd(), POLL_READ, Deadline(-1))


struct _OneThread(Movable):
    """What `tools/one_thread.c` adds to the program, if it is loaded: threads that
    run one after the other, in an order that a number chooses."""

    var _begin: Optional[def(UInt64) thin abi("C") -> None]
    var _end: Optional[def() thin abi("C") -> None]
    var _turn: Optional[def() thin abi("C") -> None]

    def __init__(out self):
        """Looks for it."""
        self._begin = _found[def(UInt64) thin abi("C") -> None](
            "one_thread_begin"
        )
        self._end = _found[def() thin abi("C") -> None]("one_thread_end")
        self._turn = _found[def() thin abi("C") -> None]("one_thread_turn")

    def begin(self, number: UInt64):
        """Has the threads that are started from now on run so."""
        if self._begin:
            self._begin.value()(number)

    def turn(self):
        """Lets some of them go on."""
        if self._turn:
            self._turn.value()()

    def end(self):
        """Has the next ones be threads of the system."""
        if self._end:
            self._end.value()()


def _found[F: TrivialRegisterPassable](name: StaticString) -> Optional[F]:
    try:
        var address = Int(
            OwnedDLHandle().get_symbol[NoneType](name).value()
        ) if OwnedDLHandle().check_symbol(String(name)) else 0
        if address != 0:
            return Pointer(to=address).unsafe_bitcast[F]()[]
    except:
        pass
    return None


struct SchedulerTarget(Target):
    """Octets are a program: start (waiting, failing, ending), stop, look."""

    var one_thread: _OneThread
    """Runs threads so that nobody waits for a processor."""

    def __init__(out self):
        """Looks how threads can be run."""
        self.one_thread = _OneThread()

    def seeds(self) -> List[String]:
        """Lists programs."""
        return ["aaas", "abas", "cccs", "sabcl", "aslaslasl"]

    def tokens(self) -> List[String]:
        """Lists steps."""
        return ["a", "b", "c", "s", "l"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Does as it is told; the end of the scheduler ends all threads."""
        var program = input[: min(len(input), _STEP_COUNT_MAX)]
        # By the whole input, so that one program has many orders of steps.
        var digest = digest_of(input)
        if digest % _SYSTEM_ONE_IN == 0:
            return self._follow(program)
        self.one_thread.begin(digest)
        try:
            self._follow(program)
        finally:
            self.one_thread.end()

    def _follow(self, program: Span[UInt8, _]) raises:
        var scheduler = Scheduler()
        var started = 0
        # One that fails stops all others, those that are started later with them.
        var fails = False
        for octet in program:
            self.one_thread.turn()
            if octet == UInt8(ord("s")):
                scheduler.stop()
            elif octet == UInt8(ord("l")):
                if scheduler.running_count() > started:
                    raise Error("more run than were started")
            else:
                var waker = Waker()
                scheduler.start(_Worker(waker.copy(), octet % 3), waker^)
                started += 1
                fails |= octet % 3 == 1
        if not fails:
            scheduler.stop()
        _wait(scheduler)
        if scheduler.running_count() != 0:
            raise Error("some run on")


def _wait(mut scheduler: Scheduler) raises:
    try:
        scheduler.wait()
    except error:
        if "as told" not in String(error):
            raise error^


def main() raises:
    """Runs the target."""
    fuzz_main("scheduler", SchedulerTarget())
