"""What a failure of HTTP means for a call."""

from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.http.client.connect.error import (
    BadRequest,
    BadUrl,
    Cancelled,
    ClientError,
    MalformedResponse,
    Phase,
    ResponseTooLarge,
    StreamReset,
)
from flare.net.error import ConnectionTimeout, Timeout


def status_of(error: ClientError, *, is_late: Bool) -> GrpcStatus:
    """Gives the status of a call whose request has failed, with the error's
    text; `is_late` if the call's own time is over, since whatever else has
    failed then came of that.

    Source: PROTOCOL-HTTP2.md of gRPC, "Errors" and "Connection Management";
    statuscodes.md: what the connection has lost is UNAVAILABLE.
    """
    return GrpcStatus(_code_of(error, is_late), String(error))


def _code_of(error: ClientError, is_late: Bool) -> GrpcCode:
    if error.kind == Cancelled:
        return GrpcCode.CANCELLED
    if is_late:
        return GrpcCode.DEADLINE_EXCEEDED
    if error.kind == StreamReset and error.http2_code >= 0:
        # NO_ERROR with GOAWAY: the server has not begun with the call.
        if error.http2_code == 0 and error.phase == Phase.READ_HEAD:
            return GrpcCode.UNAVAILABLE
        return GrpcCode.from_stream_error(error.http2_code)
    if error.kind == Timeout:
        return _code_of_silence(error.phase)
    if error.kind == BadRequest or error.kind == BadUrl:
        return GrpcCode.INTERNAL
    if error.kind == MalformedResponse:
        return GrpcCode.INTERNAL
    if error.kind == ResponseTooLarge:
        return GrpcCode.RESOURCE_EXHAUSTED
    return GrpcCode.UNAVAILABLE


def _code_of_silence(phase: Phase) -> GrpcCode:
    """A server that cannot be reached is not there; one that has the call and
    says nothing is late."""
    var is_under_way = (
        phase == Phase.WRITE
        or phase == Phase.READ_HEAD
        or phase == Phase.READ_BODY
        or phase == Phase.TOTAL
    )
    if is_under_way:
        return GrpcCode.DEADLINE_EXCEEDED
    return GrpcCode.UNAVAILABLE


def is_unreached(error: ClientError) -> Bool:
    """Tells whether no connection came about, so that a call that waits until
    the server is ready tries again: names, connections, tunnels and handshakes
    that failed, or took as long as the call had."""
    return (
        error.phase == Phase.RESOLVE
        or error.phase == Phase.CONNECT
        or error.phase == Phase.PROXY
        or error.phase == Phase.TLS
        or (error.phase == Phase.TOTAL and error.detail == ConnectionTimeout)
    )
