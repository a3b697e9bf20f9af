"""Header sections of requests (RFC 9113 sections 8.2 and 8.3)."""

from flare.bytes.buffer import Buffer
from flare.http.h2.field_section import Http2FieldSection, SectionLimits
from flare.http.h2.hpack_decoder import HpackDecoder
from flare.http.h2.hpack_encoder import append_integer, append_string
from flare.http.h2.hpack_table import FieldKind
from flare.http.h2.priority import Priority
from tests.support.assertions import assert_equal, assert_true

comptime _LIMITS = SectionLimits(8_192, 100, 100)


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var fields: String
    """A field a line, name and value with `: ` between; `GET` stands for the
    usual pseudo-header fields."""
    var wanted: Int
    """The number of the rule that is broken, a status, or 0."""


comptime _GET = StaticString(
    ":method: GET\n:scheme: https\n:path: /\n:authority: a.example\n"
)


def _block(fields: StringSpan, keeps: Bool) -> Buffer:
    """Encodes fields as literals, so that no encoder comes between."""
    var out = Buffer()
    for line in fields.split("\n"):
        if line.byte_length() == 0:
            continue
        var colon = line.find(": ")
        out.append_octet(UInt8(0x40) if keeps else UInt8(0))
        append_string(out, line[byte=0:colon].as_bytes())
        append_string(out, line[byte = colon + 2 :].as_bytes())
    return out^


def _check(
    mut section: Http2FieldSection, mut decoder: HpackDecoder, block: Buffer
) raises -> Int:
    section.decode(decoder, block.span(), materialize[_LIMITS]())
    try:
        section.check_request(materialize[_LIMITS](), 1)
    except error:
        assert_equal(error.stream_id, 1)
        return Int(error.rule.number)
    return section.facts.status


def _run(rows: List[_Row]) raises:
    for row in rows:
        var text = row.fields.replace("GET\n", _GET) if (
            row.fields.startswith("GET\n")
        ) else row.fields
        var section = Http2FieldSection()
        var decoder = HpackDecoder()
        var got = _check(section, decoder, _block(text, True))
        assert_equal(got, row.wanted, row.rule)
        # The same fields from the table have the same faults.
        var count = decoder.table.count
        var again = Buffer()
        for index in range(count - 1, -1, -1):
            append_integer[7](again, 0x80, 62 + index)
        assert_equal(_check(section, decoder, again), row.wanted, row.rule)


