"""Messages of `grpc.health.v1`.

Source: health.proto of gRPC, by way of `flare proto`; the comments are ours.
"""

from flare.protobuf.kind import FieldKind
from flare.protobuf.message import EnumRow, Enumeration, FieldRow, Message


@fieldwise_init
struct ServingStatus(Enumeration):
    """Whether a service answers."""

    comptime NAME = "grpc.health.v1.HealthCheckResponse.ServingStatus"
    """The full name."""
    comptime VALUE_COUNT = 4
    """How many there are."""
    comptime VALUES: Array[EnumRow, Self.VALUE_COUNT] = [
        EnumRow(0, "UNKNOWN"),
        EnumRow(1, "SERVING"),
        EnumRow(2, "NOT_SERVING"),
        EnumRow(3, "SERVICE_UNKNOWN"),
    ]
    """One row for each."""
    comptime SERVING = ServingStatus(1)
    """It does."""
    comptime NOT_SERVING = ServingStatus(2)
    """It does not, for now."""
    comptime SERVICE_UNKNOWN = ServingStatus(3)
    """There is no such service; only said while it is watched."""

    var number: Int32
    """The number on the wire."""


struct HealthCheckRequest(Message):
    """Asks for a service."""

    comptime NAME = "grpc.health.v1.HealthCheckRequest"
    """The full name."""
    comptime FIELD_COUNT = 1
    """How many there are."""
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "service"),
    ]
    """One row for each."""

    var service: String
    """Its name; empty for the server as a whole."""
    var unknown_fields: List[UInt8]
    """Fields that are not known, as they were read."""


struct HealthCheckResponse(Message):
    """Tells how a service is."""

    comptime NAME = "grpc.health.v1.HealthCheckResponse"
    """The full name."""
    comptime FIELD_COUNT = 1
    """How many there are."""
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.ENUM, "status"),
    ]
    """One row for each."""

    var status: ServingStatus
    """Whether it answers."""
    var unknown_fields: List[UInt8]
    """Fields that are not known, as they were read."""

    def __init__(out self, status: ServingStatus):
        """Tells how a service is."""
        self.status = status
        self.unknown_fields = []
