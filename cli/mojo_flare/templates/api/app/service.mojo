"""The whole service as one handler."""

from app.item_routes import item_routes
from app.items import Items
from app.login import login_routes
from app.settings import Settings
from flare.http import (
    AnyHandler,
    ApiInfo,
    App,
    Compress,
    ErrorHandler,
    Health,
    Metrics,
    MetricsEndpoint,
    RequestId,
    RequestMetrics,
    Router,
    SecurityHeaders,
    SessionConfig,
    Sessions,
    SigningKeys,
    add_api_docs,
    problem_json,
)

comptime NAME = "{{name}}"
"""What the page of the API is headed with."""


def service(settings: Settings) raises -> AnyHandler:
    """Puts routes, state and middleware together, for the server and for tests.

    Args:
        settings: With both secrets.
    """
    var metrics = Metrics()
    var router = Router()
    router.mount("/api", login_routes(settings))
    router.mount("/api", item_routes())
    router.get("/live", Health())
    router.get("/metrics", MetricsEndpoint(metrics))
    # What is added behind this is not described.
    add_api_docs(router, ApiInfo(NAME, "1.0"))

    var keys = SigningKeys(settings.key.value().reveal())
    var sessions = Sessions(
        router^, keys^, SessionConfig(is_secure=settings.https)
    )
    var app = App(state=Items(), handler=sessions^)
    # From the outside in: what stands further out sees what is further in. All
    # errors have one shape, that of RFC 9457.
    return RequestId(
        SecurityHeaders(
            RequestMetrics(ErrorHandler(Compress(app^), problem_json), metrics)
        )
    )
