"""The server of the tests of gRPC: a guide that does what a request asks for, beside
a router.

    grpc_server PORT handler_threads=N receive_len_max=N ... cors=ORIGIN

Further arguments are those of `tls_options`.
"""

from flare.grpc import (
    Blocking,
    BlockingCall,
    Conversation,
    GrpcCall,
    GrpcCode,
    GrpcConfig,
    GrpcInterceptor,
    GrpcKind,
    GrpcServices,
    GrpcStatus,
    GrpcStream,
    Replies,
)
from flare.grpc.health import HealthState, add_health
from flare.grpc.reflection import add_reflection
from flare.http import Request, Response, Router, ServerConfig, ok
from flare.http.middleware import Cors, CorsPolicy
from flare.protobuf import Empty, StringValue
from std.atomic import Atomic
from std.memory import ArcPointer
from std.sys import argv
from std.time import sleep
from tests.grpc.messages.route_guide_grpc import (
    Nothing,
    RouteGuide,
    add_nothing,
    add_route_guide,
)
from tests.grpc.messages.route_guide_pb import (
    Feature,
    Point,
    Rectangle,
    RouteNote,
    RouteSummary,
)
from tests.wire.servers.tls_options import TlsOptions

comptime Count = ArcPointer[Atomic[Int64]]


@fieldwise_init
struct Counts(Copyable, Movable):
    """What tests ask for with Ping."""

    var cancelled: Count
    var before: Count
    var after: Count
    var failed: Count

    def __init__(out self):
        self.cancelled = Count(Atomic[Int64](0))
        self.before = Count(Atomic[Int64](0))
        self.after = Count(Atomic[Int64](0))
        self.failed = Count(Atomic[Int64](0))


@fieldwise_init
struct Seen(GrpcInterceptor):
    """Counts calls, and refuses those that ask for it."""

    var counts: Counts

    def before(self, mut call: GrpcCall) raises GrpcStatus:
        _ = self.counts.before[].fetch_add(1)
        if "refuse" in call.metadata():
            raise GrpcStatus(GrpcCode.PERMISSION_DENIED, "as you wish")

    def after(self, call: GrpcCall, status: GrpcStatus):
        _ = self.counts.after[].fetch_add(1)
        if not status.is_ok():
            _ = self.counts.failed[].fetch_add(1)


struct Listing(GrpcStream):
    """As many features as the first latitude says; without end below 0."""

    comptime Request = Rectangle
    comptime Reply = Feature
    var counts: Counts
    var left: Int

    def __init__(out self, counts: Counts):
        self.counts = counts.copy()
        self.left = 0

    def on_message(
        mut self, var request: Rectangle, mut replies: Replies[Feature]
    ) raises GrpcStatus:
        if request.lo:
            self.left = Int(request.lo.value().latitude)

    def on_end(mut self, mut replies: Replies[Feature]) raises GrpcStatus:
        # Replies go on.
        return

    def on_room(mut self, mut replies: Replies[Feature]) raises GrpcStatus:
        if self.left == 0:
            replies.call().trailers.add("left", "none")
            replies.end()
            return
        self.left -= 1
        replies.send(Feature(name=String("feature ", self.left)))

    def on_cancel(mut self):
        _ = self.counts.cancelled[].fetch_add(1)


struct Recording(GrpcStream):
    """Counts points; latitude -1 raises, -2 replies twice, -3 never replies."""

    comptime Request = Point
    comptime Reply = RouteSummary
    var counts: Counts
    var summary: RouteSummary
    var reply_count: Int

    def __init__(out self, counts: Counts):
        self.counts = counts.copy()
        self.summary = RouteSummary(point_count=0)
        self.reply_count = 1

    def on_message(
        mut self, var request: Point, mut replies: Replies[RouteSummary]
    ) raises GrpcStatus:
        if request.latitude == -1:
            raise GrpcStatus(GrpcCode.OUT_OF_RANGE, "no such latitude")
        if request.latitude < 0:
            self.reply_count = 2 if request.latitude == -2 else 0
        self.summary.point_count += 1

    def on_end(mut self, mut replies: Replies[RouteSummary]) raises GrpcStatus:
        for _ in range(self.reply_count):
            replies.send(self.summary)

    def on_cancel(mut self):
        _ = self.counts.cancelled[].fetch_add(1)


