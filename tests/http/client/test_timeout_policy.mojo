"""How long a request may take: a total, or as long as it makes progress."""

from flare.http.client.exchange.attempt import Attempt
from flare.http.client.exchange.timeout_policy import TimeoutPolicy
from flare.http.client.exchange.prepared_request import PreparedRequest, Upload
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.config import (
    ClientConfig,
    PROGRESS_LEN_MIN,
    PROGRESS_TIMEOUT_MS,
    WHILE_PROGRESSING,
)
from flare.http.client.connect.error import Phase
from flare.http.exchange.request_phase import RequestEvent
from flare.url.url import Url
from flare.net.error import Timeout
from flare.sys.clock import NO_TIMEOUT_MS, Deadline
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_by_default_progress_counts() raises:
    var config = ClientConfig()
    var request = ClientRequest("GET", "http://a/")
    var call = PreparedRequest(
        request^, Url.parse("http://a/"), Upload(), config
    )
    assert_equal(call.timeouts.total.timeout_ms, PROGRESS_TIMEOUT_MS)
    # The time is over; what then?
    call.timeouts.total = Deadline(0)
    call.timeouts.total.timeout_ms = PROGRESS_TIMEOUT_MS
    assert_false(call.timeouts.makes_progress(PROGRESS_LEN_MIN - 1))
    assert_equal(call.timeouts.total.left_ms(), 0)
    assert_true(call.timeouts.makes_progress(PROGRESS_LEN_MIN))
    assert_true(call.timeouts.total.left_ms() > PROGRESS_TIMEOUT_MS // 2)
    # From here on it has to be more.
    assert_false(call.timeouts.makes_progress(2 * PROGRESS_LEN_MIN - 1))
    assert_true(call.timeouts.makes_progress(2 * PROGRESS_LEN_MIN))
    # The next attempt counts from 0.
    call.timeouts.begin_attempt()
    assert_true(call.timeouts.makes_progress(PROGRESS_LEN_MIN))


def test_a_total_that_was_set_is_one() raises:
    for total_ms in [0, 400, NO_TIMEOUT_MS]:
        var policy = TimeoutPolicy(1_000, 1_000, total_ms)
        assert_equal(policy.total.timeout_ms, total_ms)
        assert_false(policy.makes_progress(1 << 30))
    var config = ClientConfig()
    config.total_timeout_ms = 700
    var request = ClientRequest("GET", "http://a/")
    var call = PreparedRequest(
        request.copy(), Url.parse("http://a/"), Upload(), config
    )
    assert_equal(call.timeouts.total.timeout_ms, 700)
    request.total_timeout_ms = WHILE_PROGRESSING
    call = PreparedRequest(request^, Url.parse("http://a/"), Upload(), config)
    assert_true(call.timeouts.makes_progress(PROGRESS_LEN_MIN))


def test_errors_say_what_was_slow() raises:
    var policy = TimeoutPolicy(1_000, 1_000, 0)
    var attempt = Attempt()
    attempt.note(RequestEvent.HEAD)
    attempt.parser.body.taken_len = 12
    var error = policy.overdue_error(attempt)
    var text = String(error)
    assert_true(error.phase == Phase.TOTAL and error.kind == Timeout, text)
    assert_true("total_timeout_ms" in text, text)
    assert_true("12 bytes of content had come" in text, text)
    assert_false("nothing within" in text, text)


def test_times_of_a_response_that_is_read() raises:
    # A default total ends at the head; silence counts behind it.
    var policy = TimeoutPolicy(1_000, 1_000, WHILE_PROGRESSING)
    policy.limit_phases(-2, 700)
    assert_equal(policy.total.timeout_ms, PROGRESS_TIMEOUT_MS)
    assert_equal(policy.read_timeout_ms, 1_000)
    policy.begin_content()
    assert_equal(policy.total.left_ms(), NO_TIMEOUT_MS)
    assert_equal(policy.read_timeout_ms, 700)
    # One that was set goes on.
    policy = TimeoutPolicy(1_000, 1_000, 60_000)
    policy.limit_phases(-2, 700)
    policy.begin_content()
    assert_equal(policy.total.timeout_ms, 60_000)
    # The head has a time of its own, within the total.
    policy = TimeoutPolicy(1_000, 1_000, 60_000)
    policy.limit_phases(5_000, 700)
    assert_equal(policy.total.timeout_ms, 5_000)
    assert_equal(policy.read_timeout_ms, 5_000)
    assert_false(policy.makes_progress(1 << 30))
    policy.begin_content()
    assert_equal(policy.total.timeout_ms, 60_000)
    policy = TimeoutPolicy(1_000, 1_000, 3_000)
    policy.limit_phases(5_000, 700)
    assert_equal(policy.total.timeout_ms, 3_000)
    # Without end, if that is asked for.
    policy = TimeoutPolicy(1_000, 1_000, WHILE_PROGRESSING)
    policy.limit_phases(NO_TIMEOUT_MS, NO_TIMEOUT_MS)
    assert_equal(policy.total.left_ms(), NO_TIMEOUT_MS)
    assert_equal(policy.read_timeout_ms, NO_TIMEOUT_MS)


def test_a_late_head_names_its_own_setting() raises:
    var policy = TimeoutPolicy(1_000, 1_000, WHILE_PROGRESSING)
    policy.limit_phases(0, 700)
    var attempt = Attempt()
    var error = policy.overdue_error(attempt)
    assert_true("within 0 ms; head_timeout_ms allows" in error.reason)
    assert_true(error.phase == Phase.READ_HEAD and error.kind == Timeout)


def test_who_reads_as_it_comes_may_want_progress() raises:
    var policy = TimeoutPolicy(1_000, 1_000, WHILE_PROGRESSING)
    policy.limit_phases(-2, 700)
    policy.keep_progress()
    policy.begin_content()
    assert_equal(policy.total.timeout_ms, PROGRESS_TIMEOUT_MS)
    assert_false(policy.makes_progress(PROGRESS_LEN_MIN - 1))
    assert_true(policy.makes_progress(PROGRESS_LEN_MIN))
    # A total that was set is one.
    policy = TimeoutPolicy(1_000, 1_000, 60_000)
    policy.limit_phases(-2, 700)
    policy.keep_progress()
    policy.begin_content()
    assert_equal(policy.total.timeout_ms, 60_000)
    assert_false(policy.makes_progress(1 << 30))


def test_silence_names_the_setting_that_ended_it() raises:
    """The client's `read_timeout_ms`, or the `idle_timeout_ms` of who reads."""
    var attempt = Attempt()
    attempt.note(RequestEvent.HEAD)
    for idle_ms in [-2, 40]:
        var policy = TimeoutPolicy(60, 1_000, NO_TIMEOUT_MS)
        policy.limit_phases(-2, idle_ms)
        policy.begin_content()
        var own = idle_ms >= 0
        attempt.note(RequestEvent.SENT)
        assert_equal(policy.phase_ms(attempt), 40 if own else 60)
        var text = String(policy.silence_error(attempt))
        assert_equal("idle_timeout_ms allows more" in text, own, text)
        assert_equal("read_timeout_ms" in text, not own, text)
        attempt = Attempt()
        attempt.note(RequestEvent.HEAD)


def test_a_stream_is_waited_for_as_long_as_a_server_that_takes_nothing() raises:
    var policy = TimeoutPolicy(1_000, 50, NO_TIMEOUT_MS)
    assert_equal(policy.stream_wait.left_ms(), -1, "none is waited for")
    policy.begin_stream_wait()
    assert_equal(policy.stream_wait.timeout_ms, 50)
    assert_true(0 <= policy.stream_wait.left_ms() <= 50)
    policy.write_timeout_ms = 0
    policy.begin_stream_wait()
    assert_equal(policy.stream_wait.left_ms(), 0, "a stream at once")
    policy.write_timeout_ms = NO_TIMEOUT_MS
    policy.begin_stream_wait()
    assert_equal(policy.stream_wait.left_ms(), -1, "for ever")
