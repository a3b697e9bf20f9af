"""Tests of how failures are told apart."""

from flare.bytes.buffer import Buffer
from flare.sys.openssl.library import OpenSslError
from flare.tls.config import TlsConfig, TlsServerConfig
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.error import TlsError, kind_of_certificate, kind_of_failure
from flare.tls.session import TlsSession
from tests.support.assertions import assert_equal, assert_true
from tests.support.certificates import certificate
from tests.support.tls_pair import drip, kind_name


def test_failure_kinds_of_certificates() raises:
    var rows: List[Tuple[Int, String]] = [
        (9, "CertificateNotYetValid"),
        (10, "CertificateExpired"),
        (18, "SelfSigned"),
        (19, "UnknownIssuer"),
        (20, "UnknownIssuer"),
        (21, "UnknownIssuer"),
        (23, "CertificateRevoked"),
        (3, "RevocationUnknown"),
        (11, "RevocationUnknown"),
        (12, "RevocationUnknown"),
        (33, "RevocationUnknown"),
        (62, "WrongHost"),
        (64, "WrongHost"),
        (7, "CertificateRejected"),
        (26, "CertificateRejected"),
        (66, "CertificateRejected"),
    ]
    for row in rows:
        assert_equal(String(kind_of_certificate(row[0])), row[1])


def test_failure_kinds_of_reasons() raises:
    # Numbers of openssl/sslerr.h; alerts are 1000 and their own number.
    var rows: List[Tuple[Int, String]] = [
        (134, "CertificateRejected"),
        (155, "PlainHttpRequest"),
        (156, "PlainHttpRequest"),
        (267, "NotTls"),
        (294, "ClosedEarly"),
        (199, "ClientCertificateRequired"),
        (1116, "ClientCertificateRequired"),
        (258, "ProtocolVersionRefused"),
        (1070, "ProtocolVersionRefused"),
        (193, "NoSharedCipher"),
        (1040, "NoSharedCipher"),
        (1071, "NoSharedCipher"),
        (235, "AlpnRefused"),
        (1120, "AlpnRefused"),
        (1042, "CertificateRefused"),
        (1048, "CertificateRefused"),
        (281, "ProtocolViolation"),
        (1050, "ProtocolViolation"),
    ]
    for row in rows:
        var error = OpenSslError("test", 20, row[0], "")
        assert_equal(String(kind_of_failure(error)), row[1])
    var other = OpenSslError("test", 9, 193, "")
    assert_equal(String(kind_of_failure(other)), "ProtocolViolation")


@fieldwise_init
struct _Row(Copyable):
    """What a peer sends first, and the error that it is."""

    var rule: StaticString
    var octets: StaticString
    var kind: StaticString


def _octets(text: StringSpan) -> List[UInt8]:
    """Reads hex digits, or text behind a quotation mark."""
    var source = text.as_bytes()
    if len(source) > 0 and source[0] == 39:
        return List(source[1:])
    var octets = List[UInt8]()
    var high = -1
    for digit in source:
        if digit == 32:
            continue
        var value = Int(digit) - 48 if digit < 58 else Int(digit) - 87
        if high < 0:
            high = value
        else:
            octets.append(UInt8(high << 4 | value))
            high = -1
    return octets^


def _whole(mut session: TlsSession, octets: List[UInt8]) -> Optional[TlsError]:
    var input = Buffer()
    var output = Buffer()
    input.append(Span(octets))
    try:
        _ = session.advance(input, output)
        return None
    except error:
        return error^


def _dripped(
    mut session: TlsSession, octets: List[UInt8]
) -> Optional[TlsError]:
    var output = Buffer()
    try:
        _ = drip(session, Span(octets), output)
        return None
    except error:
        return error^


