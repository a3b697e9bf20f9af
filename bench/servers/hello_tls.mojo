"""The hello server of the benchmarks over TLS.

Usage: hello_tls PORT CERTIFICATE KEY

It gives no tickets, so that every handshake is a full one.
"""

from bench.servers.hello_routes import address, hello_router
from flare.http import HttpServer
from flare.tls import TlsServerConfig
from std.sys import argv


def main() raises:
    var router = hello_router()
    var port = String(argv()[1])
    var tls = TlsServerConfig(String(argv()[2]), String(argv()[3]))
    tls.session_tickets = False
    var server = HttpServer.bind_tls(address(port), tls^)
    server.serve(router^)
