"""Hooks of a request: what they change, and what they are told."""

from flare.http.client.exchange.prepared_request import (
    ClientBase,
    prepare_request,
    PreparedRequest,
    Upload,
)
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import (
    ClientError,
    HookFailed,
    NoResponse,
    Phase,
)
from flare.http.client.message.hooks import (
    AnyHook,
    AttemptOutcome,
    ClientHook,
    OutgoingAttempt,
)
from flare.http.client.message.request import ClientRequest, RequestBody
from flare.http.client.message.response import ClientResponse
from flare.http.client.message.retry_policy import RetryPolicy
from flare.sys.mutex import Mutex
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _Lines = Mutex[List[String]]


@fieldwise_init
struct _Counter(ClientHook):
    """Counts itself into a list, from start to end."""

    var lines: _Lines

    def __deinit__(deinit self):
        self._say_goodbye()

    def _say_goodbye(self):
        self.lines.lock()[].append("gone")

    def before_attempt(self, mut attempt: OutgoingAttempt) raises:
        attempt.headers.set("A", String("a", attempt.number))
        self.lines.lock()[].append(String("before ", len(attempt.content)))

    def after_attempt(self, outcome: AttemptOutcome):
        var text = String("after ", outcome.status, " ", len(outcome.headers))
        if outcome.error:
            text.write(" ", outcome.error.value())
        self.lines.lock()[].append(text)


def _refuse(mut attempt: OutgoingAttempt) raises:
    attempt.headers.set("A", "half done")
    raise Error("no key")


def _prepared(
    var request: ClientRequest, config: ClientConfig
) raises -> PreparedRequest:
    return prepare_request(request^, Upload(), ClientBase(), Pointer(to=config))


def test_fields_are_for_one_attempt() raises:
    var lines = _Lines([])
    var config = ClientConfig()
    config.hooks.append(_Counter(lines))
    var request = ClientRequest("POST", "http://a/", RequestBody("content"))
    request.set_header("A", "own")
    var call = _prepared(request^, config)
    for number in range(1, 3):
        call.run_hooks()
        # Until the attempt is over, another start is the same attempt.
        call.run_hooks()
        assert_equal(call.headers.get("a").value(), String("a", number))
        assert_equal(len(call.body.content), 7)
        call.undo_hooks()
        assert_equal(call.headers.get("a").value(), "own")
    assert_equal(lines.lock()[], ["before 7", "before 7"])
    # They keep the hook until here.
    _ = call^
    _ = config^


def _add_key(mut attempt: OutgoingAttempt) raises:
    attempt.headers.set("Idempotency-Key", String(attempt.number))


def test_a_key_of_one_attempt_lets_no_other_follow() raises:
    """RFC 9110 section 9.2.2: the next attempt might have another key, and the server
    act twice."""
    var config = ClientConfig()
    var policy = RetryPolicy()
    policy.trusts_idempotency_key = True
    config.retries = policy^
    var call = _prepared(ClientRequest("POST", "http://a/"), config)
    assert_false(call.may_be_twice())
    config.hooks.append(_add_key)
    call = _prepared(ClientRequest("POST", "http://a/"), config)
    call.run_hooks()
    assert_equal(call.headers.get("idempotency-key").value(), "1")
    assert_false(call.may_be_twice())
    var request = ClientRequest("POST", "http://a/")
    request.set_header("Idempotency-Key", "7")
    call = _prepared(request^, config)
    call.run_hooks()
    assert_true(call.may_be_twice())
    call.undo_hooks()
    assert_true(call.may_be_twice())
    # They keep the hook until here.
    _ = call^
    _ = config^


def test_each_attempt_is_told_once() raises:
    var lines = _Lines([])
    var config = ClientConfig()
    config.hooks.append(_Counter(lines))
    var call = _prepared(ClientRequest("GET", "http://u:p@a/"), config)
    var error = ClientError(Phase.READ_HEAD, materialize[NoResponse](), "x")
    # Nobody is told of what has not begun.
    call.tell_failure(error)
    call.run_hooks()
    var response = ClientResponse(call.url.copy())
    response.status = 204
    response.headers.set("B", "b")
    call.tell_head(response)
    assert_equal(response.headers.get("b").value(), "b")
    call.tell_failure(error)
    call.undo_hooks()
    call.run_hooks()
    call.tell_failure(error)
    call.tell_failure(error)
    assert_equal(
        lines.lock()[],
        [
            "before 0",
            "after 204 1",
            "before 0",
            "after 0 0 http://a/: read head: NoResponse: x",
        ],
    )
    _ = call^
    _ = config^


def test_a_refusal_names_the_hook() raises:
    var config = ClientConfig()
    config.hooks.append(_refuse)
    var call = _prepared(ClientRequest("GET", "http://a/"), config)
    try:
        call.run_hooks()
    except error:
        assert_true(error.kind == HookFailed and "no key" in error.reason)
        assert_false("a" in call.headers)
        return
    raise Error("it was not asked")


def test_copies_of_a_hook_are_one() raises:
    var lines = _Lines([])
    var hook = AnyHook(_Counter(lines))
    var config = ClientConfig()
    config.hooks.append(hook)
    var copied = config.copy()
    config.hooks.clear()
    deinit(hook^)
    assert_equal(len(lines.lock()[]), 0)
    copied.hooks.clear()
    assert_equal(lines.lock()[], ["gone"])


def test_a_requests_hooks_are_its_own() raises:
    var lines = _Lines([])
    var request = ClientRequest("GET", "http://a/")
    var copied = request.copy()
    request.add_hook(_Counter(lines))
    var second = request.copy()
    second.add_hook(_Counter(lines))
    var config = ClientConfig()
    var counts = [0, 1, 2]
    for index in range(3):
        var one = copied.copy()
        if index == 1:
            one = request.copy()
        elif index == 2:
            one = second.copy()
        var call = _prepared(one^, config)
        lines.lock()[].clear()
        call.run_hooks()
        assert_equal(len(lines.lock()[]), counts[index])
