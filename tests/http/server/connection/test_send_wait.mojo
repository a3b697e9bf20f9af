from flare.http.server.connection.send_wait import SendWait
from tests.support.assertions import assert_true


def test_what_a_stream_waits_for() raises:
    # has_response, has_content, is_shut
    var rows = [
        (False, False, False, SendWait.NOTHING),
        (False, False, True, SendWait.NOTHING),
        (False, True, False, SendWait.NOTHING),
        (False, True, True, SendWait.NOTHING),
        (True, False, False, SendWait.SOURCE),
        # A window that nothing waits for may be shut (RFC 9113 section 6.9.1).
        (True, False, True, SendWait.SOURCE),
        (True, True, False, SendWait.OTHERS),
        (True, True, True, SendWait.WINDOW),
    ]
    for row in rows:
        assert_true(SendWait.of(row[0], row[1], row[2]) == row[3])
