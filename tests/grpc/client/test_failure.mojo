"""Failures of HTTP as statuses of calls."""

from flare.grpc.client.failure import is_unreached, status_of
from flare.grpc.core.status import GrpcCode
from flare.http.client.connect.error import (
    BadRequest,
    Cancelled,
    ClientError,
    MalformedResponse,
    NoResponse,
    Phase,
    PoolExhausted,
    ResponseTooLarge,
    TlsFailed,
    TruncatedResponse,
)
from flare.http.client.exchange.http2_flight import reset_error
from flare.http.h2.error import ErrorCode
from flare.net.error import (
    ConnectionRefused,
    ConnectionReset,
    NetworkErrorKind,
    Timeout,
)
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Row(ImplicitlyCopyable):
    var phase: Phase
    var kind: NetworkErrorKind
    var code: GrpcCode


def test_failures() raises:
    comptime P = Phase
    comptime C = GrpcCode
    var rows: List[_Row] = [
        _Row(P.CONNECT, ConnectionRefused, C.UNAVAILABLE),
        _Row(P.CONNECT, Timeout, C.UNAVAILABLE),
        _Row(P.RESOLVE, Timeout, C.UNAVAILABLE),
        _Row(P.TLS, TlsFailed, C.UNAVAILABLE),
        _Row(P.QUEUE, PoolExhausted, C.UNAVAILABLE),
        _Row(P.QUEUE, Timeout, C.UNAVAILABLE),
        _Row(P.READ_HEAD, NoResponse, C.UNAVAILABLE),
        _Row(P.READ_BODY, TruncatedResponse, C.UNAVAILABLE),
        _Row(P.READ_BODY, ConnectionReset, C.UNAVAILABLE),
        # Silence of a server that has the call.
        _Row(P.WRITE, Timeout, C.DEADLINE_EXCEEDED),
        _Row(P.READ_HEAD, Timeout, C.DEADLINE_EXCEEDED),
        _Row(P.READ_BODY, Timeout, C.DEADLINE_EXCEEDED),
        _Row(P.READ_HEAD, MalformedResponse, C.INTERNAL),
        _Row(P.REQUEST, BadRequest, C.INTERNAL),
        _Row(P.READ_HEAD, ResponseTooLarge, C.RESOURCE_EXHAUSTED),
        _Row(P.READ_HEAD, Cancelled, C.CANCELLED),
    ]
    for row in rows:
        var error = ClientError(row.phase, row.kind, "why")
        var status = status_of(error, is_late=False)
        assert_equal(status.code.name(), row.code.name(), row.kind.name)
        assert_true("why" in status.message, "its text is there")
        var late = status_of(error, is_late=True)
        if row.kind == Cancelled:
            assert_equal(late.code.name(), "CANCELLED")
        else:
            assert_equal(late.code.name(), "DEADLINE_EXCEEDED")


def test_codes_of_resets() raises:
    """PROTOCOL-HTTP2.md of gRPC, "Errors"."""
    var codes: List[StaticString] = [
        "UNAVAILABLE",
        "INTERNAL",
        "INTERNAL",
        "INTERNAL",
        "INTERNAL",
        "UNKNOWN",
        "INTERNAL",
        "UNAVAILABLE",
        "CANCELLED",
        "INTERNAL",
        "INTERNAL",
        "RESOURCE_EXHAUSTED",
        "PERMISSION_DENIED",
    ]
    for number in range(len(codes)):
        var error = reset_error(ErrorCode(UInt32(number)))
        assert_equal(error.http2_code, number)
        assert_equal(
            status_of(error, is_late=False).code.name(),
            codes[number],
            String(number),
        )


def test_what_was_not_reached() raises:
    comptime P = Phase
    for phase in [P.RESOLVE, P.CONNECT, P.PROXY, P.TLS]:
        assert_true(
            is_unreached(ClientError(phase, ConnectionRefused, "")), phase.name
        )
    for phase in [P.REQUEST, P.QUEUE, P.WRITE, P.READ_HEAD, P.READ_BODY]:
        assert_true(
            not is_unreached(ClientError(phase, ConnectionReset, "")),
            phase.name,
        )
