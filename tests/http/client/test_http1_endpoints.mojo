"""Which endpoints are remembered to have chosen HTTP/1.1."""

from flare.http.client.connection import Endpoint
from flare.http.client.http1_endpoints import HTTP1_COUNT_MAX, Http1Endpoints
from tests.support.assertions import assert_false, assert_true


def _to(number: Int) -> Endpoint:
    return Endpoint(String("a", number, ".test"), 443)


def test_the_last_choice_counts() raises:
    var known = Http1Endpoints()
    assert_false(_to(1) in known)
    known.add(_to(1))
    known.add(_to(1))
    assert_true(_to(1) in known)
    var other = _to(1)
    other.proxy = "proxy:3128"
    assert_false(other in known)
    # RFC 7301 section 3.2: the server chooses for each connection.
    known.remove(_to(1))
    assert_false(_to(1) in known)
    known.remove(_to(1))


def test_only_so_many_are_remembered() raises:
    var known = Http1Endpoints()
    for number in range(HTTP1_COUNT_MAX + 1):
        known.add(_to(number))
    assert_false(_to(0) in known)
    for number in range(1, HTTP1_COUNT_MAX + 1):
        assert_true(_to(number) in known, String(number))
