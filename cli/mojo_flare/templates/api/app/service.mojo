"""The whole service as one handler."""

from app.item_routes import item_routes
from app.items import Items
from app.login import LoginChallenge, login_routes
from app.settings import Settings, made_up_secrets
from flare.http import App, Compress, ErrorHandler, RequestId, RequestMetrics
from flare.http import Router, SecurityHeaders, Sessions, problem_json
from flare.http.middleware import Health, Metrics, MetricsEndpoint
from flare.http.openapi import ApiInfo, add_api_docs
from flare.http.routing import AnyHandler
from flare.http.session import SessionConfig, SigningKeys

comptime NAME = "{{name}}"
"""What the page of the API is headed with."""


def routes() raises -> Router:
    """Gives the routes without a service: `flare routes` lists them, and `flare
    openapi` writes their document."""
    var settings = Settings()
    made_up_secrets(settings)
    return all_routes(settings, Metrics())


def all_routes(settings: Settings, metrics: Metrics) raises -> Router:
    """Puts the routes together."""
    var router = Router()
    router.mount("/api", login_routes(settings))
    router.mount("/api", item_routes())
    router.get("/live", Health())
    router.get("/metrics", MetricsEndpoint(metrics))
    # What is added behind this is not described.
    add_api_docs(router, ApiInfo(NAME, "1.0"))
    return router^


def service(settings: Settings) raises -> AnyHandler:
    """Puts routes, state and middleware together, for the server and for tests.

    Args:
        settings: With both secrets.
    """
    var metrics = Metrics()
    var keys = SigningKeys(settings.key.value().reveal())
    var sessions = Sessions(
        LoginChallenge(all_routes(settings, metrics)),
        keys^,
        SessionConfig(is_secure=settings.https),
    )
    var app = App(state=Items(), handler=sessions^)
    # From the outside in: what stands further out sees what is further in. All
    # errors have one shape, that of RFC 9457.
    return RequestId(
        SecurityHeaders(
            RequestMetrics(ErrorHandler(Compress(app^), problem_json), metrics)
        )
    )
