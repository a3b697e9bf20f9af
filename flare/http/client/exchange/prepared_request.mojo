"""A request on its way through redirections and repetitions."""

from flare.bytes.checked import *
from flare.http.client.connect.auth import Credentials
from flare.http.client.connect.cancel import CancelToken
from flare.http.client.connect.connection import Endpoint
from flare.http.client.connect.digest import DigestTurn
from flare.http.client.connect.error import (
    BadRequest,
    ClientError,
    HookFailed,
    Phase,
    TooManyRedirects,
    bad_request,
)
from flare.http.client.connect.proxy import (
    choose_proxy,
    credentials_of,
    Proxy,
    user_of,
)
from flare.http.client.exchange.attempt import Attempt
from flare.http.client.exchange.timeout_policy import TimeoutPolicy
from flare.http.client.message.config import ClientConfig
from flare.http.client.message.hooks import OutgoingAttempt, HookRun
from flare.http.client.message.redirect import (
    RequestOrigin,
    CACHE_CONDITIONS,
    CONTENT_FIELDS,
    drop_credentials,
    drop_fields,
    has_location,
    is_redirect,
    location_of,
    redirect_url,
    redirected_method,
)
from flare.http.client.message.request import (
    ClientRequest,
    CLIENTS_OWN,
    parse_request_url,
    request_url,
    RequestBody,
)
from flare.http.client.message.response import (
    ClientResponse,
    ContentUse,
    describe_attempts,
    HISTORY_COUNT_MAX,
    RedirectStep,
    ResponseStory,
    url_without_credentials,
)
from flare.http.client.message.retry_policy import RetryPlan
from flare.http.exchange.retry_rules import (
    AttemptEnd,
    EndedAttempt,
    is_idempotent,
)
from flare.http.h1.serialiser import RequestFraming
from flare.http.message.header_map import HeaderMap
from flare.http.message.status import Status
from flare.trace.core.propagation import set_trace_fields
from flare.trace.core.span import TraceSpan
from flare.trace.core.span_data import SpanKind
from flare.url.url import Url
from std.memory import ArcPointer, OwnedPointer

comptime UNKNOWN_LEN = -1
"""Length of streamed content that is not known."""


struct Upload(Defaultable, ImplicitlyCopyable):
    """Where a request's content comes from."""

    var is_streamed: Bool
    """True if it comes from a source, once; False if from memory."""
    var content_len: Int
    """Its length in bytes if it is streamed, or `UNKNOWN_LEN`."""

    def __init__(out self, content_len: Int):
        """Takes content from a source; its length is in bytes, or
        `UNKNOWN_LEN`."""
        self.is_streamed = True
        self.content_len = content_len


