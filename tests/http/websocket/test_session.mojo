"""What a WebSocket route says to what a client says, in octets alone."""

from flare.bytes.ascii import hex_digit_text, write_escaped
from flare.bytes.buffer import Buffer
from flare.http.message.body import Poll
from flare.http.websocket.handler import WsConfig, WsHandler, WsIncoming
from flare.http.websocket.outbox import WsOutbox, WsSender
from flare.http.websocket.any_handler import AnyWsHandler, SharedWsHandler
from flare.http.websocket.session import WsSession
from flare.sys.mutex import Mutex
from flare.ws.core.frame import FrameHeader, MaskingKey, Opcode, write_frame
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
from tests.support.ws_box import open_box
from std.memory import ArcPointer
from std.time import sleep

comptime _MAX = 1_000


@fieldwise_init
struct Parrot(WsHandler):
    """Answers twice, and writes down how connections end."""

    var log: ArcPointer[String]

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        if message.is_text and message.as_text() == "fail":
            raise Error("as you wish")
        if message.is_text and message.as_text() == "note":
            self.log[].write("noted;")
            return
        if message.is_text and message.as_text() == "close":
            sender.close(4000, "bye")
            return
        sender.send_binary(message.as_bytes())
        sender.send_text(String(len(message)))

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.log[].write(code, " ", reason, ";")


struct Scene(Movable):
    """A session, and what its handler writes down."""

    var box: Mutex[WsOutbox]
    var log: ArcPointer[String]
    var session: WsSession

    def __init__(
        out self,
        var config: WsConfig = WsConfig(),
        *,
        waiting_len_max: Int = _MAX,
    ) raises:
        self.log = ArcPointer(String())
        self.box = open_box(
            waiting_len_max=waiting_len_max, cuts=True, message_len_max=100_000
        )
        self.session = WsSession(
            SharedWsHandler(AnyWsHandler(Parrot(self.log))),
            self.box,
            ArcPointer(config^),
        )

    def hear(mut self, octets: Span[UInt8, _]) raises -> String:
        """Lets the session hear octets; gives its answer, `|` at the end."""
        var input = Buffer()
        input.append(octets)
        var out = Buffer()
        var supply = self.session.receive(input, out)
        return shown(out, supply)

    def hear_all(mut self, octets: Span[UInt8, _]) raises -> String:
        """Lets the session hear octets as a worker does whose client takes all
        at once: until it has no more to say. Gives what it said in hex."""
        var input = Buffer()
        input.append(octets)
        var out = Buffer()
        var supply = self.session.receive(input, out)
        self.go_on(out, supply)
        var text = String()
        for octet in out.span():
            text += hex_digit_text(Int(octet >> 4))
            text += hex_digit_text(Int(octet & 15))
        return text + "|" if supply == Poll.DONE else text^

    def go_on(mut self, mut out: Buffer, mut supply: Poll) raises:
        """Asks for more until there is none."""
        for _ in range(10_000):
            if supply != Poll.READY:
                return
            var piece = Buffer()
            supply = self.session.fill(piece)
            out.append(piece.span())
        raise Error("it has always more to say")

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


def shown(written: Buffer, supply: Poll) -> String:
    var text = String()
    write_escaped(written.span(), text)
    return text + "|" if supply == Poll.DONE else text^


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


def test_nothing_is_answered_behind_a_failure() raises:
    """RFC 6455 section 7.1.7, in the same batch and in the next one."""
    var scene = Scene()
    var batch = said(Opcode.TEXT, "note")
    batch.extend(said(Opcode.TEXT, "fail"))
    batch.extend(said(Opcode.TEXT, "note"))
    assert_equal(scene.hear(Span(batch)), "\\x88\\x02\\x03\\xf3")
    assert_equal(scene.hear(Span(said(Opcode.TEXT, "note"))), "")
    assert_equal(scene.hear(Span(said_close(1011, ""))), "|")
    assert_equal(scene^.ended(), "noted;1011 ;")


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


