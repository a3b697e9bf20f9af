"""Sends WebSocket messages as fast as they are echoed.

Usage: ws_echo ADDRESS TARGET CONNECTIONS SECONDS MESSAGE_LEN

A connection has one message under way. Of an echo its head and its length are
checked; that its octets are right is the gate's affair.
"""

from bench.load.connecting import open_sockets
from bench.load.tally import Tally
from flare.net import RawSocket, SocketAddr
from flare.runtime import Reactor
from flare.sys.clock import monotonic_ns
from flare.sys.errno import EAGAIN
from std.sys import argv

comptime DRAIN_MAX_NS = 2_000_000_000
"""Longest wait for echoes behind the end."""
comptime _ROOM_LEN = 262_144
comptime _BINARY = UInt8(0x82)
comptime _MASKED = 0x80


def handshake(address: String, target: StringSpan) -> String:
    """Writes the opening handshake (RFC 6455 section 4.1)."""
    return String(
        "GET ",
        target,
        " HTTP/1.1\r\nHost: ",
        address,
        "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
        "Sec-WebSocket-Version: 13\r\n",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    )


def frame_head(length: Int, mask_bit: Int) -> List[UInt8]:
    """Writes the head of a binary frame up to its key (section 5.2)."""
    if length < 126:
        return [_BINARY, UInt8(length | mask_bit)]
    var head: List[UInt8] = [_BINARY]
    var size = 2 if length < 65_536 else 8
    head.append(UInt8((126 if size == 2 else 127) | mask_bit))
    for at in range(size - 1, -1, -1):
        head.append(UInt8((length >> (8 * at)) & 255))
    return head^


def message(length: Int) -> List[UInt8]:
    """Writes a masked frame whole."""
    var frame = frame_head(length, _MASKED)
    for key in [UInt8(0x37), 0xFA, 0x21, 0x3D]:
        frame.append(key)
    for at in range(length):
        frame.append(UInt8(at & 255))
    return frame^


struct Echoes(Movable):
    """The connections, and what came of them."""

    var tally: Tally
    var _reactor: Reactor
    var _sockets: List[RawSocket]
    var _sent_ns: List[Int]
    var _received_len: List[Int]
    # Octets of the frame that the socket has not taken yet.
    var _unsent_len: List[Int]
    var _is_waiting: List[Bool]
    var _message: List[UInt8]
    var _echo_head: List[UInt8]
    var _echo_len: Int
    var _room: List[UInt8]

    def __init__(
        out self, address: SocketAddr, count: Int, message_len: Int
    ) raises:
        self.tally = Tally()
        self._reactor = Reactor()
        self._sockets = open_sockets(self._reactor, address, count)
        self._sent_ns = List[Int](length=count, fill=0)
        self._received_len = List[Int](length=count, fill=0)
        self._unsent_len = List[Int](length=count, fill=0)
        self._is_waiting = List[Bool](length=count, fill=False)
        self._message = message(message_len)
        self._echo_head = frame_head(message_len, 0)
        self._echo_len = len(self._echo_head) + message_len
        self._room = List[UInt8](length=_ROOM_LEN, fill=0)

    def open(mut self, text: String) raises:
        """Makes the handshakes, one after the other."""
        for index in range(len(self._sockets)):
            ref socket = self._sockets[index]
            _ = socket.send(text.as_bytes())
            var until_ns = monotonic_ns() + DRAIN_MAX_NS
            var count = -EAGAIN
            while count == -EAGAIN and monotonic_ns() < until_ns:
                count = socket.receive(Span(self._room))
            if count < 12 or self._room[9] != 49 or self._room[11] != 49:
                raise Error("a handshake was not answered with 101")

    def run(mut self, duration_ns: Int) raises:
        """Sends and waits until the time is over."""
        var end_ns = monotonic_ns() + duration_ns
        for index in range(len(self._sockets)):
            self._begin(index)
        while monotonic_ns() < end_ns + DRAIN_MAX_NS:
            for at in range(self._reactor.poll(10)):
                var event = self._reactor.event(at)
                var index = Int(event.token)
                if self._is_waiting[index] and self._unsent_len[index] > 0:
                    self._send(index)
                if self._is_waiting[index]:
                    self._receive(index, end_ns)
            if monotonic_ns() >= end_ns and not self._any_waits():
                return
        for index in range(len(self._sockets)):
            self.tally.waiting_count += Int(self._is_waiting[index])

    def _any_waits(self) -> Bool:
        for is_waiting in self._is_waiting:
            if is_waiting:
                return True
        return False

    def _begin(mut self, index: Int):
        self._sent_ns[index] = monotonic_ns()
        self._received_len[index] = 0
        self._unsent_len[index] = len(self._message)
        self._is_waiting[index] = True
        self._send(index)

    def _send(mut self, index: Int):
        var begin = len(self._message) - self._unsent_len[index]
        var count = self._sockets[index].send(Span(self._message)[begin:])
        if count > 0:
            self._unsent_len[index] -= count
        elif count != -EAGAIN:
            self._drop(index)

    def _receive(mut self, index: Int, end_ns: Int):
        while self._is_waiting[index]:
            var count = self._sockets[index].receive(Span(self._room))
            if count == -EAGAIN:
                return
            if count <= 0:
                self._drop(index)
                return
            self._take(index, count, end_ns)
            if count < _ROOM_LEN:
                return

    def _take(mut self, index: Int, count: Int, end_ns: Int):
        if self._received_len[index] == 0:
            for at in range(min(len(self._echo_head), count)):
                if self._room[at] != self._echo_head[at]:
                    self.tally.wrong_count += 1
                    self._drop(index)
                    return
        self._received_len[index] += count
        if self._received_len[index] > self._echo_len:
            self.tally.wrong_count += 1
            self._drop(index)
        elif self._received_len[index] == self._echo_len:
            var now_ns = monotonic_ns()
            self.tally.latency_ns.record(now_ns - self._sent_ns[index])
            self.tally.answered_count += 1
            self.tally.octet_count += self._echo_len
            self._is_waiting[index] = False
            if now_ns < end_ns:
                self._begin(index)

    def _drop(mut self, index: Int):
        self._is_waiting[index] = False
        self._sockets[index].close()
        self.tally.closed_count += 1


def main() raises:
    if len(argv()) != 6:
        raise Error(
            "usage: ws_echo ADDRESS TARGET CONNECTIONS SECONDS MESSAGE_LEN"
        )
    var address = String(argv()[1])
    var duration_ns = Int(String(argv()[4])) * 1_000_000_000
    var echoes = Echoes(
        SocketAddr.parse(address),
        Int(String(argv()[3])),
        Int(String(argv()[5])),
    )
    echoes.open(handshake(address, argv()[2]))
    var began_ns = monotonic_ns()
    echoes.run(duration_ns)
    echoes.tally.tell(monotonic_ns() - began_ns)
