"""What a span tells of a request that a client makes."""

from flare.trace.core.span import TraceSpan
from flare.url.url import Url


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
