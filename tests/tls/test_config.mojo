"""Tests of settings that do not work, and of those that do."""

from flare.sys.dynamic_library import LibraryError
from flare.tls.config import (
    ClientVerification,
    TlsConfig,
    TlsIdentity,
    TlsServerConfig,
    TlsVersion,
)
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.error import BadTlsConfig, LibraryMissing, TlsError
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.certificates import certificate
from tests.support.tls_pair import TlsPair
from std.os import makedirs
from std.subprocess import run


def _client_error(config: TlsConfig) -> String:
    try:
        _ = TlsClientContext(config)
        return "ok"
    except error:
        return String(error.kind, ": ", error)


def _server_error(var config: TlsServerConfig) -> String:
    try:
        _ = TlsServerContext(config^)
        return "ok"
    except error:
        return String(error.kind, ": ", error)


def _expect(found: String, words: List[String]) raises:
    assert_true(found.startswith("BadTlsConfig"), found)
    for word in words:
        assert_true(word in found, String("'", word, "' not in: ", found))


def test_config_bad_files_of_clients() raises:
    var key = certificate("good.key")
    var chain = certificate("good.pem")
    _expect(
        _client_error(TlsConfig(ca_file="no/such.pem")),
        ["no/such.pem", "cannot be read"],
    )
    _expect(_client_error(TlsConfig(ca_file=key)), [key, "no certificate"])
    _expect(
        _client_error(TlsConfig(ca_pem="nonsense")),
        ["the text in PEM form", "no certificate"],
    )
    _expect(
        _client_error(TlsConfig(ca_file=chain, crl_file=chain)),
        [chain, "no revocation list"],
    )
    _expect(
        _client_error(
            TlsConfig(
                ca_pem="-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
            )
        ),
        ["the text in PEM form"],
    )
    # OpenSSL takes any path for a folder, and then trusts nobody.
    _expect(
        _client_error(TlsConfig(ca_dir="no/such")), ["no/such", "no folder"]
    )
    _expect(_client_error(TlsConfig(ca_dir=chain)), [chain, "no folder"])
    _expect(_client_error(TlsConfig(alpn=[""])), ["0 bytes", "7301"])
    _expect(_client_error(TlsConfig(alpn=[String("p") * 256])), ["256 bytes"])
    _expect(
        _client_error(TlsConfig(identity=TlsIdentity(chain, ""))),
        ["give both"],
    )


def test_config_bad_files_of_servers() raises:
    var chain = certificate("good_chain.pem")
    var key = certificate("good.key")
    assert_equal(_server_error(TlsServerConfig(chain, key)), "ok")
    _expect(
        _server_error(TlsServerConfig(chain, certificate("rsa.key"))),
        [certificate("rsa.key"), chain, "must hold the key of"],
    )
    # A passphrase is not asked for at the terminal.
    _expect(
        _server_error(TlsServerConfig(chain, certificate("locked.key"))),
        ["without a passphrase"],
    )
    _expect(_server_error(TlsServerConfig(chain, chain)), [chain])
    var weak = _server_error(
        TlsServerConfig(certificate("weak.pem"), certificate("weak.key"))
    )
    _expect(weak, ["weak.pem", "too small", "RSA key of at least 2,048 bits"])
    # It was read, so its form is not what is wrong with it.
    assert_true("PEM form" not in weak, weak)
    _expect(
        _server_error(
            TlsServerConfig(
                TlsIdentity(chain, key),
                client_verification=ClientVerification.REQUIRED,
            )
        ),
        ["client_ca_file"],
    )
    # Who names authorities means to be asked for by nobody else.
    _expect(
        _server_error(
            TlsServerConfig(
                TlsIdentity(chain, key), client_ca_file=certificate("root.pem")
            )
        ),
        ["client_ca_file", "set `client_verification`"],
    )
    _expect(
        _server_error(
            TlsServerConfig(
                TlsIdentity(chain, key), client_crl_file=certificate("root.crl")
            )
        ),
        ["client_crl_file", "set `client_verification`"],
    )
    var none = TlsServerConfig(chain, key)
    none.identities.clear()
    _expect(_server_error(none^), ["add one"])


def test_config_error_of_a_missing_library() raises:
    var error = TlsError(LibraryError("libssl.so.3", "not found"))
    assert_true(error.kind == LibraryMissing)
    assert_true("libssl3" in String(error), String(error))
    assert_false(error.kind == BadTlsConfig)


def test_config_folder_of_authorities() raises:
    comptime folder = "build/certs-folder"
    makedirs(folder, exist_ok=True)
    _ = run(String("cp ", certificate("root.pem"), " ", folder))
    _ = run(String("openssl rehash ", folder))
    var client = TlsClientContext(TlsConfig(ca_dir=folder))
    var server = TlsServerContext(
        TlsServerConfig(certificate("good_chain.pem"), certificate("good.key"))
    )
    var pair = TlsPair(client.session("localhost"), server.session())
    assert_equal(pair.shake_hands(), "ok")


def test_config_minimum_version() raises:
    assert_equal(TlsVersion(0x0301).number, TlsVersion.TLS_1_2.number)
    assert_equal(TlsConfig().minimum_version.number, 0x0303)


def _host_error(host: StringSpan) raises -> String:
    var context = TlsClientContext(TlsConfig(insecure_skip_verification=True))
    try:
        _ = context.session(host)
        return "ok"
    except error:
        return String(error)


def test_config_hosts() raises:
    for host in ["a", "a.b", "a.b.", "a_b.c", "127.0.0.1", "::1", "xn--p1ai"]:
        assert_equal(_host_error(host), "ok")
    var bad: List[String] = [
        "",
        "a b",
        "good.test\0.evil.test",
        "a\r\nb",
        "user@host",
        "*.a.test",
        "[::1]",
        "127.1",
        "fe80::1%eth0",
        "ä.test",
    ]
    for host in bad:
        assert_true("give a name or an IP address" in _host_error(host), host)
