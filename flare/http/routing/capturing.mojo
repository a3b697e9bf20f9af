"""Storing what a route captured with the request."""

from flare.bytes.lend import lend_text
from flare.url.percent import PercentError, percent_decode
from flare.http.message.request import Request
from flare.http.routing.route_tree import Capture, RouteMatch
from std.collections.string.string_span import get_static_string


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
    for index in range(found.capture_count):
        # SAFETY: names live in the router, which outlives the handler's call.
        var name = lend_text[ImmUntrackedOrigin](
            names[index].unsafe_ptr(), names[index].byte_length()
        )
        if not _capture_one(req, found.captures[index], name):
            return False
    return True


def capture_named[
    NAMES: List[String]
](req: Request, found: RouteMatch) raises PercentError -> Bool:
    """Stores the values of parameters whose names are known at build time.

    Parameters:
        NAMES: As many as the route has parameters.

    Args:
        req: The request.
        found: Its route.

    Returns:
        False if nested routers have captured too many.

    Raises:
        PercentError: If a value is not percent-encoded as it should.
    """
    comptime for index in range(len(NAMES)):
        # SAFETY: the name is a part of the program.
        comptime NAME = get_static_string[NAMES[index]]()
        var name = lend_text[ImmUntrackedOrigin](
            NAME.unsafe_ptr(), NAME.byte_length()
        )
        if not _capture_one(req, found.captures[index], name):
            return False
    return True


@always_inline
def _capture_one(
    req: Request, part: Capture, name: StringSpan[ImmUntrackedOrigin]
) raises PercentError -> Bool:
    # SAFETY: values live in the request, which outlives the handler's call.
    ref params = req.route_params()[]
    var value = req.path.as_bytes()[part.start : part.end]
    if part.is_encoded:
        return params.add_decoded(name, percent_decode(value))
    return params.add(
        name, lend_text[ImmUntrackedOrigin](value.unsafe_ptr(), len(value))
    )
