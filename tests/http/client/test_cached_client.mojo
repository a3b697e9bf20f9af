"""When a client answers with what it has kept, without sockets."""

from flare.http.cache.core.freshness import ExchangeTimes
from flare.http.cache.core.key import cache_key
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.stored_response import StoredResponse
from flare.http.cache.store import CacheStore
from flare.http.client.cached_client import CachedClient
from flare.http.client.connect.cancel import CancelToken
from flare.http.client.client import HttpClient
from flare.http.client.message.config import ClientConfig
from flare.http.client.message.hooks import OutgoingAttempt
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.retry_policy import RetryPolicy
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
    # Nor has a hook that refuses the next attempt.
    var policy = RetryPolicy(2)
    policy.base_pause_ms = 0
    request = ClientRequest("GET", String(NOWHERE))
    request.set_retries(policy^)
    request.add_hook(_refuse_the_second)
    try:
        _ = client.send(request^)
    except error:
        kind = String(error.kind)
    assert_equal(kind, "HookFailed")


def _refuse_the_second(mut attempt: OutgoingAttempt) raises:
    if attempt.number == 2:
        raise Error("the key has expired")


def _store_of(
    status: Int, fields: StringSpan, *, is_decoded: Bool = False
) raises -> CacheStore:
    """Makes a store with one fresh response to `NOWHERE`."""
    var store = CacheStore()
    var owned = request_with("")
    var now_s = unix_seconds()
    var stored = StoredResponse(
        status,
        headers_of(String("Cache-Control: max-age=1000\n", fields)),
        Body("old"),
        owned.view().headers,
        policy=CachePolicy(is_shared=False),
        times=ExchangeTimes(now_s, now_s),
    )
    _ = owned^
    stored.is_decoded = is_decoded
    _ = store.put(cache_key("http", "%2Fnowhere%2Fat.all", "/"), stored^)
    return store


def _outcome(
    mut client: CachedClient, max_redirects: Optional[Int] = None
) -> String:
    """Gives the status of the answer to a request; `asked` if it went to the
    server, which is not there."""
    var request = ClientRequest("GET", String(NOWHERE))
    if max_redirects:
        request.max_redirects = max_redirects.value()
    try:
        return String(client.send(request^).status.code)
    except:
        return String("asked")


def test_a_kept_redirection_is_followed_by_who_follows() raises:
    """`ClientRequest.max_redirects`: with 0 the response is the redirection. Who
    follows must not get it, though another request has had it kept."""
    for status in [301, 302, 303, 307, 308]:
        var store = _store_of(status, "Location: /there")
        var client = CachedClient(HttpClient(), store)
        assert_equal(_outcome(client, max_redirects=0), String(status))
        assert_equal(_outcome(client), "asked", String(status))
    # These lead nowhere.
    for status in [300, 404]:
        var client = CachedClient(
            HttpClient(), _store_of(status, "Location: /there")
        )
        assert_equal(_outcome(client), String(status))
    var bare = CachedClient(HttpClient(), _store_of(301, "X: y"))
    assert_equal(_outcome(bare), "301")


def test_coded_content_is_for_clients_of_its_kind() raises:
    """`ClientConfig.decodes_content`: of two clients with one store each has the
    content as it says, decoded or as it was sent."""
    for decodes in [True, False]:
        for is_decoded in [True, False]:
            var config = ClientConfig()
            config.decodes_content = decodes
            var store = _store_of(
                200, "Content-Encoding: gzip", is_decoded=is_decoded
            )
            var client = CachedClient(HttpClient(config=config^), store)
            var expected = "200" if decodes == is_decoded else "asked"
            assert_equal(_outcome(client), expected)
    # What is not coded, or by a coding that nobody knows, is as it was sent.
    for coding in ["identity", "other"]:
        for decodes in [True, False]:
            var config = ClientConfig()
            config.decodes_content = decodes
            var fields = String("Content-Encoding: ", coding)
            var client = CachedClient(
                HttpClient(config=config^), _store_of(200, fields)
            )
            assert_equal(_outcome(client), "200", String(coding))
