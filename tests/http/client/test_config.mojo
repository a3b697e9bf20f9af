"""Configurations that cannot work are refused with a reason."""

from flare.http.client.client import HttpClient
from flare.http.client.config import (
    ClientConfig,
    PROGRESS_TIMEOUT_MS,
    WHILE_PROGRESSING,
)
from flare.http.client.error import BadRequest
from flare.http.h1.field_section import HeadLimits
from std.testing import assert_equal, assert_false, assert_true


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
    for no_time in [-2, -4]:
        config = ClientConfig()
        config.total_timeout_ms = no_time
        assert_true("total_timeout_ms" in config.problem())
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
