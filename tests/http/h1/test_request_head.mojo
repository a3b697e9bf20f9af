"""Request heads: what is accepted, what is refused and where (RFC 9112)."""

from flare.bytes.buffer import Buffer
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.error import RemoteProtocolError, Rule
from flare.http.h1.request_head import RequestHead
from flare.http.message.method import Method
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _LIMITS = HeadLimits(64, 200, 5)


@fieldwise_init
struct _Accepted(Copyable, Movable):
    var rule: StaticString
    var head: StaticString
    var target: StaticString
    var field_count: Int
    var minor_version: Int


@fieldwise_init
struct _Refused(Copyable, Movable):
    var rule: StaticString
    var head: StaticString
    var number: UInt8
    var offset: Int


def _parse_cut(
    text: StringSpan, step: Int, mut head: RequestHead, mut buffer: Buffer
) raises RemoteProtocolError -> Bool:
    """Feeds the text `step` octets at a time."""
    buffer.clear()
    head.begin()
    var octets = text.as_bytes()
    var start = 0
    while start < len(octets):
        var end = min(start + step, len(octets))
        buffer.append(octets[start:end])
        if head.parse(buffer.terminate(), materialize[_LIMITS]()):
            return True
        start = end
    return False


def test_accepts() raises:
    var rows: List[_Accepted] = [
        _Accepted("9112-3", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "/", 1, 1),
        _Accepted(
            "9112-3.2.1 origin-form with query",
            "POST /a?b=c HTTP/1.1\r\nHost: a\r\n\r\n",
            "/a?b=c",
            1,
            1,
        ),
        _Accepted(
            "9112-3.2.2 absolute-form",
            "GET HTTP://a.b/c HTTP/1.1\r\nHost: a\r\n\r\n",
            "HTTP://a.b/c",
            1,
            1,
        ),
        _Accepted(
            "9112-3.2.4 asterisk-form",
            "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
            "*",
            1,
            1,
        ),
        _Accepted("9112-2.3 HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", "/", 0, 0),
        _Accepted(
            "9110-2.5 HTTP/1.7",
            "GET / HTTP/1.7\r\nHost: a\r\n\r\n",
            "/",
            1,
            7,
        ),
        _Accepted(
            "9112-2.2 leading CRLF",
            "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "/",
            1,
            1,
        ),
        _Accepted(
            "9110-5.5 empty value, whitespace, obs-text",
            "GET / HTTP/1.1\r\nHost: a\r\nA: \t\r\nB:\tc d\t \r\nC: \xc3\xa4\r\n\r\n",
            "/",
            4,
            1,
        ),
    ]
    var head = RequestHead()
    var buffer = Buffer(0)
    for row in rows:
        for step in range(1, row.head.byte_length() + 1):
            assert_true(_parse_cut(row.head, step, head, buffer), row.rule)
            var target = buffer.span()[
                head.target_offset : head.target_offset + head.target_len
            ]
            assert_equal(
                StringSpan(unsafe_from_utf8=target), row.target, row.rule
            )
            assert_equal(head.section.count, row.field_count, row.rule)
            assert_equal(Int(head.minor_version), row.minor_version, row.rule)
            assert_equal(head.head_len, row.head.byte_length(), row.rule)


