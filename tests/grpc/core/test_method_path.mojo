"""Paths of methods (PROTOCOL-HTTP2.md of gRPC, "Path"; RFC 3986 section 3.3)."""

from flare.grpc.core.method_path import is_method_path
from flare.url.url import Url
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_paths() raises:
    var good: List[String] = [
        "/a/M",
        "/a.b.C/Get_it2",
        "/a/b/M",
        "/a/...",
        "/-._~!$&'()*+,;=:@/M",
    ]
    for path in good:
        assert_true(is_method_path(path.as_bytes()), path)
        var url = Url.parse(String("http://a.test", path))
        assert_equal(String(url.request_target()), path)
    var bad: List[String] = [
        "",
        "/",
        "a/M",
        "/M",
        "//M",
        "/a/",
        "/a//M",
        "/a/M/",
        "/a/../b/M",
        "/a/.",
        "/a/M?b",
        "/a/M#b",
        "/a/M b",
        "/a/M\\b",
        "/a/%2e%2e/b",
        "/a/M\r\nb",
        "/a/\u00fc",
        "/a/\0",
        '/a/"',
        "/a/{",
    ]
    for path in bad:
        assert_false(is_method_path(path.as_bytes()), path)
