"""What comes out of the receiving half of a WebSocket connection, as text."""

from flare.bytes.ascii import write_escaped
from flare.bytes.buffer import Buffer
from flare.compress.error import CompressError
from flare.ws.core.deflate import DeflateAgreement, MessageInflater
from flare.ws.core.frame import Opcode, Role
from flare.ws.core.receiver import FrameReceiver, WsLimits, WsProgress


struct WsLog(Movable):
    """A receiver that is fed in pieces."""

    var receiver: FrameReceiver
    """The receiver."""
    var text: String
    """`T(...)` and `B(...)` for messages, `t(...)`, `b(...)` and `c(...)` for
    frames with `+` behind those that are not final, `P`, `O` and `C` for ping,
    pong and close, `<rule @offset>` for a refusal."""
    var _input: Buffer
    var _is_over: Bool
    var _by_frame: Bool

    def __init__(
        out self,
        role: Role,
        limits: WsLimits = WsLimits(1_000, 1_000),
        agreement: Optional[DeflateAgreement] = None,
        by_frame: Bool = False,
    ) raises CompressError:
        """Makes a receiver.

        Args:
            role: The side that receives.
            limits: Bounds of frames and messages.
            agreement: What was agreed on about compression.
            by_frame: True to log frames, not messages.
        """
        var inflater = Optional[MessageInflater]()
        if agreement:
            inflater = MessageInflater(agreement.value(), role)
        self.receiver = FrameReceiver(role, limits, inflater^)
        self.text = String()
        self._input = Buffer()
        self._is_over = False
        self._by_frame = by_frame

    def feed(mut self, octets: Span[UInt8, _]):
        """Receives octets, and logs what is complete.

        Args:
            octets: Any piece of what the peer sends.
        """
        if self._is_over:
            return
        self._input.append(octets)
        try:
            while True:
                var progress = self.receiver.advance(
                    self._input, self._by_frame
                )
                if progress == WsProgress.NEEDS_OCTETS:
                    return
                self._note(progress)
        except error:
            self.text.write("<", error.rule.number, " @", error.offset, ">")
            self._is_over = True

    def _note(mut self, progress: WsProgress):
        ref receiver = self.receiver
        if progress == WsProgress.MESSAGE:
            self.text.write("T" if receiver.opcode == Opcode.TEXT else "B")
        elif progress == WsProgress.FRAME:
            if receiver.opcode == Opcode.CONTINUATION:
                self.text.write("c")
            else:
                self.text.write("t" if receiver.opcode == Opcode.TEXT else "b")
        elif progress == WsProgress.CLOSE:
            self.text.write("C", receiver.close_code)
        else:
            self.text.write("P" if progress == WsProgress.PING else "O")
        var payload = receiver.payload(self._input)
        self.text.write("(")
        write_escaped(payload, self.text)
        if len(payload) > 200:
            # What is cut off has to be the same too.
            var digest = UInt64(14695981039346656037)
            for octet in payload:
                digest = (digest ^ UInt64(octet)) * 1099511628211
            self.text.write("#", digest)
        self.text.write(")")
        if progress == WsProgress.FRAME and not receiver.is_final:
            self.text.write("+")


def log_of(
    octets: Span[UInt8, _],
    role: Role,
    limits: WsLimits = WsLimits(1_000, 1_000),
    agreement: Optional[DeflateAgreement] = None,
) raises -> String:
    """Logs what comes out of octets that arrive at once.

    Args:
        octets: What the peer sends.
        role: The side that receives.
        limits: Bounds of frames and messages.
        agreement: What was agreed on about compression.

    Returns:
        The log.

    Raises:
        Error: If zlib is missing.
    """
    var log = WsLog(role, limits, agreement)
    log.feed(octets)
    return log.text


def log_in_pieces(
    octets: Span[UInt8, _],
    cuts: List[Int],
    role: Role,
    limits: WsLimits = WsLimits(1_000, 1_000),
    agreement: Optional[DeflateAgreement] = None,
) raises -> String:
    """Logs what comes out of octets that arrive in pieces.

    Args:
        octets: What the peer sends.
        cuts: Ascending offsets, ending with the length.
        role: The side that receives.
        limits: Bounds of frames and messages.
        agreement: What was agreed on about compression.

    Returns:
        The log.

    Raises:
        Error: If zlib is missing.
    """
    var log = WsLog(role, limits, agreement)
    var start = 0
    for end in cuts:
        log.feed(octets[start:end])
        start = end
    return log.text