def test_pseudo_header_fields() raises:
    var rows: List[_Row] = [
        _Row("9113-8.3.1 all four", "GET\n", 0),
        _Row("9113-8.3.1 no :method", ":scheme: http\n:path: /\n", 37),
        _Row("9113-8.3.1 no :scheme", ":method: GET\n:path: /\n", 37),
        _Row("9113-8.3.1 no :path", ":method: GET\n:scheme: http\n", 37),
        _Row(
            "9113-8.3.1 neither :authority nor host",
            ":method: GET\n:scheme: http\n:path: /\n",
            37,
        ),
        _Row(
            "9113-8.3.1 host in its place",
            ":method: GET\n:scheme: http\n:path: /\nhost: a\n",
            0,
        ),
        _Row("9113-8.3.1 host is the same", "GET\nhost: A.example\n", 0),
        _Row("9113-8.3.1 host is another", "GET\nhost: b.example\n", 39),
        _Row(
            "3986-6.2.3 the port of the scheme",
            "GET\nhost: a.example:443\n",
            0,
        ),
        _Row("3986-6.2.3 no port", "GET\nhost: a.example:\n", 0),
        _Row(
            "3986-6.2.3 the port of another scheme",
            "GET\nhost: a.example:80\n",
            39,
        ),
        _Row("3986-6.2.3 another port", "GET\nhost: a.example:4443\n", 39),
        _Row(
            "3986-6.2.3 the port in :authority",
            ":method: GET\n:scheme: http\n:path: /\n:authority: a:80\nhost: a\n",
            0,
        ),
        _Row(
            "9110-7.2 host twice", "GET\nhost: a.example\nhost: a.example\n", 39
        ),
        _Row("9113-8.3 behind other fields", "a: b\n" + String(_GET), 34),
        _Row("9113-8.3 twice", "GET\n:path: /\n", 36),
        _Row("9113-8.3 unknown", "GET\n:what: x\n", 35),
        _Row("9113-8.3 of a response", "GET\n:status: 200\n", 35),
        _Row("9113-8.3 a capital", ":Method: GET\n:path: /\n", 31),
        _Row("9113-8.3.1 an empty :path", _with(":path: \n"), 38),
        _Row("9113-8.3.1 no slash", _with(":path: a\n"), 38),
        _Row("9113-8.3.1 a space in :path", _with(":path: /a b\n"), 38),
        _Row("9110-4.1 high octets in :path", _with(":path: /ä\n"), 38),
        _Row("9113-8.3.1 a whole URL", _with(":path: http://a/\n"), 38),
        _Row("9113-8.3.1 an asterisk of GET", _with(":path: *\n"), 38),
        _Row("9113-8.3.1 more than an asterisk", _with(":path: *a\n"), 38),
        _Row(
            "9113-8.3.1 an asterisk of OPTIONS",
            ":method: OPTIONS\n:scheme: http\n:path: *\n:authority: a\n",
            0,
        ),
        _Row(
            "9110-7.4 a scheme that is not served",
            ":method: GET\n:scheme: ftp\n:path: /\n:authority: a\n",
            421,
        ),
        _Row(
            "9110-4.2.3 a scheme in capitals",
            ":method: GET\n:scheme: HTTPS\n:path: /\n:authority: a\n",
            0,
        ),
        _Row(
            "3986-3.1 no scheme's name",
            ":method: GET\n:scheme: 1x\n:path: /\n:authority: a\n",
            38,
        ),
        _Row(
            "3986-3.1 an empty scheme",
            ":method: GET\n:scheme: \n:path: /\n:authority: a\n",
            38,
        ),
        _Row(
            "3986-3.1 an underscore in the scheme",
            ":method: GET\n:scheme: a_b\n:path: /\n:authority: a\n",
            38,
        ),
        _Row(
            "9113-8.3.1 no method name",
            ":method: G T\n:scheme: http\n:path: /\n:authority: a\n",
            38,
        ),
        _Row(
            "9113-8.3.1 an empty :authority",
            ":method: GET\n:scheme: http\n:path: /\n:authority: \n",
            38,
        ),
        _Row(
            "9113-8.3.1 userinfo",
            ":method: GET\n:scheme: http\n:path: /\n:authority: u@a\n",
            38,
        ),
        _Row(
            "9110-4.2.1 a path in :authority",
            ":method: GET\n:scheme: http\n:path: /\n:authority: a/b\n",
            38,
        ),
    ]
    _run(rows)


def _with(path: StaticString) -> String:
    return String(":method: GET\n:scheme: http\n:authority: a\n", path)


def test_connect() raises:
    comptime CONNECT = ":method: CONNECT\n"
    var rows: List[_Row] = [
        _Row("9113-8.5 a tunnel", CONNECT + ":authority: a:443\n", 501),
        _Row("9113-8.5 without :authority", CONNECT, 37),
        _Row(
            "9113-8.5 with :path", CONNECT + ":authority: a:1\n:path: /\n", 38
        ),
        _Row("9113-8.5 to nowhere", CONNECT + ":authority: a b\n", 38),
        _Row(
            "8441-4 extended",
            CONNECT
            + ":protocol: websocket\n:scheme: https\n:path: /c\n:authority: a\n",
            101,
        ),
        _Row(
            "8441-5 another protocol",
            CONNECT
            + ":protocol: connect-udp\n:scheme: https\n:path: /c\n"
            + ":authority: a\n",
            501,
        ),
        _Row(
            "9110-10.1.1 an expectation comes first",
            CONNECT
            + ":protocol: websocket\n:scheme: https\n:path: /c\n"
            + ":authority: a\nexpect: more\n",
            417,
        ),
        _Row(
            "8441-4 without :path",
            CONNECT + ":protocol: websocket\n:scheme: https\n:authority: a\n",
            37,
        ),
        _Row("8441-4 :protocol of a GET", "GET\n:protocol: websocket\n", 38),
        _Row(
            "8441-4 no protocol's name",
            CONNECT
            + ":protocol: a b\n:scheme: https\n:path: /\n:authority: a\n",
            38,
        ),
    ]
    _run(rows)


