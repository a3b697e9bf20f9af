"""SOCKS5: what is sent, what is refused, however the octets are cut."""

from flare.http.client.connect.error import Phase
from flare.http.client.connect.socks import (
    SocksHandshake,
    socks_destination,
    socks_login,
)
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    # What the proxy sends, and what was said to it by the end, in hex.
    var replies: StaticString
    var said: StaticString
    # Empty if the proxy passes octets on.
    var kind: StaticString
    var reason: StaticString


def _octets(hex: StringSpan) raises -> List[UInt8]:
    var octets = List[UInt8]()
    var digits = String(hex).replace(" ", "")
    for index in range(0, digits.byte_length(), 2):
        octets.append(UInt8(atol(digits[byte = index : index + 2], 16)))
    return octets^


def _hex(octets: Span[UInt8, _]) -> String:
    var text = String()
    for octet in octets:
        text.write(
            "0123456789abcdef"[byte = Int(octet >> 4) : Int(octet >> 4) + 1],
            "0123456789abcdef"[byte = Int(octet & 15) : Int(octet & 15) + 1],
        )
    return text^


def _handshake(has_login: Bool) raises -> SocksHandshake:
    var login = List[UInt8]()
    if has_login:
        login = socks_login("me", "word")
    return SocksHandshake(socks_destination("a.test", 443), login^)


def _outcome(
    row: _Row, has_login: Bool, step_len: Int
) raises -> Tuple[String, String]:
    """Plays the proxy, so many octets at a time; gives what was said, and how
    it ended."""
    var socks = _handshake(has_login)
    var replies = _octets(row.replies)
    var said = List[UInt8]()
    var start = 0
    try:
        while not socks.is_done():
            said.extend(socks.output.span())
            socks.output.clear()
            if start == len(replies):
                raise socks.end_input()
            var count = min(step_len, len(replies) - start)
            start += socks.receive(Span(replies)[start : start + count])
    except error:
        assert_true(error.phase == Phase.PROXY, row.rule)
        # One that answers before it is asked hears it all the same.
        said.extend(socks.output.span())
        return (_hex(said), String(error.kind, ": ", error.reason))
    said.extend(socks.output.span())
    return (_hex(said), String("done, ", len(replies) - start, " left"))


def _check(rows: List[_Row], has_login: Bool) raises:
    for row in rows:
        for step_len in [1, 2, 3, 7, 1_000]:
            var outcome = _outcome(row, has_login, step_len)
            var name = String(row.rule, ", ", step_len, " at a time")
            if row.said.byte_length() > 0:
                assert_equal(outcome[0], row.said.replace(" ", ""), name)
            if row.kind.byte_length() == 0:
                assert_equal(outcome[1], row.reason, name)
            else:
                assert_true(outcome[1].startswith(row.kind), outcome[1])
                assert_true(row.reason in outcome[1], outcome[1])


comptime ASKED = "05 01 00 05 01 00 03 06 612e74657374 01bb"


