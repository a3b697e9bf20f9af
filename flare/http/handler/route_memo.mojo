"""The route that was found for a request, kept from when a handler is asked
about it to when it is served."""

from flare.bytes.checked import *
from flare.bytes.compare import same_octets
from flare.http.message.method import Method
from flare.http.message.request import PATH_PARAM_COUNT_MAX, Request
from std.sys.intrinsics import likely


@fieldwise_init
struct Capture(TrivialRegisterPassable):
    """Where a captured value stands in the path."""

    var start: Int
    var end: Int
    """After its last octet."""
    var is_encoded: Bool
    """True if it has a `%`."""


struct RouteMatch(Movable):
    """What a path and a method lead to."""

    var route: Int
    """The route's number, or -1."""
    var allowed: UInt64
    """A bit, by number, for each method that routes have for this path where none
    is for the request's own; 0 where a route was found."""
    var captures: Array[Capture, PATH_PARAM_COUNT_MAX]
    """The values of the route's parameters, in order; `capture_count` of them.
    """
    var capture_count: Int

    def __init__(out self):
        self.route = -1
        self.allowed = 0
        # On the stack and not cleared: only what is counted is read.
        self.captures = Array[Capture, PATH_PARAM_COUNT_MAX](uninitialized=True)
        self.capture_count = 0

    def copy_from(mut self, other: Self):
        self.route = other.route
        self.allowed = other.allowed
        self.capture_count = other.capture_count
        for index in range(other.capture_count):
            self.captures.at(index) = other.captures.at(index)

    @always_inline
    def push(mut self, start: Int, end: Int, is_encoded: Bool):
        """Captures a value between two offsets in the path; `is_encoded` if it
        has a `%`."""
        # A pattern has at most PATH_PARAM_COUNT_MAX names.
        self.captures.at(self.capture_count) = Capture(start, end, is_encoded)
        self.capture_count += 1


struct RouteMemo(Movable):
    """The route that a router found when it was asked about a request, so that
    it need not look again when it serves it."""

    var _found: RouteMatch
    # The router, or 0; what it found is for this method and path alone.
    var _owner: UInt64
    var _method: Method
    var _path: List[UInt8]

    def __init__(out self):
        self._found = RouteMatch()
        self._owner = 0
        self._method = Method.OTHER
        self._path = []

    def forget(mut self):
        """Keeps the storage, and nothing of what is in it."""
        self._owner = 0

    def keep(mut self, req: Request, owner: UInt64, found: RouteMatch):
        """Keeps a route, unless an outer router has kept its own; the owner is
        not 0."""
        if self._owner != 0:
            return
        self._owner = owner
        self._method = req.method
        self._path.clear()
        self._path.extend(req.path.as_bytes())
        self._found.copy_from(found)

    def find(self, req: Request, owner: UInt64, mut found: RouteMatch) -> Bool:
        """Finds a router's own route for this very request, if it is kept here;
        middleware may have made another one meanwhile."""
        if (
            self._owner != owner
            or self._method != req.method
            or not same_octets(req.path.as_bytes(), Span(self._path))
        ):
            return False
        found.copy_from(self._found)
        return True


def erase_memo(
    mut memo: RouteMemo,
) -> OptionalPointer[NoneType, MutUntrackedOrigin]:
    """Makes what a request's storage carries for routers, which `recall` and
    `remember` look for; the memo must outlive the request."""
    # SAFETY: promised by the caller.
    return (
        Pointer(to=memo)
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_bitcast[NoneType]()
    )


@always_inline
def recall(req: Request, owner: UInt64, mut found: RouteMatch) -> Bool:
    """Finds the route that a router found when it was asked about a request;
    False if nobody asked, so that it is to be looked for."""
    var memo = req.route_params()[].route_memo
    if likely(not memo.__bool__()):
        return False
    # SAFETY: only `erase_memo` makes such pointers.
    return memo.held().unsafe_bitcast[RouteMemo]()[].find(req, owner, found)


def remember(req: Request, owner: UInt64, found: RouteMatch):
    """Keeps a route for when the request is served, if the server lends storage
    for it.
    """
    var memo = req.route_params()[].route_memo
    if memo:
        # SAFETY: only `erase_memo` makes such pointers.
        memo.held().unsafe_bitcast[RouteMemo]()[].keep(req, owner, found)
