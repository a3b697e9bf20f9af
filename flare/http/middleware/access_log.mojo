"""A line for each request."""

from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.middleware.log_line import (
    LogEntry,
    LogFormat,
    json_line,
    text_line,
)
from flare.http.middleware.log_sink import LogSink, StandardOutput
from flare.http.routing.bad_input import failure_status
from flare.http.routing.handler import Handler, Middleware
from flare.http.routing.request_id import request_id
from flare.sys.clock import monotonic_ns, realtime_ns


struct AccessLog[H: Handler, S: LogSink = StandardOutput](Middleware):
    """Writes who asked for what, and what became of it.

    It stands outermost, so that it times and sees all. What the inner handler
    raises is logged as 500, and passed on. Requests that the server refuses by
    itself are logged too, with what was read of them; those of which not even
    the first line was have `-` for method and target.

        server.serve(AccessLog(router^, LogFormat.JSON))

    Parameters:
        H: The inner handler's type.
        S: Where lines go.
    """

    comptime Inner = Self.H
    """The inner handler's type."""
    var handler: Self.H
    """What answers."""
    var format: LogFormat
    """How lines are written."""
    var sink: Self.S
    """Where they go."""

    def __init__(
        out self,
        var handler: Self.H,
        format: LogFormat = LogFormat.TEXT,
        *,
        var sink: Self.S,
    ):
        """Wraps a handler.

        Args:
            handler: What answers.
            format: How lines are written.
            sink: Where they go.
        """
        self.handler = handler^
        self.format = format
        self.sink = sink^

    def __init__[
        H2: Handler
    ](
        out self: AccessLog[H2, StandardOutput],
        var handler: H2,
        format: LogFormat = LogFormat.TEXT,
    ):
        """Wraps a handler; lines go to standard output.

        Parameters:
            H2: The inner handler's type.

        Args:
            handler: What answers.
            format: How lines are written.
        """
        self = AccessLog[H2, StandardOutput](
            handler^, format, sink=StandardOutput()
        )

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, and logs it.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            Error: What the inner handler raises.
        """
        var unix_ms = realtime_ns() // 1_000_000
        var began_ns = monotonic_ns()
        try:
            var response = self.handler.serve(req)
            var entry = _entry(req, response)
            entry.unix_ms = unix_ms
            entry.elapsed_us = (monotonic_ns() - began_ns) // 1_000
            self._write(req, entry)
            return response^
        except error:
            var elapsed_us = (monotonic_ns() - began_ns) // 1_000
            var status = failure_status(req, error)
            self._write(
                req, LogEntry(unix_ms, elapsed_us, status, 0, request_id(req))
            )
            raise error^

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Logs a request that the server answers in place of the handler.

        Args:
            req: What is known of the request.
            response: The answer.

        Returns:
            The response as the inner handler leaves it.

        Raises:
            Error: What the inner handler raises.
        """
        response = self.handler.refuse(req, response^)
        var entry = _entry(req, response)
        entry.unix_ms = realtime_ns() // 1_000_000
        self._write(req, entry)
        return response^

    def _write(self, req: Request, entry: LogEntry) raises:
        if self.format == LogFormat.JSON:
            self.sink.write_line(json_line(req, entry))
        else:
            self.sink.write_line(text_line(req, entry))


def _entry(req: Request, response: Response) -> LogEntry:
    return LogEntry(
        0, 0, response.status.code, len(response.body), request_id(req)
    )
