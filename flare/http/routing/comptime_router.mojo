"""Routes known when the program is built, and the branches compiled for them."""

from flare.bytes.buffer import unsafe_lend, unsafe_lend_text
from flare.bytes.checked import *
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response, bad_request, internal_error
from flare.http.handler.handler import (
    DEFAULT_BODY_LIMIT,
    Handler,
    HandlerClaims,
    HandlerFunction,
    RequestPolicy,
    can_be_fixed,
)
from flare.http.handler.operation import Operation
from flare.http.handler.surroundings import (
    Surroundings,
    operation_problem,
    param_problem,
)
from flare.http.routing.route_tree import (
    ANY_METHOD,
    BELOW,
    RouteTree,
    SEGMENT_PARAM,
    SEGMENT_REST,
    SEGMENT_STATIC,
    Segment,
    capture_named,
    check_prefix,
    mounted_pattern,
    param_names,
    parse_pattern,
)
from flare.http.handler.route_memo import recall, remember, RouteMatch
from flare.http.routing.router import answer_without_route, operation_of
from flare.http.routing.ws_route import WsRoute
from flare.http.websocket.handler import WsConfig, WsHandler
from flare.url.percent import PERCENT, PercentError, percent_decode
from std.collections.string.string_span import get_static_string
from std.memory import unsafe_memcmp
from std.sys.intrinsics import likely


