"""One server on one thread, on several, or in several processes; the workers
share but the handler.
"""

from flare.bytes.checked import *
from flare.bytes.ranges import range_problem
from flare.bytes.text import Text
from flare.http.handler.any_handler import SharedHandler
from flare.http.server.config import ConfigError, ListenerMode, ServerContext
from flare.http.server.listen import Listeners
from flare.http.server.shutdown import ShutdownSignal
from flare.http.server.worker import Worker
from flare.http.server.worker_state import StatsRow
from flare.net.raw_socket import RawSocket
from flare.runtime.dev_handover import is_dev_build, tell_dev_ready
from flare.runtime.event import Interest, Waker
from flare.runtime.prefork.roster import ListenerShare
from flare.runtime.prefork.program import ChildProcess, PreforkProgram
from flare.runtime.reactor import Reactor
from flare.runtime.scheduler import Scheduler
from flare.runtime.stats_board import SharedStats
from flare.runtime.worker_count import WORKER_COUNT_MAX
from flare.sys.process import usable_cpus
from flare.sys.signal import SIGTERM
from flare.sys.thread import Task
from std.memory import ArcPointer, OwnedPointer


@fieldwise_init
struct ThreadPlan(ImplicitlyCopyable):
    """How many workers, and where."""

    var worker_count: Int
    """Threads, at least 1."""
    var pins_cores: Bool
    """True to keep each worker on a CPU, if there are enough of them."""


def check_worker_count(count: Int) raises ConfigError:
    """Refuses counts that cannot be meant: but 1 to `WORKER_COUNT_MAX`."""
    var problem = range_problem(
        "the number of workers", count, 1, WORKER_COUNT_MAX
    )
    if problem.byte_length() > 0:
        raise ConfigError(
            Text()
            .add(problem)
            .add(" (default_worker_count() suits the machine)")
            .end()
        )


def split_listeners(
    var sockets: List[RawSocket], count: Int, mode: ListenerMode
) raises -> List[Listeners]:
    """Gives each of `count` workers sockets to accept from, with queues of
    their own or not. There is one at least; all listen already, at one address.
    Raises if the process has no more descriptors."""
    # What waits in a socket of a worker's own is lost with the process.
    var splits = mode == ListenerMode.PER_WORKER and not is_dev_build()
    var share = ListenerShare(sockets^, splits)
    share.provide(count)
    var listeners = List[Listeners]()
    for worker in range(count):
        var own = List[RawSocket]()
        for index in share.of(worker, count):
            own.append(share.sockets.at(index).duplicate())
        listeners.append(Listeners(own^, share.is_shared))
    return listeners^


@fieldwise_init
struct _Serving(Task):
    """A worker's loop as the task of a thread."""

    # In a box: a worker has hundreds of fields, which every move would copy.
    var worker: OwnedPointer[Worker]

    def run(mut self) raises:
        self.worker[].begin()
        self.worker[].run()


@no_inline
def _make_worker(
    handler: SharedHandler,
    var listeners: Listeners,
    context: ServerContext,
    var stop: ShutdownSignal,
    var row: StatsRow,
) raises -> OwnedPointer[Worker]:
    return OwnedPointer(
        Worker(handler.copy(), listeners^, context, stop^, row^)
    )


def run_worker(
    handler: SharedHandler,
    var sockets: List[RawSocket],
    context: ServerContext,
    var stop: ShutdownSignal,
    board: ArcPointer[SharedStats],
) raises:
    """Answers requests on the calling thread until the server is stopped.
    Raises if the worker cannot be made or fails."""
    var worker = Worker(
        handler.copy(),
        Listeners(sockets^, False),
        context,
        stop^,
        StatsRow(board.copy(), 0),
    )
    worker.begin()
    if is_dev_build():
        tell_dev_ready()
    worker.run()
    handler[].drained()


def run_workers(
    handler: SharedHandler,
    var sockets: List[RawSocket],
    context: ServerContext,
    var stop: ShutdownSignal,
    board: ArcPointer[SharedStats],
    plan: ThreadPlan,
) raises:
    """Answers requests until the server is stopped: on the calling thread, or
    on several threads of their own. If a worker cannot be made or fails, raises
    which, and why, when all others have ended."""
    if plan.worker_count == 1:
        return run_worker(handler, sockets^, context, stop^, board)
    var listeners = split_listeners(
        sockets^, plan.worker_count, context.config.listener
    )
    var wakers = List[Waker]()
    var workers = List[_Serving]()
    for index in range(plan.worker_count):
        var waker = Waker()
        workers.append(
            _Serving(
                _make_worker(
                    handler,
                    listeners.pop(),
                    context,
                    ShutdownSignal(waker.copy(), False),
                    StatsRow(board.copy(), index),
                )
            )
        )
        wakers.append(waker^)
    var scheduler = Scheduler()
    var index = 0
    while len(workers) > 0:
        scheduler.start(workers.pop(), wakers.pop(), _cpus_for(index, plan))
        index += 1
    if is_dev_build():
        tell_dev_ready()
    _watch(scheduler, stop)
    scheduler.wait()
    handler[].drained()


def _cpus_for(index: Int, plan: ThreadPlan) raises -> List[Int]:
    """Chooses the CPU of a worker; none if workers are not pinned, or if they
    would have to share CPUs."""
    if not plan.pins_cores:
        return List[Int]()
    var cpus = usable_cpus()
    if plan.worker_count > len(cpus):
        return List[Int]()
    return [cpus.at(index)]


def _watch(mut scheduler: Scheduler, mut stop: ShutdownSignal) raises:
    """Hands requests to stop on to the workers until all have ended."""
    var reactor = Reactor()
    reactor.register(stop.waker_fd(), 0, Interest.READ)
    if stop.signal_fd() >= 0:
        reactor.register(stop.signal_fd(), 0, Interest.READ)
    reactor.register(scheduler.ended_fd(), 0, Interest.READ)
    while scheduler.running_count() > 0:
        _ = reactor.poll(-1)
        for _ in range(stop.take()):
            scheduler.stop()


@fieldwise_init
struct ServerProgram(PreforkProgram):
    """What each worker process of a server does."""

    var handler: SharedHandler
    var context: ServerContext
    """Limits and times, and TLS if it is spoken."""
    var board: ArcPointer[SharedStats]
    """The figures of all processes."""

    def work(mut self, mut child: ChildProcess) raises:
        """Answers requests until the process is told to stop. Raises if the
        system refuses what it needs."""
        var worker = Worker(
            self.handler.copy(),
            Listeners(child.take_listeners(), child.shares_listeners),
            self.context,
            ShutdownSignal(
                Waker(),
                True,
                [SIGTERM],
                child.lifeline_fd(),
                has_master=True,
            ),
            StatsRow(self.board.copy(), child.row),
        )
        worker.begin()
        child.ready()
        worker.obey(child.take_line())
        worker.run()
        self.handler[].drained()

    def renew(mut self) raises:
        """Reads certificates anew: new workers show them, and share the keys of
        their tickets. If a file does not work, it raises, and the old ones are
        still shown."""
        if self.context.tls:
            self.context.tls.held().context.reload()
