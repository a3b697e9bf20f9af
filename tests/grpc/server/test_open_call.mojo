"""A call with a stream, driven by what asks for its replies."""

from flare.bytes.buffer import Buffer
from flare.grpc.core.coding import MessageCoding, parse_coding
from flare.grpc.core.message_reader import MessageReader
from flare.grpc.core.message_writer import append_message
from flare.grpc.core.protocol import CallProtocol
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.grpc.server.call import GrpcCall
from flare.grpc.server.interceptor import Interceptors
from flare.grpc.core.kind import GrpcKind
from flare.grpc.server.open_call import OpenCall, RequestsPhase
from flare.grpc.server.stream import AnyStream, GrpcStream, Replies
from flare.http.handler.later import ArrivingContent, RequestContent
from flare.http.message.body import Poll
from flare.http.message.body_reader import BodyError
from flare.http.message.header_map import HeaderMap
from flare.http.message.response import Response
from flare.net.socket_addr import SocketAddr
from flare.protobuf.known import StringValue
from flare.protobuf.writer import encode
from std.atomic import Atomic
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime Count = ArcPointer[Atomic[Int64]]


struct _Echo(GrpcStream):
    """Gives texts back, each as often as it has octets; fails at "fail"."""

    comptime Request = StringValue
    comptime Reply = StringValue
    var cancelled: Count
    var left: Int

    def __init__(out self, cancelled: Count):
        self.cancelled = cancelled.copy()
        self.left = 0

    def on_message(
        mut self, var request: StringValue, mut replies: Replies[StringValue]
    ) raises GrpcStatus:
        if request.value == "fail":
            raise GrpcStatus(GrpcCode.ABORTED, "as you wish")
        for _ in range(request.value.byte_length()):
            replies.send(request)

    def on_cancel(mut self):
        _ = self.cancelled[].fetch_add(1)


def _open(
    kind: GrpcKind, cancelled: Count, texts: List[String]
) raises -> OpenCall:
    var octets = Buffer()
    for text in texts:
        append_message(encode(StringValue(value=text)), octets)
    var reader = MessageReader()
    reader.receive(octets.span())
    return OpenCall(
        GrpcCall("/t/M", SocketAddr.localhost(1)),
        AnyStream(_Echo(cancelled)),
        reader^,
        kind,
        Interceptors(),
    )


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var kind: GrpcKind
    var texts: List[String]
    var reply_count: Int
    var status: String


def test_kinds() raises:
    var rows: List[_Row] = [
        _Row("both", GrpcKind.BIDI_STREAM, ["a", "bb"], 3, "0"),
        _Row("none", GrpcKind.BIDI_STREAM, [], 0, "0"),
        _Row("replies", GrpcKind.SERVER_STREAM, ["abc"], 3, "0"),
        _Row("two requests", GrpcKind.SERVER_STREAM, ["a", "b"], 1, "12"),
        _Row("no request", GrpcKind.SERVER_STREAM, [], 0, "12"),
        _Row("requests", GrpcKind.CLIENT_STREAM, ["", "a"], 1, "0"),
        _Row("two replies", GrpcKind.CLIENT_STREAM, ["a", "b"], 0, "13"),
        _Row("no reply", GrpcKind.CLIENT_STREAM, [""], 0, "13"),
        _Row("fails", GrpcKind.BIDI_STREAM, ["a", "fail", "b"], 1, "10"),
        _Row("fails", GrpcKind.CLIENT_STREAM, ["a", "fail"], 0, "10"),
    ]
    for row in rows:
        var cancelled = Count(Atomic[Int64](0))
        var open = _open(row.kind, cancelled, row.texts)
        var out = Buffer()
        var count = 0
        while open.fill(out) != Poll.DONE:
            count += 1
            assert_true(count < 10, "it goes on and on")
        var reader = MessageReader()
        reader.receive(out.span())
        while reader.next():
            pass
        assert_equal(reader.message_count, row.reply_count, row.rule)
        var trailers = open.trailers().fields()
        assert_equal(trailers["grpc-status"], row.status, row.rule)
        _ = open^
        assert_equal(Int(cancelled[].load()), 0, row.rule)


def test_a_call_that_is_dropped_is_cancelled() raises:
    var cancelled = Count(Atomic[Int64](0))
    var open = _open(GrpcKind.BIDI_STREAM, cancelled, ["a"])
    _ = open^
    assert_equal(Int(cancelled[].load()), 1)


