"""What a request of a client waits for: each phase, and each end of a turn."""

from flare.http.client.exchange.task_phase import TaskPhase, TurnEnd
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Row(Copyable):
    var phase: TaskPhase
    var begins: Bool
    var has_begun: Bool


def test_what_phases_tell() raises:
    comptime P = TaskPhase
    var rows: List[_Row] = [
        _Row(P.STARTING, True, False),
        _Row(P.ALONE, True, False),
        _Row(P.PAUSING, False, False),
        _Row(P.QUEUED, False, False),
        _Row(P.AWAITING, False, False),
        _Row(P.CONNECTING, False, False),
        _Row(P.OPENING, False, False),
        _Row(P.STREAMING, False, True),
        _Row(P.EXCHANGING, False, True),
    ]
    assert_equal(len(rows), TaskPhase.COUNT)
    for index in range(len(rows)):
        ref row = rows[index]
        var told = String("phase ", index)
        assert_equal(Int(row.phase.number), index, told)
        assert_equal(row.phase.begins(), row.begins, told)
        assert_equal(row.phase.has_begun(), row.has_begun, told)


@fieldwise_init
struct _TurnRow(Copyable):
    """What each event makes of the end of a turn."""

    var before: TurnEnd
    var more: TurnEnd
    var done: TurnEnd
    var begun: TurnEnd


def test_every_end_of_a_turn_with_every_event() raises:
    comptime T = TurnEnd
    var rows: List[_TurnRow] = [
        _TurnRow(T.NOTHING, T.PIECE, T.NOTHING, T.NOTHING),
        # The sink has its piece before anything else is read.
        _TurnRow(T.PIECE, T.PIECE, T.NOTHING, T.PIECE),
        _TurnRow(T.GIVES_WAY, T.PIECE, T.NOTHING, T.NOTHING),
    ]
    assert_equal(len(rows), TurnEnd.COUNT)
    for row in rows:
        var turn = row.before
        turn.note_piece(has_more=True)
        assert_true(turn == row.more, "a piece has more")
        turn = row.before
        turn.note_piece(has_more=False)
        assert_true(turn == row.done, "a piece is done")
        turn = row.before
        turn.begin_turn()
        assert_true(turn == row.begun, "the next turn")
