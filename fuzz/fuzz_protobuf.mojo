"""Fuzzes messages of Protocol Buffers: the round trip of what is taken, in octets
and in JSON, and the place of what is not; what a reader that is strict takes, one that
leaves out what it does not know takes for the same."""

from flare.protobuf import (
    Any,
    Duration,
    ProtobufJson,
    decode,
    decode_json,
    encode,
    encode_json,
)
from fuzz.engine import Target, fuzz_main
from tests.protobuf.messages.every_pb import Every, Every_Inner


def _written(message: Every) raises -> List[UInt8]:
    """Writes a message that was read: that cannot fail."""
    return encode(message)


struct ProtobufTarget(Target):
    """Octets as a message, and the same octets as a text."""

    var lenient: ProtobufJson
    """Leaves out what is not known, and knows what an `Any` may hold."""

    def __init__(out self):
        """Makes the choice."""
        self.lenient = ProtobufJson()
        self.lenient.ignores_unknown = True
        self.lenient.types.add[Every_Inner]()
        self.lenient.types.add[Duration]()

    def seeds(self) -> List[String]:
        """Lists messages and texts; octets of texts are ASCII."""
        return [
            "\x08\x01\x72\x03abc\x8a\x01\x05\x0a\x01\x61\x10\x07",
            "\x18\x01\x2a\x02\x0a\x0b\x63\x08\x01\x64\x6a\x04\x0a\x02\x12\x00",
            '{"fInt32":1,"rInner":[{"name":"a"}],"mString":{"a":"b"},"fFloat":1e3}',
            '{"fTime":"2020-01-01T00:00:00.5Z","fBytes":"AQ==","fColor":"RED"}',
            '{"a":[{"b":1},"c",-1.5e3,true,null],"fColor":"BLUE","fInt32":3}',
            '{"@type":"x/flare.test.Every.Inner","name":"a","b":{}}',
            '{"@type":"x/google.protobuf.Duration","value":"3s"}',
        ]

    def tokens(self) -> List[String]:
        """Lists what messages and texts are made of."""
        return [
            "\x0b",
            "\x0c",
            "\x7f",
            "\x12\x00",
            '"fEvery":{',
            "null",
            "1e5",
            '"@type":"',
        ]

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
        var given = StringSpan(unsafe_from_utf8=input)
        self._run_any(given)
        var text: String
        try:
            text = encode_json(decode_json[Every](given))
        except error:
            if error.offset < 0 or error.offset > len(input):
                raise Error("offset outside of the text: ", error)
            try:
                _ = decode_json[Every](given, self.lenient)
            except other:
                if other.offset < 0 or other.offset > len(input):
                    raise Error("offset outside of the text: ", other)
            return
        if encode_json(decode_json[Every](text)) != text:
            raise Error("changed by a round trip: ", text)
        if encode_json(decode_json[Every](given, self.lenient)) != text:
            raise Error("not the same for a lenient reader: ", text)

    def _run_any(self, given: StringSpan) raises:
        """Reads the input as a message of a type that it names."""
        var text: String
        try:
            text = encode_json(
                decode_json[Any](given, self.lenient), self.lenient
            )
        except error:
            if error.offset < 0 or error.offset > given.byte_length():
                raise Error("offset outside of an Any: ", error)
            return
        if (
            encode_json(decode_json[Any](text, self.lenient), self.lenient)
            != text
        ):
            raise Error("changed by a round trip of an Any: ", text)


def main() raises:
    """Runs the target."""
    fuzz_main("protobuf", ProtobufTarget())