def test_no_more_is_made_than_is_taken() raises:
    var texts = List[String]()
    for _ in range(1_000):
        texts.append(String("x") * 100)
    var cancelled = Count(Atomic[Int64](0))
    var open = _open(GrpcKind.BIDI_STREAM, cancelled, texts)
    var all = 0
    while True:
        var out = Buffer()
        var poll = open.fill(out)
        assert_true(len(out) < 64 * 1024, String(len(out)))
        all += len(out)
        if poll == Poll.DONE:
            break
    assert_equal(all, 1_000 * 100 * 107)
    _ = open^


def test_a_deadline_that_is_over_ends_it() raises:
    var cancelled = Count(Atomic[Int64](0))
    var open = _open(GrpcKind.BIDI_STREAM, cancelled, ["a"])
    open.call._deadline_ns = 1
    assert_equal(open.poll_interval_ms(), 1)
    var out = Buffer()
    assert_true(open.fill(out) == Poll.DONE)
    assert_equal(len(out), 0)
    assert_equal(open.trailers().fields()["grpc-status"], "4")
    _ = open^
    assert_equal(Int(cancelled[].load()), 1)


struct _Late(GrpcStream):
    """Replies once, behind the end, when it is asked again."""

    comptime Request = StringValue
    comptime Reply = StringValue
    var turns: Int
    var fails: Bool
    var reply: String

    def __init__(out self, fails: Bool, var reply: String):
        self.turns = 0
        self.fails = fails
        self.reply = reply^

    def on_message(
        mut self, var request: StringValue, mut replies: Replies[StringValue]
    ) raises GrpcStatus:
        replies.call().headers.add("seen", request.value)

    def replies_later(self) -> Bool:
        return True

    def on_end(mut self, mut replies: Replies[StringValue]) raises GrpcStatus:
        self.turns = 1

    def on_room(mut self, mut replies: Replies[StringValue]) raises GrpcStatus:
        if self.turns == 0:
            return
        self.turns += 1
        if self.turns == 3:
            replies.send(StringValue(value=self.reply))
        if self.turns == 5:
            if self.fails:
                raise GrpcStatus(GrpcCode.ABORTED, "behind the reply")
            replies.end()


def _open_late(
    fails: Bool, protocol: CallProtocol, var reply: String = "late"
) raises -> OpenCall:
    var octets = Buffer()
    append_message(encode(StringValue(value="one")), octets)
    var open = OpenCall(
        GrpcCall("/t/M", SocketAddr.localhost(1), protocol=protocol),
        AnyStream(_Late(fails, reply^)),
        MessageReader(),
        GrpcKind.CLIENT_STREAM,
        Interceptors(),
    )
    open.receive(octets.span())
    return open^


def test_one_reply_comes_later_and_waits_for_the_status() raises:
    for fails in [False, True]:
        var open = _open_late(fails, CallProtocol.GRPC)
        var turns = 0
        var out = Buffer()
        while not open.has_head():
            turns += 1
            assert_true(turns < 10, "it goes on and on")
            open.go_on()
            if not open.call.status:
                assert_true(open.fill(out) == Poll.PENDING)
                assert_equal(len(out), 0)
        assert_true(turns > 1)
        var response = open^.respond()
        assert_equal(response.headers["seen"], "one")
        var stream = response.body.stream()
        if not fails:
            assert_true(stream[].fill(out) == Poll.DONE)
            assert_equal(len(out), 5 + 6)
        var trailers = stream[].trailers().fields()
        assert_equal(trailers["grpc-status"], "10" if fails else "0")


def test_one_reply_waits_for_the_status_however_long_it_is() raises:
    for length in [0, 32 * 1024 - 7, 32 * 1024, 100_000]:
        var open = _open_late(False, CallProtocol.GRPC, String("x") * length)
        var turns = 0
        while not open.has_head():
            turns += 1
            assert_true(turns < 10, "it goes on and on")
            open.go_on()
        var response = open^.respond()
        var stream = response.body.stream()
        var out = Buffer()
        assert_true(stream[].fill(out) == Poll.DONE)
        assert_true(len(out) >= 5 + length)
        assert_equal(stream[].trailers().fields()["grpc-status"], "0")


def _type(text: StringSpan) -> CallProtocol:
    return CallProtocol.of_content_type(text.as_bytes()).value()


