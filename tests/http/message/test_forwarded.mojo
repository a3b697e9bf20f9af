"""Forwarded (RFC 7239) and X-Forwarded-For."""

from flare.http.message.forwarded import HopsFromNearest, parse_node
from tests.support.assertions import assert_equal, assert_true


def _show(value: StaticString, *, is_forwarded: Bool) -> String:
    """Writes the hops, the nearest first."""
    var text = String()
    for hop in HopsFromNearest(value.as_bytes(), is_forwarded=is_forwarded):
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
            "198.51.100.17:0,, | 192.0.2.43:0,,",
        ),
        _Row(
            "7239-7.1 no space",
            "for=192.0.2.43,for=198.51.100.17",
            "198.51.100.17:0,, | 192.0.2.43:0,,",
        ),
        _Row("7239-6 port", 'for="192.0.2.43:47011"', "192.0.2.43:47011,,"),
        _Row("7239-6 hidden port", 'for="192.0.2.43:_x"', "192.0.2.43:0,,"),
        _Row("7239-6 unknown", "for=unknown", "-,,"),
        _Row("host", 'host="a.example:80";proto=HTTPS', "-,https,a.example:80"),
        _Row("quoted pair", 'host="a\\.b"', "-,,a.b"),
        _Row(
            "comma in quotes",
            'host="a,b";proto=x, for=1.2.3.4',
            "1.2.3.4:0,, | -,x,a,b",
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
        _Row("no value", "for", "-,,"),
        _Row("empty value", "for=", "-,,"),
        _Row("no name", "=1.2.3.4", "-,,"),
        _Row("quote left open", 'for="1.2.3.4', "-,,"),
        _Row("backslash at the end", 'for="1\\', "-,,"),
        _Row("text behind a quote", 'for="1.2.3.4"x', "-,,"),
        _Row("space around =", "for = 1.2.3.4", "-,,"),
        _Row("7239-4 twice", "for=1.2.3.4;for=1.2.3.5", "-,,"),
        _Row("control octet in host", 'host="a\x01"', "-,,"),
    ]
    for row in rows:
        assert_equal(_show(row.text, is_forwarded=True), row.shown, row.rule)


def test_forwarded_for() raises:
    var rows: List[_Row] = [
        _Row("empty", "", ""),
        _Row("one", "203.0.113.7", "203.0.113.7:0,,"),
        _Row(
            "chain",
            "203.0.113.7, 10.0.0.1 ,10.0.0.2",
            "10.0.0.2:0,, | 10.0.0.1:0,, | 203.0.113.7:0,,",
        ),
        _Row("IPv6 bare", "2001:db8::1", "[2001:db8::1]:0,,"),
        _Row("ports", "1.2.3.4:80, [::1]:81", "[::1]:81,, | 1.2.3.4:80,,"),
        _Row("no address", "evil, 1.2.3.4", "1.2.3.4:0,, | -,,"),
        _Row("empty elements", ",,1.2.3.4,", "1.2.3.4:0,,"),
    ]
    for row in rows:
        assert_equal(_show(row.text, is_forwarded=False), row.shown, row.rule)


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


def test_elements_end_where_a_reader_from_the_left_finds() raises:
    # RFC 9110-5.6.4: backslashes and commas in quoted strings.
    var rows: List[_Row] = [
        _Row("comma", 'host="a,b"', "-,,a,b"),
        _Row("quoted quote", 'host="a\\",b", host=c', '-,,c | -,,a",b'),
        _Row("quoted backslash", 'host="a\\\\", host=c', "-,,c | -,,a\\"),
        _Row("both", 'host="a\\\\\\"", host=c', '-,,c | -,,a\\"'),
        _Row("nothing but a quote", 'host="\\"", host=c', '-,,c | -,,"'),
        _Row("empty string", 'host="", host=c', "-,,c | -,,"),
        _Row("commas alone", 'host=",,", host=c', "-,,c | -,,,,"),
    ]
    for row in rows:
        assert_equal(_show(row.text, is_forwarded=True), row.shown, row.rule)


def test_what_stands_before_an_element_has_no_say() raises:
    var octets = List[UInt8]()
    for octet in 'a;=,"\\ 1:[]_'.as_bytes():
        octets.append(octet)
    # All texts of four of these octets.
    for number in range(len(octets) ** 4):
        var rest = number
        var text = List[UInt8]()
        for _ in range(4):
            text.append(octets[rest % len(octets)])
            rest //= len(octets)
        for octet in ',for="[2001:db8::9]:70";proto=https'.as_bytes():
            text.append(octet)
        var hops = HopsFromNearest(Span(text).as_imm(), is_forwarded=True)
        var hop = hops.__next__()
        var is_right = hop.address and hop.proto == "https"
        assert_true(
            is_right and hop.address.value().port == 70,
            String(from_utf8_lossy=text),
        )


def test_hidden_ports() raises:
    # RFC 7239-6.3: obfport = "_" 1*(ALPHA / DIGIT / "." / "_" / "-").
    for text in ["1.2.3.4:_a", "1.2.3.4:_long.hidden-port_7"]:
        var node = parse_node(text.as_bytes())
        assert_true(node and node.value().port == 0, text)
    for text in ["1.2.3.4:_", "1.2.3.4:_a b", "1.2.3.4:_\x01"]:
        assert_true(not parse_node(text.as_bytes()), text)
