"""What a WebSocket connection brings: messages, and frames."""

from flare.bytes.copy import text_of
from flare.bytes.utf8 import is_valid_utf8
from flare.ws.core.frame import Opcode
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
        """
        self.is_text = is_text
        self._payload = payload^

    def __len__(self) -> Int:
        """Counts the octets."""
        return len(self._payload)

    def as_text(self) raises WsError -> String:
        """Copies the text.

        Raises:
            WsError: If the message is octets (`WsMisused`).
        """
        if not self.is_text:
            raise WsError(
                materialize[WsMisused](),
                "the message is binary; read it with as_bytes()",
            )
        return text_of(self._payload)

    def as_bytes(self) -> Span[UInt8, origin_of(self._payload[0])]:
        """Lends the octets, of text too."""
        return self._payload[0 : len(self._payload)]

    def take_bytes(deinit self) -> List[UInt8]:
        """Takes the octets out."""
        return self._payload^


struct WsFrame(Copyable, Movable):
    """A frame, unmasked and decompressed."""

    var opcode: Opcode
    """What it is for: `TEXT` or `BINARY` for the first frame of a message,
    `CONTINUATION` for the others, or `PONG` or `CLOSE`."""
    var is_final: Bool
    """True for the last frame of a message, and for control frames."""
    var payload: List[UInt8]
    """The payload; of a close frame, the reason."""
    var close_code: Int
    """Of a close frame the code, or `CloseCode.NO_STATUS`; else 0."""

    def __init__(
        out self, opcode: Opcode, is_final: Bool, var payload: List[UInt8]
    ):
        """Makes a frame."""
        self.opcode = opcode
        self.is_final = is_final
        self.payload = payload^
        self.close_code = 0

    def is_text(self) -> Bool:
        """Tells whether the frame is, or begins, a message of text."""
        return self.opcode == Opcode.TEXT

    def is_close(self) -> Bool:
        """Tells whether the peer closes."""
        return self.opcode == Opcode.CLOSE

    def text_payload(self) raises WsError -> String:
        """Copies the payload as text.

        Raises:
            WsError: If it is not UTF-8 (`WsMisused`): binary, or a fragment
                of a text that is cut within a character.
        """
        if not is_valid_utf8(self.payload):
            raise WsError(
                materialize[WsMisused](),
                "the payload is not UTF-8; read it with .payload, or whole"
                " messages with recv_message()",
            )
        return text_of(self.payload)
