"""What a client was not ready to take, the time it earns by taking it, and slots that
are used again."""

from flare.bytes.never import NEVER
from flare.http.message.body import Body
from flare.http.server.config import ServerConfig
from flare.http.server.connection.connection import (
    Connection,
    PendingWrite,
    WritePace,
)
from flare.http.server.connection.phase import Event, Phase
from flare.http.server.connection.sides import Backlog, ClientSide, Ending
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable):
    var taken: Int
    var octets: StaticString
    var content: StaticString


def test_a_tail_keeps_what_was_not_taken() raises:
    comptime rows = [
        _Row(0, "head", "body"),
        _Row(1, "ead", "body"),
        _Row(4, "", "body"),
        _Row(6, "", "dy"),
        _Row(8, "", ""),
    ]
    for row in materialize[rows]():
        var pending = PendingWrite(Body("body"), "head".as_bytes(), row.taken)
        _check(pending, row)
        # The same, taken from a whole one.
        pending = PendingWrite(Body("body"), "head".as_bytes(), 0)
        pending.drop(row.taken)
        _check(pending, row)


def _check(pending: PendingWrite, row: _Row) raises:
    assert_equal(StringSpan(from_utf8=pending.octets.span()), row.octets)
    assert_equal(StringSpan(from_utf8=pending.body.rest()), row.content)
    assert_equal(pending.is_empty(), row.taken == 8)


def test_a_row_of_requests_is_known_at_each_of_them() raises:
    var connection = Connection()
    ref request = connection.request
    request.row.advance(has_followers=False)
    assert_false(request.row.outlasts_end(), "alone")
    request.row.advance(has_followers=True)
    assert_true(request.row.outlasts_end(), "the first of three")
    request.row.advance(has_followers=True)
    assert_true(request.row.outlasts_end(), "the second")
    request.row.advance(has_followers=False)
    assert_true(request.row.outlasts_end(), "the last")
    request.row.advance(has_followers=False)
    assert_false(request.row.outlasts_end(), "alone behind them")
    request.row.advance(has_followers=False, has_leaders=True)
    assert_true(request.row.outlasts_end(), "behind what was answered at once")
    connection.enter[Event.ACCEPTED]()
    request.row.advance(has_followers=True)
    connection.begin_idling(0, ServerConfig())
    request.row.advance(has_followers=False)
    assert_false(request.row.outlasts_end(), "all were answered before")


def test_an_empty_tail() raises:
    assert_true(PendingWrite().is_empty())


def test_what_is_taken_is_what_the_peer_acknowledged() raises:
    var pace = WritePace()
    assert_false(pace.clock.waits())
    pace.begin(5_000, 7, ServerConfig(write_timeout_ms=100))
    assert_equal(pace.start_ms, 7)
    assert_equal(pace.clock.end_ms, 107)
    assert_equal(pace.taken_len(5_000), 0)
    # The system had no room again, but has delivered some.
    assert_equal(pace.taken_len(3_000), 2_000)
    # It has taken more from us than it has delivered: nothing is lost by it.
    pace.sent_len += 4_000
    assert_equal(pace.taken_len(7_000), 2_000)
    assert_equal(pace.taken_len(0), 9_000)
    # Another wait counts anew.
    pace.begin(0, 9, ServerConfig(write_timeout_ms=100))
    assert_equal(pace.taken_len(0), 0)
    assert_equal(pace.clock.end_ms, 109)


def test_a_queue_that_seems_to_grow_takes_nothing_back() raises:
    # A Unix socket counts what keeps octets, too.
    var config = ServerConfig(write_timeout_ms=1_000, min_send_rate=1_000)
    var pace = WritePace()
    pace.begin(1_000, 0, config)
    pace.sent_len = 500
    assert_false(pace.prolong(2_000, 1_000, config))
    assert_equal(pace.taken_len(2_000), 0)
    assert_true(pace.prolong(1_000, 1_000, config))
    assert_equal(pace.clock.end_ms, 1_500)


def test_a_slot_is_used_again_as_new() raises:
    var connection = Connection()
    connection.generation = 4
    connection.ending.end(is_unread=True)
    connection.backlog.leave_unanswered()
    connection.is_ready = True
    connection.is_woken = True
    connection.client = ClientSide.FAILED
    connection.request_count = 9
    connection.deadline_ms = 7
    connection.request.row.outlast_end()
    connection.open(RawSocket(owned=-1), SocketAddr.any(7))
    # Its events are told apart from those of the one before.
    assert_equal(connection.generation, 4)
    assert_true(connection.phase == Phase.HEAD)
    assert_true(connection.ending == Ending.OPEN)
    assert_true(connection.backlog == Backlog.NONE)
    assert_false(connection.is_ready)
    assert_false(connection.is_woken)
    assert_true(connection.client == ClientSide.OPEN)
    assert_equal(connection.request_count, 0)
    assert_equal(connection.deadline_ms, NEVER)
    assert_false(connection.request.row.outlasts_end())
    assert_equal(Int(connection.peer.port), 7)
