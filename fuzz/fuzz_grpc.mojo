"""Fuzzes messages and texts of gRPC, gRPC-Web and Connect: pieces, round trips,
bounds."""

from flare.bytes.buffer import Buffer
from flare.grpc.core.binary import decode_binary, encode_binary
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.message_reader import MessageReader
from flare.grpc.core.connect_query import ConnectQuery
from flare.grpc.core.message_writer import append_message
from flare.grpc.core.status import decode_message, encode_message
from flare.grpc.core.timeout import (
    format_timeout,
    parse_milliseconds,
    parse_timeout,
)
from flare.grpc.core.web import TextDecoder, append_text
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
            "AAAAAAA=AAAAAAEA",
            "connect=v1&encoding=json&base64=1&message=e30",
            "encoding=proto&compression=gzip&message=%1f%8b",
        ]

    def tokens(self) -> List[String]:
        """Lists prefixes and delimiters."""
        return ["\0\0\0\0\0", "\x01\0\0\0", "%", "%F", "=", "9H", "&message="]

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
        _run_web(input)
        _run_query(input)


def _run_web(input: Span[UInt8, _]) raises:
    """Reads the input as content in base64, and writes it so."""
    var whole = _decoded(input, [len(input)])
    var pieces = _decoded(input, cut_points(input))
    if whole.__bool__() != pieces.__bool__():
        raise Error("cut it is base64, or is not")
    if whole and whole.value() != pieces.value():
        raise Error("cut it is other content")
    var text = Buffer()
    var start = 0
    for end in cut_points(input):
        append_text(input[start:end], text)
        start = end
    var back = _decoded(text.span(), [len(text)])
    if not back or back.value() != List[UInt8](input[:start]):
        raise Error("content not read back")


def _decoded(text: Span[UInt8, _], cuts: List[Int]) -> Optional[List[UInt8]]:
    var decoder = TextDecoder()
    var out = Buffer()
    var start = 0
    for end in cuts:
        if not decoder.receive(text[start:end], out):
            return None
        start = end
    if not decoder.is_whole():
        return None
    return List[UInt8](out.span())


def _message_len(query: ConnectQuery) -> Int:
    try:
        return len(query.message())
    except status:
        return 0


def _run_query(input: Span[UInt8, _]) raises:
    """Reads the input as the query of a call, and as its deadline."""
    if _message_len(ConnectQuery(input)) > len(input):
        raise Error("a message longer than its query")
    var milliseconds = parse_milliseconds(input)
    if milliseconds and milliseconds.value() < 0:
        raise Error("a deadline before it begins")


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
