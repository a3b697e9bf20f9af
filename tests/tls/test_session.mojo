"""Tests of TLS sessions in memory."""

from flare.bytes.buffer import Buffer
from flare.tls.config import TlsConfig, TlsIdentity, TlsServerConfig
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.error import TlsError
from flare.tls.session import TlsSession
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.certificates import certificate
from tests.support.tls_pair import TlsPair, drip, kind_name, receive


def _client(var alpn: List[String] = []) raises -> TlsClientContext:
    return TlsClientContext(
        TlsConfig(ca_file=certificate("root.pem"), alpn=alpn^)
    )


def _server(var alpn: List[String] = []) raises -> TlsServerContext:
    return TlsServerContext(
        TlsServerConfig(
            certificate("good_chain.pem"), certificate("good.key"), alpn=alpn^
        )
    )


def _pair() raises -> TlsPair:
    var client = _client()
    var server = _server()
    var pair = TlsPair(client.session("localhost"), server.session())
    assert_equal(pair.shake_hands(), "ok")
    return pair^


def _copy(buffer: Buffer) -> List[UInt8]:
    return List(buffer.span())


def _error_of_read(
    mut session: TlsSession, mut input: Buffer, mut output: Buffer
) -> Optional[TlsError]:
    try:
        _ = receive(session, input, output)
        return None
    except error:
        return error^


def _error_of_end(mut session: TlsSession) -> Optional[TlsError]:
    try:
        session.receive_end()
        return None
    except error:
        return error^


def _error_of_write(
    mut session: TlsSession, mut output: Buffer
) -> Optional[TlsError]:
    try:
        session.write("x".as_bytes(), output)
        return None
    except error:
        return error^


def test_session_facts() raises:
    var pair = _pair()
    assert_equal(pair.client.version(), "TLSv1.3")
    assert_equal(pair.client.cipher(), "TLS_AES_128_GCM_SHA256")
    assert_equal(pair.server.cipher(), "TLS_AES_128_GCM_SHA256")
    assert_equal(pair.server.server_name(), "localhost")
    assert_equal(pair.client.peer_subject(), "CN=localhost")
    assert_equal(pair.server.peer_subject(), "")
    assert_equal(pair.client.alpn(), "")
    assert_false(pair.client.is_resumed())


def test_session_sends_no_name_for_an_address() raises:
    # RFC 6066 section 3: literal addresses are not permitted.
    var client = _client()
    var server = _server()
    for host in ["127.0.0.1", "::1"]:
        var pair = TlsPair(client.session(host), server.session())
        assert_equal(pair.shake_hands(), "ok")
        assert_equal(pair.server.server_name(), "")


def test_session_carries_octets_both_ways() raises:
    var pair = _pair()
    for length in [1, 100, 16_384, 16_385, 100_000]:
        var text = String("o") * length
        pair.client.write(text.as_bytes(), pair.to_server)
        assert_true(len(pair.to_server) > length)
        var got = receive(pair.server, pair.to_server, pair.to_client)
        assert_true(got == text)
        assert_equal(len(pair.to_server), 0)
        pair.server.write(text.as_bytes(), pair.to_client)
        got = receive(pair.client, pair.to_client, pair.to_server)
        assert_true(got == text)
    pair.client.write("".as_bytes(), pair.to_server)
    assert_equal(len(pair.to_server), 0)


def test_session_holds_what_does_not_fit() raises:
    var pair = _pair()
    pair.client.write("0123456789".as_bytes(), pair.to_server)
    var room = List[UInt8](length=4, fill=0)
    var got = String()
    for held in [6, 2, 0]:
        var count = pair.server.read(pair.to_server, pair.to_client, Span(room))
        got += String(from_utf8_lossy=Span(room)[0:count])
        assert_equal(pair.server.held_len(), held)
    assert_equal(got, "0123456789")


def test_session_ciphertext_is_not_plaintext() raises:
    var pair = _pair()
    pair.client.write("a secret that is long".as_bytes(), pair.to_server)
    var text = String(from_utf8_lossy=pair.to_server.span())
    assert_false("secret" in text)


