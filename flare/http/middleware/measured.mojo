"""Requests that are counted, and the endpoint that tells the counts."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.middleware.metrics import Metrics
from flare.http.routing.handler import Handler, Middleware
from flare.sys.clock import monotonic_ns


struct Measured[H: Handler](Middleware):
    """Counts the requests to the inner handler, by method, status and time.

        var metrics = Metrics()
        router.get("/metrics", MetricsEndpoint(metrics))
        server.serve(Measured(router^, metrics), num_workers=4)

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    """The inner handler's type."""
    var handler: Self.H
    """What answers."""
    var metrics: Metrics
    """Where it is counted."""

    def __init__(out self, var handler: Self.H, metrics: Metrics):
        """Wraps a handler.

        Args:
            handler: What answers.
            metrics: Where it is counted.
        """
        self.handler = handler^
        self.metrics = metrics

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, and counts it; an error counts as 500.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            Error: What the inner handler raises.
        """
        self.metrics.begin()
        var began_ns = monotonic_ns()
        try:
            var response = self.handler.serve(req)
            self.metrics.end(
                req.method,
                response.status.code,
                (monotonic_ns() - began_ns) // 1_000,
            )
            return response^
        except error:
            self.metrics.end(
                req.method, 500, (monotonic_ns() - began_ns) // 1_000
            )
            raise error^


trait MetricSource(Deinitable, Movable):
    """Has figures of its own for the endpoint, such as open connections."""

    def write_metrics(self, mut text: String):
        """Writes them in the text format of Prometheus, whole lines.

        Args:
            text: Where to.
        """
        ...


@fieldwise_init
struct NoMetrics(MetricSource):
    """No figures."""

    def write_metrics(self, mut text: String):
        """Writes nothing.

        Args:
            text: Where to.
        """
        pass


struct MetricsEndpoint[M: MetricSource = NoMetrics](Handler):
    """Tells the figures to Prometheus.

    Parameters:
        M: The type of what has more figures.
    """

    var metrics: Metrics
    """What was counted."""
    var more: Self.M
    """What has more figures."""

    def __init__(out self, metrics: Metrics, var more: Self.M):
        """Makes an endpoint with further figures.

        Args:
            metrics: What was counted.
            more: What has more figures, such as `server.stats_handle()`.
        """
        self.metrics = metrics
        self.more = more^

    def __init__(out self: MetricsEndpoint[NoMetrics], metrics: Metrics):
        """Makes an endpoint.

        Args:
            metrics: What was counted.
        """
        self = MetricsEndpoint(metrics, NoMetrics())

    def serve(self, req: Request) raises -> Response:
        """Writes the figures.

        Args:
            req: The request.

        Returns:
            The text.

        Raises:
            Error: Never.
        """
        var text = String(capacity_bytes=4_096)
        self.metrics.write_prometheus(text)
        self.more.write_metrics(text)
        return Response(
            200,
            text^,
            content_type="text/plain; version=0.0.4; charset=utf-8",
        )
