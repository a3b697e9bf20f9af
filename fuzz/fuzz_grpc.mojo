"""Fuzzes messages and texts of gRPC: pieces, round trips, bounds."""

from flare.bytes.buffer import Buffer
from flare.grpc.core.binary import decode_binary, encode_binary
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.message_reader import MessageReader
from flare.grpc.core.message_writer import append_message
from flare.grpc.core.status import GrpcStatus, decode_message, encode_message
from flare.grpc.core.timeout import format_timeout, parse_timeout
from fuzz.engine import Target, cut_points, fuzz_main, octets_from_hex

comptime _BOUND = 300


@fieldwise_init
struct GrpcTarget(Target):
    """Octets as a stream of messages, and as each kind of text."""

    def seeds(self) -> List[String]:
        """Lists streams and texts."""
        return [
            octets_from_hex("00 00000003 616263 00 00000000 00 00000001 7a"),
            octets_from_hex(
                "01 00000017 1f8b0800000000000003 4b4c4a06 00 c2412435 03000000"
            ),
            octets_from_hex("00 0000012c 61"),
            "100% f%C3%BCr",
            "99999999m",
            "AQIDBA==",
        ]

    def tokens(self) -> List[String]:
        """Lists prefixes and delimiters."""
        return ["\0\0\0\0\0", "\x01\0\0\0", "%", "%F", "=", "9H"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input as all of these."""
        var whole = _read(input, [len(input)])
        if _read(input, cut_points(input)) != whole:
            raise Error("cut it is another stream")
        var text = decode_message(input)
        if decode_message(encode_message(text).as_bytes()) != text:
            raise Error("message not read back: ", text)
        var timeout = parse_timeout(input)
        if timeout and timeout.value() > 0:
            var again = parse_timeout(
                format_timeout(timeout.value()).as_bytes()
            )
            if again.value() < timeout.value():
                raise Error("a shorter timeout: ", again.value())
        var octets = decode_binary(input)
        if octets:
            var back = decode_binary(encode_binary(octets.value()).as_bytes())
            if back.value() != octets.value():
                raise Error("octets not read back")


def _read(input: Span[UInt8, _], cuts: List[Int]) raises -> List[UInt8]:
    """Writes out anew what is read, with how it ends."""
    var reader = MessageReader(MessageCoding.GZIP, _BOUND)
    var out = Buffer()
    try:
        for index in range(len(cuts)):
            var start = cuts[index - 1] if index > 0 else 0
            reader.receive(input[start : cuts[index]])
            while reader.next():
                append_message(
                    reader.message(), out, MessageCoding.IDENTITY, _BOUND
                )
        reader.finish()
    except status:
        out.append_octet(status.code.number)
    return List[UInt8](out.span())


def main() raises:
    """Runs the target."""
    fuzz_main("grpc", GrpcTarget())
