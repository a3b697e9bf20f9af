"""Octets as values of fields whose names end with `-bin`."""

from flare.bytes.base64 import base64_decode, base64_encode
from flare.bytes.checked import *

comptime _PAD: UInt8 = 61


def encode_binary(octets: Span[UInt8, _]) -> String:
    """Writes octets in base64, without padding.

    Source: PROTOCOL-HTTP2.md of gRPC: a sender should leave the padding out.
    """
    var text = base64_encode(octets)
    var rest = len(octets) % 3
    if rest != 0:
        text.resize(text.byte_length() - (3 - rest))
    return text^


def decode_binary(text: Span[UInt8, _]) -> Optional[List[UInt8]]:
    """Reads base64 with or without its padding. Gives the octets; nothing if
    the text is no base64, or has bits set that stand for nothing.

    Source: PROTOCOL-HTTP2.md of gRPC: a receiver must take both.
    """
    var rest = len(text) % 4
    if rest == 0:
        return base64_decode(text)
    if rest == 1 or text.at(len(text) - 1) == _PAD:
        return None
    var padded = List[UInt8](capacity=len(text) + 2)
    padded.extend(text)
    for _ in range(4 - rest):
        padded.append(_PAD)
    return base64_decode(padded)
