"""When events that were asked for are asked for again, without sockets."""

from flare.http.client.client import HttpClient
from flare.http.client.message.hooks import OutgoingAttempt
from flare.http.client.message.request import ClientRequest
from tests.support.assertions import assert_equal, assert_true


def _refuse(mut attempt: OutgoingAttempt) raises:
    raise Error("no key")


def test_what_a_hook_refuses_is_not_asked_for_again() raises:
    """It is not sent, nor repeated: as for any request."""
    var client = HttpClient()
    var request = ClientRequest("GET", "http+unix://%2Fnowhere%2Fat.all/")
    request.add_hook(_refuse)
    var events = client.events(request^, max_attempts=2)
    var kind = String()
    try:
        _ = events.next()
    except error:
        kind = String(error.kind)
    assert_equal(kind, "HookFailed")
    assert_equal(events.connect_count, 1)
    assert_true(not events.next())
