"""The pool that threads share, behind a fork; without connections."""

from flare.http.client.connect.connection import (
    ClientConnection,
    ConnectionSlot,
    Endpoint,
)
from flare.http.client.connect.shared_pool import ConnectionLimits
from flare.http.client.connect.transport import Transport
from flare.http.client.exchange.shared_connections import (
    IdleConnection,
    SharedConnections,
)
from flare.http.exchange.idle_pool import PoolLimits
from flare.net.raw_socket import RawSocket
from tests.support.assertions import assert_equal, assert_false, assert_true
from std.memory import OwnedPointer


def _to() -> Endpoint:
    return Endpoint("a.test", 80)


def _with_an_idle_one() raises -> SharedConnections:
    var connections = SharedConnections(
        ConnectionLimits(), PoolLimits(9, 9, 60_000)
    )
    var host = connections.take(_to(), False, False).value().host
    var connection = OwnedPointer(
        ClientConnection(Transport(RawSocket(owned=-1)), _to())
    )
    connection[].slot = ConnectionSlot(connections, host)
    connections.put(IdleConnection(connection^), -1)
    assert_equal(connections.figures().idle, 1)
    return connections


def test_a_process_takes_nothing_of_another_one() raises:
    # The same process has it.
    var connections = _with_an_idle_one()
    var same = connections.take(_to(), False, False)
    assert_true(Bool(same.value().connection))
    # As a process sees it that was forked from one with another number.
    for joins in [False, True]:
        connections = _with_an_idle_one()
        connections._pool.lock()[].process = 1
        var grant = connections.take(_to(), False, joins)
        assert_false(Bool(grant.value().connection))
        assert_equal(connections.figures().idle, 0)


def test_a_process_closes_nothing_of_another_one() raises:
    """A goodbye would reach the server in the name of both."""
    var connections = _with_an_idle_one()
    connections._pool.lock()[].process = 1
    _ = connections.expire()
    assert_equal(connections.figures().idle, 0)
    connections = _with_an_idle_one()
    connections._pool.lock()[].process = 1
    connections.hold()[].clear()
    # What is forgotten leaves no slot to be given back.
    assert_equal(connections.figures().busy, 0)
    assert_equal(connections.figures().idle, 0)
