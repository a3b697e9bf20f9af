"""Fuzzes frames: those of both sides are told of the same however the octets are
cut, and a header that is written is read again."""

from flare.bytes.buffer import Buffer
from flare.http.h2.connection_state import Http2Role
from flare.http.h2.frame import (
    FRAME_HEADER_LEN,
    parse_frame_header,
    write_frame_header,
)
from fuzz.engine import Target, cut_points, fuzz_main, octets_from_hex
from tests.support.h2_log import Http2Log


def _log(
    input: Span[UInt8, _], cuts: List[Int], role: Http2Role
) raises -> String:
    var log = Http2Log(role)
    if role.is_server:
        log.feed("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_bytes())
    else:
        _ = log.open()
        _ = log.open(ends=False)
    var start = 0
    for end in cuts:
        log.feed(input[start:end])
        start = end
    return String(log.text, log.told())


def _check_header(input: Span[UInt8, _]) raises:
    if len(input) < FRAME_HEADER_LEN:
        return
    # The last ones, so that one octet more would be too far.
    var octets = input[len(input) - FRAME_HEADER_LEN :]
    var out = Buffer()
    write_frame_header(out, parse_frame_header(octets))
    var written = out.span()
    for index in range(FRAME_HEADER_LEN):
        var mask = UInt8(0x7F) if index == 5 else UInt8(0xFF)
        if written[index] != octets[index] & mask:
            raise Error("octet ", index, " of the header has changed")


@fieldwise_init
struct FramesTarget(Target):
    """Split invariance and round trip."""

    def seeds(self) -> List[String]:
        """Lists what clients and servers send behind the preface."""
        comptime SETTINGS = "000000 04 00 00000000"
        comptime POST = "000006 01 04 00000001 838684010161"
        return [
            octets_from_hex(SETTINGS + "000006 01 05 00000001 828684410161"),
            octets_from_hex(
                SETTINGS
                + POST
                + "000002 00 00 00000001 6869 000006 00 09 00000001"
                + "036162000000"
            ),
            octets_from_hex(
                SETTINGS
                + POST
                + "000001 01 01 00000003 82 000005 09 04 00000003 8684010161"
                + "000004 03 00 00000003 00000008"
            ),
            octets_from_hex(
                SETTINGS
                + "000001 01 04 00000001 88 000005 00 00 00000001 6162636465"
                + "000005 01 05 00000001 0001740176 000001 01 05 00000003 88"
            ),
            octets_from_hex(
                "00000c 04 00 00000000 000400000000 000500004000"
                + "000004 08 00 00000000 00000100"
                + "000008 06 00 00000000 0102030405060708"
                + "000008 07 00 00000000 0000000100000000"
            ),
        ]

    def tokens(self) -> List[String]:
        """Lists frames, headers and field blocks."""
        return [
            octets_from_hex("000006 01 04 00000003 838684010161"),
            octets_from_hex("000004 03 00 00000001 00000008"),
            octets_from_hex("000004 08 00 00000001 7fffffff"),
            octets_from_hex("000000 00 01 00000001"),
            octets_from_hex("000003 00 08 00000001 026100"),
            octets_from_hex("000000 04 01 00000000"),
            octets_from_hex("000001 01 05 00000001 88"),
            octets_from_hex("0001740176"),
            octets_from_hex("0803313033"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Compares the whole with the pieces, for both sides."""
        _check_header(input)
        var cuts = cut_points(input)
        for role in [Http2Role.SERVER, Http2Role.CLIENT]:
            var whole = _log(input, [len(input)], role)
            var pieces = _log(input, cuts, role)
            if pieces != whole:
                raise Error("whole: ", whole, " in pieces: ", pieces)


def main() raises:
    """Runs the target."""
    fuzz_main("h2_frames", FramesTarget())
