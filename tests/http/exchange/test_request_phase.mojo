"""The life of a request to another server: every phase with every event."""

from flare.http.exchange.request_phase import (
    RequestEvent,
    RequestPhase,
    happens,
    phase_after,
)
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime P = RequestPhase
comptime E = RequestEvent


@fieldwise_init
struct _Edge(Copyable, Movable):
    var before: RequestPhase
    var event: RequestEvent
    var after: RequestPhase


def _edges() -> List[_Edge]:
    """What may happen; what is not listed may not."""
    return [
        # An upstream is found at once, or waited for.
        _Edge(P.NEW, E.QUEUE, P.QUEUED),
        _Edge(P.NEW, E.BEGIN, P.CONNECTING),
        _Edge(P.QUEUED, E.BEGIN, P.CONNECTING),
        _Edge(P.PAUSED, E.BEGIN, P.CONNECTING),
        _Edge(P.CONNECTING, E.OPEN, P.SENDING),
        # No octet of a response has come: another attempt may follow.
        _Edge(P.CONNECTING, E.BEGIN, P.CONNECTING),
        _Edge(P.CONNECTING, E.PAUSE, P.PAUSED),
        _Edge(P.SENDING, E.BEGIN, P.CONNECTING),
        _Edge(P.SENDING, E.PAUSE, P.PAUSED),
        _Edge(P.FEEDING, E.BEGIN, P.CONNECTING),
        _Edge(P.FEEDING, E.PAUSE, P.PAUSED),
        _Edge(P.ASKING, E.BEGIN, P.CONNECTING),
        _Edge(P.ASKING, E.PAUSE, P.PAUSED),
        _Edge(P.AWAITING, E.BEGIN, P.CONNECTING),
        _Edge(P.AWAITING, E.PAUSE, P.PAUSED),
        # Whom sending waits for.
        _Edge(P.SENDING, E.BLOCKED, P.SENDING),
        _Edge(P.SENDING, E.DRY, P.FEEDING),
        _Edge(P.SENDING, E.ASKED, P.ASKING),
        _Edge(P.SENDING, E.SENT, P.AWAITING),
        _Edge(P.SENDING, E.BROKEN, P.AWAITING),
        _Edge(P.FEEDING, E.BLOCKED, P.SENDING),
        _Edge(P.FEEDING, E.DRY, P.FEEDING),
        _Edge(P.FEEDING, E.ASKED, P.ASKING),
        _Edge(P.FEEDING, E.SENT, P.AWAITING),
        _Edge(P.FEEDING, E.BROKEN, P.AWAITING),
        # RFC 9110 section 10.1.1: 100 may come late, or unasked.
        _Edge(P.ASKING, E.CONTINUE, P.SENDING),
        _Edge(P.SENDING, E.CONTINUE, P.SENDING),
        _Edge(P.FEEDING, E.CONTINUE, P.FEEDING),
        _Edge(P.AWAITING, E.CONTINUE, P.AWAITING),
        # RFC 9110 section 7.5: a response may begin before the request ends.
        _Edge(P.SENDING, E.HEAD, P.BOTH_WAYS),
        _Edge(P.FEEDING, E.HEAD, P.BOTH_WAYS),
        _Edge(P.SENDING, E.REFUSAL, P.CONTENT),
        _Edge(P.FEEDING, E.REFUSAL, P.CONTENT),
        _Edge(P.ASKING, E.HEAD, P.CONTENT),
        _Edge(P.ASKING, E.REFUSAL, P.CONTENT),
        _Edge(P.AWAITING, E.HEAD, P.CONTENT),
        _Edge(P.AWAITING, E.REFUSAL, P.CONTENT),
        _Edge(P.BOTH_WAYS, E.BLOCKED, P.BOTH_WAYS),
        _Edge(P.BOTH_WAYS, E.DRY, P.BOTH_WAYS),
        _Edge(P.BOTH_WAYS, E.SENT, P.CONTENT),
        # RFC 9110 section 10.1.1: a final answer in place of 100.
        _Edge(P.BOTH_WAYS, E.ASKED, P.CONTENT),
        _Edge(P.BOTH_WAYS, E.BROKEN, P.CONTENT),
    ]


def test_every_pair() raises:
    var edges = _edges()
    for before in range(RequestPhase.COUNT):
        for event in range(RequestEvent.COUNT):
            var phase = RequestPhase(UInt8(before))
            var what = RequestEvent(UInt8(event))
            var expected = -1
            if what == E.END:
                expected = Int(P.OVER.number)
            for edge in edges:
                if edge.before == phase and edge.event == what:
                    expected = Int(edge.after.number)
            var told = String("phase ", before, ", event ", event)
            assert_equal(happens(phase, what), expected >= 0, told)
            if expected >= 0:
                var after = phase_after(phase, what)
                assert_equal(Int(after.number), expected, told)


def test_the_end_is_the_end() raises:
    for event in range(RequestEvent.COUNT):
        var what = RequestEvent(UInt8(event))
        assert_equal(happens(P.OVER, what), what == E.END)


def test_every_phase_is_reached() raises:
    # From the beginning, along edges alone.
    var reached = List[Bool](length=RequestPhase.COUNT, fill=False)
    reached[Int(P.NEW.number)] = True
    for _ in range(RequestPhase.COUNT):
        for phase in range(RequestPhase.COUNT):
            for event in range(RequestEvent.COUNT):
                var before = RequestPhase(UInt8(phase))
                var what = RequestEvent(UInt8(event))
                if reached[phase] and happens(before, what):
                    reached[Int(phase_after(before, what).number)] = True
    for phase in range(RequestPhase.COUNT):
        assert_true(reached[phase], String("phase ", phase))


@fieldwise_init
struct _Facts(Copyable, Movable):
    var phase: RequestPhase
    var is_sending: Bool
    var may_have_head: Bool
    var may_be_late: Bool
    var has_head: Bool


def test_what_phases_tell() raises:
    var rows: List[_Facts] = [
        _Facts(P.NEW, False, False, False, False),
        _Facts(P.QUEUED, False, False, False, False),
        _Facts(P.PAUSED, False, False, False, False),
        _Facts(P.CONNECTING, False, False, True, False),
        _Facts(P.SENDING, True, True, True, False),
        _Facts(P.FEEDING, True, True, False, False),
        _Facts(P.ASKING, False, True, False, False),
        _Facts(P.AWAITING, False, True, True, False),
        _Facts(P.BOTH_WAYS, False, False, False, True),
        _Facts(P.CONTENT, False, False, False, True),
        _Facts(P.OVER, False, False, False, False),
    ]
    assert_equal(len(rows), RequestPhase.COUNT)
    for row in rows:
        var told = String("phase ", row.phase.number)
        assert_equal(row.phase.is_sending(), row.is_sending, told)
        assert_equal(row.phase.may_have_head(), row.may_have_head, told)
        assert_equal(row.phase.may_be_late(), row.may_be_late, told)
        assert_equal(row.phase.has_head(), row.has_head, told)
        assert_false(row.phase.has_head() and row.phase.may_have_head())


def test_what_sending_says_may_happen_while_it_goes_on() raises:
    # `push` tells one of these whenever it is called.
    for phase in [P.SENDING, P.FEEDING, P.BOTH_WAYS]:
        for event in [E.BLOCKED, E.DRY, E.ASKED, E.SENT, E.BROKEN]:
            assert_true(
                happens(phase, event),
                String("phase ", phase.number, ", event ", event.number),
            )
