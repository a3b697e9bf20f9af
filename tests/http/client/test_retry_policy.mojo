"""How often a request is sent again, and when (RFC 9110 sections 9.2.2, 10.2.3).
"""

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
    NoResponse,
    Phase,
    SourceFailed,
    TlsFailed,
)
from flare.http.client.message.request import ClientRequest
from flare.http.client.exchange.repetition import end_of
from flare.http.client.message.retry_policy import (
    JitterSource,
    RetryEnd,
    RetryPlan,
    RetryPolicy,
    retry_after_ms,
)
from flare.http.exchange.retry_rules import (
    AttemptEnd,
    EndedAttempt,
    RetryBudget,
)
from flare.http.message.header_map import HeaderMap
from flare.net.error import NetworkErrorKind, Timeout
from flare.tls.error import CertificateExpired, ClosedEarly, TlsErrorKind
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _NOW = 784_111_777
# Sun, 06 Nov 1994 08:49:37 GMT.


@fieldwise_init
struct _Facts(TrivialRegisterPassable):
    var was_sent: Bool
    var has_response: Bool
    var is_idempotent: Bool
    var is_replayable: Bool

    def ended(self, plan: RetryPlan, end: AttemptEnd) -> EndedAttempt:
        return EndedAttempt(
            end,
            self.was_sent,
            self.is_idempotent,
            self.is_replayable,
            False,
            plan.attempt_count,
        )


def _fails(
    mut plan: RetryPlan, facts: _Facts, error: ClientError, left_ms: Int
) -> Bool:
    var end = end_of(
        error, has_response=facts.has_response, fate=AttemptEnd.LOST
    )
    return plan.after_failure(facts.ended(plan, end), left_ms)


def _is_answered(
    mut plan: RetryPlan,
    facts: _Facts,
    status: Int,
    headers: HeaderMap,
    left_ms: Int,
) -> Bool:
    var ended = facts.ended(plan, AttemptEnd.ANSWERED)
    return plan.after_response(ended, status, headers, left_ms)


comptime _SAFE = _Facts(True, False, True, True)


def _policy(max_attempts: Int = 3, reserve: Int = 10) -> RetryPolicy:
    return RetryPolicy(
        max_attempts, budget=RetryBudget(0, reserve), jitter=JitterSource(7)
    )


@fieldwise_init
struct _After(Copyable, Movable):
    var rule: StaticString
    var value: StaticString
    var after_ms: Int


def test_retry_after_has_two_forms() raises:
    var rows: List[_After] = [
        _After("9110-10.2.3 delay-seconds", "120", 120_000),
        _After("9110-10.2.3 none at all", "0", 0),
        _After("9110-10.2.3 a date", "Sun, 06 Nov 1994 08:50:37 GMT", 60_000),
        _After("9110-5.6.7 RFC 850", "Sunday, 06-Nov-94 08:49:40 GMT", 3_000),
        _After("9110-5.6.7 asctime", "Sun Nov  6 08:49:38 1994", 1_000),
        _After("a date that is over", "Sun, 06 Nov 1994 08:00:00 GMT", 0),
        _After("more than any number", "99999999999999999999", 999_999_999_000),
        _After("no number", "soon", -1),
        _After("no fractions", "1.5", -1),
        _After("not negative", "-1", -1),
        _After("nothing", "", -1),
    ]
    for row in rows:
        var headers = HeaderMap()
        headers.set("Retry-After", row.value)
        assert_equal(retry_after_ms(headers, _NOW), row.after_ms, row.rule)
    assert_equal(retry_after_ms(HeaderMap(), _NOW), -1)


def test_jitter_can_be_foretold() raises:
    var first = JitterSource(42)
    var second = JitterSource(42)
    var copied = first
    assert_equal(first.next(), second.next())
    # A copy draws from the same numbers.
    assert_equal(copied.next(), second.next())
    assert_true(JitterSource(42).next() != JitterSource(43).next())
    assert_true(
        JitterSource.from_system().next() != JitterSource.from_system().next()
    )


@fieldwise_init
struct _Failure(Copyable, Movable):
    var rule: StaticString
    var failed: _Facts
    var error: ClientError
    var end: RetryEnd


