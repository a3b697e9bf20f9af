"""Fuzzes compressed messages: cuts change nothing, the limit holds, and what is
compressed is decompressed the same."""

from flare.bytes.buffer import Buffer
from flare.ws.core.deflate import (
    DeflateAgreement,
    MessageDeflater,
    MessageInflater,
)
from flare.ws.core.frame import Role
from flare.ws.core.receiver import WsLimits
from fuzz.engine import Target, cut_points, fuzz_main, octets_from_hex
from tests.support.ws_log import WsLog

comptime LIMITS = WsLimits(1_000, 700)


struct WsDeflateTarget(Target):
    """Split invariance and round trip."""

    var _deflater: MessageDeflater
    var _inflater: MessageInflater

    def __init__(out self) raises:
        """Starts a stream that goes on from input to input."""
        var agreement = DeflateAgreement(False, False, 10, 10)
        self._deflater = MessageDeflater(agreement, Role.SERVER)
        self._inflater = MessageInflater(agreement, Role.CLIENT)

    def seeds(self) -> List[String]:
        """Lists frames with compressed messages."""
        return [
            octets_from_hex("c107f248cdc9c90700"),
            octets_from_hex("4103f248cd8004c9c90700 c105f200110000"),
            octets_from_hex("c10b000500faff48656c6c6f00"),
            octets_from_hex("c108f348cdc9c9070000 c105f200110000"),
            octets_from_hex("c20deddd31010000 08c3a04afed500"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Receives the input as frames, then sends it as a message."""
        for number in range(2):
            var agreement = DeflateAgreement.widest()
            agreement.server_no_context_takeover = number == 1
            var whole = self._log(input, [len(input)], agreement)
            var pieces = self._log(input, cut_points(input), agreement)
            if pieces != whole:
                raise Error("whole: ", whole, " in pieces: ", pieces)
        self._check_round_trip(input)

    def _log(
        self,
        input: Span[UInt8, _],
        cuts: List[Int],
        agreement: DeflateAgreement,
    ) raises -> String:
        var log = WsLog(Role.CLIENT, materialize[LIMITS](), agreement)
        var start = 0
        for end in cuts:
            log.feed(input[start:end])
            start = end
            if log.receiver.held_len() > LIMITS.message_len_max:
                raise Error("kept ", log.receiver.held_len(), " bytes")
        return log.text

    def _check_round_trip(mut self, input: Span[UInt8, _]) raises:
        if len(input) == 0:
            return
        var packed = Buffer()
        self._deflater.deflate(input, packed)
        var unpacked = Buffer()
        var start = 0
        for end in cut_points(input):
            var from_ = min(start, len(packed))
            var to = min(end, len(packed))
            _ = self._inflater.inflate(
                packed.span()[from_:to], unpacked, len(input)
            )
            start = end
        _ = self._inflater.inflate(
            packed.span()[min(start, len(packed)) :], unpacked, len(input)
        )
        var broken = self._inflater.end_message(unpacked, len(input))
        if broken or List[UInt8](unpacked.span()) != List[UInt8](input):
            raise Error("the round trip gives ", len(unpacked), " bytes")


def main() raises:
    """Runs the target."""
    fuzz_main("ws_deflate", WsDeflateTarget())
