"""The router: a handler that chooses among handlers by method and path."""

from flare.bytes.lend import lend_text
from flare.http.message.method import Method
from flare.http.message.path_params import PATH_PARAM_COUNT_MAX
from flare.http.message.percent import PercentError, percent_decode
from flare.http.message.request import Request
from flare.http.message.response import (
    Response,
    bad_request,
    internal_error,
    not_found,
)
from flare.http.routing.allow import with_allow
from flare.http.routing.any_handler import AnyHandler
from flare.http.routing.handler import DEFAULT_BODY_LIMIT, Handler
from flare.http.routing.pattern import (
    RouteError,
    SEGMENT_STATIC,
    parse_pattern,
)
from flare.http.routing.route import Route
from flare.http.routing.route_tree import ANY_METHOD, RouteMatch, RouteTree


struct Router(Handler):
    """Routes requests by method and path.

    A pattern is text, `:name` for one segment, or `*name` at its end for all
    that is left. Text comes before `:name`, and that before `*name`. Paths are
    matched segment by segment after percent-decoding; an empty segment is a
    segment, so `/a` and `/a/` are two paths. HEAD is answered by GET routes,
    OPTIONS by itself, a path without a route for the method with 405, and a
    path without any with 404.
    """

    var _tree: RouteTree
    var _routes: List[Route]
    var _fallback: Optional[AnyHandler]

    def __init__(out self):
        """Makes a router without routes."""
        self._tree = RouteTree()
        self._routes = []
        self._fallback = None

    def route(
        mut self,
        method: Method,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
    ) raises RouteError:
        """Registers a handler for a method and a pattern.

        Args:
            method: A registered method.
            pattern: The pattern.
            handler: A plain function or any `Handler`.
            max_body_size: Most content in bytes, in place of the server's
                limit.

        Raises:
            RouteError: If the method is not registered, the pattern is
                malformed, or another pattern matches the same paths.
        """
        if method == Method.OTHER:
            raise RouteError(
                String("'", pattern, "': the method is not registered")
            )
        self._add(method.number, pattern, handler^, max_body_size)

    def get(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
    ) raises RouteError:
        """Registers a handler for GET; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.

        Raises:
            RouteError: As `route` does.
        """
        self._add(Method.GET.number, pattern, handler^, max_body_size)

    def head(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
    ) raises RouteError:
        """Registers a handler for HEAD; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.

        Raises:
            RouteError: As `route` does.
        """
        self._add(Method.HEAD.number, pattern, handler^, max_body_size)

    def post(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
    ) raises RouteError:
        """Registers a handler for POST; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.

        Raises:
            RouteError: As `route` does.
        """
        self._add(Method.POST.number, pattern, handler^, max_body_size)

    def put(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
    ) raises RouteError:
        """Registers a handler for PUT; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.

        Raises:
            RouteError: As `route` does.
        """
        self._add(Method.PUT.number, pattern, handler^, max_body_size)

    def patch(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
    ) raises RouteError:
        """Registers a handler for PATCH; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.

        Raises:
            RouteError: As `route` does.
        """
        self._add(Method.PATCH.number, pattern, handler^, max_body_size)

    def delete(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
    ) raises RouteError:
        """Registers a handler for DELETE; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.

        Raises:
            RouteError: As `route` does.
        """
        self._add(Method.DELETE.number, pattern, handler^, max_body_size)

    def options(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
    ) raises RouteError:
        """Registers a handler for OPTIONS; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.

        Raises:
            RouteError: As `route` does.
        """
        self._add(Method.OPTIONS.number, pattern, handler^, max_body_size)

    def all(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
    ) raises RouteError:
        """Registers a handler for every method that has no route of its own.

        Args:
            pattern: The pattern.
            handler: A plain function or any `Handler`.
            max_body_size: Most content in bytes.

        Raises:
            RouteError: As `route` does.
        """
        self._add(ANY_METHOD, pattern, handler^, max_body_size)

    def fallback(mut self, var handler: AnyHandler):
        """Sets what answers paths without a route, in place of 404.

        Args:
            handler: A plain function or any `Handler`.
        """
        self._fallback = handler^

    def mount(
        mut self, prefix: StringSpan, var router: Router
    ) raises RouteError:
        """Takes over another router's routes, not its fallback, below a prefix.

        Args:
            prefix: Begins with `/` and does not end with it.
            router: The other router.

        Raises:
            RouteError: If the prefix is malformed, or a route conflicts.
        """
        if prefix.byte_length() < 2 or prefix.endswith("/"):
            raise RouteError(
                String("mount '", prefix, "': write it as '/prefix'")
            )
        while len(router._routes) > 0:
            var route = router._routes.pop(0)
            # A route of "/" answers the prefix itself.
            var pattern = String(prefix)
            if route.pattern != "/":
                pattern += route.pattern
            var method = route.method
            var limit = route.max_body_size
            self._add(method, pattern, route^.take_handler(), limit)

    def _add(
        mut self,
        method: UInt8,
        pattern: StringSpan,
        var handler: AnyHandler,
        max_body_size: Int,
    ) raises RouteError:
        var names = List[String]()
        for segment in parse_pattern(pattern):
            if segment.kind != SEGMENT_STATIC:
                names.append(segment.text)
        if len(names) > PATH_PARAM_COUNT_MAX:
            raise RouteError(
                String(
                    "'",
                    pattern,
                    "': at most ",
                    PATH_PARAM_COUNT_MAX,
                    " parameters are allowed",
                )
            )
        var standing = self._tree.add(method, pattern, len(self._routes))
        if standing:
            raise RouteError(
                String(
                    "'",
                    pattern,
                    "' matches the same paths as '",
                    self._routes[standing.value()].pattern,
                    "', which is registered for the same method",
                )
            )
        self._routes.append(
            Route(method, pattern, names^, handler^, max_body_size)
        )

    def serve(self, req: Request) raises -> Response:
        """Lets the route of a request answer it.

        Args:
            req: The request.

        Returns:
            The route's response, or 400, 404, 405, 501 or an answer to OPTIONS.

        Raises:
            Error: What the route's handler raises.
        """
        var found = RouteMatch()
        try:
            self._tree.find(req.method, req.path.as_bytes(), found)
            if found.route >= 0 and not self._capture(req, found):
                return internal_error("too many path parameters")
        except error:
            return bad_request(String(error))
        if found.route >= 0:
            return self._routes[found.route].handler.serve(req)
        if req.method == Method.OPTIONS and req.path == "*":
            return with_allow(Response(204), UInt64.MAX)
        if found.allowed == 0:
            if self._fallback:
                return self._fallback.value().serve(req)
            return not_found(req.path)
        if req.method == Method.OPTIONS:
            return with_allow(Response(204), found.allowed)
        if req.method == Method.OTHER:
            return Response(501)
        return with_allow(Response(405), found.allowed)

    def _capture(
        self, req: Request, found: RouteMatch
    ) raises PercentError -> Bool:
        """Stores the values of the route's parameters with the request; False
        if nested routers have captured too many."""
        # SAFETY: pattern names live in this router and values in the request;
        # both outlive the handler's call.
        ref params = req.route_params()[]
        ref names = self._routes[found.route].names
        var path = req.path.as_bytes()
        for index in range(found.capture_count):
            var capture = found.captures[index]
            var name = lend_text[ImmUntrackedOrigin](
                names[index].unsafe_ptr(), names[index].byte_length()
            )
            var value = path[capture.start : capture.end]
            var is_kept: Bool
            if capture.is_encoded:
                is_kept = params.add_decoded(name, percent_decode(value))
            else:
                is_kept = params.add(
                    name,
                    lend_text[ImmUntrackedOrigin](
                        value.unsafe_ptr(), len(value)
                    ),
                )
            if not is_kept:
                return False
        return True

    def max_body_size(self, req: Request) -> Int:
        """Gives the limit of the request's route.

        Args:
            req: The request's head.

        Returns:
            Bytes, or `DEFAULT_BODY_LIMIT`.
        """
        var found = RouteMatch()
        try:
            self._tree.find(req.method, req.path.as_bytes(), found)
        except error:
            return DEFAULT_BODY_LIMIT
        if found.route < 0:
            if found.allowed == 0 and self._fallback:
                return self._fallback.value().max_body_size(req)
            return DEFAULT_BODY_LIMIT
        ref route = self._routes[found.route]
        if route.max_body_size != DEFAULT_BODY_LIMIT:
            return route.max_body_size
        return route.handler.max_body_size(req)