def test_an_extended_connect_is_the_get_of_http_1_1() raises:
    # 8441-5
    var section = Http2FieldSection()
    var decoder = HpackDecoder()
    var block = _block(
        ":method: CONNECT\n:protocol: websocket\n:scheme: https\n"
        ":path: /chat?a=b\n:authority: a.example\norigin: https://a.example\n",
        False,
    )
    assert_equal(_check(section, decoder, block), 101)
    var line = section.unsafe_request_line[ImmUntrackedOrigin]()
    assert_equal(String(line.method_name), "GET")
    assert_equal(String(line.method), "GET")
    assert_equal(String(line.path), "/chat")
    assert_equal(String(line.query), "a=b")
    assert_equal(String(line.authority), "a.example")
    var fields = section.unsafe_fields[ImmUntrackedOrigin]()
    assert_equal(len(fields), 3)
    assert_equal(String(fields.get("upgrade").value()), "websocket")
    assert_equal(String(fields.get("connection").value()), "Upgrade")
    assert_equal(String(fields.get("origin").value()), "https://a.example")
    _ = section^


def test_fields() raises:
    var rows: List[_Row] = [
        _Row("9113-8.2.1 a capital", "GET\nAccept: x\n", 31),
        _Row("9113-8.2.1 an empty name", "GET\n: x\n", 31),
        _Row("9113-8.2.1 a colon in the name", "GET\na:b: x\n", 31),
        _Row("9113-8.2.1 a space in the name", "GET\na b: x\n", 31),
        _Row("9113-8.2.1 high octets in the name", "GET\nä: x\n", 31),
        _Row("9113-8.2.1 CR", "GET\na: x\ry\n", 32),
        _Row("9113-8.2.1 NUL", "GET\na: x\0y\n", 32),
        _Row("9113-8.2.1 a space before", "GET\na:  x\n", 32),
        _Row("9113-8.2.1 a tab behind", "GET\na: x\t\n", 32),
        _Row("9110-5.5 high octets", "GET\na: ä\n", 0),
        _Row("9110-5.5 an empty value", "GET\na: \n", 0),
        _Row("9113-8.2.2 connection", "GET\nconnection: close\n", 33),
        _Row("9113-8.2.2 keep-alive", "GET\nkeep-alive: 5\n", 33),
        _Row("9113-8.2.2 proxy-connection", "GET\nproxy-connection: x\n", 33),
        _Row("9113-8.2.2 upgrade", "GET\nupgrade: h2c\n", 33),
        _Row(
            "9113-8.2.2 transfer-encoding",
            "GET\ntransfer-encoding: chunked\n",
            33,
        ),
        _Row("9113-8.2.2 te", "GET\nte: gzip\n", 33),
        _Row("9113-8.2.2 te: trailers", "GET\nte: trailers\n", 0),
        _Row("5234-2.3 te in capitals", "GET\nte: Trailers\n", 0),
        _Row("9110-8.6 content-length", "GET\ncontent-length: 12\n", 0),
        _Row("9110-8.6 no number", "GET\ncontent-length: 1 2\n", 29),
        _Row("9110-8.6 a sign", "GET\ncontent-length: +1\n", 29),
        _Row("9110-8.6 nothing", "GET\ncontent-length: \n", 29),
        _Row(
            "9110-8.6 twice",
            "GET\ncontent-length: 1\ncontent-length: 1\n",
            29,
        ),
        _Row(
            "9110-8.6 beyond 63 bits",
            "GET\ncontent-length: 9223372036854775808\n",
            29,
        ),
        _Row("9110-10.1.1 100-continue", "GET\nexpect: 100-Continue\n", 0),
        _Row("9110-10.1.1 another", "GET\nexpect: more\n", 417),
        _Row(
            "9110-5.6.1 a list of it",
            "GET\nexpect: 100-continue, ,100-continue\n",
            0,
        ),
        _Row("9110-5.6.1 an empty list", "GET\nexpect: \n", 0),
        _Row(
            "9110-10.1.1 another beside it",
            "GET\nexpect: 100-continue,more\n",
            417,
        ),
        _Row(
            "9110-10.1.1 the rest is checked, too",
            "GET\nexpect: more\nA: b\n",
            31,
        ),
        _Row(
            "9110-15.6.2 a method that nobody has",
            ":method: "
            + "M" * 33
            + "\n:scheme: http\n:path: /\n:authority: a\n",
            501,
        ),
        _Row(
            "9110-15.5.15 a long :path",
            ":method: GET\n:scheme: http\n:authority: a\n:path: /"
            + "a" * 100
            + "\n",
            414,
        ),
        _Row(
            "9110-4.1 a long :path is checked, too",
            ":method: GET\n:scheme: http\n:authority: a\n:path: /"
            + "ä" * 100
            + "\n",
            38,
        ),
    ]
    _run(rows)


