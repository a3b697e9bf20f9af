"""Fuzzes a client's HTTP/2 session beside a model of streams and windows."""

from flare.http.h2.connection_state import Http2Role
from fuzz.engine import Target, fuzz_main, octets_from_hex
from tests.support.h2_run import run_frames


@fieldwise_init
struct ClientTarget(Target):
    """Whatever a server sends, the model and the session agree."""

    def seeds(self) -> List[String]:
        """Lists what servers send to requests on the streams 1, 3 and 5."""
        comptime SETTINGS = "000000 04 00 00000000"
        return [
            octets_from_hex(
                SETTINGS
                + "000001 01 04 00000001 88 000005 00 00 00000001 6162636465"
                + "000005 01 05 00000001 0001740176 000001 01 05 00000003 88"
            ),
            octets_from_hex(
                SETTINGS
                + "000005 01 04 00000003 0803313033 000001 01 04 00000003 88"
                + "000006 00 09 00000003 036162000000"
                + "000004 03 00 00000003 00000008"
            ),
            octets_from_hex(
                "00000c 04 00 00000000 000400000010 000300000001"
                + "000005 01 04 00000005 880f0d0133"
                + "000004 08 00 00000005 00000100"
                + "000006 04 00 00000000 000400000001"
                + "000003 00 01 00000005 616263"
            ),
            octets_from_hex(
                SETTINGS
                + "000008 07 00 00000000 0000000100000000"
                + "000001 01 00 00000001 88 000003 09 04 00000001 0f0d00"
                + "000001 01 05 00000003 89 000008 06 01 00000000"
                + "0102030405060708"
            ),
            octets_from_hex(
                SETTINGS
                + "000001 01 05 00000005 88"
                + "000005 01 05 00000005 0001740176"
            ),
        ]

    def tokens(self) -> List[String]:
        """Lists frames, headers and fields."""
        return [
            octets_from_hex("000001 01 04 00000003 88"),
            octets_from_hex("000001 01 05 00000005 89"),
            octets_from_hex("000005 01 04 00000001 0803313033"),
            octets_from_hex("000004 03 00 00000001 00000007"),
            octets_from_hex("000004 08 00 00000003 7fffffff"),
            octets_from_hex("000004 08 00 00000000 00000000"),
            octets_from_hex("000000 00 01 00000001"),
            octets_from_hex("000003 00 08 00000003 026100"),
            octets_from_hex("000000 04 01 00000000"),
            octets_from_hex("00047fffffff"),
            octets_from_hex("0001740176"),
            octets_from_hex("0f0d0133"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Feeds the input frame by frame."""
        run_frames(input, Http2Role.CLIENT)


def main() raises:
    """Runs the target."""
    fuzz_main("h2_client", ClientTarget())
