"""The Allow field of a response."""

from flare.http.message.method import Method
from flare.http.message.method_registry import METHOD_COUNT, method_name
from flare.http.message.request import Request
from flare.http.message.response import Response, TEXT_PLAIN, not_found


def with_allow(var response: Response, allowed: UInt64) raises -> Response:
    """Names the allowed methods in a response (RFC 9110 section 10.2.1).

    Args:
        response: The response.
        allowed: A bit for each method that has a route, by number.

    Returns:
        The response, with HEAD where there is GET, and with OPTIONS.

    Raises:
        HeaderError: Never, since method names are tokens.
    """
    var get = UInt64(1) << UInt64(Method.GET.number)
    var methods = allowed | (UInt64(1) << UInt64(Method.OPTIONS.number))
    if (allowed & get) != 0:
        methods |= UInt64(1) << UInt64(Method.HEAD.number)
    var names = String()
    for number in range(1, METHOD_COUNT + 1):
        if (methods >> UInt64(number)) & 1 == 1:
            if names.byte_length() > 0:
                names += ", "
            names += method_name(number)
    response.headers.set("Allow", names)
    return response^


def _everywhere() -> UInt64:
    """Gives what routes may be for, anywhere on this server.

    There are no tunnels (RFC 9110 section 9.3.6), and a TRACE that is answered
    would show a page what its browser hides from it (section 9.3.8).
    """
    var refused = UInt64(1) << UInt64(Method.CONNECT.number)
    refused |= UInt64(1) << UInt64(Method.TRACE.number)
    return UInt64.MAX & ~refused


def answer_without_route(req: Request, allowed: UInt64) raises -> Response:
    """Answers a request for which no route is registered.

    Args:
        req: The request.
        allowed: A bit for each method that has a route for the path.

    Returns:
        404, 405, 501 or an answer to OPTIONS (RFC 9110 section 9.3.7).

    Raises:
        HeaderError: Never, since method names are tokens.
    """
    if req.method == Method.OPTIONS and req.path == "*":
        return with_allow(Response(204), _everywhere())
    if allowed == 0:
        return not_found(req.path)
    if req.method == Method.OPTIONS:
        return with_allow(Response(204), allowed)
    if req.method == Method.OTHER:
        return _told(501, "the server does not know the method\n")
    return with_allow(
        _told(405, "the path does not take the method\n"), allowed
    )


def _told(status: Int, var reason: String) -> Response:
    return Response(status, reason^, content_type=TEXT_PLAIN)
