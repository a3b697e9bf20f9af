"""A walk along a path, compiled for routes that are known at build time.

What `RouteTree.find` looks up in tables, this has as branches: a segment is
told apart from others by its length and then by the octet in which most of
those that are left differ, and is compared once. Outcomes are the same.
"""

from flare.bytes.lend import lend
from flare.http.message.method import Method
from flare.url.percent import PERCENT, PercentError, percent_decode
from flare.http.routing.pattern import (
    SEGMENT_PARAM,
    SEGMENT_REST,
    SEGMENT_STATIC,
)
from flare.http.routing.route_tree import ANY_METHOD, RouteMatch
from flare.http.routing.route_ways import (
    Way,
    behind,
    ended,
    octets_at,
    of_kind,
    of_text_length,
    telling_offset,
    text_lengths,
    with_octet,
)
from std.collections.string.string_span import get_static_string
from std.memory import unsafe_memcmp

comptime _SLASH: UInt8 = 47
comptime _Octets = Span[UInt8, ImmUntrackedOrigin]


@fieldwise_init
struct _Sought(ImplicitlyCopyable):
    """What a route is sought for."""

    var method: Method
    var path: _Octets


def find_compiled[
    WAYS: List[Way]
](
    method: Method, path: Span[UInt8, _], mut found: RouteMatch
) raises PercentError:
    """Finds the route of a path, as `RouteTree.find` does.

    Parameters:
        WAYS: The routes, from their first segment on.

    Args:
        method: The request's method.
        path: The path as sent.
        found: A new match, filled; `route` is -1 if there is none.

    Raises:
        PercentError: If a segment is malformed.
    """
    if len(path) == 0 or path[0] != _SLASH:
        return
    # SAFETY: nothing of the path is kept beyond this call.
    var octets = lend[ImmUntrackedOrigin](path.unsafe_ptr(), len(path))
    _ = _go_on[WAYS](_Sought(method, octets), 0, found)
    if found.route < 0 and method == Method.HEAD:
        var allowed = found.allowed
        _ = _go_on[WAYS](_Sought(Method.GET, octets), 0, found)
        found.allowed |= allowed


def _go_on[
    WAYS: List[Way]
](
    sought: _Sought, slash: Int, mut found: RouteMatch
) raises PercentError -> Bool:
    """Matches the path from a slash on; at its end, chooses by the method."""
    comptime TEXTS = of_kind(WAYS, SEGMENT_STATIC)
    comptime PARAMS = of_kind(WAYS, SEGMENT_PARAM)
    comptime RESTS = of_kind(WAYS, SEGMENT_REST)
    var path = sought.path
    if slash == len(path):
        return _choose[ended(WAYS)](sought.method, found)
    var start = slash + 1
    var end = start
    var is_encoded = False
    while end < len(path) and path[end] != _SLASH:
        is_encoded = is_encoded or path[end] == PERCENT
        end += 1
    if is_encoded:
        # Also where no text could match: what is malformed is refused.
        var text = percent_decode(path[start:end])
        # SAFETY: the text lives until nothing uses its octets any more.
        var octets = lend[ImmUntrackedOrigin](
            text.unsafe_ptr(), text.byte_length()
        )
        var is_found = _by_length[TEXTS](octets, sought, end, found)
        _ = text^
        if is_found:
            return True
    elif _by_length[TEXTS](path[start:end], sought, end, found):
        return True
    var capture_count = found.capture_count
    comptime if len(PARAMS) > 0:
        if end > start:
            found.push(start, end, is_encoded)
            if _go_on[behind(PARAMS)](sought, end, found):
                return True
            found.capture_count = capture_count
    comptime if len(RESTS) > 0:
        found.push(start, len(path), PERCENT in path[start:])
        if _choose[behind(RESTS)](sought.method, found):
            return True
        found.capture_count = capture_count
    return False


def _by_length[
    WAYS: List[Way]
](
    segment: _Octets, sought: _Sought, end: Int, mut found: RouteMatch
) raises PercentError -> Bool:
    """Goes on where the text that is next may be the segment."""
    comptime LENGTHS = text_lengths(WAYS)
    var length = len(segment)
    comptime for index in range(len(LENGTHS)):
        comptime LENGTH = LENGTHS[index]
        if length == LENGTH:
            comptime PART = of_text_length(WAYS, LENGTH)
            return _by_octet[PART](segment, sought, end, found)
    return False


def _by_octet[
    WAYS: List[Way]
](
    segment: _Octets, sought: _Sought, end: Int, mut found: RouteMatch
) raises PercentError -> Bool:
    """Does so among texts that are as long as the segment."""
    comptime OFFSET = telling_offset(WAYS)
    comptime if OFFSET < 0:
        comptime TEXT = WAYS[0].text()
        comptime NEXT = behind(WAYS)
        comptime SPAN = get_static_string[TEXT]()
        return _is_text(segment, SPAN) and _go_on[NEXT](sought, end, found)
    else:
        comptime OCTETS = octets_at(WAYS, OFFSET)
        # SAFETY: the segment is as long as the texts.
        var octet = segment.unsafe_get(OFFSET)
        comptime for index in range(len(OCTETS)):
            comptime OCTET = OCTETS[index]
            if octet == OCTET:
                comptime PART = with_octet(WAYS, OFFSET, OCTET)
                return _by_octet[PART](segment, sought, end, found)
        return False


@always_inline
def _is_text(segment: _Octets, text: StaticString) -> Bool:
    """Compares a segment with a text of the same length."""
    # SAFETY: both have the length that is compared.
    return (
        unsafe_memcmp(
            segment.unsafe_ptr(), text.unsafe_ptr(), text.byte_length()
        )
        == 0
    )


def _choose[WAYS: List[Way]](method: Method, mut found: RouteMatch) -> Bool:
    """Takes the route of a method, and notes which methods there are."""
    comptime ANY = _route_of_any(WAYS)
    comptime ALLOWED = _methods(WAYS)
    comptime for index in range(len(WAYS)):
        comptime METHOD = WAYS[index].method
        comptime ROUTE = WAYS[index].route
        if method.number == METHOD:
            found.route = ROUTE
            return True
    comptime if ANY >= 0:
        found.route = ANY
        return True
    found.allowed |= ALLOWED
    return False


def _route_of_any(ways: List[Way]) -> Int:
    for way in ways:
        if way.method == ANY_METHOD:
            return way.route
    return -1


def _methods(ways: List[Way]) -> UInt64:
    """Gives a bit for each method that has a route of its own."""
    var methods = UInt64(0)
    for way in ways:
        if way.method != ANY_METHOD:
            methods |= UInt64(1) << UInt64(way.method)
    return methods
