"""How far a call has come: every phase with every event."""

from flare.grpc.client.call_phase import CallPhase
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Row(Copyable):
    var before: CallPhase
    var begun: CallPhase
    var answered: CallPhase
    var ended: CallPhase
    """Behind the end of an attempt."""


def test_every_phase_with_every_event() raises:
    # A6 of gRPC: an attempt may be followed by another one, whose response is
    # taken from its head on; a call whose end is known has none.
    comptime P = CallPhase
    var rows: List[_Row] = [
        _Row(P.IDLE, P.SENT, P.IDLE, P.IDLE),
        _Row(P.SENT, P.SENT, P.ANSWERED, P.IDLE),
        _Row(P.ANSWERED, P.SENT, P.ANSWERED, P.IDLE),
        _Row(P.OVER, P.OVER, P.OVER, P.OVER),
    ]
    assert_equal(len(rows), P.COUNT)
    for row in rows:
        var phase = row.before
        phase.begin()
        assert_true(phase == row.begun, "an attempt begins")
        phase = row.before
        phase.take_head()
        assert_true(phase == row.answered, "a head is taken")
        phase = row.before
        phase.end_attempt()
        assert_true(phase == row.ended, "an attempt is over")
        phase = row.before
        phase.end()
        assert_true(phase == P.OVER, "the caller knows")