struct PreparedRequest(Movable):
    """What is to be sent next for one request of the caller."""

    var method: String
    var url: Url
    var headers: HeaderMap
    """The request's own fields; credentials go when the origin changes."""
    var body: RequestBody
    var upload: Upload
    var endpoint: Endpoint
    var proxy: Optional[ArcPointer[Proxy]]
    var redirect_count: Int
    var retry_count: Int
    var refusal_count: Int
    """How often it was repeated because a server has not begun with it, and no
    policy was asked."""
    var was_left_behind: Bool
    """True once a connection has gone away with it, and nothing was done."""
    var was_refused: Bool
    """True once a server has not begun with it for another reason."""
    var expects_continue: Bool
    var minor_version: UInt8
    var cookie: String
    """The Cookie field's value for the next attempt; empty for none."""
    var timeouts: TimeoutPolicy
    var content_use: ContentUse
    var cancel: Optional[CancelToken]
    var origin: RequestOrigin
    var _max_redirects: Int
    var is_repeatable: Bool
    """True if it may be repeated whatever its method."""
    var is_validation: Bool
    """True if a cache has added conditions: they are about the URL alone of
    which it has a response."""
    var extras: Optional[OwnedPointer[RequestExtras]]

    def __init__(
        out self,
        var request: ClientRequest,
        var url: Url,
        upload: Upload,
        config: ClientConfig,
    ) raises ClientError:
        """Prepares a request with content from `upload`. Raises if the URL
        leads nowhere."""
        try:
            self.endpoint = Endpoint.of(url)
        except error:
            error.url = url_without_credentials(url)
            raise error^
        self.minor_version = request.minor_version
        self.proxy = None
        self.url = url^
        self.headers = HeaderMap()
        swap(self.headers, request.headers)
        self.upload = upload
        self.redirect_count = 0
        self.retry_count = 0
        self.expects_continue = request.expects_continue
        self.refusal_count = 0
        self.was_left_behind = False
        self.was_refused = False
        var total_ms = request.total_timeout_ms
        if total_ms == CLIENTS_OWN:
            total_ms = config.total_timeout_ms
        self.timeouts = TimeoutPolicy(
            config.read_timeout_ms, config.write_timeout_ms, total_ms
        )
        self.cookie = String()
        self.content_use = ContentUse.KEEP
        self.origin = RequestOrigin.OWN
        self.cancel = request.cancel
        self.is_repeatable = request.is_repeatable
        self.is_validation = False
        self.extras = extras_of(request, config)
        self._max_redirects = request.max_redirects
        if self._max_redirects == CLIENTS_OWN:
            self._max_redirects = config.max_redirects
        self.method = request.method
        self.body = RequestBody()
        swap(self.body, request.body)
        self._choose_way(config)

    @no_inline
    def __deinit__(deinit self):
        return

    def _choose_way(mut self, config: ClientConfig):
        """Completes the endpoint: with the proxy on the way, and with what may
        be spoken."""
        self.proxy = choose_proxy(config.proxy, self.endpoint)
        self.endpoint.offers_http2 = self.minor_version > 0 and (
            config.offers_http2(self.endpoint.is_tls)
        )
        if self.proxy:
            self.endpoint.proxy = self.proxy.value()[].name()
            self._get_ready_for_proxy()

    def _get_ready_for_proxy(mut self):
        """Has the challenges answered of a proxy that takes the request
        itself."""
        if not self.asks_proxy():
            return
        ref proxy = self.proxy.value()[]
        if proxy.credentials.is_digest():
            self._make_turn()
            ref turn = self.turn()
            turn.proxy_login = proxy.credentials.login()

    def give_up_http2(mut self):
        """Goes over HTTP/1.1 from now on, as far as this URL leads: without TLS
        a proxy on the way takes the request itself then."""
        self.endpoint.offers_http2 = False
        self._get_ready_for_proxy()

    def asks_proxy(self) -> Bool:
        """Tells whether a proxy takes the request itself, and makes no tunnel:
        its target is in absolute form then (RFC 9112 section 3.2.2)."""
        return (
            Bool(self.proxy)
            and not self.endpoint.is_tls
            and not self.endpoint.offers_http2
            and self.proxy.value()[].scheme.is_http()
        )

    def has_turn(self) -> Bool:
        """Tells whether it answers challenges."""
        return Bool(self.extras) and Bool(self.extras.value()[].digest)

    def turn(
        ref self,
    ) -> ref[self.extras.value()[].digest.value()[]] DigestTurn:
        """Lends what answers challenges, of a request that `has_turn`."""
        return self.extras.value()[].digest.value()[]

    def _make_turn(mut self):
        if not self.extras:
            self.extras = OwnedPointer(RequestExtras())
        if not self.extras.value()[].digest:
            self.extras.value()[].digest = OwnedPointer(DigestTurn())

    def set_credentials(mut self, credentials: Credentials) raises ClientError:
        """Sets Authorization by what the caller gave, else by what the URL has,
        unless the request has its own. Raises if they hold a line end, or a
        user name with a colon."""
        if "authorization" in self.headers:
            return
        if not credentials:
            var of_url = credentials_of(self.url)
            if of_url:
                self.set_credentials(of_url)
            return
        credentials.check()
        if credentials.is_digest():
            self._make_turn()
            ref turn = self.turn()
            turn.login = credentials.login()
            return
        set_authorization(self.headers, credentials.field_value())

    def begin_trace(mut self):
        if not self.extras:
            return
        ref extras = self.extras.held()[]
        if not extras.trace:
            return
        var span = extras.trace.held()[].child(
            self.method, kind=SpanKind.CLIENT
        )
        set_trace_fields(self.headers, span)
        if extras.hooks.own_headers:
            # The hooks have run: the attempts after this one have them, too.
            set_trace_fields(extras.hooks.own_headers.held(), span)
        if span.is_recording():
            describe_request(span, self.method, self.url)
        extras.trace = ArcPointer(span^)

    def end_trace(self, status: Int):
        if not self.extras or not self.extras.held()[].trace:
            return
        ref span = self.extras.held()[].trace.held()[]
        span.set("http.response.status_code", status)
        if status >= 400:
            span.set("error.type", String(status))
            span.fail()
        self._end_span(span)

    def fail_trace(self, error: ClientError):
        if not self.extras or not self.extras.held()[].trace:
            return
        ref span = self.extras.held()[].trace.held()[]
        span.set("error.type", String(error.kind))
        span.fail(error.reason.copy())
        self._end_span(span)

    def _end_span(self, span: TraceSpan):
        var count = self.redirect_count + self.retry_count + self.refusal_count
        if count > 0:
            span.set("http.request.resend_count", count)
        span.end()

    def run_hooks(mut self) raises ClientError:
        """Lets the hooks change the fields of an attempt that begins, unless
        they have. Raises `HookFailed` if one of them refuses."""
        if not self.extras:
            return
        ref run = self.extras.held()[].hooks
        if len(run.hooks) == 0 or run.own_headers:
            return
        run.number += 1
        run.own_headers = self.headers.copy()
        var attempt = OutgoingAttempt(
            run.number, self.method, self.url, self.headers.copy()
        )
        # Lent for the call: a copy of octets would cost as much as they are.
        swap(attempt.content, self.body.content)
        try:
            run.begin(attempt)
        except error:
            swap(attempt.content, self.body.content)
            raise ClientError(Phase.REQUEST, HookFailed, String(error))
        swap(attempt.content, self.body.content)
        swap(self.headers, attempt.headers)

    def undo_hooks(mut self):
        """Has the request's own fields again, after an attempt."""
        if not self.extras:
            return
        ref own = self.extras.held()[].hooks.own_headers
        if own:
            self.headers = own.take()

    def tell_head(mut self, mut response: ClientResponse):
        """Tells the hooks of a response, whose fields are lent for the call."""
        if not self.extras or not self.extras.held()[].hooks.is_open():
            return
        ref run = self.extras.held()[].hooks
        var outcome = run.outcome(self.method, self.url)
        outcome.status = response.status
        swap(outcome.headers, response.headers)
        run.end(outcome)
        swap(outcome.headers, response.headers)

    def tell_failure(mut self, error: ClientError):
        """Tells the hooks that an attempt has failed, unless they know its
        response.
        """
        if not self.extras or not self.extras.held()[].hooks.is_open():
            return
        ref run = self.extras.held()[].hooks
        var outcome = run.outcome(self.method, self.url)
        outcome.error = error.copy()
        outcome.error.value().url = url_without_credentials(self.url)
        run.end(outcome)

    def set_content_type(mut self) raises ClientError:
        """Sets Content-Type for content from memory. Raises if it holds a line
        end."""
        ref content_type = self.body.content_type
        if content_type.byte_length() == 0 or "content-type" in self.headers:
            return
        try:
            self.headers.set("Content-Type", content_type)
        except error:
            raise bad_request(String(error))

    def framing(self) -> RequestFraming:
        var asks = self.expects_continue
        if self.upload.is_streamed:
            if self.upload.content_len == UNKNOWN_LEN:
                return RequestFraming.chunked(asks)
            return RequestFraming(self.upload.content_len, asks)
        var length = self.body.content_len()
        # RFC 9110 section 8.6: of methods that give content no meaning it is not
        # said that there is none.
        var is_bare = length == 0 and (
            self.method == "GET" or self.method == "HEAD"
        )
        if self.body.is_given and not is_bare:
            return RequestFraming(length, asks and length > 0)
        return RequestFraming.empty(self.method)

    def has_content(self) -> Bool:
        return self.upload.is_streamed or self.body.content_len() > 0

    def will_follow(self, status: Status, headers: HeaderMap) -> Bool:
        """Tells whether a response with such a head leads elsewhere, and is not
        the final one."""
        return (
            is_redirect(status)
            and self._max_redirects > 0
            and has_location(headers)
        )

    def will_stop_expecting(
        self, response: ClientResponse, sent_len: Int
    ) -> Bool:
        """Tells whether the request goes out again without Expect, as 417 asks
        for (RFC 9110 section 10.1.1); the response's head is enough. Not if it
        `has_lost_content`."""
        return (
            response.status == 417
            and self.expects_continue
            and self.has_content()
            and not self.has_lost_content(sent_len)
        )

    def has_lost_content(self, sent_len: Int) -> Bool:
        """Tells whether any of the `sent_len` bytes of content that an attempt
        has taken came from a source, which gives it once: they are not there
        any more."""
        return self.upload.is_streamed and sent_len > 0

    def will_authenticate(
        self, response: ClientResponse, sent_len: Int
    ) -> Bool:
        """Tells whether the request goes out again with an answer to a
        challenge (RFC 7616); the response's head is enough. Not if it
        `has_lost_content`."""
        if not self.has_turn() or self.has_lost_content(sent_len):
            return False
        return Bool(
            self.turn().challenge(response.status.code, response.headers)
        )

    def follow(
        mut self, response: ClientResponse, config: ClientConfig, sent_len: Int
    ) raises ClientError:
        """Goes where a redirection leads; `will_follow` is true for it. Raises
        if there were too many, it leads nowhere, or the content is to go there,
        too, and it `has_lost_content`."""
        if self.redirect_count >= self._max_redirects:
            raise ClientError(
                Phase.REDIRECT,
                TooManyRedirects,
                String(
                    "more than ",
                    self._max_redirects,
                    " redirections; allow more, or look for a loop",
                ),
            )
        var next = redirect_url(self.url, location_of(response.headers))
        self._remember(response)
        # What is dropped below is of the request's own fields.
        self.undo_hooks()
        if self.is_validation:
            drop_fields(self.headers, CACHE_CONDITIONS)
            self.is_validation = False
        var method = redirected_method(response.status, self.method)
        if method != self.method:
            self.method = method^
            self.body = RequestBody()
            self.upload = Upload()
            self.expects_continue = False
            drop_fields(self.headers, CONTENT_FIELDS)
        elif self.has_lost_content(sent_len):
            raise ClientError(
                Phase.REDIRECT,
                BadRequest,
                "streamed content cannot be sent again; send it to the new URL",
            )
        if self.has_turn():
            self.turn().go_elsewhere(next.has_same_origin(self.url))
        if not next.has_same_origin(self.url):
            drop_credentials(self.headers)
            self.origin.leave(over_tls=self.endpoint.is_tls)
            self._log_in(next, config)
        self.redirect_count += 1
        self.endpoint = Endpoint.of(next)
        self._choose_way(config)
        self.url = next^

    def _log_in(mut self, next: Url, config: ClientConfig) raises ClientError:
        """Takes the login that the next host itself has in a netrc file."""
        if not self.origin.may_log_in(
            over_tls=not (next.protocol() == "http:")
        ):
            return
        var login = config.netrc.find_for(next, takes_default=False)
        if login:
            self.set_credentials(login)

    def _remember(mut self, response: ClientResponse):
        if not self.extras:
            self.extras = OwnedPointer(RequestExtras())
        ref history = self.extras.held()[].history
        if len(history) < HISTORY_COUNT_MAX:
            history.append(
                RedirectStep(
                    response.status,
                    url_without_credentials(self.url),
                    self.method,
                )
            )

    def describe(
        self, attempt: Attempt, end: AttemptEnd, was_reused: Bool
    ) -> EndedAttempt:
        var count = self.retry_count + 1
        if end.is_untouched():
            count = self.refusal_count + 1
        if self.has_policy():
            count = self.plan().attempt_count
        return EndedAttempt(
            end,
            attempt.was_sent(),
            self.may_be_twice(),
            not self.has_lost_content(attempt.content_len),
            was_reused,
            count,
        )

    def goes_anew(self, attempt: Attempt, was_reused: Bool) -> Bool:
        """Tells whether a response is none to this request, which goes out on a
        new connection as one that was lost does: the connection was idle, and
        the server had just given it up (RFC 9110 section 15.5.9)."""
        return (
            attempt.parser.is_late_close()
            and self.describe(attempt, AttemptEnd.LOST, was_reused).goes_anew()
        )

    def may_be_twice(self) -> Bool:
        """Tells whether acting twice on the request is acting once."""
        if self.is_repeatable or is_idempotent(self.method):
            return True
        if not self.extras or not self.extras.held()[].retry:
            return False
        ref policy = self.plan().policy
        # A hook's fields are for one attempt: the next one may have another key.
        ref own = self.extras.held()[].hooks.own_headers
        if own:
            return policy.knows_repetition(own.held())
        return policy.knows_repetition(self.headers)

    def has_policy(self) -> Bool:
        return Bool(self.extras) and Bool(self.extras.held()[].retry)

    def plan(ref self) -> ref[self.extras.value()[].retry.value()] RetryPlan:
        """Lends when it is repeated, of a request that `has_policy`."""
        return self.extras.value()[].retry.value()

    def is_retry_planned(self) -> Bool:
        return self.has_policy() and self.plan().is_planned()

    def plans_retry(mut self, response: ClientResponse, sent_len: Int) -> Bool:
        if not self.has_policy():
            return False
        var left_ms = self.timeouts.total.left_ms()
        var may_be_twice = self.may_be_twice()
        ref plan = self.plan()
        var attempt = EndedAttempt(
            AttemptEnd.ANSWERED,
            True,
            may_be_twice,
            not self.has_lost_content(sent_len),
            False,
            plan.attempt_count,
        )
        return plan.after_response(
            attempt, response.status, response.headers, left_ms
        )

    def begin_retry(mut self) -> Int:
        self.retry_count += 1
        return self.plan().begin_pause()

    def note_attempts(self, mut error: ClientError):
        """Says in the error of a request without a response how often it was
        sent, and why not again."""
        var story = self.story()
        error.attempt_count = story.attempt_count
        if self.has_policy():
            error.reason.write("; ", describe_attempts(story))

    def tell_story(self, mut response: ClientResponse):
        """Says in the final response what few have to tell."""
        if self.extras or self.retry_count > 0 or self.refusal_count > 0:
            response.set_story(self.story())

    def story(self) -> ResponseStory:
        """Tells how it came to what the request has now; few responses have
        anything to tell."""
        var story = ResponseStory()
        story.attempt_count = self.retry_count + self.refusal_count + 1
        if self.extras:
            story.history = self.extras.held()[].history.copy()
        if self.has_policy():
            story.retry_end = self.plan().end
        return story^