struct Chatting(GrpcStream):
    """Gives notes back, and does what some say."""

    comptime Request = RouteNote
    comptime Reply = RouteNote
    var counts: Counts

    def __init__(out self, counts: Counts):
        self.counts = counts.copy()

    def on_message(
        mut self, var request: RouteNote, mut replies: Replies[RouteNote]
    ) raises GrpcStatus:
        if request.message == "quiet":
            return
        if request.message == "fail":
            raise GrpcStatus(GrpcCode.ABORTED, "as you wish")
        replies.send(request)
        if request.message == "end":
            replies.end()

    def on_cancel(mut self):
        _ = self.counts.cancelled[].fetch_add(1)


@fieldwise_init
struct BlockingChat(BlockingCall):
    """Gives notes back from a thread: "many" a thousand times, "sleep" later, and
    "wait" waits until nobody wants it."""

    comptime Request = RouteNote
    comptime Reply = RouteNote
    var counts: Counts

    def run(
        mut self, mut conversation: Conversation[RouteNote, RouteNote]
    ) raises GrpcStatus:
        try:
            self.talk(conversation)
        except status:
            if status.code == GrpcCode.CANCELLED:
                _ = self.counts.cancelled[].fetch_add(1)
            raise status.copy()

    def talk(
        mut self, mut conversation: Conversation[RouteNote, RouteNote]
    ) raises GrpcStatus:
        if "no-chat" in conversation.metadata:
            raise GrpcStatus(GrpcCode.UNAVAILABLE, "not now")
        while True:
            var note = conversation.read()
            if not note:
                return
            if note.value().message == "fail":
                raise GrpcStatus(GrpcCode.ABORTED, "as you wish")
            if note.value().message == "sleep":
                sleep(0.05)
            while note.value().message == "wait" and conversation.is_wanted():
                sleep(0.005)
            for _ in range(1_000 if note.value().message == "many" else 1):
                conversation.write(note.value().copy())


@fieldwise_init
struct Counting(BlockingCall):
    """Counts points on a thread, and says so beside the one reply; fails behind
    that if one of them has latitude -1."""

    comptime Request = Point
    comptime Reply = RouteSummary

    def run(
        mut self, mut conversation: Conversation[Point, RouteSummary]
    ) raises GrpcStatus:
        var summary = RouteSummary(point_count=0)
        var fails = False
        while True:
            var point = conversation.read()
            if not point:
                break
            fails = fails or point.value().latitude == -1
            summary.point_count += 1
        conversation.headers.add("counted", String(summary.point_count))
        conversation.trailers.add("threads", "one")
        conversation.write(summary^)
        if fails:
            raise GrpcStatus(GrpcCode.DATA_LOSS, "a point is lost")


struct Guide(RouteGuide):
    """What a request asks for."""

    comptime ListFeatures = Listing
    comptime RecordRoute = Recording
    comptime RouteChat = Chatting
    var counts: Counts

    def __init__(out self, counts: Counts):
        self.counts = counts.copy()

    def get_feature(
        self, request: Point, mut call: GrpcCall
    ) raises GrpcStatus -> Feature:
        """What latitude says: -1 fails with details, -2 raises an `Error`, -3
        waits until nobody waits, -5 gives metadata back, -6 compresses, -7
        tells the time left; else the name has as many letters."""
        var wish = request.latitude
        if wish == -1:
            call.trailers.add("why", "asked for")
            var status = _not_found(request)
            raise status^
        if wish == -2:
            _fail()
        if wish == -3:
            while call.is_wanted():
                sleep(0.005)
            _ = self.counts.cancelled[].fetch_add(1)
        if wish == -5:
            _give_back(call)
        if wish == -7:
            return Feature(name=String(call.time_left_ms().or_else(-1)))
        if wish == -6:
            call.compresses = True
            wish = request.longitude
        return Feature(
            name=String("x") * Int(max(wish, 0)), location=request.copy()
        )

    def list_features(self, mut call: GrpcCall) raises GrpcStatus -> Listing:
        call.headers.add("kind", "listing")
        return Listing(self.counts)

    def record_route(self, mut call: GrpcCall) raises GrpcStatus -> Recording:
        return Recording(self.counts)

    def route_chat(self, mut call: GrpcCall) raises GrpcStatus -> Chatting:
        if "no-chat" in call.metadata():
            raise GrpcStatus(GrpcCode.UNAVAILABLE, "not now")
        return Chatting(self.counts)

    def ping(
        self, request: Empty, mut call: GrpcCall
    ) raises GrpcStatus -> Empty:
        call.trailers.add("cancelled", String(self.counts.cancelled[].load()))
        call.trailers.add("before", String(self.counts.before[].load()))
        call.trailers.add("after", String(self.counts.after[].load()))
        call.trailers.add("failed", String(self.counts.failed[].load()))
        return Empty()