def test_refuses_with_rule_and_offset_however_it_is_cut() raises:
    comptime LONG = "GET / HTTP/1.1\r\nHost: a\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n"
    var rows: List[_Refused] = [
        _Refused("9112-3.1", "G@T / HTTP/1.1\r\n\r\n", Rule.METHOD.number, 1),
        _Refused("9112-3.1 empty", " / HTTP/1.1\r\n", Rule.METHOD.number, 0),
        _Refused("9112-3", "GET\r\n", Rule.METHOD.number, 3),
        _Refused("9112-3", "GET  / HTTP/1.1\r\n", Rule.TARGET.number, 4),
        _Refused("9112-3 HTTP/0.9", "GET /\r\n\r\n", Rule.TARGET.number, 5),
        _Refused("9112-3.2", "GET a HTTP/1.1\r\n", Rule.TARGET.number, 4),
        _Refused("9112-3.2.4", "GET * HTTP/1.1\r\n", Rule.TARGET.number, 4),
        _Refused(
            "9112-3.2.3", "CONNECT /a HTTP/1.1\r\n", Rule.TARGET.number, 8
        ),
        _Refused(
            "9110-9.3.6 no tunnels",
            "CONNECT a.b:80 HTTP/1.1\r\nHost: a\r\n\r\n",
            Rule.TUNNEL.number,
            36,
        ),
        _Refused(
            "9112-3.2.3 no port",
            "CONNECT a.b HTTP/1.1\r\n",
            Rule.TARGET.number,
            8,
        ),
        _Refused(
            "9110-4.2.1 no host",
            "GET http://:80/ HTTP/1.1\r\n",
            Rule.TARGET.number,
            4,
        ),
        _Refused(
            "9112-2.2 a line that ends within the version",
            "GET / HTTP\r\n",
            Rule.VERSION_SYNTAX.number,
            6,
        ),
        _Refused(
            "9112-2.2 a line that ends before it",
            "GET / \r\n",
            Rule.VERSION_SYNTAX.number,
            6,
        ),
        _Refused(
            "9112-2.2 LF before it", "GET / \n", Rule.VERSION_SYNTAX.number, 6
        ),
        _Refused(
            "9112-2.3 cannot go on to a version",
            "GET / HTTP/1.x",
            Rule.VERSION_SYNTAX.number,
            6,
        ),
        _Refused(
            "9112-2.3", "GET / HTTQ/1.1\r\n", Rule.VERSION_SYNTAX.number, 6
        ),
        _Refused(
            "9110-15.6.6", "GET / HTTP/3.0\r\n", Rule.VERSION_MAJOR.number, 6
        ),
        _Refused("9112-2.2", "GET / HTTP/1.1\n", Rule.LINE_END.number, 14),
        _Refused("9112-2.2", "GET / HTTP/1.1\rX", Rule.LINE_END.number, 14),
        _Refused(
            "9112-2.2 bare LF",
            "GET / HTTP/1.1\r\nHost: a\n\r\n",
            Rule.LINE_END.number,
            23,
        ),
        _Refused(
            "9110-5.5 NUL",
            "GET / HTTP/1.1\r\nA: b\0c\r\n\r\n",
            Rule.CONTROL.number,
            20,
        ),
        _Refused(
            "9112-5.1 space",
            "GET / HTTP/1.1\r\nA : b\r\n\r\n",
            Rule.FIELD_NAME.number,
            17,
        ),
        _Refused(
            "9112-5.1 no colon",
            "GET / HTTP/1.1\r\nA\r\n\r\n",
            Rule.FIELD_NAME.number,
            17,
        ),
        _Refused(
            "9112-5.2",
            "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
            Rule.OBS_FOLD.number,
            22,
        ),
        _Refused(
            "9112-3.2 no Host",
            "GET / HTTP/1.1\r\nA: b\r\n\r\n",
            Rule.HOST_MISSING.number,
            24,
        ),
        _Refused(
            "9112-3.2 two Hosts",
            "GET / HTTP/1.1\r\nHost: a\r\nhOST: a\r\n\r\n",
            Rule.HOST_REPEATED.number,
            25,
        ),
        _Refused(
            "9110-4.2.1 an empty host",
            "GET / HTTP/1.1\r\nHost: \r\n\r\n",
            Rule.HOST_VALUE.number,
            22,
        ),
        _Refused(
            "9110-7.2",
            "GET / HTTP/1.1\r\nHost: a,b/\r\n\r\n",
            Rule.HOST_VALUE.number,
            25,
        ),
        _Refused(
            "9112-6.3",
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\n",
            Rule.LENGTH_VALUE.number,
            42,
        ),
        _Refused(
            "9112-6.1",
            "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n",
            Rule.CODING_UNKNOWN.number,
            44,
        ),
        _Refused(
            "fields",
            "GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\n\r\n",
            Rule.FIELD_COUNT.number,
            53,
        ),
        _Refused("6585-5", LONG, Rule.HEADER_LEN.number, 0),
        _Refused(
            "9110-15.5.15",
            "GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            Rule.TARGET_LEN.number,
            68,
        ),
        _Refused(
            "METHOD_LEN_MAX",
            "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMN",
            Rule.METHOD_LEN.number,
            0,
        ),
        _Refused(
            "9112-2.2 empty lines",
            "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n",
            Rule.EMPTY_LINES.number,
            18,
        ),
    ]
    var head = RequestHead()
    var buffer = Buffer(0)
    for row in rows:
        for step in range(1, row.head.byte_length() + 1):
            _check(row, step, _refusal(row.head, step, head, buffer))


def _refusal(
    text: StaticString, step: Int, mut head: RequestHead, mut buffer: Buffer
) -> String:
    try:
        _ = _parse_cut(text, step, head, buffer)
        return "accepted"
    except error:
        return String(error)


def _check(row: _Refused, step: Int, message: String) raises:
    var place = String("(byte ", row.offset, ")")
    var rule = Rule(row.number, 0)
    var name = String(row.rule, " cut at ", step, ": ", message)
    assert_true(message.startswith(rule.text()), name)
    # Where a limit is passed depends on how much has arrived.
    if row.offset > 0:
        assert_true(message.endswith(place), name)


