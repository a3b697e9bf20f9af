"""Whether a request is sent once more that an HTTP/2 server has not begun with
(RFC 9113 section 8.7), without sockets."""

from flare.bytes.buffer import Buffer
from flare.http.client.exchange.attempt import Attempt
from flare.http.client.connect.auth import DigestAuth
from flare.http.client.exchange.prepared_request import (
    ClientBase,
    prepare_request,
    PreparedRequest,
    Upload,
)
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import (
    BadRequest,
    ClientError,
    Phase,
    StreamReset,
)
from flare.http.client.exchange.exchange import write_head
from flare.http.client.connect.proxy import Proxy
from flare.http.client.exchange.repetition import (
    REFUSAL_COUNT_MAX,
    plan_repetition,
)
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import ClientResponse
from flare.http.client.message.retry_policy import (
    JitterSource,
    RetryEnd,
    RetryPolicy,
)
from flare.http.exchange.retry_rules import AttemptEnd, RetryBudget
from flare.http.message.header_map import HeaderMap
from flare.net.error import Timeout
from flare.url.url import Url
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _SAFE_FATES: List[AttemptEnd] = [
    AttemptEnd.UNTOUCHED,
    AttemptEnd.LEFT_BEHIND,
]


def _config(max_attempts: Int, reserve: Int = 10) -> ClientConfig:
    var config = ClientConfig()
    config.retries = RetryPolicy(
        max_attempts, budget=RetryBudget(0, reserve), jitter=JitterSource(7)
    )
    return config^


def _request(
    config: ClientConfig, method: String = "POST", upload: Upload = Upload()
) raises -> PreparedRequest:
    return prepare_request(
        ClientRequest(method, "http://a/"),
        upload,
        ClientBase(),
        Pointer(to=config),
    )


def _refused() -> ClientError:
    return ClientError(Phase.READ_HEAD, StreamReset, "REFUSED_STREAM")


def _pause_ms(
    mut request: PreparedRequest,
    config: ClientConfig,
    fate: AttemptEnd,
    *,
    was_sent: Bool = True,
) -> Int:
    var attempt = Attempt()
    attempt.outgoing.sent_count = Int(was_sent)
    return plan_repetition(
        request, attempt, fate, _refused(), config, was_reused=False
    ).pause_ms


def test_a_policy_counts_what_servers_do_not_begin_with() raises:
    var config = _config(max_attempts=3)
    ref budget = config.retries.value().budget
    var request = _request(config)
    # At once, and then with a pause.
    assert_equal(_pause_ms(request, config, AttemptEnd.UNTOUCHED), 0)
    assert_true(_pause_ms(request, config, AttemptEnd.UNTOUCHED) >= 0)
    assert_equal(budget.left(), 8)
    assert_equal(_pause_ms(request, config, AttemptEnd.UNTOUCHED), -1)
    var story = request.story()
    assert_equal(story.attempt_count, 3)
    assert_true(story.retry_end == RetryEnd.ATTEMPTS)
    assert_equal(budget.left(), 8)


def test_one_attempt_is_one() raises:
    var config = _config(max_attempts=1)
    var request = _request(config)
    assert_equal(_pause_ms(request, config, AttemptEnd.UNTOUCHED), -1)
    assert_true(request.story().retry_end == RetryEnd.ATTEMPTS)


def test_a_budget_binds_all_requests_together() raises:
    var config = _config(max_attempts=7, reserve=10)
    var sent_count = 0
    for _ in range(50):
        var request = _request(config)
        sent_count += 1
        while _pause_ms(request, config, AttemptEnd.UNTOUCHED) >= 0:
            sent_count += 1
    assert_equal(sent_count, 60)


def test_a_connection_that_goes_away_is_replaced_once() raises:
    """As one that went stale in the pool: that is no refusal."""
    var config = _config(max_attempts=1, reserve=0)
    var request = _request(config)
    assert_equal(_pause_ms(request, config, AttemptEnd.LEFT_BEHIND), 0)
    assert_equal(_pause_ms(request, config, AttemptEnd.LEFT_BEHIND), -1)
    assert_equal(request.story().attempt_count, 2)
    # Of which nothing was sent has only waited, however often.
    request = _request(config)
    for _ in range(20):
        var pause_ms = _pause_ms(
            request, config, AttemptEnd.LEFT_BEHIND, was_sent=False
        )
        assert_equal(pause_ms, 0)
    assert_equal(request.story().attempt_count, 1)


