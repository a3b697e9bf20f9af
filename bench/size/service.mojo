"""A service with what applications have, whose build is measured.

Inputs as fields of structs, JSON in and out, shared state, sessions, and the
usual middleware. `tools/build_size.py` counts what the compiler makes of it.
"""

from flare.http import (
    AccessLog,
    App,
    Cors,
    CorsPolicy,
    CurrentSession,
    Endpoint,
    ErrorHandler,
    Extracted,
    HttpServer,
    Json,
    OptQueryInt,
    PathInt,
    QueryStr,
    Request,
    RequestId,
    Response,
    Router,
    Sessions,
    SigningKeys,
    State,
    Timeout,
    created,
    no_content,
    not_found,
    ok,
    ok_json,
    problem_json,
)
from flare.net import SocketAddr


@fieldwise_init
struct Line(Copyable, Movable):
    """One line of an order."""

    var article: String
    var count: Int
    var note: Optional[String]


@fieldwise_init
struct Order(Copyable, Movable):
    """What a client orders."""

    var customer: String
    var lines: List[Line]
    var weight_kg: Float64
    var is_urgent: Bool


@fieldwise_init
struct Stored(Copyable, Movable):
    """An order that was taken."""

    var id: Int
    var order: Order


@fieldwise_init
struct Shop(Copyable, Movable):
    """What all handlers share."""

    var orders: List[Stored]


@fieldwise_init
struct Show(Endpoint):
    """Answers with one order."""

    var id: PathInt["id"]
    var shop: State[Shop]

    def serve(self) raises -> Response:
        for stored in self.shop.snapshot().orders:
            if stored.id == self.id.value:
                return ok_json(stored.copy())
        return not_found()


@fieldwise_init
struct Search(Endpoint):
    """Answers with the orders of a customer."""

    var customer: QueryStr["customer"]
    var count_max: OptQueryInt["max"]
    var shop: State[Shop]

    def serve(self) raises -> Response:
        var found = List[Stored]()
        for stored in self.shop.snapshot().orders:
            if len(found) == self.count_max.value.or_else(10):
                break
            if stored.order.customer == self.customer.value:
                found.append(stored.copy())
        return ok_json(found)


@fieldwise_init
struct Create(Endpoint):
    """Takes an order."""

    var order: Json[Order]
    var shop: State[Shop]

    def serve(self) raises -> Response:
        var shop = self.shop.lock()
        var id = len(shop[].orders) + 1
        shop[].orders.append(Stored(id, self.order.value.copy()))
        return created(String("/orders/", id))


@fieldwise_init
struct LogIn(Endpoint):
    """Begins a session."""

    var user: QueryStr["user"]
    var session: CurrentSession

    def serve(self) raises -> Response:
        self.session[].set("user", self.user.value)
        return no_content()


def whoami(req: Request) raises -> Response:
    return ok(CurrentSession.of(req)[].get("user").or_else("nobody"))


def main() raises:
    var router = Router()
    router.get("/orders/:id", Extracted[Show]())
    router.get("/orders", Extracted[Search]())
    router.post("/orders", Extracted[Create]())
    router.post("/login", Extracted[LogIn]())
    router.get("/whoami", whoami)
    var app = App(state=Shop([]), handler=router^)
    var keys = SigningKeys("c2f1b5e09a7d4e38a6f0d1c2b3a49586")
    var server = HttpServer.bind(SocketAddr.localhost(8080))
    server.serve(
        AccessLog(
            RequestId(
                Cors(
                    ErrorHandler(
                        Timeout(Sessions(app^, keys^), timeout_ms=5_000),
                        problem_json,
                    ),
                    CorsPolicy(["https://shop.example.com"]),
                )
            )
        )
    )
