"""What is served: the greeter, its health and description, and a route of HTTP."""

from app.greeter import Greetings
from app.messages.greeter_grpc import add_greeter
from flare.grpc import GrpcServices
from flare.grpc.health import HealthState, add_health
from flare.grpc.reflection import add_reflection
from flare.http import Router
from flare.http.middleware import Health


def routes() raises -> Router:
    """Puts the routes together; `flare routes` lists them."""
    var router = Router()
    router.get("/live", Health())
    return router^


def service() raises -> GrpcServices:
    """Puts services beside the routes, for the server and for tests alike."""
    var services = GrpcServices(beside=routes())
    add_greeter(services, Greetings())
    var health = HealthState()
    health.set_serving("greeter.Greeter", True)
    add_health(services, health)
    # Tools such as grpcurl need no .proto file then. Leave it out if strangers
    # should not read what there is.
    add_reflection(services)
    return services^
