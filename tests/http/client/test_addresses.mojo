"""Addresses of hosts that a program gives, and its own resolver."""

from flare.http.client.connect.addresses import HostAddresses, NameResolver
from flare.http.client.message.config import ClientConfig
from flare.net.error import NameLookupFailed
from flare.net.ip import IpAddr
from tests.support.assertions import assert_equal, assert_false, assert_true


def _found(
    addresses: HostAddresses, host: StringSpan, port: UInt16
) raises -> String:
    var text = String()
    for ip in addresses.find(host, port):
        text.write(ip, " ")
    return text^


def test_pinned_hosts() raises:
    var addresses = HostAddresses()
    assert_true(addresses.is_empty())
    addresses.pin("a.test:443", ["10.0.0.1", "fd00::1"])
    addresses.pin("A.Test", ["10.0.0.2"])
    addresses.pin("b.test:80", ["10.0.0.3"])
    addresses.pin("bücher.example", ["10.0.0.4"])
    addresses.pin("[::1]:80", ["10.0.0.5"])
    assert_false(addresses.is_empty())
    assert_equal(_found(addresses, "a.test", 443), "10.0.0.1 fd00::1 ")
    assert_equal(_found(addresses, "a.test.", 80), "10.0.0.2 ")
    assert_equal(_found(addresses, "b.test", 80), "10.0.0.3 ")
    assert_equal(_found(addresses, "b.test", 81), "")
    assert_equal(_found(addresses, "x.a.test", 443), "")
    assert_equal(_found(addresses, "xn--bcher-kva.example", 1), "10.0.0.4 ")
    assert_equal(_found(addresses, "::1", 80), "10.0.0.5 ")
    addresses.pin("a.test:443", ["10.0.0.6"])
    assert_equal(_found(addresses, "a.test", 443), "10.0.0.6 ")
    var config = ClientConfig()
    config.addresses = addresses.copy()
    assert_equal(_found(config.copy().addresses, "b.test", 80), "10.0.0.3 ")


def test_what_cannot_be_pinned() raises:
    var addresses = HostAddresses()
    for host in ["", "a b", "a/b", "a:x", "a:99999", ":80"]:
        try:
            addresses.pin(host, ["10.0.0.1"])
        except error:
            assert_true("ClientConfig.addresses" in error.reason, error.reason)
            continue
        raise Error(host, " was taken")
    var rows: List[List[String]] = [
        [],
        ["10.0.0"],
        ["a.test"],
        ["10.0.0.1", ""],
    ]
    for bad in rows:
        try:
            addresses.pin("a.test", bad)
        except error:
            assert_true("a.test" in error.reason, error.reason)
            continue
        raise Error("bad addresses were taken")
    assert_true(addresses.is_empty())


@fieldwise_init
struct _Directory(NameResolver):
    var known: String

    def resolve(self, host: StringSpan) raises -> List[IpAddr]:
        if host == "broken.test":
            raise Error("the directory is closed")
        if host == self.known:
            return [IpAddr.parse("10.1.1.1")]
        return []


def test_own_resolver() raises:
    var addresses = HostAddresses()
    addresses.resolve_with(_Directory("svc"))
    addresses.pin("pinned.test", ["10.0.0.1"])
    assert_false(addresses.is_empty())
    var copy = addresses.copy()
    assert_equal(_found(copy, "svc", 1), "10.1.1.1 ")
    assert_equal(_found(copy, "pinned.test", 1), "10.0.0.1 ")
    # The system is asked for these.
    assert_equal(_found(copy, "other", 1), "")
    # An address stands for itself.
    assert_equal(_found(copy, "127.0.0.1", 1), "")
    try:
        _ = copy.find("broken.test", 1)
    except error:
        assert_true(error.detail == NameLookupFailed)
        assert_true("the directory is closed" in String(error))
        return
    raise Error("a resolver that fails was not heard")
