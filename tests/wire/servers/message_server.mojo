"""The server of the tests of what stands around a response: trailers behind it,
early hints before it.

    message_server PORT handler_threads=N ...

Further arguments are those of `tls_options`.
"""

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.http import (
    BodySource,
    Poll,
    Request,
    Response,
    Router,
    ServerConfig,
    Streamed,
    ok,
    ok_stream,
)
from flare.http.message import Trailers
from std.sys import argv
from std.time import sleep
from tests.wire.servers.tls_options import TlsOptions
from tests.wire.servers.uploads import upload


struct Summed(BodySource):
    """Pieces, and their count behind them."""

    var count: Int
    var made_count: Int
    var fails: Bool

    def __init__(out self, count: Int, fails: Bool):
        self.count = count
        self.made_count = 0
        self.fails = fails

    def fill(mut self, mut out: Buffer) raises -> Poll:
        if self.made_count == self.count:
            return Poll.DONE
        self.made_count += 1
        out.write_string("0123456789")
        return Poll.READY

    def trailers(mut self) raises -> Trailers:
        if self.fails:
            raise Error("no sum")
        var trailers = Trailers()
        trailers.set("X-Count", String(self.made_count))
        return trailers^


@fieldwise_init
struct Whole(BodySource):
    """All at once, and how long it was behind it."""

    var text: String
    var fails: Bool

    def unsafe_whole(self) -> Span[UInt8, ImmUntrackedOrigin]:
        # SAFETY: the text belongs to this.
        return unsafe_lend[ImmUntrackedOrigin](
            self.text.unsafe_ptr(), self.text.byte_length()
        )

    def fill(mut self, mut out: Buffer) raises -> Poll:
        out.write_string(self.text)
        return Poll.DONE

    def trailers(mut self) raises -> Trailers:
        if self.fails:
            raise Error("no length")
        var trailers = Trailers()
        trailers.set("X-Length", String(self.text.byte_length()))
        return trailers^


def whole(req: Request) raises -> Response:
    """Query: `fails`; `announced` for a length that may be wrong."""
    var text = String("x") * Int(req.param("size"))
    var source = Whole(text^, req.query_param("fails") != "")
    var announced = req.query_param("announced")
    if announced == "":
        return ok_stream(source^)
    return ok_stream(source^, length=Int(announced))


def in_memory(req: Request) raises -> Response:
    var size = Int(req.param("size"))
    var response = ok(String("x") * size).with_trailer("X-Sum", "7")
    return response^.with_trailer("Server-Timing", "db;dur=3")


def without_content(req: Request) raises -> Response:
    var status = Int(req.param("status"))
    return ok("").with_status(status).with_trailer("X-Sum", "7")


def summed(req: Request) raises -> Response:
    """Query: `length` to announce one, `fails`, `more` for a trailer of the
    handler's own."""
    var count = Int(req.param("count"))
    var source = Summed(count, req.query_param("fails") != "")
    if req.query_param("length") == "":
        var response = ok_stream(source^)
        if req.query_param("more") != "":
            response.add_trailer("X-More", "1")
        return response^
    var response = ok_stream(source^, length=10 * count)
    if req.query_param("length") == "trailer":
        response.headers.set("Trailer", "X-Count")
    return response^


def refused(req: Request) raises -> Response:
    return ok("x").with_trailer("Set-Cookie", "a=b")


def hinting(req: Request) raises -> Response:
    """Query: `pause` is how many milliseconds to work behind the hints."""
    req.send_early_hints("</a.css>; rel=preload; as=style")
    req.send_early_hints("</b.js>; rel=preload", "</c.js>; rel=preload")
    var pause = req.query_param("pause")
    if pause != "":
        sleep(Float64(Int(pause)) / 1000)
    if req.query_param("fails") != "":
        raise Error("it failed")
    return ok(String("hinted ", req.query_param("tag")))


def splitting(req: Request) raises -> Response:
    req.send_early_hints("</a.css>\r\nX-Evil: 1")
    return ok("hinted")


def main() raises:
    var config = ServerConfig(handler_threads=2)
    var tls = TlsOptions()
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=")
        if tls.take(String(parts[0]), String(parts[1])):
            continue
        if parts[0] == "handler_threads":
            config.handler_threads = Int(String(parts[1]))
        else:
            raise Error("there is no option '", parts[0], "'")
    var router = Router()
    router.get("/memory/:size", in_memory)
    router.get("/status/:status", without_content)
    router.get("/summed/:count", summed)
    router.get("/whole/:size", whole)
    router.get("/refused", refused)
    router.get("/hinting", hinting)
    router.post("/hinting", hinting)
    router.get("/splitting", splitting)
    if config.handler_threads > 0:
        router.post("/upload", Streamed(upload))
    var port = UInt16(Int(String(argv()[1])))
    var server = tls.bind(port, config^)
    print("listening on", server.local_addr(), flush=True)
    server.serve(router^)
