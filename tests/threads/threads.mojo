"""A server and its clients in one process, with a thread for each that may be one:
two workers, four handler threads, a hub whose messages go from worker to worker, a
client that threads share, and a log that all of them write to.

`tools/threads.py` runs it under the two watchers of threads of Valgrind. It says how
many answers and messages there were, which are as many each time.
"""

from flare.http import (
    Handler,
    HttpServer,
    Request,
    Response,
    Router,
    ServerConfig,
    State,
    ok,
)
from flare.http.client import ClientConfig, SharedClient
from flare.http.middleware import MetricsEndpoint, RequestMetrics, Metrics
from flare.log import Log, LogSettings
from flare.net import SocketAddr
from flare.runtime import Task, Thread
from flare.sys.mutex import Mutex
from flare.ws import WsClient, WsHandler, WsHub, WsIncoming, WsSender
from std.time import sleep

comptime _ASKER_COUNT = 3
comptime _ROUND_COUNT = 20
comptime _MEMBER_COUNT = 4
comptime _PATIENCE_MS = 120_000
# Under Valgrind a thread runs a fiftieth as fast, and one at a time.


@fieldwise_init
struct Room(WsHandler):
    """Sends what one says to all, whichever worker has them."""

    var hub: WsHub

    def on_open(self, req: Request, sender: WsSender) raises:
        self.hub.join(sender, "room")
        sender.send_text("welcome")

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        _ = self.hub.send_text(message.as_text(), "room")

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.hub.leave(sender, "room")


@fieldwise_init
struct Slow(Handler):
    """Works on a handler thread, with what all of them have in common."""

    var count: State[Int]

    def serve(self, req: Request) raises -> Response:
        sleep(0.002)
        self.count.lock()[] += 1
        Log.of(req).info("worked", "path", req.path, "id", req.param("id"))
        return ok("slow " + req.param("id"))


@fieldwise_init
struct Relay(Handler):
    """Asks this server again, by the client that all threads share, for what needs
    no thread: else all could wait for each other."""

    var client: SharedClient
    var base: String

    def serve(self, req: Request) raises -> Response:
        var client = self.client
        var answer = client.get(self.base + "/quick")
        return ok("by way of " + answer.text())


@fieldwise_init
struct Say(Handler):
    """Says something in the room from a handler thread."""

    var hub: WsHub

    def serve(self, req: Request) raises -> Response:
        _ = self.hub.send_text("said " + req.param("id"), "room")
        return ok("said")


def quick(req: Request) raises -> Response:
    return ok("quick")


@fieldwise_init
struct Served(Task):
    var server: HttpServer
    var router: Optional[Router]
    var metrics: Metrics

    def run(mut self) raises:
        var router = self.router.take()
        self.server.serve(
            RequestMetrics(router^, self.metrics),
            num_workers=2,
            pin_cores=False,
        )


@fieldwise_init
struct Asker(Task):
    """Asks for one thing after the other, with a client that others have, too."""

    var client: SharedClient
    var base: String
    var number: Int
    var answers: Mutex[Int]

    def run(mut self) raises:
        for round in range(_ROUND_COUNT):
            var id = String(self.number * 1_000 + round)
            var wanted = [
                String("/slow/", id),
                String("/relay/", id),
                String("/quick"),
            ]
            for path in wanted:
                var answer = self.client.get(self.base + path)
                if answer.status != 200:
                    raise Error(path, " is answered with ", answer.status)
                Log.default().info("answered", "path", path)
                self.answers.lock()[] += 1
            if self.number == 0:
                _ = self.client.get(self.base + "/say/" + id)
                _ = self.client.get(self.base + "/metrics")


@fieldwise_init
struct Member(Task):
    """Says something, and hears what all have said."""

    var url: String
    var number: Int
    var here: Mutex[Int]
    var heard: Mutex[Int]

    def run(mut self) raises:
        with WsClient.connect(self.url) as ws:
            ws.set_read_timeout(_PATIENCE_MS)
            _ = ws.recv_message()
            self.here.lock()[] += 1
            while self.here.lock()[] < _MEMBER_COUNT:
                sleep(0.005)
            for number in range(10):
                ws.send_text(String(self.number, " ", number))
            # What members say, and what one of those who ask has said.
            for _ in range(10 * _MEMBER_COUNT + _ROUND_COUNT):
                _ = ws.recv_message()
                self.heard.lock()[] += 1


def main() raises:
    Log(LogSettings()).make_default()
    var config = ServerConfig(handler_threads=2)
    config.header_timeout_ms = _PATIENCE_MS
    var server = HttpServer.bind(SocketAddr.localhost(0), config^)
    var base = String("http://", server.local_addr())
    var ws_url = String("ws://", server.local_addr(), "/ws")
    var stop = server.shutdown_handle()

    var client_config = ClientConfig()
    client_config.read_timeout_ms = _PATIENCE_MS
    client_config.connect_timeout_ms = _PATIENCE_MS
    client_config.total_timeout_ms = _PATIENCE_MS
    var client = SharedClient("", config=client_config^)
    var hub = WsHub()
    var count = State(0)
    var metrics = Metrics()
    var router = Router()
    router.get("/slow/:id", Slow(count))
    router.get("/relay/:id", Relay(client, base))
    router.get("/say/:id", Say(hub.copy()))
    router.get("/quick", quick, may_block=False)
    router.get("/metrics", MetricsEndpoint(metrics))
    router.ws("/ws", Room(hub^))
    var serving = Thread(Served(server^, router^, metrics))

    var answers = Mutex(0)
    var here = Mutex(0)
    var heard = Mutex(0)
    var threads = List[Thread]()
    for number in range(_MEMBER_COUNT):
        threads.append(Thread(Member(ws_url, number, here, heard)))
    while here.lock()[] < _MEMBER_COUNT:
        sleep(0.01)
    for number in range(_ASKER_COUNT):
        threads.append(Thread(Asker(client, base, number, answers)))
    while len(threads) > 0:
        threads.pop().join()
    stop.shutdown()
    serving^.join()
    print(
        answers.lock()[],
        "answers,",
        heard.lock()[],
        "messages heard,",
        count.lock()[],
        "pieces of work",
    )
