# A struct that does not conform to Handler, given to a server.
#
# The build fails with:
#   Hello is no handler; let it conform to Handler, with `def serve(self, req: Request) raises -> Response`, put an Endpoint into Extracted[...](), give a WsHandler to router.ws(pattern, handler), or write `def name(req: Request) raises -> Response`, with or without `raises`, or `def name(req: Request, state: State[T]) raises -> Response`

from flare.http.server.server import HttpServer
from flare.net.socket_addr import SocketAddr


@fieldwise_init
struct Hello:
    var greeting: String


def main() raises:
    HttpServer.bind(SocketAddr.localhost(0)).serve(Hello("hello"))
