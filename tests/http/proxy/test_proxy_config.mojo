from flare.http.proxy.upstreams.proxy_config import ProxyConfig, ProxyShared
from tests.support.assertions import assert_raises, assert_true


def _day() -> Int:
    return 86_400_000


def _refused(config: ProxyConfig, told: String) raises:
    var urls: List[String] = ["http://127.0.0.1:1"]
    with assert_raises(contains=String("reverse proxy: ", told)):
        _ = ProxyShared(config.copy(), urls)


def test_times_that_cannot_work_are_refused() raises:
    # Each wait has an end: no time is 0, negative, or longer than a day.
    for value in [-1, 0, _day() + 1]:
        var config = ProxyConfig()
        config.connect_timeout_ms = value
        _refused(config, String("connect_timeout_ms is ", value, "; it may be"))
        config = ProxyConfig()
        config.write_timeout_ms = value
        _refused(config, String("write_timeout_ms is ", value, "; it may be"))
        config = ProxyConfig()
        config.head_timeout_ms = value
        _refused(config, String("head_timeout_ms is ", value, "; it may be"))
        config = ProxyConfig()
        config.idle_timeout_ms = value
        _refused(config, String("idle_timeout_ms is ", value, "; it may be"))
        config = ProxyConfig()
        config.http2_ping_timeout_ms = value
        _refused(config, String("http2_ping_timeout_ms is ", value, "; it may"))
    var config = ProxyConfig()
    config.keep_idle_ms = -1
    _refused(config, "keep_idle_ms is -1; it may be from 0 to 86400000")
    config = ProxyConfig()
    config.max_idle_connections = -1
    _refused(config, "max_idle_connections is -1; it may be from 0 to 1048576")
    config = ProxyConfig()
    config.http2_ping_after_ms = -2
    _refused(config, "http2_ping_after_ms is -2; it may be from -1 to 86400000")


def test_the_least_and_the_most_work() raises:
    var urls: List[String] = ["http://127.0.0.1:1"]
    for value in [1, _day()]:
        var config = ProxyConfig()
        config.connect_timeout_ms = value
        config.write_timeout_ms = value
        config.head_timeout_ms = value
        config.idle_timeout_ms = value
        config.keep_idle_ms = value
        config.http2_ping_after_ms = -1
        config.http2_ping_timeout_ms = value
        config.max_idle_connections = 0
        assert_true(len(ProxyShared(config^, urls).config.tls.alpn) == 0)
