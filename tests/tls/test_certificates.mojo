"""Tests of what clients and servers make of certificates, in memory."""

from flare.tls.config import (
    ClientVerification,
    PemSource,
    TlsConfig,
    TlsIdentity,
    TlsServerConfig,
)
from flare.tls.context import TlsClientContext, TlsServerContext
from std.pathlib import Path
from tests.support.assertions import assert_equal, assert_true
from tests.support.certificates import certificate
from tests.support.tls_pair import TlsPair


@fieldwise_init
struct _Row(Copyable):
    """One server, and what becomes of a client that connects to it."""

    var rule: StaticString
    var shown: StaticString
    var host: StaticString
    var trusted: StaticString
    var outcome: StaticString
    var message: StaticString


def _server(shown: String) raises -> TlsServerContext:
    var key = String(shown.removesuffix("_chain"), ".key")
    return TlsServerContext(
        TlsServerConfig(certificate(String(shown, ".pem")), certificate(key))
    )


def _client(trusted: String) raises -> TlsClientContext:
    var config = TlsConfig(ca_file=certificate("root.pem"))
    if trusted == "system":
        config = TlsConfig()
    elif trusted == "anything":
        config = TlsConfig(insecure_skip_verification=True)
    elif trusted == "unrevoked":
        config = TlsConfig(
            ca_file=certificate("root.pem"),
            crl_file=certificate("revocations.pem"),
        )
    elif trusted == "too few lists":
        config = TlsConfig(
            ca_file=certificate("root.pem"), crl_file=certificate("middle.crl")
        )
    elif trusted != "root":
        config = TlsConfig(ca_file=certificate(String(trusted, ".pem")))
    return TlsClientContext(config)


comptime _REFUSED = " / CertificateRefused"


def _check(row: _Row) raises:
    var client = _client(String(row.trusted))
    var server = _server(String(row.shown))
    var pair = TlsPair(client.session(row.host), server.session())
    var outcome = pair.shake_hands()
    var wanted = String(row.outcome)
    if wanted != "ok":
        # The server learns from an alert that its certificate does not do.
        wanted += " / CertificateRefused"
    assert_equal(outcome, wanted, row.rule)
    if pair.client_error:
        var text = String(pair.client_error.value())
        assert_true(row.message in text, text)
        assert_true(row.host in text, text)


def test_certificates_of_servers() raises:
    comptime rows = [
        _Row("6125 name", "good_chain", "localhost", "root", "ok", ""),
        _Row("6125 other name", "good_chain", "good.test", "root", "ok", ""),
        _Row("6125 case", "good_chain", "Good.TEST", "root", "ok", ""),
        _Row("9525-6.2 dot", "good_chain", "good.test.", "root", "ok", ""),
        _Row("6125 IPv4", "good_chain", "127.0.0.1", "root", "ok", ""),
        _Row("6125 IPv6", "good_chain", "::1", "root", "ok", ""),
        _Row("6125 wildcard", "wild", "a.wild.test", "root", "ok", ""),
        _Row("RSA", "rsa", "localhost", "root", "ok", ""),
        _Row(
            "a leaf trusted",
            "self_signed",
            "localhost",
            "self_signed",
            "ok",
            "",
        ),
        _Row("checked lists", "good_chain", "localhost", "unrevoked", "ok", ""),
        _Row("unverified", "expired", "localhost", "anything", "ok", ""),
        _Row("unverified", "strange", "no.such.host", "anything", "ok", ""),
    ]
    for row in materialize[rows]():
        _check(row)


def test_certificates_refused() raises:
    comptime rows = [
        _Row(
            "5280-4.1.2.5 not after",
            "expired",
            "localhost",
            "root",
            "CertificateExpired",
            "expired at 2020-02-01 00:00:00 UTC",
        ),
        _Row(
            "5280-4.1.2.5 not before",
            "early",
            "localhost",
            "root",
            "CertificateNotYetValid",
            "not valid before 2040-01-01",
        ),
        _Row(
            "9525-6 wrong name",
            "other",
            "localhost",
            "root",
            "WrongHost",
            "is for other.test, 192.0.2.7",
        ),
        _Row(
            "9525-6.5 wrong address",
            "other",
            "127.0.0.1",
            "root",
            "WrongHost",
            "is for other.test",
        ),
        _Row(
            "9525-6.3 one label",
            "wild",
            "a.b.wild.test",
            "root",
            "WrongHost",
            "*.wild.test",
        ),
        _Row(
            "9525-6.3 at least one",
            "wild",
            "wild.test",
            "root",
            "WrongHost",
            "",
        ),
        _Row(
            "9525-6.3 a part of a label",
            "tricky",
            "xa.partial.test",
            "root",
            "WrongHost",
            "x*.partial.test",
        ),
        _Row(
            "9525-6.3 a part of an A-label",
            "tricky",
            "xn--a-zfa.test",
            "root",
            "WrongHost",
            "xn--*.test",
        ),
        _Row(
            "9525-6.5 an address is no name",
            "tricky",
            "127.0.0.1",
            "root",
            "WrongHost",
            "*.0.0.1; 127.0.0.1 stands there as a name, and must as an address",
        ),
        _Row(
            "9525-2 no common name",
            "nameless",
            "localhost",
            "root",
            "WrongHost",
            "no host at all",
        ),
        _Row(
            "5280-6.1 self-signed",
            "self_signed",
            "localhost",
            "root",
            "SelfSigned",
            "'CN=localhost'",
        ),
        _Row(
            "5280-6.1 unknown issuer",
            "strange",
            "localhost",
            "root",
            "UnknownIssuer",
            "'CN=flare test stranger'",
        ),
        _Row(
            "5280-6.1 unknown root",
            "strange_chain",
            "localhost",
            "root",
            "UnknownIssuer",
            "'CN=flare test stranger'",
        ),
        _Row(
            "not public",
            "good_chain",
            "localhost",
            "system",
            "UnknownIssuer",
            "ca-certificates",
        ),
        _Row(
            "8446-4.4.2 incomplete chain",
            "good",
            "localhost",
            "root",
            "IncompleteChain",
            "'CN=flare test middle'",
        ),
        _Row(
            "5280-6.3 revoked",
            "revoked",
            "localhost",
            "unrevoked",
            "CertificateRevoked",
            "",
        ),
        _Row(
            "5280-6.3 no list",
            "good_chain",
            "localhost",
            "too few lists",
            "RevocationUnknown",
            "crl_file",
        ),
        _Row(
            "5280-4.2.1.12 usage",
            "wrong_use",
            "localhost",
            "root",
            "CertificateRejected",
            "purpose",
        ),
    ]
    for row in materialize[rows]():
        _check(row)