def set_authorization(
    mut headers: HeaderMap, value: StringSpan
) raises ClientError:
    try:
        headers.set("Authorization", value)
    except:
        # The error would show the credentials.
        raise bad_request(
            "credentials hold a control octet, such as a line end"
        )


def _netrc_login(url: Url, config: ClientConfig) -> Credentials:
    """Finds who logs in at a URL that has no password itself."""
    if url.password().byte_length() > 0 or "authorization" in config.headers:
        return Credentials()
    return config.netrc.find_for(url, user_of(url))


def prepare_request(
    var request: ClientRequest,
    upload: Upload,
    base: ClientBase,
    config_at: Pointer[ClientConfig, _],
) raises ClientError -> PreparedRequest:
    """Fills in what a request with content from `upload` leaves to the client,
    whose base URL and credentials are those of `base`. Raises if it cannot be
    sent.

    The client's configuration comes by its address, as a reference would be
    passed field by field.
    """
    if request.method == "CONNECT":
        raise bad_request(
            "CONNECT makes a connection a tunnel, which is no response; set"
            " ClientConfig.proxy, and https requests go through one"
        )
    var url = request_url(base.url, request)
    var credentials = request.auth.copy()
    if not credentials and (
        not base.url or base.url.held().has_same_origin(url)
    ):
        credentials = base.auth.copy()
    if not credentials and not config_at[].netrc.is_empty():
        credentials = _netrc_login(url, config_at[])
    var call = PreparedRequest(request^, url^, upload, config_at[])
    try:
        call.set_content_type()
        call.set_credentials(credentials)
        return call^
    except error:
        error.url = url_without_credentials(call.url)
        raise error^


