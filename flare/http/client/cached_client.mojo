"""A client that keeps responses, as a browser does: a private cache (RFC 9111)."""

from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.http.cache.asked import may_change
from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.freshness import ExchangeTimes
from flare.http.cache.core.key import (
    cache_key,
    key_of_reference,
    split_url,
)
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.storage import (
    StoreRefusal,
    may_be_shared,
    store_refusal,
)
from flare.http.cache.core.stored_response import Reuse, StoredResponse
from flare.http.cache.store import CacheStore, Figure, Lookup
from flare.http.client.client import HttpClient
from flare.http.client.message.config import ClientConfig
from flare.http.client.exchange.driver import NoStream, end_task, run_task
from flare.http.client.connect.error import (
    Cancelled,
    ClientError,
    HookFailed,
    bad_request,
)
from flare.http.client.open_response import OpenResponse, ResponseOpener
from flare.http.client.exchange.prepared_request import (
    PreparedRequest,
    Upload,
    prepare_request,
)
from flare.http.client.message.request import (
    ClientRequest,
    NoProgress,
    TransferProgress,
)
from flare.http.client.message.response import (
    ClientResponse,
    ContentUse,
    RedirectStep,
    SendResult,
    has_known_coding,
    url_without_credentials,
)
from flare.http.client.exchange.exchange import sent_fields, sent_host
from flare.http.client.exchange.task import RequestTask
from flare.http.client.transfers import TransferMethods
from flare.http.message.body import Body
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.method import Method
from flare.http.message.owned_request import ReplacedFields
from flare.http.message.status import Status
from flare.io.stream import Readable, Writable
from flare.sys.clock import unix_seconds
from flare.url.url import Url


