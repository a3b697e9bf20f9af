"""What a WebSocket connection is held to if nothing is set."""

from flare.ws.config import WsClientConfig
from std.testing import assert_true


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
