"""A message as a program sees it."""

from flare.ws.error import WsError, WsMisused


struct WsMessage(Copyable, Movable, Sized):
    """A whole message: text or octets."""

    var is_text: Bool
    """True for text, False for octets."""
    var _payload: List[UInt8]

    def __init__(out self, var payload: List[UInt8], is_text: Bool):
        """Makes a message.

        Args:
            payload: The octets; of text, UTF-8.
            is_text: True for text.
        """
        self.is_text = is_text
        self._payload = payload^

    def __len__(self) -> Int:
        """Counts the octets.

        Returns:
            Length in bytes.
        """
        return len(self._payload)

    def as_text(self) raises WsError -> String:
        """Copies the text.

        Returns:
            The text.

        Raises:
            WsError: If the message is octets (`WsMisused`).
        """
        if not self.is_text:
            raise WsError(
                materialize[WsMisused](),
                "the message is binary; read it with as_bytes()",
            )
        return String(unsafe_from_utf8=self._payload)

    def as_bytes(self) -> Span[UInt8, origin_of(self._payload[0])]:
        """Lends the octets, of text too.

        Returns:
            The payload.
        """
        return self._payload[0 : len(self._payload)]

    def take_bytes(deinit self) -> List[UInt8]:
        """Takes the octets out.

        Returns:
            The payload.
        """
        return self._payload^
