"""What a WebSocket route says to what a client says, in octets alone."""

from flare.bytes.buffer import Buffer
from flare.bytes.escape import write_escaped
from flare.http.message.body_source import Supply
from flare.http.routing.ws_handler import WsConfig, WsHandler, WsIncoming
from flare.http.routing.ws_outbox import WsOutbox
from flare.http.routing.ws_sender import WsSender
from flare.http.routing.ws_session import WsSession
from flare.ws.core.frame_header import FrameHeader
from flare.ws.core.frame_writer import write_frame
from flare.ws.core.mask import MaskingKey
from flare.ws.core.opcode import Opcode
from std.memory import ArcPointer
from std.testing import assert_equal, assert_raises, assert_true
from tests.support.ws_box import open_box, taken

comptime _MAX = 1_000


@fieldwise_init
struct Parrot(WsHandler):
    """Answers twice, and writes down how connections end."""

    var log: ArcPointer[String]

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        if message.is_text and message.as_text() == "fail":
            raise Error("as you wish")
        if message.is_text and message.as_text() == "close":
            sender.close(4000, "bye")
            return
        sender.send_binary(message.as_bytes())
        sender.send_text(String(len(message)))

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.log[].write(code, " ", reason, ";")


struct Scene(Movable):
    """A session, and what its handler writes down."""

    var box: ArcPointer[WsOutbox]
    var log: ArcPointer[String]
    var session: WsSession[Parrot]

    def __init__(out self, var config: WsConfig = WsConfig()) raises:
        self.log = ArcPointer(String())
        self.box = open_box(waiting_len_max=_MAX, cuts=True)
        self.session = WsSession(
            ArcPointer(Parrot(self.log)), self.box, ArcPointer(config^)
        )

    def hear(mut self, octets: Span[UInt8, _]) raises -> String:
        """Lets the session hear octets; gives its answer, `|` at the end."""
        var input = Buffer()
        input.append(octets)
        var out = Buffer()
        var supply = self.session.receive(input, out)
        return shown(out, supply)

    def fill(mut self) raises -> String:
        var out = Buffer()
        var supply = self.session.fill(out)
        return shown(out, supply)

    def end_early(mut self) -> String:
        var out = Buffer()
        var supply = self.session.end_early(out)
        return shown(out, supply)

    def ended(deinit self) -> String:
        """Drops the session; gives what the handler wrote down."""
        _ = self.session^
        return self.log[].copy()


def shown(written: Buffer, supply: Supply) -> String:
    var text = String()
    write_escaped(written.span(), text)
    return text + "|" if supply == Supply.END else text^


def said(opcode: Opcode, payload: StringSpan) -> List[UInt8]:
    """Writes a frame of a client."""
    var out = Buffer()
    var header = FrameHeader(opcode, payload.byte_length())
    header.key = MaskingKey(0x3D21FA37)
    write_frame(out, header, payload.as_bytes())
    return List[UInt8](out.span())


def said_close(code: Int, reason: StringSpan) -> List[UInt8]:
    var payload: List[UInt8] = [UInt8(code >> 8), UInt8(code & 0xFF)]
    payload.extend(reason.as_bytes())
    return said(Opcode.CLOSE, StringSpan(unsafe_from_utf8=payload))


@fieldwise_init
struct Row(Copyable, Movable):
    var rule: StaticString
    var opcode: Opcode
    var payload: StaticString
    var answer: StaticString
    var end: StaticString


def test_answers() raises:
    comptime rows = [
        Row(
            "6455-5.6 text",
            Opcode.TEXT,
            "hi",
            "\\x82\\x02hi\\x81\\x012",
            "1006 ;",
        ),
        Row(
            "6455-5.6 empty",
            Opcode.BINARY,
            "",
            "\\x82\\x00\\x81\\x010",
            "1006 ;",
        ),
        Row("6455-5.5.3 pong", Opcode.PING, "p", "\\x8a\\x01p", "1006 ;"),
        Row("6455-5.5.3 unasked", Opcode.PONG, "p", "", "1006 ;"),
        Row("6455-7.1.5 no code", Opcode.CLOSE, "", "\\x88\\x00|", "1005 ;"),
        Row(
            "close by handler",
            Opcode.TEXT,
            "close",
            "\\x88\\x05\\x0f\\xa0bye",
            "1006 ;",
        ),
        Row(
            "6455-7.4.1 handler fails",
            Opcode.TEXT,
            "fail",
            "\\x88\\x02\\x03\\xf3",
            "1006 ;",
        ),
    ]
    for row in materialize[rows]():
        var scene = Scene()
        assert_equal(
            scene.hear(said(row.opcode, row.payload)), row.answer, row.rule
        )
        assert_equal(scene^.ended(), row.end, row.rule)


