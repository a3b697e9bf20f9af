"""Tests of resolving; names that need no network."""

from flare.bytes.checked import *
from flare.dns.resolve import (
    Resolving,
    interleave_families,
    is_localhost,
    resolve,
    resolve_v4,
    resolve_v6,
)
from flare.net.error import (
    DnsError,
    NameLookupFailed,
    NameNotFound,
    NameRefused,
    NetworkError,
    NetworkErrorKind,
    Timeout,
)
from flare.net.ip import IpAddr
from flare.sys.clock import Deadline, NO_TIMEOUT_MS
from flare.sys.poll import POLL_READ, wait_for
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.lookup_places import all_lookup_places
from tests.support.loopback import PATIENCE_MS


def test_resolve_passes_addresses_through() raises:
    for text in [
        "127.0.0.1",
        "0.0.0.0",
        "::1",
        "2001:db8::1",
        "::ffff:1.2.3.4",
    ]:
        var addresses = resolve(text)
        assert_equal(len(addresses), 1)
        assert_equal(String(addresses.at(0)), text)
    assert_equal(String(resolve_v4("192.0.2.1").at(0)), "192.0.2.1")
    assert_equal(String(resolve_v6("2001:db8::1").at(0)), "2001:db8::1")


def test_localhost_is_here_and_nobody_is_asked() raises:
    """RFC 6761 section 6.3. There is no time for a lookup."""
    for host in [
        "localhost",
        "LocalHost",
        "localhost.",
        "app.localhost",
        "a.b.LOCALHOST.",
    ]:
        assert_equal(_joined(resolve(host, 0)), "127.0.0.1 ::1", host)
        assert_equal(_joined(resolve_v4(host, 0)), "127.0.0.1", host)
        assert_equal(_joined(resolve_v6(host, 0)), "::1", host)
        var resolving = Resolving(host, 0, Deadline(0))
        assert_equal(resolving.fd(), -1, host)
        assert_true(resolving.advance(), host)
        assert_equal(_joined(resolving^.take()), "127.0.0.1 ::1", host)


def _joined(addresses: List[IpAddr]) -> String:
    var text = String()
    for address in addresses:
        text.write(" " if text.byte_length() > 0 else "", address)
    return text^


def test_names_that_are_not_localhost() raises:
    for host in ["", ".", "ocalhost", "localhost.example", "xlocalhost"]:
        assert_false(is_localhost(host), host)
    assert_true(_failure("a..localhost", 0).detail == NameRefused)


def test_resolve_never_mixes_families() raises:
    for is_v4 in [True, False]:
        var error = _failure_of_family(is_v4)
        assert_true(error.kind == DnsError)
        assert_true(error.detail == NameNotFound)
        assert_true("other family" in String(error))


def _failure_of_family(is_v4: Bool) raises -> NetworkError:
    try:
        if is_v4:
            _ = resolve_v4("::1")
        else:
            _ = resolve_v6("127.0.0.1")
    except error:
        return error.copy()
    raise Error("there was no error")


def _failure(host: StringSpan, timeout_ms: Int) raises -> NetworkError:
    try:
        _ = resolve(host, timeout_ms)
    except error:
        return error.copy()
    raise Error("there was no error for ", host)


def test_resolve_refuses_names_before_anybody_is_asked() raises:
    for host in ["", "a@b", "a\r\nb", "a\0b", "127.1", "0x7f.1", "[::1]"]:
        var error = _failure(host, NO_TIMEOUT_MS)
        assert_true(error.kind == DnsError, host)
        assert_true(error.detail == NameRefused, host)
        assert_equal(error.number, 0)
        assert_false("\r" in String(error))
    assert_equal(
        String(_failure("a\nb", 0)),
        (
            "resolve a\\x0ab: only letters, digits, '-' and '_' may stand here"
            " (byte 1)"
        ),
    )