def _error(
    phase: Phase,
    kind: NetworkErrorKind = materialize[NoResponse](),
    tls_kind: Optional[TlsErrorKind] = None,
) -> ClientError:
    var error = ClientError(phase, kind, "a test")
    error.tls_kind = tls_kind
    return error^


def _rows() -> List[_Failure]:
    var unsent_post = _Facts(False, False, False, True)
    var post = _Facts(True, False, False, True)
    var used_up = _Facts(True, False, True, False)
    var answered = _Facts(True, True, True, True)
    return [
        _Failure(
            "9110-9.2.2 GET", _SAFE, _error(Phase.READ_HEAD), RetryEnd.NONE
        ),
        _Failure("its head", _SAFE, _error(Phase.WRITE), RetryEnd.NONE),
        _Failure(
            "9110-9.2.2 POST", post, _error(Phase.READ_HEAD), RetryEnd.METHOD
        ),
        _Failure(
            "nothing of it was sent",
            unsent_post,
            _error(Phase.CONNECT),
            RetryEnd.NONE,
        ),
        _Failure("no name", unsent_post, _error(Phase.RESOLVE), RetryEnd.NONE),
        _Failure("no proxy", unsent_post, _error(Phase.PROXY), RetryEnd.NONE),
        _Failure(
            "the source is used up",
            used_up,
            _error(Phase.WRITE),
            RetryEnd.CONTENT,
        ),
        _Failure(
            "an answer has begun",
            answered,
            _error(Phase.READ_HEAD),
            RetryEnd.ANSWERED,
        ),
        _Failure(
            "an answer was cut",
            answered,
            _error(Phase.READ_BODY),
            RetryEnd.ANSWERED,
        ),
        _Failure(
            "a handshake was cut off",
            unsent_post,
            _error(
                Phase.TLS,
                materialize[TlsFailed](),
                materialize[ClosedEarly](),
            ),
            RetryEnd.NONE,
        ),
        _Failure(
            "a bad certificate stays bad",
            unsent_post,
            _error(
                Phase.TLS,
                materialize[TlsFailed](),
                materialize[CertificateExpired](),
            ),
            RetryEnd.FAILURE,
        ),
        _Failure(
            "the source has failed",
            _SAFE,
            _error(Phase.WRITE, materialize[SourceFailed]()),
            RetryEnd.FAILURE,
        ),
        _Failure(
            "the request is bad",
            unsent_post,
            _error(Phase.REQUEST, materialize[BadRequest]()),
            RetryEnd.FAILURE,
        ),
        _Failure(
            "a hook refuses what follows an answer",
            answered,
            _error(Phase.REQUEST, materialize[BadRequest]()),
            RetryEnd.FAILURE,
        ),
        _Failure(
            "waiting longer in a queue does not help",
            unsent_post,
            _error(Phase.QUEUE),
            RetryEnd.FAILURE,
        ),
        _Failure(
            "the total time is over",
            _SAFE,
            _error(Phase.TOTAL, materialize[Timeout]()),
            RetryEnd.FAILURE,
        ),
    ]


def test_which_failures_are_repeated() raises:
    var rows = _rows()
    for index in range(len(rows)):
        ref row = rows[index]
        var plan = RetryPlan(_policy())
        var goes_on = _fails(plan, row.failed, row.error, -1)
        assert_equal(goes_on, row.end == RetryEnd.NONE, row.rule)
        assert_equal(plan.is_planned(), goes_on, row.rule)
        assert_true(plan.end == row.end, row.rule)
        # Each end says why.
        assert_equal(plan.end.reason().byte_length() > 0, not goes_on)


def test_a_policy_chooses_the_failures() raises:
    var silent = _error(Phase.READ_HEAD, materialize[Timeout]())
    var lost = _error(Phase.READ_HEAD)
    var refused = _error(Phase.CONNECT)
    for choice in range(3):
        var policy = _policy()
        policy.retries_timeouts = choice != 0
        policy.retries_losses = choice != 1
        policy.retries_connects = choice != 2
        var plan = RetryPlan(policy.copy())
        assert_equal(_fails(plan, _SAFE, silent, -1), choice != 0)
        plan = RetryPlan(policy.copy())
        assert_equal(_fails(plan, _SAFE, lost, -1), choice != 1)
        plan = RetryPlan(policy.copy())
        assert_equal(_fails(plan, _SAFE, refused, -1), choice != 2)