def test_without_a_policy_there_is_a_small_bound() raises:
    var config = ClientConfig()
    for fate in materialize[_SAFE_FATES]():
        var request = _request(config)
        var count = 0
        assert_equal(_pause_ms(request, config, fate), 0)
        count += 1
        while count < 10 and _pause_ms(request, config, fate) >= 0:
            count += 1
        assert_equal(count, REFUSAL_COUNT_MAX)
        assert_equal(request.story().attempt_count, REFUSAL_COUNT_MAX + 1)
    # A program may ask for more.
    config.max_retries = 5
    var request = _request(config)
    var count = 0
    while _pause_ms(request, config, AttemptEnd.UNTOUCHED) >= 0:
        count += 1
    assert_equal(count, 5)


def test_content_that_is_gone_is_not_sent_again() raises:
    for has_policy in [False, True]:
        var config = _config(3) if has_policy else ClientConfig()
        for fate in materialize[_SAFE_FATES]():
            var request = _request(config, "PUT", Upload(100))
            var attempt = Attempt()
            attempt.outgoing.sent_count = 1
            attempt.content_len = 10
            var next = plan_repetition(
                request, attempt, fate, _refused(), config, was_reused=False
            )
            assert_false(next.is_planned())
            if has_policy:
                assert_true(request.story().retry_end == RetryEnd.CONTENT)


def test_content_that_is_gone_is_sent_again_for_no_status() raises:
    """RFC 9110 section 15.6.4 asks for another attempt; a source gives its
    content once."""
    for is_streamed in [False, True]:
        for sent_len in range(3):
            var config = _config(3)
            var upload = Upload(2) if is_streamed else Upload()
            var request = _request(config, "PUT", upload)
            var response = ClientResponse(Url.parse("http://a/"))
            response.status = 503
            assert_equal(
                request.plans_retry(response, sent_len),
                sent_len == 0 or not is_streamed,
            )


def test_an_error_of_our_own_is_not_repeated() raises:
    """Whatever has become of the connection, and whatever the method."""
    var config = ClientConfig()
    config.max_retries = 3
    var own = ClientError(Phase.REQUEST, BadRequest, "too large")
    var late = ClientError(Phase.QUEUE, Timeout, "no stream")
    for fate in [AttemptEnd.LOST, AttemptEnd.UNTOUCHED, AttemptEnd.LEFT_BEHIND]:
        var request = _request(config, "GET")
        assert_false(
            plan_repetition(
                request, Attempt(), fate, own, config, was_reused=True
            ).is_planned()
        )
    var request = _request(config, "GET")
    assert_false(
        plan_repetition(
            request,
            Attempt(),
            AttemptEnd.LOST,
            late,
            config,
            was_reused=True,
        ).is_planned()
    )
    # A policy says why.
    var with_policy = _config(max_attempts=3)
    var told = _request(with_policy, "GET")
    var fate = AttemptEnd.LEFT_BEHIND
    assert_false(
        plan_repetition(
            told, Attempt(), fate, own, with_policy, was_reused=True
        ).is_planned()
    )
    assert_true(told.story().retry_end == RetryEnd.FAILURE)


def test_http_1_1_is_asked_for_once() raises:
    var config = _config(max_attempts=1)
    var request = _request(config)
    request.endpoint.offers_http2 = True
    assert_equal(_pause_ms(request, config, AttemptEnd.NEEDS_HTTP_1_1), 0)
    assert_false(request.endpoint.offers_http2)


def test_what_has_no_time_left_is_not_sent_again() raises:
    var config = ClientConfig()
    config.total_timeout_ms = 0
    var request = _request(config)
    for fate in materialize[_SAFE_FATES]():
        assert_equal(_pause_ms(request, config, fate), -1)


def test_a_proxy_may_take_what_goes_over_http_1_1_after_all() raises:
    """RFC 9113 section 7: over a tunnel it was HTTP/2. Without one the proxy
    itself is the next server, and what answers its challenges is there."""
    var config = ClientConfig()
    config.headers = HeaderMap()
    config.http2_prior_knowledge = True
    var proxy = Proxy("http://proxy:3128")
    proxy.credentials = DigestAuth("user", "password")
    config.proxy = proxy
    var request = _request(config, "GET")
    assert_false(request.asks_proxy())
    assert_equal(_pause_ms(request, config, AttemptEnd.NEEDS_HTTP_1_1), 0)
    assert_true(request.asks_proxy())
    assert_true(request.has_turn())
    var out = Buffer()
    write_head(request, out, config)
    assert_equal(
        String(StringSpan(unsafe_from_utf8=out.span())),
        "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
    )
