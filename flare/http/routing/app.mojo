"""An application: a handler, and the state that its handlers share."""

from flare.bytes.checked import *
from flare.http.message.extensions import ExtensionScope
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.handler import Handler
from flare.http.handler.operation import Operation
from flare.http.handler.surroundings import Surroundings
from flare.http.routing.stack import Layer
from flare.http.handler.state import State, state_type
from flare.sys.errno import OsError


struct App[T: Movable & Deinitable, H: Handler](Layer):
    """Gives a state to a handler and to all handlers inside it.

        var app = App(state=Counters(hits=0), handler=router^)
        server.serve(app^, num_workers=4)

    Handlers get it as `State[Counters].of(req)`, as a second parameter
    (`def count(req: Request, state: State[Counters]) raises -> Response`), or
    as a field (`flare/http/extract`). Apps nest: each type of state is found by
    itself.

    Parameters:
        T: The state's type.
        H: The handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = App[Self.T, I]
    var state: State[Self.T]
    """What the handlers share."""
    var handler: Self.H
    """What answers: a router, or any other handler."""

    def __init__(
        out self, *, var state: Self.T, var handler: Self.H
    ) raises OsError:
        """Makes an application.

        Raises:
            OsError: If the system has no more locks.
        """
        self.state = State(state^)
        self.handler = handler^

    def __init__(out self, *, shared: State[Self.T], var handler: Self.H):
        """Makes an application of a state that others hold, too.

        Args:
            shared: The state.
        """
        self.state = shared
        self.handler = handler^

    def __deinit__(deinit self):
        """Ends the handlers, and then what they share."""
        var handler = self.handler^
        _ = handler^

    @always_inline
    def serve(self, req: Request) raises -> Response:
        """Lends the state to the handler, and calls it."""
        var scope = ExtensionScope(req.extensions(), self.state, lasts=True)
        var response = self.handler.serve(req)
        scope^.end()
        return response^

    def refuse(self, req: Request, var response: Response) raises -> Response:
        """Lends the state while the handler finishes an answer of the server's
        own."""
        var scope = ExtensionScope(req.extensions(), self.state, lasts=True)
        response = self.handler.refuse(req, response^)
        scope^.end()
        return response^

    def problem(self, around: Surroundings) -> String:
        """Tells what the handler does, which has the state."""
        return self.handler.problem(around.with_state(state_type[Self.T]()))

    def describe(self, mut operation: Operation):
        """Lets the handler say what it takes and gives, but for the state."""
        self.handler.describe(operation)
        var type = state_type[Self.T]()
        var missing = List[String]()
        for ref state in operation.states:
            if state != type:
                missing.append(state)
        operation.states = missing^
