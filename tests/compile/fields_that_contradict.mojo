# Two fields of a configuration that exclude each other.
#
# The build fails with:
#   ServerConfig: max_body_size (1024) must not be less than max_header_size (4096); raise the first or lower the second

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.handler import FnHandler
from flare.http.server.config import ServerConfig
from flare.http.server.server import HttpServer
from flare.net.socket_addr import SocketAddr


def answer(req: Request) -> Response:
    return Response(204)


comptime ANSWER: FnHandler = FnHandler(answer)
comptime CONFIG: ServerConfig = ServerConfig(
    max_header_size=4096, max_body_size=1024
)


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    server.serve_comptime[ANSWER, CONFIG]()
