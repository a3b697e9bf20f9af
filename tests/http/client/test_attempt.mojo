"""An attempt whose buffers go from one request to the next."""

from flare.http.client.attempt import Attempt
from flare.http.client.config import ClientConfig
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
        attempt.forget()
        assert_false(attempt.has_response(), answer)
        assert_equal(attempt.moved_len(), 0, answer)
