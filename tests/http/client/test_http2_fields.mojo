"""The fields of a request over HTTP/2, and when a connection offers it."""

from flare.bytes.buffer import Buffer
from flare.http.client.message.config import ClientConfig
from flare.http.client.exchange.connect_context import offered_protocols
from flare.http.client.exchange.exchange import sent_fields, write_head
from flare.http.client.exchange.http2_fields import Http2RequestFields
from flare.http.client.exchange.prepared_request import PreparedRequest, Upload
from flare.http.client.message.request import ClientRequest, parse_request_url
from flare.http.h2.connection_state import Http2Limits, Http2Role
from flare.http.h2.field_section import Http2FieldSection, SectionLimits
from flare.http.h2.hpack_decoder import HpackDecoder
from flare.http.h2.hpack_table import FieldKind
from flare.http.h2.session import Http2Session
from flare.tls.config import TlsConfig
from tests.support.assertions import assert_equal, assert_false, assert_true


def _call(
    var request: ClientRequest, config: ClientConfig
) raises -> PreparedRequest:
    var url = parse_request_url(request.url)
    return PreparedRequest(request^, url^, Upload(), config)


def _bare_config() -> ClientConfig:
    var config = ClientConfig()
    _ = config.headers.remove("accept")
    return config^


def _sent(call: PreparedRequest, config: ClientConfig) raises -> String:
    """Encodes the fields of a request, and decodes them."""
    var session = Http2Session(Http2Role.CLIENT, Http2Limits(), 0)
    var fields = Http2RequestFields()
    fields.collect(call, config)
    fields.encode(session)
    var section = Http2FieldSection()
    var decoder = HpackDecoder()
    section.decode(
        decoder, session.fields.span(), SectionLimits(60_000, 100, 8_192)
    )
    section.check_request(SectionLimits(60_000, 100, 8_192), 1)
    var text = String()
    for kind in [
        FieldKind.METHOD,
        FieldKind.SCHEME,
        FieldKind.AUTHORITY,
        FieldKind.PATH,
    ]:
        text.write(StringSpan(unsafe_from_utf8=section.pseudo(kind)), " ")
    var lines = section.unsafe_fields[ImmUntrackedOrigin]()
    for index in range(len(lines)):
        text.write("|", lines.name(index), "=", lines.value(index))
    _ = section^
    return text^


@fieldwise_init
struct FieldRow(Copyable):
    """A request's own field, and what is sent of it."""

    var rule: String
    var name: String
    var value: String
    var sent: String


def test_fields() raises:
    var config = _bare_config()
    for row in [
        FieldRow(
            "9113-8.2.1 names are in lower case", "X-Own", "a", "|x-own=a"
        ),
        FieldRow("9113-8.2.1 no space around values", "A", " b\t", "|a=b"),
        FieldRow("9113-8.2.2 connection", "Connection", "x", ""),
        FieldRow("9113-8.2.2 keep-alive", "Keep-Alive", "timeout=5", ""),
        FieldRow("9113-8.2.2 proxy-connection", "Proxy-Connection", "x", ""),
        FieldRow(
            "9113-8.2.2 transfer-encoding", "Transfer-Encoding", "gzip", ""
        ),
        FieldRow("9113-8.2.2 upgrade", "Upgrade", "h2c", ""),
        FieldRow(
            "9113-8.2.2 te: trailers may stay", "TE", "trailers", "|te=trailers"
        ),
        FieldRow("9113-8.2.2 any other te may not", "TE", "gzip", ""),
        FieldRow(
            "9110-8.6 the length is the client's", "Content-Length", "9", ""
        ),
    ]:
        var request = ClientRequest("GET", "https://a.test/b?c=d#e")
        request.headers.append(row.name, row.value)
        assert_equal(
            _sent(_call(request^, config), config),
            "GET https a.test /b?c=d |user-agent=flare" + row.sent,
            row.rule,
        )


def test_the_start() raises:
    var config = _bare_config()
    var request = ClientRequest("POST", "http://u:p@a.test:81")
    request.set_header("Host", "b.test")
    request.body = String("{}")
    assert_equal(
        _sent(_call(request^, config), config),
        "POST http b.test / |user-agent=flare|content-length=2",
        "9113-8.3.1 :authority is the caller's Host, without credentials",
    )
    request = ClientRequest("POST", "http://a.test:81/")
    request.expects_continue = True
    request.body = String("{}")
    var call = _call(request^, config)
    call.cookie = "a=b"
    assert_equal(
        _sent(call, config),
        (
            "POST http a.test:81 / |user-agent=flare|cookie=a=b"
            "|expect=100-continue|content-length=2"
        ),
    )


