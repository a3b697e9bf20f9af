"""What a cache keeps of a response, and what an answer to HEAD says of it."""

from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.storage import StoreRefusal
from flare.http.cache.core.stored_response import StoredResponse
from flare.http.cache.kept_stream import KeptStream, keep_for_many
from flare.http.cache.store import CacheStore
from flare.http.message.body import Body
from flare.http.message.fields import Fields
from flare.http.message.response import Response
from flare.http.middleware.cache_fetch import CacheFetch
from std.memory import ArcPointer


def put_response(
    store: CacheStore,
    fields: Fields,
    var fetch: CacheFetch,
    mut response: Response,
    policy: CachePolicy,
) raises:
    """Keeps a response, whose content is shared with the store, or kept when
    its source has made all of it."""
    if not response.body.is_stream():
        response.body = Body(text_of(response.body.as_bytes()))
    var is_stream = response.body.is_stream()
    var stored = StoredResponse(
        response.status,
        response.headers,
        Body() if is_stream else response.body.copy(),
        fields,
        policy=policy,
        times=fetch.times,
    )
    if not is_stream:
        keep_fetched(store, fetch, ArcPointer(stored^), policy)
        return
    var inner = response.body.stream()
    var length = inner[].length
    var since = fetch.since
    response.body = Body(
        KeptStream(
            inner,
            store,
            fetch.key.copy(),
            stored^,
            policy=policy,
            since=since,
            claim=fetch^.take_claim(),
        ),
        length=length,
    )


def keep_fetched(
    store: CacheStore,
    fetch: CacheFetch,
    response: ArcPointer[StoredResponse],
    policy: CachePolicy,
):
    """Keeps a complete response, and gives it to who waits for it."""
    keep_for_many(
        store,
        fetch.key,
        response,
        fetch.claim,
        policy=policy,
        since=fetch.since,
    )


def note_head(
    store: CacheStore,
    fields: Fields,
    fetch: CacheFetch,
    response: Response,
    policy: CachePolicy,
) raises:
    """Compares the answer to HEAD with what is kept (RFC 9111 section 4.3.5).
    What it says is taken over if it may be kept itself."""
    if response.status != 200 or not fetch.found.response:
        return
    ref stored = fetch.found.response.held()[]
    var length = response.headers.get("content-length")
    var is_same = stored.is_confirmed_by(response.headers)
    if length and not (length.held() == String(len(stored.body))):
        is_same = False
    if not is_same or stored.status != 200:
        _ = store.invalidate_key(fetch.key)
        return
    var fresh = stored.freshened(
        response.headers, fields, policy=policy, times=fetch.times
    )
    var refusal = fresh.refusal(fields, policy, fetch.times)
    if refusal == StoreRefusal.NONE:
        _ = store.put(fetch.key, fresh^, since=fetch.since)
    elif refusal.is_of_origin():
        store.drop(fetch.key)


def is_too_long(response: Response, policy: CachePolicy) -> Bool:
    """Tells whether content is known to be longer than what is kept."""
    if not response.body.is_stream():
        return len(response.body) > policy.content_len_max
    var stream = response.body.stream()
    if stream[].is_endless():
        return True
    return stream[].length.or_else(0) > policy.content_len_max
