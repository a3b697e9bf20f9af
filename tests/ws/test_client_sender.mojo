"""Sending from one thread while another one receives."""

from flare.bytes.buffer import Buffer
from flare.http.client.connect.connection import ClientConnection, Endpoint
from flare.http.client.connect.transport import Transport
from flare.http.message.header_map import HeaderMap
from flare.net.socket_addr import SocketAddr
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener, TcpStream
from flare.ws.client import WsClient
from flare.ws.client_sender import WsClientSender
from flare.ws.config import WsClientConfig
from flare.ws.core.connection import WsConnection
from flare.ws.core.frame import MaskingKey, Opcode, Role
from flare.ws.core.handshake import WsAgreement
from flare.ws.core.receiver import WsLimits, WsProgress
from flare.ws.error import WsError
from flare.ws.opening import Opened
from flare.ws.wire import SocketWire, Wire
from std.memory import OwnedPointer
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
from tests.support.loopback import PATIENCE_MS


def _opened(listener: TcpListener) raises -> Opened:
    """Takes a connection to a listener for one behind its handshake."""
    var stream = TcpStream.connect(listener.local_addr(), PATIENCE_MS)
    var connection = OwnedPointer(
        ClientConnection(
            Transport(stream^.take_socket()), Endpoint("localhost", 80)
        )
    )
    return Opened(
        Wire(SocketWire(connection^)),
        Buffer(),
        WsAgreement(String(), None),
        HeaderMap(),
    )


struct _Server(Movable):
    """The other side of a client: reads its messages as texts."""

    var stream: TcpStream
    var core: WsConnection
    var input: Buffer

    def __init__(out self, var stream: TcpStream) raises:
        self.stream = stream^
        self.stream.set_read_timeout(PATIENCE_MS)
        self.core = WsConnection(Role.SERVER, WsLimits(1 << 20, 1 << 20))
        self.input = Buffer()

    def next(mut self) raises -> String:
        """Reads up to the next thing that the client says: the text of a
        message, `ping`, or the code of a close frame."""
        while True:
            var progress = self.core.advance(self.input)
            if progress == WsProgress.MESSAGE:
                return String(from_utf8=self.core.payload(self.input))
            if progress == WsProgress.PING:
                return "ping"
            if progress == WsProgress.CLOSE:
                return String("close ", self.core.receiver[].close_code)
            if progress == WsProgress.NEEDS_OCTETS:
                var room = List[UInt8](length=65_536, fill=0)
                var count = self.stream.read(Span(room))
                if count == 0:
                    return "end"
                self.input.append(Span(room)[0:count])

    def say(mut self, text: StringSpan) raises:
        var none = MaskingKey.none()
        self.core.send_message(Opcode.TEXT, text.as_bytes(), none)
        self.flush()

    def answer_close(mut self) raises:
        self.core.answer(MaskingKey.none())
        self.flush()

    def flush(mut self) raises:
        self.stream.write_all(self.core.output.span())
        self.core.output.clear()


struct _Pair(Movable):
    """A client, and who is at the other end."""

    var client: WsClient
    var server: _Server

    def __init__(out self, var config: WsClientConfig) raises:
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        config.read_timeout_ms = PATIENCE_MS
        config.close_timeout_ms = 200
        self.client = WsClient(
            _opened(listener), config^, String("ws://localhost/")
        )
        self.server = _Server(listener.accept(PATIENCE_MS))

    def take_server(deinit self) -> _Server:
        """Takes the server out; the client lives in its other handles."""
        return self.server^


@fieldwise_init
struct _Typist(Task):
    """Sends numbered messages, waiting for room."""

    var sender: WsClientSender
    var count: Int

    def run(mut self) raises:
        for index in range(self.count):
            self.sender.send_text(String("m", index), timeout_ms=PATIENCE_MS)


@fieldwise_init
struct _Answerer(Task):
    """Reads so many messages, and then says how many were in order."""

    var server: _Server
    var count: Int

    def run(mut self) raises:
        var in_order = 0
        for index in range(self.count):
            if self.server.next() == String("m", index):
                in_order += 1
        self.server.say(String(in_order))
        # Until the client has gone, for a reset would drop what was said.
        while self.server.next() == "ping":
            pass


def _kind(error: WsError) -> String:
    return String(error.kind)


def test_others_send_while_the_owner_receives() raises:
    """RFC 6455 section 5: either side may send at any time. Without anything
    that arrives, the owner is woken for what is queued; with a bound of two
    messages, who sends a thousand waits for it."""
    for count in [1, 1_000]:
        var config = WsClientConfig()
        config.max_queue_size = 2 * (64 + 4)
        var pair = _Pair(config^)
        var sender = pair.client.sender()
        var client = WsClient(sharing=pair.client)
        var typist = Thread(_Typist(sender^, count))
        var answerer = Thread(_Answerer(pair^.take_server(), count))
        assert_equal(client.recv_message().as_text(), String(count))
        client.close()
        typist^.join()
        answerer^.join()


def test_messages_keep_their_order_and_kind() raises:
    var pair = _Pair(WsClientConfig())
    var sender = pair.client.sender()
    var other = sender.copy()
    sender.send_text("one")
    other.ping("p")
    other.send_binary("two".as_bytes())
    assert_equal(sender.waiting_len(), 3 * 64 + 3 + 1 + 3)
    pair.server.say("go")
    assert_equal(pair.client.recv_message().as_text(), "go")
    assert_equal(sender.waiting_len(), 0)
    assert_equal(pair.server.next(), "one")
    assert_true(pair.server.core.receiver[].opcode == Opcode.TEXT)
    assert_equal(pair.server.next(), "ping")
    assert_equal(pair.server.next(), "two")
    assert_true(pair.server.core.receiver[].opcode == Opcode.BINARY)


