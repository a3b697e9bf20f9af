"""What a server writes to standard error of requests that fail."""

from flare.http.message.request import Request
from flare.http.routing.failure_line import failure_line
from flare.sys.log import log_line


def log_handler_error(req: Request, error: Error):
    """Writes what a handler raised, with the request line.

    Octets of the request are escaped, so that no request can forge a line.

    Args:
        req: The request.
        error: What was raised.
    """
    log_line(failure_line(req, error))