def test_how_each_protocol_ends_a_stream() raises:
    comptime WEB = "grpc-status: 0\r\n"
    for type in ["application/grpc-web+proto", "application/connect+proto"]:
        var open = _open_late(False, _type(type))
        while not open.has_head():
            open.go_on()
        var response = open^.respond()
        assert_equal(response.headers["content-type"], type)
        var out = Buffer()
        var stream = response.body.stream()
        assert_true(stream[].fill(out) == Poll.DONE)
        assert_equal(len(stream[].trailers()), 0)
        var last = out.span()[11:]
        var is_web = "web" in type
        assert_equal(Int(last[0]), 0x80 if is_web else 2)
        assert_equal(
            String(StringSpan(unsafe_from_utf8=last[5:])),
            WEB if is_web else "{}",
        )


def test_a_status_without_replies_is_the_whole_response() raises:
    var open = _open_late(True, _type("application/connect+proto"))
    while not open.has_head():
        open.go_on()
    var response = open^.respond()
    assert_false(response.body.is_stream())
    assert_equal(
        String(StringSpan(unsafe_from_utf8=response.body.as_bytes()[5:])),
        '{"error":{"code":"aborted","message":"behind the reply"}}',
    )


struct _Packing(GrpcStream):
    """Gives texts back: those that begin with "z" it wants compressed."""

    comptime Request = StringValue
    comptime Reply = StringValue

    def __init__(out self):
        pass

    def on_message(
        mut self, var request: StringValue, mut replies: Replies[StringValue]
    ) raises GrpcStatus:
        replies.call().compresses = request.value.startswith("z")
        replies.send(request)


def _open_packing(texts: List[String]) raises -> OpenCall:
    var octets = Buffer()
    for text in texts:
        append_message(encode(StringValue(value=text)), octets)
    var reader = MessageReader()
    reader.receive(octets.span())
    var open = OpenCall(
        GrpcCall("/t/M", SocketAddr.localhost(1)),
        AnyStream(_Packing()),
        reader^,
        GrpcKind.BIDI_STREAM,
        Interceptors(),
    )
    open.call._accepts_gzip = True
    return open^


def _is_read(response: Response, texts: List[String]) raises:
    """Reads a response as a caller does, who believes its head (the flag of
    PROTOCOL-HTTP2.md, "Length-Prefixed-Message")."""
    var coding = MessageCoding.IDENTITY
    if "grpc-encoding" in response.headers:
        coding = parse_coding(
            response.headers["grpc-encoding"].as_bytes()
        ).value()
    var out = Buffer()
    var stream = response.body.stream()
    assert_true(stream[].fill(out) == Poll.DONE)
    var reader = MessageReader(coding)
    reader.receive(out.span())
    for text in texts:
        assert_true(reader.next(), text)
        assert_equal(len(reader.message()), text.byte_length() + 3)
    assert_false(reader.next())


def test_the_head_says_what_any_reply_before_it_needs() raises:
    var packed = String("z") * 500
    var plain = String("p") * 500
    var rows: List[List[String]] = [
        [packed, plain],
        [plain, packed],
        [plain, plain],
    ]
    for texts in rows:
        var open = _open_packing(texts)
        open.go_on()
        assert_true(open.has_head())
        _is_read(open^.respond(), texts)


def test_replies_behind_a_head_without_a_coding_are_not_compressed() raises:
    var texts: List[String] = [String("z") * 500]
    _is_read(_open_packing(texts).respond(), texts)


@fieldwise_init
struct _BrokenOff(ArrivingContent):
    """Content that comes no further."""

    var is_begun: Bool

    def take(
        mut self, mut out: Buffer, mut failure: Optional[BodyError]
    ) -> Bool:
        failure = BodyError(400, "the client has gone")
        return False

    def trailers(self) -> HeaderMap:
        return HeaderMap()

    def go_on(mut self, task: UInt64):
        self.is_begun = True


def test_a_stream_hears_that_its_requests_break_off() raises:
    """`GrpcStream.on_cancel`: the caller has gone."""
    var cancelled = Count(Atomic[Int64](0))
    var open = _open(GrpcKind.BIDI_STREAM, cancelled, ["a"])
    open._content = RequestContent(_BrokenOff(False))
    open._requests = RequestsPhase.ARRIVING
    var out = Buffer()
    assert_true(open.fill(out) == Poll.DONE)
    assert_equal(open.trailers().fields()["grpc-status"], "1")
    _ = open^
    assert_equal(Int(cancelled[].load()), 1)
