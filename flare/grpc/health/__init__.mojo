"""The health of services, as `grpc.health.v1` asks for it."""

from flare.grpc.health.health import HealthState, add_health
