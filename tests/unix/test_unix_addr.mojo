"""Tests of Unix socket addresses."""

from flare.net.error import BadAddress, NetworkError
from flare.unix.unix_addr import UnixAddr
from tests.support.assertions import assert_equal, assert_false, assert_true


def _offset(text: String) -> Int:
    try:
        _ = UnixAddr.parse(text)
        return -1
    except error:
        return error.offset


def test_unix_addr_rows() raises:
    # (text, where it is refused or -1); unix(7), "Address format".
    for row in [
        ("/run/app.sock", -1),
        ("relative.sock", -1),
        ("./@odd", -1),
        ("@app", -1),
        ("@" + String("a") * 107, -1),
        (String("a") * 107, -1),
        (String("a") * 108, 107),
        ("@" + String("a") * 108, 107),
        ("", 0),
        ("@", 0),
        ("/run/a\0b", 6),
        ("@a\0b", 1),
    ]:
        assert_equal(_offset(row[0]), row[1], row[0])


def test_unix_addr_kinds() raises:
    var path = UnixAddr("/run/app.sock")
    assert_true(path.is_path())
    assert_false(path.is_abstract() or path.is_unnamed())
    assert_equal(String(path), "/run/app.sock")
    var abstract = UnixAddr("@app")
    assert_true(abstract.is_abstract())
    assert_false(abstract.is_path() or abstract.is_unnamed())
    assert_equal(String(abstract), "@app")
    assert_equal(len(abstract.octets()), 4)
    assert_equal(abstract.octets()[0], 0)
    var unnamed = UnixAddr()
    assert_true(unnamed.is_unnamed())
    assert_false(unnamed.is_path() or unnamed.is_abstract())
    assert_equal(String(unnamed), "unnamed")
    # The explicit way to a file whose name starts with an at sign.
    var odd = UnixAddr.path("@odd".as_bytes())
    assert_true(odd.is_path() and odd != UnixAddr("@odd"))
    assert_true(UnixAddr.abstract("app".as_bytes()) == abstract)


def test_unix_addr_survives_the_kernel_layout() raises:
    for text in ["/run/app.sock", "@app", "a", "@a"]:
        var address = UnixAddr(text)
        var back = UnixAddr.from_kernel(address.to_kernel())
        assert_true(back == address, text)
        assert_equal(String(back), text)


def _raised(text: String) raises NetworkError -> UnixAddr:
    return text


def test_unix_addr_in_a_call_raises_a_network_error() raises:
    var text = String()
    try:
        _ = _raised("/run/\n\0")
    except error:
        assert_true(error.kind == BadAddress)
        text = String(error)
    assert_true("/run/\\x0a\\x00" in text, text)
    assert_true("a NUL would end it early (byte 6)" in text, text)
