"""How a client has reached the first proxy of one's own."""

from flare.http.message.request import Request


struct Origin(Copyable, Movable):
    """How a client has reached the first trusted proxy."""

    var proto: String
    """The scheme, in lower case; empty if it is not told."""
    var host: String
    """The host that it asked for; empty if it is not told."""

    def __init__(out self, var proto: String, var host: String):
        """Takes what the proxy tells.

        Args:
            proto: The scheme.
            host: The host.
        """
        self.proto = proto^
        self.host = host^


def forwarded_proto(req: Request) -> String:
    """Tells by which scheme the client has asked a trusted proxy.

    Args:
        req: The request that is being handled.

    Returns:
        Such as `https`; empty if no trusted proxy tells.
    """
    # SAFETY: the TrustedProxies that lends its note is in the midst of a call.
    var found = req.notes()[].find[Origin]()
    return found.value()[].proto if found else String()


def forwarded_host(req: Request) -> String:
    """Tells which host the client has asked a trusted proxy for.

    Args:
        req: The request that is being handled.

    Returns:
        The host; empty if no trusted proxy tells.
    """
    # SAFETY: the TrustedProxies that lends its note is in the midst of a call.
    var found = req.notes()[].find[Origin]()
    return found.value()[].host if found else String()
