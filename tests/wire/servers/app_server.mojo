"""An application with middleware, for the wire tests.

Arguments: port, workers, and if other than by default header_timeout_ms and
max_connections.
"""

from flare.http import (
    AccessLog,
    App,
    RequireBasicAuth,
    RequireBearerAuth,
    Compress,
    Conditional,
    CookieStr,
    Cors,
    CurrentSession,
    Endpoint,
    ErrorHandler,
    EntityTag,
    Extracted,
    FnHandler,
    Form,
    ForwardedField,
    HeaderStr,
    Health,
    HttpServer,
    Input,
    InputError,
    Json,
    KnownToken,
    KnownUsers,
    LogFormat,
    RequestMetrics,
    MetricPair,
    Metrics,
    MetricsEndpoint,
    Operation,
    OptQueryInt,
    PathInt,
    PathStr,
    Peer,
    QueryBool,
    QueryParam,
    QueryStr,
    RateLimit,
    Readiness,
    Request,
    RequestId,
    Response,
    Router,
    ServerConfig,
    SecurityHeaders,
    SessionConfig,
    Sessions,
    SigningKeys,
    StandardError,
    State,
    Timing,
    TrustedProxies,
    Validators,
    add_api_docs,
    ApiInfo,
    forwarded_proto,
    ok,
    ok_json,
    principal,
    problem_json,
    request_id,
)
from flare.http.openapi import SecurityScheme
from flare.net import IpNetwork, SocketAddr
from std.sys import argv


@fieldwise_init
struct Counters(Copyable, Movable):
    """What handlers count."""

    var hits: Int
    var note: String
    var revision: Int


@fieldwise_init
struct Item(Copyable, Movable):
    """What clients send and get."""

    var name: String
    var price: Float64


@fieldwise_init
struct Add(Endpoint):
    """Gives back what it gets."""

    var id: PathInt["id"]
    var item: Json[Item]

    def serve(self) raises -> Response:
        return ok_json(self.item.value)


@fieldwise_init
struct Find(Endpoint):
    """Tells all that it takes from a request's head."""

    var kind: PathStr["kind"]
    var q: QueryStr["q"]
    var page: OptQueryInt["page"]
    var full: QueryBool["full"]
    var tags: QueryParam[List[String], "tag"]
    var agent: HeaderStr["user-agent"]
    var session: CookieStr["session"]
    var peer: Peer
    var counters: State[Counters]

    def serve(self) raises -> Response:
        var text = String(self.kind.value, " ", self.q.value, " ")
        text.write(self.page.value.or_else(-1), " ", self.full.value, " ")
        text.write(len(self.tags.value), " ", self.agent.value, " ")
        text.write(self.session.value, " ", self.peer.address.ip, " ")
        return ok(String(text, self.counters.snapshot().hits >= 0))


@fieldwise_init
struct LogIn(Endpoint):
    """Gives a form back as JSON."""

    var form: Form[Item]

    def serve(self) raises -> Response:
        return ok_json(self.form.value)


@fieldwise_init
struct ApiKey(Input):
    """A guard of the program's own."""

    var value: String

    @staticmethod
    def extract(req: Request) raises InputError -> Self:
        var key = String(req.header("X-Api-Key"))
        if key == "":
            raise InputError(401, "header", "X-Api-Key", "is required")
        return Self(key^)

    @staticmethod
    def describe(mut operation: Operation):
        operation.wants(SecurityScheme.header("X-Api-Key", "from the desk"))


@fieldwise_init
struct Keyed(Endpoint):
    """Tells which key was shown."""

    var key: ApiKey

    def serve(self) raises -> Response:
        return ok(self.key.value)


def hit(req: Request, state: State[Counters]) raises -> Response:
    var counters = state.lock()
    counters[].hits += 1
    return ok(String(counters[].hits))


def hits(req: Request, state: State[Counters]) raises -> Response:
    return ok(String(state.snapshot().hits))


