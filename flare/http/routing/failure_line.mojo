"""How a failed handler is told of in a log."""

from flare.bytes.escape import write_escaped
from flare.http.message.request import Request


def failure_line(req: Request, error: Error) -> String:
    """Writes what a handler raised, with the request line.

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
    line.write(" ", req.version, ", from ", req.peer, "]")
    return line^