def test_failure_of_what_servers_answer() raises:
    comptime hello_1_1 = "16 0302 002a 02 000026 0302 00000000000000000000000000000000 00000000000000000000000000000000 00 c013 00"
    comptime hello_null = "16 0303 002a 02 000026 0303 00000000000000000000000000000000 00000000000000000000000000000000 00 0002 00"
    comptime hello_export = "16 0303 002a 02 000026 0303 00000000000000000000000000000000 00000000000000000000000000000000 00 0003 00"
    comptime rows = [
        _Row(
            "8446-6.2 protocol_version",
            "15 0301 0002 0246",
            "ProtocolVersionRefused",
        ),
        _Row("8996-5 TLS 1.1 chosen", hello_1_1, "ProtocolVersionRefused"),
        _Row("9325-4.2 NULL chosen", hello_null, "NoSharedCipher"),
        _Row("9325-4.2 export chosen", hello_export, "NoSharedCipher"),
        _Row(
            "8446-6.2 handshake_failure", "15 0303 0002 0228", "NoSharedCipher"
        ),
        _Row(
            "8446-6.2 insufficient_security",
            "15 0303 0002 0247",
            "NoSharedCipher",
        ),
        _Row(
            "7301-3.2 no_application_protocol",
            "15 0303 0002 0278",
            "AlpnRefused",
        ),
        _Row(
            "8446-6.2 internal_error", "15 0303 0002 0250", "ProtocolViolation"
        ),
        _Row("8446-6.1 close_notify", "15 0303 0002 0100", "ClosedEarly"),
        _Row("plain HTTP", "'HTTP/1.1 400 Bad Request\r\n\r\n", "NotTls"),
        _Row("SSH", "'SSH-2.0-OpenSSH_9.2\r\n", "NotTls"),
        _Row("8446-5.1 no such type", "63 0303 0002 0000", "ProtocolViolation"),
    ]
    var context = TlsClientContext(TlsConfig())
    for row in materialize[rows]():
        var octets = _octets(row.octets)
        var session = context.session("host.test")
        var error = _whole(session, octets)
        assert_equal(kind_name(error), row.kind, row.rule)
        assert_true("host.test" in String(error.value()), row.rule)
        var another = context.session("host.test")
        assert_equal(kind_name(_dripped(another, octets)), row.kind, row.rule)


def test_failure_of_what_clients_send() raises:
    comptime hello_1_1 = "16 0301 002f 01 00002b 0302 00000000000000000000000000000000 00000000000000000000000000000000 00 0004 c013 002f 01 00"
    comptime hello_null = "16 0301 002f 01 00002b 0303 00000000000000000000000000000000 00000000000000000000000000000000 00 0004 0002 0003 01 00"
    comptime rows = [
        _Row("8996-5 TLS 1.1 at most", hello_1_1, "ProtocolVersionRefused"),
        _Row("9325-4.2 NULL and export", hello_null, "NoSharedCipher"),
        _Row(
            "9110-9 GET",
            "'GET / HTTP/1.1\r\nHost: h\r\n\r\n",
            "PlainHttpRequest",
        ),
        _Row(
            "9110-9 OPTIONS", "'OPTIONS * HTTP/1.1\r\n\r\n", "PlainHttpRequest"
        ),
        _Row(
            "9110-9 CONNECT",
            "'CONNECT h:1 HTTP/1.1\r\n\r\n",
            "PlainHttpRequest",
        ),
        _Row(
            "9113-3.4 HTTP/2 preface", "'PRI * HTTP/2.0\r\n", "PlainHttpRequest"
        ),
        _Row("not TLS", "'hello there", "NotTls"),
    ]
    var context = TlsServerContext(
        TlsServerConfig(certificate("good_chain.pem"), certificate("good.key"))
    )
    for row in materialize[rows]():
        var octets = _octets(row.octets)
        var session = context.session()
        assert_equal(kind_name(_whole(session, octets)), row.kind, row.rule)
        var another = context.session()
        assert_equal(kind_name(_dripped(another, octets)), row.kind, row.rule)
