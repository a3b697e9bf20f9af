"""Fuzzes what a server of gRPC, gRPC-Web or Connect says to a client: pieces,
bounds, ends."""

from flare.grpc.client.call_response import CallResponse
from flare.grpc.core.codec import MessageCodec
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.connect_query import ConnectQuery, write_query
from flare.grpc.core.kind import GrpcKind
from flare.grpc.core.protocol import CallProtocol
from flare.http.message.header_map import HeaderMap
from fuzz.engine import Target, cut_points, fuzz_main, octets_from_hex

comptime _BOUND = 300


@fieldwise_init
struct GrpcClientTarget(Target):
    """An octet that chooses protocol, status and coding, and content."""

    def seeds(self) -> List[String]:
        """Lists responses of each protocol."""
        return [
            octets_from_hex("00 00 00000003 616263"),
            octets_from_hex("01 00 00000001 61 80 0000000e") + "grpc-status: 0",
            octets_from_hex("01 80 0000001b")
            + "grpc-status:5\r\ngrpc-message:m",
            octets_from_hex("02 00 00000001 61 02 00000002") + "{}",
            octets_from_hex("02 02 0000003f")
            + '{"error":{"code":"aborted","message":"m"},"metadata":{"a":["1"]}}',
            octets_from_hex("03") + "message",
            octets_from_hex("13")
            + '{"code":"internal","details":[{"type":"a.B","value":"AQ"}]}',
            octets_from_hex(
                "43 1f8b0800000000000003 4b4c4a06 00 c2412435 03000000"
            ),
        ]

    def tokens(self) -> List[String]:
        """Lists prefixes and words."""
        return [
            "\0\0\0\0",
            "\x80",
            "\x02",
            ": ",
            "\r\n",
            '"code":"',
            "{}",
            "[]",
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input whole and in pieces."""
        if len(input) == 0:
            return
        var content = input[1:]
        var whole = _events(input[0], content, [len(content)])
        if _events(input[0], content, cut_points(content)) != whole:
            raise Error("cut it is another response than ", whole)
        var codec = MessageCodec(input[0] & 1)
        var query = ConnectQuery(
            write_query(
                content, codec, MessageCoding(input[0] >> 6 & 1)
            ).as_bytes()
        )
        if query.message() != List[UInt8](content):
            raise Error("the message is not read back")


def _protocol(choice: UInt8) -> CallProtocol:
    if choice & 3 == 0:
        return CallProtocol.GRPC
    if choice & 3 == 1:
        return CallProtocol.GRPC_WEB
    if choice & 3 == 2:
        return CallProtocol.CONNECT.for_kind(GrpcKind.BIDI_STREAM)
    return CallProtocol.CONNECT


def _events(
    choice: UInt8, content: Span[UInt8, _], cuts: List[Int]
) raises -> String:
    """Lists messages and the end."""
    var protocol = _protocol(choice)
    var is_error = choice & 16 != 0
    var head = HeaderMap()
    var type = protocol.content_type()
    if is_error and not protocol.is_framed():
        type = "application/json"
    head.append("content-type", type)
    if choice & 64 != 0:
        head.append(protocol.encoding_field(), "gzip")
    var response = CallResponse(
        has_one_message=choice & 32 != 0, length_max=_BOUND, protocol=protocol
    )
    response.take_head(404 if is_error else 200, head)
    var text = String()
    var start = 0
    for end in cuts:
        response.receive(content[start:end])
        start = end
        _drain(response, text)
    response.take_end(HeaderMap())
    _drain(response, text)
    if not response.status:
        raise Error("the call has not ended")
    text.write(response.status.value().code.name())
    text.write(" ", len(response.trailers))
    return text


def _drain(mut response: CallResponse, mut text: String) raises:
    while response.next():
        if len(response.message()) > _BOUND:
            raise Error("a message beyond the bound")
        text.write(String(from_utf8_lossy=response.message()), "|")


def main() raises:
    """Runs the target."""
    fuzz_main("grpc_client", GrpcClientTarget())
