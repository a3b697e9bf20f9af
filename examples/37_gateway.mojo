# 37 A gateway: upstreams by a configuration file, with health checks, figures,
# and a page that shows how they are.
#
#   37_gateway FILE
#
# examples/gateway/README.md says what is in the file. Without one it shows
# itself, with two upstreams of its own, of which it is told to drain one.
#
# Expected output:
#   listening on 127.0.0.1:*
#   admin on 127.0.0.1:*
#   200 /items from one
#   200 /items from two
#   200 drained
#   200 /items from two
#   200 /items from two
#   404*
#   flare_upstream_up{group="/api",upstream="http://127.0.0.1:*",state="draining"} 0
#   flare_upstream_up{group="/api",upstream="http://127.0.0.1:*",state="up"} 1
#   stopped

from examples.gateway.admin import Admin, Group
from examples.gateway.config import GatewayConfig, read_config
from examples.gateway.demo import Demo
from examples.gateway.routes import gateway_router
from flare.http import HttpServer, ServerConfig
from flare.net import SocketAddr
from flare.runtime import Thread
from std.sys import argv


def main() raises:
    var demo = Optional[Demo](None)
    var config: GatewayConfig
    if len(argv()) > 1:
        config = read_config(String(argv()[1]))
    else:
        demo = Demo()
        config = demo.value().config()
    var groups = List[Group]()
    var router = gateway_router(config, groups)
    # Cookies of several services meet here.
    var server = HttpServer.bind(
        SocketAddr.parse(config.listen), ServerConfig(max_header_size=32 * 1024)
    )
    print("listening on ", server.local_addr(), sep="", flush=True)
    # Whoever stops the gateway stops this with it.
    var admin = HttpServer.bind(
        SocketAddr.parse(config.admin), ServerConfig(handles_signals=False)
    )
    var admin_address = admin.local_addr()
    print("admin on ", admin_address, sep="", flush=True)
    var admin_end = admin.shutdown_handle()
    var admin_thread = Thread(Admin(admin^, groups^))
    if demo:
        demo.value().begin(server.local_addr(), admin_address)
    server.serve(router^, num_workers=config.workers.or_else(1))
    admin_end.shutdown()
    admin_thread^.join()
    if demo:
        var ended = demo.take()
        ended^.end()
    print("stopped", flush=True)
