"""What a WebSocket connection is held to if nothing is set."""

from flare.ws.config import WsClientConfig
from tests.support.assertions import assert_false, assert_true


def test_limits_are_on_by_default() raises:
    var config = WsClientConfig()
    for timeout_ms in [
        config.connect_timeout_ms,
        config.read_timeout_ms,
        config.write_timeout_ms,
        config.close_timeout_ms,
    ]:
        assert_true(timeout_ms > 0 and timeout_ms <= 60_000)
    for size_max in [config.max_frame_size, config.max_message_size]:
        assert_true(size_max > 0 and size_max <= 64 << 20)


def test_http2_is_for_those_who_ask() raises:
    var config = WsClientConfig()
    for is_tls in [False, True]:
        assert_false(config.offers_http2(is_tls))
    config.http2 = True
    assert_true(config.offers_http2(True) and not config.offers_http2(False))
    config.http2 = False
    config.http2_prior_knowledge = True
    assert_true(config.offers_http2(False) and not config.offers_http2(True))
