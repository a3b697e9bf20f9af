"""What a URL says, and what no configuration may be."""

from flare.redis.config import RedisConfig
from flare.redis.link import set_address
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)


def test_urls() raises:
    var config = RedisConfig.from_url(
        "redis://us%40er:p%3Aw@cache.example:6380/3?timeout_ms=250&protocol=2"
        "&connect_timeout_ms=70&client_name=web%201"
    )
    assert_equal(config.username, "us@er")
    assert_equal(config.password, "p:w")
    assert_equal(config.host, "cache.example")
    assert_equal(Int(config.port), 6380)
    assert_equal(config.database, 3)
    assert_equal(config.timeout_ms, 250)
    assert_equal(config.connect_timeout_ms, 70)
    assert_equal(config.client_name, "web 1")
    assert_equal(config.protocol, 2)
    assert_false(config.is_tls)


def test_short_urls() raises:
    var config = RedisConfig.from_url("redis://")
    assert_equal(config.server_name(), "127.0.0.1:6379")
    assert_true(RedisConfig.from_url("rediss://a").is_tls)
    assert_equal(RedisConfig.from_url("redis://[::1]:7").host, "::1")
    assert_equal(RedisConfig.from_url("redis://:secret@a").password, "secret")
    assert_equal(RedisConfig.from_url("redis://a?db=2").database, 2)


def test_unix_urls() raises:
    for text in [
        "redis+unix:///run/a%20b.sock?db=1",
        "unix:///run/a%20b.sock?db=1",
    ]:
        var config = RedisConfig.from_url(text)
        assert_equal(config.unix_path, "/run/a b.sock")
        assert_equal(config.database, 1)
        assert_equal(config.server_name(), "/run/a b.sock")


def test_urls_that_are_refused() raises:
    var rows: List[List[String]] = [
        ["http://a", "the scheme of a Redis URL"],
        ["redis", "this is no URL"],
        ["redis://u:secret@a:99999999", "this is no URL"],
        ["redis://a/x", "the database of the Redis URL"],
        ["redis://a/70000", "from 0 to 65535"],
        ["redis://a?protocol=4", "the protocol of the Redis URL"],
        ["redis://a?timeout_ms=-1", "the timeout_ms of the Redis URL"],
        ["redis://a?speed=9", "it takes db, protocol"],
        ["redis://a?db", "is name=value"],
        [
            "redis://a?timeout=5",
            "no parameter 'timeout'; it takes db, protocol",
        ],
        ["redis://a:%zz@b", "two hex digits"],
        ["redis+unix://host/path", "three slashes"],
        ["redis+unix://", "three slashes"],
    ]
    for row in rows:
        var message = String()
        try:
            _ = RedisConfig.from_url(row[0])
        except error:
            message = String(error)
        assert_true(row[1] in message, row[0])
        assert_false("secret" in message, "a password is shown")


def test_values_that_cannot_work() raises:
    var config = RedisConfig()
    config.check()
    config.protocol = 4
    with assert_raises(contains="protocol is 4; allowed is 2 or 3"):
        config.check()
    config = RedisConfig()
    config.database = -1
    with assert_raises(contains="database is -1"):
        config.check()
    config = RedisConfig()
    config.retry_max = -1
    with assert_raises(contains="retry_max"):
        config.check()
    config = RedisConfig()
    config.max_reply_size = 1
    with assert_raises(contains="max_reply_size is 1"):
        config.check()
    config = RedisConfig()
    config.max_reply_elements = 0
    with assert_raises(contains="max_reply_elements is 0"):
        config.check()
    config = RedisConfig()
    config.sentinels = ["a:1"]
    with assert_raises(contains="master_name"):
        config.check()


def test_addresses() raises:
    var config = RedisConfig()
    set_address(config, "a.example:7", 1)
    assert_equal(config.server_name(), "a.example:7")
    set_address(config, "[::1]:8", 1)
    assert_equal(config.host, "::1")
    set_address(config, "b", 26379)
    assert_equal(config.server_name(), "b:26379")
    for text in ["a:", "a:x", "a:0", "a:65536", "a:99999999999999999999"]:
        with assert_raises(contains="is no host:port"):
            set_address(config, text, 1)