struct ComptimeRouter[ROUTES: List[ComptimeRoute]](
    Handler, TrivialRegisterPassable
):
    """Routes requests as `Router` does, to routes that the compiler knows.

        comptime ROUTES: List[ComptimeRoute] = [
            ComptimeRoute(Method.GET, "/greet/:name", greet),
            ComptimeRoute(Method.POST, "/items", add_item),
        ]
        server.serve_comptime[ComptimeRouter[ROUTES](), ServerConfig()]()

    Patterns, priorities and answers are those of `Router`; `ComptimeRoute.ws`,
    `ComptimeRoute.fallback` and `mounted` stand for its methods. A malformed pattern,
    a method that is not registered, or two patterns that match the same paths
    fail the build with a message that names them. A path is matched by code
    made for these routes, and handlers are called directly. Each route adds
    some hundredths of a second to the build: beyond a few hundred, take a
    `Router`.

    Parameters:
        ROUTES: The routes.
    """

    comptime _WAYS = _ways(Self.ROUTES)
    comptime _BELOW = _ways_below(Self.ROUTES)
    comptime _OWNER = _identity(Self.ROUTES)

    @always_inline
    def __init__(out self):
        """Makes the router, which holds nothing at run time."""
        comptime PROBLEM = _problem(Self.ROUTES)
        comptime assert PROBLEM.byte_length() == 0, PROBLEM

    def serve(self, req: Request) raises -> Response:
        """Lets the route of a request answer it; without one the answer is 400,
        404, 405, 501 or one to OPTIONS."""
        var found = RouteMatch()
        try:
            if likely(not recall(req, Self._OWNER, found)):
                find_compiled[Self._WAYS](
                    req.method, req.path.as_bytes(), found
                )
        except error:
            return bad_request(String(error))
        comptime for index in range(len(Self.ROUTES)):
            if found.route == index:
                return _answer[Self.ROUTES, index](req, found)
        comptime if len(Self._BELOW) > 0:
            if found.allowed == 0:
                return Self._fall_back(req)
        comptime FALLBACK = _fallback_index(Self.ROUTES)
        comptime if FALLBACK >= 0:
            comptime ANSWER = Self.ROUTES[FALLBACK].answer
            if found.allowed == 0 and not (req.path == "*"):
                return ANSWER(req)
        return answer_without_route(req, found.allowed)

    @staticmethod
    def _fall_back(req: Request) raises -> Response:
        """Lets the fallback of a path without a route answer, where some stand
        below a prefix."""
        var found = RouteMatch()
        try:
            find_compiled[Self._BELOW](req.method, req.path.as_bytes(), found)
            comptime for index in range(len(Self.ROUTES)):
                comptime if Self.ROUTES[index].is_fallback():
                    comptime NAMES = _names(Self.ROUTES[index].pattern)
                    if found.route == index and not capture_named[NAMES](
                        req, found
                    ):
                        return internal_error("too many path parameters")
        except error:
            return bad_request(String(error))
        comptime for index in range(len(Self.ROUTES)):
            comptime if Self.ROUTES[index].is_fallback():
                comptime ANSWER = Self.ROUTES[index].answer
                if found.route == index:
                    return ANSWER(req)
        comptime FALLBACK = _fallback_index(Self.ROUTES)
        comptime if FALLBACK >= 0:
            comptime ANSWER = Self.ROUTES[FALLBACK].answer
            if not (req.path == "*"):
                return ANSWER(req)
        return answer_without_route(req, 0)

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives what the request's route says; what the router answers by
        itself needs no content."""
        var found = RouteMatch()
        try:
            if not recall(req, Self._OWNER, found):
                find_compiled[Self._WAYS](
                    req.method, req.path.as_bytes(), found
                )
                remember(req, Self._OWNER, found)
        except error:
            return RequestPolicy.by_head()
        comptime for index in range(len(Self.ROUTES)):
            comptime LIMIT = Self.ROUTES[index].max_body_size
            comptime MAY_BLOCK = Self.ROUTES[index].may_block
            comptime ASK = Self.ROUTES[index].policy
            if found.route == index:
                _note_route[Self.ROUTES, index](req)
                var policy = ASK(req)
                comptime if LIMIT != DEFAULT_BODY_LIMIT:
                    policy.max_body_size = LIMIT
                policy.blocks = policy.blocks and MAY_BLOCK
                return policy
        if found.allowed != 0 or req.path == "*":
            return RequestPolicy.by_head()
        comptime if len(Self._BELOW) > 0:
            try:
                find_compiled[Self._BELOW](
                    req.method, req.path.as_bytes(), found
                )
            except error:
                return RequestPolicy.by_head()
        comptime FALLBACK = _fallback_index(Self.ROUTES)
        comptime for index in range(len(Self.ROUTES)):
            comptime if Self.ROUTES[index].is_fallback():
                comptime ASK_FALLBACK = Self.ROUTES[index].policy
                if found.route == index or (
                    index == FALLBACK and found.route < 0
                ):
                    return ASK_FALLBACK(req)
        return RequestPolicy.by_head()

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Lets the handler of the request's route finish an answer that the
        server makes, which stays as it is if no route takes what was read."""
        var found = RouteMatch()
        try:
            find_compiled[Self._WAYS](req.method, req.path.as_bytes(), found)
        except:
            return response^
        comptime for index in range(len(Self.ROUTES)):
            comptime if (
                Self.ROUTES[index].may_refuse
                and not Self.ROUTES[index].is_fallback()
            ):
                comptime REFUSE = Self.ROUTES[index].refuse
                if found.route == index:
                    return REFUSE(req, response^)
        var is_read = req.path.byte_length() > 0
        if not is_read or found.route >= 0 or found.allowed != 0:
            return response^
        comptime if len(Self._BELOW) > 0:
            try:
                find_compiled[Self._BELOW](
                    req.method, req.path.as_bytes(), found
                )
            except:
                return response^
        comptime FALLBACK = _fallback_index(Self.ROUTES)
        comptime for index in range(len(Self.ROUTES)):
            comptime if (
                Self.ROUTES[index].is_fallback()
                and Self.ROUTES[index].may_refuse
            ):
                comptime REFUSE = Self.ROUTES[index].refuse
                if found.route == index or (
                    index == FALLBACK and found.route < 0
                ):
                    return REFUSE(req, response^)
        return response^

    def problem(self, around: Surroundings) -> String:
        """Tells of a route whose handler takes a state that no `App` around the
        router lends, or says of itself that it cannot answer; empty if all is
        well. Path parameters are checked when the program is built."""
        comptime for index in range(len(Self.ROUTES)):
            comptime if _takes_states(Self.ROUTES[index]):
                comptime DESCRIBE = Self.ROUTES[index].describe
                comptime ROUTE = _operation(Self.ROUTES[index])
                var operation = DESCRIBE(
                    operation_of(ROUTE[0], materialize[ROUTE[1]]())
                )
                operation.parameters.clear()
                var problem = operation_problem(operation, around)
                if problem.byte_length() > 0:
                    return problem^
            comptime if Self.ROUTES[index].may_refuse:
                comptime PROBLEM = Self.ROUTES[index].problem
                comptime NAMES = _names(Self.ROUTES[index].pattern)
                var problem = PROBLEM(around.with_params(materialize[NAMES]()))
                if problem.byte_length() > 0:
                    return problem^
        return String()

    def claims(self) -> HandlerClaims:
        """Tells what requests of some route may need."""
        var claims = HandlerClaims()
        comptime for index in range(len(Self.ROUTES)):
            comptime ASK = Self.ROUTES[index].claims
            claims = claims | ASK()
        return claims

    def operations(self) -> List[Operation]:
        """Gives what the routes take, one operation a route, in their order,
        for documents."""
        var operations = List[Operation]()
        comptime for index in range(len(Self.ROUTES)):
            comptime METHOD = Self.ROUTES[index].method.number
            comptime PATTERN = Self.ROUTES[index].pattern
            comptime DESCRIBE = Self.ROUTES[index].describe
            comptime if not Self.ROUTES[index].is_fallback():
                operations.append(
                    DESCRIBE(operation_of(METHOD, materialize[PATTERN]()))
                )
        return operations^


