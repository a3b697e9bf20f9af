"""Compressed messages (RFC 7692 section 7.2)."""

from flare.bytes.buffer import Buffer
from flare.compress.error import CompressError, CompressErrorKind
from flare.compress.raw_deflate import (
    RawDeflater,
    RawInflater,
    WINDOW_BITS_MIN,
)
from flare.ws.core.deflate_agreement import DeflateAgreement
from flare.ws.core.protocol_error import WsRule
from flare.ws.core.role import Role

comptime DEFLATE_LEVEL = 6
"""How hard to compress, 1 to 9: zlib's own balance of time and length."""

comptime COMPRESSED_LEN_MIN = 16
"""Shortest message worth compressing, in bytes; what is shorter grows."""

# What a sync flush ends with, and a sender leaves out (RFC 7692 section 7.2.1).
comptime _TAIL_LEN = 4


struct MessageDeflater(Movable):
    """Compresses the messages of one side."""

    var _stream: RawDeflater
    var _restarts: Bool

    def __init__(
        out self, agreement: DeflateAgreement, role: Role
    ) raises CompressError:
        """Starts the stream of a side.

        Args:
            agreement: The agreement; `can_deflate` says whether it leaves a
                window that works.
            role: The side that compresses.

        Raises:
            CompressError: If zlib is missing.
        """
        var bits = agreement.server_window_bits
        self._restarts = agreement.server_no_context_takeover
        if role == Role.CLIENT:
            bits = agreement.client_window_bits
            self._restarts = agreement.client_no_context_takeover
        self._stream = RawDeflater(max(bits, WINDOW_BITS_MIN), DEFLATE_LEVEL)

    def deflate(
        mut self, octets: Span[UInt8, _], mut output: Buffer
    ) raises CompressError:
        """Compresses a whole message.

        Args:
            octets: The message; not empty.
            output: Gets the payload.

        Raises:
            CompressError: `NO_MEMORY`.
        """
        self._stream.add(octets, output)
        self._stream.flush(output)
        output.truncate(len(output) - _TAIL_LEN)
        if self._restarts:
            self._stream.restart()


def can_deflate(agreement: DeflateAgreement, role: Role) -> Bool:
    """Tells whether a side can compress under an agreement.

    zlib has no window of 256 bytes; messages may go uncompressed at any time.

    Args:
        agreement: The agreement.
        role: The side.

    Returns:
        False if its window is too small.
    """
    var bits = agreement.server_window_bits
    if role == Role.CLIENT:
        bits = agreement.client_window_bits
    return bits >= WINDOW_BITS_MIN


struct MessageInflater(Movable):
    """Decompresses the messages of the other side."""

    var _stream: RawInflater
    var _restarts: Bool

    def __init__(
        out self, agreement: DeflateAgreement, role: Role
    ) raises CompressError:
        """Starts the stream of the other side.

        Args:
            agreement: The agreement.
            role: The side that decompresses.

        Raises:
            CompressError: If zlib is missing.
        """
        var bits = agreement.client_window_bits
        self._restarts = agreement.client_no_context_takeover
        if role == Role.CLIENT:
            bits = agreement.server_window_bits
            self._restarts = agreement.server_no_context_takeover
        self._stream = RawInflater(bits)

    def inflate(
        mut self, octets: Span[UInt8, _], mut output: Buffer, len_max: Int
    ) -> Optional[WsRule]:
        """Decompresses a piece of a message.

        Args:
            octets: The piece.
            output: Gets what comes out, also before a failure.
            len_max: How long `output` may become, in bytes.

        Returns:
            The rule that the message breaks, or nothing.
        """
        try:
            self._stream.receive(octets, output, len_max)
            return None
        except error:
            if error.kind == CompressErrorKind.OUTPUT_LIMIT:
                return materialize[WsRule.MESSAGE_LEN]()
            if error.kind == CompressErrorKind.NO_MEMORY:
                return materialize[WsRule.NO_MEMORY]()
            return materialize[WsRule.DEFLATE]()

    def end_message(
        mut self, mut output: Buffer, len_max: Int
    ) -> Optional[WsRule]:
        """Decompresses what a sender leaves out, and ends the message.

        Args:
            output: Gets what comes out.
            len_max: How long `output` may become, in bytes.

        Returns:
            The rule that the message breaks, or nothing.
        """
        var tail: Array[UInt8, _TAIL_LEN] = [0, 0, 255, 255]
        var broken = self.inflate(Span(tail), output, len_max)
        if not broken and not self._stream.is_between_blocks():
            broken = materialize[WsRule.DEFLATE]()
        if self._restarts:
            self._stream.restart()
        return broken
