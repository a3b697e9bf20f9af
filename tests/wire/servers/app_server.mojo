"""An application with middleware, for the wire tests.

Arguments: port, workers.
"""

from flare.http import (
    App,
    BasicGuard,
    Compress,
    Conditional,
    Cors,
    CurrentSession,
    Endpoint,
    EntityTag,
    Extracted,
    FnHandler,
    Health,
    HttpServer,
    Json,
    KnownUsers,
    Measured,
    MetricPair,
    Metrics,
    MetricsEndpoint,
    PathInt,
    Readiness,
    Recover,
    Request,
    RequestId,
    Response,
    Router,
    SecurityHeaders,
    SessionConfig,
    Sessions,
    SigningKeys,
    State,
    Timing,
    Validators,
    add_api_docs,
    ApiInfo,
    ok,
    ok_json,
    principal,
    request_id,
)
from flare.net import SocketAddr
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
    var server = HttpServer.bind(
        SocketAddr.localhost(UInt16(Int(String(argv()[1]))))
    )
    var metrics = Metrics()
    var router = Router()
    router.get("/hit", hit)
    router.get("/hits", hits)
    router.get("/id", tell_id)
    router.get("/long", long)
    router.get("/fail", fail)
    router.get("/who", BasicGuard(FnHandler(who), KnownUsers("ann", "pw")))
    router.post("/items/:id", Extracted[Add]())
    router.get("/note", Conditional(FnHandler(show_note), current_note))
    router.put("/note", Conditional(FnHandler(save_note), current_note))
    router.post("/login", login)
    router.get("/visitor", visitor)
    router.get("/live", Health())
    router.get("/ready", Readiness())
    router.get(
        "/metrics", MetricsEndpoint(MetricPair(metrics, server.stats_handle()))
    )
    add_api_docs(router, ApiInfo("wire", "1"))
    var visited = Sessions(
        router^,
        SigningKeys("a-key-of-the-tests-a-key-of-the-tests"),
        SessionConfig("sid", 60, is_secure=False),
    )
    var app = App(state=Counters(hits=0, note="", revision=0), handler=visited^)
    var stack = Timing(
        RequestId(
            Cors(SecurityHeaders(Compress(Measured(Recover(app^), metrics))))
        )
    )
    print("listening on", server.local_addr(), flush=True)
    server.serve(stack^, num_workers=Int(String(argv()[2])), pin_cores=False)
