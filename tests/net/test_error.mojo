"""Tests of network errors: kinds for programs, messages for people."""

from flare.net.error import (
    AddressInUse,
    AddressNotAvailable,
    BadAddress,
    BrokenPipe,
    ConnectionRefused,
    ConnectionReset,
    ConnectionTimeout,
    DatagramTooLarge,
    DnsError,
    NameNotFound,
    NetworkError,
    NetworkErrorKind,
    NotConnected,
    OtherError,
    PathNotFound,
    PermissionDenied,
    Timeout,
    TooManyOpenFiles,
    Unreachable,
    WouldBlock,
)
from flare.net.socket_addr import SocketAddr
from flare.sys.errno import (
    EACCES,
    EADDRINUSE,
    EADDRNOTAVAIL,
    EAGAIN,
    EBADF,
    ECONNREFUSED,
    ECONNRESET,
    EHOSTDOWN,
    EHOSTUNREACH,
    EINVAL,
    EMFILE,
    EMSGSIZE,
    ENETDOWN,
    ENETUNREACH,
    ENFILE,
    ENOENT,
    ENOTCONN,
    ENOTDIR,
    EPERM,
    EPIPE,
    ETIMEDOUT,
    OsError,
)
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable):
    var number: Int
    var kind: NetworkErrorKind


def test_network_error_kind_of_each_errno() raises:
    var rows: List[_Row] = [
        _Row(ECONNREFUSED, ConnectionRefused),
        _Row(ECONNRESET, ConnectionReset),
        _Row(ETIMEDOUT, ConnectionTimeout),
        _Row(EADDRINUSE, AddressInUse),
        _Row(EADDRNOTAVAIL, AddressNotAvailable),
        _Row(EPIPE, BrokenPipe),
        _Row(EACCES, PermissionDenied),
        _Row(EPERM, PermissionDenied),
        _Row(EMFILE, TooManyOpenFiles),
        _Row(ENFILE, TooManyOpenFiles),
        _Row(ENETUNREACH, Unreachable),
        _Row(EHOSTUNREACH, Unreachable),
        _Row(ENETDOWN, Unreachable),
        _Row(EHOSTDOWN, Unreachable),
        _Row(EAGAIN, WouldBlock),
        _Row(ENOTCONN, NotConnected),
        _Row(EBADF, NotConnected),
        _Row(EMSGSIZE, DatagramTooLarge),
        _Row(ENOENT, PathNotFound),
        _Row(ENOTDIR, PathNotFound),
        _Row(EINVAL, OtherError),
    ]
    for row in rows:
        var error = NetworkError(OsError("connect", row.number))
        assert_true(error.kind == row.kind, String(row.kind))
        assert_true(error.detail == row.kind, String(row.kind))
        assert_equal(error.number, row.number)
        assert_equal(error.operation, "connect")


def test_network_error_says_what_with_which_address_and_what_to_do() raises:
    var in_use = NetworkError(OsError("bind", EADDRINUSE), "127.0.0.1:80")
    assert_equal(
        String(in_use),
        String(
            ("bind 127.0.0.1:80: the address is in use (errno "),
            EADDRINUSE,
            "); stop the other program or choose another port",
        ),
    )
    var refused = NetworkError(OsError("connect", ECONNREFUSED), "[::1]:1")
    assert_true("[::1]:1" in String(refused))
    assert_true("is a server listening there?" in String(refused))
    var denied = NetworkError(OsError("bind", EACCES), "0.0.0.0:80")
    assert_true("below 1024" in String(denied))
    var plain = NetworkError(OsError("accept", EMFILE))
    assert_true(String(plain).startswith("accept: the process has no more"))


def test_network_error_without_a_system_call() raises:
    var error = NetworkError(
        Timeout, "connect", "192.0.2.1:80", "no answer within 250 ms"
    )
    assert_true(error.kind == Timeout)
    assert_false(error.kind == ConnectionTimeout)
    assert_equal(error.number, 0)
    assert_equal(String(error), "connect 192.0.2.1:80: no answer within 250 ms")


def test_network_error_of_a_name_has_a_kind_and_a_detail() raises:
    var error = NetworkError.of_name(NameNotFound, "a.example", "no such host")
    assert_true(error.kind == DnsError)
    assert_true(error.detail == NameNotFound)
    assert_equal(String(error), "resolve a.example: no such host")


def test_network_error_speaks_of_ports_only_where_there_are_some() raises:
    var path = NetworkError(OsError("bind socket", EADDRINUSE), "/run/a")
    assert_false("port" in String(path))
    var send = NetworkError(OsError("send", EACCES), "192.0.2.255:1")
    assert_false("1024" in String(send))


def _parse(text: StringSpan) raises NetworkError -> SocketAddr:
    return SocketAddr.parse(text)


def test_network_error_takes_over_a_bad_address() raises:
    var is_raised = False
    try:
        _ = _parse("300.0.0.1:80")
    except error:
        is_raised = True
        assert_true(error.kind == BadAddress)
        assert_true("300.0.0.1" in String(error))
    assert_true(is_raised)


def _as_error() raises:
    raise NetworkError(OsError("bind", EADDRINUSE), "127.0.0.1:80")


def test_network_error_converts_to_error() raises:
    var text = String()
    try:
        _as_error()
    except error:
        text = String(error)
    assert_true("bind 127.0.0.1:80" in text)