@fieldwise_init
struct Idle(Nothing):
    """A service without a method."""

    pass


def _fail() raises:
    raise Error("a secret of the server")


def _not_found(point: Point) raises GrpcStatus -> GrpcStatus:
    var status = GrpcStatus(
        GrpcCode.NOT_FOUND, "nothing at\nthe pl\u00e4ce, 100%"
    )
    status.add_detail(point)
    return status^


def _give_back(mut call: GrpcCall) raises GrpcStatus:
    ref metadata = call.metadata()
    var octets = metadata.get_binary("some-bin").or_else(List[UInt8]())
    var text = String(metadata.get("text").value())
    call.headers.add("text-back", text)
    call.trailers.add_binary("back-bin", octets)


@fieldwise_init
struct Threads(Movable):
    var counts: Counts

    def chat(
        self, mut call: GrpcCall
    ) raises GrpcStatus -> Blocking[BlockingChat]:
        return Blocking(BlockingChat(self.counts.copy()))


def count(mut call: GrpcCall) raises GrpcStatus -> Blocking[Counting]:
    return Blocking(Counting())


def read(
    request: StringValue, mut call: GrpcCall
) raises GrpcStatus -> StringValue:
    call.headers.add("cache-control", "max-age=60")
    call.trailers.add("protocol", call.protocol().content_type())
    return StringValue(value=request.value + "!")


def index(req: Request) -> Response:
    return ok("beside gRPC\n")


def main() raises:
    var config = ServerConfig()
    var grpc = GrpcConfig()
    var tls = TlsOptions()
    var origin = String()
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=")
        if tls.take(String(parts[0]), String(parts[1])):
            continue
        if parts[0] == "handler_threads":
            config.handler_threads = Int(String(parts[1]))
        elif parts[0] == "receive_len_max":
            grpc.receive_len_max = Int(String(parts[1]))
        elif parts[0] == "send_len_max":
            grpc.send_len_max = Int(String(parts[1]))
        elif parts[0] == "stream_threads":
            grpc.stream_threads = Int(String(parts[1]))
        elif parts[0] == "cors":
            origin = String(parts[1])
        elif parts[0] == "shutdown_timeout_ms":
            config.shutdown_timeout_ms = Int(String(parts[1]))
        else:
            raise Error("there is no option '", parts[0], "'")
    var router = Router()
    router.get("/", index)
    router.post("/upload", index)
    var counts = Counts()
    var services = GrpcServices(beside=router^, config=grpc)
    services.intercept(Seen(counts.copy()))
    add_route_guide(services, Guide(counts))
    var threads = ArcPointer(Threads(counts.copy()))
    services.stream_method[Threads.chat, RouteNote, RouteNote](
        GrpcKind.BIDI_STREAM, "/threads.Threads/Chat", threads
    )
    services.stream_method[Threads.chat, RouteNote, RouteNote](
        GrpcKind.SERVER_STREAM, "/threads.Threads/Listen", threads
    )
    services.stream[count](GrpcKind.CLIENT_STREAM, "/threads.Threads/Count")
    services.unary[read]("/plain.Plain/Read", is_safe=True)
    var health = HealthState()
    health.set_serving("routeguide.RouteGuide", True)
    health.set_serving("broken", False)
    add_health(services, health)
    # What is added behind it is described, too.
    add_reflection(services)
    add_nothing(services, Idle())
    var server = tls.bind(UInt16(Int(String(argv()[1]))), config^)
    print("listening on", server.local_addr(), flush=True)
    if origin == "":
        return server.serve(services^)
    server.serve(
        Cors(
            services^,
            CorsPolicy(
                [origin],
                methods="GET, POST",
                headers=(
                    "content-type, connect-protocol-version,"
                    " connect-timeout-ms, grpc-timeout, x-grpc-web"
                ),
                exposed="grpc-status, grpc-message, grpc-status-details-bin",
            ),
        )
    )
