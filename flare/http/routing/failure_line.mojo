"""How a failed handler is told of in a log."""

from flare.bytes.ascii import write_escaped
from flare.http.message.request import Request
from flare.http.routing.request_id import request_id
from flare.sys.log import log_line


def failure_line(req: Request, error: Error) -> String:
    """Writes what a handler raised, with the request line and the id.

    Octets of the request are escaped, so that no request can forge a line.

    Args:
        req: The request.
        error: What was raised.

    Returns:
        One line without its end.
    """
    var line = String("handler failed: ")
    write_escaped(String(error).as_bytes(), line)
    line.write(" [")
    write_escaped(req.method_name.as_bytes(), line)
    line.write(" ")
    write_escaped(req.url.as_bytes(), line)
    line.write(" ", req.version, ", from ", req.peer)
    line.write(", id ", request_id(req), "]")
    return line^


def log_failure(req: Request, error: Error):
    """Logs what a handler raised, unless `ServerConfig.logs_errors` is off.

    Args:
        req: The request.
        error: What was raised.
    """
    if req.route_params()[].record.logs_errors:
        log_line(failure_line(req, error))