def test_cookie_crumbs_are_joined() raises:
    # 9113-8.2.3
    var section = Http2FieldSection()
    var decoder = HpackDecoder()
    var block = _block(
        String(_GET, "cookie: a=1\nx: y\ncookie: b=2\nhost: a.example\n")
        + "cookie: c=3\npriority: u=1\n",
        False,
    )
    assert_equal(_check(section, decoder, block), 0)
    var fields = section.unsafe_fields[ImmUntrackedOrigin]()
    assert_equal(len(fields), 4)
    assert_equal(String(fields.value(0)), "a=1; b=2; c=3")
    assert_equal(String(fields.name(1)), "x")
    assert_equal(String(fields.name(2)), "host")
    assert_equal(Int(section.priority().urgency), 1)


def test_priority_fields_are_one_dictionary() raises:
    # 9110-5.2 and 8941-4.2: lines of one name are one value; the last member of
    # a name counts, and what is malformed anywhere makes all of it void.
    var section = Http2FieldSection()
    var decoder = HpackDecoder()
    var both = _block(
        String(_GET, "priority: u=1, i\na: b\npriority: u=5\nc: d\n"), False
    )
    assert_equal(_check(section, decoder, both), 0)
    assert_equal(Int(section.priority().urgency), 5)
    assert_true(section.priority().is_incremental)
    var bad = _block(String(_GET, "priority: u=1, i\npriority: u=\n"), False)
    assert_equal(_check(section, decoder, bad), 0)
    assert_true(section.priority() == Priority())
    assert_equal(_check(section, decoder, _block(_GET, False)), 0)
    assert_true(section.priority() == Priority())


def test_a_section_that_is_cut_lends_no_odd_text() raises:
    # 9110-15.5: 431 is answered before names are checked; logs show them.
    var section = Http2FieldSection()
    var decoder = HpackDecoder()
    var block = _block(
        ":method: ä\n:path: /ä\n:authority: a\nx: " + "y" * 8_192 + "\n", False
    )
    assert_equal(_check(section, decoder, block), 431)
    assert_equal(len(section.pseudo(FieldKind.METHOD)), 0)
    assert_equal(len(section.pseudo(FieldKind.PATH)), 0)
    assert_equal(len(section.pseudo(FieldKind.AUTHORITY)), 1)


def test_nothing_stays_from_the_section_before() raises:
    var section = Http2FieldSection()
    var decoder = HpackDecoder()
    var first = String(_GET, "content-length: 5\nexpect: more\ncookie: a\n")
    assert_equal(_check(section, decoder, _block(first, False)), 417)
    assert_equal(_check(section, decoder, _block(_GET, False)), 0)
    assert_equal(section.facts.content_length, -1)
    assert_equal(len(section.unsafe_fields[ImmUntrackedOrigin]()), 0)
