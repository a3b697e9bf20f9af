"""The service that the files of this folder deploy: a page, events, WebSocket,
probes and figures.

Arguments: where to listen, such as 127.0.0.1:8080, and if wanted
    workers=N              N processes under a supervisor, else one process
    proxy_protocol=NETWORK where proxies announce their clients by that protocol
    field=forwarded        read Forwarded (RFC 7239) in place of X-Forwarded-For
"""

from flare.http import EventHub, Handler, HttpServer, Request, RequestMetrics
from flare.http import Response, Router, ServerConfig, ServerSentEvent
from flare.http import no_content, ok
from flare.http.message import forwarded_proto
from flare.http.middleware import ForwardedField, Health, MetricPair, Metrics
from flare.http.middleware import MetricsEndpoint, Readiness, TrustedProxies
from flare.net import IpNetwork, SocketAddr
from flare.runtime import NoHooks, PreforkConfig
from flare.settings import exit_refusing
from flare.ws import WsHandler, WsIncoming, WsSender
from std.sys import argv


@fieldwise_init
struct Options(Movable):
    """What the command line says."""

    var address: SocketAddr
    var workers: Int
    var config: ServerConfig
    var field: ForwardedField


def read_options() raises -> Options:
    if len(argv()) < 2:
        raise Error("say where to listen, such as 127.0.0.1:8080")
    var options = Options(
        SocketAddr.parse(argv()[1]),
        0,
        ServerConfig(inherits_listeners=True),
        ForwardedField.X_FORWARDED_FOR,
    )
    for index in range(2, len(argv())):
        var word = String(argv()[index])
        var value = String(word[byte = word.find("=") + 1 :])
        if word.startswith("workers="):
            options.workers = Int(value)
        elif word.startswith("proxy_protocol="):
            options.config.proxy_protocol.append(IpNetwork.parse(value))
        elif word == "field=forwarded":
            options.field = ForwardedField.FORWARDED
        else:
            raise Error(String("no option '", word, "'; see service.mojo"))
    return options^


def home(req: Request) -> Response:
    return ok("Hello from flare!\n")


def peer(req: Request) raises -> Response:
    """Says who asks, and by which scheme, behind however many proxies."""
    return ok(String(req.peer.ip, " ", forwarded_proto(req), "\n"))


@fieldwise_init
struct Events(Copyable, Handler):
    """Sends what is posted to all who listen."""

    var hub: EventHub

    def serve(self, req: Request) raises -> Response:
        if req.method == "GET":
            return self.hub.subscribe(req)
        self.hub.publish(ServerSentEvent(req.text()))
        return no_content()


@fieldwise_init
struct Echo(WsHandler):
    """Sends each message back."""

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        sender.send_text(message.as_text())


def routes(server: HttpServer, metrics: Metrics) raises -> Router:
    var router = Router()
    var events = Events(EventHub(history=100, heartbeat_ms=15_000))
    router.get("/", home)
    router.get("/peer", peer)
    router.get("/events", events.copy())
    router.post("/events", events.copy())
    router.ws("/ws", Echo())
    router.get("/live", Health())
    router.get("/ready", Readiness(server.ready_switch()))
    router.get(
        "/metrics", MetricsEndpoint(MetricPair(metrics, server.stats_handle()))
    )
    return router^


def main() raises:
    var options: Options
    try:
        options = read_options()
    except error:
        # One line and exit code 2, not a stack trace.
        exit_refusing([String(error)])
    var server = HttpServer.bind(options.address, options.config.copy())
    var metrics = Metrics()
    var handler = TrustedProxies(
        RequestMetrics(routes(server, metrics), metrics),
        [IpNetwork.parse("127.0.0.0/8"), IpNetwork.parse("10.0.0.0/8")],
        options.field,
    )
    print("listening on", server.local_addr(), flush=True)
    if options.workers == 0:
        server.serve(handler^)
        return
    server.serve_prefork(
        handler^,
        PreforkConfig(
            workers=options.workers,
            inherits_listeners=True,
            notifies_manager=True,
        ),
        NoHooks(),
    )
