"""Which node of a cluster a hub asks next."""

from flare.backplane.redis_way import RedisWay, is_before
from flare.redis.config import RedisConfig
from flare.redis.core.error import RedisError, RedisErrorKind
from tests.support.assertions import assert_equal, assert_false, assert_true


def _way() raises -> RedisWay:
    return RedisWay(RedisConfig.from_url("redis://first:7000"))


def _asked(way: RedisWay) -> String:
    return String(way.config.host, ":", way.config.port)


def test_it_follows_what_a_node_says() raises:
    var way = _way()
    var moved = RedisError(RedisErrorKind.MOVED, "MOVED 3999 10.0.0.2:6381")
    assert_true(way.turns(moved))
    assert_equal(_asked(way), "10.0.0.2:6381")
    # A node that does not know its name means the host that was asked.
    var nameless = RedisError(RedisErrorKind.MOVED, "MOVED 3999 :6382")
    assert_true(way.turns(nameless))
    assert_equal(_asked(way), "10.0.0.2:6382")


def test_a_node_to_which_the_stream_is_on_its_way_is_asked_so() raises:
    """Redis Cluster specification, ASK redirection: the node that it names takes
    the command behind ASKING alone, until the slot is its own."""
    var way = _way()
    assert_false(way.is_asking)
    var ask = RedisError(RedisErrorKind.ASK, "ASK 3999 10.0.0.2:6381")
    assert_true(way.turns(ask))
    assert_equal(_asked(way), "10.0.0.2:6381")
    assert_true(way.is_asking)
    var moved = RedisError(RedisErrorKind.MOVED, "MOVED 3999 10.0.0.3:6381")
    assert_true(way.turns(moved))
    assert_false(way.is_asking)
    assert_true(way.turns(ask))
    assert_true(
        way.turns(RedisError(RedisErrorKind.CONNECT_FAILED, String("gone")))
    )
    assert_equal(_asked(way), "first:7000")
    assert_false(way.is_asking)


def test_it_goes_back_when_the_node_has_gone() raises:
    for kind in [RedisErrorKind.CONNECT_FAILED, RedisErrorKind.CLUSTER_DOWN]:
        var way = _way()
        var gone = RedisError(kind, String("no answer"))
        assert_false(way.turns(gone), "there is no other")
        var moved = RedisError(RedisErrorKind.MOVED, "MOVED 1 10.0.0.2:6381")
        assert_true(way.turns(moved))
        assert_true(way.turns(gone))
        assert_equal(_asked(way), "first:7000")
        assert_false(way.turns(gone))


def test_other_errors_lead_nowhere() raises:
    var way = _way()
    for kind in [
        RedisErrorKind.NO_PERMISSION,
        RedisErrorKind.LOADING,
        RedisErrorKind.ANSWER_LOST,
        RedisErrorKind.TIMEOUT,
    ]:
        assert_false(way.turns(RedisError(kind, String("no"))))
    for text in ["MOVED", "MOVED x", "MOVED 99999 a:1", "MOVED 1 a:0"]:
        assert_false(way.turns(RedisError(RedisErrorKind.MOVED, String(text))))
    assert_equal(_asked(way), "first:7000")


def test_a_unix_socket_is_left_for_a_port() raises:
    var way = RedisWay(RedisConfig.from_url("redis+unix:///run/redis.sock"))
    assert_true(
        way.turns(RedisError(RedisErrorKind.MOVED, "MOVED 1 10.0.0.2:6381"))
    )
    assert_equal(way.config.unix_path, "")
    assert_true(
        way.turns(RedisError(RedisErrorKind.CONNECT_FAILED, String("gone")))
    )
    assert_equal(way.config.unix_path, "/run/redis.sock")


def test_ids_of_a_stream_have_an_order() raises:
    """Redis, Streams: an id is a time in milliseconds and a sequence number,
    each compared as a number."""
    comptime ids = [
        StaticString("0-0"),
        "0-1",
        "9-5",
        "9-10",
        "10-0",
        "1760000000000-0",
        "1760000000000-18446744073709551615",
        "1760000000001-0",
        "18446744073709551615-0",
    ]
    var sorted = materialize[ids]()
    for index in range(len(sorted)):
        for other in range(len(sorted)):
            assert_equal(is_before(sorted[index], sorted[other]), index < other)