def _batch(count: Int, payload: StringSpan) -> List[UInt8]:
    var octets = List[UInt8]()
    for _ in range(count):
        octets.extend(said(Opcode.BINARY, payload))
    return octets^


def test_a_batch_waits_until_its_answers_have_gone() raises:
    """A client that reads nothing has no more answered than may wait."""
    var scene = Scene()
    var octets = _batch(100, String("x") * 395)
    octets.extend(said_close(1000, ""))
    var input = Buffer()
    input.append(octets)
    var answer_len = 4 + 395 + 2 + 3
    var out = Buffer()
    assert_true(scene.session.receive(input, out) == Poll.READY)
    var total = 0
    var count = 0
    for _ in range(200):
        assert_true(len(out) <= 2 * _MAX, String(len(out)))
        total += len(out)
        count += 1
        # What is handed over counts as long as the worker has not come back.
        out.clear()
        if scene.session.fill(out) != Poll.READY:
            break
    assert_equal(total + len(out), 100 * answer_len + 4)
    assert_true(count > 30, String(count))
    assert_equal(scene^.ended(), "1000 ;")


def test_a_batch_is_answered_the_same_however_it_is_cut() raises:
    """Turns end within it; what is left begins behind the last message."""
    var octets = _batch(3, String("x") * 600)
    octets.extend(said(Opcode.PING, "p"))
    octets.extend(_batch(3, "y"))
    octets.extend(said_close(1000, ""))
    var whole = Scene()
    var wanted = whole.hear_all(octets)
    assert_equal(
        wanted.byte_length(),
        2 * (3 * (4 + 600 + 5) + 3 + 3 * (3 + 3) + 4) + 1,
    )
    assert_equal(wanted.count("363030"), 3)
    for cut in range(0, len(octets), 7):
        var scene = Scene()
        var got = scene.hear_all(octets[:cut])
        got += scene.hear_all(octets[cut:])
        assert_equal(got, wanted, String(cut))


def test_a_turn_ends_after_some_messages() raises:
    """Others have theirs between; nothing is lost."""
    var scene = Scene(waiting_len_max=1_000_000)
    var input = Buffer()
    input.append(_batch(2_000, ""))
    var out = Buffer()
    assert_true(scene.session.receive(input, out) == Poll.READY)
    var answer_len = 2 + 2 + 1
    assert_true(len(out) <= 300 * answer_len, String(len(out)))
    var supply = Poll.READY
    scene.go_on(out, supply)
    assert_equal(len(out), 2_000 * answer_len)


def test_each_turn_hears_a_message_whatever_others_send() raises:
    """A hub that has always more for a client does not silence it."""
    var scene = Scene(waiting_len_max=1_000_000)
    var sender = WsSender(scene.box)
    var others = String("h") * 70_000
    var input = Buffer()
    input.append(_batch(3, "x"))
    var out = Buffer()
    sender.send_text(others)
    assert_true(scene.session.receive(input, out) == Poll.READY)
    for _ in range(2):
        sender.send_text(others)
        out.clear()
        _ = scene.session.fill(out)
        assert_true(len(out) > 70_000, String(len(out)))
    # Nothing is left that has to be answered.
    assert_equal(scene.session.stall_timeout_ms(), Int.MAX)


def test_a_client_that_is_behind_with_a_batch_is_cut_off_by_others() raises:
    """A hub that sends to it finds what waits, wherever it is."""
    var scene = Scene(waiting_len_max=100_000)
    var input = Buffer()
    input.append(_batch(3, String("x") * 70_000))
    var out = Buffer()
    assert_true(scene.session.receive(input, out) == Poll.READY)
    assert_true(len(out) > 70_000)
    assert_false(scene.session.has_given_up())
    with assert_raises(contains="at most 100000"):
        WsSender(scene.box).send_text(String("y") * 40_000)
    assert_true(scene.session.has_given_up())
    with assert_raises(contains="too far behind"):
        _ = scene.session.fill(out)