def test_session_split_invariance() raises:
    # The whole conversation fed octet by octet, on both sides.
    var client = _client(["http/1.1"])
    var server = _server(["http/1.1"])
    var c = client.session("localhost")
    var s = server.session()
    var to_server = Buffer()
    var to_client = Buffer()
    var nothing = Buffer()
    _ = c.advance(nothing, to_server)
    for _ in range(4):
        var from_client = _copy(to_server)
        to_server.clear()
        assert_equal(drip(s, Span(from_client), to_client), "")
        var from_server = _copy(to_client)
        to_client.clear()
        assert_equal(drip(c, Span(from_server), to_server), "")
    assert_true(c.is_established() and s.is_established())
    assert_equal(c.alpn(), "http/1.1")
    for length in [1, 500, 20_000]:
        var text = String("p") * length
        c.write(text.as_bytes(), to_server)
        var octets = _copy(to_server)
        to_server.clear()
        assert_true(drip(s, Span(octets), to_client) == text)
    c.close(to_server)
    var octets = _copy(to_server)
    assert_equal(drip(s, Span(octets), to_client), "")
    assert_true(s.is_peer_done())


def test_session_several_records_in_one_read() raises:
    var pair = _pair()
    for piece in ["one ", "two ", "three"]:
        pair.client.write(piece.as_bytes(), pair.to_server)
    pair.client.close(pair.to_server)
    var room = List[UInt8](length=100, fill=0)
    var count = pair.server.read(pair.to_server, pair.to_client, Span(room))
    assert_equal(String(from_utf8_lossy=Span(room)[0:count]), "one two three")
    assert_equal(
        pair.server.read(pair.to_server, pair.to_client, Span(room)), 0
    )
    assert_true(pair.server.is_peer_done())


def test_session_close_is_told_from_truncation() raises:
    # RFC 8446 section 6.1: without close_notify something may be missing.
    var closed = _pair()
    closed.client.close(closed.to_server)
    closed.client.close(closed.to_server)
    _ = receive(closed.server, closed.to_server, closed.to_client)
    assert_equal(kind_name(_error_of_end(closed.server)), "-")
    var cut = _pair()
    cut.client.write("half".as_bytes(), cut.to_server)
    assert_equal(receive(cut.server, cut.to_server, cut.to_client), "half")
    assert_equal(kind_name(_error_of_end(cut.server)), "ClosedEarly")
    var early = _client().session("localhost")
    var output = Buffer()
    var nothing = Buffer()
    _ = early.advance(nothing, output)
    var error = _error_of_end(early)
    assert_equal(kind_name(error), "ClosedEarly")
    assert_true("during the handshake" in String(error.value()))
    assert_true("localhost" in String(error.value()))


def test_session_ignores_what_follows_the_close() raises:
    var pair = _pair()
    pair.client.close(pair.to_server)
    pair.to_server.append("more".as_bytes())
    assert_equal(receive(pair.server, pair.to_server, pair.to_client), "")
    assert_equal(receive(pair.server, pair.to_server, pair.to_client), "")
    assert_true(pair.server.is_peer_done())
    # RFC 8446 section 6.1: the other direction goes on.
    pair.server.write("still".as_bytes(), pair.to_client)
    assert_equal(receive(pair.client, pair.to_client, pair.to_server), "still")


def test_session_writes_only_between_handshake_and_close() raises:
    var output = Buffer()
    var early = _client().session("localhost")
    assert_equal(kind_name(_error_of_write(early, output)), "OutOfOrder")
    early.close(output)
    assert_equal(len(output), 0)
    var pair = _pair()
    pair.client.close(output)
    assert_equal(kind_name(_error_of_write(pair.client, output)), "OutOfOrder")