def test_an_unfinished_head_is_no_error() raises:
    comptime HEAD = "PUT /abc HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"
    var head = RequestHead()
    var buffer = Buffer(0)
    for count in range(len(HEAD.as_bytes())):
        buffer.clear()
        head.begin()
        buffer.append(HEAD.as_bytes()[0:count])
        assert_false(
            head.parse(buffer.terminate(), materialize[_LIMITS]()),
            String(count),
        )


def test_fields_are_lent_in_order() raises:
    comptime HEAD = "GET / HTTP/1.1\r\nHost: a\r\nAccept: x\r\naccept:  y \r\n\r\n"
    var head = RequestHead()
    var buffer = Buffer(0)
    _ = _parse_cut(HEAD, 1000, head, buffer)
    var fields = head.section.fields(buffer.span())
    assert_equal(len(fields), 3)
    assert_equal(fields["HOST"], "a")
    assert_equal(fields.get("accept").value(), "x")
    assert_equal(len(fields.get_all("Accept")), 2)
    assert_equal(fields.value(2), "y")
    assert_true("host" in fields)
    assert_false("hos" in fields)
    assert_false(fields.get("none").__bool__())
    _ = head^


@fieldwise_init
struct _Value(Copyable, Movable):
    var rule: StaticString
    var value: StaticString
    var number: UInt8


def _verdict(head: String) -> String:
    """Parses a head whole; "" if it is taken, else the rule that is broken."""
    var parser = RequestHead()
    var buffer = Buffer(0)
    try:
        if _parse_cut(head, head.byte_length(), parser, buffer):
            return ""
        return "unfinished"
    except error:
        return String(error.rule.text())


def _check_values(before: StaticString, rows: List[_Value]) raises:
    for row in rows:
        var head = String(before, row.value, "\r\n\r\n")
        var wanted = String()
        if row.number != 0:
            wanted = String(Rule(row.number, 0).text())
        assert_equal(_verdict(head), wanted, String(row.rule, ": ", row.value))


def test_host_is_a_host_with_an_optional_port() raises:
    comptime GOOD = UInt8(0)
    comptime BAD = Rule.HOST_VALUE.number
    var rows: List[_Value] = [
        _Value("9110-4.2.1 an empty host", "", BAD),
        _Value("9110-4.2.1 an empty host with a port", ":80", BAD),
        _Value("3986-3.2.2 reg-name", "a-b_c.d~e", GOOD),
        _Value("3986-3.2.2 sub-delims", "a!$&'()*+,;=b", GOOD),
        _Value("3986-3.2.2 numbers that are no IPv4", "999.1.1", GOOD),
        _Value("3986-3.2.2 IPv4", "127.0.0.1:8080", GOOD),
        _Value("3986-3.2.3 empty port", "a:", GOOD),
        _Value("3986-3.2.3 highest port", "a:65535", GOOD),
        _Value("3986-3.2.3 zeros before", "a:00080", GOOD),
        _Value("3986-3.2.3 a zero before", "a:080", GOOD),
        _Value("3986-3.2.3 zero", "a:0", GOOD),
        _Value("3986-3.2.3 zeros before, encoded", "%41:080", GOOD),
        _Value("3986-3.2.3 zeros before, IPv6", "[::1]:00443", GOOD),
        _Value("3986-3.2.3 a zero, and no digit", "a:08x", BAD),
        _Value("3986-2.1 encoded", "a%41b%c3%A4", GOOD),
        _Value("3986-2.1 encoded, port", "%41:80", GOOD),
        _Value("3986-3.2.2 IPv6", "[::1]", GOOD),
        _Value("3986-3.2.2 IPv6 with port", "[2001:DB8::1]:443", GOOD),
        _Value("3986-3.2.2 IPv4 in IPv6", "[::ffff:1.2.3.4]", GOOD),
        _Value("3986-3.2.2 IPvFuture", "[v1.a:b]", GOOD),
        _Value("3986-3.2.2 IPvFuture", "[VfF.x]:1", GOOD),
        _Value("9110-4.2.1 no host", ":80", BAD),
        _Value("9110-4.2.1 no host", ":", BAD),
        _Value("3986-3.2.3 beyond the last port", "a:65536", BAD),
        _Value("3986-3.2.3 six digits", "a:123456", BAD),
        _Value("3986-3.2.3 no digit", "a:8x", BAD),
        _Value("3986-3.2.3 sign", "a:-1", BAD),
        _Value("3986-3.2.3 two ports", "a:80:80", BAD),
        _Value("3986-2.1 nothing behind", "a%", BAD),
        _Value("3986-2.1 one digit", "a%4", BAD),
        _Value("3986-2.1 one digit and a port", "a%4:80", BAD),
        _Value("3986-2.1 no hex", "%zz", BAD),
        _Value("3986-2.1 the second", "%41%4g", BAD),
        _Value("3986-3.2.2 open", "[::1", BAD),
        _Value("3986-3.2.2 open", "[", BAD),
        _Value("3986-3.2.2 closed", "::1]", BAD),
        _Value("3986-3.2.2 empty", "[]", BAD),
        _Value("3986-3.2.2 IPv4 in brackets", "[1.2.3.4]", BAD),
        _Value("3986-3.2.2 one group", "[1]", BAD),
        _Value("3986-3.2.2 three colons", "[:::]", BAD),
        _Value("3986-3.2.2 nine groups", "[1:2:3:4:5:6:7:8:9]", BAD),
        _Value("3986-3.2.2 long group", "[::12345]", BAD),
        _Value("3986-3.2.2 zone", "[fe80::1%25eth0]", BAD),
        _Value("3986-3.2.2 zone", "[fe80::1%eth0]", BAD),
        _Value("3986-3.2.2 behind it", "[::1]a", BAD),
        _Value("3986-3.2.2 behind it", "[::1]%41", BAD),
        _Value("3986-3.2.2 before it", "a[::1]", BAD),
        _Value("3986-3.2.2 twice", "[::1][::1]", BAD),
        _Value("3986-3.2.2 IPvFuture without version", "[v.a]", BAD),
        _Value("3986-3.2.2 IPvFuture without address", "[v1.]", BAD),
        _Value("3986-3.2.2 IPvFuture without dot", "[v1]", BAD),
        _Value("3986-3.2.2 IPvFuture, encoded", "[v1.%41]", BAD),
        _Value("3986-3.2.1 userinfo", "a@b", BAD),
        _Value("3986-3.2.2 path", "a/b", BAD),
        _Value("3986-3.2.2 space", "a b", BAD),
        _Value("3986-3.2.2 quote", 'a"b', BAD),
        _Value("3986-3.2.2 not ASCII", "\xc3\xa4", BAD),
        _Value("3986-3.2.2 backslash", "a\\b", BAD),
    ]
    _check_values("GET / HTTP/1.1\r\nHost: ", rows)