@always_inline
def _note_route[ROUTES: List[ComptimeRoute], INDEX: Int](req: Request):
    comptime PATTERN = get_static_string[ROUTES[INDEX].pattern]()
    # SAFETY: the pattern is a part of the program.
    req.route_params()[].record.route = unsafe_lend_text[ImmUntrackedOrigin](
        PATTERN.unsafe_ptr(), PATTERN.byte_length()
    )


def _answer[
    ROUTES: List[ComptimeRoute], INDEX: Int
](req: Request, found: RouteMatch) raises -> Response:
    """Captures parameters and calls a route's handler."""
    comptime NAMES = _names(ROUTES[INDEX].pattern)
    comptime ANSWER = ROUTES[INDEX].answer
    _note_route[ROUTES, INDEX](req)
    try:
        if not capture_named[NAMES](req, found):
            return internal_error("too many path parameters")
    except error:
        return bad_request(String(error))
    return ANSWER(req)


def _problem(routes: List[ComptimeRoute]) -> String:
    """Says what is wrong with routes; nothing if they are good."""
    var tree = RouteTree()
    var below = RouteTree()
    var has_fallback = False
    try:
        for route in routes:
            if route.mount_problem.byte_length() > 0:
                return route.mount_problem
            if not route.is_fallback():
                _ = tree.add(route.method.number, route.pattern)
                var problem = param_problem(
                    route.describe(
                        operation_of(route.method.number, route.pattern)
                    ),
                    param_names(route.pattern),
                )
                if problem.byte_length() > 0:
                    return problem
            elif route.pattern.byte_length() > 0:
                _ = below.add_fallback(route.pattern)
            elif has_fallback:
                return "route: there are two fallbacks; keep one"
            else:
                has_fallback = True
    except error:
        return String(error)
    return ""


def _fallback_index(routes: List[ComptimeRoute]) -> Int:
    """Finds the router's own fallback, or gives -1."""
    for index in range(len(routes)):
        ref route = routes[index]
        if route.is_fallback() and route.pattern.byte_length() == 0:
            return index
    return -1


def _operation(route: ComptimeRoute) -> Tuple[UInt8, String]:
    """Gives what an operation says of a route, or of a fallback."""
    if route.is_fallback():
        return (ANY_METHOD, route.pattern + "/*")
    return (route.method.number, route.pattern)


def _takes_states(route: ComptimeRoute) -> Bool:
    return len(route.describe(operation_of(ANY_METHOD, "")).states) > 0


