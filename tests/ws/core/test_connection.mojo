"""Both sides of a connection, and how it is closed."""

from flare.bytes.buffer import Buffer
from flare.ws.core.connection import WsConnection
from flare.ws.core.deflate import DeflateAgreement
from flare.ws.core.error import (
    CloseCode,
    CloseState,
    WsMisuse,
    may_send_close_code,
)
from flare.ws.core.frame import MaskingKey, Opcode, Role
from flare.ws.core.receiver import WsLimits, WsProgress
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.vectors.hex_text import hex_of, octets_of

comptime _KEY = MaskingKey(0x3D21FA37)


struct _Pair(Movable):
    """A client and a server without a network."""

    var client: WsConnection
    var server: WsConnection

    def __init__(out self, agreement: Optional[DeflateAgreement] = None) raises:
        var limits = WsLimits(1 << 20, 1 << 20)
        self.client = WsConnection(Role.CLIENT, limits, agreement)
        self.server = WsConnection(Role.SERVER, limits, agreement)

    def to_server(mut self) raises -> String:
        return _carry(self.client, self.server)

    def to_client(mut self) raises -> String:
        return _carry(self.server, self.client)


def _carry(mut source: WsConnection, mut dest: WsConnection) raises -> String:
    """Brings all that was written to the other side; tells what arrived."""
    var input = Buffer()
    input.append(source.output.span())
    source.output.clear()
    var text = String()
    while True:
        var progress = dest.advance(input)
        if progress == WsProgress.NEEDS_OCTETS:
            return text^
        text.write(
            progress.number,
            "(",
            StringSpan(unsafe_from_utf8=dest.payload(input)),
            ")",
        )