def test_what_the_client_adds_may_be_left_out() raises:
    var config = _bare_config()
    config.headers.set("Authorization", "secret")
    config.headers.set("User-Agent", "other")
    var call = _call(ClientRequest("GET", "https://a.test/"), config)
    assert_true("|authorization=secret" in _sent(call, config))
    call.origin.leave(over_tls=True)
    assert_equal(_sent(call, config), "GET https a.test / |user-agent=other")
    var request = ClientRequest("GET", "https://a.test/")
    request.set_header("user-agent", "own")
    call = _call(request^, config)
    assert_equal(
        _sent(call, config),
        "GET https a.test / |authorization=secret|user-agent=own",
    )


def test_cookies_of_a_jar_take_the_place_of_the_clients() raises:
    """A request has one set of cookies (RFC 6265 section 5.4), the same over
    either version."""
    var config = _bare_config()
    config.headers.set("Cookie", "a=1")
    var call = _call(ClientRequest("GET", "https://a.test/"), config)
    call.cookie = "b=2"
    var over_http1 = Buffer()
    write_head(call, over_http1, config)
    assert_equal(
        String(StringSpan(unsafe_from_utf8=over_http1.span())),
        (
            "GET / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: flare\r\n"
            "Cookie: b=2\r\n\r\n"
        ),
    )
    assert_equal(
        _sent(call, config), "GET https a.test / |user-agent=flare|cookie=b=2"
    )
    assert_equal(
        String(sent_fields(call, config)),
        "Host: a.test\nUser-Agent: flare\nCookie: b=2\n",
    )


def test_bad_starts_are_refused() raises:
    var config = _bare_config()
    for method in ["G ET", "", "G\r\nET"]:
        var fields = Http2RequestFields()
        var call = _call(ClientRequest(method, "https://a.test/"), config)
        try:
            fields.collect(call, config)
        except error:
            assert_true("method" in String(error), String(error))
            continue
        raise Error("it was taken: ", method)


def test_sizes_are_counted_as_servers_do() raises:
    """RFC 9113 section 6.5.2: names, values, and 32 for each field."""
    var config = _bare_config()
    _ = config.headers.remove("user-agent")
    var fields = Http2RequestFields()
    var call = _call(ClientRequest("GET", "https://a.test/"), config)
    fields.collect(call, config)
    # :method GET, :scheme https, :authority a.test, :path /
    var size = 7 + 3 + 7 + 5 + 10 + 6 + 5 + 1 + 4 * 32
    assert_equal(fields.size, size)
    fields.check_size(size)
    try:
        fields.check_size(size - 1)
    except error:
        assert_true(String(size - 1) in String(error), String(error))
        return
    raise Error("it was too large")


def test_what_is_offered() raises:
    var none = List[String]()
    assert_equal(len(offered_protocols(none, True)), 2)
    assert_equal(offered_protocols(none, True)[0], "h2")
    assert_equal(offered_protocols(none, False)[0], "http/1.1")
    assert_equal(len(offered_protocols(none, False)), 1)
    assert_equal(offered_protocols(["h2", "x"], False)[0], "x")
    assert_equal(offered_protocols(["h2"], False)[0], "http/1.1")
    assert_equal(len(offered_protocols(["h2"], True)), 1)


def test_when_it_is_spoken() raises:
    var config = ClientConfig()
    assert_true(config.offers_http2(True))
    assert_false(config.offers_http2(False))
    config.http2_prior_knowledge = True
    assert_true(config.offers_http2(False))
    config.tls = TlsConfig(alpn=["http/1.1"])
    assert_false(config.offers_http2(True))
    config.tls = TlsConfig(alpn=["h2"])
    assert_true(config.offers_http2(True))
    config.http2 = False
    assert_false(config.offers_http2(True))
    assert_true("http2=False" in config.problem(), config.problem())
    config.http2 = True
    assert_equal(config.problem(), "")
    config.http2_ping_timeout_ms = 0
    assert_true("http2_ping_timeout_ms" in config.problem())
    # HTTP/1.0 is what was asked for.
    config = ClientConfig()
    var request = ClientRequest("GET", "https://a.test/")
    assert_true(_call(request.copy(), config).endpoint.offers_http2)
    request.minor_version = 0
    assert_false(_call(request^, config).endpoint.offers_http2)