def _identity(routes: List[ComptimeRoute]) -> UInt64:
    """Tells routers with different routes apart; no address of a router in
    memory has the highest bit."""
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for route in routes:
        for octet in route.pattern.as_bytes():
            hash = (hash ^ UInt64(octet)) * 0x100_0000_01B3
        hash = (hash ^ UInt64(256 + Int(route.method.number))) * 0x100_0000_01B3
    return hash | (UInt64(1) << 63)


def _ways(routes: List[ComptimeRoute]) -> List[Way]:
    """Parses the patterns; what is wrong with them is said elsewhere."""
    var ways = List[Way]()
    try:
        for number in range(len(routes)):
            ref route = routes[number]
            if route.is_fallback():
                continue
            var segments = parse_pattern(route.pattern)
            ways.append(Way(segments^, route.method.number, number))
    except:
        return List[Way]()
    return ways^


def _ways_below(routes: List[ComptimeRoute]) -> List[Way]:
    """Does so for the prefixes that have a fallback."""
    var ways = List[Way]()
    try:
        for number in range(len(routes)):
            ref prefix = routes[number].pattern
            if not routes[number].is_fallback() or prefix.byte_length() == 0:
                continue
            ways.append(Way(parse_pattern(prefix), ANY_METHOD, number))
            var rest = parse_pattern(mounted_pattern(prefix, BELOW))
            ways.append(Way(rest^, ANY_METHOD, number))
    except:
        return List[Way]()
    return ways^


def _names(pattern: String) -> List[String]:
    try:
        return param_names(pattern)
    except:
        return List[String]()


comptime _FALLBACK: UInt8 = 254
# In the place of a method: a fallback is for all.

comptime PolicyFunction = def[o: ImmOrigin](Request[o]) thin -> RequestPolicy
"""What `Handler.policy_for` is as a plain function."""

comptime RefuseFunction = def[o: ImmOrigin](
    Request[o], var Response
) raises thin -> Response
"""What `Handler.refuse` is as a plain function."""

comptime ClaimsFunction = def() thin -> HandlerClaims
"""What `Handler.claims` is as a plain function."""

comptime DescribeFunction = def(var Operation) thin -> Operation
"""What `Handler.describe` is as a plain function."""

comptime ProblemFunction = def(Surroundings) thin -> String
"""What `Handler.problem` is as a plain function."""


