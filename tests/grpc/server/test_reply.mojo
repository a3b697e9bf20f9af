"""Responses of a status alone."""

from flare.grpc.core.metadata import Metadata
from flare.grpc.core.protocol import CallProtocol
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.grpc.server.reply import status_alone
from tests.support.assertions import assert_equal


def test_what_is_too_long_is_left_out_and_the_rest_stays() raises:
    """PROTOCOL-HTTP2.md, "Trailers-Only": Content-Type and Status are there."""
    var long = GrpcStatus(GrpcCode.NOT_FOUND, String("x") * 70_000)
    var response = status_alone(CallProtocol.GRPC, long, Metadata(), Metadata())
    assert_equal(response.headers["content-type"], "application/grpc")
    assert_equal(response.headers["grpc-status"], "5")
