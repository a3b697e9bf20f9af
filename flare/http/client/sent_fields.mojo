"""The header fields of a request as they go out: its own, those of the client, and
what both add to them."""

from flare.bytes.ascii import equals_ignore_case, hex_text
from flare.bytes.hash import sha256
from flare.http.client.config import ClientConfig
from flare.http.client.prepared_request import PreparedRequest
from flare.http.client.redirect import RequestOrigin, is_credential
from flare.http.message.header_map import HeaderError, HeaderMap


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


def takes_all(request: PreparedRequest, config: ClientConfig) -> Bool:
    """Tells whether all fields of the client's configuration go with a request,
    but for those that it has itself."""
    return request.origin == RequestOrigin.OWN and not config.drops_codings(
        request.headers
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
