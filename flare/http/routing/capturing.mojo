"""Storing what a route captured with the request."""

from flare.bytes.lend import lend_text
from flare.http.message.percent import PercentError, percent_decode
from flare.http.message.request import Request
from flare.http.routing.route_tree import RouteMatch


def capture(
    req: Request, found: RouteMatch, names: List[String]
) raises PercentError -> Bool:
    """Stores the values of a route's parameters with the request.

    Args:
        req: The request.
        found: Its route.
        names: The names of the route's parameters.

    Returns:
        False if nested routers have captured too many.

    Raises:
        PercentError: If a value is not percent-encoded as it should.
    """
    # SAFETY: names live in the router and values in the request; both outlive
    # the handler's call.
    ref params = req.route_params()[]
    var path = req.path.as_bytes()
    for index in range(found.capture_count):
        var part = found.captures[index]
        var name = lend_text[ImmUntrackedOrigin](
            names[index].unsafe_ptr(), names[index].byte_length()
        )
        var value = path[part.start : part.end]
        var is_kept: Bool
        if part.is_encoded:
            is_kept = params.add_decoded(name, percent_decode(value))
        else:
            is_kept = params.add(
                name,
                lend_text[ImmUntrackedOrigin](value.unsafe_ptr(), len(value)),
            )
        if not is_kept:
            return False
    return True