def test_resolve_of_a_name_that_does_not_exist() raises:
    # RFC 6761 section 6.4: .invalid never exists. Without a network no server
    # can say so, and where packets vanish the time runs out.
    var error = _failure("nobody.invalid", 3_000)
    assert_true(error.kind == DnsError)
    assert_true(
        error.detail == NameNotFound
        or error.detail == NameLookupFailed
        or error.detail == Timeout
    )
    assert_equal(error.address, "nobody.invalid")
    assert_true("nobody.invalid" in String(error))


def _ordered(families: String) raises -> String:
    """Numbers addresses of the families given, and shows their new order."""
    var addresses = List[IpAddr]()
    for index in range(families.byte_length()):
        if families.as_bytes().at(index) == 52:
            addresses.append(IpAddr.v4(10, 0, 0, UInt8(index)))
        else:
            addresses.append(IpAddr(0xFD00 << 48, UInt64(index), False))
    var order = String()
    for address in interleave_families(addresses):
        order.write(address.bits_low() & 15)
    return order^


def test_interleaving_rows() raises:
    # Families in the resolver's order; which comes when (RFC 8305 section 4).
    for row in [
        ("", ""),
        ("4", "0"),
        ("6", "0"),
        ("46", "01"),
        ("64", "01"),
        ("6644", "0213"),
        ("4466", "0213"),
        ("6664", "0312"),
        ("4666", "0123"),
        ("66664444", "04152637"),
        ("444", "012"),
        ("6464", "0123"),
        ("644", "012"),
        ("66444", "02134"),
    ]:
        assert_equal(_ordered(row[0]), row[1], row[0])


def test_an_address_needs_no_lookup() raises:
    for text in ["127.0.0.1", "::1"]:
        var resolving = Resolving(text, 0, Deadline(0))
        assert_equal(resolving.fd(), -1)
        assert_true(resolving.advance())
        var addresses = resolving^.take()
        assert_equal(len(addresses), 1)
        assert_equal(String(addresses.at(0)), text)


def test_a_name_is_looked_up_meanwhile() raises:
    # RFC 6761 section 6.4: without a network there is no answer, either.
    var resolving = Resolving("nobody.invalid", 0, Deadline(3_000))
    assert_true(resolving.fd() >= 0)
    var detail = Optional[NetworkErrorKind](None)
    try:
        while not resolving.advance():
            _ = wait_for(resolving.fd(), POLL_READ, Deadline(3_000))
    except error:
        detail = error.detail
    assert_true(detail)
    assert_true(
        detail.value() == NameNotFound
        or detail.value() == NameLookupFailed
        or detail.value() == Timeout
    )


def _resolving_failure(host: String, timeout_ms: Int) raises -> NetworkError:
    try:
        var resolving = Resolving(host, 0, Deadline(timeout_ms))
        while not resolving.advance():
            _ = wait_for(resolving.fd(), POLL_READ, Deadline(PATIENCE_MS))
    except error:
        return error.copy()
    raise Error("there was no error")


def test_names_that_are_refused_are_never_looked_up() raises:
    assert_true(_resolving_failure("a..b", PATIENCE_MS).detail == NameRefused)


def test_a_lookup_ends_at_its_deadline() raises:
    var resolving = Resolving("nobody.invalid", 0, Deadline(0))
    var has_ended = False
    try:
        has_ended = resolving.advance()
    except error:
        has_ended = (
            error.detail == Timeout
            or error.detail == NameNotFound
            or error.detail == NameLookupFailed
        )
    # The resolver may be quicker than the first look at the clock.
    assert_true(has_ended)


def test_too_many_lookups_at_once_are_told_of() raises:
    var places = all_lookup_places()
    var said = String()
    try:
        _ = resolve("name.example", 10_000)
    except error:
        said = String(error)
        assert_true(error.detail == NameLookupFailed, said)
    assert_true("512 lookups" in said and "name.example" in said, said)
    var resolving = Resolving("name.example", 0, Deadline(10_000))
    said = String()
    try:
        while not resolving.advance():
            _ = wait_for(resolving.fd(), POLL_READ, Deadline(PATIENCE_MS))
    except error:
        said = String(error)
    assert_true("512 lookups" in said, said)
    places.clear()
