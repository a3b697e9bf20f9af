"""A gateway to one upstream, with its default configuration.

Usage: gateway PORT UPSTREAM_PORT [CERTIFICATE KEY]
"""

from bench.servers.hello_routes import address
from flare.http import HttpServer
from flare.http.proxy import ReverseProxy
from flare.tls import TlsServerConfig
from std.sys import argv


def main() raises:
    var words = argv()
    var proxy = ReverseProxy(String("http://127.0.0.1:", words[2]))
    var place = address(String(words[1]))
    if len(words) == 3:
        var server = HttpServer.bind(place)
        server.serve(proxy^)
        return
    var tls = TlsServerConfig(String(words[3]), String(words[4]))
    tls.session_tickets = False
    var server = HttpServer.bind_tls(place, tls^)
    server.serve(proxy^)
