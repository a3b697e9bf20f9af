"""Challenges that several requests are given at once."""

from flare.http.client.connect.auth import Credentials, DigestAuth
from flare.http.client.exchange.connect_context import Challenges
from flare.http.client.exchange.prepared_request import (
    ClientBase,
    prepare_request,
    PreparedRequest,
    Upload,
)
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.proxy import Proxy
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import ClientResponse
from flare.url.url import Url
from tests.support.assertions import assert_equal, assert_true


def _refusal(
    name: StringSpan, status: Int, realm: String
) raises -> ClientResponse:
    var response = ClientResponse(Url.parse("http://a.test/"))
    response.status = status
    response.headers.set(
        name, String('Digest realm="', realm, '", nonce="n-', realm, '"')
    )
    return response^


def _field(request: PreparedRequest, is_proxy: Bool) raises -> String:
    if is_proxy:
        return request.extras.value()[].digest.value()[].proxy_field
    var value = request.headers.get("authorization")
    return String(value.value()) if value else String()


def test_each_request_answers_its_own() raises:
    """RFC 7616 section 3.4: realm and nonce are those of the challenge that is
    answered, whatever other threads were asked meanwhile."""
    for is_proxy in [False, True]:
        var config = ClientConfig()
        var login = Credentials(DigestAuth("me", "word"))
        var name = "WWW-Authenticate"
        if is_proxy:
            var proxy = Proxy("http://p.test:1")
            swap(proxy.credentials, login)
            config.proxy = proxy
            name = "Proxy-Authenticate"
        var challenges = Challenges()
        challenges.share()
        var requests = List[PreparedRequest]()
        for realm in ["x", "y"]:
            requests.append(
                prepare_request(
                    ClientRequest("GET", String("http://a.test/", realm)),
                    Upload(),
                    ClientBase("", login),
                    Pointer(to=config),
                )
            )
            challenges.answer_request(requests[len(requests) - 1])
        for index in range(2):
            var realm = "x" if index == 0 else "y"
            var refusal = _refusal(name, 407 if is_proxy else 401, realm)
            assert_equal(_field(requests[index], is_proxy), "")
            assert_true(challenges.take(requests[index], refusal, 0))
        for index in range(2):
            ref request = requests[index]
            challenges.answer_request(request)
            var field = _field(request, is_proxy)
            var realm = "x" if index == 0 else "y"
            assert_true(String('nonce="n-', realm, '"') in field, field)
            assert_true(String('realm="', realm, '"') in field, field)


def test_an_answer_goes_with_no_content_that_is_gone() raises:
    """A source gives its content once: a request of which some was sent is not
    sent again, though its challenge could be answered (RFC 9110 section 9.2.2
    has nothing against it)."""
    for is_streamed in [False, True]:
        for sent_len in range(3):
            var config = ClientConfig()
            var challenges = Challenges()
            challenges.share()
            var request = prepare_request(
                ClientRequest("PUT", "http://a.test/x", "ab"),
                Upload(2) if is_streamed else Upload(),
                ClientBase("", Credentials(DigestAuth("me", "word"))),
                Pointer(to=config),
            )
            challenges.answer_request(request)
            var refusal = _refusal("WWW-Authenticate", 401, "x")
            var may_go = sent_len == 0 or not is_streamed
            assert_equal(request.will_authenticate(refusal, sent_len), may_go)
            assert_equal(challenges.take(request, refusal, sent_len), may_go)
