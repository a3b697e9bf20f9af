"""The header fields of a request as they go out: its own, those of the client, and
what both add to them."""

from flare.bytes.ascii import equals_ignore_case, hex_text
from flare.bytes.hash import sha256
from flare.http.client.message.config import ClientConfig
from flare.http.client.exchange.prepared_request import PreparedRequest
from flare.http.client.message.redirect import RequestOrigin, is_credential
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.bytes.buffer import Buffer
from flare.http.client.connect.error import BadRequest, ClientError, Phase
from flare.http.client.message.response import url_without_credentials
from flare.http.h1.serialiser import RequestStart, write_request_head


def sent_host(request: PreparedRequest) -> String:
    """Tells which authority a request names (RFC 9110 section 7.2): its own
    Host, or that of its URL."""
    var own = request.headers.find("host")
    if own >= 0:
        return String(request.headers.value(own))
    if request.endpoint.is_unix:
        return "localhost"
    return String(request.url.host())


def leaves_out(
    name: StringSpan, request: PreparedRequest, config: ClientConfig
) -> Bool:
    """Tells whether a field of the client's configuration does not go with a
    request, as that has its own, or must not have it."""
    if len(request.headers) > 0 and name in request.headers:
        return True
    if request.origin != RequestOrigin.OWN and is_credential(name):
        # They were for where the request began.
        return True
    if request.cookie.byte_length() > 0 and equals_ignore_case(
        name.as_bytes(), "cookie".as_bytes()
    ):
        # A request has one set of cookies (RFC 6265 section 5.4).
        return True
    return config.drops_codings(request.headers) and equals_ignore_case(
        name.as_bytes(), "accept-encoding".as_bytes()
    )


def sent_fields(
    request: PreparedRequest, config: ClientConfig
) raises HeaderError -> HeaderMap:
    """Gathers the fields of an attempt, for who selects by them (RFC 9111
    section 4.1); the hooks of the request have run, and its cookie is there.
    What frames its content, and what is for a proxy, is not among them.

    An answer to a digest challenge is another one each time: in its place
    stands a value that is the same for one user name and password, and is no
    Authorization to send. Raises if the fields are longer than a block.
    """
    var fields = HeaderMap()
    fields.append("Host", sent_host(request))
    for index in range(len(config.headers)):
        var name = config.headers.name(index)
        if not leaves_out(name, request, config):
            fields.append(name, config.headers.value(index))
    for index in range(len(request.headers)):
        var name = request.headers.name(index)
        if not equals_ignore_case(name.as_bytes(), "host".as_bytes()):
            fields.append(name, request.headers.value(index))
    if request.cookie.byte_length() > 0 and "cookie" not in request.headers:
        fields.append("Cookie", request.cookie)
    if request.has_turn():
        ref login = request.extras.value()[].digest.value()[].login
        if login:
            var pair = String(login.value().user, ":", login.value().password)
            var digest = sha256(pair.as_bytes())
            fields.set("Authorization", "Digest " + hex_text(Span(digest)))
    return fields^


def write_head(
    request: PreparedRequest, mut out: Buffer, config: ClientConfig
) raises ClientError:
    """Writes the head of the next attempt. Raises if a part of the request must
    not be sent."""
    var is_absolute = request.asks_proxy()
    if is_absolute or request.cookie.byte_length() > 0:
        var headers = request.headers.copy()
        _add_extra(request, headers, is_absolute)
        _write(request, out, is_absolute, headers, config)
    else:
        _write(request, out, False, request.headers, config)


def _add_extra(
    request: PreparedRequest, mut headers: HeaderMap, is_absolute: Bool
) raises ClientError:
    """Adds the cookies, and what a proxy is told that takes the request."""
    try:
        if request.cookie.byte_length() > 0 and "cookie" not in headers:
            headers.set("Cookie", request.cookie)
        if is_absolute and request.proxy.value()[].credentials:
            ref credentials = request.proxy.value()[].credentials
            if not credentials.is_digest():
                headers.set("Proxy-Authorization", credentials.field_value())
            else:
                ref turn = request.extras.value()[].digest.value()[]
                if turn.proxy_field.byte_length() > 0:
                    headers.set("Proxy-Authorization", turn.proxy_field)
    except:
        raise ClientError(
            Phase.REQUEST,
            BadRequest,
            "cookies or the proxy's credentials hold a control octet",
        )


def _write(
    request: PreparedRequest,
    mut out: Buffer,
    is_absolute: Bool,
    headers: HeaderMap,
    config: ClientConfig,
) raises ClientError:
    var target = String(request.url.request_target())
    if is_absolute:
        target = url_without_credentials(request.url)
    var host = sent_host(request)
    var start = RequestStart(
        StringSpan(request.method), target, host, request.minor_version
    )
    # What the request has itself is left out of them there.
    if request.origin == RequestOrigin.OWN and not config.drops_codings(
        request.headers
    ):
        write_request_head(
            out, start, headers, config.headers, request.framing()
        )
        return
    var defaults = config.headers.copy()
    for index in range(len(config.headers)):
        var name = config.headers.name(index)
        if leaves_out(name, request, config):
            _ = defaults.remove(name)
    write_request_head(out, start, headers, defaults, request.framing())
