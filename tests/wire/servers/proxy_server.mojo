"""The server of the tests of `ReverseProxy`.

    proxy_server PORT upstream=URL workers=N ca=FILE ...

Other names are fields of `ProxyConfig`, or of `ServerConfig` behind `server_`;
further arguments are those of `tls_options`.
"""

from flare.http import Request, Response, Router, ServerConfig, ok
from flare.http.proxy import ProxyConfig, ReverseProxy
from flare.tls import TlsConfig
from std.sys import argv
from tests.wire.servers.tls_options import TlsOptions


def own(req: Request) raises -> Response:
    return ok("answered here")


def set_proxy_option(
    mut config: ProxyConfig, name: String, value: Int
) raises -> Bool:
    """Sets a field of a proxy's configuration; False if there is none."""
    if name == "connect_timeout_ms":
        config.connect_timeout_ms = value
    elif name == "write_timeout_ms":
        config.write_timeout_ms = value
    elif name == "head_timeout_ms":
        config.head_timeout_ms = value
    elif name == "idle_timeout_ms":
        config.idle_timeout_ms = value
    elif name == "max_idle_connections":
        config.max_idle_connections = value
    elif name == "keep_idle_ms":
        config.keep_idle_ms = value
    elif name == "max_body_size":
        config.max_body_size = value
    else:
        return False
    return True


def main() raises:
    var config = ServerConfig()
    var proxy_config = ProxyConfig()
    var tls = TlsOptions()
    var workers = 1
    var upstream = String()
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=", 1)
        var name = String(parts[0])
        if name == "upstream":
            upstream = String(parts[1])
        elif name == "ca":
            proxy_config.tls = TlsConfig(ca_file=String(parts[1]))
        elif tls.take(name, String(parts[1])):
            continue
        elif name == "workers":
            workers = Int(parts[1])
        elif name == "server_body_timeout_ms":
            config.body_timeout_ms = Int(parts[1])
        elif name == "server_shutdown_timeout_ms":
            config.shutdown_timeout_ms = Int(parts[1])
        elif not set_proxy_option(proxy_config, name, Int(parts[1])):
            raise Error("no such option: ", name)
    var server = tls.bind(UInt16(Int(argv()[1])), config^)
    print("listening on", server.local_addr(), flush=True)
    var router = Router()
    router.get("/own", own)
    router.fallback(ReverseProxy(upstream, proxy_config^))
    server.serve(router^, num_workers=workers)
