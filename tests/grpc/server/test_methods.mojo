"""The table of methods: paths, and what is found by them."""

from flare.grpc.core.status import GrpcStatus
from flare.grpc.server.call import GrpcCall
from flare.grpc.server.services import GrpcServices
from flare.protobuf.known import StringValue
from tests.support.assertions import assert_equal, assert_false, assert_true


def _same(
    request: StringValue, mut call: GrpcCall
) raises GrpcStatus -> StringValue:
    return request.copy()


def _is_added(mut services: GrpcServices, path: String) -> Bool:
    try:
        services.unary[_same](path)
    except:
        return False
    return True


def test_paths() raises:
    var services = GrpcServices()
    var good: List[String] = ["/b.B/Two", "/b.B/One", "/a/M", "/b.Ba/M"]
    for path in good:
        assert_true(_is_added(services, path), path)
        assert_false(_is_added(services, path), "twice")
    var bad: List[String] = [
        "",
        "/",
        "//",
        "/a",
        "/a/",
        "//M",
        "a/M",
        "/a b/M",
        "/a/\u00fc",
    ]
    for path in bad:
        assert_false(_is_added(services, path), path)
    ref methods = services._methods[]
    assert_equal(len(methods), 4)
    for path in good:
        var index = methods.find(path.as_bytes())
        assert_equal(methods.at(index).path, path)
    var nowhere: List[String] = ["", "/", "/b.B/", "/b.B/On", "/c/M", "/A/M"]
    for path in nowhere:
        assert_equal(methods.find(path.as_bytes()), -1, path)
    assert_true(methods.has_service("/b.B/Other".as_bytes()))
    assert_false(methods.has_service("/b./Other".as_bytes()))
    assert_false(methods.has_service("/b.B".as_bytes()))
    assert_false(methods.has_service("".as_bytes()))


def test_many_paths_with_the_same_end() raises:
    """What is looked up by its end alone is still compared as a whole."""
    var services = GrpcServices()
    for number in range(200):
        var path = String("/package.Service", 1000 + number, "/SameMethod")
        assert_true(_is_added(services, path), path)
    ref methods = services._methods[]
    for number in range(400):
        var path = String("/package.Service", 1000 + number, "/SameMethod")
        var index = methods.find(path.as_bytes())
        assert_equal(index, number if number < 200 else -1, path)