struct ComptimeRoute(Copyable, Movable):
    """What a `ComptimeRouter` is told of one route.

        comptime ROUTES: List[ComptimeRoute] = [
            ComptimeRoute(Method.GET, "/", home),
            ComptimeRoute(Method.GET, "/users/:id", user),
            ComptimeRoute.of[StateHandler(count)](Method.GET, "/count"),
            ComptimeRoute.ws[Echo()]("/echo"),
            ComptimeRoute.fallback(missing),
        ]

    It is made of a plain function, or with `of` of another handler; with `ws`
    of a WebSocket handler. Lists are joined by `+`, below a prefix with
    `mounted`.
    """

    comptime ANY = Method(number=ANY_METHOD)
    """Stands for every method that has no route of its own, as `Router.all`
    does."""

    var method: Method
    """A registered method, or `ANY`."""
    var pattern: String
    """The pattern, as for `Router`. Of a fallback it is the prefix that it is
    mounted below; empty if there is none."""
    var mount_problem: String
    """What is wrong with the prefix that it is mounted below, if anything."""
    var max_body_size: Int
    """Most content in bytes, or `DEFAULT_BODY_LIMIT`."""
    var may_block: Bool
    """False if the handler never takes long; see `RequestPolicy.blocks`."""
    var answer: HandlerFunction
    """What answers."""
    var policy: PolicyFunction
    """How the handler wants requests to be treated."""
    var claims: ClaimsFunction
    """What some of its requests may need."""
    var may_refuse: Bool
    """Whether `refuse` or `problem` may do anything; so that functions cost no
    code."""
    var refuse: RefuseFunction
    """What finishes answers that the server makes in the handler's place."""
    var describe: DescribeFunction
    """What the handler says of itself."""
    var problem: ProblemFunction
    """Why the handler can never answer, if it cannot."""

    def __init__(
        out self,
        method: Method,
        var pattern: String,
        function: HandlerFunction,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ):
        """Makes a route to a plain function.

        Args:
            function: `def f(req: Request) raises -> Response`.
        """
        self.method = method
        self.pattern = pattern^
        self.mount_problem = String()
        self.max_body_size = max_body_size
        self.may_block = may_block
        self.answer = function
        self.policy = _default_policy
        self.claims = _claims_nothing
        self.may_refuse = False
        self.refuse = _as_it_was
        self.describe = _as_it_is
        self.problem = _no_problem

    @staticmethod
    def of[
        H: Handler, //, HANDLER: H
    ](
        method: Method,
        var pattern: String,
        *,
        max_body_size: Int = DEFAULT_BODY_LIMIT,
        may_block: Bool = True,
    ) -> Self:
        """Gives a route to a handler that can be made when the program is
        built.

        It is made anew for each request, which costs nothing if its fields are
        numbers and functions. One that changes, or owns much, belongs into a
        `Router`.

        Parameters:
            H: The handler's type: `Copyable`, or a `Middleware` around such.
            HANDLER: What answers.

        Args:
            method: A registered method, or `ANY`.
            pattern: The pattern.
            max_body_size: As for a function.
            may_block: As for a function.
        """
        comptime assert can_be_fixed[H](), "HANDLER must be Copyable"
        var route = Self(
            method,
            pattern^,
            _comptime_route_answer[H, HANDLER, ...],
            max_body_size=max_body_size,
            may_block=may_block,
        )
        route.policy = _policy[H, HANDLER, ...]
        route.claims = _claims[H, HANDLER]
        route.may_refuse = True
        route.refuse = _refuse[H, HANDLER, ...]
        route.describe = _describe[H, HANDLER]
        route.problem = _problem_of[H, HANDLER]
        return route^

    @staticmethod
    def fallback(function: HandlerFunction) -> Self:
        """Gives what answers paths without a route, in place of 404; one stands
        among the routes of a router, and one more below each prefix that routes
        are `mounted` below."""
        return Self(Method(number=_FALLBACK), String(), function)

    @staticmethod
    def fallback_of[H: Handler, //, HANDLER: H]() -> Self:
        """Gives the fallback of a handler; see `of`."""
        return Self.of[HANDLER](Method(number=_FALLBACK), String())

    @staticmethod
    def ws[
        H: WsHandler & Copyable, //, HANDLER: H, CONFIG: WsConfig = WsConfig()
    ](var pattern: String) -> Self:
        """Gives a route for WebSocket connections, as `Router.ws` does.

        Each connection has a handler of its own, made by the compiler: what
        several share is a state (`App`), found in `on_open`.

        Parameters:
            H: The handler's type.
            HANDLER: Answers messages.
            CONFIG: What is allowed; what makes no sense fails the build.
        """
        comptime PROBLEM = _config_problem(CONFIG)
        comptime assert PROBLEM.byte_length() == 0, PROBLEM
        var route = Self(
            Method.GET,
            pattern^,
            _open[H, HANDLER, CONFIG, ...],
            may_block=False,
        )
        route.claims = _claims_upgrades
        return route^

    def is_fallback(self) -> Bool:
        """Tells whether it answers paths without a route: `fallback` or
        `fallback_of` made it."""
        return self.method.number == _FALLBACK


def mounted(
    prefix: StringSpan, routes: List[ComptimeRoute]
) -> List[ComptimeRoute]:
    """Puts routes below a prefix, as `Router.mount` does.

        comptime ALL: List[ComptimeRoute] = ROUTES + mounted("/api", API)

    Args:
        prefix: Begins with `/` and does not end with it; if not, the build of
            their router fails.
        routes: The routes; their fallback answers at and below the prefix.

    Returns:
        The routes with longer patterns.
    """
    var made = List[ComptimeRoute]()
    var problem = String()
    try:
        check_prefix(prefix)
    except error:
        problem = String(error)
    for route in routes:
        var below = route.copy()
        below.pattern = mounted_pattern(prefix, route.pattern)
        if below.mount_problem.byte_length() == 0:
            below.mount_problem = problem
        made.append(below^)
    return made^


def _default_policy(req: Request) -> RequestPolicy:
    return RequestPolicy()


def _claims_nothing() -> HandlerClaims:
    return HandlerClaims()


def _claims_upgrades() -> HandlerClaims:
    return HandlerClaims(upgrades=True)


def _as_it_was(req: Request, var response: Response) raises -> Response:
    return response^


def _as_it_is(var operation: Operation) -> Operation:
    return operation^


def _no_problem(around: Surroundings) -> String:
    return String()


def _comptime_route_answer[
    H: Handler, HANDLER: H, o: ImmOrigin
](req: Request[o]) raises -> Response:
    return materialize[HANDLER]().serve(req)


def _policy[
    H: Handler, HANDLER: H, o: ImmOrigin
](req: Request[o]) -> RequestPolicy:
    return materialize[HANDLER]().policy_for(req)


def _open[
    H: WsHandler & Copyable, HANDLER: H, CONFIG: WsConfig, o: ImmOrigin
](req: Request[o]) raises -> Response:
    return WsRoute(materialize[HANDLER](), materialize[CONFIG]()).serve(req)


def _config_problem(config: WsConfig) -> String:
    try:
        config.check()
    except error:
        return String(error)
    return String()


def _claims[H: Handler, HANDLER: H]() -> HandlerClaims:
    return materialize[HANDLER]().claims()


def _refuse[
    H: Handler, HANDLER: H, o: ImmOrigin
](req: Request[o], var response: Response) raises -> Response:
    return materialize[HANDLER]().refuse(req, response^)


def _describe[H: Handler, HANDLER: H](var operation: Operation) -> Operation:
    materialize[HANDLER]().describe(operation)
    return operation^


def _problem_of[H: Handler, HANDLER: H](around: Surroundings) -> String:
    return materialize[HANDLER]().problem(around)


comptime _SLASH: UInt8 = 47
comptime _Octets = Span[UInt8, ImmUntrackedOrigin]


@fieldwise_init
struct _Sought(ImplicitlyCopyable):

    var method: Method
    var path: _Octets


def find_compiled[
    WAYS: List[Way]
](
    method: Method, path: Span[UInt8, _], mut found: RouteMatch
) raises PercentError:
    """Finds the route of a path as sent, as `RouteTree.find` does; `route` of
    the new match is -1 if there is none. Raises if a segment is malformed."""
    if len(path) == 0 or path.at(0) != _SLASH:
        return
    # SAFETY: nothing of the path is kept beyond this call.
    var octets = unsafe_lend[ImmUntrackedOrigin](path.unsafe_ptr(), len(path))
    if _go_on[WAYS](_Sought(method, octets), 0, found):
        found.allowed = 0


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
    while end < len(path) and path.at(end) != _SLASH:
        is_encoded = is_encoded or path.at(end) == PERCENT
        end += 1
    if is_encoded:
        # Also where no text could match: what is malformed is refused.
        var text = percent_decode(path.between(start, end))
        # SAFETY: the text lives until nothing uses its octets any more.
        var octets = unsafe_lend[ImmUntrackedOrigin](
            text.unsafe_ptr(), text.byte_length()
        )
        var is_found = _by_length[TEXTS](octets, sought, end, found)
        _ = text^
        if is_found:
            return True
    elif _by_length[TEXTS](path.between(start, end), sought, end, found):
        return True
    var capture_count = found.capture_count
    comptime if len(PARAMS) > 0:
        if end > start:
            found.push(start, end, is_encoded)
            if _go_on[behind(PARAMS)](sought, end, found):
                return True
            found.capture_count = capture_count
    comptime if len(RESTS) > 0:
        found.push(start, len(path), PERCENT in path.after(start))
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
        var octet = segment.unsafe_at(OFFSET)
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
    """Takes the route of a method, or notes which methods there are."""
    comptime ANY = _route_of(WAYS, ANY_METHOD)
    comptime GET = _route_of(WAYS, Method.GET.number)
    comptime ALLOWED = _methods(WAYS)
    comptime for index in range(len(WAYS)):
        comptime METHOD = WAYS[index].method
        comptime ROUTE = WAYS[index].route
        if method.number == METHOD:
            found.route = ROUTE
            return True
    comptime if GET >= 0:
        if method == Method.HEAD:
            found.route = GET
            return True
    comptime if ANY >= 0:
        found.route = ANY
        return True
    found.allowed |= ALLOWED
    return False


def _route_of(ways: List[Way], method: UInt8) -> Int:
    for way in ways:
        if way.method == method:
            return way.route
    return -1


def _methods(ways: List[Way]) -> UInt64:
    """Gives a bit for each method that has a route of its own."""
    var methods = UInt64(0)
    for way in ways:
        if way.method != ANY_METHOD:
            methods |= UInt64(1) << UInt64(way.method)
    return methods


@fieldwise_init
struct Way(Copyable, Movable):
    """What is left of a route after the first segments of a path."""

    var segments: List[Segment]
    var method: UInt8
    """A method's number, or `ANY_METHOD`."""
    var route: Int

    def text(self) -> String:
        """Gives the next segment's text; there must be a segment."""
        return self.segments[0].text


def ended(ways: List[Way]) -> List[Way]:
    """Selects those that end here."""
    return [way.copy() for way in ways if len(way.segments) == 0]


def of_kind(ways: List[Way], kind: UInt8) -> List[Way]:
    """Selects those whose next segment is of one of the `SEGMENT_` kinds; those
    that end here are not among them."""
    var selected = List[Way]()
    for way in ways:
        if len(way.segments) > 0 and way.segments[0].kind == kind:
            selected.append(way.copy())
    return selected^


def behind(ways: List[Way]) -> List[Way]:
    """Goes one segment on, with ways of which none ends here."""
    var shorter = List[Way]()
    for way in ways:
        var segments = List[Segment]()
        for index in range(1, len(way.segments)):
            segments.append(way.segments[index].copy())
        shorter.append(Way(segments^, way.method, way.route))
    return shorter^


def text_lengths(ways: List[Way]) -> List[Int]:
    """Lists how long their next segments, all of them text, are, each length
    once."""
    var lengths = List[Int]()
    for way in ways:
        var length = way.segments[0].text.byte_length()
        if length not in lengths:
            lengths.append(length)
    return lengths^


def of_text_length(ways: List[Way], length: Int) -> List[Way]:
    """Selects those whose next segment, a text, is so long."""
    var selected = List[Way]()
    for way in ways:
        if way.segments[0].text.byte_length() == length:
            selected.append(way.copy())
    return selected^


def telling_offset(ways: List[Way]) -> Int:
    """Finds the offset at which their next segments, texts of the same length,
    have the most different octets; -1 if all are the same text. There is one at
    least."""
    var best = -1
    var best_count = 1
    for offset in range(ways[0].segments[0].text.byte_length()):
        var count = len(octets_at(ways, offset))
        if count > best_count:
            best = offset
            best_count = count
    return best


def octets_at(ways: List[Way], offset: Int) -> List[UInt8]:
    """Lists the octets of their next segments, longer texts, at an offset, each
    once."""
    var octets = List[UInt8]()
    for way in ways:
        var octet = way.segments[0].text.as_bytes()[offset]
        if octet not in octets:
            octets.append(octet)
    return octets^


def with_octet(ways: List[Way], offset: Int, octet: UInt8) -> List[Way]:
    """Selects those whose next segment, a longer text, has an octet at an
    offset."""
    var selected = List[Way]()
    for way in ways:
        if way.segments[0].text.as_bytes()[offset] == octet:
            selected.append(way.copy())
    return selected^
