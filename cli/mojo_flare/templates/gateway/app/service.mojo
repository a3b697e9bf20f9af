"""The whole gateway as one handler."""

from app.settings import Settings, made_up_token
from flare.http import ErrorHandler, RateLimit, RequestId, RequestMetrics
from flare.http import RequireBearerAuth, Router, problem_json
from flare.http.middleware import Health, KnownToken, Metrics, MetricsEndpoint
from flare.http.middleware import Timing
from flare.http.routing import AnyHandler

comptime REALM = "{{name}}"
"""What clients are told that the token is for."""
comptime BURST = 40
"""Most requests of one address at once."""


def routes() raises -> Router:
    """Gives the routes without a service; `flare routes` lists them."""
    var settings = Settings()
    made_up_token(settings)
    return all_routes(settings, Metrics())


def all_routes(settings: Settings, metrics: Metrics) raises -> Router:
    """Puts the routes together."""
    var router = Router()
    # Only what stands here reaches the upstream.
    router.all(
        "/api/*path",
        RequireBearerAuth(
            settings.proxy(),
            KnownToken(settings.token.value().reveal(), "client"),
            REALM,
        ),
    )
    router.get("/live", Health(), may_block=False)
    router.get("/metrics", MetricsEndpoint(metrics), may_block=False)
    return router^


def service(settings: Settings) raises -> AnyHandler:
    """Puts routes and middleware together, for the server and for tests.

    Args:
        settings: With a token.
    """
    var metrics = Metrics()
    var limited = RateLimit(
        all_routes(settings, metrics),
        rate=settings.requests_per_second,
        burst=BURST,
    )
    # From the outside in. All errors have one shape, that of RFC 9457.
    return RequestId(
        Timing(RequestMetrics(ErrorHandler(limited^, problem_json), metrics))
    )