struct ClientBase(Copyable, Defaultable, Movable):

    var url: Optional[Url]
    """What URLs without a scheme are appended to. Default nothing."""
    var auth: Credentials
    """Who logs in: with a base URL at its origin alone. Default nobody."""

    def __init__(
        out self, url: StringSpan, auth: Credentials
    ) raises ClientError:
        """Takes a base URL, if it is not empty, and who logs in, or else whom
        the URL names. Raises if the URL is none or leads nowhere, or the
        credentials cannot work."""
        auth.check()
        self.url = None
        self.auth = auth.copy()
        if url.byte_length() == 0:
            return
        var base = parse_request_url(url)
        try:
            _ = Endpoint.of(base)
        except error:
            error.url = url_without_credentials(base)
            raise error^
        if not auth:
            self.auth = credentials_of(base)
        self.url = base^


struct RequestExtras(Defaultable, Movable):
    """What few requests have on their way, in one box."""

    var trace: Optional[ArcPointer[TraceSpan]]
    """The caller's span, and then the request's own."""
    var retry: Optional[RetryPlan]
    """When it is repeated, if a policy says so."""
    var history: List[RedirectStep]
    var hooks: HookRun
    var digest: Optional[OwnedPointer[DigestTurn]]
    """What answers challenges, if anything does."""


