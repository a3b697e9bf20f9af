"""What a server writes to standard error."""

from flare.http.message.request import Request
from flare.http.routing.failure_line import failure_line
from std.sys import stderr


def log_handler_error(req: Request, error: Error):
    """Writes what a handler raised, with the request line.

    Octets of the request are escaped, so that no request can forge a line.

    Args:
        req: The request.
        error: What was raised.
    """
    print(failure_line(req, error), file=stderr)


def log_server_error(what: StringSpan):
    """Writes a trouble of the server's own.

    Args:
        what: What happened, and what follows.
    """
    print("flare:", what, file=stderr)
