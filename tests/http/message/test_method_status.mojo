"""Methods, statuses and versions."""

from flare.http.message.method import Method
from flare.http.message.method_registry import METHOD_COUNT, method_name
from flare.http.message.status import Status
from flare.http.message.request import Version
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_methods() raises:
    assert_true(Method("GET") == Method.GET)
    assert_true(Method("PATCH") == "PATCH")
    assert_false(Method("get") == Method.GET)
    assert_true(Method("BREW") == Method.OTHER)
    assert_equal(String(Method.OPTIONS), "OPTIONS")


def test_every_registered_method_is_found_by_its_name() raises:
    for number in range(1, METHOD_COUNT + 1):
        var method = Method(method_name(number))
        assert_equal(Int(method.number), number)


def test_constants_have_their_names() raises:
    assert_equal(Method.GET.name(), "GET")
    assert_equal(Method.HEAD.name(), "HEAD")
    assert_equal(Method.POST.name(), "POST")
    assert_equal(Method.PUT.name(), "PUT")
    assert_equal(Method.DELETE.name(), "DELETE")
    assert_equal(Method.CONNECT.name(), "CONNECT")
    assert_equal(Method.TRACE.name(), "TRACE")
    assert_equal(Method.PATCH.name(), "PATCH")


def test_statuses() raises:
    assert_true(Status(200) == 200)
    assert_true(Status.NOT_FOUND < 500)
    assert_equal(Status(418).reason(), "")
    assert_equal(Status(404).reason(), "Not Found")
    assert_equal(String(Status(204)), "204")
    assert_false(Status(204).allows_content())
    assert_false(Status(304).allows_content())
    assert_false(Status(101).allows_content())
    assert_true(Status(200).allows_content())


def test_versions() raises:
    assert_true(Version.HTTP_1_0 < Version.HTTP_1_1)
    assert_equal(String(Version(1, 1)), "HTTP/1.1")