def tell_id(req: Request) raises -> Response:
    return ok(request_id(req))


def long(req: Request) raises -> Response:
    return ok("all work and no play " * 200)


def fail(req: Request) raises -> Response:
    raise Error("the secret")


def who(req: Request) raises -> Response:
    return ok(principal(req))


def whence(req: Request) raises -> Response:
    return ok(String(req.peer.ip, " ", forwarded_proto(req)))


def add_guarded(mut router: Router) raises:
    """Adds routes with middleware of their own."""
    router.get(
        "/who", RequireBasicAuth(FnHandler(who), KnownUsers("ann", "pw"))
    )
    router.get(
        "/token", RequireBearerAuth(FnHandler(who), KnownToken("t0k", "robot"))
    )
    router.get("/few", RateLimit(FnHandler(tell_id), rate=0.001, burst=3))
    router.get(
        "/whence",
        TrustedProxies(
            FnHandler(whence),
            [IpNetwork.parse("127.0.0.0/8")],
            ForwardedField.X_FORWARDED_FOR,
        ),
    )
    router.get(
        "/logged",
        AccessLog(FnHandler(tell_id), LogFormat.JSON, sink=StandardError()),
    )


def current_note(req: Request) raises -> Validators:
    var now = State[Counters].of(req).snapshot()
    if now.revision == 0:
        return Validators()
    return Validators(EntityTag(String("r", now.revision)), None, True)


def show_note(req: Request) raises -> Response:
    return ok(State[Counters].of(req).snapshot().note)


def save_note(req: Request) raises -> Response:
    var state = State[Counters].of(req)
    var counters = state.lock()
    counters[].note = req.text()
    counters[].revision += 1
    return Response(204)


def login(req: Request) raises -> Response:
    CurrentSession.of(req)[].set("user", req.query_param("user"))
    return ok()


def visitor(req: Request) raises -> Response:
    return ok(CurrentSession.of(req)[].get("user").or_else("nobody"))


def main() raises:
    var config = ServerConfig()
    if len(argv()) > 4:
        config.header_timeout_ms = Int(String(argv()[3]))
        config.max_connections = Int(String(argv()[4]))
    var server = HttpServer.bind(
        SocketAddr.localhost(UInt16(Int(String(argv()[1])))), config^
    )
    var metrics = Metrics()
    var router = Router()
    router.get("/hit", hit)
    router.get("/hits", hits)
    router.get("/id", tell_id)
    router.get("/long", long)
    router.get("/fail", fail)
    router.get("/find/:kind", Extracted[Find]())
    router.post("/form", Extracted[LogIn]())
    router.post("/items/:id", Extracted[Add]())
    router.get("/keyed", Extracted[Keyed]())
    router.get("/note", Conditional(FnHandler(show_note), current_note))
    router.put("/note", Conditional(FnHandler(save_note), current_note))
    router.post("/login", login)
    router.get("/visitor", visitor)
    router.get("/live", Health())
    router.get("/ready", Readiness())
    router.get(
        "/metrics", MetricsEndpoint(MetricPair(metrics, server.stats_handle()))
    )
    add_guarded(router)
    add_api_docs(router, ApiInfo("wire", "1"))
    var visited = Sessions(
        router^,
        SigningKeys("a-key-of-the-tests-a-key-of-the-tests"),
        SessionConfig("sid", 60, is_secure=False),
    )
    var app = App(state=Counters(hits=0, note="", revision=0), handler=visited^)
    var checked = ErrorHandler(app^, problem_json)
    var stack = AccessLog(
        Timing(
            RequestId(
                Cors(
                    SecurityHeaders(Compress(RequestMetrics(checked^, metrics)))
                )
            )
        ),
        sink=StandardError(),
    )
    print("listening on", server.local_addr(), flush=True)
    server.serve(stack^, num_workers=Int(String(argv()[2])), pin_cores=False)
