"""What handlers are given by those around them, and what is said of one that
takes what nobody gives."""

from flare.bytes.checked import *
from flare.http.handler.operation import Operation
from flare.json.field_types import readable_type_name


struct Surroundings(Copyable, Movable):
    """What the handlers around one give it with every request."""

    var params: List[String]
    """The names of the path parameters that routes around it capture."""
    var states: List[String]
    """The types of the states that an `App` around it lends, as
    `Operation.states` has them."""

    def __init__(out self):
        """Makes those of a handler that has none around it."""
        self.params = []
        self.states = []

    def with_params(self, names: List[String]) -> Self:
        """Gives a copy for what is within a route.

        Args:
            names: The names of the path parameters that it captures.
        """
        var within = self.copy()
        within.params.extend(names.copy())
        return within^

    def with_state(self, var type: String) -> Self:
        """Gives a copy for what is within something that lends a state.

        Args:
            type: Its type, as `state_type` names it.
        """
        var within = self.copy()
        within.states.append(type^)
        return within^


def operation_problem(operation: Operation, around: Surroundings) -> String:
    """Says which path parameter or state a handler takes that is not given to it;
    empty if all are there."""
    var problem = param_problem(operation, around.params)
    if problem.byte_length() > 0:
        return problem^
    for ref state in operation.states:
        if state not in around.states:
            problem = _route(operation)
            problem.write(missing_state(readable_type_name(state)))
            return problem^
    return String()


def param_problem(operation: Operation, params: List[String]) -> String:
    """Says which path parameter a handler takes that is not captured for it; empty
    if all are there, or it is the handler of no route."""
    for ref parameter in operation.parameters:
        var is_given = parameter.place != "path" or parameter.name in params
        if is_given or operation.pattern.byte_length() == 0:
            continue
        var problem = _route(operation)
        problem.write(operation.id if operation.id else "the handler")
        problem.write(" takes the path parameter '", parameter.name)
        problem.write("', and the pattern has ")
        for index in range(len(params)):
            problem.write(", " if index > 0 else "", "'", params.at(index), "'")
        problem.write("none" if len(params) == 0 else "")
        problem.write("; give both the same name")
        return problem^
    return String()


def _route(operation: Operation) -> String:
    """Begins a sentence about a route; of a handler without one it is empty."""
    if operation.pattern.byte_length() == 0:
        return String()
    return String("route: ", operation.method, " '", operation.pattern, "': ")


def missing_state(name: StringSpan) -> String:
    """Says that nobody lends a state of the type of this name."""
    return String(
        "no App around this handler has a state of type ",
        name,
        "; serve App(state=",
        name,
        "(...), handler=...)",
    )
