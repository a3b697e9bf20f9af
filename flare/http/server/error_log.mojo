"""What a server writes to standard error."""

from flare.bytes.escape import write_escaped
from flare.http.message.request import Request
from std.sys import stderr


def log_handler_error(req: Request, error: Error):
    """Writes what a handler raised, with the request line.

    Octets of the request are escaped, so that no request can forge a line.

    Args:
        req: The request.
        error: What was raised.
    """
    var line = String("flare: handler failed: ")
    write_escaped(String(error).as_bytes(), line)
    line.write(" [")
    write_escaped(req.method_name.as_bytes(), line)
    line.write(" ")
    write_escaped(req.url.as_bytes(), line)
    line.write(" ", req.version, ", from ", req.peer, "]")
    print(line, file=stderr)


def log_server_error(what: StringSpan):
    """Writes a trouble of the server's own.

    Args:
        what: What happened, and what follows.
    """
    print("flare:", what, file=stderr)
