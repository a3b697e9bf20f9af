"""The hello server of the benchmarks in several processes, supervised.

Usage: hello_prefork PORT WORKERS
"""

from bench.servers.hello_routes import hello_router
from flare.http import HttpServer
from flare.net import SocketAddr
from std.sys import argv


def main() raises:
    var router = hello_router()
    var port = UInt16(Int(String(argv()[1])))
    var workers = Int(String(argv()[2]))
    var server = HttpServer.bind(SocketAddr.localhost(port))
    server.serve_prefork(router^, workers=workers)
