"""One door for hubs: what carries their messages to other processes."""

from flare.backplane.backplane import (
    Backplane,
    BackplaneCounts,
    Handover,
    LocalBackplane,
)
from flare.backplane.presence import Presence
from flare.backplane.redis import RedisBackplane
from flare.backplane.shared_memory import SharedMemoryBackplane
