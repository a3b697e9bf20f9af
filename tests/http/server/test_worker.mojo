"""Slots, tokens and generations."""

from flare.http.server.connection_table import ConnectionTable
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from tests.support.assertions import assert_equal, assert_true


def test_a_token_never_finds_the_successor_in_its_slot() raises:
    var table = ConnectionTable()
    var peer = SocketAddr.any(0)
    var tokens = List[UInt64]()
    for _ in range(100):
        var slot = table.open(RawSocket.tcp(), peer)
        assert_equal(slot, 0)
        var token = table.token(slot)
        assert_equal(table.find(token), slot)
        for old in tokens:
            assert_equal(table.find(old), -1)
        tokens.append(token)
        table.close(slot)
        assert_equal(table.find(token), -1)
    assert_equal(len(table), 0)
    assert_equal(table.slot_count(), 1)


def test_slots_are_used_again() raises:
    var table = ConnectionTable()
    var peer = SocketAddr.any(0)
    for _ in range(10):
        _ = table.open(RawSocket.tcp(), peer)
    table.close(3)
    table.close(7)
    assert_equal(len(table), 8)
    var reused = table.open(RawSocket.tcp(), peer)
    assert_true(reused == 7 or reused == 3)
    assert_equal(table.slot_count(), 10)
    assert_equal(table.find(UInt64(99)), -1)
