"""A cache of responses (RFC 9111): where they are kept, and by which rules."""

from flare.http.cache.cache_orders import CacheOrders
from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.shared_responses import ResponseStore, SharedStats
from flare.http.cache.store import CacheStats, CacheStore
