"""Fuzzes both sides' frames: what comes out is the same however the octets are
cut, and nothing is kept beyond the limit."""

from flare.ws.core.frame import Role
from flare.ws.core.receiver import WsLimits
from fuzz.engine import Target, cut_points, fuzz_main, octets_from_hex
from tests.support.ws_log import WsLog

comptime LIMITS = WsLimits(300, 200)


def _log(
    input: Span[UInt8, _], cuts: List[Int], role: Role, by_frame: Bool
) raises -> String:
    var log = WsLog(role, materialize[LIMITS](), by_frame=by_frame)
    var start = 0
    for end in cuts:
        log.feed(input[start:end])
        start = end
        if log.receiver.held_len() > LIMITS.message_len_max:
            raise Error("kept ", log.receiver.held_len(), " bytes")
    return log.text


@fieldwise_init
struct WsFramesTarget(Target):
    """Split invariance of messages and of frames."""

    def seeds(self) -> List[String]:
        """Lists frames of servers and of clients."""
        return [
            octets_from_hex("810548656c6c6f 880203e8"),
            octets_from_hex("010348656c 890170 80026c6f 8a00"),
            octets_from_hex("8104f09f92a9 0101c3 8001a4 8204ff00ff00"),
            octets_from_hex("818537fa213d7f9f4d5158 888201020304 02ea"),
            octets_from_hex("827e0080") + "a" * 128,
            octets_from_hex("028301020304050607 808101020304 ff"),
        ]

    def tokens(self) -> List[String]:
        """Lists headers and text that is cut."""
        return [
            octets_from_hex("8100"),
            octets_from_hex("8180"),
            octets_from_hex("0100"),
            octets_from_hex("8000"),
            octets_from_hex("8900"),
            octets_from_hex("880203e8"),
            octets_from_hex("7e007e"),
            octets_from_hex("7f0000000000010000"),
            octets_from_hex("c3a4"),
            octets_from_hex("edbf"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Compares the whole with the pieces, for both sides."""
        var cuts = cut_points(input)
        for role in [Role.CLIENT, Role.SERVER]:
            for by_frame in [False, True]:
                var whole = _log(input, [len(input)], role, by_frame)
                var pieces = _log(input, cuts, role, by_frame)
                if pieces != whole:
                    raise Error("whole: ", whole, " in pieces: ", pieces)


def main() raises:
    """Runs the target."""
    fuzz_main("ws_frames", WsFramesTarget())
