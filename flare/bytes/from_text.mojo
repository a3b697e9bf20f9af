"""Types of one's own that are read from text: parameters, form fields, settings."""


@fieldwise_init
struct TextError(Copyable, Movable, Writable):
    """A text is not what it should be."""

    var reason: StaticString
    """What is allowed."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the reason."""
        writer.write(self.reason)


trait FromText(Deinitable, Movable):
    """Is read from text; for types of one's own."""

    @staticmethod
    def from_text(text: StringSpan) raises TextError -> Self:
        """Reads a text as a value.

        Args:
            text: The text, decoded.

        Raises:
            TextError: If it is none.
        """
        ...
