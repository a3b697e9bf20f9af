"""Fuzzes a server's HTTP/2 session beside a model of streams and windows."""

from flare.http.h2.connection_state import Http2Role
from fuzz.engine import Target, fuzz_main, octets_from_hex
from tests.support.h2_run import run_frames


@fieldwise_init
struct ServerTarget(Target):
    """Whatever a client sends, the model and the session agree."""

    def seeds(self) -> List[String]:
        """Lists what clients send behind the preface."""
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
                "00000c 04 00 00000000 000400000010 000500004000"
                + POST
                + "000006 01 04 00000005 838684010161"
                + "000004 08 00 00000001 00000100"
                + "000006 04 00 00000000 000400000001"
                + "000005 01 05 00000001 0001740176"
            ),
            octets_from_hex(
                SETTINGS
                + "000008 06 00 00000000 0102030405060708"
                + "000008 07 00 00000000 0000000100000000"
                + "000007 10 00 00000000 00000003 753d31"
                + "000005 02 00 00000001 0000000310"
            ),
            octets_from_hex(
                SETTINGS
                + "000006 01 05 00000005 838684010161"
                + "000005 01 05 00000005 0001740176"
            ),
        ]

    def tokens(self) -> List[String]:
        """Lists frames, headers and fields."""
        return [
            octets_from_hex("000006 01 04 00000003 838684010161"),
            octets_from_hex("000006 01 05 00000007 828684410161"),
            octets_from_hex("000004 03 00 00000001 00000008"),
            octets_from_hex("000004 08 00 00000001 7fffffff"),
            octets_from_hex("000004 08 00 00000000 00000000"),
            octets_from_hex("000000 00 01 00000001"),
            octets_from_hex("000003 00 08 00000001 026100"),
            octets_from_hex("000000 04 01 00000000"),
            octets_from_hex("00047fffffff"),
            octets_from_hex("0001740176"),
            octets_from_hex("0f0d0133"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Feeds the input frame by frame."""
        run_frames(input, Http2Role.SERVER)


def main() raises:
    """Runs the target."""
    fuzz_main("h2_server", ServerTarget())
