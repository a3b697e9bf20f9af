# 36 A reverse proxy in front of two upstreams. One of them is stopped: its
# requests go to the other, and the client sees nothing of it.
#
# Expected output:
#   one two one two
#   two two two two
#   sent again: *

from flare.http import HttpClient, HttpServer, Request, Response, ServerConfig
from flare.http import ShutdownHandle, ok
from flare.http.proxy import ReverseProxy
from flare.http.routing import AnyHandler
from flare.net import SocketAddr
from flare.runtime import Task, Thread


def one(req: Request) -> Response:
    return ok("one")


def two(req: Request) -> Response:
    return ok("two")


struct Service(Movable, Task):
    """A server on a thread of its own."""

    var server: HttpServer
    var handler: Optional[AnyHandler]

    def __init__(out self, var server: HttpServer, var handler: AnyHandler):
        self.server = server^
        self.handler = handler^

    def run(mut self) raises:
        self.server.serve(self.handler.take())


struct Running(Movable):
    """A server that has been started."""

    var url: String
    var stop: ShutdownHandle
    var thread: Thread

    def __init__(out self, var handler: AnyHandler) raises:
        var config = ServerConfig(handles_signals=False)
        var server = HttpServer.bind(SocketAddr.localhost(0), config^)
        self.url = String("http://", server.local_addr())
        self.stop = server.shutdown_handle()
        self.thread = Thread(Service(server^, handler^))

    def end(deinit self) raises:
        self.stop.shutdown()
        self.thread^.join()


def show(url: String) raises:
    var client = HttpClient()
    var words = List[String]()
    for _ in range(4):
        words.append(client.get(url).text())
    print(" ".join(words))


def main() raises:
    var first = Running(AnyHandler(one))
    var second = Running(AnyHandler(two))
    var proxy = ReverseProxy([first.url, second.url])
    var upstreams = proxy.upstreams()
    var gateway = Running(AnyHandler(proxy^))
    show(gateway.url)
    first^.end()
    show(gateway.url)
    print("sent again:", upstreams.retry_count())
    gateway^.end()
    second^.end()
