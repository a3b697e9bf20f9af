"""The life of a connection as a table, edge by edge."""

from flare.http.server.config import ServerConfig
from flare.http.server.connection.connection import Connection
from flare.http.server.connection.phase import (
    Event,
    NextAction,
    Phase,
    action_after,
    phase_of,
)
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Edge(ImplicitlyCopyable):
    var phase: Phase
    var event: Event
    var next: Phase
    var action: NextAction


def _add(
    mut edges: List[_Edge],
    phases: List[Phase],
    event: Event,
    next: Phase,
    action: NextAction,
):
    for phase in phases:
        edges.append(_Edge(phase, event, next, action))


def _stays(
    mut edges: List[_Edge], phase: Phase, event: Event, action: NextAction
):
    edges.append(_Edge(phase, event, phase, action))


def _life() -> List[_Edge]:
    """All that may happen to a connection, told from the connection's side."""
    comptime WAIT = NextAction.WAIT
    var edges = List[_Edge]()
    # A client comes, perhaps through a proxy, perhaps with TLS.
    _add(edges, [Phase.CLOSED], Event.ACCEPTED, Phase.HEAD, WAIT)
    _add(edges, [Phase.HEAD], Event.TLS_BEGUN, Phase.HANDSHAKE, WAIT)
    var before: List[Phase] = [Phase.HEAD, Phase.HANDSHAKE]
    _add(edges, before, Event.PROXY_NAMED, Phase.PROXY, WAIT)
    var proxy: List[Phase] = [Phase.PROXY]
    _add(edges, proxy, Event.PROXY_READ, Phase.HEAD, NextAction.YIELD)
    _add(edges, proxy, Event.TLS_BEGUN, Phase.HANDSHAKE, NextAction.YIELD)
    _add(edges, [Phase.HANDSHAKE], Event.HANDSHAKE_DONE, Phase.HEAD, WAIT)
    # Requests come and are answered, in whatever portions and on whatever
    # threads.
    var served: List[Phase] = [
        Phase.IDLE,
        Phase.HEAD,
        Phase.BODY,
        Phase.WRITE,
        Phase.HANDLER,
        Phase.SOURCE,
    ]
    _add(edges, served, Event.HEAD_STARTED, Phase.HEAD, WAIT)
    _add(edges, served, Event.BODY_AWAITED, Phase.BODY, WAIT)
    _add(edges, served, Event.ALL_ANSWERED, Phase.IDLE, WAIT)
    _add(edges, served, Event.WRITE_BLOCKED, Phase.WRITE, WAIT)
    _add(edges, served, Event.SOURCE_EMPTY, Phase.SOURCE, WAIT)
    _add(edges, served, Event.OFFLOADED, Phase.HANDLER, WAIT)
    # One too many is refused, before its proxy has said anything.
    _add(edges, proxy, Event.WRITE_BLOCKED, Phase.WRITE, WAIT)
    # The end.
    var open: List[Phase] = served.copy()
    open.extend([Phase.HANDSHAKE, Phase.PROXY, Phase.STREAMS])
    _add(edges, open, Event.LAST_SENT, Phase.LINGER, NextAction.YIELD)
    open.append(Phase.LINGER)
    _add(edges, open, Event.CLOSED, Phase.CLOSED, NextAction.CLOSE)
    # A client that speaks HTTP/2 does so to the end.
    var fresh: List[Phase] = [Phase.IDLE, Phase.HEAD]
    _add(edges, fresh, Event.HTTP2_BEGUN, Phase.STREAMS, WAIT)
    # What it has not taken of the end is waited for as of any other.
    _add(edges, [Phase.STREAMS], Event.WRITE_BLOCKED, Phase.WRITE, WAIT)
    # Deadlines: only who waits for an answer gets one.
    var timeout = Event.TIMED_OUT
    for phase in [Phase.IDLE, Phase.HANDSHAKE, Phase.PROXY, Phase.LINGER]:
        _stays(edges, phase, timeout, NextAction.CLOSE)
    for phase in [Phase.HEAD, Phase.BODY, Phase.HANDLER]:
        _stays(edges, phase, timeout, NextAction.REFUSE)
    _stays(edges, Phase.WRITE, timeout, NextAction.MEASURE)
    for phase in [Phase.SOURCE, Phase.STREAMS]:
        _stays(edges, phase, timeout, NextAction.ASK)
    # The server stops: what is under way is finished.
    var drain = Event.DRAIN_BEGUN
    for phase in [Phase.BODY, Phase.HANDLER, Phase.LINGER]:
        _stays(edges, phase, drain, WAIT)
    for phase in [Phase.IDLE, Phase.HEAD, Phase.HANDSHAKE, Phase.PROXY]:
        _stays(edges, phase, drain, NextAction.HASTEN)
    for phase in [Phase.WRITE, Phase.SOURCE, Phase.STREAMS]:
        _stays(edges, phase, drain, NextAction.ASK)
    return edges^