def test_without_login() raises:
    _check(
        [
            _Row(
                "1928-6 an address of IPv4",
                "05 00 05 00 00 01 7f000001 1f90",
                ASKED,
                "",
                "done, 0 left",
            ),
            _Row(
                "1928-6 an address of IPv6, and RSV that is not looked at",
                ("05 00 05 00 07 04 00000000000000000000000000000001" " 0000"),
                ASKED,
                "",
                "done, 0 left",
            ),
            _Row(
                "1928-6 a name",
                "05 00 05 00 00 03 03 612e62 0050",
                ASKED,
                "",
                "done, 0 left",
            ),
            _Row(
                "1928-6 an empty name",
                "05 00 05 00 00 03 00 0050",
                ASKED,
                "",
                "done, 0 left",
            ),
            _Row(
                "1928-6 what follows is the host's",
                "05 00 05 00 00 01 7f000001 1f90 485454",
                ASKED,
                "",
                "done, 3 left",
            ),
            _Row("1928-3 version 4", "04 00", "050100", "Malf", "SOCKS4"),
            _Row("1928-3 a reply of SOCKS4", "00 5b", "", "Malf", "SOCKS4"),
            _Row(
                "1928-3 an HTTP proxy",
                "48 54 54 50",
                "050100",
                "MalformedResponse",
                "write http://",
            ),
            _Row("1928-3 TLS", "15 03", "", "Malf", "write https://"),
            _Row("1928-3 version 6", "06 00", "", "Malf", "version 6, not 5"),
            _Row(
                "1928-3 a login is wanted",
                "05 ff",
                "050100",
                "ProxyRefused",
                "give user name and password",
            ),
            _Row(
                "1928-3 a method that was not offered",
                "05 02",
                "050100",
                "MalformedResponse",
                "method 2",
            ),
            _Row("1928-3 GSSAPI", "05 01", "", "Malf", "method 1"),
            _Row(
                "1928-6 version of the reply",
                "05 00 04 00 00 01",
                "",
                "Malf",
                "version 4, not 5",
            ),
            _Row(
                "1928-5 a type of address that there is none",
                "05 00 05 00 00 02",
                "",
                "Malf",
                "type 2",
            ),
            _Row(
                "1928-6 reply 1", "05 00 05 01 00 01", "", "ProxyR", "general"
            ),
            _Row("1928-6 reply 2", "05 00 05 02 00 01", "", "ProxyR", "rules"),
            _Row(
                "1928-6 reply 3", "05 00 05 03 00 01", "", "ProxyR", "network"
            ),
            _Row("1928-6 reply 4", "05 00 05 04 00 01", "", "ProxyR", "host"),
            _Row(
                "1928-6 reply 5", "05 00 05 05 00 01", "", "ProxyR", "refused"
            ),
            _Row("1928-6 reply 6", "05 00 05 06 00 01", "", "ProxyR", "TTL"),
            _Row(
                "1928-6 reply 7", "05 00 05 07 00 01", "", "ProxyR", "CONNECT"
            ),
            _Row(
                "1928-6 reply 8", "05 00 05 08 00 01", "", "ProxyR", "type of"
            ),
            _Row(
                "1928-6 reply 9 and more",
                "05 00 05 ff 00 01",
                "",
                "ProxyRefused",
                "without a name (reply 255)",
            ),
            _Row("closed at once", "", "050100", "Malf", "before it answered"),
            _Row("closed within", "05", "050100", "Malf", "before it answered"),
            _Row(
                "closed before the reply",
                "05 00",
                ASKED,
                "Malf",
                "whether it reaches",
            ),
            _Row(
                "closed within the reply",
                "05 00 05 00 00 01 7f",
                ASKED,
                "Malf",
                "whether it reaches",
            ),
        ],
        has_login=False,
    )


def test_with_login() raises:
    comptime OFFER = "05 02 00 02"
    comptime LOGIN = "05 02 00 02 01 02 6d65 04 776f7264"
    _check(
        [
            _Row(
                "1928-3 the proxy wants no login",
                "05 00 05 00 00 01 7f000001 1f90",
                "05 02 00 02 05 01 00 03 06 612e74657374 01bb",
                "",
                "done, 0 left",
            ),
            _Row(
                "1929-2 taken",
                "05 02 01 00 05 00 00 01 7f000001 1f90",
                (
                    "05 02 00 02 01 02 6d65 04 776f7264 05 01 00 03 06"
                    " 612e74657374 01bb"
                ),
                "",
                "done, 0 left",
            ),
            _Row(
                "1929-2 refused",
                "05 02 01 01",
                LOGIN,
                "ProxyRefused",
                "refused user name and password (status 1)",
            ),
            _Row(
                "1929-2 version of the answer",
                "05 02 05 00",
                LOGIN,
                "MalformedResponse",
                "version 5, not 1",
            ),
            _Row(
                "1928-3 nothing is accepted",
                "05 ff",
                OFFER,
                "ProxyRefused",
                "neither",
            ),
            _Row(
                "closed when it was told",
                "05 02",
                LOGIN,
                "MalformedResponse",
                "when it was told",
            ),
        ],
        has_login=True,
    )


def test_destinations() raises:
    """RFC 1928 section 5."""
    assert_equal(_hex(socks_destination("1.2.3.4", 80)), "01010203040050")
    assert_equal(
        _hex(socks_destination("::1", 443)),
        "040000000000000000000000000000000101bb",
    )
    assert_equal(_hex(socks_destination("a", 1)), "0301610001")
    assert_equal(len(socks_destination("a" * 255, 1)), 259)
    for bad in [String("a" * 256), String()]:
        try:
            _ = socks_destination(bad, 1)
        except error:
            assert_true("1 to 255 bytes" in error.reason)
            continue
        raise Error(bad.byte_length(), " bytes were taken")


def test_logins() raises:
    """RFC 1929 section 2."""
    assert_equal(_hex(socks_login("a", "")), "01016100")
    assert_equal(len(socks_login("a" * 255, "b" * 255)), 513)
    try:
        _ = socks_login("a", "s" * 256)
    except error:
        assert_true("255 bytes" in error.reason)
        assert_true("sss" not in error.reason)
        return
    raise Error("a password of 256 bytes was taken")
