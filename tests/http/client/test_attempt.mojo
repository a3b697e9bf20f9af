"""An attempt whose buffers go from one request to the next."""

from flare.http.client.exchange.attempt import Attempt, Feeding
from flare.http.client.message.config import ClientConfig
from flare.http.h1.response_parser import ResponseProgress
from flare.http.h1.serialiser import RequestFraming
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_a_request_that_waits_has_no_answer_of_the_last_one() raises:
    """RFC 9110 section 9.2.2: what has failed before it began may go again,
    which is told by whether anything of its own answer has come."""
    var limits = ClientConfig().head_limits
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 103 Early Hints\r\n\r\n",
        "HTTP/1.1 2",
    ]:
        var attempt = Attempt()
        attempt.begin("GET", RequestFraming.none())
        assert_false(attempt.has_response(), answer)
        attempt.parser.body.max_body_size = 100
        attempt.parser.input.append(answer.as_bytes())
        while True:
            var progress = attempt.parser.advance(limits)
            if progress == ResponseProgress.NEEDS_OCTETS or (
                progress == ResponseProgress.END
            ):
                break
        assert_true(attempt.has_response(), answer)
        # As if content had gone out: that of a source would not be there again.
        attempt.content_len = 3
        attempt.forget()
        assert_false(attempt.has_response(), answer)
        assert_equal(attempt.moved_len(), 0, answer)


@fieldwise_init
struct _FeedingRow(Copyable):
    """What each event makes of how a caller stands to a request."""

    var before: Feeding
    var blocked: Feeding
    var dry: Feeding
    var hold: Feeding
    var feed: Feeding


def test_every_feeding_with_every_event() raises:
    comptime F = Feeding
    var rows: List[_FeedingRow] = [
        _FeedingRow(F.NONE, F.NONE, F.ASKED, F.HELD, F.NONE),
        _FeedingRow(F.ASKED, F.NONE, F.ASKED, F.HELD, F.ASKED),
        # What is given when it was waited for was asked for before.
        _FeedingRow(F.HELD, F.NONE, F.ASKED, F.HELD, F.ASKED),
    ]
    assert_equal(len(rows), Feeding.COUNT)
    for row in rows:
        var feeding = row.before
        feeding.note_sent(wants_more=False)
        assert_true(feeding == row.blocked, "something is still on its way")
        feeding = row.before
        feeding.note_sent(wants_more=True)
        assert_true(feeding == row.dry, "all that was there is sent")
        feeding = row.before
        feeding.hold()
        assert_true(feeding == row.hold, "the caller has nothing now")
        feeding = row.before
        feeding.feed()
        assert_true(feeding == row.feed, "the caller gives more")


def test_a_request_whose_caller_has_nothing_waits_for_the_response() raises:
    """RFC 9110 section 7.5: a server may answer before all has been sent."""
    var attempt = Attempt()
    attempt.begin("POST", RequestFraming(10))
    assert_true(attempt.wants_write())
    attempt.feeding.hold()
    assert_false(attempt.wants_write())
    assert_true(attempt.takes_content())
    attempt.feeding.feed()
    assert_true(attempt.wants_write())
    # The next request is not held by this one.
    attempt.feeding.hold()
    attempt.begin("POST", RequestFraming(10))
    assert_true(attempt.wants_write())
