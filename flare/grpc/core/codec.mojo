"""How messages are written: as octets of Protocol Buffers, or as JSON."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.protobuf.error import ProtobufError, ProtobufLimits
from flare.protobuf.json_reader import decode_json
from flare.protobuf.json_settings import ProtobufJson
from flare.protobuf.json_writer import encode_json
from flare.protobuf.message import Message
from flare.protobuf.reader import merge
from flare.protobuf.writer import encode_into
from std.memory import ArcPointer


@fieldwise_init
struct MessageCodec(Equatable, TrivialRegisterPassable):
    """How a message is written."""

    var code: UInt8
    """A small number, distinct for each."""

    comptime PROTO = MessageCodec(0)
    """As octets of Protocol Buffers."""
    comptime JSON = MessageCodec(1)
    """As JSON, in the form that Protocol Buffers have for it."""

    def name(self) -> StaticString:
        """Names the codec as content types and queries do: `proto` or `json`."""
        return "json" if self == Self.JSON else "proto"


def encode_as[
    M: Message
](
    message: M,
    codec: MessageCodec,
    json: Optional[ArcPointer[ProtobufJson]],
    mut out: Buffer,
) raises ProtobufError:
    """Writes a message after what a buffer has; `json` is what is chosen about
    JSON, nothing for the usual choice. Raises if it has no such form; a part of
    it may be written."""
    if codec == MessageCodec.JSON:
        var text = encode_json(message, json_settings(json))
        out.append(text.as_bytes())
    else:
        encode_into(message, out)


def decode_as[
    M: Message
](
    octets: Span[UInt8, _],
    codec: MessageCodec,
    json: Optional[ArcPointer[ProtobufJson]],
) raises ProtobufError -> M:
    """Reads a message, which is as long as it is: its bound is that of the
    call. `json` is as for `encode_as`. Raises if it is not well-formed."""
    var message = M()
    read_as(message, octets, codec, json)
    return message^


@always_inline
def read_as[
    M: Message
](
    mut message: M,
    octets: Span[UInt8, _],
    codec: MessageCodec,
    json: Optional[ArcPointer[ProtobufJson]],
) raises ProtobufError:
    """Does what `decode_as` does, with a message that is empty."""
    var limits = ProtobufLimits(len(octets), ProtobufLimits.DEFAULT.depth_max)
    if codec == MessageCodec.JSON:
        message = decode_json[M](
            StringSpan(unsafe_from_utf8=octets), json_settings(json), limits
        )
    else:
        merge(message, octets, limits)


@no_inline
def json_settings(json: Optional[ArcPointer[ProtobufJson]]) -> ProtobufJson:
    """Copies what is chosen about JSON, or the usual choice."""
    return json.held()[].copy() if json else ProtobufJson()