def test_only_who_lets_messages_wait_may_stall() raises:
    var config = WsConfig()
    config.stall_timeout_ms = 77
    for cuts in [True, False]:
        config.cuts_slow_clients = cuts
        var scene = Scene(config.copy())
        assert_equal(scene.session.stall_timeout_ms(), Int.MAX)
        _ = scene.hear(_batch(5, String("x") * 395))
        var stall_ms = 77 if cuts else Int.MAX
        assert_equal(scene.session.stall_timeout_ms(), stall_ms)
    config.stall_timeout_ms = 0
    with assert_raises(contains="stall_timeout_ms is 0; allowed are 1 to"):
        config.check()


def test_a_server_that_stops_answers_what_it_has_heard() raises:
    var scene = Scene()
    var input = Buffer()
    input.append(_batch(10, String("x") * 395))
    var out = Buffer()
    assert_true(scene.session.receive(input, out) == Poll.READY)
    for _ in range(20):
        var piece = Buffer()
        var supply = scene.session.end_early(piece)
        out.append(piece.span())
        if supply != Poll.READY:
            break
    assert_equal(len(out), 10 * (4 + 395 + 2 + 3) + 2 + 18)
    assert_equal(
        String(unsafe_from_utf8=out.span()[len(out) - 16 :]), "the server stops"
    )


def test_a_broken_rule_ends_it() raises:
    """RFC 6455 section 5.1: a client masks."""
    var scene = Scene()
    var answer = scene.hear([0x81, 0x01, 0x61])
    assert_true(answer.startswith("\\x88"), answer)
    assert_true(answer.endswith("|"), answer)
    assert_equal(scene^.ended(), "1006 ;", "6455-7.1.5")


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


def test_a_ping_is_answered_before_the_close() raises:
    """RFC 6455 section 5.5.2: also one whose answer had to wait for others."""
    var octets = said(Opcode.TEXT, "a" * 20_000)
    octets.extend(said(Opcode.PING, "p"))
    octets.extend(said(Opcode.TEXT, "close"))
    var scene = Scene(waiting_len_max=1_000_000)
    var answer = scene.hear_all(octets)
    # A pong, and a close frame with 4000 and "bye".
    assert_true(answer.endswith("8a017088050fa0627965"), answer)


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
    assert_true(scene.session.poll_interval_ms() <= 0)
    assert_equal(scene.fill(), "|")


def test_a_slow_client_has_the_time_of_a_ping_behind_what_comes_before() raises:
    """As with a close frame: it cannot answer what it has not got yet."""
    var config = WsConfig()
    config.ping_interval_ms = 0
    config.pong_timeout_ms = 200
    var scene = Scene(config^, waiting_len_max=100_000)
    WsSender(scene.box).send_text("x" * 20_000)
    var out = Buffer()
    assert_true(scene.session.fill(out) == Poll.READY)
    assert_equal(len(out), 4 + 20_000 + 2)
    # So long it takes until all of that is taken.
    sleep(0.4)
    assert_equal(scene.fill(), "")
    sleep(0.4)
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
    # The client has it now.
    assert_equal(scene.fill(), "")
    assert_equal(scene.fill(), "|")


def test_who_takes_a_close_frame_late_has_its_time_to_answer() raises:
    """RFC 6455 section 7.1.1: after both have sent and received one."""
    var config = WsConfig()
    config.close_timeout_ms = 0
    var scene = Scene(config^)
    _ = scene.hear(said(Opcode.TEXT, "close"))
    # What is asked for now was not there before: the client has taken all.
    assert_equal(scene.fill(), "")
    assert_equal(scene.hear(said_close(4000, "")), "|")
    assert_equal(scene^.ended(), "4000 ;")


def test_a_client_that_is_behind_is_cut_off() raises:
    var scene = Scene()
    with assert_raises(contains="too far behind"):
        _ = scene.hear(said(Opcode.BINARY, String("x") * (_MAX - 5)))
        _ = scene.hear(said(Opcode.TEXT, String("x") * (_MAX + 5)))
    assert_true(scene.session.has_given_up())
    assert_equal(scene^.ended(), "1006 ;")
