"""What a process keeps of its C libraries' contexts, for those who need one next.

The C library gives the memory of one back to the kernel when it is freed, and
faults it in again for the next, which takes more time than to compress a short
text; zstd also asks the CPU what it can for each new one, which a virtual
machine has to be left for.
"""

from std.ffi import _Global
from std.utils import BlockingScopedLock, BlockingSpinLock

comptime IDLE_COUNT_MAX = 4
"""How many contexts of a kind are kept."""


trait IdleContext(Deinitable, Movable):
    """A context that has ended, and can be begun anew; it is freed when this is
    destroyed."""

    comptime KEY: StaticString
    """Names the kind; no other may have it."""
    comptime Settings: Equatable & TrivialRegisterPassable
    """What it was made with, and cannot be changed."""

    def settings(self) -> Self.Settings:
        ...


struct _Idle[C: IdleContext](Movable):
    var lock: BlockingSpinLock
    var contexts: List[Self.C]

    def __init__(out self):
        self.lock = BlockingSpinLock()
        self.contexts = []

    def take(mut self, settings: Self.C.Settings) -> Optional[Self.C]:
        """Takes one of these settings out, if there is one."""
        with BlockingScopedLock(self.lock):
            for index in range(len(self.contexts)):
                if self.contexts[index].settings() == settings:
                    return self.contexts.pop(index)
        return None

    def put(mut self, var context: Self.C) -> Optional[Self.C]:
        """Keeps one; gives the oldest if there are too many, to be freed
        outside of the lock."""
        with BlockingScopedLock(self.lock):
            self.contexts.append(context^)
            if len(self.contexts) > IDLE_COUNT_MAX:
                return self.contexts.pop(0)
        return None


def _none[C: IdleContext]() -> _Idle[C]:
    return _Idle[C]()


def take_idle[C: IdleContext](settings: C.Settings) -> Optional[C]:
    """Takes a context of these settings that was kept, if there is one."""
    try:
        return _Global[C.KEY, _none[C]].get_or_create_ptr()[].take(settings)
    except:
        # The runtime has no memory for a word of its own.
        return None


def keep_idle[C: IdleContext](var context: C):
    """Keeps a context for others; the oldest goes if there are too many."""
    try:
        var idle = _Global[C.KEY, _none[C]].get_or_create_ptr()
        _ = idle[].put(context^)
    except:
        return
