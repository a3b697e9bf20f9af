"""What is known of both sides of a connection: every state with every event."""

from flare.http.server.connection.sides import (
    Backlog,
    ClientSide,
    Ending,
    RequestRow,
    Shutdown,
    SpokenProtocol,
)
from tests.support.assertions import assert_equal, assert_true


def test_an_end_of_the_client_stays() raises:
    var side = ClientSide.OPEN
    side.ends(False)
    assert_true(side == ClientSide.ENDED)
    side.ends(True)
    assert_true(side == ClientSide.FAILED)
    side.ends(False)
    assert_true(side == ClientSide.FAILED)


@fieldwise_init
struct _ProtocolRow(Copyable):
    """What each event makes of what a client speaks, and what it tells."""

    var before: SpokenProtocol
    var http_1_1: SpokenProtocol
    """Behind a handshake without an agreement on HTTP/2."""
    var http_2: SpokenProtocol
    var request: SpokenProtocol
    """Behind a request in place of a handshake."""
    var head: SpokenProtocol
    var is_without_tls: Bool


def test_what_a_client_speaks_is_found_once() raises:
    # RFC 9113 section 3.2: it is agreed on in the handshake, and stays.
    comptime P = SpokenProtocol
    var rows: List[_ProtocolRow] = [
        _ProtocolRow(
            P.UNKNOWN,
            P.HTTP_1_1,
            P.HTTP_2,
            P.WITHOUT_TLS,
            P.HEAD_WITHOUT_TLS,
            False,
        ),
        _stays(P.HTTP_1_1, False),
        _stays(P.HTTP_2, False),
        _stays(P.WITHOUT_TLS, True),
        _stays(P.HEAD_WITHOUT_TLS, True),
    ]
    assert_equal(len(rows), P.COUNT)
    for row in rows:
        for on_http2 in [False, True]:
            var protocol = row.before
            protocol.note_agreement(on_http2)
            assert_true(
                protocol == (row.http_2 if on_http2 else row.http_1_1),
                "the handshake is complete",
            )
        for is_head in [False, True]:
            var protocol = row.before
            protocol.note_no_tls(is_head)
            assert_true(
                protocol == (row.head if is_head else row.request),
                "a request in place of a handshake",
            )
        assert_equal(row.before.is_without_tls(), row.is_without_tls)


def _stays(protocol: SpokenProtocol, is_without_tls: Bool) -> _ProtocolRow:
    return _ProtocolRow(
        protocol, protocol, protocol, protocol, protocol, is_without_tls
    )


@fieldwise_init
struct _BacklogRow(Copyable):
    """What each event makes of a backlog."""

    var before: Backlog
    var unread: Backlog
    var read: Backlog
    var unanswered: Backlog
    var answering: Backlog


def test_every_backlog_with_every_event() raises:
    comptime B = Backlog
    var rows: List[_BacklogRow] = [
        _BacklogRow(B.NONE, B.UNREAD, B.NONE, B.UNANSWERED, B.NONE),
        _BacklogRow(B.UNREAD, B.UNREAD, B.NONE, B.UNANSWERED, B.UNREAD),
        # What the parser has is not taken back by what the socket has not; and
        # behind it the socket is to be read.
        _BacklogRow(
            B.UNANSWERED, B.UNANSWERED, B.UNANSWERED, B.UNANSWERED, B.UNREAD
        ),
    ]
    assert_equal(len(rows), Backlog.COUNT)
    for row in rows:
        var backlog = row.before
        backlog.note_unread()
        assert_true(backlog == row.unread, "octets may wait in the socket")
        backlog = row.before
        backlog.note_read()
        assert_true(backlog == row.read, "the socket is read")
        backlog = row.before
        backlog.leave_unanswered()
        assert_true(backlog == row.unanswered, "the turn is over")
        backlog = row.before
        backlog.begin_answering()
        assert_true(backlog == row.answering, "the next turn")


@fieldwise_init
struct _EndingRow(Copyable):
    var before: Ending
    var read: Ending
    """Behind an end of which the client has been read to the end."""
    var unread: Ending


def test_every_ending_with_every_event() raises:
    # RFC 9112 section 9.6: one that may have sent more is read for a while, and
    # an end is never taken back.
    comptime E = Ending
    var rows: List[_EndingRow] = [
        _EndingRow(E.OPEN, E.CLOSES, E.LINGERS),
        _EndingRow(E.CLOSES, E.CLOSES, E.LINGERS),
        _EndingRow(E.LINGERS, E.LINGERS, E.LINGERS),
    ]
    assert_equal(len(rows), Ending.COUNT)
    for row in rows:
        var ending = row.before
        ending.end(is_unread=False)
        assert_true(ending == row.read, "read to the end")
        ending = row.before
        ending.end(is_unread=True)
        assert_true(ending == row.unread, "not read to the end")


@fieldwise_init
struct _ShutdownRow(Copyable):
    var before: Shutdown
    var announced: Shutdown
    var ended: Shutdown


def test_every_shutdown_with_every_event() raises:
    # RFC 9113 section 6.8: what was announced is not taken back, and a client
    # that opens no more streams need not be told.
    comptime S = Shutdown
    var rows: List[_ShutdownRow] = [
        _ShutdownRow(S.NONE, S.ANNOUNCED, S.OVER),
        _ShutdownRow(S.ANNOUNCED, S.ANNOUNCED, S.OVER),
        _ShutdownRow(S.OVER, S.OVER, S.OVER),
    ]
    assert_equal(len(rows), Shutdown.COUNT)
    for row in rows:
        var shutdown = row.before
        shutdown.announce()
        assert_true(shutdown == row.announced, "the end is announced")
        shutdown = row.before
        shutdown.end()
        assert_true(shutdown == row.ended, "no more streams are taken")


@fieldwise_init
struct _RowRow(Copyable):
    var before: RequestRow
    var followed: RequestRow
    var led: RequestRow
    """Behind others that were answered in the same turn, and before none."""
    var alone: RequestRow
    var waits: RequestRow


def test_every_place_of_a_row_with_every_event() raises:
    comptime R = RequestRow
    var rows: List[_RowRow] = [
        _RowRow(R.ALONE, R.FOLLOWED, R.LAST, R.ALONE, R.LAST),
        _RowRow(R.LAST, R.FOLLOWED, R.LAST, R.ALONE, R.LAST),
        # The one behind one that is followed is of the row.
        _RowRow(R.FOLLOWED, R.FOLLOWED, R.LAST, R.LAST, R.FOLLOWED),
    ]
    assert_equal(len(rows), RequestRow.COUNT)
    for row in rows:
        for has_leaders in [False, True]:
            var place = row.before
            place.advance(has_followers=True, has_leaders=has_leaders)
            assert_true(place == row.followed, "others stand behind it")
        var place = row.before
        place.advance(has_followers=False, has_leaders=True)
        assert_true(place == row.led, "others stand before it")
        place = row.before
        place.advance(has_followers=False)
        assert_true(place == row.alone, "no others came with it")
        place = row.before
        place.outlast_end()
        assert_true(place == row.waits, "its client waits")
        assert_equal(row.before.outlasts_end(), row.before != R.ALONE)
