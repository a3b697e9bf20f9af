"""Requests that are counted, and the endpoint that tells the counts."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.message.metric_source import MetricSource
from flare.http.middleware.metrics import Metrics
from flare.http.routing.bad_input import failure_status
from flare.http.routing.handler import Handler, Middleware
from flare.sys.clock import monotonic_ns


struct Measured[H: Handler](Middleware):
    """Counts the requests to the inner handler, by route, method, status and
    time, and those that the server refuses.

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
        var place = self.metrics.begin()
        var began_ns = monotonic_ns()
        try:
            var response = self.handler.serve(req)
            self.metrics.end(
                place,
                req.method,
                response.status.code,
                (monotonic_ns() - began_ns) // 1_000,
                req.route_params()[].record.route,
            )
            return response^
        except error:
            self.metrics.end(
                place,
                req.method,
                failure_status(req, error),
                (monotonic_ns() - began_ns) // 1_000,
                req.route_params()[].record.route,
            )
            raise error^

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Counts a request that the server answers in place of the handler.

        Args:
            req: What is known of the request.
            response: The answer.

        Returns:
            The response as the inner handler leaves it.

        Raises:
            Error: What the inner handler raises.
        """
        response = self.handler.refuse(req, response^)
        self.metrics.count_refused(req.method, response.status.code)
        return response^


@fieldwise_init
struct MetricPair[A: MetricSource, B: MetricSource](MetricSource):
    """The figures of two sources, one behind the other.

    Parameters:
        A: The first one's type.
        B: The second one's type.
    """

    var first: Self.A
    """The first."""
    var second: Self.B
    """The second."""

    def write_metrics(self, mut text: String):
        """Writes the figures of both.

        Args:
            text: Where to.
        """
        self.first.write_metrics(text)
        self.second.write_metrics(text)


@fieldwise_init
struct MetricsEndpoint[M: MetricSource](Handler):
    """Tells figures to Prometheus.

        router.get("/metrics", MetricsEndpoint(metrics))
        router.get(
            "/all", MetricsEndpoint(MetricPair(metrics, server.stats_handle()))
        )

    Parameters:
        M: The type of what has figures.
    """

    var source: Self.M
    """What has figures."""

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
        self.source.write_metrics(text)
        return Response(
            200,
            text^,
            content_type="text/plain; version=0.0.4; charset=utf-8",
        )
