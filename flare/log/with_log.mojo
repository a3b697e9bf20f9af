"""A log lent to inner handlers."""

from flare.http.message.extensions import ExtensionScope
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.handler import Handler
from flare.http.routing.stack import Layer
from flare.log.log import Log


struct WithLog[H: Handler](Layer):
    """Lends a log to inner handlers, which find it by `Log.of(req)`.

    A program with one log says `log.make_default()` and needs none of this; it
    is for one with several servers, or parts with fields of their own:
    `WithLog(router^, log.bind("part", "shop"))`.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = WithLog[I]
    var handler: Self.H
    """What answers."""
    var log: Log
    """What it logs to."""

    def __init__(out self, var handler: Self.H, var log: Log):
        """Wraps a handler."""
        self.handler = handler^
        self.log = log^

    def serve(self, req: Request) raises -> Response:
        """Lets the inner handler answer, with the log at hand."""
        var scope = ExtensionScope(req.extensions(), self.log)
        var response = self.handler.serve(req)
        scope^.end()
        return response^
