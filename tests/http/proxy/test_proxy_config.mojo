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


def test_fields_that_the_connection_writes_cannot_be_set() raises:
    # RFC 9110 sections 7.2 and 7.6.1, RFC 9112 section 6, RFC 9113 section
    # 8.2.2: two of Host or of the framing are how requests are smuggled, and
    # what is about one connection is for who speaks on it to say.
    for name in ["Host", "hOST"]:
        var config = ProxyConfig()
        config.rules.request_fields.set(name, "a")
        _refused(
            config,
            String(
                "rules.request_fields has '",
                name,
                "'; set rules.host, and rules.fixed_host, instead",
            ),
        )
    for name in [
        "Content-Length",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "Keep-Alive",
        "Proxy-Connection",
        "TE",
        "Upgrade",
        "HTTP2-Settings",
        "Expect",
    ]:
        var config = ProxyConfig()
        config.rules.request_fields.set("X-Before", "1")
        config.rules.request_fields.set(name, "1")
        _refused(
            config,
            String(
                "rules.request_fields has '",
                name,
                "', which the gateway writes as each connection needs it; leave"
                " it out",
            ),
        )


def test_other_fields_can_be_set() raises:
    # What is for the upstream, end to end, is the program's to say, though
    # what clients send of it does not pass.
    var urls: List[String] = ["http://127.0.0.1:1"]
    var config = ProxyConfig()
    for name in ["X-Key", "Authorization", "Proxy-Authorization", "Via"]:
        config.rules.request_fields.set(name, "1")
    for name in ["X-Real-IP", "X-Forwarded-Host", "Content-Type", "Hostname"]:
        config.rules.request_fields.set(name, "1")
    assert_true(
        len(ProxyShared(config^, urls).config.rules.request_fields) == 8
    )


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
