"""One door for hubs: what carries their messages to other processes."""

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
