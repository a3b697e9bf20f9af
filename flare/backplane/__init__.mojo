"""What carries messages of hubs to other processes, and orders to all workers."""

from flare.backplane.backplane import (
    Backplane,
    BackplaneCounts,
    Handover,
    LocalBackplane,
)
from flare.backplane.presence import PRESENCE_DATA_LEN_MAX, Presence
from flare.backplane.presence_watcher import (
    PresenceChange,
    PresenceEvent,
    PresenceMember,
    PresenceWatcher,
)
from flare.backplane.redis import RedisBackplane
from flare.backplane.shared_memory import SharedMemoryBackplane
from flare.backplane.worker_control import (
    OrderAnswer,
    OrderOutcome,
    OrderReceiver,
    WorkerControl,
)
