"""Fuzzes messages of Protocol Buffers: the round trip of what is taken, in octets
and in JSON, and the place of what is not."""

from flare.protobuf import decode, decode_json, encode, encode_json
from fuzz.engine import Target, fuzz_main
from tests.protobuf.messages.every_pb import Every


def _written(message: Every) raises -> List[UInt8]:
    """Writes a message that was read: that cannot fail."""
    return encode(message)


@fieldwise_init
struct ProtobufTarget(Target):
    """Octets as a message, and the same octets as a text."""

    def seeds(self) -> List[String]:
        """Lists messages and texts; octets of texts are ASCII."""
        return [
            "\x08\x01\x72\x03abc\x8a\x01\x05\x0a\x01\x61\x10\x07",
            "\x18\x01\x2a\x02\x0a\x0b\x63\x08\x01\x64\x6a\x04\x0a\x02\x12\x00",
            '{"fInt32":1,"rInner":[{"name":"a"}],"mString":{"a":"b"},"fFloat":1e3}',
            '{"fTime":"2020-01-01T00:00:00.5Z","fBytes":"AQ==","fColor":"RED"}',
        ]

    def tokens(self) -> List[String]:
        """Lists what messages and texts are made of."""
        return ["\x0b", "\x0c", "\x7f", "\x12\x00", '"fEvery":{', "null", "1e5"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input in both forms."""
        var octets = List[UInt8]()
        var is_taken = False
        try:
            octets = encode(decode[Every](input))
            is_taken = True
        except error:
            if error.offset < 0 or error.offset > len(input):
                raise Error("offset outside of the message: ", error)
        if is_taken and _written(decode[Every](octets)) != octets:
            raise Error("changed by a round trip")
        var text: String
        try:
            text = encode_json(
                decode_json[Every](StringSpan(unsafe_from_utf8=input))
            )
        except error:
            if error.offset < 0 or error.offset > len(input):
                raise Error("offset outside of the text: ", error)
            return
        if encode_json(decode_json[Every](text)) != text:
            raise Error("changed by a round trip: ", text)


def main() raises:
    """Runs the target."""
    fuzz_main("protobuf", ProtobufTarget())