@fieldwise_init
struct _Answer(Copyable, Movable):
    var rule: StaticString
    var status: Int
    var retry_after: StaticString
    var is_idempotent: Bool
    var is_replayable: Bool
    var end: RetryEnd
    var is_planned: Bool


def test_which_answers_are_repeated() raises:
    var rows: List[_Answer] = [
        _Answer("6585-4", 429, "", True, True, RetryEnd.NONE, True),
        _Answer("9110-15.6.3", 502, "", True, True, RetryEnd.NONE, True),
        _Answer("9110-15.6.4", 503, "", True, True, RetryEnd.NONE, True),
        _Answer("9110-15.6.5", 504, "", True, True, RetryEnd.NONE, True),
        _Answer(
            "a fault of its own", 500, "", True, True, RetryEnd.NONE, False
        ),
        _Answer("ours", 404, "", True, True, RetryEnd.NONE, False),
        _Answer("an answer", 200, "", True, True, RetryEnd.NONE, False),
        _Answer(
            "9110-9.2.2 POST", 503, "", False, True, RetryEnd.METHOD, False
        ),
        _Answer("used up", 503, "", True, False, RetryEnd.CONTENT, False),
        _Answer("9110-10.2.3", 503, "1", True, True, RetryEnd.NONE, True),
        _Answer("at most", 503, "2", True, True, RetryEnd.NONE, True),
        _Answer("more", 429, "3", True, True, RetryEnd.RETRY_AFTER, False),
        _Answer(
            "a date far ahead",
            429,
            "Fri, 31 Dec 9999 23:59:59 GMT",
            True,
            True,
            RetryEnd.RETRY_AFTER,
            False,
        ),
        _Answer("no delay", 429, "later", True, True, RetryEnd.NONE, True),
    ]
    for row in rows:
        var policy = _policy()
        policy.max_retry_after_ms = 2_000
        var plan = RetryPlan(policy^)
        var headers = HeaderMap()
        if row.retry_after.byte_length() > 0:
            headers.set("Retry-After", row.retry_after)
        var failed = _Facts(True, True, row.is_idempotent, row.is_replayable)
        var goes_on = _is_answered(plan, failed, row.status, headers, -1)
        assert_equal(goes_on, row.is_planned, row.rule)
        assert_true(plan.end == row.end, row.rule)
        if row.retry_after == "1":
            # The pause that the server asks for, and a random part.
            assert_true(plan.pause_ms >= 1_000 and plan.pause_ms <= 1_200)


def test_statuses_are_the_programs_choice() raises:
    var policy = _policy()
    policy.retried_statuses = [500]
    var plan = RetryPlan(policy^)
    assert_true(_is_answered(plan, _SAFE, 500, HeaderMap(), -1))
    assert_false(_is_answered(plan, _SAFE, 503, HeaderMap(), -1))


def test_attempts_are_counted_to_their_bound() raises:
    var lost = _error(Phase.READ_HEAD)
    for most in range(1, 5):
        var plan = RetryPlan(_policy(max_attempts=most))
        var count = 1
        while _fails(plan, _SAFE, lost, -1):
            _ = plan.begin_pause()
            count += 1
        assert_equal(count, most)
        assert_equal(plan.attempt_count, most)
        assert_true(plan.end == RetryEnd.ATTEMPTS)


def test_pauses_end_before_the_total_time() raises:
    var lost = _error(Phase.READ_HEAD)
    var policy = _policy()
    policy.base_pause_ms = 1 << 20
    policy.max_pause_ms = 1 << 20
    var plan = RetryPlan(policy^)
    assert_false(_fails(plan, _SAFE, lost, 1))
    assert_true(plan.end == RetryEnd.TIME)
    var headers = HeaderMap()
    headers.set("Retry-After", "2")
    plan = RetryPlan(_policy())
    assert_false(_is_answered(plan, _SAFE, 503, headers, 2_000))
    assert_true(plan.end == RetryEnd.TIME)
    assert_equal(plan.policy.budget.left(), 10)


