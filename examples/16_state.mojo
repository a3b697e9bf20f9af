# 16 State: a value that all handlers and all worker threads share.
#
# Expected output:
#   hits: 1
#   hits: 2
#   ann has the floor
#   hits: 2, ann

from flare.http import App, Request, Response, Router, State, ok
from flare.testing import TestClient


@fieldwise_init
struct Counters(Copyable, Movable):
    var hits: Int
    var last_name: String


def count(req: Request) raises -> Response:
    # The lock is held from here to the last use of `counters`.
    var counters = State[Counters].of(req).lock()
    counters[].hits += 1
    return ok(String("hits: ", counters[].hits))


def name(req: Request, state: State[Counters]) raises -> Response:
    # A function may take the state as a second parameter.
    state.lock()[].last_name = String(req.param("name"))
    return ok(req.param("name") + " has the floor")


def show(req: Request, state: State[Counters]) raises -> Response:
    var now = state.snapshot()
    return ok(String("hits: ", now.hits, ", ", now.last_name))


def main() raises:
    var router = Router()
    router.get("/count", count)
    router.get("/name/:name", name)
    router.get("/", show)
    var app = App(state=Counters(hits=0, last_name=""), handler=router^)

    # A server would take it as `server.serve(app^, num_workers=4)`.
    var client = TestClient(app^)
    for path in ["/count", "/count", "/name/ann", "/"]:
        print(client.get(path).text())
