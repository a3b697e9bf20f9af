"""What few requests have on their way, in one box."""

from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.digest import DigestTurn
from flare.http.client.connect.error import ClientError
from flare.http.client.message.hooks import HookRun
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response_story import RedirectStep
from flare.http.client.message.retry_policy import RetryPlan
from flare.trace.core.span import TraceSpan
from flare.url.url import Url
from std.memory import ArcPointer, OwnedPointer


struct RequestExtras(Movable):

    var trace: Optional[ArcPointer[TraceSpan]]
    """The caller's span, and then the request's own."""
    var retry: Optional[RetryPlan]
    """When it is repeated, if a policy says so."""
    var history: List[RedirectStep]
    var hooks: HookRun
    var digest: Optional[OwnedPointer[DigestTurn]]
    """What answers challenges, if anything does."""

    def __init__(out self):
        """Makes extras that change nothing."""
        self.trace = None
        self.retry = None
        self.history = []
        self.hooks = HookRun()
        self.digest = None

    @no_inline
    def __deinit__(deinit self):
        """Drops all of it, out of line."""
        return

    def end_trace(self, status: Int, resend_count: Int):
        """Ends the span with a response to a request that was sent again so
        many times."""
        if not self.trace:
            return
        ref span = self.trace.held()[]
        span.set("http.response.status_code", status)
        if status >= 400:
            span.set("error.type", String(status))
            span.fail()
        if resend_count > 0:
            span.set("http.request.resend_count", resend_count)
        span.end()

    def fail_trace(self, error: ClientError, resend_count: Int):
        """Ends the span of a request that was sent again so many times, without
        a response."""
        if not self.trace:
            return
        ref span = self.trace.held()[]
        span.set("error.type", String(error.kind))
        span.fail(error.reason.copy())
        if resend_count > 0:
            span.set("http.request.resend_count", resend_count)
        span.end()


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