def test_every_edge_and_no_other() raises:
    var edges = _life()
    var found_count = 0
    for row in range(Phase.COUNT):
        for column in range(Event.COUNT):
            var phase = Phase(UInt8(row))
            var event = Event(UInt8(column))
            var what = String("event ", column, " while ", phase)
            var wanted = Optional[_Edge](None)
            for edge in edges:
                if edge.phase == phase and edge.event == event:
                    assert_true(not wanted, what)
                    wanted = edge
            if not wanted:
                var action = action_after(phase, event)
                assert_true(action == NextAction.NONE, what)
                continue
            found_count += 1
            var next = wanted.value().next
            # Wherever it comes from, it leads to the same one.
            var target = phase_of(event)
            var stays = next == phase and target == Phase(255)
            assert_true(target == next or stays, what)
            assert_true(
                action_after(phase, event) == wanted.value().action, what
            )
    assert_equal(found_count, len(edges))


def test_every_phase_is_reached_and_left() raises:
    var reached = List[Bool](length=Phase.COUNT, fill=False)
    reached[Int(Phase.CLOSED.number)] = True
    for _ in range(Phase.COUNT):
        for edge in _life():
            if reached[Int(edge.phase.number)]:
                reached[Int(edge.next.number)] = True
    for row in range(Phase.COUNT):
        assert_true(reached[row], String(Phase(UInt8(row))))
        if Phase(UInt8(row)) == Phase.CLOSED:
            continue
        # Whoever waits, waits with a deadline, and may go at any time.
        for event in [Event.TIMED_OUT, Event.CLOSED, Event.DRAIN_BEGUN]:
            var action = action_after(Phase(UInt8(row)), event)
            assert_true(action != NextAction.NONE, String(Phase(UInt8(row))))


def test_phases_have_names() raises:
    assert_equal(String(Phase.IDLE), "idle")
    assert_equal(String(Phase.HANDSHAKE), "handshake")
    assert_equal(String(Phase.CLOSED), "closed")


def test_a_connection_goes_by_the_table() raises:
    var config = ServerConfig(body_timeout_ms=50)
    var connection = Connection()
    assert_true(connection.phase == Phase.CLOSED)
    connection.open(RawSocket(owned=-1), SocketAddr.any(0))
    assert_true(connection.phase == Phase.HEAD)
    connection.begin[Event.HEAD_STARTED](1_000, config)
    connection.begin[Event.BODY_AWAITED](1_010, config)
    assert_equal(connection.deadline_ms, 1_060)
    # The same phase of the same request is no new one.
    connection.begin[Event.BODY_AWAITED](1_020, config)
    assert_equal(connection.deadline_ms, 1_060)
    connection.request_count += 1
    connection.begin[Event.BODY_AWAITED](1_020, config)
    assert_equal(connection.deadline_ms, 1_070)
    assert_true(connection.decide(Event.TIMED_OUT) == NextAction.REFUSE)
    connection.begin_idling(1_030, config)
    assert_equal(connection.deadline_ms, 61_030)
    connection.hasten(1_040, config)
    assert_equal(connection.deadline_ms, 2_040)
    assert_true(connection.phase == Phase.IDLE)
    connection.close()
    assert_true(connection.phase == Phase.CLOSED)
