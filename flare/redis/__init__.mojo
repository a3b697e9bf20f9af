"""A client of Redis and Valkey."""

from flare.redis.client import RedisClient
from flare.redis.cluster import RedisCluster
from flare.redis.commands import (
    PoppedItem,
    RedisCommands,
    ScanPage,
    ScoredMember,
)
from flare.redis.config import RedisConfig
from flare.redis.core.command import RedisArg
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.core.hash_slot import key_slot
from flare.redis.core.reply import RedisReply, Reply, ReplyKind
from flare.redis.core.value import RedisValue
from flare.redis.pipeline import Pipeline
from flare.redis.pool import PooledRedis, RedisPool, RedisPoolConfig
from flare.redis.script import RedisScript, ScriptCommands
from flare.redis.streams import (
    ClaimedEntries,
    StreamBatch,
    StreamCommands,
    StreamEntry,
    StreamField,
    StreamPosition,
)
from flare.redis.subscriber import RedisMessage, RedisSubscriber
from flare.sys.backoff import Backoff
