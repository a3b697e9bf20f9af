"""When a client answers with what it has kept, without sockets."""

from flare.http.cache.core.freshness import ExchangeTimes
from flare.http.cache.core.key import cache_key
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.stored_response import StoredResponse
from flare.http.cache.store import CacheStore
from flare.http.client.cached_client import CachedClient
from flare.http.client.connect.cancel import CancelToken
from flare.http.client.client import HttpClient
from flare.http.client.message.request import ClientRequest
from flare.http.message.body import Body
from flare.sys.clock import unix_seconds
from tests.support.assertions import assert_equal
from tests.support.header_lines import headers_of, request_with

comptime NOWHERE = StaticString("http+unix://%2Fnowhere%2Fat.all/")
"""A socket that is not there."""


def test_what_is_kept_does_not_answer_what_was_cancelled() raises:
    # RFC 5861 section 4: an error is what would be a 500, 502, 503 or 504. Who
    # has cancelled wants no answer.
    var store = CacheStore()
    var owned = request_with("")
    var now_s = unix_seconds()
    var stored = StoredResponse(
        200,
        headers_of("Cache-Control: max-age=0, stale-if-error=1000"),
        Body("old"),
        owned.view().headers,
        policy=CachePolicy(is_shared=False),
        times=ExchangeTimes(now_s - 10, now_s - 10),
    )
    _ = owned^
    _ = store.put(cache_key("http", "%2Fnowhere%2Fat.all", "/"), stored^)
    var client = CachedClient(HttpClient(), store)
    # Else it does.
    assert_equal(
        client.send(ClientRequest("GET", String(NOWHERE))).text(), "old"
    )
    var request = ClientRequest("GET", String(NOWHERE))
    var token = CancelToken()
    token.cancel()
    request.cancel = token
    var kind = String()
    try:
        _ = client.send(request^)
    except error:
        kind = String(error.kind)
    assert_equal(kind, "Cancelled")
