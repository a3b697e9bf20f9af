"""The hello server of the benchmarks in several processes, supervised.

Usage: hello_prefork PORT WORKERS
"""

from bench.servers.hello_routes import address, hello_router
from flare.http import HttpServer
from std.sys import argv


def main() raises:
    var router = hello_router()
    var port = String(argv()[1])
    var workers = Int(String(argv()[2]))
    var server = HttpServer.bind(address(port))
    server.serve_prefork(router^, workers=workers)
