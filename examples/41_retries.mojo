# 41 A client that comes back: a server that is busy is asked again, after the
# pause that it asks for, and a hook sees each attempt.
#
# Expected output:
#   attempt 1 GET /stock: 503
#   attempt 2 GET /stock: 503
#   attempt 3 GET /stock: 200
#   12 boxes, after 3 attempts
#   attempt 1 POST /orders: 503
#   http://127.0.0.1:*/orders: the server answered 503 Service Unavailable after 1 attempt: *

from flare.http import ClientConfig, HttpServer, Request, Response, Router
from flare.http import App, State, ok, service_unavailable
from flare.http.client import AttemptOutcome, RetryPolicy, SharedClient
from flare.net import SocketAddr
from flare.runtime import Task, Thread


def stock(req: Request) raises -> Response:
    var count = State[Int].of(req).lock()
    count[] += 1
    if count[] < 3:
        return service_unavailable("counting", retry_after_s=0)
    return ok("12 boxes")


def order(req: Request) raises -> Response:
    return service_unavailable("counting", retry_after_s=0)


@fieldwise_init
struct Serving(Task):
    var server: HttpServer

    def run(mut self) raises:
        var router = Router()
        router.get("/stock", stock)
        router.post("/orders", order)
        self.server.serve(App(state=0, handler=router^))


def show(outcome: AttemptOutcome):
    print("attempt", outcome.number, outcome.method, end=" ")
    print(outcome.url.pathname(), ": ", outcome.status, sep="")


def ask(url: String) raises:
    var config = ClientConfig()
    config.retries = RetryPolicy(max_attempts=5)
    config.hooks.append(show)
    var client = SharedClient(url, config=config^)
    var answer = client.get("/stock")
    print(answer.text(), ", after ", end="", sep="")
    print(answer.story().attempt_count, "attempts")
    # It may have been acted on, and two orders are not one.
    try:
        client.post("/orders", json={"boxes": 2}).raise_for_status()
    except error:
        print(error)


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var stopper = server.shutdown_handle()
    var url = String("http://", server.local_addr())
    var thread = Thread(Serving(server^))
    ask(url)
    stopper.shutdown()
    thread^.join()