def extras_of(
    request: ClientRequest, config: ClientConfig
) -> Optional[OwnedPointer[RequestExtras]]:
    """Gathers what few requests have; nothing if there is none of it."""
    var options = request.options()
    var is_plain = not config.retries and len(config.hooks) == 0
    if not options and is_plain:
        return None
    var extras = RequestExtras()
    extras.hooks.hooks = config.hooks.copy()
    if options:
        ref own = options.held()[]
        extras.trace = own.trace
        extras.hooks.hooks.extend(own.hooks.copy())
        if own.retries:
            extras.retry = RetryPlan(own.retries.held().copy())
    if config.retries and not extras.retry:
        extras.retry = RetryPlan(config.retries.held().copy())
    return OwnedPointer(extras^)


def describe_request(span: TraceSpan, method: StringSpan, url: Url):
    """Tells of a request what OpenTelemetry's conventions for HTTP ask for;
    credentials and values of the URL's query are left out."""
    span.set("http.request.method", method)
    span.set("url.full", _without_secrets(url))
    span.set("server.address", url.hostname())
    span.set("server.port", Int(url.port_number()))


def _without_secrets(url: Url) -> String:
    """Writes a URL without credentials, fragment and the values of its query."""
    var text = String(url.protocol(), "//", url.host(), url.pathname())
    var query = url.query()
    if query.byte_length() == 0:
        return text^
    var separator = "?"
    for pair in query.split("&"):
        var equals = pair.find("=")
        text += separator
        if equals < 0:
            text += "REDACTED"
        else:
            text.write(pair[byte=0:equals], "=REDACTED")
        separator = "&"
    return text^
