"""What a master and a worker process tell each other."""

from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.runtime.prefork.orders import (
    MasterLine,
    NEWS_LEAVING,
    NEWS_READY,
    OrderSender,
    read_news,
)
from flare.sys.descriptor import Descriptor, Pipe
from flare.sys.sockets.descriptor_passing import SocketPair
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_sockets_are_lent_and_given_back_once() raises:
    var sockets = List[RawSocket]()
    for _ in range(3):
        sockets.append(RawSocket.listen_tcp(SocketAddr.localhost(0)))
    var pair = SocketPair()
    var sender = OrderSender(pair.take_first())
    var line = MasterLine(pair.take_second(), Descriptor(owned=-1), 1)
    sender.lend([0, 2], sockets)
    sender.lend([0, 2], sockets)
    for index in [0, 2]:
        var order = line.take()
        assert_equal(order.value().index, index)
        var socket = order.take().take_socket()
        assert_true(socket.local_addr() == sockets[index].local_addr())
    assert_false(line.take())
    sender.lend([2, 1], sockets)
    var taken = line.take()
    assert_equal(taken.value().index, 1)
    assert_true(taken.value().socket.is_open())
    taken = line.take()
    assert_equal(taken.value().index, 0)
    assert_false(taken.value().socket.is_open())
    sender.lend([], sockets)
    for _ in range(2):
        taken = line.take()
        assert_false(taken.value().socket.is_open())
    assert_false(line.take())


def test_news_say_who_it_is() raises:
    var pair = SocketPair()
    var pipe = Pipe()
    var line = MasterLine(pair.take_second(), pipe.take_writing(), 0x0403_0201)
    line.tell(NEWS_READY)
    line.tell(NEWS_LEAVING)
    var news = read_news(Span(pipe.take()))
    assert_equal(len(news), 2)
    assert_equal(Int(news[0].kind), Int(NEWS_READY))
    assert_equal(Int(news[1].kind), Int(NEWS_LEAVING))
    for index in range(2):
        assert_equal(news[index].process_id, 0x0403_0201)


def test_part_of_the_news_is_no_news() raises:
    var octets: Array[UInt8, 4] = [1, 2, 3, 4]
    assert_equal(len(read_news(Span(octets))), 0)
