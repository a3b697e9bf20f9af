"""Uses the library's every part, so that a cross build type-checks it.

Mojo compiles only what a program reaches. `make test` builds this file to an
object for each platform that the tests cannot run on.
"""

from flare.http import (
    HttpServer,
    Request,
    Response,
    Router,
    ServerConfig,
    not_found,
    ok,
    ok_json,
)
from flare.net import IpAddr, IpNetwork, SocketAddr


def hello(req: Request) raises -> Response:
    """Reaches the views of a request.

    Args:
        req: The request.

    Returns:
        Some response.
    """
    if req.url == "/missing":
        return not_found(req.url)
    return ok("hello " + req.param("name"))


def data(req: Request) -> Response:
    """Reaches the handlers that do not raise.

    Args:
        req: The request.

    Returns:
        Some response.
    """
    return ok_json("{}")


def addresses() raises:
    """Reaches parsing and printing of addresses."""
    print(IpAddr.parse("fe80::1").is_link_local())
    print(IpNetwork.parse("10.0.0.0/8").contains(IpAddr.parse("10.1.2.3")))
    print(SocketAddr.parse("[::1]:8080"))


def main() raises:
    """Reaches the server with each kind of handler."""
    addresses()
    var router = Router()
    router.get("/hello/:name", hello)
    router.post("/data", data)
    var server = HttpServer.bind(SocketAddr.localhost(0))
    server.serve(router^)
    var plain = HttpServer.bind(SocketAddr.localhost(0), ServerConfig())
    plain.serve(hello)