def test_transfer_encoding_is_a_list_of_codings() raises:
    comptime GOOD = UInt8(0)
    comptime LAST = Rule.CODING_NOT_FINAL.number
    comptime UNKNOWN = Rule.CODING_UNKNOWN.number
    var rows: List[_Value] = [
        _Value("9112-7.1", "chunked", GOOD),
        _Value("9112-7 case", "Chunked", GOOD),
        _Value("9110-5.6.1 empty elements", ", chunked", GOOD),
        _Value("9110-5.6.1 empty elements", "chunked,", GOOD),
        _Value("9110-5.6.1 empty elements", ",\t, chunked , ,", GOOD),
        _Value("9112-6.3 none", "", LAST),
        _Value("9112-6.3 none", ",", LAST),
        _Value("9112-6.3 twice", "chunked, chunked", LAST),
        _Value("9112-6.3 twice", "chunked,,chunked", LAST),
        _Value("9112-6.3 not last", "chunked, gzip", LAST),
        _Value("9112-6.3 not there", "gzip", LAST),
        _Value("9112-7 no parameters", "chunked;q=1", LAST),
        _Value("9112-7 no parameters", "chunked ; a", LAST),
        _Value("9110-5.6.2 no token", '"chunked"', LAST),
        _Value("9110-5.6.2 no token", "=, chunked", LAST),
        _Value("9112-6.1 known, not here", "gzip, chunked", UNKNOWN),
        _Value("9112-6.1 known, not here", "gzip;a=b, chunked", UNKNOWN),
        _Value("9112-6.1 not known", "identity, chunked", UNKNOWN),
        _Value("9112-6.1 not known", "xchunked", UNKNOWN),
    ]
    _check_values("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ", rows)


def test_expectations_are_a_list() raises:
    comptime BAD = Rule.EXPECTATION.number
    var rows: List[_Value] = [
        _Value("9110-10.1.1", "100-continue", 0),
        _Value("9110-10.1.1 case", "100-Continue", 0),
        _Value("9110-5.3 as in two lines", "100-continue, 100-continue", 0),
        _Value("9110-5.6.1 empty elements", ",100-continue,", 0),
        _Value("9110-5.6.1 none", "", 0),
        _Value("9110-10.1.1 another", "100-continue, a=b", BAD),
        _Value("9110-10.1.1 another", "200-ok", BAD),
    ]
    _check_values("POST / HTTP/1.1\r\nHost: a\r\nExpect: ", rows)


def test_the_method_of_the_last_request_is_forgotten() raises:
    """What answers a broken request must know whether it is HEAD, and not
    take the request before for it."""
    var broken: List[StaticString] = ["\rX", "(", "HEA(D", "HEAD"]
    for text in broken:
        var head = RequestHead()
        var buffer = Buffer(0)
        assert_true(
            _parse_cut("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", 99, head, buffer)
        )
        _ = _refusal(text, 99, head, buffer)
        assert_true(head.method == Method.OTHER, text)
