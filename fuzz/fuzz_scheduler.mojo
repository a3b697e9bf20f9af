"""Fuzzes starting, failing and stopping of threads: all end, none is lost."""

from flare.runtime.scheduler import Scheduler
from flare.runtime.event import Waker
from flare.sys.clock import Deadline
from flare.sys.poll import POLL_READ, wait_for
from flare.sys.thread import Task
from fuzz.engine import Target, fuzz_main


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


@fieldwise_init
struct SchedulerTarget(Target):
    """Octets are a program: start (waiting, failing, ending), stop, look."""

    def seeds(self) -> List[String]:
        """Lists programs."""
        return ["aaas", "abas", "cccs", "sabcl", "aslaslasl"]

    def tokens(self) -> List[String]:
        """Lists steps."""
        return ["a", "b", "c", "s", "l"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Does as it is told; the end of the scheduler ends all threads."""
        var scheduler = Scheduler()
        var started = 0
        for octet in input[0 : min(len(input), 12)]:
            if octet == UInt8(ord("s")):
                scheduler.stop()
            elif octet == UInt8(ord("l")):
                if scheduler.running_count() > started:
                    raise Error("more run than were started")
            else:
                var waker = Waker()
                scheduler.start(_Worker(waker.copy(), octet % 3), waker^)
                started += 1
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