def test_a_close_frame_is_sent_back() raises:
    """RFC 6455 section 5.5.1: with its code."""
    var scene = Scene()
    assert_equal(scene.hear(said_close(1000, "ok")), "\\x88\\x02\\x03\\xe8|")
    assert_equal(scene^.ended(), "1000 ok;")


def test_split_anywhere() raises:
    var octets = said(Opcode.TEXT, "one")
    octets.extend(said(Opcode.PING, "p"))
    octets.extend(said(Opcode.BINARY, "two"))
    octets.extend(said(Opcode.CLOSE, ""))
    var first = Scene()
    var whole = first.hear(octets)
    for cut in range(len(octets) + 1):
        var scene = Scene()
        var got = scene.hear(octets[:cut])
        got += scene.hear(octets[cut:])
        assert_equal(got.replace("|", ""), whole.replace("|", ""), String(cut))


def test_a_broken_rule_ends_it() raises:
    """RFC 6455 section 5.1: a client masks."""
    var scene = Scene()
    var answer = scene.hear([0x81, 0x01, 0x61])
    assert_true(answer.startswith("\\x88"), answer)
    assert_true(answer.endswith("|"), answer)
    assert_equal(scene^.ended(), "1002 ;")


def test_a_flood_of_pings_is_answered_in_part() raises:
    """RFC 6455 section 5.5.3: the last one is enough."""
    var octets = List[UInt8]()
    for _ in range(10_000):
        octets.extend(said(Opcode.PING, "ping"))
    var scene = Scene()
    var input = Buffer()
    input.append(octets)
    var out = Buffer()
    _ = scene.session.receive(input, out)
    assert_true(len(out) >= 6 and len(out) < 20_000, String(len(out)))


def test_others_are_heard_between() raises:
    """What other threads send goes out in order with what the handler says."""
    var scene = Scene()
    var sender = WsSender(scene.box)
    sender.send_text("before")
    assert_equal(
        scene.hear(said(Opcode.TEXT, "x")),
        "\\x81\\x06before\\x82\\x01x\\x81\\x011",
    )
    sender.send_text("after")
    assert_equal(scene.fill(), "\\x81\\x05after")
    assert_equal(scene.fill(), "")


def test_a_silent_client_is_asked_and_given_up() raises:
    var config = WsConfig()
    config.ping_interval_ms = 0
    config.pong_timeout_ms = 0
    var scene = Scene(config^)
    assert_equal(scene.fill(), "\\x89\\x00")
    assert_true(scene.session.patience_ms() <= 0)
    assert_equal(scene.fill(), "|")


def test_a_pong_is_a_sign_of_life() raises:
    var config = WsConfig()
    config.ping_interval_ms = 0
    var scene = Scene(config^)
    assert_equal(scene.fill(), "\\x89\\x00")
    assert_equal(scene.hear(said(Opcode.PONG, "")), "")
    assert_equal(scene.fill(), "\\x89\\x00")


def test_a_server_that_stops_says_so() raises:
    """RFC 6455 section 7.4.1: 1001."""
    var scene = Scene()
    var text = "\\x88\\x12\\x03\\xe9the server stops"
    assert_equal(scene.end_early(), text)
    assert_equal(scene.end_early(), "")
    assert_equal(scene.hear(said_close(1001, "")), "|")
    assert_equal(scene^.ended(), "1001 ;")


def test_a_close_frame_without_answer_runs_out() raises:
    var config = WsConfig()
    config.close_timeout_ms = 0
    var scene = Scene(config^)
    _ = scene.hear(said(Opcode.TEXT, "close"))
    assert_equal(scene.fill(), "|")


def test_a_client_that_is_behind_is_cut_off() raises:
    var scene = Scene()
    with assert_raises(contains="too far behind"):
        _ = scene.hear(said(Opcode.BINARY, String("x") * (_MAX - 5)))
        _ = scene.hear(said(Opcode.TEXT, String("x") * (_MAX + 5)))
    assert_true(scene.session.has_given_up())
    assert_equal(scene^.ended(), "1006 ;")
