"""Forwarded (RFC 7239) and X-Forwarded-For."""

from flare.http.message.forwarded import (
    Hop,
    parse_forwarded,
    parse_forwarded_for,
    parse_node,
)
from std.testing import assert_equal, assert_true


def _show(hops: Optional[List[Hop]]) -> String:
    if not hops:
        return "refused"
    var text = String()
    for ref hop in hops.value():
        if text.byte_length() > 0:
            text.write(" | ")
        if hop.address:
            text.write(hop.address.value())
        else:
            text.write("-")
        text.write(",", hop.proto, ",", hop.host)
    return text^


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    var shown: StaticString


def test_forwarded() raises:
    var rows: List[_Row] = [
        _Row("7239-4 empty", "", ""),
        _Row("7239-4 hidden", 'for="_gazonk"', "-,,"),
        _Row(
            "7239-4 case",
            'For="[2001:db8:cafe::17]:4711"',
            "[2001:db8:cafe::17]:4711,,",
        ),
        _Row(
            "7239-4 several",
            "for=192.0.2.60;proto=http;by=203.0.113.43",
            "192.0.2.60:0,http,",
        ),
        _Row(
            "7239-4 list",
            "for=192.0.2.43, for=198.51.100.17",
            "192.0.2.43:0,, | 198.51.100.17:0,,",
        ),
        _Row(
            "7239-7.1 no space",
            "for=192.0.2.43,for=198.51.100.17",
            "192.0.2.43:0,, | 198.51.100.17:0,,",
        ),
        _Row("7239-6 port", 'for="192.0.2.43:47011"', "192.0.2.43:47011,,"),
        _Row("7239-6 hidden port", 'for="192.0.2.43:_x"', "192.0.2.43:0,,"),
        _Row("7239-6 unknown", "for=unknown", "-,,"),
        _Row("host", 'host="a.example:80";proto=HTTPS', "-,https,a.example:80"),
        _Row("quoted pair", 'host="a\\.b"', "-,,a.b"),
        _Row(
            "comma in quotes",
            'host="a,b";proto=x, for=1.2.3.4',
            "-,x,a,b | 1.2.3.4:0,,",
        ),
        _Row("unknown parameter", "secret=x;for=1.2.3.4", "1.2.3.4:0,,"),
        _Row("empty elements", ", ,for=1.2.3.4,,", "1.2.3.4:0,,"),
        _Row("empty parameters", "for=1.2.3.4;;proto=x;", "1.2.3.4:0,x,"),
        _Row(
            "no quotes, as some write",
            "for=[2001:db8::1]:80",
            "[2001:db8::1]:80,,",
        ),
        _Row("IPv4 in brackets", 'for="[1.2.3.4]"', "-,,"),
        _Row("no value", "for", "refused"),
        _Row("empty value", "for=", "refused"),
        _Row("no name", "=1.2.3.4", "refused"),
        _Row("quote left open", 'for="1.2.3.4', "refused"),
        _Row("backslash at the end", 'for="1\\', "refused"),
        _Row("text behind a quote", 'for="1.2.3.4"x', "refused"),
        _Row("space around =", "for = 1.2.3.4", "refused"),
        _Row("7239-4 twice", "for=1.2.3.4;for=1.2.3.5", "refused"),
        _Row("control octet in host", 'host="a\x01"', "-,,"),
    ]
    for row in rows:
        assert_equal(
            _show(parse_forwarded(row.text.as_bytes())), row.shown, row.rule
        )


def test_forwarded_for() raises:
    var rows: List[_Row] = [
        _Row("empty", "", ""),
        _Row("one", "203.0.113.7", "203.0.113.7:0,,"),
        _Row(
            "chain",
            "203.0.113.7, 10.0.0.1 ,10.0.0.2",
            "203.0.113.7:0,, | 10.0.0.1:0,, | 10.0.0.2:0,,",
        ),
        _Row("IPv6 bare", "2001:db8::1", "[2001:db8::1]:0,,"),
        _Row("ports", "1.2.3.4:80, [::1]:81", "1.2.3.4:80,, | [::1]:81,,"),
        _Row("no address", "evil, 1.2.3.4", "-,, | 1.2.3.4:0,,"),
        _Row("empty elements", ",,1.2.3.4,", "1.2.3.4:0,,"),
    ]
    for row in rows:
        assert_equal(
            _show(parse_forwarded_for(row.text.as_bytes())),
            row.shown,
            row.rule,
        )


def test_nodes_that_are_none() raises:
    for text in [
        "",
        "_x",
        "unknown",
        "1.2.3",
        "1.2.3.4:",
        "1.2.3.4:99999",
        "1.2.3.4:1x",
        "[::1",
        "[::1]x",
        "[::1]:123456",
        "[]",
        ":80",
        "1:2",
        "::1%eth0",
        "1.2.3.4 ",
    ]:
        assert_true(not parse_node(text.as_bytes()), text)


def test_hops_are_bounded() raises:
    var many = "1.2.3.4," * 32
    assert_equal(len(parse_forwarded_for(many.as_bytes()).value()), 32)
    many += "1.2.3.4"
    assert_true(not parse_forwarded_for(many.as_bytes()))
    many = "for=1.2.3.4," * 32
    assert_equal(len(parse_forwarded(many.as_bytes()).value()), 32)
    many += "for=1.2.3.4"
    assert_true(not parse_forwarded(many.as_bytes()))