def test_messages_round_trip() raises:
    for compresses in [False, True]:
        var agreement = Optional[DeflateAgreement]()
        if compresses:
            agreement = DeflateAgreement.widest()
        var pair = _Pair(agreement)
        for length in [0, 1, 15, 16, 125, 126, 65_535, 65_536, 300_000]:
            var text = String()
            for index in range(length):
                text.write(index % 10)
            var wanted = String("1(", text, ")")
            var key = materialize[_KEY]()
            pair.client.send_message(Opcode.TEXT, text.as_bytes(), key)
            assert_equal(pair.to_server(), wanted)
            var none = MaskingKey.none()
            pair.server.send_message(Opcode.TEXT, text.as_bytes(), none)
            if compresses and length > 100:
                assert_true(len(pair.server.output) < length // 2 + 20)
            assert_equal(pair.to_client(), wanted)


def test_what_a_client_sends_is_masked() raises:
    # RFC 6455 section 5.7.
    var pair = _Pair()
    pair.client.send_message(
        Opcode.TEXT, "Hello".as_bytes(), materialize[_KEY]()
    )
    assert_equal(hex_of(pair.client.output.span()), "818537fa213d7f9f4d5158")
    pair.server.send_message(Opcode.TEXT, "Hello".as_bytes(), MaskingKey.none())
    assert_equal(hex_of(pair.server.output.span()), "810548656c6c6f")


def test_fragments_are_sent_in_order() raises:
    var pair = _Pair()
    var none = MaskingKey.none()
    pair.server.send_fragment(Opcode.TEXT, "a".as_bytes(), False, none)
    pair.server.send_control(Opcode.PING, "p".as_bytes(), none)
    assert_true(
        _misuse_of_message(pair.server) == WsMisuse.IN_MESSAGE, "message"
    )
    pair.server.send_fragment(Opcode.CONTINUATION, "b".as_bytes(), False, none)
    pair.server.send_fragment(Opcode.CONTINUATION, "c".as_bytes(), True, none)
    assert_equal(pair.to_client(), "3(p)1(abc)")
    var found = WsMisuse.CLOSED
    try:
        pair.server.send_fragment(
            Opcode.CONTINUATION, "".as_bytes(), True, none
        )
    except error:
        found = error
    assert_true(found == WsMisuse.NOT_IN_MESSAGE)


def _misuse_of_message(mut connection: WsConnection) -> WsMisuse:
    try:
        connection.send_message(Opcode.TEXT, "x".as_bytes(), MaskingKey.none())
        return WsMisuse("")
    except error:
        return error


def test_pings_are_answered_when_the_shell_says_so() raises:
    var pair = _Pair()
    var key = materialize[_KEY]()
    pair.client.send_control(Opcode.PING, "1".as_bytes(), key)
    pair.client.send_control(Opcode.PING, "2".as_bytes(), key)
    assert_equal(pair.to_server(), "3(1)3(2)")
    assert_equal(len(pair.server.output), 0)
    assert_true(pair.server.owes_answer())
    pair.server.answer(MaskingKey.none())
    # RFC 6455 section 5.5.3: the last one's payload, and one pong for all.
    assert_equal(pair.to_client(), "4(2)")
    pair.server.answer(MaskingKey.none())
    assert_equal(len(pair.server.output), 0)


def test_a_flood_of_pings_makes_nothing_grow() raises:
    var pair = _Pair()
    for _ in range(10_000):
        pair.client.send_control(
            Opcode.PING, "ping".as_bytes(), materialize[_KEY]()
        )
    _ = pair.to_server()
    assert_equal(len(pair.server.output), 0)
    pair.server.answer(MaskingKey.none())
    assert_equal(pair.to_client(), "4(ping)")


def test_close_from_the_client() raises:
    # RFC 6455 section 7.1.2 and 7.1.3.
    var pair = _Pair()
    pair.client.send_close(1000, "bye", materialize[_KEY]())
    assert_true(pair.client.state == CloseState.CLOSING)
    assert_equal(pair.to_server(), "5(bye)")
    assert_true(pair.server.state == CloseState.ANSWERING)
    assert_equal(pair.server.receiver[].close_code, 1000)
    pair.server.answer(MaskingKey.none())
    assert_true(pair.server.state == CloseState.CLOSED)
    assert_equal(hex_of(pair.server.output.span()), "880203e8")
    assert_equal(pair.to_client(), "5()")
    assert_true(pair.client.state == CloseState.CLOSED)
    assert_true(_misuse_of_message(pair.client) == WsMisuse.CLOSED)
    assert_true(_misuse_of_message(pair.server) == WsMisuse.CLOSED)


def test_messages_arrive_while_the_other_side_closes() raises:
    var pair = _Pair()
    var none = MaskingKey.none()
    pair.client.send_close(1001, "", materialize[_KEY]())
    pair.server.send_message(Opcode.TEXT, "late".as_bytes(), none)
    assert_equal(pair.to_client(), "1(late)")
    assert_equal(pair.to_server(), "5()")
    # A message of one's own may go before the answer.
    pair.server.send_message(Opcode.TEXT, "last".as_bytes(), none)
    pair.server.answer(none)
    assert_equal(pair.to_client(), "1(last)5()")


def test_a_close_without_a_code_is_answered_without_one() raises:
    var pair = _Pair()
    pair.client.send_close(
        CloseCode.NO_STATUS, "never sent", materialize[_KEY]()
    )
    assert_equal(pair.to_server(), "5()")
    assert_equal(pair.server.receiver[].close_code, CloseCode.NO_STATUS)
    pair.server.answer(MaskingKey.none())
    assert_equal(hex_of(pair.server.output.span()), "8800")


def test_both_close_at_once() raises:
    var pair = _Pair()
    pair.client.send_close(1000, "", materialize[_KEY]())
    pair.server.send_close(1001, "", MaskingKey.none())
    assert_equal(pair.to_server(), "5()")
    assert_equal(pair.to_client(), "5()")
    assert_true(pair.client.state == CloseState.CLOSED)
    assert_true(pair.server.state == CloseState.CLOSED)
    assert_false(pair.server.owes_answer())


@fieldwise_init
struct _Broken(Copyable, Movable):
    var rule: StaticString
    var hex: StaticString
    var code: Int


def test_a_broken_rule_is_answered_with_its_code() raises:
    var rows: List[_Broken] = [
        _Broken("6455-5.2 reserved", "c18000000000", 1002),
        _Broken("6455-5.1 not masked", "810161", 1002),
        _Broken("6455-8.1 UTF-8", "818100000000ff", 1007),
        _Broken("6455-10.4 too long", "81ff0000000000100001", 1009),
        _Broken("6455-7.4 code", "88820000000003ed", 1002),
    ]
    for row in rows:
        var pair = _Pair()
        var input = Buffer()
        input.append(Span(octets_of(row.hex)))
        try:
            _ = pair.server.advance(input)
        except error:
            pair.server.fail(error, MaskingKey.none())
        assert_true(pair.server.state == CloseState.CLOSED, row.rule)
        var answer = pair.to_client()
        assert_equal(pair.client.receiver[].close_code, row.code, row.rule)
        assert_true(answer.byte_length() > 3, row.rule)
        # What follows counts no more, and is not kept.
        input.append("\x00\x01".as_bytes())
        assert_true(pair.server.advance(input) == WsProgress.NEEDS_OCTETS)
        assert_equal(len(input), 0)


def test_what_must_not_be_sent_is_refused() raises:
    var pair = _Pair()
    var none = MaskingKey.none()
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_536, -1]:
        assert_false(may_send_close_code(code))
        if code == CloseCode.NO_STATUS:
            continue
        var found = WsMisuse.CLOSED
        try:
            pair.server.send_close(code, "", none)
        except error:
            found = error
        assert_true(found == WsMisuse.CLOSE_CODE, String(code))
    var found = WsMisuse.CLOSED
    try:
        pair.server.send_close(1000, "r" * 124, none)
    except error:
        found = error
    assert_true(found == WsMisuse.CLOSE_REASON)
    try:
        pair.server.send_control(
            Opcode.PING, String("p" * 126).as_bytes(), none
        )
    except error:
        found = error
    assert_true(found == WsMisuse.CONTROL_LEN)
    assert_equal(len(pair.server.output), 0)
    pair.server.send_close(1000, "r" * 123, none)
    assert_equal(len(pair.server.output), 127)


def test_the_table_of_states() raises:
    var open = CloseState.OPEN
    assert_true(open.after_sending() == CloseState.CLOSING)
    assert_true(open.after_receiving() == CloseState.ANSWERING)
    assert_true(CloseState.CLOSING.after_receiving() == CloseState.CLOSED)
    assert_true(CloseState.ANSWERING.after_sending() == CloseState.CLOSED)
    assert_true(CloseState.CLOSED.after_sending() == CloseState.CLOSED)
    assert_true(CloseState.CLOSED.after_receiving() == CloseState.CLOSED)
