"""Who is told how far a transfer has come."""


@fieldwise_init
struct Transfer(TrivialRegisterPassable):
    """How far a transfer has come, in bytes as transferred."""

    var is_upload: Bool
    """True for the content of the request, False for that of the response."""
    var done_len: Int
    """How much has gone, or come."""
    var total_len: Int
    """How much there is; -1 if nobody has said."""


trait TransferProgress(Deinitable, Movable):
    """Is told how far transfers have come, such as a bar on a screen."""

    def on_progress(mut self, transfer: Transfer) raises:
        """Hears that more has gone or come: about each 64 KiB, and at the end.

        A transfer that has to begin anew, because the content has changed or the
        request is repeated, goes back to 0.

        Args:
            transfer: How far it is.

        Raises:
            Error: To stop the transfer; the request fails with `SinkFailed` or
                `SourceFailed`, and this error's text.
        """
        ...


struct NoProgress(TransferProgress):
    """Nobody wants to know."""

    def __init__(out self):
        pass

    def on_progress(mut self, transfer: Transfer) raises:
        """Hears nothing."""
        return
