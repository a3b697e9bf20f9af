"""How an upstream stands to its group: each phase with each event."""

from flare.http.proxy.upstreams.member import MemberPhase
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Row(Copyable):
    """What each event makes of a phase."""

    var before: MemberPhase
    var drain: MemberPhase
    var leave: MemberPhase
    """With a request that it has to answer."""
    var leave_idle: MemberPhase
    """Without one."""
    var idle: MemberPhase
    """When it has answered its last request."""
    var is_there: Bool
    var is_draining: Bool


def test_every_phase_with_every_event() raises:
    comptime P = MemberPhase
    var rows: List[_Row] = [
        _Row(P.SERVING, P.DRAINING, P.LEAVING, P.GONE, P.SERVING, True, False),
        # What is drained by order stays, to be taken back.
        _Row(P.DRAINING, P.DRAINING, P.LEAVING, P.GONE, P.DRAINING, True, True),
        _Row(P.LEAVING, P.LEAVING, P.LEAVING, P.GONE, P.GONE, True, True),
        _Row(P.GONE, P.GONE, P.GONE, P.GONE, P.GONE, False, False),
    ]
    assert_equal(len(rows), MemberPhase.COUNT)
    for row in rows:
        var told = String("phase ", row.before.number)
        assert_equal(row.before.is_there(), row.is_there, told)
        assert_equal(row.before.is_draining(), row.is_draining, told)
        var phase = row.before
        phase.drain()
        assert_true(phase == row.drain, told)
        phase = row.before
        phase.leave(active_count=1)
        assert_true(phase == row.leave, told)
        phase = row.before
        phase.leave(active_count=0)
        assert_true(phase == row.leave_idle, told)
        phase = row.before
        phase.note_active(0)
        assert_true(phase == row.idle, told)
        phase = row.before
        phase.note_active(1)
        assert_true(phase == row.before, told)
