"""The error of a form with files that breaks its rules or its limits."""


@fieldwise_init
struct MultipartError(Copyable, Movable, Writable):
    """A multipart/form-data body is refused."""

    var rule: StaticString
    """What is allowed, with its source."""
    var offset: Int
    """Where the body goes wrong, in bytes from its start."""
    var is_too_large: Bool
    """True if a limit was passed, not a rule broken."""

    def status(self) -> Int:
        """Names the status to answer with.

        Returns:
            413 for a limit, otherwise 400.
        """
        return 413 if self.is_too_large else 400

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message.

        Args:
            writer: Where to.
        """
        writer.write("multipart form: at byte ", self.offset, ", ", self.rule)