def test_session_refuses_changed_records() raises:
    var pair = _pair()
    pair.client.write("good".as_bytes(), pair.to_server)
    var good_len = len(pair.to_server)
    pair.client.write("bad".as_bytes(), pair.to_server)
    var octets = _copy(pair.to_server)
    octets[good_len + 8] ^= 1
    pair.to_server.clear()
    pair.to_server.append(Span(octets))
    # What is good is read, then the error comes, and stays.
    var room = List[UInt8](length=100, fill=0)
    var count = pair.server.read(pair.to_server, pair.to_client, Span(room))
    assert_equal(count, 4)
    for _ in range(2):
        var error = _error_of_read(pair.server, pair.to_server, pair.to_client)
        assert_equal(kind_name(error), "ProtocolViolation")
    assert_equal(
        kind_name(_error_of_write(pair.server, pair.to_client)),
        "ProtocolViolation",
    )
    # The client learns of it from an alert (bad_record_mac).
    var error = _error_of_read(pair.client, pair.to_client, pair.to_server)
    assert_equal(kind_name(error), "ProtocolViolation")


@fieldwise_init
struct _Protocols(Copyable):
    var rule: StaticString
    var offered: StaticString
    var spoken: StaticString
    var outcome: StaticString
    var agreed: StaticString


def _names(text: StringSpan) -> List[String]:
    var names = List[String]()
    for name in text.split():
        names.append(String(name))
    return names^


def test_session_protocols() raises:
    comptime rows = [
        _Protocols(
            "7301-3.2 the server's best",
            "h2 http/1.1",
            "http/1.1 h2",
            "ok",
            "http/1.1",
        ),
        _Protocols(
            "7301-3.2 the only one", "h2 http/1.1", "http/1.1", "ok", "http/1.1"
        ),
        _Protocols("7301-3.1 no offer", "", "http/1.1", "ok", ""),
        _Protocols("7301-3.1 no answer", "h2", "", "ok", ""),
        _Protocols(
            "7301-3.2 whole names only",
            "http/1.1",
            "http/1",
            "AlpnRefused / AlpnRefused",
            "",
        ),
        _Protocols(
            "7301-3.2 nothing in common",
            "h2",
            "http/1.1",
            "AlpnRefused / AlpnRefused",
            "",
        ),
    ]
    for row in materialize[rows]():
        var client = _client(_names(row.offered))
        var server = _server(_names(row.spoken))
        var pair = TlsPair(client.session("localhost"), server.session())
        assert_equal(pair.shake_hands(), row.outcome, row.rule)
        if row.outcome == "ok":
            assert_equal(pair.client.alpn(), row.agreed, row.rule)
            assert_equal(pair.server.alpn(), row.agreed, row.rule)


def test_session_resumes() raises:
    var client = _client()
    var server = _server()
    var first = TlsPair(client.session("localhost"), server.session())
    assert_equal(len(first.client.ticket()), 0)
    assert_equal(first.shake_hands(), "ok")
    var ticket = first.client.ticket()
    assert_true(len(ticket) > 0)
    var second = TlsPair(client.session("localhost"), server.session())
    assert_true(second.client.resume(Span(ticket)))
    assert_equal(second.shake_hands(), "ok")
    assert_true(second.client.is_resumed() and second.server.is_resumed())
    assert_equal(second.client.peer_subject(), "CN=localhost")
    assert_equal(second.server.server_name(), "localhost")


def test_session_does_not_resume_from_anything_else() raises:
    var client = _client()
    var server = _server()
    for text in ["", "no ticket", "0\x80"]:
        var pair = TlsPair(client.session("localhost"), server.session())
        assert_false(pair.client.resume(text.as_bytes()))
        assert_equal(pair.shake_hands(), "ok")
        assert_false(pair.client.is_resumed())
    # A ticket of another server leads to a full handshake.
    var other = TlsPair(client.session("localhost"), _server().session())
    assert_equal(other.shake_hands(), "ok")
    var pair = TlsPair(client.session("localhost"), server.session())
    assert_true(pair.client.resume(Span(other.client.ticket())))
    assert_equal(pair.shake_hands(), "ok")
    assert_false(pair.client.is_resumed())


def test_session_without_tickets_does_not_resume() raises:
    var config = TlsServerConfig(
        TlsIdentity(certificate("good_chain.pem"), certificate("good.key")),
        session_tickets=False,
    )
    var server = TlsServerContext(config^)
    var pair = TlsPair(_client().session("localhost"), server.session())
    assert_equal(pair.shake_hands(), "ok")
    assert_equal(len(pair.client.ticket()), 0)
