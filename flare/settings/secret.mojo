"""Texts that are not to be seen."""

from flare.bytes.ascii import hex_text
from flare.bytes.from_text import FromText, TextError
from flare.sys.errno import OsError
from flare.sys.random import fill_random


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
    def random(length: Int = 16) raises OsError -> Self:
        """Gives a secret that nobody can guess: a token, a key, a password.

        Args:
            length: How many octets of the kernel's are in it, 1 or more; each is
                two hexadecimal digits of the text. 16 are 128 bits.

        Raises:
            OsError: The system gives no random octets.
        """
        var octets = List[UInt8](length=max(length, 1), fill=0)
        fill_random(Span(octets))
        return Self(hex_text(octets))

    @staticmethod
    def from_text(text: StringSpan) raises TextError -> Self:
        """Gives a secret of a text, whatever it is.

        Raises:
            TextError: Never.
        """
        return Self(String(text))

    def reveal(self) -> String:
        """Gives the text; do not print it."""
        return self._text

    def write_to(self, mut writer: Some[Writer]):
        """Writes that there is a secret."""
        writer.write_string("***")
