"""The server of the tests of `HostRouter`: a site, its tenants, and a gateway.

    host_server PORT upstream=URL FIELD=VALUE...

Further arguments are fields of `ServerConfig`, or are those of `tls_options`.
"""

from flare.http import (
    Request,
    Response,
    Router,
    SecurityHeaders,
    ServerConfig,
    Streamed,
    ok,
)
from flare.http.proxy import ReverseProxy
from flare.http.routing import HostRouter
from flare.settings.settings import Given, settings_of
from std.sys import argv
from tests.wire.servers.tls_options import TlsOptions


def site(req: Request) raises -> Response:
    return ok(String("site of ", req.host(), " ", req.param("name")))


def tenant(req: Request) raises -> Response:
    return ok(String("tenant at ", req.host(), " ", req.path))


def length(req: Request) raises -> Response:
    var body = req.body_reader()
    return ok(String(len(body.read_all(1 << 20))))


def main() raises:
    var options = TlsOptions()
    var upstream = String()
    var arguments = List[String]()
    for index in range(2, len(argv())):
        var argument = String(argv()[index])
        var parts = argument.split("=")
        var name = String(parts[0])
        if options.take(name, String(parts[1])):
            continue
        if name == "upstream":
            upstream = String(argument[byte = name.byte_length() + 1 :])
            continue
        arguments.append(String("--", name.replace("_", "-"), "=", parts[1]))
    var config = settings_of[ServerConfig](
        Given([], None, arguments^), ServerConfig()
    ).take()
    var sites = Router()
    sites.get("/site/:name", site)
    sites.post("/small", site, max_body_size=10)
    sites.post("/upload", Streamed(length))
    var tenants = Router()
    tenants.get("/*path", tenant)
    var hosts = HostRouter()
    hosts.add("example.org", SecurityHeaders(sites^))
    hosts.add("*.example.org", tenants^)
    hosts.add("gate.example.org", ReverseProxy(upstream))
    var server = options.bind(UInt16(Int(String(argv()[1]))), config^)
    print("listening on", server.local_addr(), flush=True)
    server.serve(hosts^)
    print("stopped", flush=True)
