"""Sending to a WebSocket client, from any thread."""

from flare.bytes.buffer import Buffer
from flare.http.websocket.outbox import WsOutbox, send, send_shared
from flare.sys.mutex import Mutex
from flare.ws.core.close import CloseCode
from flare.ws.core.frame import FrameHeader, Opcode, write_frame
from std.memory import ArcPointer


def shared_frame(opcode: Opcode, payload: Span[UInt8, _]) -> ArcPointer[Buffer]:
    """Writes a frame for any number of clients.

    Args:
        opcode: What kind of frame it is.
        payload: The payload.

    Returns:
        The frame, unmasked, as servers send it.
    """
    var frame = Buffer(len(payload) + 16)
    write_frame(frame, FrameHeader(opcode, len(payload)), payload)
    return ArcPointer(frame^)


struct WsSender(Copyable, Movable):
    """Sends to one client; copies send to the same.

    Calls may come from any thread. They return at once: what the client is not
    ready to take waits, up to `WsConfig.max_queue_size`.
    """

    var _box: Mutex[WsOutbox]

    def __init__(out self, box: Mutex[WsOutbox]):
        """Makes a sender.

        Args:
            box: The connection's.
        """
        self._box = box

    def id(self) -> UInt64:
        """Tells connections apart.

        Returns:
            A number that no other connection of this process has.
        """
        return self._box.lock()[].id

    def is_open(self) -> Bool:
        """Tells whether something can still be sent.

        Returns:
            False once the connection is closed, from whichever side.
        """
        return not self._box.lock()[].is_closed

    def send_text(self, text: StringSpan) raises:
        """Sends a text message.

        Args:
            text: The text.

        Raises:
            Error: If the connection is closed, or the client is too far behind.
        """
        send(self._box, Opcode.TEXT, text.as_bytes())

    def send_binary(self, octets: Span[UInt8, _]) raises:
        """Sends a binary message.

        Args:
            octets: The octets.

        Raises:
            Error: If the connection is closed, or the client is too far behind.
        """
        send(self._box, Opcode.BINARY, octets)

    def send_frame(self, frame: ArcPointer[Buffer]) raises:
        """Sends a frame that is shared with other clients.

        Args:
            frame: From `shared_frame`.

        Raises:
            Error: If the connection is closed, or the client is too far behind.
        """
        send_shared(self._box, frame)

    def ping(self, payload: StringSpan = "") raises:
        """Sends a ping.

        Args:
            payload: At most 125 bytes.

        Raises:
            Error: If the payload is too long, or the connection is closed.
        """
        send(self._box, Opcode.PING, payload.as_bytes())

    def close(
        self, code: Int = CloseCode.NORMAL, reason: StringSpan = ""
    ) raises:
        """Closes the connection in good order; nothing can be sent after it.

        Args:
            code: 1000 to 1003, 1007 to 1014, or 3000 to 4999; or
                `CloseCode.NO_STATUS` for none, and no reason.
            reason: At most 123 bytes.

        Raises:
            Error: If code or reason cannot be sent, or it is closed already.
        """
        send(self._box, Opcode.CLOSE, reason.as_bytes(), code)
