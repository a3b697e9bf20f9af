"""Whose fault it is that a handler raises."""

from flare.http.message.request import Request
from flare.http.routing.input import InputError


def bad_input_of(req: Request, error: Error) -> Optional[InputError]:
    """Tells whether a handler raises what its request has refused to it.

    An error of Mojo carries a text and nothing else, and a client may have
    chosen parts of a text. So a text alone never makes an error the client's
    fault: the request remembers that it refused, and what it said. A handler
    that catches that error and raises another of its own is answered for with
    500 as ever.

    Args:
        req: The request.
        error: What its handler has raised.

    Returns:
        What to answer, as for an input of an endpoint; nothing if the error is
        the handler's.
    """
    # SAFETY: the storage outlives the request, and is copied from here.
    ref noted = req.route_params()[].bad_input
    if not noted or noted.value().detail != String(error):
        return None
    ref bad_input = noted.value()
    return InputError(400, bad_input.place, String(), bad_input.detail)


def failure_status(req: Request, error: Error) -> Int:
    """Tells with which status a server answers for a handler that raises.

    Args:
        req: The request.
        error: What its handler has raised.

    Returns:
        400 if the request has refused input of the client, else 500.
    """
    return 400 if bad_input_of(req, error) else 500
