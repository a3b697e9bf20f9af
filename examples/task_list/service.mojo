"""The whole service as one handler."""

from examples.task_list.api import api_routes
from examples.task_list.task_list import TaskList
from flare.http import AccessLog, App, Compress, EventHub, FileServer, Recover
from flare.http import RequestId, RequestMetrics, Router, SecurityHeaders
from flare.http.middleware import Health, LogSink, Metrics, MetricsEndpoint
from flare.http.middleware import Timing
from flare.http.openapi import ApiInfo, add_api_docs
from flare.http.routing import AnyHandler


def task_service[S: LogSink](site: StringSpan, var log: S) raises -> AnyHandler:
    """Puts routes, state and middleware together.

    Parameters:
        S: The log's type.

    Args:
        site: The folder of the HTML page.
        log: Where the access log goes.

    Returns:
        The handler, for a server or a `TestClient`.
    """
    var hub = EventHub()
    var metrics = Metrics()
    var router = Router()
    router.mount("/api", api_routes(hub))
    add_api_docs(router, ApiInfo("Task list", "1.0"))
    router.get("/", FileServer(site))
    router.get("/static/*file", FileServer(site))
    router.get("/live", Health())
    router.get("/metrics", MetricsEndpoint(metrics))

    var app = App(state=TaskList(hub), handler=router^)
    # From the outside in: what stands further out sees what is further in.
    return AccessLog(
        RequestId(
            Timing(
                SecurityHeaders(
                    Compress(RequestMetrics(Recover(app^), metrics))
                )
            )
        ),
        sink=log^,
    )
