from flare.bytes.never import NEVER
from flare.http.exchange.request_phase import RequestPhase
from flare.http.proxy.upstreams.lateness import UNBOUNDED_MS, HeadTime, wait_ms
from flare.http.proxy.upstreams.proxy_config import ProxyConfig
from flare.sys.clock import coarse_monotonic_ms
from tests.support.assertions import assert_equal, assert_true


def test_every_phase_has_the_time_of_its_own_or_of_somebody_else() raises:
    var config = ProxyConfig()
    config.write_timeout_ms = 5_000
    config.head_timeout_ms = 300
    for number in range(RequestPhase.COUNT):
        var phase = RequestPhase(UInt8(number))
        var expected = UNBOUNDED_MS
        if phase == RequestPhase.SENDING:
            expected = 5_000
        elif phase == RequestPhase.ASKING:
            # A second, or the time for the head if that is less.
            expected = 300
        assert_equal(wait_ms(phase, config), expected)
    config.head_timeout_ms = 60_000
    assert_equal(wait_ms(RequestPhase.ASKING, config), 1_000)


def test_the_time_for_the_head_bounds_every_phase() raises:
    var time = HeadTime()
    assert_equal(time.deadline_ms(UNBOUNDED_MS), NEVER)
    var before_ms = coarse_monotonic_ms()
    time.begin(1_000)
    var due_ms = time.deadline_ms(UNBOUNDED_MS)
    assert_true(before_ms + 1_000 <= due_ms <= coarse_monotonic_ms() + 1_000)
    # A later attempt does not begin it anew.
    time.begin(90_000)
    assert_equal(time.deadline_ms(UNBOUNDED_MS), due_ms)
    assert_equal(time.deadline_ms(90_000), due_ms)
    assert_true(time.deadline_ms(1) < due_ms)
    for number in range(RequestPhase.COUNT):
        var phase = RequestPhase(UInt8(number))
        assert_true(time.late_phase(phase, due_ms - 1) == phase)
        assert_true(time.late_phase(phase, due_ms) == RequestPhase.AWAITING)
