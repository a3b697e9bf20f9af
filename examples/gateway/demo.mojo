"""Two upstreams, and somebody who asks: what the gateway shows without a file."""

from examples.gateway.config import GatewayConfig, RouteConfig, UpstreamConfig
from flare.http import (
    HttpServer,
    Request,
    Response,
    ServerConfig,
    ShutdownHandle,
    ok,
)
from flare.http.routing import Handler
from flare.net import SocketAddr
from flare.runtime import Task, Thread
from std.os import Process

comptime STEPS = StaticString(
    """
    ask() { curl -s -o $d/body -w '%{http_code} ' "$@"; echo "$(head -n 1 $d/body)"; }
    d=$(mktemp -d)
    ask $g/api/items; ask $g/api/items
    ask -X POST "$a/drain?route=/api&upstream=$one"
    ask $g/api/items; ask $g/api/items
    ask $g/other
    curl -s $a/metrics | grep '^flare_upstream_up'
    kill -TERM $PPID
    rm -r $d
    """
)


@fieldwise_init
struct _Answer(Handler):
    var name: String

    def serve(self, req: Request) raises -> Response:
        return ok(String(req.path, " from ", self.name, "\n"))


@fieldwise_init
struct _Upstream(Movable, Task):
    var server: HttpServer
    var name: String

    def run(mut self) raises:
        self.server.serve(_Answer(self.name))


struct Demo(Movable):
    """Two upstreams on threads, and a shell that asks."""

    var _threads: List[Thread]
    var _ends: List[ShutdownHandle]
    var _urls: List[String]
    var _shell: Optional[Process]

    def __init__(out self) raises:
        self._threads = []
        self._ends = []
        self._urls = []
        self._shell = None
        for name in ["one", "two"]:
            var server = HttpServer.bind(
                SocketAddr.localhost(0), ServerConfig(handles_signals=False)
            )
            self._urls.append(String("http://", server.local_addr()))
            self._ends.append(server.shutdown_handle())
            self._threads.append(Thread(_Upstream(server^, String(name))))

    def config(self) -> GatewayConfig:
        """The configuration for them."""
        var upstreams = List[UpstreamConfig]()
        for url in self._urls:
            upstreams.append(UpstreamConfig(url, None))
        var route = RouteConfig(
            prefix="/api",
            upstreams=upstreams^,
            strip_prefix=True,
            balance=None,
            key=None,
            host=None,
            health_path=None,
            health_interval_ms=None,
            max_requests=None,
            timeout_ms=None,
        )
        var routes = List[RouteConfig]()
        routes.append(route^)
        return GatewayConfig(
            listen="127.0.0.1:0",
            admin="127.0.0.1:0",
            workers=None,
            routes=routes^,
        )

    def begin(mut self, gateway: SocketAddr, admin: SocketAddr) raises:
        """Lets the shell ask."""
        var names = String(
            "g=http://", gateway, " a=http://", admin, " one=", self._urls[0]
        )
        self._shell = Process.run("/bin/sh", ["-c", names + STEPS])

    def end(deinit self) raises:
        """Waits for all of it."""
        if self._shell:
            _ = self._shell.value().wait()
        for end in self._ends:
            end.shutdown()
        while len(self._threads) > 0:
            self._threads.pop().join()