def test_what_finds_no_room_is_refused() raises:
    var config = WsClientConfig()
    config.max_queue_size = 200
    var pair = _Pair(config^)
    var sender = pair.client.sender()
    sender.send_text("12345678")
    sender.send_text("1")
    var told = String()
    for timeout_ms in [0, 1]:
        try:
            sender.send_text("1234567890", timeout_ms=timeout_ms)
        except error:
            assert_equal(_kind(error), "WsQueueFull")
            told = String(error)
    assert_true("a message of 10 octets finds no room" in told, told)
    assert_true("at most 200 octets wait" in told, told)
    assert_true("ws://localhost/" in told, told)
    # To the last octet of it.
    pair.server.say("go")
    _ = pair.client.recv_message()
    sender.send_text("x" * 136)
    # What would never find room does not wait for it.
    with assert_raises(contains="a message of 137 octets finds no room"):
        sender.send_text("x" * 137, timeout_ms=-1)
    pair.server.say("go")
    _ = pair.client.recv_message()
    with assert_raises(contains="a message of 137 octets finds no room"):
        sender.send_text("x" * 137, timeout_ms=-1)


def test_a_queue_that_could_hold_nothing_is_refused() raises:
    var config = WsClientConfig()
    config.max_queue_size = 0
    var pair = _Pair(config^)
    with assert_raises(contains="max_queue_size is 0; allowed is 1 or more"):
        _ = pair.client.sender()


def test_a_queued_message_is_not_put_between_fragments() raises:
    # RFC 6455 section 5.4: the fragments of one message are not interleaved
    # with those of another.
    var pair = _Pair(WsClientConfig())
    var sender = pair.client.sender()
    pair.client.send_fragment(Opcode.TEXT, "be".as_bytes(), False)
    sender.send_text("behind")
    pair.server.say("go")
    assert_equal(pair.client.recv_message().as_text(), "go")
    assert_equal(sender.waiting_len(), 64 + 6)
    pair.client.send_fragment(Opcode.CONTINUATION, "gun".as_bytes(), True)
    pair.server.say("on")
    assert_equal(pair.client.recv_message().as_text(), "on")
    assert_equal(pair.server.next(), "begun")
    assert_equal(pair.server.next(), "behind")


def test_what_is_queued_goes_before_the_close_frame() raises:
    for by_call in [True, False]:
        var pair = _Pair(WsClientConfig())
        var sender = pair.client.sender()
        sender.send_text("last words")
        if by_call:
            pair.client.close(1001)
        else:
            pair.client.__exit__()
        assert_equal(pair.server.next(), "last words")
        assert_equal(
            pair.server.next(), "close 1001" if by_call else "close 1000"
        )
        assert_false(sender.is_open())
        with assert_raises(contains="WsClosed"):
            sender.send_text("too late")


def test_a_sender_closes_behind_what_waits() raises:
    # RFC 6455 section 5.5.1: no data frame follows a close frame.
    var pair = _Pair(WsClientConfig())
    var sender = pair.client.sender()
    with assert_raises(contains="WsMisused"):
        sender.close(1005)
    with assert_raises(contains="WsMisused"):
        sender.close(1000, "x" * 124)
    with assert_raises(contains="WsMisused"):
        sender.ping("x" * 126)
    sender.send_text("bye")
    sender.close(3_000, "done")
    assert_false(sender.is_open())
    with assert_raises(contains="WsClosed"):
        sender.send_text("too late")
    pair.server.say("go")
    assert_equal(pair.client.recv_message().as_text(), "go")
    assert_equal(pair.server.next(), "bye")
    assert_equal(pair.server.next(), "close 3000")
    pair.server.answer_close()
    with assert_raises(contains="WsClosed"):
        _ = pair.client.recv_message()
    assert_equal(pair.client.close_code(), 3_000)


def test_the_end_of_the_connection_ends_the_queue() raises:
    for says_close in [True, False]:
        var pair = _Pair(WsClientConfig())
        var sender = pair.client.sender()
        assert_true(sender.is_open())
        if says_close:
            pair.server.core.send_close(1_011, "", MaskingKey.none())
            pair.server.flush()
        pair.server.stream.shutdown()
        with assert_raises(contains="WsClosed"):
            _ = pair.client.recv_message()
        assert_false(sender.is_open())
        with assert_raises(contains="WsClosed"):
            sender.send_text("x", timeout_ms=-1)
        # One that is asked for afterwards is told the same.
        with assert_raises(contains="WsClosed"):
            pair.client.sender().send_text("x")


def test_who_waits_for_room_hears_of_the_end() raises:
    var config = WsClientConfig()
    config.max_queue_size = 70
    var pair = _Pair(config^)
    var sender = pair.client.sender()
    sender.send_text("123456")
    var waiter = Thread(_Waiter(sender.copy()))
    # It may wait already, or be about to: it is told in both cases.
    pair.client.close()
    waiter^.join()
    assert_false(sender.is_open())
    assert_equal(sender.waiting_len(), 0)


@fieldwise_init
struct _Waiter(Task):
    """Sends what finds no room until the connection ends, or is told that it
    has."""

    var sender: WsClientSender

    def run(mut self) raises:
        try:
            while True:
                self.sender.send_text("123456", timeout_ms=-1)
        except error:
            if _kind(error) == "WsQueueFull":
                raise error^
