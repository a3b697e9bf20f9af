"""Tests of which worker accepts from which socket."""

from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.runtime.prefork.roster import ListenerShare
from flare.sys.platform import IS_MACOS
from tests.support.assertions import assert_equal, assert_true


def _share(count: Int, reuseport: Bool) raises -> ListenerShare:
    var share = ListenerShare(
        [RawSocket.listen_tcp(SocketAddr.localhost(0))], reuseport
    )
    share.provide(count)
    return share^


def test_each_worker_has_a_socket_of_its_own() raises:
    comptime if not IS_MACOS:
        var share = _share(3, True)
        assert_equal(len(share.sockets), 3)
        for worker in range(3):
            assert_equal(share.of(worker, 3), [worker])
            assert_equal(
                share.sockets[worker].local_addr(),
                share.sockets[0].local_addr(),
            )
        assert_equal(len(share.heirs(3)), 0)


def test_no_socket_is_left_alone_when_there_are_fewer_workers() raises:
    comptime if not IS_MACOS:
        var share = _share(5, True)
        for count in range(1, 6):
            var owners = List[Int]()
            for worker in range(count):
                owners.extend(share.of(worker, count))
            assert_equal(len(owners), 5)
            for socket in range(5):
                assert_true(socket in owners)
        assert_equal(share.heirs(4), [0])
        assert_equal(share.heirs(2), [0, 1])
        assert_equal(share.heirs(1), [0])


def test_shared_socket_belongs_to_all() raises:
    var share = _share(4, False)
    assert_true(share.is_shared)
    assert_equal(len(share.sockets), 1)
    for worker in range(4):
        assert_equal(share.of(worker, 4), [0])
    assert_equal(len(share.heirs(1)), 0)
    assert_equal(share.fds(), [share.sockets[0].fd()])


def test_workers_may_have_no_sockets() raises:
    var share = ListenerShare(List[RawSocket](), True)
    share.provide(8)
    assert_equal(len(share.sockets), 0)
    assert_equal(len(share.of(0, 8)), 0)


def test_port_stays_closed_to_others_until_it_is_shared() raises:
    comptime if not IS_MACOS:
        var first = RawSocket.listen_tcp(SocketAddr.localhost(0))
        var is_refused = False
        try:
            _ = RawSocket.listen_tcp(first.local_addr())
        except error:
            is_refused = "in use" in String(error)
        assert_true(is_refused and first.is_open())