def test_certificates_revoked_pass_without_lists() raises:
    _check(_Row("no lists", "revoked", "localhost", "root", "ok", ""))


def test_certificates_untrusted_kinds() raises:
    var untrusted = 0
    for shown in ["self_signed", "strange", "good", "expired", "other"]:
        var client = _client("root")
        var server = _server(shown)
        var pair = TlsPair(client.session("localhost"), server.session())
        _ = pair.shake_hands()
        untrusted += Int(pair.client_error.value().is_untrusted())
    assert_equal(untrusted, 3)


def _client_config(shown: String) raises -> TlsConfig:
    var config = TlsConfig(ca_file=certificate("root.pem"))
    if shown != "nothing":
        config.identity = TlsIdentity(
            certificate(String(shown, ".pem")),
            certificate(String(shown, ".key")),
        )
    return config^


@fieldwise_init
struct _ClientRow(Copyable):
    var rule: StaticString
    var shown: StaticString
    var wanted: ClientVerification
    var outcome: StaticString
    var subject: StaticString


def test_certificates_of_clients() raises:
    comptime required = ClientVerification.REQUIRED
    comptime optional = ClientVerification.OPTIONAL
    comptime rows = [
        _ClientRow("shown", "client", required, "ok", "O=flare,CN=a client"),
        _ClientRow("shown", "client", optional, "ok", "O=flare,CN=a client"),
        _ClientRow("none asked", "client", ClientVerification.NONE, "ok", ""),
        _ClientRow("none shown", "nothing", optional, "ok", ""),
        _ClientRow(
            "8446-4.4.2.4 missing",
            "nothing",
            required,
            "ClientCertificateRequired / ClientCertificateRequired",
            "",
        ),
        _ClientRow(
            "unknown issuer",
            "strange_client",
            required,
            "CertificateRefused / UnknownIssuer",
            "",
        ),
        _ClientRow(
            "unknown issuer",
            "strange_client",
            optional,
            "CertificateRefused / UnknownIssuer",
            "",
        ),
        _ClientRow(
            "a server's",
            "rsa",
            required,
            "CertificateRefused / CertificateRejected",
            "",
        ),
    ]
    for row in materialize[rows]():
        var config = TlsServerConfig(
            TlsIdentity(certificate("good_chain.pem"), certificate("good.key")),
            client_verification=row.wanted,
        )
        if row.wanted != ClientVerification.NONE:
            config.client_authorities = PemSource(file=certificate("root.pem"))
        var server = TlsServerContext(config^)
        var client = TlsClientContext(_client_config(String(row.shown)))
        var pair = TlsPair(client.session("localhost"), server.session())
        assert_equal(pair.shake_hands(), row.outcome, row.rule)
        assert_equal(pair.server.peer_subject(), row.subject, row.rule)


def test_authorities_of_clients_as_text_win_over_a_file() raises:
    var config = TlsServerConfig(
        TlsIdentity(certificate("good_chain.pem"), certificate("good.key")),
        client_verification=ClientVerification.REQUIRED,
        client_ca_file=certificate("stranger.pem"),
        client_ca_pem=Path(certificate("root.pem")).read_text(),
    )
    var server = TlsServerContext(config^)
    var client = TlsClientContext(_client_config("client"))
    var pair = TlsPair(client.session("localhost"), server.session())
    assert_equal(pair.shake_hands(), "ok")


def test_certificates_of_clients_revoked() raises:
    var config = TlsServerConfig(
        TlsIdentity(certificate("good_chain.pem"), certificate("good.key")),
        client_verification=ClientVerification.REQUIRED,
        client_ca_file=certificate("root.pem"),
        client_crl_file=certificate("root.crl"),
    )
    var server = TlsServerContext(config^)
    for shown in ["client", "revoked_client"]:
        var client = TlsClientContext(_client_config(shown))
        var pair = TlsPair(client.session("localhost"), server.session())
        var outcome = pair.shake_hands()
        if shown == "client":
            assert_equal(outcome, "ok")
        else:
            assert_equal(outcome, "CertificateRefused / CertificateRevoked")
            assert_true("with the client" in String(pair.server_error.value()))
