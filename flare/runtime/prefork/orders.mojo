"""What a master and a worker process tell each other.

    to the worker: kind, 0, low and high octet of a socket's number;
                   with a socket to serve goes its descriptor
    to the master: kind, then the process id, lowest octet first

A worker that is down leaves its listening socket behind, in which connections
go on to queue. The master lends it to the others until the worker is back.
"""

from flare.bytes.checked import *
from flare.net.raw_socket import RawSocket
from flare.sys.descriptor import Descriptor, write_from
from flare.sys.sockets.descriptor_passing import (
    receive_with_descriptor,
    send_with_descriptor,
)

comptime ORDER_LEN = 4

comptime NEWS_LEN = 5
"""Octets of what a worker tells."""

comptime NEWS_READY: UInt8 = 1
"""The worker has begun to work."""

comptime NEWS_LEAVING: UInt8 = 2
"""The worker accepts no more connections."""

comptime _SERVE: UInt8 = 1
comptime _GIVE_BACK: UInt8 = 2


struct OrderSender(Movable):
    """The master's end of the line to one worker."""

    var _line: Descriptor
    var _lent: List[Int]

    def __init__(out self, var line: Descriptor):
        """Takes the end of a `SocketPair`."""
        self._line = line^
        self._lent = []

    def fd(self) -> Int32:
        """Lends the descriptor, for a forked child to close."""
        return self._line.fd()

    def lend(mut self, wanted: List[Int], sockets: List[RawSocket]):
        """Has the worker serve some sockets beside its own, and no others.

        What cannot be told now, since the worker is behind, is told at the
        next call.
        """
        for index in wanted:
            if index not in self._lent and (
                self._tell(_SERVE, index, sockets.at(index).fd())
            ):
                self._lent.append(index)
        for place in reversed(range(len(self._lent))):
            if self._lent.at(place) not in wanted and (
                self._tell(_GIVE_BACK, self._lent.at(place), -1)
            ):
                _ = self._lent.pop(place)

    def _tell(self, kind: UInt8, index: Int, number: Int32) -> Bool:
        var octets: Array[UInt8, ORDER_LEN] = [
            kind,
            0,
            UInt8(index & 0xFF),
            UInt8(index >> 8 & 0xFF),
        ]
        var count = send_with_descriptor(self._line.fd(), Span(octets), number)
        return count == ORDER_LEN


@fieldwise_init
struct Order(Movable):

    var index: Int
    var socket: RawSocket
    """The socket to serve; not open if it is to be given back."""

    def take_socket(deinit self) -> RawSocket:
        """Takes the socket out; not open if there is none."""
        return self.socket^


struct MasterLine(Movable):
    """The worker's ends of the lines to its master."""

    var _orders: Descriptor
    var _news: Descriptor
    var _process_id: Int

    def __init__(
        out self,
        var orders: Descriptor,
        var news: Descriptor,
        process_id: Int,
    ):
        """Takes the worker's end of a `SocketPair`, and a pipe that the master
        reads."""
        self._orders = orders^
        self._news = news^
        self._process_id = process_id

    def fd(self) -> Int32:
        """Lends the descriptor that becomes readable when there are orders,
        good while this value lives."""
        return self._orders.fd()

    def take(mut self) -> Optional[Order]:
        var octets = Array[UInt8, ORDER_LEN](fill=0)
        var passed = Descriptor(owned=-1)
        var count = receive_with_descriptor(
            self._orders.fd(), Span(octets), passed
        )
        if count < ORDER_LEN:
            return None
        var index = Int(octets[2]) | Int(octets[3]) << 8
        return Order(index, RawSocket(owned=passed.release()))

    def tell(mut self, kind: UInt8):
        """Tells the master how this process is, by a `NEWS_` constant."""
        var octets = Array[UInt8, NEWS_LEN](fill=kind)
        for index in range(4):
            octets.at(index + 1) = UInt8(
                (self._process_id >> (8 * index)) & 0xFF
            )
        # So few octets go whole or not at all, and the master reads at once.
        _ = write_from(self._news.fd(), Span(octets))


@fieldwise_init
struct News(ImplicitlyCopyable):
    """What a worker process has told."""

    var kind: UInt8
    """A `NEWS_` constant."""
    var process_id: Int


def read_news(octets: Span[UInt8, _]) -> List[News]:
    """Reads what workers have told through the pipe, in order."""
    var news = List[News]()
    for start in range(0, len(octets) - NEWS_LEN + 1, NEWS_LEN):
        var id = 0
        for index in range(4):
            id |= Int(octets.at(start + 1 + index)) << (8 * index)
        news.append(News(octets.at(start), id))
    return news^