struct CachedClient(TransferMethods):
    """An `HttpClient` that answers from what it has kept, where it may.

        var client = CachedClient(HttpClient("https://api.example.com"))
        var rates = client.get("/rates").json()

    A fresh response is given again without asking the server, and has `Age`; a
    stale one that has an entity tag or Last-Modified is validated, which costs
    a 304 if it has not changed. What is kept is for one user: `private` does
    not keep a response out. Requests with content, `Range` or conditions of
    their own pass by, and so do responses after redirections and streams.

    What a request selects is decided by all fields that it would be sent with:
    those of the client and of hooks, credentials and cookies included. Requests
    with other credentials, or with none, do not get a response unless it says
    that all may have it (RFC 9111 section 3.5). Hooks see requests that are
    answered with what is kept, too.
    """

    comptime Failure = ClientError
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
            store: Where responses are kept.

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

        Raises:
            Error: If the system has no more locks.
        """
        self = Self(client^, CacheStore())

    def send(
        mut self, var request: ClientRequest
    ) raises ClientError -> ClientResponse:
        """Answers with what is kept, or sends a request; the rest is as for
        `RequestMethods.send`."""
        ref state = self.client._state[]
        var prepared = self._prepare(request^, Upload())
        # What is sent decides: what hooks add, and cookies, included.
        state.add_cookies(prepared)
        _run_hooks(prepared)
        var key = _key_of(prepared)
        var sent = _fields_of(prepared, state.config)
        if not sent or not _is_readable(prepared, sent.held()):
            var source = NoStream()
            var sink = NoStream()
            var nobody = NoProgress()
            return self._run_past(prepared^, key, source, sink, nobody)
        var fields = ReplacedFields(sent.held())
        var asked = CacheControl.of_request(fields.lend())
        var found = self.store.look_up(
            key, fields.lend(), asked, self.policy, unix_seconds()
        )
        if found.response and not _is_answer(
            prepared, found.response.held()[], state.config
        ):
            found = Lookup(None, Reuse.VALIDATE, True)
        if found.response:
            if found.reuse == Reuse.FRESH or found.reuse == Reuse.STALE:
                var kept = self._answer(
                    prepared.url.copy(), found.response.held()[]
                )
                prepared.tell_head(kept)
                return kept^
        if asked.only_if_cached:
            var error = bad_request("only-if-cached: nothing is kept of this")
            prepared.tell_failure(error)
            raise error^
        return self._fetch(prepared^, key, asked, found)

    def _run_past[
        R: Readable, W: Writable, P: TransferProgress
    ](
        mut self,
        var prepared: PreparedRequest,
        key: String,
        mut source: R,
        mut sink: W,
        mut progress: P,
    ) raises ClientError -> ClientResponse:
        """Sends a request whose response is not kept."""
        var changes = may_change(Method(prepared.method))
        var response = run_task(
            self.client._state[], prepared^, source, sink, progress
        )
        if changes:
            self._note_answer(key, response)
        return response^

    def _prepare(
        self, var request: ClientRequest, upload: Upload
    ) raises ClientError -> PreparedRequest:
        return prepare_request(
            request^,
            upload,
            self.client._base,
            Pointer(to=self.client._state[].config),
        )

    def _opener(self) -> ResponseOpener:
        return self.client._opener()

    def _run[
        R: Readable, W: Writable, P: TransferProgress
    ](
        mut self,
        var request: ClientRequest,
        upload: Upload,
        mut source: R,
        mut sink: W,
        mut progress: P,
        use: ContentUse,
    ) raises ClientError -> ClientResponse:
        var prepared = self._prepare(request^, upload)
        prepared.content_use = use
        # They may choose another Host, as for `send`.
        _run_hooks(prepared)
        var key = _key_of(prepared)
        return self._run_past(prepared^, key, source, sink, progress)

    def _run_all(
        mut self, requests: List[ClientRequest], max_parallel: Int
    ) raises ClientError -> List[SendResult]:
        var results = self.client._run_all(requests, max_parallel)
        for index in range(len(requests)):
            if not results[index].response:
                continue
            var key = self._changed_key(requests[index])
            if key.byte_length() > 0:
                self._note_answer(key, results[index].response.held())
        return results^

    def _changed_key(self, request: ClientRequest) raises ClientError -> String:
        if not may_change(Method(request.method)):
            return String()
        return _key_of(self._prepare(request.copy(), Upload()))

    def _note_answer(self, key: String, response: ClientResponse):
        self._invalidate(
            key,
            response.history(),
            response.url,
            response.status,
            response.headers,
        )

    def _note_change(self, key: String, response: OpenResponse):
        if key.byte_length() > 0:
            self._invalidate(
                key,
                response.history(),
                response.url,
                response.status,
                response.headers,
            )

    def _fetch(
        mut self,
        var prepared: PreparedRequest,
        key: String,
        asked: CacheControl,
        found: Lookup,
    ) raises ClientError -> ClientResponse:
        """Asks the server, for a 304 if there is something to validate."""
        var url = prepared.url.copy()
        var times = ExchangeTimes(unix_seconds(), 0)
        var stands_in = found.response.__bool__() and (
            found.response.held()[].may_stand_in(
                asked, self.policy, times.request_s
            )
        )
        if found.response:
            _ask_to_validate(prepared, found.response.held()[])
        var sent = Optional[HeaderMap](None)
        var response: ClientResponse
        try:
            response = self._exchange(prepared^, sent)
        except error:
            # RFC 5861 section 4: those are no failures of a server.
            var is_own = error.kind == Cancelled or error.kind == HookFailed
            if is_own or not stands_in:
                raise error^
            self.store.count(key, Figure.STOOD_IN)
            return self._answer(url^, found.response.held()[])
        times.response_s = unix_seconds()
        var code = response.status.code
        if stands_in and (code == 500 or (code >= 502 and code <= 504)):
            self.store.count(key, Figure.STOOD_IN)
            return self._answer(url^, found.response.held()[])
        # Kept responses are 200s and the like; after a redirection it is
        # another's.
        if response.redirect_count > 0 or not sent:
            return response^
        var fields = ReplacedFields(sent.held())
        if code == 304 and found.response:
            return self._confirmed(url^, key, fields, found, response, times)
        self._keep(key, fields, response, times)
        return response^

    def _exchange(
        mut self, var prepared: PreparedRequest, mut sent: Optional[HeaderMap]
    ) raises ClientError -> ClientResponse:
        """Sends a request, and tells which fields the last attempt had."""
        ref state = self.client._state[]
        var source = NoStream()
        var sink = NoStream()
        var nobody = NoProgress()
        var task = RequestTask(prepared^, state)
        end_task(task, state, source, sink, nobody)
        sent = _fields_of(task.request, state.config)
        return task^.finish(state)

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
            var refusal = fresh.refusal(fields.lend(), self.policy, times)
            if refusal == StoreRefusal.NONE:
                self._put(key, fresh^, fields)
            elif refusal.is_of_origin():
                self.store.drop(key)
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
            fields.lend(), response.status, response.headers, self.policy, times
        )
        if (
            refusal != StoreRefusal.NONE
            or len(response.body) > self.policy.content_len_max
            or len(response.trailers) > 0
        ):
            # What it was to replace is out of date (section 4.3.3).
            if response.status < 500:
                self.store.drop(key)
            return
        try:
            var stored = StoredResponse(
                response.status,
                response.headers,
                Body(text_of(response.body.as_bytes())),
                fields.lend(),
                policy=self.policy,
                times=times,
            )
            stored.is_decoded = response.is_decoded
            self._put(key, stored^, fields)
        except:
            # Its fields have no room for a Date: it is not kept.
            pass

    def _put(
        self, key: String, var stored: StoredResponse, fields: ReplacedFields
    ):
        """Keeps a response for those who may get it: for the same credentials, or
        as little any, unless section 3.5 lets a shared cache give it to all."""
        ref control = stored.control
        var is_for_all = (
            may_be_shared(control)
            and not control.is_private
            and len(control.private_fields) == 0
        )
        if not is_for_all:
            stored.vary.select_by("authorization", fields.lend())
        _ = self.store.put(key, stored^)

    def _answer(self, var url: Url, stored: StoredResponse) -> ClientResponse:
        """Makes a response of what is kept; the content is shared."""
        var response = ClientResponse(url^)
        response.status = stored.status
        response.reason = String(stored.status.reason())
        response.headers = stored.headers.copy()
        response.body = stored.body.copy()
        response.is_decoded = stored.is_decoded
        try:
            response.headers.set("Age", String(stored.age_s(unix_seconds())))
        except:
            debug_assert(False, "a number is a good value")
        return response^

    def _invalidate(
        self,
        var key: String,
        history: List[RedirectStep],
        url: Url,
        status: Status,
        headers: HeaderMap,
    ):
        """Has what a request may have changed validated (section 4.4), by the
        redirections that it has followed, and the response at their end."""
        for index in range(len(history)):
            _ = self.store.invalidate_key(key)
            if index + 1 < len(history):
                key = _key_of_url(history.at(index + 1).url)
            else:
                key = _key_of_url(url_without_credentials(url))
        if status < 200 or status >= 400:
            return
        _ = self.store.invalidate_key(key)
        for name in ["location", "content-location"]:
            var reference = headers.get(name)
            if reference:
                var other = key_of_reference(key, reference.held())
                if other.byte_length() > 0:
                    other += _way_of(key)
                    _ = self.store.invalidate_key(other)


def _run_hooks(mut prepared: PreparedRequest) raises ClientError:
    """Lets the hooks see the first attempt, before it is known whether it is
    made."""
    try:
        prepared.run_hooks()
    except error:
        prepared.tell_failure(error)
        prepared.note_attempts(error)
        error.url = url_without_credentials(prepared.url)
        raise error^


def _key_of(prepared: PreparedRequest) -> String:
    """Writes the target URI (RFC 9110 section 7.1), and after it, if the
    request has a Host of its own, who is asked for it."""
    var scheme = "https" if prepared.endpoint.is_tls else "http"
    ref url = prepared.url
    if "host" not in prepared.headers:
        return cache_key(scheme, url.host(), url.request_target())
    var key = cache_key(scheme, sent_host(prepared), url.request_target())
    # No target has this octet.
    key.write("#", url.host())
    return key^


def _key_of_url(url: String) -> String:
    """Writes the target URI of a request that was led to a URL."""
    var parts = split_url(url)
    var scheme = "https" if parts.scheme == "https" else "http"
    return cache_key(scheme, parts.authority, parts.target)


def _way_of(key: String) -> String:
    """Gives what stands after the target URI of a key."""
    var octets = key.as_bytes()
    for index in range(len(octets)):
        if octets.at(index) == 35:
            return text_of(octets.after(index))
    return String()


def _fields_of(
    prepared: PreparedRequest, config: ClientConfig
) -> Optional[HeaderMap]:
    """Gathers the fields that are sent; nothing if a block has no room for them."""
    try:
        return sent_fields(prepared, config)
    except:
        return None


def _is_readable(prepared: PreparedRequest, fields: HeaderMap) -> Bool:
    """Tells whether a request may be answered with what is kept."""
    if prepared.method != "GET" or prepared.body.is_given:
        return False
    for name in [
        "range",
        "if-match",
        "if-none-match",
        "if-modified-since",
        "if-unmodified-since",
        "upgrade",
    ]:
        if name in fields:
            return False
    return True


def _is_answer(
    prepared: PreparedRequest, stored: StoredResponse, config: ClientConfig
) -> Bool:
    """Tells whether the client itself would have given a kept response: not a
    redirection that this request follows, nor content decoded, or not, by the
    settings of another client."""
    if prepared.will_follow(stored.status, stored.headers):
        return False
    return stored.is_decoded == config.decodes_content or not has_known_coding(
        stored.headers
    )


def _ask_to_validate(mut prepared: PreparedRequest, stored: StoredResponse):
    """Adds the conditions of section 4.3.1."""
    prepared.is_validation = True
    try:
        var tag = stored.headers.get("etag")
        if tag:
            _set_condition(prepared, "If-None-Match", tag.held())
        var modified = stored.headers.get("last-modified")
        if modified:
            _set_condition(prepared, "If-Modified-Since", modified.held())
    except:
        # A block that is full takes no condition: the whole is sent.
        pass


def _set_condition(
    mut prepared: PreparedRequest, name: StaticString, value: StringSpan
) raises HeaderError:
    """Sets a field of the attempt that the hooks have seen, and of those that
    follow it."""
    prepared.headers.set(name, value)
    if prepared.extras:
        ref own = prepared.extras.held()[].hooks.own_headers
        if own:
            own.held().set(name, value)
