"""Tests of choosing certificates by name, and of reloading."""

from flare.tls.config import TlsConfig, TlsIdentity, TlsServerConfig
from flare.tls.context import (
    TICKET_COUNT_MAX,
    TlsClientContext,
    TlsServerContext,
    TlsSessionCache,
)
from tests.support.assertions import assert_equal, assert_raises, assert_true
from tests.support.certificates import certificate
from tests.support.tls_pair import TlsPair, receive
from std.os import makedirs


def _identity(name: String) raises -> TlsIdentity:
    return TlsIdentity(
        certificate(String(name, ".pem")), certificate(String(name, ".key"))
    )


def _client() raises -> TlsClientContext:
    return TlsClientContext(TlsConfig(ca_file=certificate("root.pem")))


@fieldwise_init
struct _Row(Copyable):
    var rule: StaticString
    var host: StaticString
    var outcome: StaticString


def test_server_chooses_by_name() raises:
    # The outcome tells which certificate was shown: only one is for the host.
    comptime rows = [
        _Row("exact", "exact.wild.test", "ok"),
        _Row("6066-3 no case", "EXACT.Wild.Test", "ok"),
        _Row("9525-6.3 wildcard", "a.wild.test", "ok"),
        _Row("exact before wildcard", "very.wild.test", "ok"),
        _Row("another", "other.test", "ok"),
        _Row("the first for others", "localhost", "ok"),
        _Row("6066-3 no name", "127.0.0.1", "ok"),
        _Row("unknown", "unknown.test", "WrongHost / CertificateRefused"),
        _Row(
            "9525-6.3 one label",
            "a.b.wild.test",
            "WrongHost / CertificateRefused",
        ),
    ]
    var config = TlsServerConfig(_identity("rsa"), alpn=["h2"])
    for name in ["wild", "exact", "other"]:
        config.add(_identity(name))
    var server = TlsServerContext(config^)
    var client = TlsClientContext(
        TlsConfig(ca_file=certificate("root.pem"), alpn=["h2"])
    )
    for row in materialize[rows]():
        var pair = TlsPair(client.session(row.host), server.session())
        assert_equal(pair.shake_hands(), row.outcome, row.rule)
        if row.outcome == "ok":
            assert_equal(pair.client.alpn(), "h2", row.rule)


def test_server_resumes_by_name() raises:
    var config = TlsServerConfig(_identity("rsa"))
    config.add(_identity("other"))
    var server = TlsServerContext(config^)
    var client = _client()
    var first = TlsPair(client.session("other.test"), server.session())
    assert_equal(first.shake_hands(), "ok")
    var second = TlsPair(client.session("other.test"), server.session())
    assert_true(second.client.resume(Span(first.client.ticket())))
    assert_equal(second.shake_hands(), "ok")
    assert_true(second.client.is_resumed())


def _copy_file(source: String, target: String) raises:
    var text: String
    with open(source, "r") as file:
        text = file.read()
    with open(target, "w") as file:
        file.write(text)


def test_server_reloads() raises:
    makedirs("build/certs-reload", exist_ok=True)
    comptime chain = "build/certs-reload/chain.pem"
    comptime key = "build/certs-reload/key.pem"
    _copy_file(certificate("rsa.pem"), chain)
    _copy_file(certificate("rsa.key"), key)
    var server = TlsServerContext(TlsServerConfig(chain, key))
    var worker = server.copy()
    var client = _client()
    var old = TlsPair(client.session("localhost"), worker.session())
    assert_equal(old.shake_hands(), "ok")
    var under_way = TlsPair(client.session("localhost"), worker.session())

    _copy_file(certificate("other.pem"), chain)
    with assert_raises(contains="build/certs-reload/key.pem"):
        server.reload()
    # What does not work changes nothing.
    var same = TlsPair(client.session("localhost"), worker.session())
    assert_equal(same.shake_hands(), "ok")

    _copy_file(certificate("other.key"), key)
    server.reload()
    var new = TlsPair(client.session("other.test"), worker.session())
    assert_equal(new.shake_hands(), "ok")
    assert_equal(under_way.shake_hands(), "ok")
    old.client.write("still here".as_bytes(), old.to_server)
    assert_equal(
        receive(old.server, old.to_server, old.to_client), "still here"
    )
    var ticket = old.client.ticket()
    var resumed = TlsPair(client.session("localhost"), worker.session())
    _ = resumed.client.resume(Span(ticket))
    assert_equal(resumed.shake_hands(), "WrongHost / CertificateRefused")


def test_server_takes_text() raises:
    var chain: String
    var key: String
    with open(certificate("rsa.pem"), "r") as file:
        chain = file.read()
    with open(certificate("rsa.key"), "r") as file:
        key = file.read()
    var server = TlsServerContext(
        TlsServerConfig(TlsIdentity.from_pem(chain, key))
    )
    var authorities: String
    with open(certificate("root.pem"), "r") as file:
        authorities = file.read()
    var client = TlsClientContext(TlsConfig(ca_pem=authorities))
    var pair = TlsPair(client.session("localhost"), server.session())
    assert_equal(pair.shake_hands(), "ok")


def test_server_outlived_by_its_sessions() raises:
    var client = _client()
    var server = TlsServerContext(
        TlsServerConfig(_identity("rsa"), alpn=["h2"])
    )
    var pair = TlsPair(client.session("localhost"), server.session())
    _ = server^
    assert_equal(pair.shake_hands(), "ok")


def test_cache_gives_each_ticket_once() raises:
    var cache = TlsSessionCache()
    var other = cache
    cache.put("a:1", [UInt8(1)])
    cache.put("a:1", [UInt8(2), 3])
    cache.put("b:1", [UInt8(9)])
    cache.put("c:1", List[UInt8]())
    assert_equal(len(other.take("a:1")), 2)
    assert_equal(len(other.take("a:1")), 0)
    assert_equal(len(other.take("c:1")), 0)
    assert_equal(len(cache.take("b:1")), 1)


def test_cache_is_bounded() raises:
    var cache = TlsSessionCache()
    for number in range(TICKET_COUNT_MAX + 2):
        cache.put(String(number), [UInt8(1)])
        cache.put("0", [UInt8(1)])
    assert_equal(len(cache.take("0")), 1)
    assert_equal(len(cache.take("1")), 0)
    assert_equal(len(cache.take("4")), 1)
    assert_equal(len(cache.take(String(TICKET_COUNT_MAX + 1))), 1)