def test_what_is_not_repeated_costs_no_budget() raises:
    var policy = _policy(reserve=1)
    var lost = _error(Phase.READ_HEAD)
    var post = _Facts(True, False, False, True)
    var plan = RetryPlan(policy.copy())
    assert_false(_fails(plan, post, lost, -1))
    assert_equal(policy.budget.left(), 1)
    assert_true(_fails(plan, _SAFE, lost, -1))
    # Copies of a policy have one budget.
    plan = RetryPlan(policy.copy())
    assert_false(_fails(plan, _SAFE, lost, -1))
    assert_true(plan.end == RetryEnd.BUDGET)


def _prepared(
    var request: ClientRequest, config: ClientConfig
) raises -> PreparedRequest:
    return prepare_request(request^, Upload(), ClientBase(), Pointer(to=config))


def test_a_request_may_say_that_twice_is_once() raises:
    var config = ClientConfig()
    assert_false(
        _prepared(ClientRequest("POST", "http://a/"), config).may_be_twice()
    )
    var request = ClientRequest("POST", "http://a/")
    request.is_repeatable = True
    assert_true(_prepared(request^, config).may_be_twice())
    # draft-ietf-httpapi-idempotency-key-header: only if the server knows it.
    for trusts in [False, True]:
        var policy = _policy()
        policy.trusts_idempotency_key = trusts
        config.retries = policy^
        request = ClientRequest("POST", "http://a/")
        assert_false(_prepared(request.copy(), config).may_be_twice())
        request.set_header("Idempotency-Key", "")
        assert_false(_prepared(request.copy(), config).may_be_twice())
        request.set_header("Idempotency-Key", "7")
        assert_equal(_prepared(request^, config).may_be_twice(), trusts)


def test_a_requests_own_policy_wins() raises:
    var config = ClientConfig()
    assert_false(
        _prepared(ClientRequest("GET", "http://a/"), config).has_policy()
    )
    config.retries = _policy(max_attempts=5)
    var request = ClientRequest("GET", "http://a/")
    var copied = request.copy()
    request.set_retries(_policy(max_attempts=2))
    var own = _prepared(request^, config)
    assert_equal(own.extras.value()[].retry.value().policy.max_attempts, 2)
    # A copy that was made before is not changed.
    var other = _prepared(copied^, config)
    assert_equal(other.extras.value()[].retry.value().policy.max_attempts, 5)


def test_policies_that_cannot_work() raises:
    var config = ClientConfig()
    config.retries = RetryPolicy()
    assert_equal(config.problem(), "")
    config.max_retries = 1
    assert_true("max_retries" in config.problem())
    var policy = RetryPolicy(max_attempts=0)
    assert_true("max_attempts" in policy.problem())
    policy = RetryPolicy(max_attempts=101)
    assert_true("max_attempts" in policy.problem())
    policy = RetryPolicy()
    policy.base_pause_ms = -1
    assert_true("pauses" in policy.problem())
    # Two pauses are added up: a day each is enough, and no sum overflows.
    for pause_ms in [86_400_001, Int.MAX]:
        policy = RetryPolicy()
        policy.max_pause_ms = pause_ms
        assert_true("allow 0 to 86400000" in policy.problem())
        policy = RetryPolicy()
        policy.max_retry_after_ms = pause_ms
        assert_true("allow 0 to 86400000" in policy.problem())
    policy = RetryPolicy()
    policy.max_retry_after_ms = 86_400_000
    assert_equal(policy.problem(), "")
    policy = RetryPolicy()
    policy.retried_statuses.append(200)
    assert_true("retried_statuses: 200" in policy.problem())
    assert_true("share" in RetryPolicy(budget=RetryBudget(101)).problem())
    assert_true("reserve" in RetryPolicy(budget=RetryBudget(1, -1)).problem())
    config = ClientConfig()
    config.retries = policy^
    assert_true("retried_statuses" in config.problem())
    var request = ClientRequest("GET", "http://a/")
    request.set_retries(RetryPolicy(max_attempts=0))
    assert_true("max_attempts" in request.problem)
