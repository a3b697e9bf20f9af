"""Event loops and workers: selector, timers, wakers, threads, processes."""

from flare.runtime.event import Event, Interest
from flare.runtime.prefork.config import PreforkConfig, RestartPolicy
from flare.runtime.prefork.prefork import Prefork
from flare.runtime.prefork.program import (
    ChildProcess,
    NoHooks,
    PreforkHooks,
    PreforkProgram,
)
from flare.runtime.reactor import Reactor
from flare.runtime.scheduler import Scheduler
from flare.runtime.stats_board import SharedStats, WorkerStats
from flare.runtime.timer_wheel import TimerId, TimerWheel
from flare.runtime.event import Waker
from flare.runtime.worker_count import default_worker_count
from flare.runtime.worker_loop import LoopTask, WorkerLoop
from flare.sys.mutex import Condvar, Mutex, MutexGuard
from flare.sys.signal import process_id
from flare.sys.thread import Task, Thread
