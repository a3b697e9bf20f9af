"""Where certificates and keys come from: a file or a text."""

from flare.tls.error import BadTlsConfig, TlsError


struct PemSource(Copyable, Movable):
    """Text in PEM form, or the path of a file that holds it.

    A file is read when a context is made, and again when it is reloaded.
    """

    var _text: String
    var _is_path: Bool

    def __init__(out self):
        """Makes a source of nothing."""
        self._text = String()
        self._is_path = False

    def __init__(out self, *, file: String):
        """Names a file.

        Args:
            file: Its path; an empty one stands for nothing.
        """
        self._text = file
        self._is_path = file.byte_length() > 0

    def __init__(out self, *, text: String):
        """Takes a text.

        Args:
            text: The text in PEM form; an empty one stands for nothing.
        """
        self._text = text
        self._is_path = False

    def is_given(self) -> Bool:
        """Tells whether there is a file or a text.

        Returns:
            False for a source of nothing.
        """
        return self._text.byte_length() > 0

    def name(self) -> String:
        """Names the source for errors.

        Returns:
            The path, or that it is a text.
        """
        return self._text if self._is_path else String("the text in PEM form")

    def read(self) raises TlsError -> List[UInt8]:
        """Reads the text.

        Returns:
            Its octets.

        Raises:
            TlsError: If the file cannot be read.
        """
        if not self._is_path:
            return List(self._text.as_bytes())
        try:
            with open(self._text, "r") as file:
                return file.read_bytes()
        except error:
            raise TlsError(
                materialize[BadTlsConfig](),
                String(),
                String(
                    self._text,
                    " cannot be read (",
                    error,
                    "); check the path and who may read it",
                ),
            )
