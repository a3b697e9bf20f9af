"""What has come of a response on a stream: every state with every event."""

from flare.http.client.connect.error import ClientError, NoResponse, Phase
from flare.http.client.exchange.http2_flight import (
    Http2Flight,
    KeptFields,
    StreamAnswer,
    StreamUse,
)
from flare.http.exchange.retry_rules import AttemptEnd
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable):
    var before: StreamAnswer
    var hinted: StreamAnswer
    """Behind 103 (Early Hints)."""
    var asked: StreamAnswer
    """Behind 100 (Continue)."""
    var begun: StreamAnswer
    """Behind the final head."""


def test_every_answer_with_every_event() raises:
    # RFC 9110 section 15.2: any number of interim responses, then a final one.
    comptime A = StreamAnswer
    var rows: List[_Row] = [
        _Row(A.NONE, A.INTERIM, A.CONTINUE, A.HEAD),
        _Row(A.INTERIM, A.INTERIM, A.CONTINUE, A.HEAD),
        # What was asked for is wanted, whatever comes behind.
        _Row(A.CONTINUE, A.CONTINUE, A.CONTINUE, A.HEAD),
        _Row(A.HEAD, A.HEAD, A.HEAD, A.HEAD),
        _Row(A.WHOLE, A.WHOLE, A.WHOLE, A.WHOLE),
    ]
    assert_equal(len(rows), A.COUNT)
    for row in rows:
        var answer = row.before
        answer.note_interim(103)
        assert_true(answer == row.hinted, "103 has come")
        answer = row.before
        answer.note_interim(100)
        assert_true(answer == row.asked, "100 has come")
        answer = row.before
        answer.note_head()
        assert_true(answer == row.begun, "the final head has come")
        answer = row.before
        answer.end()
        assert_true(answer == A.WHOLE, "the stream has ended")


def test_interim_responses_are_kept_for_who_passes_them_on() raises:
    comptime U = StreamUse
    for use in [U.KEPT, U.LENT, U.PASSED_ON]:
        var flight = Http2Flight(1, 0, 0)
        flight.use = use
        assert_false(flight.has_answer())
        flight.note_interim(103, KeptFields())
        assert_true(flight.has_answer())
        assert_equal(len(flight.interim), Int(use == U.PASSED_ON))
        assert_equal(use.is_lent(), use != U.KEPT)


def test_a_failure_behind_a_whole_response_is_none() raises:
    # RFC 9113 section 8.1: a response that is complete counts, even if the
    # stream is reset then.
    for is_whole in [False, True]:
        var flight = Http2Flight(1, 0, 0)
        flight.answer.note_head()
        if is_whole:
            flight.answer.end()
        flight.fail(
            ClientError(
                materialize[Phase.READ_HEAD](),
                materialize[NoResponse](),
                "gone",
            ),
            AttemptEnd.UNTOUCHED,
        )
        assert_equal(flight.failure.__bool__(), not is_whole)
        # What has begun to answer has not left the request untouched.
        var wanted = AttemptEnd.LOST if is_whole else AttemptEnd.BEGUN
        assert_true(flight.fate == wanted)
