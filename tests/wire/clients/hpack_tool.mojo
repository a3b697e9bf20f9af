"""Encodes and decodes field blocks for another implementation: a command a line
on standard input, an answer a line on standard output.

    new             another connection
    size N          the peer's SETTINGS_HEADER_TABLE_SIZE
    encode NAME VALUE HOW NAME VALUE HOW ...    the block; names and values in
                    hex, HOW as the number of `Indexing`
    decode BLOCK    name and value of each field, or `refused`
"""

from flare.bytes.buffer import Buffer
from flare.http.h2.hpack_decoder import HpackDecoder
from flare.http.h2.hpack_encoder import HpackEncoder, Indexing
from tests.vectors.hex_text import hex_of, octets_of
from tests.wire.clients.orders import next_line


struct Connection(Movable):
    """Both directions of a connection."""

    var encoder: HpackEncoder
    var decoder: HpackDecoder

    def __init__(out self):
        self.encoder = HpackEncoder()
        self.decoder = HpackDecoder()

    def encode(mut self, words: List[String]) raises -> String:
        """Encodes the fields of a command."""
        var out = Buffer()
        self.encoder.begin(out)
        for index in range(1, len(words) - 2, 3):
            self.encoder.add(
                out,
                octets_of(words[index]),
                octets_of(words[index + 1]),
                Indexing(UInt8(Int(words[index + 2]))),
            )
        return hex_of(out.span())

    def decode(mut self, block: Span[UInt8, _]) -> String:
        """Decodes a block."""
        var text = String()
        var out = Buffer()
        self.decoder.begin()
        try:
            while True:
                var field = self.decoder.next(block, out)
                if not field.is_there:
                    return text if text else String("-")
                var name = field.line.name_offset()
                var value = field.line.value_offset()
                var octets = out.span()
                if text:
                    text += " "
                text += hex_of(octets[name : name + field.line.name_len()])
                text += " "
                text += hex_of(octets[value : value + field.line.value_len()])
        except:
            return "refused"


def main() raises:
    """Answers until its input ends."""
    var connection = Connection()
    while True:
        var line = next_line()
        if not line:
            return
        var words = List[String]()
        for word in line.value().split(" "):
            words.append(String(word))
        if words[0] == "new":
            connection = Connection()
            print("-", flush=True)
        elif words[0] == "size":
            connection.encoder.set_size_max(Int(words[1]))
            print("-", flush=True)
        elif words[0] == "encode":
            print(connection.encode(words), flush=True)
        else:
            print(connection.decode(octets_of(words[1])), flush=True)
