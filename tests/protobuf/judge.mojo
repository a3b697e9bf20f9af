"""Answers a line for each line of standard input, for tests/protobuf/judge.py:
`b HEX` a message, `j HEX` a text of JSON."""

from flare.protobuf import (
    ProtobufError,
    decode,
    decode_json,
    encode,
    encode_json,
)
from tests.protobuf.messages.every_pb import Every
from tests.protobuf.test_wire import hex_of, octets_of


def _json(message: Every) -> String:
    try:
        return "+" + hex_of(encode_json(message).as_bytes())
    except error:
        return "!"


def _answer(line: StringSpan) raises ProtobufError -> String:
    var octets = octets_of(line[byte=2:])
    if line.startswith("b"):
        var message = decode[Every](octets)
        return "+" + hex_of(encode(message)) + " " + _json(message)
    var message = decode_json[Every](StringSpan(unsafe_from_utf8=octets))
    return "+" + hex_of(encode(message))


def main() raises:
    """Answers all lines."""
    var text: String
    with open("/dev/stdin", "r") as file:
        text = file.read()
    for line in text.splitlines():
        try:
            print(_answer(line))
        except error:
            print("!", error)
