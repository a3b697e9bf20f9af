"""Texts that are not to be seen."""

from flare.bytes.from_text import FromText, TextError


struct Secret(Copyable, FromText, Writable):
    """A password or a key: printed, and in the table of settings, it is `***`."""

    var _text: String

    def __init__(out self, var text: String):
        """Hides a text.

        Args:
            text: The text.
        """
        self._text = text^

    @staticmethod
    def from_text(text: StringSpan) raises TextError -> Self:
        """Hides a text, whatever it is.

        Args:
            text: The text.

        Returns:
            The secret.

        Raises:
            TextError: Never.
        """
        return Self(String(text))

    def reveal(self) -> String:
        """Gives the text; do not print it.

        Returns:
            The text.
        """
        return self._text

    def write_to(self, mut writer: Some[Writer]):
        """Writes that there is a secret.

        Args:
            writer: Where to.
        """
        writer.write_string("***")
