"""Who sends a request, as a guard has found out."""

from flare.http.message.request import Request


struct Principal(Copyable, Movable):
    """Who sends a request; lent by a guard to its inner handlers."""

    var name: String
    """The user's name, or whatever a guard tells of them."""

    def __init__(out self, var name: String):
        """Makes a principal.

        Args:
            name: The user's name.
        """
        self.name = name^


def principal(req: Request) raises -> String:
    """Tells who sends a request.

    Args:
        req: The request that is being handled.

    Returns:
        The name that the innermost guard around the handler has found.

    Raises:
        Error: If there is no guard around the handler.
    """
    # SAFETY: the guard that lends its note is in the midst of a call.
    var found = req.extension[Principal]()
    if not found:
        raise Error(
            "no guard around this handler knows who sends the request; wrap it",
            " in a BasicGuard or a BearerGuard",
        )
    return found.value()[].name
