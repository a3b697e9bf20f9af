"""Who is the client: what trusted and other nodes may say."""

from flare.http.client.client_request import ClientRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.trusted_proxies import (
    ForwardedField,
    TrustedProxies,
    forwarded_host,
    forwarded_proto,
)
from flare.http.routing.handler import FnHandler
from flare.net.ip_network import IpNetwork
from flare.net.socket_addr import SocketAddr
from flare.testing.test_client import TestClient
from std.testing import assert_equal


def _tell(req: Request) raises -> Response:
    return ok(
        String(req.peer, " ", forwarded_proto(req), " ", forwarded_host(req))
    )


def _client(field: ForwardedField) raises -> TestClient:
    return TestClient(
        TrustedProxies(
            FnHandler(_tell),
            [IpNetwork.parse("10.0.0.0/8"), IpNetwork.parse("fd00::/8")],
            field,
        )
    )


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var peer: StaticString
    var sent: StaticString
    var told: StaticString


def test_x_forwarded_for() raises:
    var rows: List[_Row] = [
        _Row(
            "a stranger is not believed", "9.9.9.9:1", "1.2.3.4", "9.9.9.9:1  "
        ),
        _Row("a proxy is", "10.0.0.1:1", "1.2.3.4", "1.2.3.4:0  "),
        _Row("from the right", "10.0.0.1:1", "6.6.6.6, 1.2.3.4", "1.2.3.4:0  "),
        _Row(
            "through own proxies",
            "10.0.0.1:1",
            "6.6.6.6, 1.2.3.4, 10.0.0.2",
            "1.2.3.4:0  ",
        ),
        _Row(
            "all are trusted: the outermost",
            "10.0.0.1:1",
            "10.0.0.3, 10.0.0.2",
            "10.0.0.3:0  ",
        ),
        _Row(
            "nonsense ends the walk",
            "10.0.0.1:1",
            "1.2.3.4, evil, 10.0.0.2",
            "10.0.0.2:0  ",
        ),
        _Row("nothing sent", "10.0.0.1:1", "", "10.0.0.1:1  "),
        _Row("IPv6", "[fd00::1]:1", "2001:db8::7", "[2001:db8::7]:0  "),
    ]
    var client = _client(ForwardedField.X_FORWARDED_FOR)
    for row in rows:
        client.peer = SocketAddr.parse(row.peer)
        var request = ClientRequest("GET", "/")
        if row.sent.byte_length() > 0:
            request.set_header("X-Forwarded-For", row.sent)
        # The other field is not read.
        request.set_header("Forwarded", "for=7.7.7.7;proto=evil")
        assert_equal(client.send(request^).text(), row.told, row.rule)


def test_forwarded() raises:
    var rows: List[_Row] = [
        _Row(
            "a stranger is not believed",
            "9.9.9.9:1",
            "for=1.2.3.4;proto=https",
            "9.9.9.9:1  ",
        ),
        _Row(
            "a proxy is",
            "10.0.0.1:1",
            'for="1.2.3.4:80";proto=https;host=a.example',
            "1.2.3.4:80 https a.example",
        ),
        _Row(
            "the outermost trusted tells scheme and host",
            "10.0.0.1:1",
            "for=6.6.6.6;proto=evil, for=1.2.3.4;proto=https,"
            " for=10.0.0.2;proto=http",
            "1.2.3.4:0 https ",
        ),
        _Row(
            "hidden ends the walk",
            "10.0.0.1:1",
            "for=1.2.3.4, for=_x;proto=https",
            "10.0.0.1:1 https ",
        ),
        _Row(
            "malformed tells nothing",
            "10.0.0.1:1",
            'for="1.2.3.4',
            "10.0.0.1:1  ",
        ),
    ]
    var client = _client(ForwardedField.FORWARDED)
    for row in rows:
        client.peer = SocketAddr.parse(row.peer)
        var request = ClientRequest("GET", "/")
        request.set_header("Forwarded", row.sent)
        request.set_header("X-Forwarded-For", "7.7.7.7")
        assert_equal(client.send(request^).text(), row.told, row.rule)


def test_lines_are_joined_and_the_nearest_proto_counts() raises:
    var client = _client(ForwardedField.X_FORWARDED_FOR)
    client.peer = SocketAddr.parse("10.0.0.1:1")
    var request = ClientRequest("GET", "/")
    request.headers.append("X-Forwarded-For", "6.6.6.6")
    request.headers.append("X-Forwarded-For", "1.2.3.4, 10.0.0.2")
    request.headers.append("X-Forwarded-Proto", "evil, HTTPS")
    request.headers.append("X-Forwarded-Host", "evil")
    request.headers.append("X-Forwarded-Host", "a.example")
    assert_equal(client.send(request^).text(), "1.2.3.4:0 https a.example")
