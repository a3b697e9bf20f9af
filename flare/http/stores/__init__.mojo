"""What middleware keeps for many processes, in Redis or Valkey."""

from flare.http.stores.redis_idempotency import RedisIdempotency
from flare.http.stores.redis_rates import RedisRates
from flare.http.stores.redis_responses import RedisResponses
from flare.http.stores.redis_sessions import RedisSessions
