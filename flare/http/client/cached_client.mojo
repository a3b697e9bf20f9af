"""A client that keeps responses, as a browser does: a private cache (RFC 9111)."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.checked import *
from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.freshness import ExchangeTimes
from flare.http.cache.core.key import cache_key, key_of_reference
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.storage import StoreRefusal, store_refusal
from flare.http.cache.core.stored_response import Reuse, StoredResponse
from flare.http.cache.store import CacheStore, Figure, Lookup
from flare.http.client.client import HttpClient
from flare.http.client.error import BadRequest, ClientError, Phase
from flare.http.client.request import ClientRequest, request_url
from flare.http.client.response import ClientResponse
from flare.http.client.verbs import RequestMethods
from flare.http.message.body import Body
from flare.http.message.fields import ListElements
from flare.http.message.header_map import HeaderMap
from flare.http.message.owned_request import ReplacedFields
from flare.sys.clock import unix_seconds
from flare.url.url import Url


struct CachedClient(RequestMethods):
    """An `HttpClient` that answers from what it has kept, where it may.

        var client = CachedClient(HttpClient("https://api.example.com"))
        var rates = client.get("/rates").json()

    A fresh response is given again without asking the server, and has `Age`; a
    stale one that has an entity tag or Last-Modified is validated, which costs
    a 304 if it has not changed. What is kept is for one user: `private` does
    not keep a response out. Requests with content, `Range` or conditions of
    their own pass by, and so do responses behind redirections, streams, and
    what varies by cookies.
    """

    comptime Failure = ClientError
    """What is raised when there is no response."""
    var client: HttpClient
    """What sends requests."""
    var store: CacheStore
    """Where responses are kept; clients of one user may share it."""
    var policy: CachePolicy
    """What the cache may do beyond what responses say."""

    def __init__(
        out self,
        var client: HttpClient,
        store: CacheStore,
        var policy: CachePolicy = CachePolicy(is_shared=False),
    ) raises:
        """Makes a client that keeps responses.

        Args:
            client: What sends requests.
            store: Where responses are kept.
            policy: What the cache may do beyond what responses say.

        Raises:
            Error: If a number of the policy is out of its range, or the store
                is shared with other processes.
        """
        policy.check()
        if store.has_shared():
            raise Error(
                "CachedClient: what it keeps is for one user; give it a"
                " CacheStore without `shared`"
            )
        self.client = client^
        self.store = store
        self.policy = policy^

    def __init__(out self, var client: HttpClient) raises:
        """Makes a client that keeps up to 64 MiB of responses.

        Args:
            client: What sends requests.

        Raises:
            Error: If the system has no more locks.
        """
        self = Self(client^, CacheStore())

    def send(
        mut self, var request: ClientRequest
    ) raises ClientError -> ClientResponse:
        """Answers with what is kept, or sends a request.

        Args:
            request: The request.

        Returns:
            The response.

        Raises:
            ClientError: If there is none.
        """
        var url = request_url(self.client._base.copy(), request)
        var key = cache_key(url.scheme(), url.host(), url.request_target())
        if not _is_readable(request):
            var changes = _may_change(request.method)
            var response = self.client.send(request^)
            if changes:
                self._invalidate(key, response)
            return response^
        var fields = ReplacedFields(request.headers)
        var asked = CacheControl.of_request(fields.lend())
        var found = self.store.look_up(
            key, fields.lend(), asked, self.policy, unix_seconds()
        )
        if found.response:
            if found.reuse == Reuse.FRESH or found.reuse == Reuse.STALE:
                return self._answer(url^, found.response.held()[])
        if asked.only_if_cached:
            raise ClientError(
                materialize[Phase.REQUEST](),
                materialize[BadRequest](),
                "only-if-cached: nothing is kept of this",
            )
        return self._fetch(request^, url^, key, asked, found)

    def _fetch(
        mut self,
        var request: ClientRequest,
        var url: Url,
        key: String,
        asked: CacheControl,
        found: Lookup,
    ) raises ClientError -> ClientResponse:
        """Asks the server, for a 304 if there is something to validate."""
        var times = ExchangeTimes(unix_seconds(), 0)
        var fields = ReplacedFields(request.headers)
        var stands_in = found.response.__bool__() and (
            found.response.held()[].may_stand_in(
                asked, self.policy, times.request_s
            )
        )
        if found.response:
            _ask_to_validate(request, found.response.held()[])
        var response: ClientResponse
        try:
            response = self.client.send(request^)
        except error:
            if not stands_in:
                raise error^
            self.store.count(key, Figure.STOOD_IN)
            return self._answer(url^, found.response.held()[])
        times.response_s = unix_seconds()
        var code = response.status.code
        if stands_in and (code == 500 or (code >= 502 and code <= 504)):
            self.store.count(key, Figure.STOOD_IN)
            return self._answer(url^, found.response.held()[])
        # Kept responses are 200s and the like; behind a redirection it is
        # another's.
        if response.redirect_count > 0:
            return response^
        if code == 304 and found.response:
            return self._confirmed(url^, key, fields, found, response, times)
        self._keep(key, fields, response, times)
        return response^

    def _confirmed(
        self,
        var url: Url,
        key: String,
        fields: ReplacedFields,
        found: Lookup,
        confirming: ClientResponse,
        times: ExchangeTimes,
    ) raises ClientError -> ClientResponse:
        """Gives the stored response, as a 304 has updated it."""
        if not found.response.held()[].is_confirmed_by(confirming.headers):
            # The server has spoken of another one: good for now, but not kept.
            self.store.drop(key)
            return self._answer(url^, found.response.held()[])
        self.store.count(key, Figure.REVALIDATED)
        try:
            var fresh = found.response.held()[].freshened(
                confirming.headers,
                fields.lend(),
                policy=self.policy,
                times=times,
            )
            var answer = self._answer(url.copy(), fresh)
            _ = self.store.put(key, fresh^)
            return answer^
        except:
            # Fields that are too long together update nothing.
            return self._answer(url^, found.response.held()[])

    def _keep(
        self,
        key: String,
        fields: ReplacedFields,
        response: ClientResponse,
        times: ExchangeTimes,
    ):
        """Keeps a response, if it may be kept."""
        var refusal = store_refusal(
            fields.lend(),
            response.status,
            response.headers,
            self.policy,
            times,
        )
        if (
            refusal != StoreRefusal.NONE
            or len(response.body) > self.policy.content_len_max
            or len(response.trailers) > 0
            or _varies_by_cookie(response.headers)
        ):
            # What it was to replace is out of date (section 4.3.3).
            if response.status < 500:
                self.store.drop(key)
            return
        try:
            _ = self.store.put(
                key,
                StoredResponse(
                    response.status,
                    response.headers,
                    Body(String(unsafe_from_utf8=response.body.as_bytes())),
                    fields.lend(),
                    policy=self.policy,
                    times=times,
                ),
            )
        except:
            # Its fields have no room for a Date: it is not kept.
            pass

    def _answer(self, var url: Url, stored: StoredResponse) -> ClientResponse:
        """Makes a response of what is kept; the content is shared."""
        var response = ClientResponse(url^)
        response.status = stored.status
        response.reason = String(stored.status.reason())
        response.headers = stored.headers.copy()
        response.body = stored.body.copy()
        try:
            response.headers.set("Age", String(stored.age_s(unix_seconds())))
        except:
            debug_assert(False, "a number is a good value")
        return response^

    def _invalidate(self, key: String, response: ClientResponse):
        """Has what a request may have changed validated (section 4.4)."""
        if response.status < 200 or response.status >= 400:
            return
        _ = self.store.invalidate_key(key)
        for name in ["location", "content-location"]:
            var reference = response.headers.get(name)
            if reference:
                var other = key_of_reference(key, reference.held())
                if other.byte_length() > 0:
                    _ = self.store.invalidate_key(other)


def _is_readable(request: ClientRequest) -> Bool:
    """Tells whether a request may be answered with what is kept."""
    if request.method != "GET" or request.body.is_given:
        return False
    for name in [
        "range",
        "if-match",
        "if-none-match",
        "if-modified-since",
        "if-unmodified-since",
        "upgrade",
    ]:
        if name in request.headers:
            return False
    return True


def _may_change(method: String) -> Bool:
    """Tells whether a method is not known to be safe (RFC 9110 section 9.2.1)."""
    return not (
        method == "GET"
        or method == "HEAD"
        or method == "OPTIONS"
        or method == "TRACE"
    )


def _ask_to_validate(mut request: ClientRequest, stored: StoredResponse):
    """Adds the conditions of section 4.3.1."""
    try:
        var tag = stored.headers.get("etag")
        if tag:
            request.headers.set("If-None-Match", tag.held())
        var modified = stored.headers.get("last-modified")
        if modified:
            request.headers.set("If-Modified-Since", modified.held())
    except:
        # A block that is full takes no condition: the whole is sent.
        pass


def _varies_by_cookie(headers: HeaderMap) -> Bool:
    """Tells whether a response depends on the jar, which is not looked at."""
    var index = headers.find("vary")
    while index >= 0:
        for element in ListElements(headers.value(index).as_bytes()):
            if equals_ignore_case(element, "cookie".as_bytes()):
                return True
        index = headers.find("vary", index + 1)
    return False
