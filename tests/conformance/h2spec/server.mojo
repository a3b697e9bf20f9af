"""The server that h2spec judges; prints its port.

    server [CERTIFICATE KEY]

Over TLS with the two, else in clear.
"""

from flare.http import HttpServer, Request, Response, ok
from flare.net import SocketAddr
from flare.tls import TlsIdentity, TlsServerConfig
from std.sys import argv


def answer(req: Request) raises -> Response:
    """Answers everything, with content for the windows of the suite."""
    return ok("an answer that has some content\n")


def main() raises:
    """Serves until it is ended."""
    var address = SocketAddr.localhost(0)
    var words = argv()
    var server: HttpServer
    if len(words) == 3:
        var identity = TlsIdentity(String(words[1]), String(words[2]))
        server = HttpServer.bind_tls(address, TlsServerConfig(identity^))
    else:
        server = HttpServer.bind(address)
    print(server.local_addr().port, flush=True)
    server.serve(answer)
