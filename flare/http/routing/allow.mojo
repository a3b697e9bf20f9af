"""The Allow field of a response."""

from flare.http.message.method import Method
from flare.http.message.method_registry import METHOD_COUNT, method_name
from flare.http.message.response import Response


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
