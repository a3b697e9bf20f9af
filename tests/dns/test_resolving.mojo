"""Tests of lookups that go on by themselves."""

from flare.dns.resolving import Resolving
from flare.net.error import NameRefused, NetworkError, Timeout
from flare.sys.clock import Deadline
from flare.sys.poll import POLL_READ, wait_for
from std.testing import assert_equal, assert_true
from tests.support.loopback import PATIENCE_MS


def test_an_address_needs_no_lookup() raises:
    for text in ["127.0.0.1", "::1"]:
        var resolving = Resolving(text, 0, Deadline(0))
        assert_equal(resolving.fd(), -1)
        assert_true(resolving.advance())
        var addresses = resolving^.take()
        assert_equal(len(addresses), 1)
        assert_equal(String(addresses[0]), text)


def test_a_name_is_looked_up_meanwhile() raises:
    var resolving = Resolving("localhost", 0, Deadline(PATIENCE_MS))
    while not resolving.advance():
        _ = wait_for(resolving.fd(), POLL_READ, Deadline(PATIENCE_MS))
    for address in resolving^.take():
        assert_true(address.is_loopback())


def _failure(host: String, timeout_ms: Int) raises -> NetworkError:
    try:
        var resolving = Resolving(host, 0, Deadline(timeout_ms))
        while not resolving.advance():
            _ = wait_for(resolving.fd(), POLL_READ, Deadline(PATIENCE_MS))
    except error:
        return error.copy()
    raise Error("there was no error")


def test_names_that_are_refused_are_never_looked_up() raises:
    assert_true(_failure("a..b", PATIENCE_MS).detail == NameRefused)


def test_a_lookup_ends_at_its_deadline() raises:
    var resolving = Resolving("localhost", 0, Deadline(0))
    var has_ended = False
    try:
        has_ended = resolving.advance()
    except error:
        has_ended = error.detail == Timeout
    # The resolver may be quicker than the first look at the clock.
    assert_true(has_ended)
