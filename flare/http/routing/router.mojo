"""The router: a handler that chooses among handlers by method and path."""

from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import (
    Response,
    bad_request,
    internal_error,
)
from flare.http.routing.allow import answer_without_route
from flare.http.routing.any_handler import AnyHandler
from flare.http.routing.capturing import capture
from flare.http.routing.handler import (
    DEFAULT_BODY_LIMIT,
    Handler,
    RequestPolicy,
)
from flare.http.routing.operation import Operation
from flare.http.routing.pattern import RouteError
from flare.http.routing.route_table import RouteTable
from flare.http.routing.route_tree import ANY_METHOD, RouteMatch
from flare.http.routing.ws_route import WsRoute
from flare.http.websocket.handler import WsConfig, WsHandler
from std.memory import OwnedPointer


struct Router(Handler):
    """Routes requests by method and path.

    A pattern is text, `:name` for one segment, or `*name` at its end for all
    that is left. Text comes before `:name`, and that before `*name`. Paths are
    matched segment by segment after percent-decoding; an empty segment is a
    segment, so `/a` and `/a/` are two paths. HEAD is answered by GET routes,
    OPTIONS by itself, a path without a route for the method with 405, and a
    path without any with 404.
    """

    # In a box, since a handler that is a word costs least to call.
    var _table: OwnedPointer[RouteTable]

    def __init__(out self):
        """Makes a router without routes."""
        self._table = OwnedPointer(RouteTable())

    def route(
        mut self,
        method: Method,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for a method and a pattern.

        Args:
            method: A registered method.
            pattern: The pattern.
            handler: A plain function or any `Handler`.
            max_body_size: Most content in bytes, in place of the server's
                limit.
            may_block: False if the handler never takes long; see
                `RequestPolicy.blocks`.

        Raises:
            RouteError: If the method is not registered, the pattern is
                malformed, or another pattern matches the same paths.
        """
        self._table[].add(
            method.number, pattern, handler^, max_body_size, may_block
        )

    def get(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for GET; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.
            may_block: As for `route`.

        Raises:
            RouteError: As `route` does.
        """
        self._table[].add(
            Method.GET.number, pattern, handler^, max_body_size, may_block
        )

    def head(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for HEAD; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.
            may_block: As for `route`.

        Raises:
            RouteError: As `route` does.
        """
        self._table[].add(
            Method.HEAD.number, pattern, handler^, max_body_size, may_block
        )

    def post(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for POST; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.
            may_block: As for `route`.

        Raises:
            RouteError: As `route` does.
        """
        self._table[].add(
            Method.POST.number, pattern, handler^, max_body_size, may_block
        )

    def put(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for PUT; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.
            may_block: As for `route`.

        Raises:
            RouteError: As `route` does.
        """
        self._table[].add(
            Method.PUT.number, pattern, handler^, max_body_size, may_block
        )

    def patch(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for PATCH; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.
            may_block: As for `route`.

        Raises:
            RouteError: As `route` does.
        """
        self._table[].add(
            Method.PATCH.number, pattern, handler^, max_body_size, may_block
        )

    def delete(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for DELETE; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.
            may_block: As for `route`.

        Raises:
            RouteError: As `route` does.
        """
        self._table[].add(
            Method.DELETE.number, pattern, handler^, max_body_size, may_block
        )

    def options(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for OPTIONS; see `route`.

        Args:
            pattern: The pattern.
            handler: A function or a `Handler`.
            max_body_size: Most content in bytes.
            may_block: As for `route`.

        Raises:
            RouteError: As `route` does.
        """
        self._table[].add(
            Method.OPTIONS.number, pattern, handler^, max_body_size, may_block
        )

    def all(
        mut self,
        pattern: StringSpan,
        var handler: AnyHandler,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) raises RouteError:
        """Registers a handler for every method that has no route of its own.

        Args:
            pattern: The pattern.
            handler: A plain function or any `Handler`.
            max_body_size: Most content in bytes.
            may_block: As for `route`.

        Raises:
            RouteError: As `route` does.
        """
        self._table[].add(
            ANY_METHOD, pattern, handler^, max_body_size, may_block
        )

    def ws(
        mut self,
        pattern: StringSpan,
        var handler: Some[WsHandler],
        var config: WsConfig = WsConfig(),
    ) raises:
        """Registers a handler for WebSocket connections (RFC 6455).

        Args:
            pattern: The pattern.
            handler: Answers messages.
            config: What is allowed.

        Raises:
            Error: If pattern or configuration make no sense.
        """
        self.get(pattern, WsRoute(handler^, config^))

    def fallback(mut self, var handler: AnyHandler):
        """Sets what answers paths without a route, in place of 404.

        Args:
            handler: A plain function or any `Handler`.
        """
        self._table[].fallback = handler^

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
        self._table[].mount(prefix, router._table[])

    def operations(self) -> List[Operation]:
        """Tells what the routes take, for documents.

        Returns:
            One operation a route, in the order of registration.
        """
        return self._table[].operations()

    def serve(self, req: Request) raises -> Response:
        """Lets the route of a request answer it.

        Args:
            req: The request.

        Returns:
            The route's response, or 400, 404, 405, 501 or an answer to OPTIONS.

        Raises:
            Error: What the route's handler raises.
        """
        ref table = self._table[]
        var found = RouteMatch()
        try:
            table.tree.find(req.method, req.path.as_bytes(), found)
            if found.route >= 0 and not capture(
                req, found, table.routes[found.route].names
            ):
                return internal_error("too many path parameters")
        except error:
            return bad_request(String(error))
        if found.route >= 0:
            ref route = table.routes[found.route]
            req.route_params()[].record.route = route.lend_pattern()
            return route.handler.serve(req)
        if found.allowed == 0 and table.fallback and not (req.path == "*"):
            return table.fallback.value().serve(req)
        return answer_without_route(req, found.allowed)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Asks the request's route how it is to be treated.

        Args:
            req: The request's head.

        Returns:
            Its answer; what the router answers by itself needs no content.
        """
        ref table = self._table[]
        var found = RouteMatch()
        try:
            table.tree.find(req.method, req.path.as_bytes(), found)
        except error:
            return RequestPolicy.by_head()
        if found.route >= 0:
            return table.routes[found.route].policy_for(req)
        if found.allowed == 0 and table.fallback and not (req.path == "*"):
            return table.fallback.value().policy_for(req)
        return RequestPolicy.by_head()

    def may_stream(self) -> Bool:
        """Tells whether a route reads content while it arrives.

        Returns:
            True if one does, or the fallback.
        """
        return self._table[].may_stream()
