"""Who is the client: what trusted and other nodes may say."""

from flare.http.client.message.request import ClientRequest
from flare.http.message.forwarded import (
    forwarded_host,
    forwarded_proto,
)
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.trusted_proxies import ForwardedField, TrustedProxies
from flare.http.handler.handler import FnHandler
from flare.net.ip import IpNetwork
from flare.net.socket_addr import SocketAddr
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_false, assert_true


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
            "[::]:0  ",
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
            "[::]:0 https ",
        ),
        _Row(
            "malformed tells nothing",
            "10.0.0.1:1",
            'for="1.2.3.4',
            "[::]:0  ",
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


@fieldwise_init
struct _Hostile(Copyable, Movable):
    """Lines of a field, parted by `|`, that reach a trusted proxy's server."""

    var rule: StaticString
    var lines: String
    var told: StaticString


def _check(field: ForwardedField, name: StaticString, row: _Hostile) raises:
    var client = _client(field)
    client.peer = SocketAddr.parse("10.0.0.1:1")
    var request = ClientRequest("GET", "/")
    for line in row.lines.split("|"):
        request.headers.append(name, line)
    assert_equal(client.send(request^).text(), row.told, row.rule)


# What the proxy itself has told, put behind what its client made up.
comptime _TOLD = StaticString("203.0.113.9:0  ")
comptime _UNKNOWN = StaticString("[::]:0  ")


def test_hostile_x_forwarded_for() raises:
    var rows: List[_Hostile] = [
        _Hostile("32 made up", "6.6.6.6, " * 32 + "203.0.113.9", _TOLD),
        _Hostile("400 made up", "6.6.6.6," * 400 + "203.0.113.9", _TOLD),
        _Hostile("400 empty", "," * 400 + "203.0.113.9", _TOLD),
        _Hostile("32 trusted made up", "10.0.0.9," * 32 + "203.0.113.9", _TOLD),
        _Hostile("as many lines", "6.6.6.6|" * 32 + "203.0.113.9", _TOLD),
        _Hostile("nonsense before", 'x=;"|=\\|203.0.113.9', _TOLD),
        _Hostile("a quote left open", '"6.6.6.6, 203.0.113.9', _TOLD),
        _Hostile("empty elements behind", "203.0.113.9, , ,", _TOLD),
        _Hostile("an empty line behind", "203.0.113.9|", _TOLD),
        _Hostile("a port", "6.6.6.6, 203.0.113.9:70", "203.0.113.9:70  "),
        _Hostile("a hidden port", "203.0.113.9:_longname", _TOLD),
        _Hostile("IPv6", "[2001:db8::9]:70", "[2001:db8::9]:70  "),
        _Hostile("IPv6 bare", "2001:db8::9", "[2001:db8::9]:0  "),
        _Hostile("mapped", "::ffff:203.0.113.9", _TOLD),
        _Hostile("mapped, with a port", "[::ffff:cb00:7109]:0", _TOLD),
        _Hostile(
            "mapped and trusted", "6.6.6.6|203.0.113.9, ::ffff:10.0.0.2", _TOLD
        ),
        _Hostile("hidden", "1.2.3.4, _hidden", _UNKNOWN),
        _Hostile("unknown", "1.2.3.4, unknown", _UNKNOWN),
        _Hostile(
            "unknown behind a proxy", "1.2.3.4, unknown, 10.0.0.2", _UNKNOWN
        ),
        _Hostile(
            "unknown on an earlier line", "1.2.3.4, unknown|10.0.0.2", _UNKNOWN
        ),
        _Hostile("a port beyond", "203.0.113.9:65536", _UNKNOWN),
        _Hostile("a port that is none", "203.0.113.9:", _UNKNOWN),
        _Hostile("a bracket left open", "[2001:db8::9", _UNKNOWN),
        _Hostile("a zone", "fe80::1%eth0", _UNKNOWN),
        _Hostile("a Unix socket's", "unix:", _UNKNOWN),
        _Hostile("a name", "localhost", _UNKNOWN),
        _Hostile("leading zeros", "010.0.0.2", _UNKNOWN),
        _Hostile("one number", "167772162", _UNKNOWN),
        _Hostile("unspecified, which a Unix socket's is", "0.0.0.0", _UNKNOWN),
        _Hostile("unspecified, mapped", "::ffff:0.0.0.0", _UNKNOWN),
        _Hostile("no element at all", ", ,", _UNKNOWN),
        _Hostile("nothing but empty lines", "|", _UNKNOWN),
        _Hostile(
            "all trusted: the outermost", "10.0.0.3|10.0.0.2", "10.0.0.3:0  "
        ),
    ]
    for row in rows:
        _check(ForwardedField.X_FORWARDED_FOR, "X-Forwarded-For", row)


def test_hostile_forwarded() raises:
    # What a client sends stands before what the proxy adds, on its line or on
    # lines of their own.
    for made_up in [
        "x",
        "=",
        "for",
        "for=",
        'for="',
        'for="6.6.6.6',
        'for="6.6.6.6\\"',
        'for="6.6.6.6\\',
        'for=6.6.6.6"',
        "for=6.6.6.6\\",
        'a="b',
        '";"',
        '"',
        ";",
        ",",
        "for=6.6.6.6;for=6.6.6.7",
        "for=10.0.0.9",
        "for=unknown",
        "for=_hidden",
        "for = 6.6.6.6",
    ]:
        for between in [", ", ",", "|", " ,|", ",|,"]:
            var sent = String(made_up, between)
            _check(
                ForwardedField.FORWARDED,
                "Forwarded",
                _Hostile("as it is", sent + "for=203.0.113.9", _TOLD),
            )
            _check(
                ForwardedField.FORWARDED,
                "Forwarded",
                _Hostile(
                    "quoted",
                    sent + 'for="203.0.113.9";proto=https;host="a\\",b"',
                    '203.0.113.9:0 https a",b',
                ),
            )


def test_hostile_forwarded_hops() raises:
    var rows: List[_Hostile] = [
        _Hostile("32 made up", "for=6.6.6.6, " * 32 + "for=203.0.113.9", _TOLD),
        _Hostile("400 made up", "for=a," * 400 + "for=203.0.113.9", _TOLD),
        _Hostile("IPv6", 'x, for="[2001:db8::9]:70"', "[2001:db8::9]:70  "),
        _Hostile("mapped", 'for="[::ffff:203.0.113.9]"', _TOLD),
        _Hostile("7239-6.3", 'for="203.0.113.9:_hidden.port-1"', _TOLD),
        _Hostile("7239-6.3 unknown", "for=1.2.3.4, for=unknown", _UNKNOWN),
        _Hostile("7239-6.3 hidden", 'for=1.2.3.4, for="_gazonk"', _UNKNOWN),
        _Hostile("7239-6.3 with ports", 'for="_gazonk:_p"', _UNKNOWN),
        _Hostile("unknown at a proxy", "for=unknown, for=10.0.0.2", _UNKNOWN),
        _Hostile(
            "malformed at a proxy", "for=1.2.3.4, x|for=10.0.0.2", _UNKNOWN
        ),
        _Hostile("= at a proxy", "=|for=10.0.0.2", _UNKNOWN),
        _Hostile(
            "open quote at a proxy", 'for="1.2.3.4|for=10.0.0.2', _UNKNOWN
        ),
        _Hostile("no 'for'", "by=10.0.0.1", _UNKNOWN),
        _Hostile("no parameter", "for=1.2.3.4, ;", _UNKNOWN),
        _Hostile("7239-4 twice", "for=_x;for=1.2.3.4", _UNKNOWN),
        _Hostile("text behind a quote", 'for="1.2.3.4"x', _UNKNOWN),
        _Hostile("no element at all", ", ,", _UNKNOWN),
        _Hostile("unspecified", 'for="[::]"', _UNKNOWN),
        _Hostile("all trusted", "for=10.0.0.3|for=10.0.0.2", "10.0.0.3:0  "),
    ]
    for row in rows:
        _check(ForwardedField.FORWARDED, "Forwarded", row)


def test_an_unknown_client_is_nobody() raises:
    # What lists of addresses that may do more are made of.
    var unknown = SocketAddr.parse("[::]:0").ip
    for text in [
        "0.0.0.0/0",
        "0.0.0.0/32",
        "10.0.0.0/8",
        "127.0.0.0/8",
        "::1/128",
        "fc00::/7",
        "fe80::/10",
        "2000::/3",
    ]:
        assert_false(IpNetwork.parse(text).contains(unknown), text)
    assert_false(unknown.is_private() or unknown.is_loopback())
    assert_false(unknown.is_link_local())
    assert_true(unknown.is_unspecified())


def test_a_mapped_peer_is_its_ipv4_address() raises:
    var client = _client(ForwardedField.X_FORWARDED_FOR)
    client.peer = SocketAddr.parse("[::ffff:9.9.9.9]:1")
    assert_equal(client.get("/").text(), "9.9.9.9:1  ")
    client.peer = SocketAddr.parse("[::ffff:10.0.0.1]:1")
    assert_equal(client.get("/").text(), "10.0.0.1:1  ")


def test_octets_of_a_client_do_not_hide_what_its_proxy_adds() raises:
    var client = _client(ForwardedField.X_FORWARDED_FOR)
    client.peer = SocketAddr.parse("10.0.0.1:1")
    var made_up: List[UInt8] = [0xFF, 44, 32]
    var request = ClientRequest("GET", "/")
    for name, told in [
        ("X-Forwarded-For", "203.0.113.9"),
        ("X-Forwarded-Proto", "HTTPS"),
        ("X-Forwarded-Host", "a.example"),
    ]:
        request.headers.append(
            name, String(StringSpan(unsafe_from_utf8=made_up), told)
        )
    assert_equal(client.send(request^).text(), "203.0.113.9:0 https a.example")
