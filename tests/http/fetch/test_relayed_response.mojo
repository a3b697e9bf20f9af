"""What is passed on of a response that others have given."""

from flare.http.client.message.response import ClientResponse
from flare.http.fetch.fetch_later import relayed_response
from flare.url.url import Url
from tests.support.assertions import assert_equal


def test_where_a_response_leads_is_passed_on() raises:
    """RFC 9110 section 10.2.2: of redirections, and of what was created."""
    for status in [200, 201, 301, 302, 303, 307, 308, 404]:
        var answer = ClientResponse(Url.parse("http://u:p@upstream/a/b"))
        answer.status = status
        answer.headers.set("Location", "../c?d")
        var has_one = status == 201 or status // 100 == 3
        var response = relayed_response(answer^)
        assert_equal(response.status, status)
        var found = response.headers.get("location")
        var text = String(found.value()) if found else String()
        # As it stands: nothing of where it was asked is shown.
        assert_equal(text, "../c?d" if has_one else "", String(status))
