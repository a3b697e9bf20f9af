"""The hello server of the benchmarks over TLS.

Usage: hello_tls PORT CERTIFICATE KEY

It gives no tickets, so that every handshake is a full one.
"""

from bench.servers.hello_routes import hello_router
from flare.http import HttpServer
from flare.net import SocketAddr
from flare.tls import TlsServerConfig
from std.sys import argv


def main() raises:
    var router = hello_router()
    var port = UInt16(Int(String(argv()[1])))
    var tls = TlsServerConfig(String(argv()[2]), String(argv()[3]))
    tls.session_tickets = False
    var server = HttpServer.bind_tls(SocketAddr.localhost(port), tls^)
    server.serve(router^)
