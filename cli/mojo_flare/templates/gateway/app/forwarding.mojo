"""What goes on to the upstream, and what comes back (RFC 9110 section 7.6)."""

from flare.http import (
    Body,
    ClientRequest,
    ClientResponse,
    Request,
    RequestBody,
    Response,
    Url,
    request_id,
)

comptime FOR_ONE_CONNECTION = StaticString(
    " connection content-length keep-alive proxy-authenticate"
    " proxy-authorization proxy-connection te trailer transfer-encoding"
    " upgrade "
)
"""Fields that are for the next host alone (RFC 9110 section 7.6.1)."""
comptime OURS = StaticString(
    " authorization expect forwarded host x-forwarded-for x-forwarded-host"
    " x-forwarded-proto x-request-id "
)
"""Fields of requests that the gateway takes for itself, or writes anew."""


def request_for_upstream(
    req: Request, base: String, prefix: String
) raises -> Optional[ClientRequest]:
    """Makes the request that goes on.

    Args:
        req: The client's.
        base: The upstream's URL.
        prefix: What its paths begin with.

    Returns:
        The request; nothing if its path leaves the prefix, by `..` or by
        another spelling of it.
    """
    var target = String(req.path)
    if req.query.byte_length() > 0:
        target.write("?", req.query)
    if not Url.parse(base + target).pathname().startswith(prefix):
        return None
    var request = ClientRequest(String(req.method_name), target)
    if len(req.body) > 0:
        var content = Body(List[UInt8](req.body))
        request.body = RequestBody(content^, String(req.header("Content-Type")))
    var dropped = String(req.header("Connection")).lower()
    for index in range(len(req.headers)):
        var name = String(req.headers.name(index)).lower()
        if not _is_listed(name, dropped) and not _stands_in(name, OURS):
            request.headers.append(name, req.headers.value(index))
    request.set_header("X-Forwarded-For", String(req.peer.ip))
    request.set_header("X-Forwarded-Host", req.host())
    request.set_header("X-Forwarded-Proto", req.scheme())
    request.set_header("X-Request-Id", request_id(req))
    return request^


def answer_for_client(answer: ClientResponse) raises -> Response:
    """Makes the response that goes back."""
    var response = Response(answer.status, answer.body.copy())
    var dropped = String()
    var named = answer.headers.get("Connection")
    if named:
        dropped = String(named.value()).lower()
    for index in range(len(answer.headers)):
        var name = String(answer.headers.name(index)).lower()
        if not _is_listed(name, dropped):
            response.headers.append(name, answer.headers.value(index))
    return response^


def _is_listed(name: String, dropped: String) -> Bool:
    """Tells whether a field is for one connection, by itself or because the
    Connection field names it."""
    if _stands_in(name, FOR_ONE_CONNECTION):
        return True
    for option in dropped.split(","):
        if option.strip() == name:
            return True
    return False


def _stands_in(name: String, names: StaticString) -> Bool:
    return String(" ", name, " ") in names
