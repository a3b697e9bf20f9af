"""The hello server of the benchmarks: default configuration, with a router.

Usage: hello PORT
"""

from bench.servers.hello_routes import address, hello_router
from flare.http import HttpServer
from std.sys import argv


def main() raises:
    var router = hello_router()
    var port = String(argv()[1])
    var server = HttpServer.bind(address(port))
    server.serve(router^)
