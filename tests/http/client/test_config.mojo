"""Configurations that cannot work are refused with a reason."""

from flare.http.client.client import HttpClient
from flare.http.client.message.config import (
    ClientConfig,
    PROGRESS_TIMEOUT_MS,
    TIME_MAX_MS,
    WHILE_PROGRESSING,
)
from flare.http.client.connect.error import BadRequest
from flare.http.client.message.request import ClientRequest
from flare.http.h1.field_section import HeadLimits
from flare.sys.clock import NO_TIMEOUT_MS
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_the_default_is_finite_and_works() raises:
    var config = ClientConfig()
    assert_equal(config.problem(), "")
    for timeout_ms in [
        config.connect_timeout_ms,
        config.read_timeout_ms,
        config.write_timeout_ms,
        PROGRESS_TIMEOUT_MS,
    ]:
        assert_true(timeout_ms > 0)
    for size_max in [
        config.max_response_size,
        config.max_decoded_size,
        config.max_download_size,
    ]:
        assert_true(size_max > 0 and size_max < 1 << 40)
    assert_equal(config.total_timeout_ms, WHILE_PROGRESSING)
    assert_false(config.strict)
    assert_true(ClientConfig(strict=True).strict)
    assert_equal(config.max_redirects, 10)
    assert_equal(config.max_retries, 0)


def test_problems_name_the_field() raises:
    var config = ClientConfig()
    config.head_limits = HeadLimits(8_192, 60_000, 100)
    assert_true("head_limits" in config.problem())
    config.head_limits = HeadLimits(8_192, 8_192, 0)
    assert_true("head_limits" in config.problem())
    config = ClientConfig()
    config.max_redirects = -1
    assert_true("max_redirects" in config.problem())
    # RFC 9112 sections 3.2 and 6.3: the framing is the client's.
    for name in ["host", "Content-Length", "transfer-encoding"]:
        config = ClientConfig()
        config.headers.set(name, "1")
        assert_true(config.problem().startswith("headers: "), name)
    config = ClientConfig()
    config.max_decoded_size = -1
    assert_true("sizes" in config.problem())
    try:
        _ = HttpClient(config=config^)
    except error:
        assert_true(error.kind == BadRequest)
        return
    raise Error("it was taken")


def _with_time(name: String, time_ms: Int) -> ClientConfig:
    var config = ClientConfig()
    if name == "connect_timeout_ms":
        config.connect_timeout_ms = time_ms
    elif name == "read_timeout_ms":
        config.read_timeout_ms = time_ms
    elif name == "write_timeout_ms":
        config.write_timeout_ms = time_ms
    elif name == "total_timeout_ms":
        config.total_timeout_ms = time_ms
    elif name == "pool.idle_timeout_ms":
        config.pool.idle_timeout_ms = time_ms
    else:
        config.http2_ping_after_ms = time_ms
    return config^


def test_what_is_no_time_is_refused() raises:
    for name in [
        String("connect_timeout_ms"),
        "read_timeout_ms",
        "write_timeout_ms",
        "total_timeout_ms",
        "pool.idle_timeout_ms",
        "http2_ping_after_ms",
    ]:
        for time_ms in [0, 1, NO_TIMEOUT_MS, TIME_MAX_MS]:
            assert_equal(_with_time(name, time_ms).problem(), "", name)
        for time_ms in [-2, -4, -5, TIME_MAX_MS + 1, Int.MAX, Int.MIN]:
            var problem = _with_time(name, time_ms).problem()
            # What was found, and what is allowed.
            assert_true(
                problem.startswith(String(name, ": ", time_ms)), problem
            )
            assert_true("NO_TIMEOUT_MS (-1) for ever" in problem, problem)
    # This one is for the whole of a request alone.
    assert_equal(
        _with_time("total_timeout_ms", WHILE_PROGRESSING).problem(), ""
    )
    assert_true(
        "read_timeout_ms: -3"
        in _with_time("read_timeout_ms", WHILE_PROGRESSING).problem()
    )
    var config = ClientConfig()
    config.retry_base_ms = -1
    assert_true("retry_base_ms" in config.problem())
    config = ClientConfig()
    config.retry_max_ms = -7
    assert_true("-7" in config.problem())
    config = ClientConfig()
    config.pool.max_idle_per_host = -1
    assert_true("max_idle_per_host" in config.problem())


def test_a_request_has_no_such_time_either() raises:
    var client = HttpClient()
    for time_ms in [-5, -4, TIME_MAX_MS + 1]:
        try:
            _ = client.get("http://127.0.0.1:9/", timeout_ms=time_ms)
        except error:
            assert_true(error.kind == BadRequest, String(error))
            assert_true(
                String("total_timeout_ms: ", time_ms) in error.reason,
                error.reason,
            )
            continue
        raise Error("sent with ", time_ms)
    for name in [StaticString("head_timeout_ms"), "idle_timeout_ms"]:
        try:
            _ = client.open(
                "GET",
                "http://127.0.0.1:9/",
                head_timeout_ms=-5 if name == "head_timeout_ms" else 1,
                idle_timeout_ms=-5 if name == "idle_timeout_ms" else 1,
            )
        except error:
            assert_true(error.kind == BadRequest, String(error))
            assert_true(String(name, ": -5") in error.reason, error.reason)
            continue
        raise Error("opened with ", name)
    var request = ClientRequest("GET", "http://127.0.0.1:9/")
    request.max_redirects = -1
    try:
        _ = client.send(request^)
    except error:
        assert_true("max_redirects: -1" in error.reason, error.reason)
        return
    raise Error("less than no redirection")
