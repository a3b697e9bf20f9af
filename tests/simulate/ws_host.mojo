"""The upstream's side of a conversation of WebSocket, whatever carries its octets."""

from flare.bytes.buffer import Buffer
from tests.simulate.dice import Dice
from tests.simulate.ws_frames import (
    BYE_CODE,
    BYE_REASON,
    CLOSE,
    PING,
    PONG,
    WsReader,
    close_payload,
    says_bye,
    write_frame,
    write_message,
    ws_answers,
)


struct WsHost(Movable):
    """Takes what a client says, and answers it."""

    var reader: WsReader
    """Whose inbox takes what comes."""
    var is_over: Bool
    """True if it says nothing more behind what it has said."""
    var _left_count: Int
    # How many messages it answers until it breaks off.
    var _has_closed: Bool
    # Whether it has sent a close frame of its own accord.

    def __init__(out self, left_count: Int):
        self.reader = WsReader(is_masked=True)
        self.is_over = False
        self._left_count = left_count
        self._has_closed = False

    def breaks_off(self) -> Bool:
        """Tells whether it says nothing more though it should."""
        return self._left_count < 0

    def answer(mut self, mut out: Buffer, mut dice: Dice):
        """Answers all that has come and is whole."""
        while not self.is_over:
            var read = self.reader.next()
            if not read:
                return
            ref message = read.value()
            if message.opcode == CLOSE:
                if not self._has_closed:
                    write_frame(out, CLOSE, message.payload, 0)
                self.is_over = True
            elif self._has_closed or message.opcode == PONG:
                continue
            elif message.opcode == PING:
                write_frame(out, PONG, message.payload, 0)
            elif says_bye(message.opcode, message.payload):
                self._has_closed = True
                var payload = close_payload(BYE_CODE, BYE_REASON)
                write_frame(out, CLOSE, payload, 0)
            else:
                for answer in ws_answers(message.opcode, message.payload):
                    write_message(
                        out,
                        answer,
                        dice,
                        is_masked=False,
                        behind_first=Span(List[UInt8]()),
                    )
                self._left_count -= 1
                self.is_over = self._left_count < 0
