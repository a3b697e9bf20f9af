"""The server of the tests of streamed responses.

    stream_server PORT workers=N buffer_max=N heartbeat_ms=N ...

Further arguments are those of `tls_options`. `/events` is the same behind a cache
as `/cached/events`, and behind `Compress` as `/compressed/events`.
"""

from flare.bytes.buffer import Buffer
from flare.http import (
    Body,
    BodySource,
    UpgradedProtocol,
    EventHub,
    Handler,
    Request,
    Response,
    ServerConfig,
    ServerSentEvent,
    StreamWaker,
    Poll,
    ok,
    ok_stream,
)
from flare.http.cache import CacheStore
from flare.http.middleware import Cache, Compress
from std.atomic import Atomic
from std.memory import ArcPointer
from std.sys import argv
from tests.wire.servers.tls_options import TlsOptions


struct Counts(Movable):
    """What is open, counted by all workers."""

    var sources: Atomic[Int64]
    var pieces: Atomic[Int64]

    def __init__(out self):
        self.sources = Atomic[Int64](0)
        self.pieces = Atomic[Int64](0)


struct Pieces(BodySource):
    """Some pieces of a length, then perhaps an error."""

    var count: Int
    var length: Int
    var fails: Bool
    var waits: Bool
    var has_waited: Bool
    var waker: Optional[StreamWaker]
    var counts: ArcPointer[Counts]

    def __init__(
        out self,
        count: Int,
        length: Int,
        var counts: ArcPointer[Counts],
        *,
        fails: Bool = False,
        waits: Bool = False,
    ):
        self.count = count
        self.length = length
        self.fails = fails
        self.waits = waits
        self.has_waited = False
        self.waker = None
        self.counts = counts^
        _ = self.counts[].sources.fetch_add(1)

    def __deinit__(deinit self):
        _ = self.counts[].sources.fetch_add(-1)

    def begin(mut self, var waker: StreamWaker):
        self.waker = waker^

    def fill(mut self, mut out: Buffer) raises -> Poll:
        if self.waits and not self.has_waited:
            # Rung before the worker has seen that there is nothing.
            self.has_waited = True
            self.waker.value().wake()
            self.waker.value().wake()
            return Poll.PENDING
        self.has_waited = False
        if self.count == 0:
            if self.fails:
                raise Error("no more\nflare: forged")
            return Poll.DONE
        _ = self.counts[].pieces.fetch_add(1)
        self.count -= 1
        for index in range(self.length):
            out.append_octet(UInt8(ord("a") + (self.count + index) % 26))
        return Poll.READY


struct Silence(BodySource):
    """Never has anything; goes on until the client leaves."""

    var counts: ArcPointer[Counts]

    def __init__(out self, var counts: ArcPointer[Counts]):
        self.counts = counts^
        _ = self.counts[].sources.fetch_add(1)

    def __deinit__(deinit self):
        _ = self.counts[].sources.fetch_add(-1)

    def fill(mut self, mut out: Buffer) raises -> Poll:
        return Poll.PENDING


@fieldwise_init
struct Echo(UpgradedProtocol):
    """Says what it hears; `!` ends it, `?` is an error."""

    var counts: ArcPointer[Counts]

    def fill(mut self, mut out: Buffer) raises -> Poll:
        return Poll.PENDING

    def receive(mut self, mut input: Buffer, mut out: Buffer) raises -> Poll:
        var first = input.span()[0]
        out.append(input.span())
        input.clear()
        if first == UInt8(ord("?")):
            raise Error("what?\nflare: forged")
        return Poll.DONE if first == UInt8(ord("!")) else Poll.PENDING

    def is_endless(self) -> Bool:
        return True

    def end_early(mut self, mut out: Buffer) -> Poll:
        out.write_string("bye")
        return Poll.DONE


@fieldwise_init
struct Layered(Handler):
    """Has a layer around the streams, if the path says so."""

    var streams: Streams
    var cached: Cache[Streams]
    var compressed: Compress[Streams]

    def serve(self, req: Request) raises -> Response:
        if req.path == "/cached/events":
            return self.cached.serve(req)
        if req.path.startswith("/compressed/"):
            return self.compressed.serve(req)
        return self.streams.serve(req)


@fieldwise_init
struct Streams(Copyable, Handler):
    """Makes streams of every kind."""

    var hub: EventHub
    var counts: ArcPointer[Counts]

    def serve(self, req: Request) raises -> Response:
        if req.path.endswith("/pieces"):
            return self.pieces(req)
        if req.path == "/silence":
            return ok_stream(Silence(self.counts.copy()))
        if req.path == "/echo" or req.path == "/wrong":
            var response = Response(
                101 if req.path == "/echo" else 200,
                Body.conversing(Echo(self.counts.copy())),
            )
            response.headers.set("Upgrade", "echo")
            response.headers.set("Connection", "upgrade")
            return response^
        if req.path.endswith("/events"):
            return self.hub.subscribe(req)
        if req.path == "/publish":
            for number in range(Int(req.query_param("count"))):
                self.hub.publish(
                    ServerSentEvent(
                        String(number) + req.text(), id=String(number)
                    )
                )
        if req.path == "/close":
            self.hub.close()
        return ok(
            String(
                self.counts[].sources.load(),
                " ",
                self.counts[].pieces.load(),
                " ",
                self.hub.subscriber_count(),
            )
        )

    def pieces(self, req: Request) raises -> Response:
        var count = Int(req.query_param("count"))
        var length = Int(req.query_param("length"))
        var source = Pieces(
            count,
            length,
            self.counts.copy(),
            fails=req.query_param("how") == "fails",
            waits=req.query_param("how") == "waits",
        )
        var announced = req.query_param("announced")
        if announced != "":
            return ok_stream(source^, "text/plain", length=Int(announced))
        return ok_stream(source^, "text/plain")


def main() raises:
    var config = ServerConfig()
    var tls = TlsOptions()
    var workers = 1
    var history = 0
    var buffer_max = 1 << 20
    var heartbeat_ms = 15_000
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=")
        if tls.take(String(parts[0]), String(parts[1])):
            continue
        var value = Int(String(parts[1]))
        if parts[0] == "workers":
            workers = value
        elif parts[0] == "history":
            history = value
        elif parts[0] == "buffer_max":
            buffer_max = value
        elif parts[0] == "heartbeat_ms":
            heartbeat_ms = value
        elif parts[0] == "max_body_size":
            config.max_body_size = value
        elif parts[0] == "write_timeout_ms":
            config.write_timeout_ms = value
        elif parts[0] == "min_send_rate":
            config.min_send_rate = value
        elif parts[0] == "logs_errors":
            config.logs_errors = value == 1
        elif parts[0] == "handler_threads":
            config.handler_threads = value
        else:
            raise Error("there is no option '", parts[0], "'")
    var hub = EventHub(
        history=history, buffer_max=buffer_max, heartbeat_ms=heartbeat_ms
    )
    var port = UInt16(Int(String(argv()[1])))
    var server = tls.bind(port, config^)
    print("listening on", server.local_addr(), flush=True)
    var streams = Streams(hub^, ArcPointer(Counts()))
    var cached = Cache(streams.copy(), CacheStore())
    var compressed = Compress(streams.copy())
    server.serve(Layered(streams^, cached^, compressed^), num_workers=workers)
