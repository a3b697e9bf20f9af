"""The server that the wire tests talk to; the port is its first argument.

Further arguments set fields of its configuration, as `name=milliseconds`, or
are those of `tls_options`.
"""

from flare.http import (
    Handler,
    ReloadHandle,
    Request,
    Response,
    Router,
    ServerConfig,
    ok,
    ok_html,
)
from flare.net import IpNetwork
from std.sys import argv
from tests.wire.servers.tls_options import TlsOptions


def root(req: Request) -> Response:
    return ok("OK")


def echo_body(req: Request) raises -> Response:
    var body = List[UInt8]()
    body.extend(req.body)
    return ok(body^)


def echo_head(req: Request) raises -> Response:
    var text = String()
    for index in range(len(req.headers)):
        text.write(req.headers.name(index), ": ", req.headers.value(index))
        text.write("\n")
    return ok(text^)


def echo_line(req: Request) raises -> Response:
    var text = String()
    text.write(req.method_name, "|", req.url, "|", req.path, "|", req.query)
    text.write("|", req.version, "|", req.host(), "|", req.peer.ip)
    return ok(text^)


def tell_peer(req: Request) raises -> Response:
    return ok(String(req.peer))


def echo_trailers(req: Request) raises -> Response:
    var text = String(req.text(), "|")
    for index in range(len(req.trailers)):
        text.write(req.trailers.name(index), "=", req.trailers.value(index))
    return ok(text^)


def cookies(req: Request) raises -> Response:
    var text = String()
    for cookie in req.cookies():
        text.write(cookie.name, "=", cookie.value, "\n")
    return ok(text^)


def greet(req: Request) raises -> Response:
    return ok("hi " + req.param("name"))


def failing(req: Request) raises -> Response:
    raise Error("secret detail")


def splitting(req: Request) raises -> Response:
    var response = ok("split")
    response.headers.set("X-Evil", "a\r\nSet-Cookie: b=c")
    return response^


def framing(req: Request) raises -> Response:
    var response = ok("framed")
    response.headers.set("Content-Length", "9999")
    response.headers.set("Transfer-Encoding", "chunked")
    response.headers.set("X-Kept", "yes")
    return response^


def announced(req: Request) raises -> Response:
    var response = Response(200)
    response.headers.set("Content-Length", req.param("size"))
    return response^


def closing(req: Request) raises -> Response:
    var response = ok("bye")
    response.headers.set("Connection", "close")
    return response^


def status(req: Request) raises -> Response:
    return Response(Int(req.param("code")), "body")


def sized(req: Request) raises -> Response:
    return ok(String("x") * Int(req.param("size")))


struct Shared(Handler):
    """Answers with content that all responses share."""

    var page: String

    def __init__(out self):
        self.page = String("y") * 1_000_000

    def serve(self, req: Request) raises -> Response:
        return ok_html(self.page)


def tls(req: Request) raises -> Response:
    var text = String(req.scheme(), "|", req.is_tls(), "|")
    var subject = req.peer_certificate()
    if subject:
        text.write(subject.value())
    else:
        text.write("-")
    return ok(text^)


@fieldwise_init
struct Reload(Handler):
    """Reads the certificates anew."""

    var handle: ReloadHandle

    def serve(self, req: Request) raises -> Response:
        try:
            self.handle.reload_tls()
        except error:
            return ok(String(error))
        return ok("reloaded")


def config(mut tls: TlsOptions) raises -> ServerConfig:
    var config = ServerConfig()
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=")
        var name = String(parts[0])
        if tls.take(name, String(parts[1])):
            continue
        if name == "proxy_protocol":
            config.proxy_protocol.append(IpNetwork.parse(parts[1]))
            continue
        var value = Int(parts[1])
        if name == "header_timeout_ms":
            config.header_timeout_ms = value
        elif name == "body_timeout_ms":
            config.body_timeout_ms = value
        elif name == "min_body_rate":
            config.min_body_rate = value
        elif name == "idle_timeout_ms":
            config.idle_timeout_ms = value
        elif name == "write_timeout_ms":
            config.write_timeout_ms = value
        elif name == "min_send_rate":
            config.min_send_rate = value
        elif name == "max_connection_age_ms":
            config.max_connection_age_ms = value
        elif name == "http2":
            config.http2 = value == 1
        elif name == "linger_timeout_ms":
            config.linger_timeout_ms = value
        elif name == "shutdown_timeout_ms":
            config.shutdown_timeout_ms = value
        elif name == "max_connections":
            config.max_connections = value
        elif name == "max_keepalive_requests":
            config.max_keepalive_requests = value
        elif name == "max_body_size":
            config.max_body_size = value
        elif name == "max_header_size":
            config.max_header_size = value
        elif name == "max_target_size":
            config.max_target_size = value
        elif name == "max_fields":
            config.max_fields = value
        elif name == "logs_errors":
            config.logs_errors = value == 1
        elif name == "handles_signals":
            config.handles_signals = value == 1
        else:
            raise Error("there is no field '", name, "'")
    return config^


def main() raises:
    var router = Router()
    router.get("/", root)
    router.post("/", echo_body)
    router.all("/echo", echo_head)
    router.all("/line", echo_line)
    router.all("/line/*rest", echo_line)
    router.get("/peer", tell_peer)
    router.post("/trailers", echo_trailers)
    router.get("/cookie", cookies)
    router.get("/greet/:name", greet)
    router.get("/fail", failing)
    router.get("/split", splitting)
    router.get("/framing", framing)
    router.get("/closing", closing)
    router.get("/announced/:size", announced)
    router.get("/status/:code", status)
    router.get("/size/:size", sized)
    router.get("/shared", Shared())
    router.post("/upload", echo_body, max_body_size=20_000_000)
    router.get("/tls", tls)
    var port = UInt16(Int(String(argv()[1])))
    var options = TlsOptions()
    var limits = config(options)
    var server = options.bind(port, limits^)
    router.get("/reload", Reload(server.reload_handle()))
    print("listening on", server.local_addr(), flush=True)
    server.serve(router^)
    print("stopped", flush=True)
