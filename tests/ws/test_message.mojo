"""Messages, frames, URLs and keys as a program sees them."""

from flare import WsClient
from flare.ws import (
    CloseCode,
    Opcode,
    WsClientConfig,
    WsClosed,
    WsError,
    WsFrame,
    WsMessage,
    WsMisused,
)
from flare.ws.link import MaskingKeys
from flare.ws.opening import parse_websocket_url
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.loopback import RefusingPort


def test_a_message_of_text() raises:
    var message = WsMessage(List[UInt8]("h\u00e4".as_bytes()), True)
    assert_true(message.is_text)
    assert_equal(message.as_text(), "h\u00e4")
    assert_equal(len(message), 3)
    assert_equal(len(message.as_bytes()), 3)
    assert_equal(len(message^.take_bytes()), 3)


def test_a_binary_message_is_no_text() raises:
    var message = WsMessage([1, 2], False)
    var found = String()
    try:
        _ = message.as_text()
    except error:
        assert_true(error.kind == WsMisused)
        found = String(error)
    assert_equal(
        found, "WsMisused: the message is binary; read it with as_bytes()"
    )


def test_frames() raises:
    var frame = WsFrame(Opcode.TEXT, True, List[UInt8]("a".as_bytes()))
    assert_true(frame.is_text())
    assert_false(frame.is_close())
    assert_equal(frame.text_payload(), "a")
    var cut = WsFrame(Opcode.TEXT, False, [0xC3])
    var was_refused = False
    try:
        _ = cut.text_payload()
    except error:
        was_refused = error.kind == WsMisused
    assert_true(was_refused)


@fieldwise_init
struct _Url(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    var is_good: Bool


def test_urls() raises:
    var rows: List[_Url] = [
        _Url("6455-3 ws", "ws://a", True),
        _Url("6455-3 wss", "wss://a:1/b?c", True),
        _Url("6455-3 case", "WS://A", True),
        _Url("6455-3 no fragment", "ws://a/#b", False),
        _Url("6455-3 another scheme", "http://a/", False),
        _Url("6455-3 no host", "ws:///", False),
        _Url("6455-3 not absolute", "/chat", False),
        _Url("6455-3 a bad port", "ws://a:99999/", False),
    ]
    for row in rows:
        var is_good = True
        try:
            _ = parse_websocket_url(row.text)
        except error:
            is_good = False
            assert_equal(String(error.kind), "BadUrl", row.rule)
        assert_equal(is_good, row.is_good, row.rule)


def test_an_error_names_the_connection_without_its_password() raises:
    var port = RefusingPort()
    var address = port.address()
    var text = String()
    try:
        _ = WsClient.connect(String("ws://user:secret@", address, "/a"))
    except error:
        text = String(error)
    assert_true(
        text.startswith(String("ws://", address, "/a: ConnectionRefused: ")),
        text,
    )
    _ = port^


def test_the_errors_of_a_closed_connection() raises:
    assert_equal(
        String(WsError.closed(CloseCode.GOING_AWAY, "bye")),
        "WsClosed: the server closed the connection with code 1001: bye",
    )
    assert_equal(
        String(WsError.closed(CloseCode.NO_STATUS, "")),
        "WsClosed: the server closed the connection and gave no code",
    )
    assert_equal(
        String(WsError.closed(CloseCode.ABNORMAL, "")),
        "WsClosed: the server closed the connection without a close frame;"
        " open another one",
    )
    assert_true(WsError.closed(1000, "").kind == WsClosed)


def test_each_key_is_given_out_once() raises:
    var keys = MaskingKeys()
    var words = List[UInt32]()
    for _ in range(1_000):
        var key = keys.next()
        assert_true(key.is_given)
        words.append(key.word)
    sort(words)
    var repeated = 0
    for index in range(1, len(words)):
        repeated += 1 if words[index] == words[index - 1] else 0
    assert_true(repeated < 3)


def test_every_time_is_finite_by_default() raises:
    var config = WsClientConfig()
    assert_true(config.connect_timeout_ms > 0)
    assert_true(config.read_timeout_ms > 0)
    assert_true(config.write_timeout_ms > 0)
    assert_true(config.close_timeout_ms > 0)
    assert_equal(config.limits().frame_len_max, 16 << 20)
    assert_equal(config.limits().message_len_max, 16 << 20)
