"""A folder served over one thread, to be measured: `file_bench PORT ROOT
CACHE_MS`."""

from flare.http import FileServer, FileServerConfig, HttpServer
from flare.net import SocketAddr
from std.sys import argv


def main() raises:
    var port = UInt16(Int(String(argv()[1])))
    var config = FileServerConfig(
        cache_control="max-age=60", cache_ms=Int(String(argv()[3]))
    )
    var files = FileServer(String(argv()[2]), config^)
    var server = HttpServer.bind(SocketAddr.localhost(port))
    print("listening on", server.local_addr(), flush=True)
    server.serve(files^)
