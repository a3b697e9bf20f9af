"""Looking for a response where many processes keep theirs, on behalf of a fetch."""

from flare.bytes.checked import *
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.stored_response import StoredResponse
from flare.http.cache.store import CacheStore
from flare.http.message.fields import Fields
from flare.http.middleware.cache_fetch import CacheFetch


def find_shared(
    store: CacheStore,
    fields: Fields,
    policy: CachePolicy,
    mut fetch: CacheFetch,
) -> Bool:
    """Looks a response up in the shared store behind a store, waits for it, and
    keeps it in memory. True if memory has something newer now."""
    fetch.since = store.mark()
    return adopt(store, fetch, store.find_shared(fetch.key, fields, policy))


def adopt(
    store: CacheStore, fetch: CacheFetch, var response: Optional[StoredResponse]
) -> Bool:
    """Keeps in memory what came from a shared store, and tells so, unless it is
    no newer than what is there."""
    if not response:
        return False
    if fetch.found.response:
        ref mine = fetch.found.response.held()[]
        if (
            not mine.is_invalidated
            and mine.response_s >= response.held().response_s
        ):
            return False
    return store.put(
        fetch.key, response.take(), since=fetch.since, is_new=False
    )
