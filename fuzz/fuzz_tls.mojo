"""Fuzzes TLS sessions: whatever arrives ends in a kind of error and stays so,
however the octets are cut."""

from flare.bytes.buffer import Buffer
from flare.tls.config import TlsConfig, TlsServerConfig
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.error import TlsError
from flare.tls.session import TlsSession
from fuzz.engine import (
    Target,
    cut_points,
    digest_of,
    fuzz_main,
    octets_from_hex,
)
from tests.support.certificates import certificate
from tests.support.tls_pair import ReturningClient, TlsPair, kind_name

comptime HELLO = "1603010117010001130303fd0105523ee81569b50ada4cfcb5aa11c30a375d5873accb4ce6e974372f937c205045037c48e135d8f6a744191b5f82e9533dbc84a468c0f86c574449883bed860014130113021303c02bc02fc02cc030cca9cca800ff010000b60000000e000c0000096c6f63616c686f7374000b000403000102000a00160014001d0017001e0019001801000101010201030104002300000010000b000908687474702f312e310016000000170000000d002a0028040305030603080708080809080a080b080408050806040105010601030303010302040205020602002b00050403040303002d00020101003300260024001d0020e3bae64b671a31662276aad74bd03443e85fc3ebd36958b537d16e2ed80e1b39"
"""What a client of flare sends first."""

# The lowest bits of an input's first octet say whom the rest is for; or it patches
# the records of a sound session, in pairs of a place and what is xor-ed there.
comptime _KIND = UInt8(3)
comptime _SERVER = UInt8(0)
comptime _CLIENT = UInt8(1)
comptime _ESTABLISHED = UInt8(2)
# The others say how a session was established: by TLS 1.3 in any case, or by a
# whole handshake.
comptime _IS_CURRENT = UInt8(8)
comptime _NEW_MIN = UInt8(0xF0)
comptime _CURRENT_ONE_IN = 4
# Sessions of TLS 1.3 among those that ask for it: they cost four times as much as
# those of 1.2.
comptime _NEW_ONE_IN = 16
# Whole handshakes, in the same way.


struct TlsTarget(Target):
    """No crash, a lasting failure, split invariance; what is read was written."""

    var client: TlsClientContext
    """Makes clients."""
    var server: TlsServerContext
    """Makes servers."""
    var returning: ReturningClient
    """Makes clients that were there before."""

    def __init__(out self) raises:
        """Reads certificates."""
        self.client = TlsClientContext(
            TlsConfig(ca_file=certificate("root.pem"), alpn=["http/1.1"])
        )
        self.server = TlsServerContext(
            TlsServerConfig(
                certificate("good_chain.pem"),
                certificate("good.key"),
                alpn=["http/1.1"],
            )
        )
        self.returning = ReturningClient(self.client, self.server.copy())

    def seeds(self) -> List[String]:
        """Lists what peers may send."""
        return [
            octets_from_hex("00" + HELLO),
            octets_from_hex(
                "01 16 0303 002a 02 000026 0303 00112233445566778899aabbccddeeff 00112233445566778899aabbccddeeff 00 c02b 00"
            ),
            octets_from_hex("01 15 0303 0002 0228"),
            octets_from_hex(
                "02 17 0303 0012 000102030405060708090a0b0c0d0e0f1011"
            ),
            octets_from_hex("02 15 0303 0002 0100 17 0303 0001 00"),
            octets_from_hex("03"),
            octets_from_hex("0b 0301 0a80"),
            octets_from_hex("fb 1c01 2080"),
            octets_from_hex("0a 15 0303 0002 0100 17 0303 0001 00"),
            octets_from_hex("0b 2301 4080"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Compares the whole with the pieces."""
        if len(input) == 0:
            return
        var cuts = cut_points(input)
        var whole = self._outcome(input, List[Int]())
        if len(cuts) == 1:
            # It is the whole again.
            return
        var pieces = self._outcome(input, cuts)
        if whole != pieces:
            raise Error("whole: ", whole, " in pieces: ", pieces)

    def _outcome(
        mut self, input: Span[UInt8, _], cuts: List[Int]
    ) raises -> String:
        var kind = input[0] & _KIND
        if kind == _SERVER:
            return _feed(self.server.session(), input[1:], cuts)
        if kind == _CLIENT:
            return _feed(self.client.session("localhost"), input[1:], cuts)
        var digest = digest_of(input)
        var is_new = input[0] >= _NEW_MIN and digest % _NEW_ONE_IN == 0
        var is_current = (
            input[0] & _IS_CURRENT != 0 and digest % _CURRENT_ONE_IN == 0
        )
        var pair = TlsPair(
            self.returning.session(is_new=is_new, is_older=not is_current),
            self.server.session(),
        )
        if pair.shake_hands() != "ok":
            raise Error("no handshake")
        if pair.server.is_resumed() == is_new:
            raise Error("resumed, or not, otherwise than was asked for")
        if kind == _ESTABLISHED:
            return _feed(pair^.take_server(), input[1:], cuts)
        pair.client.write("first".as_bytes(), pair.to_server)
        pair.client.write("second".as_bytes(), pair.to_server)
        pair.client.close(pair.to_server)
        var octets = List(pair.to_server.span())
        for index in range(1, len(input) - 1, 2):
            octets[Int(input[index]) % len(octets)] ^= input[index + 1]
        var is_sound = Span(octets) == pair.to_server.span()
        var outcome = _feed(pair^.take_server(), Span(octets), cuts)
        _check_read(outcome, is_sound)
        return outcome^


def _check_read(outcome: String, is_sound: Bool) raises:
    """Nothing is read but what was written, and a session that is whole is read to
    its end (RFC 8446 sections 5.2 and 6.1)."""
    if is_sound and outcome != "firstsecond|-|TrueTrue":
        raise Error("a sound session ends as ", outcome)
    var text = String(outcome.split("|")[0])
    if text != "" and text != "first" and text != "firstsecond":
        raise Error("nobody wrote: ", text)
    if (
        not is_sound
        and outcome.endswith("TrueTrue")
        and (text != "firstsecond")
    ):
        raise Error("the end came too early: ", outcome)


def _feed(
    var session: TlsSession, octets: Span[UInt8, _], cuts: List[Int]
) raises -> String:
    var input = Buffer()
    var output = Buffer()
    var text = String()
    var error: Optional[TlsError] = None
    var start = 0
    for index in range(len(cuts) + 1):
        var end = min(
            cuts[index] if index < len(cuts) else len(octets), len(octets)
        )
        input.append(octets[start:end])
        start = end
        error = _receive(session, input, output, text)
        if error:
            break
    if error and kind_name(_receive(session, input, output, text)) != kind_name(
        error
    ):
        raise Error("an error that does not last: ", error.value())
    return String(
        text,
        "|",
        kind_name(error),
        "|",
        session.is_established(),
        session.is_peer_done(),
    )


def _receive(
    mut session: TlsSession,
    mut input: Buffer,
    mut output: Buffer,
    mut text: String,
) -> Optional[TlsError]:
    var room = List[UInt8](length=1_000, fill=0)
    try:
        while True:
            var count = session.read(input, output, Span(room))
            if count == 0:
                return None
            text += String(from_utf8_lossy=Span(room)[0:count])
    except error:
        return error^


def main() raises:
    """Runs the target."""
    fuzz_main("tls", TlsTarget())
